//! The `query` branch over one segment: its documents, counted, and the best of them.
//!
//! The total needs the whole intersection, but the page needs only its best 100 documents. Up to
//! 512 matches are simply ranked. Beyond that, the page is filled relevance by relevance
//! (`tiered_top`): by the titles that give relevance 2, 3 and 4, then by a scan of the matches.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use crate::error::Result;
use crate::index::{BLOCK, Lookup, Postings, SegmentView, StoredSet};
use crate::plan::{Clause, Filter, PlanContext, Typos, WordPlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::intersect;
use super::tiered_top::{Candidates, TierSize, Tiers, select_best};
use super::top::{Ranked, Top};
use super::weigher::RankDocs;

/// Worst relevance that a match of the branch can have without typos.
const LAST_RELEVANCE: u8 = 7;
/// Relevance of every match with typos.
const TYPO_RELEVANCE: u8 = 8;

/// Runs the branch.
///
/// Cost: that of [`intersect`], then of the page; for a single word without filters that of the
/// page only.
pub(super) fn search_words(
    context: &PlanContext<'_>,
    plan: &WordPlan<'_>,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> Result<BranchResult> {
    let mut ranker = Ranker::new(context, plan, filter);
    let is_plain = filter.is_trivial() && !page.needs_docs && plan.typos == Typos::Refused;
    if let ([clause], true) = (&plan.clauses[..], is_plain) {
        // One clause, nothing else to satisfy: its posting list is the result, and all documents
        // that are ranked have the word.
        ranker.last_word = None;
        return Ok(search_one_word(&ranker, clause, page));
    }
    let docs = intersect(context, filter, &plan.clauses)?;
    let best_rank = Ranked::new(ranker.best_relevance(), 0, 0);
    let top = if page.cutoff <= best_rank {
        // Other segments have a page of better hits: these are counted only.
        Top::new(page.size, page.cutoff)
    } else if docs.len() <= context.costs.ranked_docs_max {
        let mut top = Top::new(page.size, page.cutoff);
        for block in docs.listed().chunks(BLOCK) {
            let titles = context.view.titles_of(block);
            for (&doc, title) in block.iter().zip(titles) {
                top.offer(ranker.rank_titled(doc, title));
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

/// Searches a single word without filters: its documents are never listed, and their number is
/// stored.
///
/// Example: `query=los` has 3,000 documents with the word; 2,100 more have a title word that begins
/// with it ("lost"). Both numbers are stored: the total is 5,100, less the deleted ones. Only if
/// the 3,000 did not fill the page, or the second number is not stored, are the 2,100 documents
/// read.
fn search_one_word(
    ranker: &Ranker<'_, '_>,
    clause: &Clause<'_>,
    page: PageRequest<'_>,
) -> BranchResult {
    let set = ranker.plan.last_word.or(clause.only_set().copied());
    let set = set.unwrap_or(Postings::EMPTY);
    let live = ranker.filter.live();
    let candidates = Candidates::OneWord(&set, live);
    let mut top = select_best(ranker.context, candidates, ranker, page);
    let mut total = match ranker.plan.last_term {
        Some(term) => live.count(StoredSet::Term(term.rank), &set),
        None => 0,
    };
    if let Some(titles) = clause.titles() {
        let own_docs = LazyLookup::new(set);
        let stored = ranker.plan.last_term.zip(ranker.plan.prefix_count);
        let is_complete = page.size <= top.len() || !top.admits(Ranked::new(LAST_RELEVANCE, 0, 0));
        match stored.filter(|_| is_complete) {
            Some((term, count)) => {
                let is_own = |doc| own_docs.contains(doc);
                total += live.count_prefixed(term.rank, count, titles, is_own);
            }
            None => {
                let runs = titles.runs();
                let docs = runs.flat_map(|run| ranker.view().titles_docs(run));
                for doc in docs.filter(|&doc| !own_docs.contains(doc) && live.contains(doc)) {
                    total += 1;
                    top.offer(Ranked::new(LAST_RELEVANCE, 0, doc));
                }
            }
        }
    }
    let action = || "count live documents of the word".into();
    ranker.context.note(None, || total, action);
    BranchResult {
        total,
        best: top.into_sorted(),
        docs: None,
    }
}

/// Ranks the documents of a branch.
struct Ranker<'a, 'f> {
    context: &'a PlanContext<'a>,
    plan: &'a WordPlan<'a>,
    filter: &'a Filter<'f>,
    /// Documents with the last plain word, when others match by the prefix rule.
    last_word: Option<LazyLookup<'a>>,
}

/// A set for look-ups, made ready for them by the first: a list is decoded then, and most searches
/// of small segments ask for no document.
struct LazyLookup<'a> {
    set: Postings<'a>,
    lookup: OnceCell<Lookup<'a>>,
}

impl<'a> LazyLookup<'a> {
    fn new(set: Postings<'a>) -> Self {
        Self {
            set,
            lookup: OnceCell::new(),
        }
    }

    #[inline]
    fn contains(&self, doc: u32) -> bool {
        self.lookup.get_or_init(|| self.set.lookup()).contains(doc)
    }
}

impl<'a, 'f> Ranker<'a, 'f> {
    fn new(context: &'a PlanContext<'a>, plan: &'a WordPlan<'a>, filter: &'a Filter<'f>) -> Self {
        Self {
            context,
            plan,
            filter,
            last_word: plan.last_word.map(LazyLookup::new),
        }
    }

    fn view(&self) -> &'a SegmentView<'a> {
        &self.context.view
    }

    /// Rank of a document that matches.
    fn rank_match(&self, doc: u32) -> Ranked {
        self.rank_titled(doc, self.view().title_of(doc))
    }

    /// Rank of a document that matches and has this title.
    fn rank_titled(&self, doc: u32, title: u32) -> Ranked {
        let fit = self.plan.fit.fit(doc, self.filter);
        Ranked::new(self.relevance(doc, title), fit, doc)
    }

    /// Relevance than which no match has a better one.
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

impl Tiers for Ranker<'_, '_> {
    const RELEVANCES: RangeInclusive<u8> = 2..=4;

    fn relevance_beyond(&self) -> Option<u8> {
        // Relevance 6 and 7 come from descriptions and prefixes: no titles to collect by.
        Some(match self.plan.typos {
            Typos::Allowed => TYPO_RELEVANCE,
            Typos::Refused => LAST_RELEVANCE - 1,
        })
    }

    fn size(&self, relevance: u8) -> TierSize {
        let titles = &self.plan.full_titles;
        let docs_count = |titles| self.view().titles_docs_count(titles);
        match relevance {
            2 => TierSize {
                titles: titles.equal.len() as u64,
                docs: titles
                    .equal
                    .iter()
                    .map(|&title| docs_count(title..title + 1))
                    .sum(),
            },
            3 => TierSize {
                titles: titles.prefixed.iter().map(|range| range.len() as u64).sum(),
                docs: titles.prefixed.iter().cloned().map(docs_count).sum(),
            },
            _ => TierSize {
                titles: titles.len() as u64,
                docs: titles.len() as u64 * self.context.costs.title_docs_estimate,
            },
        }
    }

    fn for_each_title(&self, relevance: u8, each: &mut dyn FnMut(u32)) {
        let titles = &self.plan.full_titles;
        match relevance {
            2 => titles.equal.iter().copied().for_each(each),
            3 => {
                // "lost girl 2010" begins with the text "lost girl", but is equal to the text with
                // the year marker: it has relevance 2. And one range may be a part of another.
                let is_prefixed = |title: &u32| titles.member_relevance(*title) == 3;
                let ranges = titles.prefixed.iter().cloned();
                let mut prefixed: Vec<u32> = ranges.flatten().filter(is_prefixed).collect();
                prefixed.sort_unstable();
                prefixed.dedup();
                prefixed.into_iter().for_each(each);
            }
            _ => titles.for_each(|title| {
                if titles.member_relevance(title) == 4 {
                    each(title);
                }
            }),
        }
    }

    fn rank(&self, doc: u32) -> Option<Ranked> {
        Some(self.rank_match(doc))
    }

    fn rank_in_tier(&self, relevance: u8, doc: u32) -> Option<Ranked> {
        let fit = self.plan.fit.fit(doc, self.filter);
        Some(Ranked::new(relevance, fit, doc))
    }
}

impl RankDocs for Ranker<'_, '_> {
    fn rank(&self, doc: u32) -> Ranked {
        self.rank_match(doc)
    }

    fn relevance_docs_count(&self, relevance: u8) -> Option<u64> {
        match relevance {
            2..=4 => Some(self.size(relevance).docs),
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
