//! The `query` branch over one segment: its documents, counted, and the best of them.

use crate::index::{Postings, Probe, View};
use crate::plan::{Condition, Filter, Typos, WordPlan};

use super::doc_set::{DocSet, intersect};
use super::top::{Ranked, Top};

/// Documents up to which every match is ranked; beyond, better relevances are sought by title.
const RANKED_MAX: u64 = 1 << 15;

/// What a branch found.
pub(super) struct Found {
    /// How many documents match.
    pub(super) total: u64,
    /// The best of them.
    pub(super) best: Vec<Ranked>,
    /// All of them, when they were asked for.
    pub(super) docs: Option<DocSet>,
}

impl Found {
    /// No document.
    pub(super) fn nothing() -> Self {
        Self {
            total: 0,
            best: Vec::new(),
            docs: Some(DocSet::empty()),
        }
    }
}

/// Runs the branch. `needs_docs` when it is not the only one.
pub(super) fn search_words(
    view: &View<'_>,
    plan: &WordPlan<'_>,
    filter: &Filter<'_>,
    filters: &[Condition<'_>],
    (page_size, needs_docs): (usize, bool),
) -> Found {
    let ranker = Ranker::new(view, plan, filter);
    let is_plain = filter.is_trivial() && !needs_docs && plan.typos == Typos::Refused;
    if let ([condition], true) = (&plan.conditions[..], is_plain) {
        return search_one_word(&ranker, condition, page_size);
    }
    let docs = intersect(view, filter, &plan.conditions, filters);
    let mut top = Top::new(page_size);
    if docs.len() <= RANKED_MAX {
        docs.for_each_while(|doc| {
            top.offer(ranker.rank(doc));
            true
        });
    } else {
        ranker.offer_best(&mut top, page_size, &docs);
    }
    Found {
        total: docs.len(),
        best: top.into_sorted(),
        docs: Some(docs),
    }
}

/// A single word without filters: its documents are never listed, their number is stored.
fn search_one_word(ranker: &Ranker<'_>, condition: &Condition<'_>, page_size: usize) -> Found {
    let view = ranker.view;
    let set = ranker.plan.last_word.or(condition.only_set().copied());
    let set = set.unwrap_or(Postings::EMPTY);
    let probe = set.probe();
    let mut begun = Vec::new();
    for &title in condition.titles().iter().flat_map(|titles| titles.titles()) {
        begun.extend(view.title_docs(title).filter(|&doc| !probe.contains(doc)));
    }
    let mut top = Top::new(page_size);
    ranker.offer_full_titles(&mut top, page_size, |_| true);
    offer_in_order(&mut top, page_size, |each| {
        set.for_each_while(|doc| {
            let is_offered = ranker
                .plan
                .full_titles
                .relevance(view.title_of(doc))
                .is_some();
            is_offered || each(Ranked::new(6, 0, doc))
        });
    });
    if top.len() < page_size {
        begun
            .iter()
            .for_each(|&doc| top.offer(Ranked::new(7, 0, doc)));
    }
    Found {
        total: u64::from(set.count()) + begun.len() as u64,
        best: top.into_sorted(),
        docs: None,
    }
}

/// Offers documents that come best first, as long as there is room.
fn offer_in_order(
    top: &mut Top,
    page_size: usize,
    walk: impl FnOnce(&mut dyn FnMut(Ranked) -> bool),
) {
    let mut room = page_size.saturating_sub(top.len());
    if room == 0 {
        return;
    }
    walk(&mut |ranked| {
        top.offer(ranked);
        room -= 1;
        room > 0
    });
}

/// Tells relevance and fit of the documents of a branch.
struct Ranker<'a> {
    view: &'a View<'a>,
    plan: &'a WordPlan<'a>,
    filter: &'a Filter<'a>,
    last_word: Option<Probe<'a>>,
}

impl<'a> Ranker<'a> {
    fn new(view: &'a View<'a>, plan: &'a WordPlan<'a>, filter: &'a Filter<'a>) -> Self {
        Self {
            view,
            plan,
            filter,
            last_word: plan.last_word.as_ref().map(Postings::probe),
        }
    }

    /// The rank of a document that matches.
    fn rank(&self, doc: u32) -> Ranked {
        Ranked::new(
            self.relevance(doc),
            self.plan.fit.fit(doc, self.filter),
            doc,
        )
    }

    fn relevance(&self, doc: u32) -> u8 {
        if self.plan.typos == Typos::Allowed {
            return 8;
        }
        let by_title = self.plan.full_titles.relevance(self.view.title_of(doc));
        by_title.unwrap_or_else(|| match &self.last_word {
            Some(probe) if !probe.contains(doc) => 7,
            _ => 6,
        })
    }

    /// Offers the documents of titles with all plain words, as far as they can be among the best.
    fn offer_full_titles(&self, top: &mut Top, page_size: usize, matches: impl Fn(u32) -> bool) {
        let titles = &self.plan.full_titles;
        let mut offer = |relevance: u8, title: u32| {
            let docs = self.view.title_docs(title).filter(|&doc| matches(doc));
            for doc in docs.take(page_size) {
                top.offer(Ranked::new(relevance, 0, doc));
            }
        };
        titles.equal.iter().for_each(|&title| offer(2, title));
        titles.for_each(|title| {
            let relevance = titles.member_relevance(title);
            if relevance > 2 {
                offer(relevance, title);
            }
        });
    }

    /// Offers of many matching documents those that can be among the best.
    fn offer_best(&self, top: &mut Top, page_size: usize, docs: &DocSet) {
        let can_misfit = !self.plan.fit.is_trivial() || !self.filter.is_trivial();
        let is_wide = self.plan.full_titles.len() as u64 > docs.len() / 16;
        if can_misfit || is_wide {
            docs.for_each_while(|doc| {
                top.offer(self.rank(doc));
                true
            });
            return;
        }
        self.offer_full_titles(top, page_size, |doc| docs.contains(doc));
        let mut begun = Vec::new();
        offer_in_order(top, page_size, |each| {
            docs.for_each_while(|doc| match self.relevance(doc) {
                // With typos every match has relevance 8, and without them none has.
                relevance @ (6 | 8) => each(Ranked::new(relevance, 0, doc)),
                7 if begun.len() < page_size => {
                    begun.push(doc);
                    true
                }
                _ => true,
            });
        });
        begun
            .iter()
            .for_each(|&doc| top.offer(Ranked::new(7, 0, doc)));
    }
}
