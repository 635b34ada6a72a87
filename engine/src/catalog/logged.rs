//! Changes that come from the log of a cluster.
//!
//! They are committed as an import commits its groups: durable first, shown in chunks. The newest
//! entries are shown at once, a long tail in large segments.

use hashbrown::HashSet;

use super::catalog_store::Catalog;
use super::chunk::Chunk;
use super::event::{CatalogEvent, CatalogOutcome};
use super::tables::{AppliedChanges, RecordChange, apply_catalog};
use crate::error::Result;
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

/// Frames of the log that are durable and not shown yet.
#[derive(Default)]
pub(crate) struct LoggedChunk {
    chunk: Option<Chunk>,
    /// Records that it holds: a record is in a chunk once.
    ids: HashSet<RecordId, foldhash::fast::RandomState>,
}

impl LoggedChunk {
    /// Returns true if everything is shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunk.is_none()
    }

    /// Returns true if it must be shown before it grows further.
    pub(crate) fn is_full(&self) -> bool {
        self.chunk.as_ref().is_some_and(Chunk::is_full)
    }
}

impl Catalog {
    /// Makes frames durable, with the position up to which the log is applied then; returns an
    /// outcome for each event, none for those of a frame that was applied before. Searches see them
    /// after [`Catalog::show_logged`].
    pub(crate) fn apply_logged(
        &self,
        waiting: &mut LoggedChunk,
        frames: Vec<LoggedCatalogEvents>,
        position: &LogPosition,
    ) -> Result<Vec<Option<CatalogOutcome>>> {
        let events = frames.iter().flat_map(|frame| &frame.events);
        if events
            .clone()
            .any(|event| waiting.ids.contains(&event.record()))
        {
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
        let Some(chunk) = std::mem::take(waiting).chunk else {
            // One that could not be shown was given up: a recovery shows it.
            return self.ensure_recovered(&mut self.writer.lock());
        };
        let shown = self.build_chunk(&chunk);
        if shown.is_err() {
            self.abandon(&chunk);
        }
        shown
    }
}

/// Applies those frames that were not applied before. `skipped` gets a flag for each event.
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
        // There is one set of rules for records yet.
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

/// Of several changes of a record keeps the last one, in ascending order of ids.
fn keep_newest(changes: &mut Vec<RecordChange>) {
    changes.sort_by_key(|change| change.id);
    changes.dedup_by(|later, kept| {
        let is_same = later.id == kept.id;
        if is_same {
            // Whether there was one before is what the first has found.
            kept.stored = later.stored.take();
        }
        is_same
    });
}
