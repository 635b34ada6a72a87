//! A plan over a snapshot gives ranked hits and their total.

mod catalog_branch;
mod doc_set;
mod explain;
mod hits;
#[cfg(test)]
mod oracle_test;
mod segment_search;
mod snapshot;
mod title_branch;
mod top;
mod word_branch;

pub use explain::{Explanation, HitExplanation, SegmentExplanation, Step};
pub use hits::{Doc, Hit, Hits, LocatedHits, RecordLocation};
pub use snapshot::Snapshot;
