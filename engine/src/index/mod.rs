//! Term to postings, document to columns and fragment: the segment format, its writer, reader and
//! merge. The only room that names fst and roaring.

mod alignment;
mod prefix_counts;
mod bits;
mod builder;
mod dictionary;
mod document;
mod columns;
mod interner;
mod merge;
mod packed;
mod postings;
mod section;
mod segment;
mod suffix;
mod tombstones;
mod verify;
mod writer;

pub(crate) use bits::Bits;
pub use builder::{SegmentBuilder, SegmentSummary};
pub(crate) use columns::{Column, ColumnValue, Columns, RowTest};
pub use document::StoredDoc;
pub use merge::merge;
pub(crate) use postings::{Postings, Probe, Seeker};
pub use segment::Segment;
pub(crate) use segment::{SegmentView, Side, Term, read_whole};
pub use tombstones::Tombstones;
