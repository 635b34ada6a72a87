//! Chunks: frames that are committed one by one, and shown together. The `writer` module draws
//! their states.

use std::sync::Arc;

use super::catalog_store::Catalog;
use super::event::CatalogOutcome;
use super::live_segment::LiveSegment;
use super::manifest_change::ManifestChange;
use super::tables::{AppliedChanges, RecordChange};
use super::writer::{ChunkToken, EndedChunk, Writer};
use crate::codec::decode_record;
use crate::error::{Failed, Result};
use crate::index::SegmentBuilder;
use crate::limits::{
    DELTA_BYTES_MAX, DELTA_RECORDS_MAX, IMPORT_SEGMENT_BYTES, IMPORT_SEGMENT_RECORDS,
    RECORD_OVERHEAD_BYTES,
};
use crate::model::RecordId;
use crate::store::Transaction;

/// Committed records that are not searchable yet.
pub(super) struct Chunk {
    token: ChunkToken,
    /// Sequence numbers of its commits; the journal has them until the chunk is shown.
    commits: Vec<u64>,
    /// Records that its commits changed, once each when it is closed.
    changes: Vec<RecordChange>,
    /// Size of these records, in bytes.
    bytes: usize,
}

impl Chunk {
    /// Returns true if it must become a segment.
    pub(super) fn is_full(&self) -> bool {
        IMPORT_SEGMENT_RECORDS <= self.changes.len() || IMPORT_SEGMENT_BYTES <= self.bytes
    }

    /// The chunk with no more commits to come.
    pub(super) fn close(mut self) -> Self {
        keep_newest(&mut self.changes);
        self
    }

    /// Returns true if a closed chunk has a change of this record. Cost: a comparison for an id
    /// beyond its own, as those of an import are.
    pub(super) fn has(&self, id: RecordId) -> bool {
        let is_within = self.changes.last().is_some_and(|last| id <= last.id);
        let found = || self.changes.binary_search_by_key(&id, |change| change.id);
        is_within && found().is_ok()
    }

    /// Returns true if it is small enough for the delta.
    fn fits_in_delta(&self) -> bool {
        self.changes.len() <= DELTA_RECORDS_MAX && self.bytes <= DELTA_BYTES_MAX
    }
}

/// A chunk that is given up unless it is shown: also by an error or a panic, of the thread that has
/// it or of those that it waits for. Its commits would stay hidden, and files that nothing names
/// would stay.
pub(super) struct OpenChunk<'c> {
    catalog: &'c Catalog,
    chunk: Arc<Chunk>,
    is_shown: bool,
}

impl<'c> OpenChunk<'c> {
    pub(super) fn new(catalog: &'c Catalog, chunk: Arc<Chunk>) -> Self {
        Self {
            catalog,
            chunk,
            is_shown: false,
        }
    }

    /// Builds a segment of it, or puts it into the delta.
    pub(super) fn show(mut self) -> Result<()> {
        let shown = self.catalog.build_chunk(&self.chunk);
        self.is_shown = shown.is_ok();
        shown
    }
}

impl Drop for OpenChunk<'_> {
    fn drop(&mut self) {
        if !self.is_shown {
            self.catalog.abandon(&self.chunk);
        }
    }
}

impl Catalog {
    /// Commits changes without showing them, and adds them to a chunk, or to a new one.
    ///
    /// Errors: the chunk is abandoned.
    pub(super) fn commit_to_chunk(
        &self,
        writer: &mut Writer,
        chunk: Option<Chunk>,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<AppliedChanges>,
    ) -> Result<(Chunk, Vec<CatalogOutcome>), Failed> {
        if let Err(error) = self.ensure_recovered(writer) {
            if let Some(chunk) = chunk {
                // Its earlier commits are durable: the next recovery shows them from the journal.
                writer.abandon_chunk(chunk.token);
            }
            return Err(error.into());
        }
        let mut chunk = chunk.unwrap_or_else(|| Chunk {
            token: writer.begin_chunk(),
            commits: Vec::new(),
            changes: Vec::new(),
            bytes: 0,
        });
        let mut applied = match self.apply(writer, work) {
            Ok(applied) => applied,
            Err(failed) => {
                writer.abandon_chunk(chunk.token);
                return Err(failed);
            }
        };
        keep_newest(&mut applied.changes);
        // `apply` noted these records as overtaken in every open chunk, this one included.
        writer.note_newest(chunk.token, &applied.changes);
        // A frame that changed nothing has no journal row that a segment could cover.
        if !applied.changes.is_empty() {
            let stored = applied.changes.iter().flat_map(|change| &change.stored);
            let sizes = stored.map(|stored| RECORD_OVERHEAD_BYTES + stored.len());
            chunk.bytes += sizes.sum::<usize>();
            chunk.commits.push(applied.number);
            chunk.changes.extend(applied.changes);
        }
        Ok((chunk, applied.outcomes))
    }

