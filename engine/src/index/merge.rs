//! Segments become one segment.

use std::io::Write;
use std::sync::Arc;

use super::{Segment, SegmentSummary, Tombstones};
use crate::error::Result;

/// Writes one segment with the documents of `inputs` that are not gone. Postings are merged as they
/// stream; text is not folded again. No id may live in two inputs.
pub fn merge(
    _inputs: &[(Arc<Segment>, Arc<Tombstones>)],
    _out: &mut dyn Write,
) -> Result<SegmentSummary> {
    todo!()
}
