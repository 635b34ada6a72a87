//! Segments: term to postings, document to columns and answer fragment. Format, writer, reader and
//! merge. The only module that names fst and roaring.
//!
//! A segment is immutable and numbers its documents in answer order (newest first, then by id), so
//! "the newest 100 of this set" is "the first 100 numbers of this set".

mod alignment;
mod bisect;
mod bits;
mod block_reader;
mod block_sums;
mod builder;
mod columns;
mod cursor;
mod dictionary;
mod doc_offsets;
mod document;
mod downloads;
mod interner;
mod key_filter;
mod merge;
mod merge_input;
mod number_list;
mod occurrences;
mod number_sort;
mod packed;
mod postings;
mod prefix_counts;
mod repeats;
mod roaring_view;
mod section;
mod segment;
mod set_counts;
mod since;
mod suffix;
mod suffix_sort;
mod term_merge;
mod title_keys;
mod title_merge;
mod tombstones;
mod uploader_term;
mod varint;
mod verify;
mod writer;

pub(crate) use bisect::try_gallop;
pub(crate) use bits::{Bits, for_each_bit};
pub(crate) use block_reader::BLOCK_NUMBERS;
pub(crate) use block_sums::{BlockSums, Summand};
pub use builder::{SegmentBuilder, SegmentSummary};
pub(crate) use columns::{Column, ColumnRow, ColumnValue, Columns, RowTest};
pub(crate) use cursor::{BLOCK, Cursor, Lookup, retain_blocks};
pub use document::StoredDoc;
pub use merge::{merge, merge_memory_bytes};
pub(crate) use number_sort::sort_numbers;
pub(crate) use occurrences::Side;
pub(crate) use postings::Postings;
pub use segment::Segment;
pub(crate) use segment::{SegmentView, Term, read_whole};
pub(crate) use set_counts::StoredSet;
pub use tombstones::Tombstones;
