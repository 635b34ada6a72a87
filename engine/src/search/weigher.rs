//! Missing weights of documents (SEARCH.md 5.7), and the best documents by them.
//!
//! Which words of a release a document lacks is known from the posting lists of these words, 16 at
//! most. A *list* of documents is intersected with each of them. For more documents than a list
//! should hold, the weights of all documents of the segment are added up as binary digits, 512
//! documents at a time ([`BitCounts`]), and the documents are visited by weight: those with the
//! highest digit of what they have first, within them those with the next one, and so on.
//!
//! Example: `query=de&release=Lost.S01E02.720p.HDTV.x264-LOL` matches 620,000 documents. The page
//! by relevance and fit is found as without `release`; its last document has relevance 4, as have
//! 300,000 others. These are visited by weight, and the first 100 that really have relevance 4 are
//! the page: the first few hundred visits.

use std::cell::OnceCell;
use std::ops::ControlFlow;

use crate::index::{BitCounts, Bits, Postings};
use crate::plan::{PlanContext, ReleaseSets};

use super::doc_set::DocSet;
use super::top::Ranked;

/// The release words of a request over one segment.
pub(super) struct Weigher<'a> {
    context: &'a PlanContext<'a>,
    sets: ReleaseSets<'a>,
    /// Weight of the release words that each document has; made when many documents are weighed.
    counts: OnceCell<BitCounts>,
}

/// Ranks the matches of a branch one by one, and knows where those of a relevance are.
pub(super) trait RankDocs {
    /// Relevance and fit of a match; any other document must not have a rank of a match.
    fn rank(&self, doc: u32) -> Ranked;

    /// Upper bound or estimate of the documents of all titles that may give this relevance; `None`
    /// if the relevance does not come from titles.
    fn relevance_docs_count(&self, relevance: u8) -> Option<u64>;

    /// Appends the documents of these titles, matches or not, in any order.
    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>);
}

impl<'a> Weigher<'a> {
    /// A weigher by these words.
    pub(super) fn new(context: &'a PlanContext<'a>, sets: ReleaseSets<'a>) -> Self {
        Self {
            context,
            sets,
            counts: OnceCell::new(),
        }
    }

    /// The best `size` of some documents, each once, by rank and then by missing weight.
    ///
    /// Only documents that may be among them are weighed.
    pub(super) fn best(&self, mut ranked: Vec<Ranked>, size: usize) -> Vec<Ranked> {
        if size < ranked.len() {
            let (_, last, _) = ranked.select_nth_unstable(size - 1);
            let last_pair = last.pair();
            ranked.retain(|ranked| ranked.pair() <= last_pair);
        }
        let mut weighed = self.weighed(ranked);
        weighed.sort_unstable();
        weighed.truncate(size);
        weighed
    }

    /// The documents with their missing weights, by document.
    fn weighed(&self, mut ranked: Vec<Ranked>) -> Vec<Ranked> {
        ranked.sort_unstable_by_key(|ranked| ranked.doc());
        let docs: Vec<u32> = ranked.iter().map(|ranked| ranked.doc()).collect();
        for (ranked, weight) in ranked.iter_mut().zip(self.weights(&docs)) {
            *ranked = ranked.with_missing(self.sets.weight_sum - weight);
        }
        ranked
    }

    /// Weight of the release words that each of the ascending documents has.
    ///
    /// Cost: an intersection with each word's documents; for very many documents seven bit tests
    /// each.
    fn weights(&self, docs: &[u32]) -> Vec<u8> {
        let docs_count = self.context.view.docs_count();
        let prefers_list = (self.context.costs).prefers_list(docs.len() as u64, docs_count);
        if !prefers_list && !self.sets.sets.is_empty() {
            let counts = self.counts();
            return docs.iter().map(|&doc| counts.get(doc)).collect();
        }
        let mut weights = vec![0; docs.len()];
        let mut with_word = Vec::new();
        for set in &self.sets.sets {
            with_word.clear();
            with_word.extend_from_slice(docs);
            set.docs.retain(&mut with_word);
            let mut at = 0;
            for &doc in &with_word {
                while docs[at] != doc {
                    at += 1;
                }
                weights[at] += set.weight;
            }
        }
        weights
    }

