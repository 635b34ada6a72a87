//! Damage of a segment costs the segment: the others go on answering, and successors are built.
//!
//! ```text
//!  met by a reader, a commit,     take_out          build_successors    manifest stored
//!  a start or the scrubber  ----------------> OUT -----------------> ... ---------------> gone
//!                          snapshot without it    without the lock    snapshot with them
//! ```
//!
//! Successors have the records that no other segment has. While they are built, others commit:
//! records that the journal has at the beginning are shown by the delta or by open chunks, and
//! those that change afterwards get a tombstone in the successors, so that no record is live twice.
//! The damaged file stays until the manifest names its successors.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;

use super::catalog_store::Catalog;
use super::live_segment::LiveSegment;
use super::manifest_change::ManifestChange;
use super::records::{DamagedRecord, row_key_after};
use super::tables::{ACTIVE, META, RECORDS, damage_of, record_id_of};
use super::writer::{EndedRebuild, Writer};
use crate::codec::{decode_record, encode_number, is_active};
use crate::damage::Treatment;
use crate::error::{Error, Result};
use crate::index::SegmentBuilder;
use crate::limits::{BUILD_BYTES_MAX, IMPORT_BUILDERS};
use crate::model::RecordId;
use crate::store::Span;

/// Rows read at a time.
const BATCH_ROWS: usize = 10_000;

/// Records that are not to be built again.
#[derive(Default)]
pub(super) struct Gap {
    /// Segments that are in use, with their tombstones.
    others: Vec<LiveSegment>,
    /// Records that the journal has.
    journaled: BTreeSet<RecordId>,
}

