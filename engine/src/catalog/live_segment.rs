//! A segment file with its current tombstones.

use std::sync::Arc;

use crate::error::Result;
use crate::index::{Segment, Tombstones, merge_memory_bytes};
use crate::model::RecordId;

/// A segment file in use. Clones share the segment and, until one of them changes, the tombstones:
/// published snapshots keep theirs.
#[derive(Clone)]
pub(super) struct LiveSegment {
    number: u64,
    segment: Arc<Segment>,
    tombstones: Arc<Tombstones>,
    /// True if the stored tombstones lack some of these. The journal has the records concerned, so
    /// that nothing is lost: tombstones are written with the next change of the manifest.
    is_dirty: bool,
}

impl LiveSegment {
    /// A new segment: every document is live.
    pub(super) fn new(number: u64, segment: Arc<Segment>) -> Self {
        Self {
            number,
            segment,
            tombstones: Arc::new(Tombstones::new()),
            is_dirty: false,
        }
    }

    /// The same segment with its stored tombstones.
    pub(super) fn with_stored_tombstones(mut self, tombstones: Tombstones) -> Self {
        self.tombstones = Arc::new(tombstones);
        self
    }

    /// Number of the segment file.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The segment, mapped.
    pub(super) fn segment(&self) -> &Arc<Segment> {
        &self.segment
    }

    /// Deleted and replaced documents.
    pub(super) fn tombstones(&self) -> &Arc<Tombstones> {
        &self.tombstones
    }

    /// Returns true if the stored tombstones differ from these.
    pub(super) fn is_dirty(&self) -> bool {
        self.is_dirty
    }

    /// Remembers that the tombstones are stored.
    pub(super) fn mark_stored(&mut self) {
        self.is_dirty = false;
    }

    /// Gives the document of a record a tombstone, if it is here and live. Returns true if it was.
    pub(super) fn mark_deleted(&mut self, id: RecordId) -> Result<bool> {
        // An existing tombstone must not make the segment dirty: its bitmap would be copied and
        // stored again for nothing.
        if let Some(doc) = self.segment.find(id)?
            && !self.tombstones.contains(doc)
        {
            // Copies the bitmap if a snapshot shares it: documents never vanish from a running
            // search.
            Arc::make_mut(&mut self.tombstones).insert(doc);
            self.is_dirty = true;
            return Ok(true);
        }
        Ok(false)
    }

    /// Maximum memory that its part of a merge takes, in bytes.
    pub(super) fn merge_memory_bytes(&self) -> u64 {
        merge_memory_bytes(&self.segment, self.live_count())
    }

    /// Count of live documents.
    pub(super) fn live_count(&self) -> u64 {
        u64::from(self.segment.len()) - self.tombstones.len()
    }
}
