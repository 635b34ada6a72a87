//! Records in any order become a segment.

use std::io::Write;

use crate::error::Result;
use crate::model::Record;

/// What a finished segment holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SegmentSummary {
    /// Documents: the active records among those that were added.
    pub docs_count: u32,
    /// Bytes of the whole segment.
    pub segment_bytes: u64,
    /// Bytes of it that hold documents (fragments, release ids, file names); the others are index.
    pub document_bytes: u64,
}

/// Collects records and writes them as one segment.
#[derive(Default)]
pub struct SegmentBuilder {}

impl SegmentBuilder {
    /// A builder without records.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a record in; an inactive one is passed over. Ids must not repeat.
    pub fn add(&mut self, _record: &Record) -> Result<()> {
        todo!()
    }

    /// Active records taken in.
    pub fn len(&self) -> usize {
        todo!()
    }

    /// Whether no active record was taken in.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory in use, roughly: to decide when to finish.
    pub fn memory_bytes(&self) -> usize {
        todo!()
    }

    /// Writes the segment. An empty one is a valid segment too.
    pub fn finish(self, _out: &mut dyn Write) -> Result<SegmentSummary> {
        todo!()
    }
}
