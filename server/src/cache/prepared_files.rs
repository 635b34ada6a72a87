//! Files of records, with the headers of their responses.

use std::borrow::Borrow;
use std::hash::Hash;
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
    /// The file of a record under a cleaned name, with its media type.
    pub fn new(file: CachedFile, name: &str, content_type: &str) -> Self {
        Self {
            fields: FileFields::of(&file.content, name, content_type),
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

/// Version of the catalog and of the stored files that a file was prepared from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesVersion {
    /// The snapshot that the record was read from.
    pub snapshot_id: u64,
    /// [`FilesHandle::generation`](subcat_engine::FilesHandle::generation), read before the file
    /// was looked up.
    pub generation: u64,
}

/// A worker's prepared files, by what they were prepared for: a repeated download reads no record
/// and builds no header.
///
/// An entry is valid while its snapshot is current and no file was forgotten or replaced. If a
/// stored file is lost, opening it fails.
pub struct PreparedFileCache<K> {
    generation: u64,
    files: SnapshotCache<K, Arc<PreparedFile>>,
}

impl<K: Hash + Eq> PreparedFileCache<K> {
    /// An empty cache.
    pub fn new() -> Self {
        Self {
            generation: 0,
            files: SnapshotCache::new(PREPARED_FILES_MAX),
        }
    }

    /// The prepared file, if it was put there in this version.
    pub fn get<Q>(&mut self, version: FilesVersion, wanted: &Q) -> Option<Arc<PreparedFile>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        if self.generation != version.generation {
            self.generation = version.generation;
            self.files = SnapshotCache::new(PREPARED_FILES_MAX);
        }
        self.files.get(version.snapshot_id, wanted)
    }

    /// Caches a prepared file. Does nothing if it was read in a version other than the current
    /// one.
    pub fn put(&mut self, version: FilesVersion, wanted: K, prepared: &Arc<PreparedFile>) {
        if self.generation == version.generation {
            let prepared = Arc::clone(prepared);
            self.files.put(version.snapshot_id, wanted, prepared, 1);
        }
    }
}

/// A worker's prepared texts, by record and query string.
#[derive(Default)]
pub struct PreparedTextCache {
    files: PreparedFileCache<Box<[u8]>>,
    /// The key of a look-up; reused, so that a hit allocates nothing.
    row_key: Vec<u8>,
}

impl PreparedTextCache {
    /// The prepared text, if it was put there in this version.
    pub fn get(
        &mut self,
        version: FilesVersion,
        id: RecordId,
        query: &str,
    ) -> Option<Arc<PreparedFile>> {
        self.set_key(id, query);
        self.files.get(version, self.row_key.as_slice())
    }

    /// Caches a prepared text, like [`PreparedFileCache::put`].
    pub fn put(
        &mut self,
        version: FilesVersion,
        id: RecordId,
        query: &str,
        prepared: &Arc<PreparedFile>,
    ) {
        self.set_key(id, query);
        let row_key = self.row_key.as_slice().into();
        self.files.put(version, row_key, prepared);
    }

    fn set_key(&mut self, id: RecordId, query: &str) {
        self.row_key.clear();
        self.row_key.extend_from_slice(id.as_bytes());
        self.row_key.extend_from_slice(query.as_bytes());
    }
}

impl<K: Hash + Eq> Default for PreparedFileCache<K> {
    fn default() -> Self {
        Self::new()
    }
}
