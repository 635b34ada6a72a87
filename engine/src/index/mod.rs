//! Term to postings, document to columns and fragment: the segment format, its writer, reader and
//! merge. The only room that names fst and roaring.

mod builder;
mod merge;
mod segment;
mod tombstones;

pub use builder::{SegmentBuilder, SegmentSummary};
pub use merge::merge;
pub use segment::Segment;
pub use tombstones::Tombstones;
