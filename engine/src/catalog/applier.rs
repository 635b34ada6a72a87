//! Frames of a log, made durable and shown.
//!
//! Every change of records comes this way: one of a caller, a part of an import, entries that other
//! nodes have written. A frame is committed first and shown in a chunk: the newest frames at once,
//! an import or a long tail of a log in large segments, which threads build while the next frames
//! are committed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::catalog_store::Catalog;
use super::chunk::{Chunk, OpenChunk};
use super::event::{CatalogEvent, CatalogOutcome};
use super::tables::{AppliedChanges, apply_catalog};
use super::writer::Writer;
use crate::damage::Treatment;
use crate::error::{Failed, Result};
use crate::limits::IMPORT_BUILDERS;
use crate::log_rows::{FRAME_VERSION, FrameOrigin, LogPosition, note_frame, put_position};
use crate::store::Transaction;

/// Events of one node, as the log has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CatalogFrame {
    pub(crate) version: u8,
    pub(crate) origin: FrameOrigin,
    pub(crate) events: Vec<CatalogEvent>,
}

/// Frames on their way into the catalog: durable, and not all shown yet.
///
/// Dropped, it leaves the rest to a recovery.
pub(crate) struct CatalogApplier {
    catalog: Arc<Catalog>,
    chunk: Option<Chunk>,
    /// Chunks before, the oldest first.
    building: VecDeque<BuildingChunk>,
    /// True while an abandoned chunk waits for a recovery.
    is_given_up: bool,
}

/// A chunk that a thread builds. Dropping it waits for the thread, which writes to the data
/// directory.
struct BuildingChunk {
    chunk: Arc<Chunk>,
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

impl CatalogApplier {
    pub(crate) fn new(catalog: Arc<Catalog>) -> Self {
        Self {
            catalog,
            chunk: None,
            building: VecDeque::new(),
            is_given_up: false,
        }
    }

    /// Returns true if everything is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.is_none() && self.building.is_empty() && !self.is_given_up
    }