impl Gap {
    fn lacks(&self, id: RecordId) -> Result<bool> {
        if self.journaled.contains(&id) {
            return Ok(false);
        }
        for live in &self.others {
            let found = live.segment().find(id)?;
            if found.is_some_and(|doc| !live.tombstones().contains(doc)) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Segments of missing records.
#[derive(Default)]
pub(super) struct BuiltSegments {
    pub(super) made: Vec<LiveSegment>,
    /// Records that cannot be read.
    pub(super) damaged: Vec<DamagedRecord>,
    /// Number of records that are active and can be read, missing or not.
    pub(super) active_count: u64,
}

/// A stored record.
type StoredRow = (RecordId, Vec<u8>);

/// Some of the missing records.
#[derive(Default)]
struct MissingBatch {
    rows: Vec<StoredRow>,
    damaged: Vec<DamagedRecord>,
    /// Number of rows of active records, missing or not.
    active_count: u64,
    /// Row key from which to go on; none at the end.
    next: Option<Vec<u8>>,
}

impl Catalog {
    /// Takes segments out of use that were truncated or removed under their readers, or in which
    /// one of them has met damage. Returns true if successors are needed. Cost: a system call per
    /// segment.
    ///
    /// Called some times a second: searches do without them from the third call on, unless there
    /// are successors by then. What meets the damage until then is an error, and no partial answer.
    pub(crate) fn take_out_damaged(&self) -> Result<bool> {
        let mut writer = self.writer.lock();
        self.take_out_locked(&mut writer)?;
        if writer.is_partial_too_long() {
            self.publish(&mut writer);
        }
        Ok(writer.is_partial())
    }

    /// Returns true if segments were taken out by this call.
    fn take_out_locked(&self, writer: &mut Writer) -> Result<bool> {
        // Before anything else: a recovery would meet the same damage on its way.
        let damaged = self.damaged_files(writer)?;
        let has_damage = !damaged.is_empty();
        for (number, damage) in damaged {
            writer.take_out(number, damage);
        }
        self.ensure_recovered(writer).map(|()| has_damage)
    }

    /// Takes damaged segments out of use and builds successors. Returns false if all are whole.
    pub(crate) fn repair_index(&self) -> Result<bool> {
        self.take_out_locked(&mut self.writer.lock())?;
        self.build_successors()
    }

    /// Builds successors of the segments that are taken out. Returns false if there are none, or
    /// others build them; true if there may be more to build.
    pub(super) fn build_successors(&self) -> Result<bool> {
        match self.try_successors() {
            // The look-ups have met damage of another segment: once more, without that one.
            Err(Error::Corrupt { .. }) if self.take_out_locked(&mut self.writer.lock())? => {
                Ok(true)
            }
            built => built,
        }
    }

    /// Builds successors of the segments that are taken out, unless another one is damaged.
    ///
    /// Shape: the records are read by this thread and built by others; the writer is locked at the
    /// beginning and at the end.
    fn try_successors(&self) -> Result<bool> {
        let gap = {
            let mut writer = self.writer.lock();
            self.ensure_recovered(&mut writer)?;
            if !writer.is_partial() {
                return Ok(false);
            }
            let journaled = self.unsettled()?;
            if !writer.begin_rebuild() {
                return Ok(false);
            }
            let others = writer.segments().to_vec();
            Gap { others, journaled }
        };
        let built = self.build_missing(&gap);
        let mut writer = self.writer.lock();
        let recovered = self.ensure_recovered(&mut writer);
        // Before any return: one that never ended would keep others from beginning.
        let ended = writer.end_rebuild();
        let built = built?;
        if recovered.is_err() || !ended.is_valid {
            self.remove_files(&built.made)?;
            // What was built is not known to be right: once more.
            return recovered.map(|()| true);
        }
        self.put_successors(&mut writer, built, ended)?;
        Ok(true)
    }

    /// Puts successors in the place of the segments that were taken out.
    fn put_successors(
        &self,
        writer: &mut Writer,
        built: BuiltSegments,
        ended: EndedRebuild,
    ) -> Result<()> {
        let BuiltSegments {
            mut made,
            damaged,
            active_count,
        } = built;
        for live in &mut made {
            for id in &ended.changed {
                live.mark_deleted(*id)?;
            }
        }
        self.leave_out(writer, damaged, true)?;
        // Exact again, whatever damage has done to it.
        if ended.changed.is_empty() && self.counts()?.1 != active_count {
            let row = encode_number(active_count);
            self.store.write(|rows| rows.put(META, ACTIVE, &row))?;
        }
        self.store_manifest(
            writer,
            &ManifestChange {
                made: &made,
                commits: &[],
                dropped: &ended.replaced,
            },
        )?;
        writer.add_segments(made);
        for damage in writer.forget_taken_out(&ended.replaced) {
            self.damage.note(&damage, Treatment::Rebuilt);
        }
        self.publish(writer);
        // After the manifest: killed here, the next start removes what it does not name.
        for number in ended.replaced {
            self.files.remove(number)?;
        }
        Ok(())
    }

    /// Builds the index anew from the records.
    pub(crate) fn rebuild_index(&self) -> Result<()> {
        let mut writer = self.writer.lock();
        self.rebuild(&mut writer)?;
        self.publish(&mut writer);
        Ok(())
    }

    /// Builds segments of the records that are missing. Errors: the files are removed.
    ///
    /// Cost: reads all rows, a look-up in each segment for each; decodes those that are missing, on
    /// several threads. Memory: as for one segment.
    pub(super) fn build_missing(&self, gap: &Gap) -> Result<BuiltSegments> {
        let (sender, receiver) = sync_channel(1);
        let receiver = Mutex::new(receiver);
        let (read, parts) = std::thread::scope(|scope| {
            let builders: Vec<_> = (0..IMPORT_BUILDERS)
                .map(|_| scope.spawn(|| self.build_batches(&receiver)))
                .collect();
            let read = self.send_missing(gap, sender);
            let join = |builder: std::thread::ScopedJoinHandle<'_, _>| {
                builder.join().expect("building a segment does not panic")
            };
            let parts: Vec<(BuiltSegments, Result<()>)> = builders.into_iter().map(join).collect();
            (read, parts)
        });
        let mut built = BuiltSegments::default();
        let mut outcome = read.map(|read| built = read);
        for (part, ended) in parts {
            built.made.extend(part.made);
            built.damaged.extend(part.damaged);
            built.active_count = built.active_count.saturating_sub(part.active_count);
            outcome = outcome.and(ended);
        }
        // Missing bytes of the others read as zeros: what they do not have may be theirs.
        for live in &gap.others {
            outcome = outcome.and(live.segment().ensure_not_truncated());
        }
        if outcome.is_err() {
            self.remove_files(&built.made)?;
        }
        outcome.map(|()| built)
    }

    /// Reads the rows, and sends those that are missing until the receiver is gone. Returns
    /// the damaged ones, and the number of active ones.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "dropped at the end, it ends those who receive"
    )]
    fn send_missing(
        &self,
        gap: &Gap,
        batches: SyncSender<Vec<StoredRow>>,
    ) -> Result<BuiltSegments> {
        let mut read = BuiltSegments::default();
        let mut from = Vec::new();
        loop {
            let batch = self.read_missing(gap, &from)?;
            read.damaged.extend(batch.damaged);
            read.active_count += batch.active_count;
            let is_taken = batch.rows.is_empty() || batches.send(batch.rows).is_ok();
            match batch.next.filter(|_| is_taken) {
                Some(next) => from = next,
                None => return Ok(read),
            }
        }
    }

