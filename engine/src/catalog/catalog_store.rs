//! The catalog file, its segments, and the snapshot that readers see.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::HashMap;
use parking_lot::Mutex;

use super::event::{CatalogEvent, CatalogOutcome};
use super::segment_files::SegmentFiles;
use super::tables::{AppliedChanges, Change, JOURNAL, ManifestEntry, TOMBSTONES, apply_catalog};
use crate::codec::decode_record;
use crate::error::{Error, Result};
use crate::index::{Segment, SegmentBuilder, Tombstones};
use crate::limits::DELTA_RECORDS_MAX;
use crate::model::{Record, RecordId};
use crate::search::Snapshot;
use crate::store::{Store, Transaction};

/// `catalog.redb`, `index/`, and the current snapshot.
pub(crate) struct Catalog {
    pub(crate) store: Store,
    pub(crate) files: SegmentFiles,
    pub(crate) writer: Mutex<Writer>,
    snapshot: ArcSwap<Snapshot>,
    /// Whether a reindex job was asked for and has not begun.
    pub(crate) is_reindex_wanted: AtomicBool,
    /// Whether something lives only in the delta.
    pub(crate) has_delta: AtomicBool,
    pub(crate) reindex_jobs_done: AtomicU64,
    pub(crate) merges_done: AtomicU64,
    /// Whether merges end early and none begins: the process is about to stop.
    pub(crate) is_merging_stopped: AtomicBool,
}

/// What only the one who changes the catalog touches.
#[derive(Default)]
pub(crate) struct Writer {
    pub(crate) segments: Vec<LiveSegment>,
    pub(crate) delta: Delta,
    /// Segments that are being built of committed records, by token: which of those records
    /// others have changed since.
    pub(crate) building: HashMap<u64, Vec<RecordId>, foldhash::fast::RandomState>,
    /// While a merge runs: the records that got a tombstone since it began.
    pub(crate) merging: Option<Vec<RecordId>>,
    pub(crate) last_token: u64,
    pub(crate) last_segment: u64,
    pub(crate) last_snapshot: u64,
    /// Damage of derived files that opening found and repaired; the next scrub tells it.
    pub(crate) repaired: Vec<Error>,
    /// A commit failed and may be durable all the same: read everything again before the next.
    pub(crate) needs_recovery: bool,
    /// How often everything was read again.
    pub(crate) recoveries_count: u64,
}

/// A segment file with its tombstones as they are now.
#[derive(Clone)]
pub(crate) struct LiveSegment {
    pub(crate) number: u64,
    pub(crate) segment: Arc<Segment>,
    pub(crate) tombstones: Arc<Tombstones>,
    /// Whether the stored tombstones are behind; the journal has what they lack.
    pub(crate) is_dirty: bool,
}

/// What was committed since the newest segment file.
#[derive(Default)]
pub(crate) struct Delta {
    /// The active records.
    pub(crate) records: BTreeMap<RecordId, Record>,
    /// The commits that it covers.
    pub(crate) commits: Vec<u64>,
    pub(crate) segment: Option<Arc<Segment>>,
}

impl Catalog {
    /// A catalog that has not read its store yet.
    pub(crate) fn new(store: Store, files: SegmentFiles) -> Self {
        Self {
            store,
            files,
            writer: Mutex::default(),
            snapshot: ArcSwap::from_pointee(Snapshot::new(0, Vec::new())),
            is_reindex_wanted: AtomicBool::new(false),
            has_delta: AtomicBool::new(false),
            reindex_jobs_done: AtomicU64::new(0),
            merges_done: AtomicU64::new(0),
            is_merging_stopped: AtomicBool::new(false),
        }
    }

    /// The current snapshot. Cost: two atomics that no other core writes.
    pub(crate) fn snapshot(&self) -> impl Deref<Target = Arc<Snapshot>> + use<> {
        self.snapshot.load()
    }

