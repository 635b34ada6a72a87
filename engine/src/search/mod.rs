//! Search: a plan over a snapshot gives ranked hits and their total.
//!
//! A request has up to four branches (SEARCH.md 4), each in a file of its own. Every branch is run
//! in every segment; each matching document counts once, and the best of each are merged.

mod branch;
mod browse;
mod catalog_branch;
mod cutoff;
mod doc_set;
mod equal_title;
mod explain;
mod explain_name;
mod explain_release;
mod hits;
mod list_order;
#[cfg(test)]
mod oracle_test;
mod one_word;
mod name_branch;
mod page_merge;
mod player_order;
mod reading;
mod release_branch;
mod segment_search;
mod snapshot;
#[cfg(feature = "testing")]
mod steps;
mod tiered_top;
mod title_branch;
mod top;
mod weigher;
mod word_branch;
mod word_tiers;

pub use browse::{EpisodeSlot, ListPage, Listing, TitlePart};
pub use explain::{CostValue, Explanation, HitExplanation, PlanStep, SegmentExplanation};
pub use explain_release::WordOfRelease;
pub use hits::{Doc, Hit, Hits, LocatedHits, RecordLocation};
pub use list_order::ListOrder;
pub use snapshot::Snapshot;
#[cfg(feature = "testing")]
pub use steps::SearchSteps;
