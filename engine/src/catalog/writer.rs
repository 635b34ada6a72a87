//! The state that only the thread changing the catalog touches, under one lock.
//!
//! # Life of a chunk
//!
//! Frames are committed one by one. Some of them together are a *chunk*: durable records that are
//! not searchable yet. A segment file of them is built without the lock, or they go to the delta.
//!
//! ```text
//!           begin_chunk            segment file written
//!   (none) ------------> OPEN ---------------------------> BUILT
//!                         |  ^ |                            |
//!        others commit:   |  | | a frame cannot be          | end_chunk, manifest stored,
//!        note_overtaken   |  +-+ committed, or the file     | snapshot published
//!        (stays open)     |      cannot be written          v
//!                         |                               SHOWN
//!                         v  abandon_chunk                  ^
//!                     ABANDONED ----------------------------+
//!                                next use of the lock: ensure_recovered reads the journal
//! ```
//!
//! | state | journal | here | readers see |
//! |---|---|---|---|
//! | open, built | has its commits | `open_chunks`, overtaken records | the records as before |
//! | shown | rows removed with the manifest | nothing | the new records |
//! | abandoned | has its commits | `needs_recovery` | the records as before |
//!
//! While a chunk is open, two things may happen to it. Another commit changes some of its records:
//! these are *overtaken*, and the chunk's version of them gets a tombstone when it is shown. Or a
//! recovery reads the journal, which shows the chunk's commits before the chunk does: every version
//! shown by then gets a tombstone, as if the record had been there before.
//!
//! # After a failed commit
//!
//! A commit with a failed sync may be durable all the same. So nothing here is trusted after it:
//! `needs_recovery` is set, and the next to lock the writer calls `ensure_recovered`, which reads
//! manifest and journal again. A commit that failed for lack of space was not tried: it leaves
//! everything unchanged.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;

use super::delta::Delta;
use super::live_segment::LiveSegment;
use super::tables::RecordChange;
use crate::error::{Error, Result};
use crate::limits::DAMAGED_RECORDS_MAX;
use crate::model::RecordId;
use crate::search::Snapshot;

/// Calls after which searches do without a segment that is taken out.
const PARTIAL_CALLS: u32 = 3;

/// State that only the thread changing the catalog touches, under the lock of `Catalog::writer`.
#[derive(Default)]
pub(super) struct Writer {
    /// Segment files of the manifest, oldest first.
    segments: Vec<LiveSegment>,
    delta: Delta,
    /// Open chunks, by number: the records of each that others have changed since.
    open_chunks: HashMap<u64, Vec<RecordId>, foldhash::fast::RandomState>,
    /// While a merge runs: records that got a tombstone since it began. Its result needs them, too.
    deleted_since_merge: Option<Vec<RecordId>>,
    /// Segments of the manifest that are damaged: searches do without them, and successors are
    /// built of the records that no other segment has.
    taken_out: Vec<TakenOut>,
    /// Calls of [`Writer::is_partial_too_long`] since one of them was taken out.
    partial_calls: u32,
    /// While successors are built: what happened since they were begun.
    rebuild: Option<RunningRebuild>,
    last_chunk: u64,
    last_snapshot: u64,
    /// Records with damaged stored values.
    damaged: Arc<BTreeSet<RecordId>>,
    /// True if a commit failed and may be durable all the same.
    needs_recovery: bool,
    /// Count of recoveries. A chunk that began before the last one is shown differently.
    recoveries_count: u64,
}

/// A segment of the manifest that is damaged.
pub(super) struct TakenOut {
    pub(super) number: u64,
    pub(super) damage: Error,
}

/// Successors of segments that are being built.
struct RunningRebuild {
    /// Numbers of the segments that they replace.
    replaced: Vec<u64>,
    /// Records that changed since.
    changed: Vec<RecordId>,
    recoveries_count: u64,
}

/// Result of the time in which successors were built.
pub(super) struct EndedRebuild {
    /// Numbers of the segments that they replace.
    pub(super) replaced: Vec<u64>,
    /// Records that have changed: their documents are older than they are.
    pub(super) changed: Vec<RecordId>,
    /// False if a recovery came between: not every change is known.
    pub(super) is_valid: bool,
}

/// Token of an open chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChunkToken {
    number: u64,
    recoveries_count: u64,
}

/// Fate of a chunk's records while it was open.
pub(super) struct EndedChunk {
    /// Ascending.
    overtaken: Vec<RecordId>,
    /// True if a recovery has shown commits of the chunk.
    pub(super) was_recovered: bool,
}

impl EndedChunk {
    /// Returns true if another commit has changed this record since the chunk did.
    pub(super) fn is_overtaken(&self, id: RecordId) -> bool {
        self.overtaken.binary_search(&id).is_ok()
    }
}

/// Chunks.
impl Writer {
    /// Opens a chunk.
    pub(super) fn begin_chunk(&mut self) -> ChunkToken {
        self.last_chunk += 1;
        self.open_chunks.insert(self.last_chunk, Vec::new());
        ChunkToken {
            number: self.last_chunk,
            recoveries_count: self.recoveries_count,
        }
    }

