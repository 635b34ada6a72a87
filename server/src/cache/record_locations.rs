//! Locations of records in the snapshot, and the tags of their answers.

use subcat_engine::{RecordId, RecordLocation};

use super::snapshot_cache::SnapshotCache;
use crate::limits::RECORD_LOCATIONS_MAX;
use crate::respond::BodyTag;

/// A record that was answered before.
#[derive(Clone, Copy)]
pub struct KnownRecord {
    /// Location of the record.
    pub location: RecordLocation,
    /// Tag of its answers.
    pub tag: BodyTag,
}

/// A worker's locations of records by id: a repeated record is not looked up in the index.
pub struct RecordLocations(SnapshotCache<RecordId, KnownRecord>);

impl RecordLocations {
    /// An empty cache.
    pub fn new() -> Self {
        Self(SnapshotCache::new(RECORD_LOCATIONS_MAX))
    }

    /// A record, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<KnownRecord> {
        self.0.get(snapshot_id, &id)
    }

    /// Caches a record that was read from this snapshot.
    pub fn put(&mut self, snapshot_id: u64, known: KnownRecord) {
        self.0.put(snapshot_id, known.location.id, known, 1);
    }
}

impl Default for RecordLocations {
    fn default() -> Self {
        Self::new()
    }
}
