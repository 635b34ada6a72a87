//! A plan over a snapshot gives ranked hits and their total.

use std::sync::Arc;

use crate::error::Result;
use crate::index::{Segment, Tombstones};
use crate::model::{CatalogId, RecordId};
use crate::query::Query;

/// Segments and tombstones of one moment. Readers hold it as long as they need it.
pub struct Snapshot {}

/// The first hits of a search, in order, and how many there are in all. Valid only with the
/// snapshot that it came from.
#[derive(Debug, Clone)]
pub struct Hits {}

/// One active record of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Doc<'a> {
    _fragment: &'a [u8],
}

impl Snapshot {
    /// A snapshot of these segments, each without its tombstones. No id may live in two of them.
    pub fn new(_id: u64, _parts: Vec<(Arc<Segment>, Arc<Tombstones>)>) -> Self {
        todo!()
    }

    /// The segments, in the order that they were given in.
    pub fn parts(&self) -> &[(Arc<Segment>, Arc<Tombstones>)] {
        todo!()
    }

    /// Number of the snapshot: greater than that of every snapshot before it.
    pub fn id(&self) -> u64 {
        todo!()
    }

    /// Runs a search.
    pub fn search(&self, _query: &Query) -> Result<Hits> {
        todo!()
    }

    /// How a search is read, planned and ranked, as text for people; `clock` gives nanoseconds.
    pub fn explain(&self, _query: &Query, _clock: &dyn Fn() -> u64) -> Result<String> {
        todo!()
    }

    /// The active record with this id.
    pub fn doc(&self, _id: RecordId) -> Result<Option<Doc<'_>>> {
        todo!()
    }

    /// The record behind one hit of this snapshot.
    pub fn hit_doc<'a>(&'a self, _hits: &Hits, _hit_idx: usize) -> Result<Doc<'a>> {
        todo!()
    }
}

impl Hits {
    /// The snapshot that it came from.
    pub fn snapshot_id(&self) -> u64 {
        todo!()
    }

    /// How many records match.
    pub fn total(&self) -> u64 {
        todo!()
    }

    /// How many hits are held: at most the page size.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes, for the bound of a cache.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }
}

impl<'a> Doc<'a> {
    /// Its id.
    pub fn id(&self) -> RecordId {
        todo!()
    }

    /// Finished JSON of the answer up to and with `"downloads":`; the count and `}` follow.
    pub fn fragment(&self) -> &'a [u8] {
        todo!()
    }

    /// Upstream's count of downloads; [`crate::Engine::downloads`] is added to it.
    pub fn upstream_downloads(&self) -> u32 {
        todo!()
    }

    /// Its catalog id.
    pub fn catalog_id(&self) -> Option<CatalogId> {
        todo!()
    }

    /// Identifier of its file at the upstream source.
    pub fn source_release_id(&self) -> Option<&'a str> {
        todo!()
    }

    /// Original name of its file, as imported.
    pub fn file_name(&self) -> Option<&'a str> {
        todo!()
    }
}
