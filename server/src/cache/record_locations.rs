//! Where records lie.

use subcat_engine::{RecordId, RecordLocation};

use super::generations::Generations;
use crate::limits::RECORD_LOCATIONS_MAX;

/// A worker's locations of records by id: a repeated record is not looked for in the index.
///
/// INVARIANT: everything in it was read in the snapshot `snapshot_id`.
pub struct RecordLocations {
    snapshot_id: u64,
    locations: Generations<RecordId, RecordLocation>,
}

impl RecordLocations {
    /// None yet.
    pub fn new() -> Self {
        Self {
            snapshot_id: 0,
            locations: Generations::new(RECORD_LOCATIONS_MAX),
        }
    }

    /// The location of a record, when it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<RecordLocation> {
        if self.snapshot_id != snapshot_id {
            self.locations.clear();
            self.snapshot_id = snapshot_id;
        }
        self.locations.get(&id)
    }

    /// Keeps the location of a record in the snapshot that was asked for last.
    pub fn put(&mut self, location: RecordLocation) {
        self.locations.put(location.id, location, 1);
    }
}

impl Default for RecordLocations {
    fn default() -> Self {
        Self::new()
    }
}
