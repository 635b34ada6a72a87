//! Flushing the delta and merging segments of one size, while reads and writes continue.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::catalog_store::Catalog;
use super::live_segment::LiveSegment;
use super::manifest_change::ManifestChange;
use super::writer::Writer;
use parking_lot::MutexGuard;

use crate::error::{Error, Result};
use crate::index::{Segment, Tombstones, merge};
use crate::limits::{
    DELTA_RECORDS_MAX, MERGE_INPUTS_MAX, MERGE_MEMORY_MAX, MERGE_SEGMENTS_COUNT, SEGMENT_DOCS_MAX,
};

impl Catalog {
    /// Merges the segments of one tier. False when no tier is full.
    ///
    /// Shape: reads mapped inputs, writes one file; memory as the merge of the index needs it. The
    /// writer is locked at the beginning and at the end only. A record that changes during the
    /// merge gets its tombstone in the result, too. Nothing is merged while there is no space for
    /// the result: the inputs serve as well.
    pub(crate) fn run_merge(&self) -> Result<bool> {
        let (inputs, number) = {
            let mut writer = self.writer.lock();
            self.ensure_recovered(&mut writer)?;
            let inputs = choose(writer.segments(), MERGE_MEMORY_MAX);
            let unmergeable_count = unmergeable_count(writer.segments(), MERGE_MEMORY_MAX);
            self.unmergeable_count
                .store(unmergeable_count, Ordering::Relaxed);
            let is_idle = inputs.is_empty() || writer.is_merging();
            if is_idle || self.is_merging_stopped() || !self.has_space_for(&inputs)? {
                return Ok(false);
            }
            writer.begin_merge();
            (inputs, self.files.next_number())
        };
        let merged = self.merge_files(number, &inputs);
        let mut writer = self.writer.lock();
        // Before the merge ends: a recovery would remove the new file, which the manifest does not
        // name yet.
        let recovered = self.ensure_recovered(&mut writer);
        // Before any return: a merge that never ended would keep others from beginning, and unnamed
        // files from being removed.
        let deleted = writer.end_merge();
        // A shutdown is not a failure: the error is that of `Stoppable`, and the inputs serve as
        // before.
        if merged.is_err() && self.is_merging_stopped() {
            return Ok(false);
        }
        recovered?;
        let mut made = LiveSegment::new(number, merged?);
        // The inputs were read with the tombstones of the beginning.
        for id in deleted {
            made.mark_deleted(id)?;
        }
        self.replace_segments(writer, made, &inputs)
    }

