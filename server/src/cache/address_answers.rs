//! Answers below addresses.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::RecordLocation;

use super::snapshot_cache::SnapshotCache;

/// Bytes of an entry besides its key and its answer.
const ENTRY_BYTES: usize = 192;

/// A finished answer below an address. It is valid for requests with the same `base`, as long as
/// the download counts that it shows are these.
pub struct AddressAnswer {
    /// Beginning of the URLs in it.
    pub base: String,
    /// Locations of the records that it shows with their download counts.
    pub counted: Box<[RecordLocation]>,
    /// Download counts, in the order of these records.
    pub downloads: Box<[u64]>,
    /// The body.
    pub body: Bytes,
}

/// A worker's answers by target: undecoded path and query.
///
/// The first answer to a target is not kept, but that there was one: most programs send a search
/// once, and the answers of many would push out those that are sent again and again.
pub struct AddressAnswers(SnapshotCache<Box<str>, Option<Arc<AddressAnswer>>>);

impl AddressAnswers {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(SnapshotCache::new(bytes_max))
    }

    /// The answer to a target, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, target: &str) -> Option<Arc<AddressAnswer>> {
        self.0.get(snapshot_id, target).flatten()
    }

    /// Caches the answer to a target, if it is not the first one in this snapshot.
    pub fn put(&mut self, snapshot_id: u64, target: &str, answer: impl FnOnce() -> AddressAnswer) {
        let mut weight = target.len() + ENTRY_BYTES;
        let mut kept = None;
        if self.0.get(snapshot_id, target).is_some() {
            let answer = answer();
            weight += answer.base.len()
                + size_of_val(&*answer.counted)
                + size_of_val(&*answer.downloads)
                + answer.body.len();
            kept = Some(Arc::new(answer));
        }
        self.0.put(snapshot_id, target.into(), kept, weight);
    }

    /// Bytes of all entries.
    pub fn memory_bytes(&self) -> usize {
        self.0.weight()
    }
}
