//! The `title` branch over one segment: its documents, counted, and the best of them.
//!
//! The plan knows how many documents each relevance has before one is read. Where filters, a marker
//! or another branch need the set of matches, up to 512 are simply ranked. Otherwise the page is
//! filled relevance by relevance. Example: `title=man`, 40,000 matches, page of 100. Relevance 2:
//! the title "man" has 30 documents. *Collecting* them reads 30; *scanning* the matches in answer
//! order would find one in 1,333. So they are collected. Relevance 3: 25,000 documents ("man of
//! steel"). Collecting would read them all; a scan meets one in 1.6 matches and has the missing 70
//! after about 110. So the matches are scanned.

use std::ops::ControlFlow;

use crate::index::SegmentView;
use crate::plan::{Clause, Filter, PlanContext, TitleMatch, TitlePlan};

use super::branch::{BranchResult, PageRequest};
use super::doc_set::{DocSet, intersect};
use super::top::{Ranked, Top};
use super::weigher::RankDocs;

/// Relevances that a title can give.
const RELEVANCES: std::ops::RangeInclusive<u8> = 2..=5;
/// Stands for the relevance of a document that does not match.
const NO_MATCH: u8 = 10;

/// Runs the branch.
///
/// Cost: linear in the titles that contain the text; with filters or a marker also that of
/// [`intersect`].
pub(super) fn search_title(
    context: &PlanContext<'_>,
    plan: &TitlePlan<'_>,
    filter: &Filter<'_>,
    page: PageRequest<'_>,
) -> BranchResult {
    let branch = TitleBranch {
        context,
        plan,
        filter,
        page_size: page.size,
    };
    let mut top = Top::new(page.size);
    let is_plain = filter.is_trivial() && plan.marker.is_none() && plan.fit.is_trivial();
    if is_plain && !page.needs_docs {
        // Every live document of a matching title matches: the total is a sum of stored counts,
        // less the deleted ones, and no set of documents is built.
        branch.select_best(&mut top, None);
        let total = filter.live().count_titled(
            plan.docs_count(TitleMatch::is_whole),
            |title| plan.match_of(title).is_whole(),
            plan.title_docs(&context.view, TitleMatch::is_whole),
        );
        return BranchResult {
            total,
            best: top.into_sorted(),
            docs: None,
        };
    }
    let docs = branch.docs();
    if docs.len() <= context.costs.ranked_docs_max {
        docs.for_each(|doc| top.offer(branch.rank(doc)));
    } else {
        branch.select_best(&mut top, Some(&docs));
    }
    let best = top.into_sorted();
    BranchResult {
        total: docs.len(),
        best: match page.weigher {
            Some(weigher) => weigher.reordered(&branch, &docs, best),
            None => best,
        },
        docs: Some(docs),
    }
}

struct TitleBranch<'b, 'a> {
    context: &'b PlanContext<'a>,
    plan: &'b TitlePlan<'a>,
    filter: &'b Filter<'a>,
    page_size: usize,
}

