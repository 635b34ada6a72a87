//! A request over the statistics of one segment.
//!
//! A plan says which sets of documents are intersected ([`Clause`]), how large each can be, which
//! filters apply ([`Filter`]), and how matches are ranked ([`WordPlan`], [`TitlePlan`]). It reads
//! dictionaries, sizes of sets and titles of words, never a list of documents. One value, the
//! [`CostModel`], decides between strategies.

mod clause;
mod cost;
mod doc_list;
mod filter;
mod fit_rule;
mod full_titles;
mod keyed_docs;
mod lazy_lookup;
mod live_docs;
mod marker_clauses;
mod name_plan;
mod one_word_plan;
mod release_plan;
mod release_sets;
mod subject;
mod title_match;
mod title_plan;
mod title_set;
mod trace;
mod word_plan;

pub(crate) use clause::Clause;
pub(crate) use cost::{CostModel, PlanContext};
pub(crate) use filter::Filter;
pub(crate) use fit_rule::{EPISODE_FIT, FitRule, TITLE_FIT};
pub(crate) use full_titles::FullTitles;
pub(crate) use keyed_docs::keyed_docs;
pub(crate) use lazy_lookup::LazyLookup;
pub(crate) use live_docs::LiveDocs;
pub(crate) use marker_clauses::{episode_clause, year_clause};
pub(crate) use name_plan::{NamePlan, word_clauses};
pub(crate) use one_word_plan::OneWordPlan;
pub(crate) use release_plan::ReleasePlan;
pub(crate) use release_sets::{ReleaseSet, ReleaseSets, has_word};
pub(crate) use subject::Subject;
pub(crate) use title_match::TitleMatch;
pub(crate) use title_plan::TitlePlan;
pub(crate) use trace::{Trace, TraceStep};
pub(crate) use word_plan::{Typos, WordPlan};