    /// Weight of the release words that each document of the segment has.
    fn counts(&self) -> &BitCounts {
        self.counts.get_or_init(|| {
            let sets = self.sets.sets.iter().map(|set| (set.docs, set.weight));
            let sets: Vec<(Postings<'_>, u8)> = sets.collect();
            BitCounts::sums(self.context.view.docs_count(), &sets)
        })
    }

    /// The best matches by rank and then by missing weight; `page` is the best by rank and then in
    /// answer order.
    ///
    /// Documents before the last rank of the page are on the page, whatever they weigh. Of those
    /// of that rank, which may be many more, the best by weight are sought.
    pub(super) fn reordered(
        &self,
        branch: &dyn RankDocs,
        docs: &DocSet,
        page: Vec<Ranked>,
    ) -> Vec<Ranked> {
        let size = page.len();
        let Some(last_pair) = page.last().map(|last| last.pair()) else {
            return page;
        };
        if docs.len() <= size as u64 || self.sets.sets.is_empty() {
            // All matches are on the page, or no document has a release word: all weigh the same.
            return self.best(page, size);
        }
        let mut best = page;
        best.retain(|ranked| ranked.pair() < last_pair);
        let rest_count = size - best.len();
        let rest = LastRank {
            weigher: self,
            branch,
            docs,
            pair: last_pair,
        };
        let rest = rest.best(rest_count);
        best = self.best(best, size);
        best.extend(rest);
        best
    }

    /// Calls `each` with the documents of a set and their missing weights, those with the smallest
    /// first, and in answer order among equals, until it breaks.
    pub(super) fn try_for_each(
        &self,
        docs: &DocSet,
        each: &mut dyn FnMut(u32, u8) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match docs {
            DocSet::List(docs) => self.visit_list(docs, each),
            DocSet::Bits(bits, _) if self.sets.sets.is_empty() => {
                bits.try_for_each(|doc| each(doc, self.sets.weight_sum))
            }
            DocSet::Bits(bits, count) => {
                self.visit(bits, *count, self.counts().digits_count(), each)
            }
        }
    }

    /// Visits `count` documents that have the same digits above; `digits_left` are undecided.
    fn visit(
        &self,
        docs: &Bits,
        count: u64,
        digits_left: usize,
        each: &mut dyn FnMut(u32, u8) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let docs_count = self.context.view.docs_count();
        if digits_left == 0 || self.context.costs.prefers_list(count, docs_count) {
            let mut list = Vec::with_capacity(count as usize);
            docs.decode(&mut list);
            return self.visit_list(&list, each);
        }
        let digit = self.counts().digit(digits_left - 1);
        let with_digit = docs.count_common(digit);
        // Nothing is copied for a digit that all have, or none.
        if with_digit == 0 || with_digit == count {
            return self.visit(docs, count, digits_left - 1, each);
        }
        self.visit(&docs.intersection(digit), with_digit, digits_left - 1, each)?;
        let rest = docs.difference(digit);
        self.visit(&rest, count - with_digit, digits_left - 1, each)
    }

    fn visit_list(
        &self,
        docs: &[u32],
        each: &mut dyn FnMut(u32, u8) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Where the weights of all documents are known, a list needs no intersections.
        let weights = match self.counts.get() {
            Some(counts) => docs.iter().map(|&doc| counts.get(doc)).collect(),
            None => self.weights(docs),
        };
        let mut order: Vec<usize> = (0..docs.len()).collect();
        order.sort_by_key(|&idx| u8::MAX - weights[idx]);
        order
            .into_iter()
            .try_for_each(|idx| each(docs[idx], self.sets.weight_sum - weights[idx]))
    }
}

/// The matches of the last rank of a page.
struct LastRank<'w, 'a> {
    weigher: &'w Weigher<'a>,
    branch: &'w dyn RankDocs,
    docs: &'w DocSet,
    pair: (u8, u8),
}

impl LastRank<'_, '_> {
    /// The best `count` by weight.
    ///
    /// Two ways, as in the branches: *visit* the matches by weight until `count` of this rank were
    /// met, or *collect* the documents of the titles that give the relevance and weigh them all. If
    /// `title_docs` of the matches have the rank, a visit meets one in `matches / title_docs`; the
    /// two cost the same where `title_docs² = matches * count`. A visit that lasts longer than
    /// collecting would is given up.
    fn best(&self, count: usize) -> Vec<Ranked> {
        let title_docs = self.branch.relevance_docs_count(self.pair.0);
        if let DocSet::List(docs) = self.docs {
            let ranked = docs.iter().map(|&doc| self.branch.rank(doc));
            return self.weigher.best(self.of_rank(ranked), count);
        }
        let Some(title_docs) = title_docs else {
            return self.visited(count, u64::MAX).unwrap_or_default();
        };
        let visits_worth = self.docs.len().saturating_mul(count as u64);
        let is_visiting_cheaper = visits_worth < title_docs.saturating_mul(title_docs);
        let visited = if is_visiting_cheaper {
            self.visited(count, title_docs)
        } else {
            None
        };
        visited.unwrap_or_else(|| self.collected(count))
    }

    fn of_rank(&self, ranked: impl Iterator<Item = Ranked>) -> Vec<Ranked> {
        ranked.filter(|ranked| ranked.pair() == self.pair).collect()
    }

    /// Visits the matches by weight; `None` if more than `visits_max` would be needed.
    fn visited(&self, count: usize, visits_max: u64) -> Option<Vec<Ranked>> {
        let mut best = Vec::with_capacity(count);
        let mut visits_left = visits_max;
        let flow = self.weigher.try_for_each(self.docs, &mut |doc, missing| {
            if visits_left == 0 || best.len() == count {
                return ControlFlow::Break(());
            }
            visits_left -= 1;
            let ranked = self.branch.rank(doc);
            if ranked.pair() == self.pair {
                best.push(ranked.with_missing(missing));
            }
            ControlFlow::Continue(())
        });
        let is_complete = best.len() == count || flow.is_continue();
        if is_complete { Some(best) } else { None }
    }

    fn collected(&self, count: usize) -> Vec<Ranked> {
        let mut docs = Vec::new();
        self.branch.relevance_docs(self.pair.0, &mut docs);
        docs.retain(|&doc| self.docs.contains(doc));
        docs.sort_unstable();
        docs.dedup();
        let ranked = docs.into_iter().map(|doc| self.branch.rank(doc));
        self.weigher.best(self.of_rank(ranked), count)
    }
}