    /// Notes records that a commit has replaced: open chunks may hold older versions of them.
    pub(super) fn note_overtaken(&mut self, changes: &[RecordChange]) {
        // A new record is in no open chunk: the records of a chunk are committed.
        for change in changes.iter().filter(|change| change.was_there) {
            for overtaken in self.open_chunks.values_mut() {
                overtaken.push(change.id);
            }
        }
        // New ones, too: the records are read while they are committed.
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.changed.extend(changes.iter().map(|it| it.id));
        }
    }

    /// Undoes the notes for a commit of the chunk itself: its version is the newest, whatever
    /// others did before. `changes` are in ascending order of ids.
    pub(super) fn note_newest(&mut self, chunk: ChunkToken, changes: &[RecordChange]) {
        debug_assert!(changes.is_sorted_by_key(|change| change.id));
        if let Some(overtaken) = self.open_chunks.get_mut(&chunk.number)
            && !overtaken.is_empty()
        {
            overtaken.retain(|id| {
                let found = changes.binary_search_by_key(id, |change| change.id);
                found.is_err()
            });
        }
    }

    /// Ends a chunk that is about to be shown.
    pub(super) fn end_chunk(&mut self, chunk: ChunkToken) -> EndedChunk {
        let overtaken = self.open_chunks.remove(&chunk.number);
        let mut overtaken = overtaken.unwrap_or_default();
        // Sorted once: `is_overtaken` searches it for every record of the chunk.
        overtaken.sort_unstable();
        EndedChunk {
            overtaken,
            was_recovered: chunk.recoveries_count != self.recoveries_count,
        }
    }

    /// Abandons a chunk: its commits are durable, and a recovery shows them.
    pub(super) fn abandon_chunk(&mut self, chunk: ChunkToken) {
        self.open_chunks.remove(&chunk.number);
        self.needs_recovery = true;
    }
}

/// Merges.
impl Writer {
    /// Begins a merge: from now on tombstones are noted for its result.
    pub(super) fn begin_merge(&mut self) {
        assert!(!self.is_merging(), "one merge at a time");
        self.deleted_since_merge = Some(Vec::new());
    }

    /// Ends a merge; the records that got a tombstone since it began.
    pub(super) fn end_merge(&mut self) -> Vec<RecordId> {
        self.deleted_since_merge.take().unwrap_or_default()
    }

    /// Returns true while a merge runs.
    pub(super) fn is_merging(&self) -> bool {
        self.deleted_since_merge.is_some()
    }

    /// Returns true while a segment file may exist that the manifest does not name yet.
    pub(super) fn is_writing_files(&self) -> bool {
        self.is_merging() || !self.open_chunks.is_empty() || self.rebuild.is_some()
    }
}

/// Damaged segments and their successors.
impl Writer {
    /// Takes a segment out of use that is damaged, until a successor is there.
    pub(super) fn take_out(&mut self, number: u64, damage: Error) {
        self.segments.retain(|live| live.number() != number);
        if !self.is_taken_out(number) {
            self.taken_out.push(TakenOut { number, damage });
            self.partial_calls = 0;
        }
    }

    /// Returns true if a segment of the manifest is out of use.
    pub(super) fn is_taken_out(&self, number: u64) -> bool {
        self.taken_out.iter().any(|out| out.number == number)
    }

    /// Returns true if a segment of the manifest is out of use: searches lack records.
    pub(super) fn is_partial(&self) -> bool {
        !self.taken_out.is_empty()
    }

    /// Returns true at the third call since a segment was taken out that has no successor yet.
    pub(super) fn is_partial_too_long(&mut self) -> bool {
        self.partial_calls += u32::from(self.is_partial());
        self.is_partial() && self.partial_calls == PARTIAL_CALLS
    }

    /// Forgets all of them: there is a new manifest.
    pub(super) fn forget_all_taken_out(&mut self) {
        self.taken_out.clear();
    }

    /// Forgets segments that have successors; what was wrong with them.
    pub(super) fn forget_taken_out(&mut self, numbers: &[u64]) -> Vec<Error> {
        let is_replaced = |out: &mut TakenOut| numbers.contains(&out.number);
        let replaced = self.taken_out.extract_if(.., is_replaced);
        replaced.map(|out| out.damage).collect()
    }

    /// Begins to build successors of all that is taken out: from now on changes are noted for them.
    /// Returns false if that is under way.
    pub(super) fn begin_rebuild(&mut self) -> bool {
        if self.rebuild.is_some() {
            return false;
        }
        self.rebuild = Some(RunningRebuild {
            replaced: self.taken_out.iter().map(|out| out.number).collect(),
            changed: Vec::new(),
            recoveries_count: self.recoveries_count,
        });
        true
    }

    /// Ends it.
    pub(super) fn end_rebuild(&mut self) -> EndedRebuild {
        let ended = self.rebuild.take().expect("it was begun");
        EndedRebuild {
            replaced: ended.replaced,
            changed: ended.changed,
            // A commit that failed, and is durable all the same, is not among the changes.
            is_valid: ended.recoveries_count == self.recoveries_count,
        }
    }
}

