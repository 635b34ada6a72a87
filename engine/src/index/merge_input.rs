//! One of the merged segments, and the numbers that it loses.

use crate::error::Result;

use super::section::Section;
use super::segment::SegmentView;
use super::{Segment, Tombstones};

/// New number of a document or title that is dropped.
pub(super) const DROPPED: u32 = u32::MAX;

/// A segment to merge, with its deleted documents. Threads share it.
pub(super) struct MergeInput<'a> {
    pub(super) segment: &'a Segment,
    pub(super) view: SegmentView<'a>,
    tombstones: &'a Tombstones,
}

impl<'a> MergeInput<'a> {
    /// Errors: a damaged section.
    pub(super) fn new(segment: &'a Segment, tombstones: &'a Tombstones) -> Result<Self> {
        Ok(Self {
            segment,
            view: segment.view()?,
            tombstones,
        })
    }

    /// Count of live documents.
    pub(super) fn live_count(&self) -> u64 {
        u64::from(self.segment.len()) - self.tombstones.len()
    }

    /// True for a live document.
    pub(super) fn is_live(&self, doc: u32) -> bool {
        !self.tombstones.contains(doc)
    }

    /// First live document at or after `from`.
    pub(super) fn next_doc(&self, from: u32) -> Option<u32> {
        (from..self.segment.len()).find(|&doc| self.is_live(doc))
    }

    /// The text of a title.
    pub(super) fn title_text(&self, title: u32) -> Result<&'a str> {
        let damaged = |_| self.segment.corrupt(Section::TitleText, "titles in UTF-8");
        str::from_utf8(self.view.title(title)).map_err(damaged)
    }
}
