//! Offsets of stored documents: each is the start of its run of documents, plus a small number.
//!
//! A start takes as many bits as all documents have; a number takes as many as one run has. So an
//! offset takes about half of the bits, at the cost of a second read.

use bytes::Bytes;

use crate::error::Result;

use super::packed::{PackedBuilder, SharedPacked, pack};
use super::section::{Section, SectionWriter};

/// Documents of a run.
pub(super) const RUN_DOCS: usize = 32;

/// The offsets of a segment.
pub(super) struct DocOffsets {
    /// Start of each run, and the end of the documents if it begins one.
    starts: SharedPacked,
    /// Offset of each document, and of the end, from the start of its run.
    offsets: SharedPacked,
}

impl DocOffsets {
    /// The offsets in these sections, or `None` when a head is damaged.
    pub(super) fn read(starts: Bytes, offsets: Bytes) -> Option<Self> {
        Some(Self {
            starts: SharedPacked::read(starts)?,
            offsets: SharedPacked::read(offsets)?,
        })
    }

    /// Start of a document; that of the document after the last one is the end.
    #[inline]
    pub(super) fn get(&self, doc: usize) -> usize {
        let start = self.starts.packed().get(doc / RUN_DOCS);
        (start + self.offsets.packed().get(doc)) as usize
    }
}

/// Collects the offsets of documents, in their order, and writes them.
pub(super) struct DocOffsetsWriter {
    starts: Vec<u64>,
    /// From the start of the run: below 2^32, because a run is a few megabytes at most.
    offsets: Vec<u32>,
}

impl DocOffsetsWriter {
    /// A writer for this number of documents.
    pub(super) fn new(docs_count: usize) -> Self {
        Self {
            starts: Vec::with_capacity(docs_count / RUN_DOCS + 1),
            offsets: Vec::with_capacity(docs_count + 1),
        }
    }

    /// Adds the start of the next document, and after the last one the end.
    pub(super) fn push(&mut self, offset: u64) {
        if self.offsets.len().is_multiple_of(RUN_DOCS) {
            self.starts.push(offset);
        }
        let start = self.starts.last().copied().unwrap_or(0);
        let within = u32::try_from(offset - start).expect("a run of documents is below 4 GB");
        self.offsets.push(within);
    }

    /// Writes both sections.
    pub(super) fn finish(self, writer: &mut SectionWriter<'_>) -> Result<()> {
        writer.section(Section::DocumentStarts, &pack(self.starts.iter().copied()))?;
        let max = self.offsets.iter().copied().max().unwrap_or(0);
        let mut packed = PackedBuilder::new(u64::from(max), self.offsets.len());
        self.offsets
            .iter()
            .for_each(|&offset| packed.push(u64::from(offset)));
        writer.section(Section::DocumentOffsets, &packed.finish())
    }
}