/// Recovery.
impl Writer {
    /// Distrusts everything here: a commit failed and may be durable all the same.
    pub(super) fn require_recovery(&mut self) {
        self.needs_recovery = true;
    }

    /// Returns true if the store must be read again first.
    pub(super) fn needs_recovery(&self) -> bool {
        self.needs_recovery
    }

    /// Drops the state that is about to be read from the store. Chunks and a merge stay open.
    pub(super) fn begin_recovery(&mut self) {
        // Open chunks learn by this number that their commits are shown from the journal.
        self.recoveries_count += 1;
        // Searches continue in the published snapshot, which keeps what it needs.
        self.segments.clear();
        self.delta = Delta::default();
    }

    /// Trusts what was read.
    pub(super) fn end_recovery(&mut self) {
        self.needs_recovery = false;
    }
}

/// Records that cannot be read.
impl Writer {
    /// Their ids.
    pub(super) fn damaged(&self) -> &Arc<BTreeSet<RecordId>> {
        &self.damaged
    }

    /// Sets the damaged records.
    pub(super) fn set_damaged(&mut self, ids: BTreeSet<RecordId>) {
        self.damaged = Arc::new(ids);
    }

    /// Remembers that a record is damaged. Returns false if that is known, or if too many are.
    pub(super) fn note_damaged(&mut self, id: RecordId) -> bool {
        if self.damaged.len() == DAMAGED_RECORDS_MAX || self.damaged.contains(&id) {
            return false;
        }
        Arc::make_mut(&mut self.damaged).insert(id)
    }

    /// Removes replaced and deleted records from the damaged ones.
    pub(super) fn forget_damaged(&mut self, changes: &[RecordChange]) {
        if self.damaged.is_empty() {
            return;
        }
        let damaged = Arc::make_mut(&mut self.damaged);
        for change in changes {
            damaged.remove(&change.id);
        }
    }
}

/// Segments, tombstones, delta.
impl Writer {
    /// The segment files.
    pub(super) fn segments(&self) -> &[LiveSegment] {
        &self.segments
    }

    /// Their numbers.
    pub(super) fn segment_numbers(&self) -> Vec<u64> {
        self.segments.iter().map(LiveSegment::number).collect()
    }

    /// Adds segments that the manifest names.
    pub(super) fn add_segments(&mut self, made: impl IntoIterator<Item = LiveSegment>) {
        for mut live in made {
            live.mark_stored();
            self.segments.push(live);
        }
    }

    /// Drops segments that the manifest no longer names.
    pub(super) fn drop_segments(&mut self, numbers: &[u64]) {
        self.segments
            .retain(|live| !numbers.contains(&live.number()));
    }

    /// Remembers that the tombstones of all segments are stored.
    pub(super) fn mark_tombstones_stored(&mut self) {
        for live in &mut self.segments {
            live.mark_stored();
        }
    }

    /// The delta.
    pub(super) fn delta(&self) -> &Delta {
        &self.delta
    }

    /// The delta, for changes. Readers see them with the next snapshot.
    pub(super) fn delta_mut(&mut self) -> &mut Delta {
        &mut self.delta
    }

    /// Empties the delta: a segment file holds its records.
    pub(super) fn clear_delta(&mut self) {
        self.delta = Delta::default();
    }

    /// Gives a record's document in the segment files a tombstone, wherever it is. The delta is
    /// the caller's. Returns true if one was live. A segment that is damaged is taken out: its
    /// successor is built of the records as they are.
    pub(super) fn mark_deleted(&mut self, id: RecordId) -> Result<bool> {
        let mut was_live = false;
        let mut damaged = Vec::new();
        for live in &mut self.segments {
            match live.mark_deleted(id) {
                Err(damage @ Error::Corrupt { .. }) => damaged.push((live.number(), damage)),
                marked => was_live |= marked?,
            }
        }
        for (number, damage) in damaged {
            self.take_out(number, damage);
        }
        if let Some(rebuild) = &mut self.rebuild {
            rebuild.changed.push(id);
        }
        // The merge reads its inputs with the tombstones of its start: its result would show the
        // record again.
        if let Some(deleted) = &mut self.deleted_since_merge {
            deleted.push(id);
        }
        Ok(was_live)
    }

    /// The next snapshot: segment files with their tombstones, then the delta.
    ///
    /// INVARIANT: a record is live in no more than one segment. Each change of a record marks the
    /// older document deleted before the newer one is shown.
    pub(super) fn next_snapshot(&mut self) -> Snapshot {
        let parts_count = self.segments.len() + self.delta.parts().len();
        let mut parts = Vec::with_capacity(parts_count);
        for live in self.segments.iter().chain(self.delta.parts()) {
            parts.push((Arc::clone(live.segment()), Arc::clone(live.tombstones())));
        }
        self.last_snapshot += 1;
        Snapshot::new(self.last_snapshot, parts)
            .with_damaged(Arc::clone(&self.damaged))
            .with_partial(self.is_partial())
    }
}
