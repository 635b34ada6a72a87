//! Where records lie.

use subcat_engine::model::RecordId;
use subcat_engine::search::Place;

use super::generations::Generations;
use crate::limits::RECORD_PLACES_MAX;

/// A worker's places of records by id: a repeated record is not looked for in the index.
///
/// INVARIANT: everything in it was read in the snapshot `snapshot_id`.
pub struct RecordPlaces {
    snapshot_id: u64,
    places: Generations<RecordId, Place>,
}

impl RecordPlaces {
    /// None yet.
    pub fn new() -> Self {
        Self {
            snapshot_id: 0,
            places: Generations::new(RECORD_PLACES_MAX),
        }
    }

    /// The place of a record, when it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<Place> {
        if self.snapshot_id != snapshot_id {
            self.places.clear();
            self.snapshot_id = snapshot_id;
        }
        self.places.get(&id)
    }

    /// Keeps the place of a record in the snapshot that was asked for last.
    pub fn put(&mut self, place: Place) {
        self.places.put(place.id, place, 1);
    }
}

impl Default for RecordPlaces {
    fn default() -> Self {
        Self::new()
    }
}
