//! A request over the statistics of one segment: which sets of documents must be intersected, how
//! large each can be, and what tells one way of matching from another.

mod clause;
mod doc_list;
mod filter;
mod title_plan;
mod title_set;
mod word_plan;

pub(crate) use clause::{Clause, Subject};
pub(crate) use filter::Filter;
pub(crate) use title_plan::{TitleMatch, TitlePlan};
pub(crate) use word_plan::{Typos, WordPlan};
