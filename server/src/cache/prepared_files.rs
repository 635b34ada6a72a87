//! Files of records, with the headers of their responses.

use std::sync::Arc;

use subcat_engine::{CachedFile, RecordId, Variant};

use super::snapshot_cache::SnapshotCache;
use crate::limits::PREPARED_FILES_MAX;
use crate::respond::FileFields;

/// The file of a record, with its headers in each encoding.
pub struct PreparedFile {
    /// The file.
    pub file: CachedFile,
    fields: [FileFields; 3],
}

impl PreparedFile {
    /// The file of a record under a cleaned name.
    pub fn new(file: CachedFile, name: &str) -> Self {
        Self {
            fields: FileFields::of(&file.content, name),
            file,
        }
    }

    /// Headers of the file in one encoding.
    pub fn fields(&self, variant: Variant) -> &FileFields {
        let [identity, gzip, brotli] = &self.fields;
        match variant {
            Variant::Identity => identity,
            Variant::Gzip => gzip,
            Variant::Brotli => brotli,
        }
    }
}

/// A worker's prepared files by record: a repeated download reads no record and builds no header.
///
/// An entry is valid while its snapshot is current, because the file of a release does not change:
/// a stored file is neither replaced nor evicted. If it is lost, opening it fails.
pub struct PreparedFileCache(SnapshotCache<RecordId, Arc<PreparedFile>>);

impl PreparedFileCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self(SnapshotCache::new(PREPARED_FILES_MAX))
    }

    /// The prepared file of a record, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<Arc<PreparedFile>> {
        self.0.get(snapshot_id, &id)
    }

    /// Caches a prepared file. Does nothing if it was read from a snapshot other than the current
    /// one.
    pub fn put(&mut self, snapshot_id: u64, id: RecordId, prepared: &Arc<PreparedFile>) {
        self.0.put(snapshot_id, id, Arc::clone(prepared), 1);
    }
}

impl Default for PreparedFileCache {
    fn default() -> Self {
        Self::new()
    }
}
