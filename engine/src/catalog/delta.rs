//! The delta: commits since the newest segment file, as segments on the heap (a memtable).
//!
//! One segment would be rebuilt by every commit, however small. So there are several, each at least
//! twice as large as the next: a commit makes a small one, and merges it with those less than twice
//! as large. So a record is built once for each doubling of the delta, and not for each commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;

use super::live_segment::LiveSegment;
use crate::error::Result;
use crate::index::{Segment, SegmentBuilder};
use crate::limits::{DELTA_BYTES_MAX, DELTA_RECORDS_MAX};
use crate::model::{Record, RecordId};

/// Segment number of a segment that is not a file.
const NO_FILE: u64 = 0;
/// Minimum ratio of a part to the next.
const PARTS_RATIO: usize = 2;

/// Active records committed since the newest segment file, and their commits.
#[derive(Default)]
pub(super) struct Delta {
    /// The active records.
    records: BTreeMap<RecordId, Record>,
    /// Bytes of their texts.
    bytes: usize,
    /// Numbers of the commits that it covers. Their journal rows go when it becomes a file.
    commits: Vec<u64>,
    /// The records in the form for readers, the largest part first.
    ///
    /// INVARIANT: each record is live in one part, or in `new_ids`.
    parts: Vec<LiveSegment>,
    /// Records that are in no part before the next [`Delta::build`].
    new_ids: BTreeSet<RecordId>,
}

impl Delta {
    /// Count of active records.
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    /// The active records, by id.
    pub(super) fn records(&self) -> impl Iterator<Item = &Record> {
        self.records.values()
    }

    /// The commits that it covers.
    pub(super) fn commits(&self) -> &[u64] {
        &self.commits
    }

    /// The heap segments; none without active records.
    pub(super) fn parts(&self) -> &[LiveSegment] {
        &self.parts
    }

    /// Returns true if it must become a segment file.
    pub(super) fn is_full(&self) -> bool {
        DELTA_RECORDS_MAX < self.len() || DELTA_BYTES_MAX < self.bytes
    }

    /// Covers more commits.
    pub(super) fn cover(&mut self, commits: &[u64]) {
        self.commits.extend_from_slice(commits);
    }

    /// Hands over the commits: a segment file covers them.
    pub(super) fn take_commits(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.commits)
    }

    /// Puts an active record in.
    pub(super) fn insert(&mut self, record: Record) -> Result<()> {
        debug_assert!(record.is_active, "inactive records are not searched");
        let id = record.id;
        self.bytes += text_bytes(&record);
        let old = self.records.insert(id, record);
        let is_built = self.new_ids.insert(id);
        if let Some(old) = old {
            self.bytes -= text_bytes(&old);
            if is_built {
                self.mark_deleted(id)?;
            }
        }
        Ok(())
    }

    /// Removes a record. Returns true if it was in the delta.
    pub(super) fn remove(&mut self, id: RecordId) -> Result<bool> {
        let old = self.records.remove(&id);
        if let Some(old) = &old {
            self.bytes -= text_bytes(old);
            if !self.new_ids.remove(&id) {
                self.mark_deleted(id)?;
            }
        }
        Ok(old.is_some())
    }

    fn mark_deleted(&mut self, id: RecordId) -> Result<()> {
        for part in &mut self.parts {
            part.mark_deleted(id)?;
        }
        Ok(())
    }

    /// Brings the heap segments up to date. Cost: a record is built again once for each doubling of
    /// the records that came after it.
    ///
    /// Errors: the delta is incomplete now, and must be read anew.
    pub(super) fn build(&mut self) -> Result<()> {
        self.parts.retain(|part| 0 < part.live_count());
        if self.new_ids.is_empty() {
            return Ok(());
        }
        let mut ids = std::mem::take(&mut self.new_ids);
        while let Some(part) = self.parts.last()
            && part.live_count() < (PARTS_RATIO * ids.len()) as u64
        {
            push_live_ids(part, &mut ids)?;
            self.parts.pop();
        }
        let mut builder = SegmentBuilder::new();
        for id in &ids {
            builder.add(&self.records[id])?;
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes)?;
        let segment = Segment::open(Bytes::from(bytes), "the delta")?;
        debug_assert!(segment.len() as usize == ids.len());
        self.parts
            .push(LiveSegment::new(NO_FILE, Arc::new(segment)));
        Ok(())
    }
}