    /// Commits a few changes and makes them searchable.
    pub(crate) fn commit(&self, frame: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>> {
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        let applied = self.apply(&mut writer, frame)?;
        let shown = self.show_changes(&mut writer, applied.number, &applied.changes);
        writer.needs_recovery |= shown.is_err();
        shown?;
        Ok(applied.outcomes)
    }

    /// Commits a frame without showing it yet.
    pub(crate) fn apply(
        &self,
        writer: &mut Writer,
        frame: Vec<CatalogEvent>,
    ) -> Result<AppliedChanges> {
        let applied = self.store.write(|rows| apply_catalog(rows, frame));
        // Without space nothing was tried.
        writer.needs_recovery |= applied
            .as_ref()
            .is_err_and(|error| !matches!(error, Error::Space { .. }));
        let applied = applied?;
        let replaced = applied.changes.iter().filter(|change| change.was_there);
        for change in replaced {
            for overtaken in writer.building.values_mut() {
                overtaken.push(change.id);
            }
        }
        Ok(applied)
    }

    /// Reads everything again when a commit failed in a way that leaves its outcome open.
    pub(crate) fn ensure_recovered(&self, writer: &mut Writer) -> Result<()> {
        if writer.needs_recovery {
            self.recover(writer)?;
            writer.needs_recovery = false;
        }
        Ok(())
    }

    /// Moves committed changes into the delta and publishes a snapshot with them.
    pub(crate) fn show_changes(
        &self,
        writer: &mut Writer,
        commit: u64,
        changes: &[Change],
    ) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        for change in changes {
            if change.was_there {
                writer.mark_deleted(change.id)?;
            }
            let record = match &change.stored {
                Some(stored) => Some(decode_record(change.id, stored)?),
                None => None,
            };
            match record.filter(|record| record.is_active) {
                Some(record) => writer.delta.records.insert(change.id, record),
                None => writer.delta.records.remove(&change.id),
            };
        }
        writer.delta.commits.push(commit);
        if DELTA_RECORDS_MAX < writer.delta.records.len() {
            return self.flush(writer);
        }
        writer.delta.build()?;
        self.publish(writer);
        Ok(())
    }

    /// Makes a segment file of the delta.
    pub(crate) fn flush(&self, writer: &mut Writer) -> Result<()> {
        if writer.delta.commits.is_empty() {
            return Ok(());
        }
        let mut made = None;
        if !writer.delta.records.is_empty() {
            writer.last_segment += 1;
            let records = writer.delta.records.values();
            made = Some(self.write_segment(writer.last_segment, records)?);
        }
        let commits = writer.delta.commits.clone();
        self.store_manifest(
            writer,
            &ManifestChange {
                made: made.as_slice(),
                commits: &commits,
                dropped: &[],
            },
        )?;
        writer.delta = Delta::default();
        writer.segments.extend(made);
        self.publish(writer);
        Ok(())
    }

    /// Builds a segment file of records.
    pub(crate) fn write_segment<'r>(
        &self,
        number: u64,
        records: impl Iterator<Item = &'r Record>,
    ) -> Result<LiveSegment> {
        let mut builder = SegmentBuilder::new();
        for record in records {
            builder.add(record)?;
        }
        let segment = self.finish_segment(number, builder)?;
        Ok(LiveSegment::new(number, segment))
    }

    /// Writes what a builder has gathered.
    pub(crate) fn finish_segment(
        &self,
        number: u64,
        builder: SegmentBuilder,
    ) -> Result<Arc<Segment>> {
        self.files.check_space(0)?;
        let mut builder = Some(builder);
        self.files.write(number, &mut |out| {
            let builder = builder.take().expect("a segment is written once");
            builder.finish(out)
        })
    }

    /// Stores a change of the manifest, with all tombstones that are behind, durably.
    pub(crate) fn store_manifest(
        &self,
        writer: &mut Writer,
        change: &ManifestChange<'_>,
    ) -> Result<()> {
        let segments = &writer.segments;
        match self.store.write(|rows| change.apply(rows, segments)) {
            Ok(()) => {
                for live in &mut writer.segments {
                    live.is_dirty = false;
                }
                Ok(())
            }
            // Without space nothing was tried.
            Err(error @ Error::Space { .. }) => Err(error),
            Err(error) => {
                writer.needs_recovery = true;
                Err(error)
            }
        }
    }

    /// Shows readers what the writer has.
    pub(crate) fn publish(&self, writer: &mut Writer) {
        let mut parts = Vec::with_capacity(writer.segments.len() + 1);
        for live in &writer.segments {
            parts.push((Arc::clone(&live.segment), Arc::clone(&live.tombstones)));
        }
        if let Some(segment) = &writer.delta.segment {
            parts.push((Arc::clone(segment), Arc::new(Tombstones::new())));
        }
        writer.last_snapshot += 1;
        let has_delta = !writer.delta.commits.is_empty();
        self.has_delta.store(has_delta, Ordering::Release);
        self.snapshot
            .store(Arc::new(Snapshot::new(writer.last_snapshot, parts)));
    }
}

