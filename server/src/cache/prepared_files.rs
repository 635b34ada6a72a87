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

/// State of the catalog and of the stored files in which a file was prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesVersion {
    /// The snapshot from which the record was read.
    pub snapshot_id: u64,
    /// [`FilesHandle::generation`](subcat_engine::FilesHandle::generation), read before the file
    /// was looked up.
    pub generation: u64,
}

/// A worker's prepared files by record: a repeated download reads no record and builds no header.
///
/// An entry is valid while its snapshot is current and no file was forgotten or replaced. If a
/// stored file is lost, opening it fails.
pub struct PreparedFileCache {
    generation: u64,
    files: SnapshotCache<RecordId, Arc<PreparedFile>>,
}

impl PreparedFileCache {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            generation: 0,
            files: SnapshotCache::new(PREPARED_FILES_MAX),
        }
    }

    /// The prepared file of a record, if it was put there in this version.
    pub fn get(&mut self, version: FilesVersion, id: RecordId) -> Option<Arc<PreparedFile>> {
        if self.generation != version.generation {
            self.generation = version.generation;
            self.files = SnapshotCache::new(PREPARED_FILES_MAX);
        }
        self.files.get(version.snapshot_id, &id)
    }

    /// Caches a prepared file. Does nothing if it was read in a version other than the current
    /// one.
    pub fn put(&mut self, version: FilesVersion, id: RecordId, prepared: &Arc<PreparedFile>) {
        if self.generation == version.generation {
            let prepared = Arc::clone(prepared);
            self.files.put(version.snapshot_id, id, prepared, 1);
        }
    }
}

impl Default for PreparedFileCache {
    fn default() -> Self {
        Self::new()
    }
}
