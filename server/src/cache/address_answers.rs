//! Answers below addresses.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::LocatedHits;

use super::snapshot_cache::SnapshotCache;

/// Bytes of an entry besides its key, its hits and its answer.
const ENTRY_BYTES: usize = 192;

/// A finished answer below an address. It is valid for requests with the same `base`, as long as
/// the download counts of its hits are these.
pub struct AddressAnswer {
    /// Beginning of the URLs in it.
    pub base: String,
    /// Locations of its hits.
    pub hits: Arc<LocatedHits>,
    /// Download counts, in the order of the hits.
    pub downloads: Box<[u64]>,
    /// The body.
    pub body: Bytes,
}

/// A worker's answers by target: undecoded path and query.
pub struct AddressAnswers(SnapshotCache<Box<str>, Arc<AddressAnswer>>);

impl AddressAnswers {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(SnapshotCache::new(bytes_max))
    }

    /// The answer to a target, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, target: &str) -> Option<Arc<AddressAnswer>> {
        self.0.get(snapshot_id, target)
    }

    /// Caches the answer to a target.
    pub fn put(&mut self, target: &str, answer: AddressAnswer) {
        let weight = target.len()
            + answer.base.len()
            + answer.hits.memory_bytes()
            + size_of_val(&*answer.downloads)
            + answer.body.len()
            + ENTRY_BYTES;
        let snapshot_id = answer.hits.snapshot_id();
        self.0
            .put(snapshot_id, target.into(), Arc::new(answer), weight);
    }

    /// Bytes of all entries.
    pub fn memory_bytes(&self) -> usize {
        self.0.weight()
    }
}