impl Writer {
    /// Marks the document of a record in the segment files as gone, wherever it is.
    pub(crate) fn mark_deleted(&mut self, id: RecordId) -> Result<()> {
        for live in &mut self.segments {
            live.mark_deleted(id)?;
        }
        if let Some(deleted) = &mut self.merging {
            deleted.push(id);
        }
        Ok(())
    }
}

impl LiveSegment {
    /// A new segment: every document is there.
    pub(crate) fn new(number: u64, segment: Arc<Segment>) -> Self {
        Self {
            number,
            segment,
            tombstones: Arc::new(Tombstones::new()),
            is_dirty: false,
        }
    }

    /// Marks the document of a record as gone, if it is here.
    pub(crate) fn mark_deleted(&mut self, id: RecordId) -> Result<()> {
        if let Some(doc) = self.segment.find(id)?
            && !self.tombstones.contains(doc)
        {
            Arc::make_mut(&mut self.tombstones).insert(doc);
            self.is_dirty = true;
        }
        Ok(())
    }

    /// Documents that are still there.
    pub(crate) fn live_count(&self) -> u64 {
        u64::from(self.segment.len()) - self.tombstones.len()
    }
}

impl Delta {
    /// Builds the heap segment anew.
    pub(crate) fn build(&mut self) -> Result<()> {
        self.segment = None;
        if self.records.is_empty() {
            return Ok(());
        }
        let mut builder = SegmentBuilder::new();
        for record in self.records.values() {
            builder.add(record)?;
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes)?;
        let segment = Segment::open(Bytes::from(bytes), "the delta")?;
        self.segment = Some(Arc::new(segment));
        Ok(())
    }
}

/// One change of the manifest.
pub(crate) struct ManifestChange<'c> {
    /// Segments that come.
    pub(crate) made: &'c [LiveSegment],
    /// Commits that a segment file covers now.
    pub(crate) commits: &'c [u64],
    /// Numbers of segments that go.
    pub(crate) dropped: &'c [u64],
}

impl ManifestChange<'_> {
    fn apply(&self, rows: &mut Transaction<'_>, segments: &[LiveSegment]) -> Result<()> {
        for live in self.made {
            let entry = ManifestEntry {
                number: live.number,
                docs_count: live.segment.len(),
                segment_bytes: live.segment.size_bytes().0,
            };
            entry.put(rows)?;
        }
        let is_behind = |live: &&LiveSegment| live.is_dirty || !live.tombstones.is_empty();
        let made = self.made.iter().filter(is_behind);
        for live in segments.iter().filter(|live| live.is_dirty).chain(made) {
            let row_key = live.number.to_be_bytes();
            rows.put(TOMBSTONES, &row_key, &live.tombstones.to_bytes())?;
        }
        for number in self.dropped {
            rows.remove(super::tables::SEGMENTS, &number.to_be_bytes())?;
            rows.remove(TOMBSTONES, &number.to_be_bytes())?;
        }
        for commit in self.commits {
            rows.remove(JOURNAL, &commit.to_be_bytes())?;
        }
        Ok(())
    }
}
