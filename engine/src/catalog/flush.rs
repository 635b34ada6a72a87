//! Flushing: the delta becomes a segment file.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::catalog_store::Catalog;
use super::live_segment::LiveSegment;
use super::manifest_change::ManifestChange;
use super::writer::Writer;
use crate::error::Result;
use crate::index::{Segment, SegmentBuilder};
use crate::model::Record;

impl Catalog {
    /// Requests a reindex job, unless the delta is empty or one is requested. Cost: two loads; a
    /// store by every search would take the cache line from the other cores.
    #[inline]
    pub(crate) fn request_reindex(&self) {
        let has_delta = self.has_delta.load(Ordering::Acquire);
        if has_delta && !self.is_reindex_wanted.load(Ordering::Acquire) {
            self.is_reindex_wanted.store(true, Ordering::Release);
        }
    }

    /// Runs a requested reindex job: flushes the delta. Returns false if none was requested.
    pub(crate) fn run_reindex(&self) -> Result<bool> {
        // Cleared before the flush: a request that arrives during it may be about a later commit,
        // and must not be lost.
        if !self.is_reindex_wanted.swap(false, Ordering::AcqRel) {
            return Ok(false);
        }
        let mut writer = self.writer.lock();
        let flushed = self
            .ensure_recovered(&mut writer)
            .and_then(|()| self.flush(&mut writer));
        if flushed.is_err() {
            // Still wanted: maintenance tries again.
            self.is_reindex_wanted.store(true, Ordering::Release);
        }
        flushed?;
        self.reindex_jobs_done.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Makes a segment file of the delta and publishes it.
    ///
    /// The file is durable before the manifest names it, and the journal rows of its commits are
    /// removed in the transaction that names it: after a kill at any point, a restart finds each
    /// commit in exactly one of the two.
    pub(super) fn flush(&self, writer: &mut Writer) -> Result<()> {
        if writer.delta().commits().is_empty() {
            return Ok(());
        }
        let mut made = None;
        // Without active records, the commits left only tombstones behind.
        if 0 < writer.delta().len() {
            let number = self.files.next_number();
            made = Some(self.write_segment(number, writer.delta().records())?);
        }
        // Copied, not taken: if the manifest cannot be stored, the delta still has to cover them.
        let commits = writer.delta().commits().to_vec();
        self.store_manifest(
            writer,
            &ManifestChange {
                made: made.as_slice(),
                commits: &commits,
                dropped: &[],
            },
        )?;
        // Not before the manifest is stored: until then readers find these records only in the
        // delta.
        writer.clear_delta();
        writer.add_segments(made);
        self.publish(writer);
        Ok(())
    }

    /// Writes a segment file of some records.
    pub(super) fn write_segment<'r>(
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

    /// Writes the documents of a builder as a segment file and opens it.
    pub(super) fn finish_segment(
        &self,
        number: u64,
        builder: SegmentBuilder,
    ) -> Result<Arc<Segment>> {
        // A segment that filled the disk would leave no space for the transaction that names it.
        self.files.check_space(0)?;
        let mut builder = Some(builder);
        self.files.write(number, &mut |out| {
            let builder = builder.take().expect("a segment is written once");
            builder.finish(out)
        })
    }
}
