//! Hits and answers of searches.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::LocatedHits;

use super::snapshot_cache::SnapshotCache;
use crate::respond::BodyTag;

/// Prefix of the key of every canonical request.
const PREFIX: &[u8] = b"search:v3:";
/// Bytes of an entry of `by_request` besides its key and its hits.
const REQUEST_BYTES: usize = 96;
/// Bytes of an entry of `by_query_string` besides its key, its hits and its answer.
const QUERY_STRING_BYTES: usize = 192;

/// Hits of a search, and what its answer shows of them.
pub struct FoundHits {
    /// Locations of its hits.
    pub hits: Arc<LocatedHits>,
    /// True if the request named `imdb_id`.
    pub echoes_imdb_id: bool,
    /// True if the request named a flag.
    pub shows_flags: bool,
    /// True if the request used `query`.
    pub uses_free_text: bool,
}

/// A search that has been answered.
pub struct CachedSearch {
    /// Hits of the search.
    pub found: FoundHits,
    /// Tag of its answers.
    pub tag: BodyTag,
    /// The last answer, if the query string has been repeated.
    pub finished: Option<Finished>,
}

/// A finished answer. It is right as long as these are the download counts of its hits.
pub struct Finished {
    /// The body.
    pub body: Bytes,
    /// Download counts, in the order of the hits.
    pub downloads: Box<[u64]>,
}

impl CachedSearch {
    fn memory_bytes(&self) -> usize {
        let finished = self.finished.as_ref();
        let finished_bytes = finished.map_or(0, |it| it.body.len() + size_of_val(&*it.downloads));
        self.found.hits.memory_bytes() + finished_bytes + QUERY_STRING_BYTES
    }
}

/// Hits by canonical request, and answers by query string.
///
/// Two keys for one search: equal requests that are written differently share their hits, and a
/// query string that is repeated byte for byte is not even parsed.
pub struct SearchCache {
    by_request: SnapshotCache<Box<[u8]>, Arc<LocatedHits>>,
    by_query_string: SnapshotCache<Box<str>, CachedSearch>,
    /// Key of the last call of [`SearchCache::get`]; reused, so that a hit allocates nothing.
    row_key: Vec<u8>,
}

impl SearchCache {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            by_request: SnapshotCache::new(bytes_max / 2),
            by_query_string: SnapshotCache::new(bytes_max / 2),
            row_key: Vec::new(),
        }
    }

    /// Calls `answer` with the search of the same query string. Cost: one hash of the string.
    pub fn answer_again<R>(
        &mut self,
        snapshot_id: u64,
        query_string: &str,
        answer: impl FnOnce(&mut CachedSearch) -> R,
    ) -> Option<R> {
        self.by_query_string
            .change(snapshot_id, query_string, |search| {
                let outcome = answer(search);
                (query_string.len() + search.memory_bytes(), outcome)
            })
    }

    /// The hits of an equal request; `write_canonical` appends its canonical form.
    pub fn get(
        &mut self,
        snapshot_id: u64,
        write_canonical: impl FnOnce(&mut Vec<u8>),
    ) -> Option<Arc<LocatedHits>> {
        self.row_key.clear();
        self.row_key.extend_from_slice(PREFIX);
        write_canonical(&mut self.row_key);
        self.by_request.get(snapshot_id, self.row_key.as_slice())
    }

    /// Caches the hits of the request that [`SearchCache::get`] was called with last.
    pub fn put(&mut self, hits: &Arc<LocatedHits>) {
        let weight = self.row_key.len() + hits.memory_bytes() + REQUEST_BYTES;
        let row_key = self.row_key.as_slice().into();
        self.by_request
            .put(hits.snapshot_id(), row_key, Arc::clone(hits), weight);
    }

    /// Caches the search of a query string. Its weight includes the hits: this entry may be the
    /// last to hold them.
    pub fn put_query_string(&mut self, query_string: &str, search: CachedSearch) {
        let weight = query_string.len() + search.memory_bytes();
        let snapshot_id = search.found.hits.snapshot_id();
        self.by_query_string
            .put(snapshot_id, query_string.into(), search, weight);
    }

    /// Bytes of all entries.
    pub fn memory_bytes(&self) -> usize {
        self.by_request.weight() + self.by_query_string.weight()
    }
}