    /// Returns true if it must be built, or shown, before it grows further.
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.as_ref().is_some_and(Chunk::is_full)
    }

    /// Count of chunks that threads are building, the newest ones of all handed to threads; `None`
    /// if an earlier one may not be shown.
    pub(crate) fn building_count(&self) -> Option<usize> {
        (!self.is_given_up).then_some(self.building.len())
    }

    /// Makes frames durable, in one transaction, and the new position in a shared log with them.
    /// Searches see them after [`CatalogApplier::show`].
    ///
    /// Returns an outcome for each event; none for those of a frame that was applied before.
    pub(crate) fn commit(
        &mut self,
        frames: Vec<CatalogFrame>,
        position: Option<&LogPosition>,
    ) -> Result<Vec<Option<CatalogOutcome>>, Failed> {
        // A chunk is shown without what has changed since: readers would go on with the version
        // before both, and the first caller has an answer.
        let mut events = frames.iter().flat_map(|frame| &frame.events);
        let is_building = |id| self.building.iter().any(|it| it.chunk.has(id));
        if events.any(|event| is_building(event.record())) {
            // What could not be built is recovered by the commit.
            let _ = self.wait_for_building(0);
        }
        let catalog = Arc::clone(&self.catalog);
        self.commit_locked(&mut catalog.writer.lock(), frames, position)
    }

    /// Makes frames durable and shows them, as far as they can be shown now. Few of them under one
    /// lock: their caller waits once for an import beside it, and finds them when answered.
    pub(crate) fn commit_and_show(
        &mut self,
        frames: Vec<CatalogFrame>,
    ) -> Result<Vec<Option<CatalogOutcome>>, Failed> {
        let catalog = Arc::clone(&self.catalog);
        let mut writer = catalog.writer.lock();
        let outcomes = self.commit_locked(&mut writer, frames, None)?;
        if let Some(chunk) = self.chunk.take() {
            match catalog.show_few(&mut writer, chunk) {
                Ok(large) => self.chunk = large,
                Err(error) => catalog.damage.note(&error, Treatment::ShownLater),
            }
        }
        drop(writer);
        if self.chunk.is_some() {
            self.show_or_later();
        }
        Ok(outcomes)
    }

    fn commit_locked(
        &mut self,
        writer: &mut Writer,
        frames: Vec<CatalogFrame>,
        position: Option<&LogPosition>,
    ) -> Result<Vec<Option<CatalogOutcome>>, Failed> {
        let mut skipped = Vec::new();
        // Taken: after an error the chunk is abandoned already.
        let chunk = self.chunk.take();
        let (chunk, outcomes) = self.catalog.commit_to_chunk(writer, chunk, |rows| {
            apply_frames(rows, frames, position, &mut skipped)
        })?;
        self.chunk = Some(chunk);
        let mut outcomes = outcomes.into_iter();
        let outcomes = skipped.iter().map(|is_skipped| {
            let applied = (!is_skipped).then(|| outcomes.next());
            applied.flatten()
        });
        Ok(outcomes.collect())
    }

    /// Lets a thread build what was committed; waits for the oldest thread if there are enough.
    ///
    /// Errors: that thread's chunk was abandoned, and this one still waits.
    pub(crate) fn build(&mut self) -> Result<()> {
        self.wait_for_building(IMPORT_BUILDERS - 1)?;
        let Some(chunk) = self.chunk.take() else {
            return Ok(());
        };
        let (catalog, chunk) = (Arc::clone(&self.catalog), Arc::new(chunk.close()));
        let its_chunk = Arc::clone(&chunk);
        let builder = std::thread::Builder::new().name("index".into());
        match builder.spawn(move || OpenChunk::new(&catalog, its_chunk).show()) {
            Ok(thread) => {
                let thread = Some(thread);
                self.building.push_back(BuildingChunk { chunk, thread });
            }
            // On this thread, then, after the earlier ones.
            Err(_) => {
                let before = self.wait_for_building(0);
                let shown = OpenChunk::new(&self.catalog, chunk).show();
                self.is_given_up = shown.is_err();
                before.and(shown)?;
            }
        }
        Ok(())
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

    /// Shows what was committed.
    pub(crate) fn show(&mut self) -> Result<()> {
        // What a thread could not build is recovered, before the rest is shown.
        let _ = self.wait_for_building(0);
        let recover = || {
            let mut writer = self.catalog.writer.lock();
            self.catalog.ensure_recovered(&mut writer)
        };
        let shown = match self.chunk.take() {
            Some(chunk) => OpenChunk::new(&self.catalog, Arc::new(chunk.close()))
                .show()
                .or_else(|_| recover()),
            None => recover(),
        };
        self.is_given_up = shown.is_err();
        shown
    }

    /// Shows what was committed, as far as it can be now: what keeps it from being shown is
    /// repaired, and delays it. The outcome of a change is what its commit has decided.
    pub(crate) fn show_or_later(&mut self) {
        // The next change tries again, and maintenance each second.
        if let Err(error) = self.show() {
            self.catalog.damage.note(&error, Treatment::ShownLater);
        }
    }
}

impl Drop for CatalogApplier {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            self.catalog.abandon(&chunk);
        }
    }
}

/// Applies the frames that were not applied before. `skipped` gets a flag for each event.
fn apply_frames(
    rows: &mut Transaction<'_>,
    frames: Vec<CatalogFrame>,
    position: Option<&LogPosition>,
    skipped: &mut Vec<bool>,
) -> Result<AppliedChanges> {
    let mut accepted = Vec::new();
    for CatalogFrame {
        version,
        origin,
        events,
    } in frames
    {
        // All versions have the same rules for records.
        assert!(FRAME_VERSION <= version);
        // A frame that is handed on as a value comes once.
        let is_new = position.is_none() || note_frame(rows, origin)?;
        skipped.resize(skipped.len() + events.len(), !is_new);
        if is_new {
            accepted.extend(events);
        }
    }
    let applied = apply_catalog(rows, accepted)?;
    if let Some(position) = position {
        put_position(rows, position)?;
    }
    Ok(applied)
}
