//! The `query` branch over one segment: its documents, counted, and the best of them.

use crate::index::{Postings, Probe, View};
use crate::plan::{Clause, Filter, Typos, WordPlan};

use super::doc_set::{DocSet, intersect};
use super::top::{Ranked, Top};

/// Documents up to which every match is ranked; beyond, the best are sought. (Tests have small
/// segments, and take both ways.)
const RANKED_MAX: u64 = if cfg!(test) { 4 } else { 512 };
/// Documents that a title is guessed to have.
const TITLE_DOCS_GUESS: u64 = 8;
/// Before so many documents are gathered by their titles, this share of as many matches is visited,
/// in case that these fill the page. (Tests have small segments, and try it too.)
const VISITED_SHARE: u64 = if cfg!(test) { 2 } else { 16 };

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
    filters: &[Clause<'_>],
    (page_size, needs_docs): (usize, bool),
) -> Found {
    let ranker = Ranker::new(view, plan, filter);
    let is_plain = filter.is_trivial() && !needs_docs && plan.typos == Typos::Refused;
    if let ([clause], true) = (&plan.clauses[..], is_plain) {
        return search_one_word(&ranker, clause, page_size);
    }
    let docs = intersect(view, filter, &plan.clauses, filters);
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
fn search_one_word(ranker: &Ranker<'_>, clause: &Clause<'_>, page_size: usize) -> Found {
    let set = ranker.plan.last_word.or(clause.only_set().copied());
    let set = set.unwrap_or(Postings::EMPTY);
    let mut top = Top::new(page_size);
    ranker.offer_best(&mut top, page_size, &set);
    let mut prefix_count = ranker.plan.prefix_count.unwrap_or(0);
    let needs_prefix_docs = top.len() < page_size || ranker.plan.prefix_count.is_none();
    if let (true, Some(titles)) = (needs_prefix_docs, clause.titles()) {
        let probe = set.probe();
        prefix_count = 0;
        for &title in titles.titles() {
            let docs = ranker.view.title_docs(title);
            for doc in docs.filter(|&doc| !probe.contains(doc)) {
                prefix_count += 1;
                top.offer(Ranked::new(7, 0, doc));
            }
        }
    }
    Found {
        total: u64::from(set.count()) + prefix_count,
        best: top.into_sorted(),
        docs: None,
    }
}

/// Documents that match, in answer order.
trait Matches {
    fn count(&self) -> u64;
    /// Whether a document whose title has all plain words matches.
    fn has_full(&self, doc: u32) -> bool;
    fn walk(&self, each: &mut dyn FnMut(u32) -> bool);
}

impl Matches for DocSet {
    fn count(&self) -> u64 {
        self.len()
    }

    fn has_full(&self, doc: u32) -> bool {
        self.contains(doc)
    }

    fn walk(&self, each: &mut dyn FnMut(u32) -> bool) {
        self.for_each_while(each);
    }
}

/// The documents of a single word: those of its titles are among them.
impl Matches for Postings<'_> {
    fn count(&self) -> u64 {
        u64::from(Postings::count(self))
    }

    fn has_full(&self, _: u32) -> bool {
        true
    }

    fn walk(&self, each: &mut dyn FnMut(u32) -> bool) {
        self.for_each_while(each);
    }
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

    /// Offers of many matching documents at least those that are among the best.
    ///
    /// One relevance after the other, until the page is full of documents that nothing later can
    /// surpass. Documents of a relevance are gathered by their titles, or, when these have more
    /// documents than match, met among the matches in order.
    fn offer_best(&self, top: &mut Top, page_size: usize, docs: &dyn Matches) {
        let mut offered = Offered {
            top,
            page_size,
            count: 0,
            is_full: false,
        };
        let titles = &self.plan.full_titles;
        self.gather(&mut offered, docs, 2, titles.equal.iter().copied());
        if offered.is_full {
            return;
        }
        let ranges = titles.prefixed.iter().cloned();
        let prefixed_docs_count: u64 = ranges
            .clone()
            .map(|range| self.view.titles_docs_count(range))
            .sum();
        if self.meet(&mut offered, docs, (3, 3), prefixed_docs_count) {
            return;
        }
        let is_prefixed = |title: &u32| titles.member_relevance(*title) == 3;
        let mut prefixed: Vec<u32> = ranges.flatten().filter(is_prefixed).collect();
        prefixed.sort_unstable();
        prefixed.dedup();
        self.gather(&mut offered, docs, 3, prefixed.into_iter());
        if offered.is_full {
            return;
        }
        if self.meet(
            &mut offered,
            docs,
            (4, 4),
            titles.len() as u64 * TITLE_DOCS_GUESS,
        ) {
            return;
        }
        let mut others = Vec::new();
        titles.for_each(|title| {
            if titles.member_relevance(title) == 4 {
                others.push(title);
            }
        });
        self.gather(&mut offered, docs, 4, others.into_iter());
        if !offered.is_full {
            self.meet(&mut offered, docs, (5, 6), u64::MAX);
        }
    }

    /// Offers the matching documents of titles of one relevance: of each title so many that a page
    /// of them has fit 0.
    fn gather(
        &self,
        offered: &mut Offered<'_>,
        docs: &dyn Matches,
        relevance: u8,
        titles: impl Iterator<Item = u32>,
    ) {
        // All of earlier relevances, and fit 0 of this one, come before whatever is to come.
        let mut settled = offered.count;
        for title in titles {
            let mut room = offered.page_size;
            for doc in self
                .view
                .title_docs(title)
                .filter(|&doc| docs.has_full(doc))
            {
                let fit = self.plan.fit.fit(doc, self.filter);
                offered.offer(Ranked::new(relevance, fit, doc));
                if fit == 0 {
                    settled += 1;
                    room -= 1;
                    if room == 0 {
                        break;
                    }
                }
            }
        }
        offered.is_full = offered.page_size <= settled;
    }

    /// Offers matching documents of at least the first relevance in order, until the page is full
    /// of documents of relevance up to the second with fit 0; whether nothing is left to offer.
    ///
    /// When these may be gathered by their titles instead, which have `gathered_count` documents,
    /// gives up after a share of that many visits: then nothing was offered.
    fn meet(
        &self,
        offered: &mut Offered<'_>,
        docs: &dyn Matches,
        (from, to): (u8, u8),
        gathered_count: u64,
    ) -> bool {
        let visits_max = match gathered_count / VISITED_SHARE {
            _ if docs.count() < gathered_count => u64::MAX,
            few if few < offered.page_size as u64 => return false,
            share => share,
        };
        let before = offered.top.clone();
        let to = if self.plan.typos == Typos::Allowed {
            8
        } else {
            to
        };
        let (mut settled, mut visits_count) = (offered.count, 0);
        docs.walk(&mut |doc| {
            if visits_count == visits_max {
                visits_count += 1;
                return false;
            }
            visits_count += 1;
            let ranked = self.rank(doc);
            if from <= ranked.relevance() {
                offered.top.offer(ranked);
                settled += usize::from((ranked.relevance(), ranked.fit()) <= (to, 0));
            }
            settled < offered.page_size
        });
        let is_over = visits_count <= visits_max;
        if !is_over {
            *offered.top = before;
        }
        is_over
    }
}

/// What was offered so far.
struct Offered<'t> {
    top: &'t mut Top,
    page_size: usize,
    count: usize,
    /// Whether nothing that is still to come can be among the best.
    is_full: bool,
}

impl Offered<'_> {
    #[inline]
    fn offer(&mut self, ranked: Ranked) {
        self.top.offer(ranked);
        self.count += 1;
    }
}
