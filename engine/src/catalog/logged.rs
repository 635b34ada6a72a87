//! Changes that come from the log of a cluster.
//!
//! They are committed like the groups of an import: durable first, shown in chunks. The newest
//! entries are shown at once, a long tail in large segments, which threads build while the next
//! entries are applied.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use hashbrown::HashSet;

use super::catalog_store::Catalog;
use super::chunk::{Chunk, OpenChunk};
use super::event::{CatalogEvent, CatalogOutcome};
use super::tables::{AppliedChanges, RecordChange, apply_catalog};
use crate::error::Result;
use crate::limits::IMPORT_BUILDERS;
use crate::log_rows::{FRAME_VERSION, FrameOrigin, LogPosition, note_frame, put_position};
use crate::model::RecordId;
use crate::store::Transaction;

/// Events of one node, as the log has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoggedCatalogEvents {
    pub(crate) version: u8,
    pub(crate) origin: FrameOrigin,
    pub(crate) events: Vec<CatalogEvent>,
}

type ChunkRecords = HashSet<RecordId, foldhash::fast::RandomState>;

/// Frames of the log that are durable and not shown yet.
#[derive(Default)]
pub(crate) struct LoggedChunk {
    chunk: Option<Chunk>,
    /// Ids of its records: a record is in a chunk once.
    ids: ChunkRecords,
    /// Chunks before, the oldest first.
    building: VecDeque<BuildingChunk>,
    /// True while an abandoned chunk waits for a recovery.
    is_given_up: bool,
}

/// A chunk that a thread is building. Dropping it waits for the thread, which writes to the data
/// directory.
struct BuildingChunk {
    ids: ChunkRecords,
    /// None after the wait for it.
    thread: Option<JoinHandle<Result<()>>>,
}

impl BuildingChunk {
    fn is_built(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn wait(&mut self) -> Result<()> {
        self.thread.take().map_or(Ok(()), |thread| {
            thread.join().expect("building a segment does not panic")
        })
    }
}

impl Drop for BuildingChunk {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // A chunk that could not be built was abandoned: a recovery shows it.
            let _ = thread.join();
        }
    }
}

impl LoggedChunk {
    /// Returns true if everything is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.is_none() && self.building.is_empty() && !self.is_given_up
    }

    /// Returns true if this chunk, or one that is being built, has the record.
    fn has(&self, id: RecordId) -> bool {
        let before = self.building.iter().map(|it| &it.ids);
        before.chain([&self.ids]).any(|ids| ids.contains(&id))
    }

    /// Count of chunks that threads are building, the newest ones of all handed to threads; `None`
    /// if an earlier one may not be shown.
    pub(crate) fn building_count(&self) -> Option<usize> {
        (!self.is_given_up).then_some(self.building.len())
    }

    /// Waits until no more than `count_max` chunks are being built.
    ///
    /// Errors: the first error of an abandoned chunk.
    pub(crate) fn wait_for_building(&mut self, count_max: usize) -> Result<()> {
        let mut outcome = Ok(());
        while let Some(oldest) = self.building.front()
            && (count_max < self.building.len() || oldest.is_built())
        {
            let oldest = self.building.pop_front();
            let shown = oldest.map_or(Ok(()), |mut it| it.wait());
            self.is_given_up |= shown.is_err();
            outcome = outcome.and(shown);
        }
        outcome
    }

    /// Returns true if it must be shown before it grows further.
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.as_ref().is_some_and(Chunk::is_full)
    }
}