    /// Puts the result of a merge in the place of its inputs, and removes their files.
    fn replace_segments(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        made: LiveSegment,
        inputs: &[LiveSegment],
    ) -> Result<bool> {
        let number = made.number();
        let dropped: Vec<u64> = inputs.iter().map(LiveSegment::number).collect();
        let numbers = writer.segment_numbers();
        if !dropped.iter().all(|number| numbers.contains(number)) {
            // Some were rebuilt since: the result holds nothing that the segments lack.
            self.files.remove(number)?;
            return Ok(true);
        }
        // An empty segment would cost every search a step, and it counts as half deleted: it would
        // be merged again and again.
        let is_empty = made.segment().is_empty();
        let made = if is_empty { Vec::new() } else { vec![made] };
        self.store_manifest(
            &mut writer,
            &ManifestChange {
                made: &made,
                commits: &[],
                dropped: &dropped,
            },
        )?;
        writer.drop_segments(&dropped);
        writer.add_segments(made);
        self.publish(&mut writer);
        // Commits must not wait until the file system has freed large files.
        drop(writer);
        // After the manifest: killed here, the next start removes what it does not name.
        if is_empty {
            self.files.remove(number)?;
        }
        for number in dropped {
            self.files.remove(number)?;
        }
        self.merges_done.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    fn merge_files(&self, number: u64, inputs: &[LiveSegment]) -> Result<Arc<Segment>> {
        let parts: Vec<(Arc<Segment>, Arc<Tombstones>)> = inputs
            .iter()
            .map(|live| (Arc::clone(live.segment()), Arc::clone(live.tombstones())))
            .collect();
        let is_stopped = &self.is_merging_stopped;
        self.files.write(number, &mut |out| {
            merge(&parts, &mut Stoppable { out, is_stopped })
        })
    }

    /// Ends the current merge, if any, and begins no other.
    pub(crate) fn stop_merging(&self) {
        self.is_merging_stopped.store(true, Ordering::Release);
    }

    fn is_merging_stopped(&self) -> bool {
        self.is_merging_stopped.load(Ordering::Acquire)
    }

    fn has_space_for(&self, inputs: &[LiveSegment]) -> Result<bool> {
        let sizes = inputs.iter().map(|live| live.segment().size_bytes().0);
        // The result takes about as much as its inputs, which stay until it is published.
        match self.files.check_space(sizes.sum()) {
            Err(Error::Space { .. }) => Ok(false),
            checked => checked.map(|()| true),
        }
    }
}

/// Writer that fails once the merge is to stop.
struct Stoppable<'s> {
    out: &'s mut dyn Write,
    is_stopped: &'s AtomicBool,
}

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A merge of large segments takes long, and the index knows nothing of shutdowns: the next
        // write stops it.
        if self.is_stopped.load(Ordering::Acquire) {
            return Err(io::Error::other("the merge was stopped"));
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The segments to merge next: of the smallest full tier as many as `memory_max` bytes allow, or a
/// segment with half of its documents deleted; empty if there is nothing to do.
fn choose(segments: &[LiveSegment], memory_max: u64) -> Vec<LiveSegment> {
    // From the smallest tier upwards: its merge costs least and shortens the list of segments as
    // much as any other.
    for tier in full_tiers(segments) {
        let chosen = fitting(&tier, memory_max);
        if !chosen.is_empty() {
            return chosen;
        }
    }
    // After the tiers: their merges drop deleted documents as well.
    let is_half_gone =
        |live: &&LiveSegment| live.live_count() * 2 <= live.tombstones().len() + live.live_count();
    segments
        .iter()
        .find(is_half_gone)
        .cloned()
        .into_iter()
        .collect()
}

/// Count of the segments in full tiers where no two fit into one merge: they stay, and each search
/// asks them all.
fn unmergeable_count(segments: &[LiveSegment], memory_max: u64) -> u64 {
    let tiers = full_tiers(segments).into_iter();
    let stuck = tiers.filter(|tier| fitting(tier, memory_max).is_empty());
    stuck.map(|tier| tier.len() as u64).sum()
}

/// Tiers with enough segments for a merge, the smallest first. In each, those that take the least
/// memory come first: long titles in one segment keep no others from being merged.
fn full_tiers(segments: &[LiveSegment]) -> Vec<Vec<&LiveSegment>> {
    let mut tiers: BTreeMap<u32, Vec<&LiveSegment>> = BTreeMap::new();
    for live in segments {
        // By live documents: those with a tombstone do not survive a merge.
        let tier = tiers.entry(tier_of(live.live_count())).or_default();
        tier.push(live);
    }
    let mut full: Vec<_> = tiers.into_values().collect();
    full.retain(|tier| MERGE_SEGMENTS_COUNT <= tier.len());
    for tier in &mut full {
        tier.sort_by_key(|live| live.merge_memory_bytes());
    }
    full
}

/// The first segments of a tier that fit into one merge; empty if no two do.
fn fitting(tier: &[&LiveSegment], memory_max: u64) -> Vec<LiveSegment> {
    let (mut docs_count, mut memory_bytes) = (0, 0);
    let fits = |live: &&&LiveSegment| {
        docs_count += live.live_count();
        memory_bytes += live.merge_memory_bytes();
        docs_count <= u64::from(SEGMENT_DOCS_MAX) && memory_bytes <= memory_max
    };
    let candidates = tier.iter().take(MERGE_INPUTS_MAX);
    let mut chosen: Vec<LiveSegment> = candidates
        .take_while(fits)
        .map(|live| (*live).clone())
        .collect();
    // A single segment that fits would be rewritten unchanged.
    if chosen.len() < 2 {
        chosen.clear();
    }
    chosen
}

/// Tier of a segment: each holds segments up to `MERGE_SEGMENTS_COUNT` times larger than the one
/// before.
fn tier_of(docs_count: u64) -> u32 {
    let delta = DELTA_RECORDS_MAX as u64;
    let ratio = MERGE_SEGMENTS_COUNT as u64;
    (docs_count / delta)
        .checked_ilog(ratio)
        .map_or(0, |tier| tier + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::SegmentBuilder;
    use crate::model::{Record, RecordId};

    const DOCS_COUNT: u64 = 20;

    /// A segment of documents with a title of this text, repeated, and a number each.
    fn live(number: u64, text: &str, repeats: usize) -> LiveSegment {
        let mut builder = SegmentBuilder::new();
        for doc in 0..DOCS_COUNT {
            let id = RecordId::from_bytes(u128::from(number * DOCS_COUNT + doc).to_be_bytes());
            let title = format!("{}{number} {doc}", text.repeat(repeats));
            builder.add(&Record::new(id, &title)).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        let segment = Segment::open(bytes.into(), "test").unwrap();
        LiveSegment::new(number, Arc::new(segment))
    }

    /// A segment of documents with a long title each.
    fn live_with_long_titles(number: u64) -> LiveSegment {
        live(number, "the same words again ", 20)
    }

    #[test]
    fn a_merge_takes_as_many_segments_as_its_memory_allows() {
        let segments: Vec<LiveSegment> = (0..6).map(live_with_long_titles).collect();
        let most = segments.iter().map(LiveSegment::merge_memory_bytes).max();
        let most = most.unwrap();
        // The suffixes of the titles are decisive.
        assert!(DOCS_COUNT * 400 * 5 < most, "{most}");
        let chosen_count = |memory_max| choose(&segments, memory_max).len();
        assert_eq!(chosen_count(u64::MAX), 6);
        assert_eq!(chosen_count(most * 3), 3);
        // A single one would be rewritten unchanged.
        assert_eq!(chosen_count(most), 0);
        assert_eq!(chosen_count(0), 0);
        let stuck_count = |memory_max| unmergeable_count(&segments, memory_max);
        assert_eq!(stuck_count(most * 3), 0);
        assert_eq!(stuck_count(most), 6);
        assert_eq!(unmergeable_count(&segments[..3], most), 0, "no full tier");
    }

    #[test]
    fn segments_that_take_too_much_memory_keep_no_others_from_being_merged() {
        let mut segments: Vec<LiveSegment> = (0..3).map(live_with_long_titles).collect();
        segments.extend((3..7).map(|number| live(number, "short ", 1)));
        let least = segments.iter().map(LiveSegment::merge_memory_bytes).min();
        let chosen = choose(&segments, 5 * least.unwrap());
        let numbers: Vec<u64> = chosen.iter().map(LiveSegment::number).collect();
        assert_eq!(numbers, [3, 4, 5, 6]);
        assert_eq!(unmergeable_count(&segments, 5 * least.unwrap()), 0);
    }
}
