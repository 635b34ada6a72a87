//! The `query` branch over one segment: its documents, counted, and the best of them.
//!
//! The total needs the whole intersection, but the page needs only its best 100 documents. Up to
//! 512 matches are simply ranked. Beyond that, the page is filled relevance by relevance, and each
//! step takes the cheaper of two ways:
//!
//! - *Collect by title*: read the documents of the titles that give the relevance. `query=lost`:
//!   the one title "lost" has 120 documents, all of relevance 2. They fill the page; the 9,000
//!   other matches are never ranked.
//! - *Scan matches*: rank the matches one by one in answer order. `query=de s01`: titles
//!   with "de" have 620,000 documents, but among the first 200 matches 100 have such a title.
//!   Collecting would read all 620,000, because the newest may be anywhere among them.
//!
//! A scan is a bet: it is given up after 1/16 of the documents that collecting would read.

use std::ops::ControlFlow;

use crate::index::{Postings, Probe, SegmentView, StoredSet};
use crate::plan::{Clause, Filter, LiveDocs, PlanContext, Typos, WordPlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
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
) -> BranchResult {
    let ranker = Ranker::new(context, plan, filter);
    let is_plain = filter.is_trivial() && !page.needs_docs && plan.typos == Typos::Refused;
    if let ([clause], true) = (&plan.clauses[..], is_plain) {
        // One clause, nothing else to satisfy: its posting list is the result.
        return search_one_word(&ranker, clause, page.size);
    }
    let docs = intersect(context, filter, &plan.clauses);
    let mut top = Top::new(page.size);
    if docs.len() <= context.costs.ranked_docs_max {
        docs.for_each(|doc| top.offer(ranker.rank(doc)));
    } else {
        ranker.select_best(&mut top, page.size, &docs);
    }
    let best = top.into_sorted();
    BranchResult {
        total: docs.len(),
        best: match page.weigher {
            Some(weigher) => weigher.reordered(&ranker, &docs, best),
            None => best,
        },
        docs: Some(docs),
    }
}

/// Searches a single word without filters: its documents are never listed, and their number is
/// stored.
///
/// Example: `query=los` has 3,000 documents with the word; 2,100 more have a title word that begins
/// with it ("lost"). Both numbers are stored: the total is 5,100, less the deleted ones. Only if
/// the 3,000 did not fill the page, or the second number is not stored, are the 2,100 documents
/// read.
fn search_one_word(ranker: &Ranker<'_>, clause: &Clause<'_>, page_size: usize) -> BranchResult {
    let set = ranker.plan.last_word.or(clause.only_set().copied());
    let set = set.unwrap_or(Postings::EMPTY);
    let mut top = Top::new(page_size);
    let live = ranker.filter.live();
    ranker.select_best(&mut top, page_size, &OneWord { set, live });
    let mut total = match ranker.plan.last_term {
        Some(term) => live.count(StoredSet::Term(term.rank), &set),
        None => 0,
    };
    if let Some(titles) = clause.titles() {
        let probe = set.probe();
        let stored = ranker.plan.last_term.zip(ranker.plan.prefix_count);
        match stored.filter(|_| page_size <= top.len()) {
            Some((term, count)) => {
                total += live.count_prefixed(term.rank, count, titles, &probe);
            }
            None => {
                let runs = titles.runs();
                let docs = runs.flat_map(|run| ranker.view().titles_docs(run));
                for doc in docs.filter(|&doc| !probe.contains(doc) && live.contains(doc)) {
                    total += 1;
                    top.offer(Ranked::new(LAST_RELEVANCE, 0, doc));
                }
            }
        }
    }
    BranchResult {
        total,
        best: top.into_sorted(),
        docs: None,
    }
}

/// Matching documents, in answer order.
trait Matches {
    fn count(&self) -> u64;

    /// True if a document whose title has all plain words is a match: markers and filters may
    /// exclude it.
    fn contains_all_words(&self, doc: u32) -> bool;

    /// Calls `each` with the documents in answer order until it breaks.
    fn scan(&self, each: &mut dyn FnMut(u32) -> ControlFlow<()>);
}

impl Matches for DocSet {
    fn count(&self) -> u64 {
        self.len()
    }

    fn contains_all_words(&self, doc: u32) -> bool {
        self.contains(doc)
    }

    fn scan(&self, each: &mut dyn FnMut(u32) -> ControlFlow<()>) {
        let _ = self.try_for_each(each);
    }
}

/// The live documents of a single word without filters: those of its titles are all among them.
struct OneWord<'l, 'a> {
    set: Postings<'a>,
    live: &'l LiveDocs<'a>,
}

impl Matches for OneWord<'_, '_> {
    /// Counts deleted documents too: it is only compared with other costs.
    fn count(&self) -> u64 {
        u64::from(self.set.count())
    }

    fn contains_all_words(&self, doc: u32) -> bool {
        self.live.contains(doc)
    }

