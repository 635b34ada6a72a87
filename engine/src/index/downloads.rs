//! Upstream's downloads of documents: those of a whole set are compared without reading a document.

use crate::error::Result;

use super::packed::Packed;
use super::section::Section;
use super::segment::SegmentView;

impl<'a> SegmentView<'a> {
    /// Upstream's downloads of each document. Cost: the first time a check of the section.
    pub(crate) fn downloads(&self) -> Result<Packed<'a>> {
        self.segment().packed(Section::Downloads)
    }
}