impl<'a> TitleBranch<'_, 'a> {
    fn view(&self) -> &SegmentView<'a> {
        &self.context.view
    }

    /// All matches: those by the whole text, and those by the text without its marker that fit it.
    fn docs(&self) -> DocSet {
        let whole = self.find(&[self.plan.clause(self.context, TitleMatch::is_whole)]);
        let Some((_, fitting)) = &self.plan.marker else {
            return whole;
        };
        let unmarked = self.plan.clause(self.context, TitleMatch::is_unmarked);
        whole.union(self.find(&[unmarked, fitting.clone()]))
    }

    fn find(&self, clauses: &[Clause<'_>]) -> DocSet {
        if clauses.iter().any(|clause| clause.size_max() == 0) {
            return DocSet::empty();
        }
        intersect(self.context, self.filter, clauses)
    }

    /// Rank of a document, of relevance [`NO_MATCH`] if it does not match.
    #[inline]
    fn rank(&self, doc: u32) -> Ranked {
        let view = self.view();
        let marker = self.plan.marker.as_ref();
        let fits_marker = marker.is_some_and(|(test, _)| test.matches(view.columns.row(doc)));
        let title_match = self.plan.match_of(view.title_of(doc));
        let relevance = title_match.relevance(fits_marker).unwrap_or(NO_MATCH);
        Ranked::new(relevance, self.plan.fit.fit(doc, self.filter), doc)
    }

    /// Offers at least the best of the matches, which are `docs`, or, without it, all documents of
    /// matching titles.
    ///
    /// It goes relevance by relevance until the page is full of documents that no later one can
    /// displace. Collecting a relevance reads all its `count` documents. Scanning meets one of them
    /// every `matches / count` documents, so it has the `missing` ones after about
    /// `matches * missing / count`. The two are equal where `count² = matches * missing`.
    fn select_best(&self, top: &mut Top, docs: Option<&DocSet>) {
        let matches = docs.map_or(u64::from(self.view().docs_count()), DocSet::len);
        let mut offered_count = 0;
        for relevance in RELEVANCES {
            let missing = self.page_size - offered_count;
            let count = self
                .plan
                .docs_count(|title_match| title_match.may_give(relevance));
            let mut selection = RelevanceSelection {
                top: &mut *top,
                relevance,
                offered_count: 0,
                missing,
            };
            if matches * (missing as u64) < count * count {
                // The scan offers later relevances, too: it ends the work.
                self.scan_matches(&mut selection, docs);
                return;
            }
            self.collect_by_title(&mut selection, docs);
            // All documents of a relevance precede the next one, whatever their fit.
            offered_count += selection.offered_count;
            if self.page_size <= offered_count {
                return;
            }
        }
    }

    /// Offers the documents of the titles that may give the relevance; of each title, up to a page
    /// with fit 0.
    fn collect_by_title(&self, selection: &mut RelevanceSelection<'_>, docs: Option<&DocSet>) {
        let (missing, relevance) = (selection.missing, selection.relevance);
        let matches = self.plan.matches().iter();
        for (title, _) in matches.filter(|(_, title_match)| title_match.may_give(relevance)) {
            // The documents of one title ascend, those of the next may precede them: the page
            // must be filled for each title anew.
            selection.missing = missing;
            for doc in self.view().title_docs(*title) {
                if !self.is_match(docs, doc) {
                    continue;
                }
                let ranked = self.rank(doc);
                // The title may give this relevance with the marker only.
                if ranked.relevance() == relevance && selection.offer(ranked).is_break() {
                    break;
                }
            }
        }
    }

    /// True if a document of a matching title is among `docs`, or, without it, live.
    #[inline]
    fn is_match(&self, docs: Option<&DocSet>, doc: u32) -> bool {
        match docs {
            Some(docs) => docs.contains(doc),
            None => self.filter.live().contains(doc),
        }
    }

    /// Offers matches of this relevance and later ones in answer order, until the page is full of
    /// this relevance with fit 0, or to the end. Nothing is left to offer afterwards.
    fn scan_matches(&self, selection: &mut RelevanceSelection<'_>, docs: Option<&DocSet>) {
        let visit = |doc: u32| {
            if docs.is_none() && !self.filter.live().contains(doc) {
                return ControlFlow::Continue(());
            }
            let ranked = self.rank(doc);
            if (selection.relevance..NO_MATCH).contains(&ranked.relevance()) {
                selection.offer(ranked)
            } else {
                ControlFlow::Continue(())
            }
        };
        let _ = match docs {
            Some(docs) => docs.try_for_each(visit),
            None => (0..self.view().docs_count()).try_for_each(visit),
        };
    }
}

impl RankDocs for TitleBranch<'_, '_> {
    fn rank(&self, doc: u32) -> Ranked {
        self.rank(doc)
    }

    fn relevance_docs_count(&self, relevance: u8) -> Option<u64> {
        let may_give = |title_match: TitleMatch| title_match.may_give(relevance);
        Some(self.plan.docs_count(may_give))
    }

    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>) {
        for (title, title_match) in self.plan.matches() {
            if title_match.may_give(relevance) {
                out.extend(self.view().title_docs(*title));
            }
        }
    }
}

/// Page while one relevance is selected.
struct RelevanceSelection<'t> {
    top: &'t mut Top,
    relevance: u8,
    offered_count: usize,
    /// Documents of this relevance with fit 0 that still fill the page.
    missing: usize,
}

impl RelevanceSelection<'_> {
    /// Offers a document; breaks when the page is full of this relevance with fit 0.
    #[inline]
    fn offer(&mut self, ranked: Ranked) -> ControlFlow<()> {
        self.top.offer(ranked);
        self.offered_count += 1;
        if (ranked.relevance(), ranked.fit()) == (self.relevance, 0) {
            self.missing -= 1;
        }
        if self.missing == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}
