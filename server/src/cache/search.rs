//! Ranked hits by canonical request.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::LocatedHits;

use super::generations::Generations;

/// What every canonical request is kept under.
const PREFIX: &[u8] = b"search:v3:";
/// Bytes that an entry takes beside its key, its hits and its answer.
const REQUEST_BYTES: usize = 96;
const QUERY_STRING_BYTES: usize = 144;

/// A search that was answered before.
pub struct CachedSearch {
    /// Where its hits lie.
    pub hits: Arc<LocatedHits>,
    /// Whether the request spoke of `imdb_id`.
    pub echoes_imdb_id: bool,
    /// Whether the request used `query`.
    pub uses_free_text: bool,
    /// Its last answer, once it was asked again.
    pub finished: Option<Finished>,
}

/// A finished answer, which is right as long as these are the download counts of its hits.
pub struct Finished {
    /// The body.
    pub body: Bytes,
    /// The counts, in the order of the hits.
    pub downloads: Box<[u64]>,
}

impl CachedSearch {
    fn memory_bytes(&self) -> usize {
        let finished = self.finished.as_ref();
        let finished_bytes = finished.map_or(0, |it| it.body.len() + size_of_val(&*it.downloads));
        self.hits.memory_bytes() + finished_bytes + QUERY_STRING_BYTES
    }
}

/// Ranked hits under `search:v3:` and the canonical request; besides, how query strings were read
/// and answered, so that a repeated one is not even parsed.
///
/// INVARIANT: everything in it was computed from the snapshot `snapshot_id`.
pub struct SearchCache {
    snapshot_id: u64,
    by_request: Generations<Box<[u8]>, Arc<LocatedHits>>,
    by_query_string: Generations<Box<str>, CachedSearch>,
    row_key: Vec<u8>,
}

impl SearchCache {
    /// An empty cache of at most so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self {
            snapshot_id: 0,
            by_request: Generations::new(bytes_max / 2),
            by_query_string: Generations::new(bytes_max / 2),
            row_key: Vec::new(),
        }
    }

    /// Drops everything when this is not the snapshot that it came from.
    fn follow(&mut self, snapshot_id: u64) {
        if self.snapshot_id != snapshot_id {
            self.by_request.clear();
            self.by_query_string.clear();
            self.snapshot_id = snapshot_id;
        }
    }

    /// Calls `answer` with how the same query string was read and answered. Cost: one hash of the
    /// string.
    pub fn answer_again<R>(
        &mut self,
        snapshot_id: u64,
        query_string: &str,
        answer: impl FnOnce(&mut CachedSearch) -> R,
    ) -> Option<R> {
        self.follow(snapshot_id);
        self.by_query_string.change(query_string, |search| {
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
        self.follow(snapshot_id);
        self.row_key.clear();
        self.row_key.extend_from_slice(PREFIX);
        write_canonical(&mut self.row_key);
        self.by_request.get(self.row_key.as_slice())
    }

    /// Keeps the hits of the request that [`SearchCache::get`] was asked for last, unless they
    /// come from another snapshot.
    pub fn put(&mut self, hits: &Arc<LocatedHits>) {
        if hits.snapshot_id() != self.snapshot_id {
            return;
        }
        let weight = self.row_key.len() + hits.memory_bytes() + REQUEST_BYTES;
        let row_key = self.row_key.as_slice().into();
        self.by_request.put(row_key, Arc::clone(hits), weight);
    }

    /// Remembers how a query string was read. Its hits count with it: it may be the last to hold
    /// them.
    pub fn put_query_string(&mut self, query_string: &str, search: CachedSearch) {
        if search.hits.snapshot_id() != self.snapshot_id {
            return;
        }
        let weight = query_string.len() + search.memory_bytes();
        self.by_query_string
            .put(query_string.into(), search, weight);
    }

    /// Bytes that it takes.
    pub fn memory_bytes(&self) -> usize {
        self.by_request.weight() + self.by_query_string.weight()
    }
}