impl Catalog {
    /// Makes frames durable, together with the new position in the log; returns an outcome for each
    /// event, none for those of a frame that was applied before. Searches see them after
    /// [`Catalog::show_logged`].
    pub(crate) fn apply_logged(
        &self,
        waiting: &mut LoggedChunk,
        frames: Vec<LoggedCatalogEvents>,
        position: &LogPosition,
    ) -> Result<Vec<Option<CatalogOutcome>>> {
        let events = frames.iter().flat_map(|frame| &frame.events);
        if events.clone().any(|event| waiting.has(event.record())) {
            self.show_logged(waiting)?;
        }
        waiting.ids.extend(events.map(CatalogEvent::record));
        let mut skipped = Vec::new();
        let (chunk, outcomes) = self.commit_to_chunk(waiting.chunk.take(), |rows| {
            apply_frames(rows, frames, position, &mut skipped)
        })?;
        waiting.chunk = Some(chunk);
        let mut outcomes = outcomes.into_iter();
        let outcomes = skipped.iter().map(|is_skipped| {
            let applied = (!is_skipped).then(|| outcomes.next());
            applied.flatten()
        });
        Ok(outcomes.collect())
    }

    /// Shows what was applied.
    pub(crate) fn show_logged(&self, waiting: &mut LoggedChunk) -> Result<()> {
        waiting.wait_for_building(0)?;
        waiting.ids.clear();
        let shown = match waiting.chunk.take() {
            Some(chunk) => OpenChunk::new(self, Arc::new(chunk))
                .show()
                .or_else(|_| self.ensure_recovered(&mut self.writer.lock())),
            // An abandoned one: a recovery shows it.
            None => self.ensure_recovered(&mut self.writer.lock()),
        };
        // Abandoned chunks are recovered before any other is shown.
        waiting.is_given_up = shown.is_err();
        shown
    }

    /// Lets a thread show the applied frames; waits for the oldest thread if there are enough.
    ///
    /// Errors: that thread's chunk was abandoned, and this one still waits.
    pub(crate) fn build_logged(self: &Arc<Self>, waiting: &mut LoggedChunk) -> Result<()> {
        waiting.wait_for_building(IMPORT_BUILDERS - 1)?;
        let Some(chunk) = waiting.chunk.take() else {
            return Ok(());
        };
        let ids = std::mem::take(&mut waiting.ids);
        let (catalog, chunk) = (Arc::clone(self), Arc::new(chunk));
        let its_chunk = Arc::clone(&chunk);
        let builder = std::thread::Builder::new().name("index".into());
        match builder.spawn(move || OpenChunk::new(&catalog, its_chunk).show()) {
            Ok(thread) => {
                let thread = Some(thread);
                waiting.building.push_back(BuildingChunk { ids, thread });
            }
            // On this thread, then, after the earlier ones.
            Err(_) => {
                let before = waiting.wait_for_building(0);
                let shown = OpenChunk::new(self, chunk).show();
                waiting.is_given_up = shown.is_err();
                before.and(shown)?;
            }
        }
        Ok(())
    }
}

/// Applies the frames that were not applied before. `skipped` gets a flag for each event.
fn apply_frames(
    rows: &mut Transaction<'_>,
    frames: Vec<LoggedCatalogEvents>,
    position: &LogPosition,
    skipped: &mut Vec<bool>,
) -> Result<AppliedChanges> {
    let mut accepted = Vec::new();
    for LoggedCatalogEvents {
        version,
        origin,
        events,
    } in frames
    {
        // All versions have the same rules for records.
        assert!(FRAME_VERSION <= version);
        let is_new = note_frame(rows, origin)?;
        skipped.resize(skipped.len() + events.len(), !is_new);
        if is_new {
            accepted.extend(events);
        }
    }
    let mut applied = apply_catalog(rows, accepted)?;
    keep_newest(&mut applied.changes);
    put_position(rows, position)?;
    Ok(applied)
}

/// Keeps the last of several changes of a record, in ascending order of ids.
fn keep_newest(changes: &mut Vec<RecordChange>) {
    changes.sort_by_key(|change| change.id);
    changes.dedup_by(|later, kept| {
        let is_same = later.id == kept.id;
        if is_same {
            // The first change knows if there was a record before.
            kept.stored = later.stored.take();
        }
        is_same
    });
}