/// Bytes of the texts that can be long.
fn text_bytes(record: &Record) -> usize {
    record.title.len() + record.description.as_ref().map_or(0, String::len)
}

/// Adds the ids of the live documents of a part.
fn push_live_ids(part: &LiveSegment, ids: &mut BTreeSet<RecordId>) -> Result<()> {
    let (segment, tombstones) = (part.segment(), part.tombstones());
    for doc in (0..segment.len()).filter(|&doc| !tombstones.contains(doc)) {
        ids.insert(segment.id(doc)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::validate::Validator;
    use crate::model::{DraftValue, RecordDraft};

    fn record(number: u8, title: &str) -> Record {
        let text = |text: &str| DraftValue::Text(text.to_owned().into());
        let draft = RecordDraft {
            id: text(&RecordId::from_bytes([number; 16]).to_string()),
            video_type: text("movie"),
            title: text(title),
            posted_at: text("2020-01-02T03:04:05Z"),
            ..RecordDraft::default()
        };
        Validator::default().validate(&draft).unwrap()
    }

    /// Ids and documents that are live in the parts.
    fn live(delta: &Delta) -> Vec<(RecordId, Vec<u8>)> {
        let mut found = Vec::new();
        for part in delta.parts() {
            for doc in 0..part.segment().len() {
                if !part.tombstones().contains(doc) {
                    let fragment = part.segment().doc(doc).unwrap().fragment().to_vec();
                    found.push((part.segment().id(doc).unwrap(), fragment));
                }
            }
        }
        found.sort();
        found
    }

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u8, u8),
        Remove(u8),
        Build,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..20u8, any::<u8>()).prop_map(|(number, version)| Step::Insert(number, version)),
            2 => (0..20u8).prop_map(Step::Remove),
            3 => Just(Step::Build),
        ]
    }

    proptest! {
        #[test]
        fn readers_see_each_record_once(steps in prop::collection::vec(step(), 0..80)) {
            let mut delta = Delta::default();
            let mut expected = BTreeMap::new();
            for step in steps.into_iter().chain([Step::Build]) {
                match step {
                    Step::Insert(number, version) => {
                        let record = record(number, &format!("version {version}"));
                        delta.insert(record.clone()).unwrap();
                        expected.insert(record.id, record);
                    }
                    Step::Remove(number) => {
                        let id = RecordId::from_bytes([number; 16]);
                        delta.remove(id).unwrap();
                        expected.remove(&id);
                    }
                    Step::Build => {
                        delta.build().unwrap();
                        let mut whole = Delta::default();
                        for record in expected.values() {
                            whole.insert(record.clone()).unwrap();
                        }
                        whole.build().unwrap();
                        prop_assert_eq!(live(&delta), live(&whole));
                        let sizes: Vec<u32> =
                            delta.parts().iter().map(|part| part.segment().len()).collect();
                        prop_assert!(sizes.windows(2).all(|pair| 2 * pair[1] <= pair[0]));
                    }
                }
            }
        }
    }

    #[test]
    fn a_small_change_builds_few_records_again() {
        let mut delta = Delta::default();
        for number in 0..200 {
            delta.insert(record(number, "first")).unwrap();
        }
        delta.build().unwrap();
        let large = Arc::clone(delta.parts()[0].segment());
        for number in 0..50 {
            delta.insert(record(number, "second")).unwrap();
            delta.build().unwrap();
            assert!(Arc::ptr_eq(delta.parts()[0].segment(), &large));
        }
        assert_eq!(delta.parts()[0].live_count(), 150);
    }

    #[test]
    fn it_is_full_by_records_or_by_bytes() {
        let mut delta = Delta::default();
        let long = "x ".repeat(250);
        for number in 0..250 {
            delta.insert(record(number, &long)).unwrap();
            delta.insert(record(number, &long)).unwrap();
        }
        assert_eq!(delta.bytes, 250 * long.len());
        assert!(!delta.is_full());
        delta.bytes += DELTA_BYTES_MAX;
        assert!(delta.is_full());
        delta.bytes -= DELTA_BYTES_MAX;
        for number in 0..250 {
            delta.remove(RecordId::from_bytes([number; 16])).unwrap();
        }
        assert_eq!(delta.bytes, 0);
    }
}
