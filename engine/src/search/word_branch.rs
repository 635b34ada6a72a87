//! The `query` branch over one segment: its documents, counted, and the best of them.
//!
//! The total needs the whole intersection, but the page needs only its best 100 documents. Up to
//! 512 matches are simply ranked. Beyond that, the page is filled relevance by relevance
//! (`tiered_top`): by the titles that give relevance 2, 3 and 4, then by a scan of the matches.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::index::{BLOCK, SegmentView};
use crate::plan::{Filter, LazyLookup, PlanContext, Typos, WordPlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::intersect;
use super::tiered_top::{Candidates, TierSize, Tiers, select_best};
use super::top::{Ranked, Top};
use super::weigher::RankDocs;
use super::word_tiers::WordTiers;

/// Worst relevance that a match of the branch can have without typos.
const LAST_RELEVANCE: u8 = 7;
/// Relevance of every match with typos.
const TYPO_RELEVANCE: u8 = 8;

/// Runs the branch.
///
/// Cost: that of [`intersect`], then of the page.
pub(super) fn search_words<'a>(
    context: &PlanContext<'a>,
    plan: &WordPlan<'a>,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let ranker = Ranker::new(context, plan, filter);
    let docs = intersect(context, filter, &plan.clauses)?;
    let best_rank = Ranked::new(ranker.best_relevance(), 0, 0);
    let top = if page.needed.cutoff <= best_rank {
        // Other segments have a page of better hits: these are only counted.
        Top::new(page.size, page.needed.cutoff)
    } else if ranker.reads_titles() && docs.len() <= context.costs.ranked_docs_max {
        let mut top = Top::new(page.size, page.needed.cutoff);
        for block in docs.listed().chunks(BLOCK) {
            let titles = context.view.titles_of(block);
            for (&doc, title) in block.iter().zip(titles) {
                top.offer(ranker.rank_match(doc, title));
            }
        }
        context.note(None, || docs.len(), || "rank each match".into());
        top
    } else {
        select_best(context, Candidates::Set(&docs), &ranker, page)
    };
    let best = top.into_sorted();
    Ok(BranchResult {
        total: docs.len(),
        best: match page.weigher {
            Some(weigher) => weigher.reordered(&ranker, &docs, best),
            None => best,
        },
        docs: Some(docs),
    })
}

/// Ranks the documents of a branch.
struct Ranker<'r, 'a, 'f> {
    context: &'r PlanContext<'a>,
    plan: &'r WordPlan<'a>,
    filter: &'r Filter<'f>,
    /// Documents with the last plain word, when others match by the prefix rule.
    last_word: Option<LazyLookup<'a>>,
}

impl<'r, 'a, 'f> Ranker<'r, 'a, 'f> {
    fn new(context: &'r PlanContext<'a>, plan: &'r WordPlan<'a>, filter: &'r Filter<'f>) -> Self {
        Self {
            context,
            plan,
            filter,
            last_word: plan.last_word.map(LazyLookup::new),
        }
    }

    fn view(&self) -> &'r SegmentView<'a> {
        &self.context.view
    }

    fn tiers(&self) -> WordTiers<'r, 'a> {
        WordTiers::new(self.context, &self.plan.full_titles)
    }

    /// Rank of a document that matches and has this title.
    fn rank_match(&self, doc: u32, title: u32) -> Ranked {
        let fit = self.plan.fit.fit(doc, self.filter);
        Ranked::new(self.relevance(doc, title), fit, doc)
    }

    /// Best relevance that any match has.
    fn best_relevance(&self) -> u8 {
        match self.plan.typos {
            Typos::Allowed => TYPO_RELEVANCE,
            Typos::Refused => self.plan.full_titles.best_relevance().unwrap_or(6),
        }
    }

    fn relevance(&self, doc: u32, title: u32) -> u8 {
        if self.plan.typos == Typos::Allowed {
            return TYPO_RELEVANCE;
        }
        match (self.plan.full_titles.relevance(title), &self.last_word) {
            (Some(by_title), _) => by_title,
            // It matches, and not by the last word itself: so by a title word that begins with it.
            (None, Some(last_word)) if !last_word.contains(doc) => LAST_RELEVANCE,
            (None, _) => 6,
        }
    }
}

impl Tiers for Ranker<'_, '_, '_> {
    const RELEVANCES: RangeInclusive<u8> = WordTiers::RELEVANCES;

    fn relevance_beyond(&self) -> Option<u8> {
        // Relevance 6 and 7 come from descriptions and prefixes: no titles to collect by.
        Some(match self.plan.typos {
            Typos::Allowed => TYPO_RELEVANCE,
            Typos::Refused => LAST_RELEVANCE - 1,
        })
    }

    fn size(&self, relevance: u8) -> TierSize {
        self.tiers().size(relevance)
    }

    fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
        self.tiers().for_each_title(relevance, each);
    }

    fn reads_titles(&self) -> bool {
        // With typos no title is full, and every match has the same relevance.
        self.plan.full_titles.len() > 0
    }

    fn reads_columns(&self) -> bool {
        self.plan.fit.reads_columns(self.filter)
    }

    fn rank(&self, doc: u32, title: u32) -> Option<Ranked> {
        Some(self.rank_match(doc, title))
    }

    fn rank_in_tier(&self, relevance: u8, doc: u32, _: u32) -> Option<Ranked> {
        let fit = self.plan.fit.fit(doc, self.filter);
        Some(Ranked::new(relevance, fit, doc))
    }
}

impl RankDocs for Ranker<'_, '_, '_> {
    fn reads_columns(&self) -> bool {
        Tiers::reads_columns(self)
    }

    fn rank_titled(&self, doc: u32, title: u32) -> Ranked {
        self.rank_match(doc, title)
    }

    fn relevance_docs_count(&self, relevance: u8) -> Option<u64> {
        match relevance {
            2..=4 => Some(self.tiers().size(relevance).docs),
            // Documents with the last word itself, where others match by the prefix rule.
            6 => self.plan.last_word.map(|set| u64::from(set.count())),
            _ => None,
        }
    }

    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>) {
        if (2..=4).contains(&relevance) {
            self.for_each_title(relevance, &mut |title| {
                out.extend(self.view().title_docs(title));
            });
        } else if let Some(set) = self.plan.last_word {
            set.decode(out);
        }
    }
}