    fn scan(&self, each: &mut dyn FnMut(u32) -> ControlFlow<()>) {
        let _ = self.set.try_for_each(|doc| {
            if self.live.contains(doc) {
                each(doc)
            } else {
                ControlFlow::Continue(())
            }
        });
    }
}

/// Page while it is selected, best relevance first.
struct Selection<'t> {
    top: &'t mut Top,
    page_size: usize,
    /// Documents that were collected so far. All of them precede later relevances.
    offered_count: usize,
}

/// Outcome of a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    /// The page is complete, or every match was visited: nothing is left to offer.
    Complete,
    /// Too many matches were visited. The page is as it was before the scan.
    GivenUp,
}

/// Relevances that a scan looks for.
struct ScanGoal {
    /// Matches of a better relevance are skipped: they were offered before.
    first: u8,
    /// A page of matches up to this relevance, with fit 0, ends the scan.
    last: u8,
    /// Documents that collecting by title would read instead; `None` if that is not possible.
    title_docs: Option<u64>,
}

/// Ranks the documents of a branch.
struct Ranker<'a> {
    context: &'a PlanContext<'a>,
    plan: &'a WordPlan<'a>,
    filter: &'a Filter<'a>,
    last_word: Option<Probe<'a>>,
}

impl<'a> Ranker<'a> {
    fn new(context: &'a PlanContext<'a>, plan: &'a WordPlan<'a>, filter: &'a Filter<'a>) -> Self {
        Self {
            context,
            plan,
            filter,
            last_word: plan.last_word.as_ref().map(Postings::probe),
        }
    }

    fn view(&self) -> &'a SegmentView<'a> {
        &self.context.view
    }

    /// Rank of a document that matches.
    fn rank(&self, doc: u32) -> Ranked {
        let fit = self.plan.fit.fit(doc, self.filter);
        Ranked::new(self.relevance(doc), fit, doc)
    }

    fn relevance(&self, doc: u32) -> u8 {
        if self.plan.typos == Typos::Allowed {
            return TYPO_RELEVANCE;
        }
        let title = self.view().title_of(doc);
        match (self.plan.full_titles.relevance(title), &self.last_word) {
            (Some(by_title), _) => by_title,
            // It matches, and not by the last word itself: so by a title word that begins with it.
            (None, Some(last_word)) if !last_word.contains(doc) => LAST_RELEVANCE,
            (None, _) => 6,
        }
    }

    /// Offers at least the best of many matching documents.
    ///
    /// It goes relevance by relevance until the page is complete. That is right because an answer
    /// is ordered by relevance first: once a page of documents up to relevance `r`, fit 0 was
    /// offered, no document of a later relevance can displace one of them.
    fn select_best(&self, top: &mut Top, page_size: usize, docs: &dyn Matches) {
        let mut selection = Selection {
            top,
            page_size,
            offered_count: 0,
        };
        let _ = self.select_in_order(&mut selection, docs);
    }

    /// Does the steps of [`Ranker::select_best`]; breaks after the one that completes the page.
    fn select_in_order(
        &self,
        selection: &mut Selection<'_>,
        docs: &dyn Matches,
    ) -> ControlFlow<()> {
        let titles = &self.plan.full_titles;
        self.collect_by_title(selection, docs, 2, titles.equal.iter().copied())?;
        let ranges = titles.prefixed.iter().cloned();
        let goal = ScanGoal {
            first: 3,
            last: 3,
            title_docs: Some(
                ranges
                    .clone()
                    .map(|range| self.view().titles_docs_count(range))
                    .sum(),
            ),
        };
        self.scan_matches(selection, docs, &goal)?;
        // "lost girl 2010" begins with the text "lost girl", but is equal to the text with the year
        // marker: it has relevance 2. And one range may be a part of another.
        let is_prefixed = |title: &u32| titles.member_relevance(*title) == 3;
        let mut prefixed: Vec<u32> = ranges.flatten().filter(is_prefixed).collect();
        prefixed.sort_unstable();
        prefixed.dedup();
        self.collect_by_title(selection, docs, 3, prefixed.into_iter())?;
        let goal = ScanGoal {
            first: 4,
            last: 4,
            title_docs: Some(titles.len() as u64 * self.context.costs.title_docs_estimate),
        };
        self.scan_matches(selection, docs, &goal)?;
        let mut others = Vec::new();
        titles.for_each(|title| {
            if titles.member_relevance(title) == 4 {
                others.push(title);
            }
        });
        self.collect_by_title(selection, docs, 4, others.into_iter())?;
        // Relevance 6 and 7 come from descriptions and prefixes: no titles to collect by.
        let goal = ScanGoal {
            first: 5,
            last: 6,
            title_docs: None,
        };
        self.scan_matches(selection, docs, &goal)
    }

