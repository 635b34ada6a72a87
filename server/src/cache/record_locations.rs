//! Locations of records in the snapshot.

use subcat_engine::{RecordId, RecordLocation};

use super::snapshot_cache::SnapshotCache;
use crate::limits::RECORD_LOCATIONS_MAX;

/// A worker's locations of records by id: a repeated record is not looked up in the index.
pub struct RecordLocations(SnapshotCache<RecordId, RecordLocation>);

impl RecordLocations {
    /// An empty cache.
    pub fn new() -> Self {
        Self(SnapshotCache::new(RECORD_LOCATIONS_MAX))
    }

    /// The location of a record, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<RecordLocation> {
        self.0.get(snapshot_id, &id)
    }

    /// Caches a location that was read from this snapshot.
    pub fn put(&mut self, snapshot_id: u64, location: RecordLocation) {
        self.0.put(snapshot_id, location.id, location, 1);
    }
}

impl Default for RecordLocations {
    fn default() -> Self {
        Self::new()
    }
}