    /// The missing records among the next rows.
    fn read_missing(&self, gap: &Gap, from: &[u8]) -> Result<MissingBatch> {
        let mut batch = MissingBatch::default();
        let mut count = 0;
        let span = Span { from, ..Span::ALL };
        self.store.read(|rows| {
            rows.inspect(RECORDS, span, &mut |row_key, stored| {
                let id = match record_id_of(row_key) {
                    Ok(id) => id,
                    Err(error) => {
                        batch.damaged.push(DamagedRecord { id: None, error });
                        return Ok(ControlFlow::Continue(()));
                    }
                };
                count += 1;
                batch.next = Some(row_key_after(id));
                batch.active_count += u64::from(stored.as_ref().is_ok_and(|it| is_active(it)));
                if gap.lacks(id)? {
                    match damage_of(id, stored)? {
                        Ok(stored) => batch.rows.push((id, stored.to_vec())),
                        Err(error) => {
                            let id = Some(id);
                            batch.damaged.push(DamagedRecord { id, error });
                        }
                    }
                }
                if count < BATCH_ROWS {
                    Ok(ControlFlow::Continue(()))
                } else {
                    Ok(ControlFlow::Break(()))
                }
            })
        })?;
        if count < BATCH_ROWS {
            batch.next = None;
        }
        Ok(batch)
    }

    /// Builds segments of batches until there are no more.
    fn build_batches(
        &self,
        batches: &Mutex<Receiver<Vec<StoredRow>>>,
    ) -> (BuiltSegments, Result<()>) {
        let mut built = BuiltSegments::default();
        let mut builder = SegmentBuilder::new();
        let mut outcome = Ok(());
        loop {
            let received = batches.lock().recv();
            let Ok(rows) = received else { break };
            // After an error the rest is received all the same: the reader waits for that.
            if outcome.is_ok() {
                outcome = self.build_batch(rows, &mut builder, &mut built);
            }
        }
        if outcome.is_ok() && !builder.is_empty() {
            outcome = self.end_segment(builder, &mut built);
        }
        (built, outcome)
    }

    fn build_batch(
        &self,
        rows: Vec<StoredRow>,
        builder: &mut SegmentBuilder,
        built: &mut BuiltSegments,
    ) -> Result<()> {
        for (id, stored) in rows {
            match damage_of(id, decode_record(id, &stored))? {
                Ok(record) => builder.add(&record)?,
                Err(error) => {
                    // The reader has counted it.
                    built.active_count += u64::from(is_active(&stored));
                    let id = Some(id);
                    built.damaged.push(DamagedRecord { id, error });
                }
            }
        }
        // Segments are as large as memory allows: fewer segments make faster searches.
        if BUILD_BYTES_MAX / IMPORT_BUILDERS <= builder.memory_bytes() {
            self.end_segment(std::mem::take(builder), built)?;
        }
        Ok(())
    }

    fn end_segment(&self, builder: SegmentBuilder, built: &mut BuiltSegments) -> Result<()> {
        let number = self.files.next_number();
        let segment = self.finish_segment(number, builder)?;
        built.made.push(LiveSegment::new(number, segment));
        Ok(())
    }

    fn remove_files(&self, made: &[LiveSegment]) -> Result<()> {
        for live in made {
            self.files.remove(live.number())?;
        }
        Ok(())
    }

    /// The segment files that are not what they were when they were opened, by number.
    fn damaged_files(&self, writer: &Writer) -> Result<Vec<(u64, Error)>> {
        let mut damaged = Vec::new();
        for live in writer.segments() {
            let segment = live.segment();
            if segment.is_damaged() {
                let expected = "blocks that match their checksums";
                damaged.push((live.number(), Error::corrupt(segment.name(), 0, expected)));
                continue;
            }
            match self.files.ensure_not_truncated(live.number(), segment) {
                Err(error @ Error::Corrupt { .. }) => damaged.push((live.number(), error)),
                other => other?,
            }
        }
        Ok(damaged)
    }
}