    /// Offers the matching documents of titles of one relevance; of each title, up to a page with
    /// fit 0. Breaks when the page is complete.
    fn collect_by_title(
        &self,
        selection: &mut Selection<'_>,
        docs: &dyn Matches,
        relevance: u8,
        titles: impl Iterator<Item = u32>,
    ) -> ControlFlow<()> {
        // Settled are the documents that precede all later ones: those of earlier relevances, and
        // those of this one with fit 0.
        let mut settled_count = selection.offered_count;
        for title in titles {
            let mut missing = selection.page_size;
            let title_docs = self.view().title_docs(title);
            for doc in title_docs.filter(|&doc| docs.contains_all_words(doc)) {
                let fit = self.plan.fit.fit(doc, self.filter);
                selection.offer(Ranked::new(relevance, fit, doc));
                if fit == 0 {
                    settled_count += 1;
                    missing -= 1;
                    // The documents of a title ascend, which is answer order: after a page of
                    // them, the others of this title cannot be on the page. Those of the next
                    // title can.
                    if missing == 0 {
                        break;
                    }
                }
            }
        }
        selection.next_step(settled_count)
    }

    /// Scans the matches for a goal if that promises to be cheaper than collecting by title.
    /// Breaks when nothing is left to offer.
    fn scan_matches(
        &self,
        selection: &mut Selection<'_>,
        docs: &dyn Matches,
        goal: &ScanGoal,
    ) -> ControlFlow<()> {
        let visits_max = match goal.title_docs {
            Some(title_docs) if title_docs <= docs.count() => {
                let share = title_docs / self.context.costs.scan_share;
                if share < selection.page_size as u64 {
                    // Collecting costs hardly more than the page itself.
                    return ControlFlow::Continue(());
                }
                share
            }
            // There are fewer matches than documents of the titles: all matches may be visited.
            _ => u64::MAX,
        };
        match self.try_scan(selection, docs, goal, visits_max) {
            Scan::Complete => ControlFlow::Break(()),
            Scan::GivenUp => ControlFlow::Continue(()),
        }
    }

    /// Offers matches from the first relevance of the goal on, in answer order, until a page of
    /// them is settled or all were visited. Gives up after `visits_max` visits.
    fn try_scan(
        &self,
        selection: &mut Selection<'_>,
        docs: &dyn Matches,
        goal: &ScanGoal,
        visits_max: u64,
    ) -> Scan {
        let last = match self.plan.typos {
            Typos::Allowed => TYPO_RELEVANCE,
            Typos::Refused => goal.last,
        };
        // A scan that is given up must leave no trace: what it offered will be collected again.
        let before = selection.top.clone();
        let mut settled_count = selection.offered_count;
        let mut visits_left = visits_max;
        let mut scan = Scan::Complete;
        docs.scan(&mut |doc| {
            if visits_left == 0 {
                scan = Scan::GivenUp;
                return ControlFlow::Break(());
            }
            visits_left -= 1;
            let ranked = self.rank(doc);
            if goal.first <= ranked.relevance() {
                selection.top.offer(ranked);
                settled_count += usize::from((ranked.relevance(), ranked.fit()) <= (last, 0));
            }
            selection.next_step(settled_count)
        });
        if scan == Scan::GivenUp {
            *selection.top = before;
        }
        scan
    }
}

impl RankDocs for Ranker<'_> {
    fn rank(&self, doc: u32) -> Ranked {
        self.rank(doc)
    }

    fn relevance_docs_count(&self, relevance: u8) -> Option<u64> {
        let titles = &self.plan.full_titles;
        match relevance {
            2 => {
                let equal = titles.equal.iter();
                Some(
                    equal
                        .map(|&title| self.view().titles_docs_count(title..title + 1))
                        .sum(),
                )
            }
            3 => {
                let ranges = titles.prefixed.iter().cloned();
                Some(
                    ranges
                        .map(|range| self.view().titles_docs_count(range))
                        .sum(),
                )
            }
            4 => Some(titles.len() as u64 * self.context.costs.title_docs_estimate),
            // Documents with the last word itself, where others match by the prefix rule.
            6 => self.plan.last_word.map(|set| u64::from(set.count())),
            _ => None,
        }
    }

    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>) {
        let titles = &self.plan.full_titles;
        let mut add = |title: u32| out.extend(self.view().title_docs(title));
        match relevance {
            2 => titles.equal.iter().copied().for_each(add),
            3 => titles.prefixed.iter().cloned().flatten().for_each(add),
            4 => titles.for_each(&mut add),
            _ => {
                if let Some(set) = self.plan.last_word {
                    set.decode(out);
                }
            }
        }
    }
}

impl Selection<'_> {
    #[inline]
    fn offer(&mut self, ranked: Ranked) {
        self.top.offer(ranked);
        self.offered_count += 1;
    }

    /// Breaks when the settled documents, which precede all later ones, fill the page.
    fn next_step(&self, settled_count: usize) -> ControlFlow<()> {
        if self.page_size <= settled_count {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