    /// Builds a segment of a chunk, or puts a small one into the delta, and shows it.
    ///
    /// The segment is built and written without the lock: other threads commit at the same time,
    /// and searches of their records do not wait for a large import.
    fn build_chunk(&self, chunk: &Chunk) -> Result<()> {
        if chunk.fits_in_delta() {
            return self.show_in_delta(&mut self.writer.lock(), chunk);
        }
        let mut builder = SegmentBuilder::new();
        for change in &chunk.changes {
            if let Some(stored) = &change.stored {
                builder.add(&decode_record(change.id, stored)?)?;
            }
        }
        // None of its records is active: only the removal of older versions is left to show.
        if builder.is_empty() {
            return self.show_in_delta(&mut self.writer.lock(), chunk);
        }
        // The chunk is open: a file that the manifest does not name yet is not removed.
        let number = self.files.next_number();
        let segment = self.finish_segment(number, builder)?;
        self.show_as_segment(chunk, LiveSegment::new(number, segment))
    }

    /// Shows a chunk that is small: its newest records go to the delta.
    fn show_in_delta(&self, writer: &mut Writer, chunk: &Chunk) -> Result<()> {
        self.ensure_recovered(writer)?;
        let ended = writer.end_chunk(chunk.token);
        let mut newest = Vec::with_capacity(chunk.changes.len());
        for change in &chunk.changes {
            if !ended.is_overtaken(change.id) {
                let mut change = change.clone();
                // A recovery has shown a version of it: that one is replaced like any older one.
                change.was_there |= ended.was_recovered;
                newest.push(change);
            }
        }
        // Overtaken records are shown by the commit that overtook them.
        self.show_changes(writer, &chunk.commits, &newest)
    }

    /// Shows a chunk that was committed under the same lock, if it is small; else gives it back. A
    /// chunk that cannot be shown is recovered: errors are of that.
    pub(super) fn show_few(&self, writer: &mut Writer, chunk: Chunk) -> Result<Option<Chunk>> {
        if !chunk.fits_in_delta() {
            return Ok(Some(chunk));
        }
        let chunk = chunk.close();
        if self.show_in_delta(writer, &chunk).is_err() {
            writer.abandon_chunk(chunk.token);
            self.ensure_recovered(writer)?;
        }
        Ok(None)
    }

    /// Shows a chunk as a segment file.
    fn show_as_segment(&self, chunk: &Chunk, mut made: LiveSegment) -> Result<()> {
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        let ended = writer.end_chunk(chunk.token);
        // Before the manifest: it stores these tombstones in the transaction that removes the
        // journal rows, so that a crash leaves both or neither.
        mark_old_versions(&mut writer, &mut made, chunk, &ended)?;
        // Records may have left the delta: readers must lose those versions with the snapshot that
        // brings the chunk's, or they would find both.
        writer.delta_mut().build()?;
        self.store_manifest(
            &mut writer,
            &ManifestChange {
                made: std::slice::from_ref(&made),
                commits: &chunk.commits,
                dropped: &[],
            },
        )?;
        writer.add_segments([made]);
        self.publish(&mut writer);
        Ok(())
    }

    /// Gives a chunk up; a recovery shows its commits.
    pub(super) fn abandon(&self, chunk: &Chunk) {
        self.writer.lock().abandon_chunk(chunk.token);
    }
}

/// Deletes every version of the chunk's records but the newest: the chunk's own version if another
/// commit has overtaken it, else all that are shown by now.
///
/// Cost: one look-up in each segment for each record that was there before; none for new records. A
/// first import has no others.
fn mark_old_versions(
    writer: &mut Writer,
    made: &mut LiveSegment,
    chunk: &Chunk,
    ended: &EndedChunk,
) -> Result<()> {
    for change in &chunk.changes {
        if ended.is_overtaken(change.id) {
            made.mark_deleted(change.id)?;
        } else if change.was_there || ended.was_recovered {
            writer.mark_deleted(change.id)?;
            writer.delta_mut().remove(change.id)?;
        }
    }
    Ok(())
}

/// Keeps the last of several changes of a record, in ascending order of ids.
fn keep_newest(changes: &mut Vec<RecordChange>) {
    changes.sort_by_key(|change| change.id);
    changes.dedup_by(|later, kept| {
        let is_same = later.id == kept.id;
        if is_same {
            kept.stored = later.stored.take();
            // What another caller has stored between them is shown already.
            kept.was_there |= later.was_there;
        }
        is_same
    });
}
