//! The catalog file, its segments, and the snapshot for readers.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use super::manifest_change::ManifestChange;
use super::memory_budget::MemoryBudget;
use super::segment_files::SegmentFiles;
use super::tables::{AppliedChanges, RecordChange};
use super::writer::Writer;
use crate::codec::decode_record;
use crate::damage::DamageLog;
use crate::error::{Error, Failed, Result};
use crate::limits::IMPORT_SORT_BYTES_MAX;
use crate::search::Snapshot;
use crate::store::{Store, Transaction};

/// `catalog.redb`, `index/`, and the current snapshot.
///
/// Readers load the snapshot and never wait. Every change of the catalog locks the writer, and
/// calls [`Catalog::ensure_recovered`] first.
pub(crate) struct Catalog {
    pub(super) store: Store,
    pub(super) files: SegmentFiles,
    /// Receives damage, for the log.
    pub(super) damage: Arc<DamageLog>,
    /// Memory that imports share.
    pub(crate) import_memory: Arc<MemoryBudget>,
    pub(super) writer: Mutex<Writer>,
    snapshot: ArcSwap<Snapshot>,
    /// True if a reindex job was requested and has not begun. Searches set it.
    pub(super) is_reindex_wanted: AtomicBool,
    /// True if the delta covers a commit. Kept outside the lock for searches and maintenance.
    pub(super) has_delta: AtomicBool,
    pub(super) reindex_jobs_done: AtomicU64,
    pub(super) merges_done: AtomicU64,
    /// As of the last look for segments to merge.
    pub(super) unmergeable_count: AtomicU64,
    /// True if merges end early and none begins: the process is about to stop.
    pub(super) is_merging_stopped: AtomicBool,
}

impl Catalog {
    /// A catalog that has not read its store yet.
    pub(crate) fn new(store: Store, files: SegmentFiles, damage: Arc<DamageLog>) -> Self {
        Self {
            store,
            files,
            damage,
            import_memory: Arc::new(MemoryBudget::new(IMPORT_SORT_BYTES_MAX)),
            writer: Mutex::default(),
            snapshot: ArcSwap::from_pointee(Snapshot::new(0, Vec::new())),
            is_reindex_wanted: AtomicBool::new(false),
            has_delta: AtomicBool::new(false),
            reindex_jobs_done: AtomicU64::new(0),
            merges_done: AtomicU64::new(0),
            unmergeable_count: AtomicU64::new(0),
            is_merging_stopped: AtomicBool::new(false),
        }
    }

    /// The current snapshot. Cost: two atomics that no other core writes.
    #[inline]
    pub(crate) fn snapshot(&self) -> impl Deref<Target = Arc<Snapshot>> + use<> {
        self.snapshot.load()
    }

    /// The store of the records.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// Returns true if some commits are in the delta only.
    pub(crate) fn has_delta(&self) -> bool {
        self.has_delta.load(Ordering::Acquire)
    }

    /// Counts of finished reindex jobs and merges.
    pub(crate) fn jobs_done(&self) -> (u64, u64) {
        (
            self.reindex_jobs_done.load(Ordering::Relaxed),
            self.merges_done.load(Ordering::Relaxed),
        )
    }

    /// Count of segment files that are too large to be merged, though there are many of their size.
    pub(crate) fn unmergeable_count(&self) -> u64 {
        self.unmergeable_count.load(Ordering::Relaxed)
    }

    /// Commits changes without showing them yet.
    pub(super) fn apply(
        &self,
        writer: &mut Writer,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<AppliedChanges>,
    ) -> Result<AppliedChanges, Failed> {
        let mut is_applied = false;
        let written = self.store.write(|rows| {
            let applied = work(rows)?;
            is_applied = true;
            Ok(applied)
        });
        match written {
            Ok(applied) => {
                // Under the same lock as the commit: a chunk that ended without this note would
                // show its older version as the newest.
                writer.note_overtaken(&applied.changes);
                writer.forget_damaged(&applied.changes);
                Ok(applied)
            }
            // Without space nothing was tried.
            Err(error @ Error::Space { .. }) => Err(error.into()),
            Err(error) => {
                // The outcome is open: the file may hold records that are unknown here.
                writer.require_recovery();
                let is_open = is_applied;
                Err(Failed { error, is_open })
            }
        }
    }

    /// Reads everything again if a commit failed in a way that leaves its outcome open.
    pub(super) fn ensure_recovered(&self, writer: &mut Writer) -> Result<()> {
        if writer.needs_recovery() {
            self.recover(writer)?;
            writer.end_recovery();
        }
        Ok(())
    }

    /// Moves committed changes into the delta and publishes a snapshot with them. A full delta
    /// becomes a segment file at once: it takes memory, and a start would have to build it again.
    pub(super) fn show_changes(
        &self,
        writer: &mut Writer,
        commits: &[u64],
        changes: &[RecordChange],
    ) -> Result<()> {
        // Even without changes: their journal rows must go with the next flush, or every start
        // would replay them.
        writer.delta_mut().cover(commits);
        if changes.is_empty() {
            return Ok(());
        }
        for change in changes {
            // A new record has no older document: the look-up in every segment would find nothing.
            if change.was_there {
                writer.mark_deleted(change.id)?;
            }
            let record = match &change.stored {
                Some(stored) => Some(decode_record(change.id, stored)?),
                None => None,
            };
            // An inactive record is stored but not searched: its version in the delta must go, too.
            match record.filter(|record| record.is_active) {
                Some(record) => writer.delta_mut().insert(record)?,
                None => {
                    writer.delta_mut().remove(change.id)?;
                }
            }
        }
        if writer.delta().is_full() {
            match self.flush(writer) {
                // Without space for a file the delta is as large as it must be.
                Err(Error::Space { .. }) => {}
                flushed => return flushed,
            }
        }
        writer.delta_mut().build()?;
        self.publish(writer);
        Ok(())
    }

    /// Stores a change of the manifest durably, with all tombstones that are not stored yet.
    pub(super) fn store_manifest(
        &self,
        writer: &mut Writer,
        change: &ManifestChange<'_>,
    ) -> Result<()> {
        let segments = writer.segments();
        match self.store.write(|rows| change.apply(rows, segments)) {
            Ok(()) => {
                writer.mark_tombstones_stored();
                Ok(())
            }
            // Without space nothing was tried: the new files serve nothing, and take what is short.
            Err(error @ Error::Space { .. }) => {
                for live in change.made {
                    self.files.remove(live.number())?;
                }
                Err(error)
            }
            Err(error) => {
                writer.require_recovery();
                Err(error)
            }
        }
    }

    /// Publishes a snapshot of the writer's segments and delta.
    pub(super) fn publish(&self, writer: &mut Writer) {
        // Before the snapshot: a search that finds a record of the delta can request its reindex at
        // once.
        let has_delta = !writer.delta().commits().is_empty();
        self.has_delta.store(has_delta, Ordering::Release);
        self.snapshot.store(Arc::new(writer.next_snapshot()));
    }
}
