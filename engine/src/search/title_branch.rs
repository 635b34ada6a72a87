//! The `title` branch over one segment: its documents, counted, and the best of them.

use crate::index::View;
use crate::plan::{Clause, Filter, TitleMatch, TitlePlan};

use super::doc_set::{DocSet, intersect};
use super::top::{Ranked, Top};
use super::word_branch::Found;

/// Relevances that a title can give.
const RELEVANCES: std::ops::RangeInclusive<u8> = 2..=5;
/// Stands for the relevance of a document that does not match.
const NO_MATCH: u8 = 10;
/// Documents up to which every match is ranked; beyond, the best are sought. (Tests have small
/// segments, and take both ways.)
const RANKED_MAX: u64 = if cfg!(test) { 4 } else { 512 };

/// Runs the branch. `needs_docs` when it is not the only one; `filters` are the filter's own sets.
///
/// Cost: linear in the titles that contain the text; with filters or a marker that of
/// [`intersect`] besides.
pub(super) fn search_title(
    view: &View<'_>,
    plan: &TitlePlan<'_>,
    (filter, filters): (&Filter<'_>, &[Clause<'_>]),
    (page_size, needs_docs): (usize, bool),
) -> Found {
    let branch = Branch {
        view,
        plan,
        filter,
        page_size,
    };
    let mut top = Top::new(page_size);
    if filter.is_trivial() && plan.marker.is_none() && plan.fit.is_trivial() && !needs_docs {
        branch.offer_by_relevance(&mut top, None);
        return Found {
            total: plan.docs_count(TitleMatch::is_whole),
            best: top.into_sorted(),
            docs: None,
        };
    }
    let docs = branch.docs(filters);
    if docs.len() <= RANKED_MAX {
        docs.for_each_while(|doc| {
            top.offer(branch.rank(doc));
            true
        });
    } else {
        branch.offer_by_relevance(&mut top, Some(&docs));
    }
    Found {
        total: docs.len(),
        best: top.into_sorted(),
        docs: Some(docs),
    }
}

struct Branch<'b, 'a> {
    view: &'b View<'a>,
    plan: &'b TitlePlan<'a>,
    filter: &'b Filter<'a>,
    page_size: usize,
}

impl Branch<'_, '_> {
    /// All matches.
    fn docs(&self, filters: &[Clause<'_>]) -> DocSet {
        let find = |clauses: &[Clause<'_>]| {
            let has_none = clauses.iter().any(|clause| clause.size_max() == 0);
            match has_none {
                true => DocSet::empty(),
                false => intersect(self.view, self.filter, clauses, filters),
            }
        };
        let whole = find(&[self.plan.clause(self.view, TitleMatch::is_whole)]);
        let Some((_, fitting)) = &self.plan.marker else {
            return whole;
        };
        let unmarked = self.plan.clause(self.view, TitleMatch::is_unmarked);
        whole.union(find(&[unmarked, fitting.clone()]))
    }

    /// The rank of a document that matches.
    #[inline]
    fn rank(&self, doc: u32) -> Ranked {
        let marker = self.plan.marker.as_ref();
        let fits = marker.is_some_and(|(test, _)| test.passes(self.view.columns.row(doc)));
        let title_match = self.plan.match_of(self.view.title_of(doc));
        let relevance = title_match.relevance(fits).unwrap_or(NO_MATCH);
        Ranked::new(relevance, self.plan.fit.fit(doc, self.filter), doc)
    }

    /// Offers relevance after relevance until the page is full of documents that nothing later can
    /// surpass; of `docs`, or, without a marker, of all documents.
    ///
    /// The documents of a relevance are gathered title by title, or, when they are so many that a
    /// page of them is met sooner, sought among the matches in order.
    fn offer_by_relevance(&self, top: &mut Top, docs: Option<&DocSet>) {
        let matches = docs.map_or(u64::from(self.view.docs_count()), DocSet::len);
        let mut offered_count = 0;
        for relevance in RELEVANCES {
            let room = self.page_size - offered_count;
            let count = self
                .plan
                .docs_count(|title_match| title_match.may_give(relevance));
            let mut offer = Offer {
                top: &mut *top,
                relevance,
                offered_count: 0,
                room,
            };
            if count * count <= matches * room as u64 {
                self.gather(&mut offer, docs);
            } else {
                return self.meet(&mut offer, docs);
            }
            // All of a relevance come before the next one.
            offered_count += offer.offered_count;
            if self.page_size <= offered_count {
                return;
            }
        }
    }

    /// Offers the documents of the titles that may give a relevance: of each title so many that a
    /// page of them has fit 0.
    fn gather(&self, offer: &mut Offer<'_>, docs: Option<&DocSet>) {
        let (room, relevance) = (offer.room, offer.relevance);
        let matches = self.plan.matches().iter();
        for (title, _) in matches.filter(|(_, title_match)| title_match.may_give(relevance)) {
            offer.room = room;
            for doc in self.view.title_docs(*title) {
                if docs.is_none_or(|docs| docs.contains(doc)) {
                    let ranked = self.rank(doc);
                    if ranked.relevance() == relevance {
                        offer.take(ranked);
                    }
                    if offer.room == 0 {
                        break;
                    }
                }
            }
        }
    }

    /// Offers matches of this relevance and later ones in order, until a page of this one has fit
    /// 0, or to the end: then nothing is left to offer.
    fn meet(&self, offer: &mut Offer<'_>, docs: Option<&DocSet>) {
        let each = |doc: u32| {
            let ranked = self.rank(doc);
            if (offer.relevance..NO_MATCH).contains(&ranked.relevance()) {
                offer.take(ranked);
            }
            offer.room > 0
        };
        match docs {
            Some(docs) => docs.for_each_while(each),
            None => {
                (0..self.view.docs_count()).all(each);
            }
        }
    }
}

/// Documents on their title_match to the page.
struct Offer<'t> {
    top: &'t mut Top,
    relevance: u8,
    offered_count: usize,
    /// How many more of this relevance with fit 0 fill the page.
    room: usize,
}

impl Offer<'_> {
    #[inline]
    fn take(&mut self, ranked: Ranked) {
        self.top.offer(ranked);
        self.offered_count += 1;
        self.room -= usize::from((ranked.relevance(), ranked.fit()) == (self.relevance, 0));
    }
}
