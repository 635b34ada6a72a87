//! A `query` of a single word without filters over one segment: its documents are never listed, and
//! their count is stored.
//!
//! Example: `query=los` has 3,000 documents with the word; 2,100 more have a title word that begins
//! with it ("lost"). Both counts are stored: the total is 5,100, less the deleted ones. The 2,100
//! documents are read only if the 3,000 did not fill the page, or the second count is not stored.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::index::StoredSet;
use crate::plan::{LiveDocs, OneWordPlan};

use super::branch::{BranchResult, PageRequest};
use super::tiered_top::{Candidates, TierSize, Tiers, select_best};
use super::top::{Ranked, Top};
use super::word_tiers::WordTiers;

/// Relevance of the documents that have the word, but not in their title.
const OWN_RELEVANCE: u8 = 6;
/// Relevance of the documents that match by the prefix rule.
const PREFIX_RELEVANCE: u8 = 7;

/// Runs the branch. Cost: that of the page; the first time since a deletion that of
/// [`LiveDocs::count`].
pub(super) fn search_one_word(
    plan: &OneWordPlan<'_>,
    live: &LiveDocs<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let set = plan.docs.set();
    let candidates = Candidates::OneWord(set, live);
    let mut top = select_best(plan.context, candidates, &OneWordTiers { plan }, page);
    let mut total = match plan.term {
        Some(term) => live.count(StoredSet::Term(term.rank), set),
        None => 0,
    };
    if plan.has_prefixed() {
        total += add_prefixed(plan, live, page, &mut top)?;
    }
    let action = || "count live documents of the word".into();
    plan.context.note(None, || total, action);
    Ok(BranchResult {
        total,
        best: top.into_sorted(),
        docs: None,
    })
}

/// Counts the live documents that the prefix rule adds; offers them to a page that is not complete.
fn add_prefixed(
    plan: &OneWordPlan<'_>,
    live: &LiveDocs<'_>,
    page: PageRequest<'_>,
    top: &mut Top,
) -> Result<u64> {
    let is_own = |doc| plan.docs.contains(doc);
    let is_complete = page.missing_count(PREFIX_RELEVANCE, top.len()) == 0
        || !top.admits(Ranked::new(PREFIX_RELEVANCE, 0, 0));
    if is_complete && let Some((term, count)) = plan.term.zip(plan.prefix_count) {
        return live.count_prefixed(term.rank, count, || plan.prefixed_titles(), is_own);
    }
    let mut count = 0;
    for run in plan.prefixed_titles()?.runs() {
        for doc in plan.context.view.titles_docs(run) {
            if !is_own(doc) && live.contains(doc) {
                count += 1;
                top.offer(Ranked::new(PREFIX_RELEVANCE, 0, doc));
            }
        }
    }
    Ok(count)
}

/// Ranks the documents with the word.
struct OneWordTiers<'t, 'a> {
    plan: &'t OneWordPlan<'a>,
}

impl<'t, 'a> OneWordTiers<'t, 'a> {
    fn tiers(&self) -> WordTiers<'t, 'a> {
        WordTiers::new(self.plan.context, &self.plan.full_titles)
    }
}

impl Tiers for OneWordTiers<'_, '_> {
    const RELEVANCES: RangeInclusive<u8> = WordTiers::RELEVANCES;

    fn relevance_beyond(&self) -> Option<u8> {
        Some(OWN_RELEVANCE)
    }

    fn size(&self, relevance: u8) -> TierSize {
        self.tiers().size(relevance)
    }

    fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
        self.tiers().for_each_title(relevance, each);
    }

    fn reads_titles(&self) -> bool {
        self.plan.full_titles.len() > 0
    }

    fn reads_columns(&self) -> bool {
        false
    }

    fn rank(&self, doc: u32, title: u32) -> Option<Ranked> {
        let by_title = self.plan.full_titles.relevance(title);
        Some(Ranked::new(by_title.unwrap_or(OWN_RELEVANCE), 0, doc))
    }

    fn rank_in_tier(&self, relevance: u8, doc: u32, _: u32) -> Option<Ranked> {
        Some(Ranked::new(relevance, 0, doc))
    }
}
