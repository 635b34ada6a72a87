//! What answers say of the files of records.

use std::sync::Arc;

use subcat_engine::{CachedFile, RecordId, Variant};

use super::generations::Generations;
use crate::limits::PREPARED_FILES_MAX;
use crate::respond::FileFields;

/// The file of a record, and what answers say of it.
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

    /// What answers say of it in one encoding.
    pub fn fields(&self, variant: Variant) -> &FileFields {
        let [identity, gzip, brotli] = &self.fields;
        match variant {
            Variant::Identity => identity,
            Variant::Gzip => gzip,
            Variant::Brotli => brotli,
        }
    }
}

/// A worker's titles by record: a repeated download reads no record and builds no field.
///
/// INVARIANT: everything on it was read in the snapshot `snapshot_id`. The file of a release does
/// not change: what is stored is neither replaced nor evicted.
pub struct PreparedFileCache {
    snapshot_id: u64,
    files: Generations<RecordId, Arc<PreparedFile>>,
}

impl PreparedFileCache {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            snapshot_id: 0,
            files: Generations::new(PREPARED_FILES_MAX),
        }
    }

    /// The title of a record, when it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<Arc<PreparedFile>> {
        if self.snapshot_id != snapshot_id {
            self.files.clear();
            self.snapshot_id = snapshot_id;
        }
        self.files.get(&id)
    }

    /// Puts a title there, unless it was read in another snapshot than the last that was asked
    /// for.
    pub fn put(&mut self, snapshot_id: u64, id: RecordId, prepared: &Arc<PreparedFile>) {
        if self.snapshot_id == snapshot_id {
            self.files.put(id, Arc::clone(prepared), 1);
        }
    }
}

impl Default for PreparedFileCache {
    fn default() -> Self {
        Self::new()
    }
}
