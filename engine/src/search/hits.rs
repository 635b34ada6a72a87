//! Results of a search: hits, their locations, and single records.

use crate::index::StoredDoc;
use crate::model::{CatalogId, RecordId};

use super::top::Ranked;

/// A document of one segment of a snapshot, with its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Index of the segment in the snapshot.
    pub(super) part_idx: u32,
    /// The document.
    pub(super) doc: u32,
    /// Smallest relevance of the matching branches: 0 is best, 9 is worst (SEARCH.md 5).
    pub relevance: u8,
    /// Fit of that match, 0 to 7 (SEARCH.md 5.3).
    pub fit: u8,
    /// Weight of the release words that it lacks (SEARCH.md 5.7).
    pub missing: u8,
}

/// First hits of a search, in order, and the number of all matches. Valid only with their snapshot.
#[derive(Debug, Clone)]
pub struct Hits {
    pub(super) snapshot_id: u64,
    pub(super) total: u64,
    pub(super) hits: Box<[Hit]>,
}

/// Location of one active record in a snapshot, looked up once for all answers with the record.
/// Valid only with that snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordLocation {
    /// Its id.
    pub id: RecordId,
    /// Index of the segment in the snapshot.
    pub(super) part_idx: u32,
    /// The document.
    pub(super) doc: u32,
    /// Start of its answer fragment in the documents section of the segment.
    pub(super) fragment_start: usize,
    /// Bytes of the fragment.
    pub(super) fragment_bytes: u32,
    /// Upstream's count of downloads; [`crate::UsageHandle::downloads`] is added to it.
    pub upstream_downloads: u32,
}

/// First hits of a search with their locations, and the number of all matches. Valid only with
/// their snapshot.
#[derive(Debug, Clone)]
pub struct LocatedHits {
    pub(super) snapshot_id: u64,
    pub(super) total: u64,
    pub(super) locations: Box<[RecordLocation]>,
}

/// One active record of a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct Doc<'a> {
    pub(super) id: RecordId,
    pub(super) stored: StoredDoc<'a>,
    /// Index of its segment in the snapshot.
    pub(super) part_idx: u32,
    /// Number of the document in its segment.
    pub(super) number: u32,
}

impl Hit {
    /// A ranked document of this segment.
    #[inline]
    pub(super) fn new(part_idx: usize, ranked: Ranked) -> Self {
        Self {
            part_idx: part_idx as u32,
            doc: ranked.doc(),
            relevance: ranked.relevance(),
            fit: ranked.fit(),
            missing: ranked.missing(),
        }
    }
}

impl Hits {
    /// The snapshot that it came from.
    pub fn snapshot_id(&self) -> u64 {
        self.snapshot_id
    }

    /// Number of records that match.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The hits, in order.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// Count of hits, up to the page size.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// True if there is no hit.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl LocatedHits {
    /// The snapshot that it came from.
    pub fn snapshot_id(&self) -> u64 {
        self.snapshot_id
    }

    /// Number of records that match.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The locations of the hits, in order.
    pub fn locations(&self) -> &[RecordLocation] {
        &self.locations
    }

    /// Size in memory, in bytes, for the bound of a cache.
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.locations)
    }
}

impl<'a> Doc<'a> {
    /// Its id.
    pub fn id(&self) -> RecordId {
        self.id
    }

    /// Returns true if both are the same document of one snapshot.
    pub(crate) fn is_at(&self, other: &Self) -> bool {
        (self.part_idx, self.number) == (other.part_idx, other.number)
    }

    /// Finished JSON of the answer up to and with `"downloads":`; the count and `}` follow.
    pub fn fragment(&self) -> &'a [u8] {
        self.stored.fragment()
    }

    /// Upstream's count of downloads; [`crate::UsageHandle::downloads`] is added to it.
    pub fn upstream_downloads(&self) -> u32 {
        self.stored.downloads()
    }

    /// The time at which it was posted, in the form of answers: these texts sort like the times.
    pub fn posted_at(&self) -> Option<&'a [u8]> {
        self.stored.time()
    }

    /// Catalog id of the record.
    pub fn catalog_id(&self) -> Option<CatalogId> {
        self.stored.catalog_id()
    }

    /// Numeric part of the series' catalog id.
    pub fn parent_catalog_number(&self) -> Option<u64> {
        self.stored.parent_catalog_number()
    }

    /// The catalog id of its series.
    pub fn parent_catalog_id(&self) -> Option<CatalogId> {
        self.stored.parent_catalog_id()
    }

    /// Identifier of its file at the upstream source.
    pub fn source_release_id(&self) -> Option<&'a str> {
        self.stored.source_release_id()
    }

    /// Original name of its file, as imported.
    pub fn file_name(&self) -> Option<&'a str> {
        self.stored.file_name()
    }
}
