//! The delta: commits since the newest segment file, as a segment on the heap (a memtable).

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::index::{Segment, SegmentBuilder};
use crate::model::{Record, RecordId};

/// Active records committed since the newest segment file, and their commits.
#[derive(Default)]
pub(super) struct Delta {
    /// The active records.
    records: BTreeMap<RecordId, Record>,
    /// Numbers of the commits that it covers. Their journal rows go when it becomes a file.
    commits: Vec<u64>,
    /// The records as readers see them. Behind `records` until [`Delta::build`].
    segment: Option<Arc<Segment>>,
}

impl Delta {
    /// Number of active records.
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

    /// The heap segment; `None` without active records.
    pub(super) fn segment(&self) -> Option<&Arc<Segment>> {
        self.segment.as_ref()
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
    pub(super) fn insert(&mut self, record: Record) {
        debug_assert!(record.is_active, "inactive records are not searched");
        self.records.insert(record.id, record);
    }

    /// Takes a record out, if it is here.
    pub(super) fn remove(&mut self, id: RecordId) {
        self.records.remove(&id);
    }

    /// Rebuilds the heap segment. Cost: as many records as there are; hence
    /// [`DELTA_RECORDS_MAX`](crate::limits::DELTA_RECORDS_MAX).
    pub(super) fn build(&mut self) -> Result<()> {
        // First: an error below must not leave a segment that `records` has outgrown.
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
        debug_assert!(segment.len() as usize == self.records.len());
        self.segment = Some(Arc::new(segment));
        Ok(())
    }
}
