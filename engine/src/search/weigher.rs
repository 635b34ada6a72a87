//! Missing weights of documents (SEARCH.md 5.7), and the best documents by them.
//!
//! The posting lists of the release words, up to 16, show which words a document lacks. A short
//! *list* of documents is intersected with each of them. For more documents the weights of all
//! documents of a block of 65,536 are added up as binary digits ([`BlockSums`]). The documents are
//! ranked in the order of their weights, a *portion* of them at a time: the first portion is
//! usually enough, and of most blocks few documents weigh enough to be in it.
//!
//! # One query, traced
//!
//! `query=de&release=Lost.S01E02.720p.HDTV.x264-LOL&limit=100`, in a segment of 1,000,000
//! documents:
//!
//! 1. The release words weigh 1 (`lost`), 1 (`s01e02`), 2 (`720p`), 4 (`hdtv`), 2 (`x264`) and 8
//!    (the group `lol`), together 18. A document with all of them but the group lacks 8; one with
//!    `pdtv` in place of `hdtv` lacks 1 for it.
//! 2. 620,000 documents match. The page by rank alone has 37 documents of better ranks and 63 of
//!    the last rank, relevance 4 and fit 0. [`Weigher::reordered`] keeps the 37; 63 documents of
//!    the last rank are sought anew, those that lack the least.
//! 3. The titles that give relevance 4 have 300,000 documents. To *collect* is to weigh all of
//!    these. A *visit* of the matches by missing weight should meet 63 of the rank among 130
//!    documents (63·620,000/300,000). It is tried, planned for twice as many, and given up after
//!    300,000.
//! 4. A portion is 1/512 of the segment or more: the 1,953 matches that lack the least. They are
//!    found block by block. Once 1,953 documents that lack 14 or less were met, the *bar* is 14:
//!    only documents that lack less are taken from then on, and they push the bar further down.
//! 5. The portion is ranked, those that lack 0 first, until 63 documents of relevance 4 and fit 0
//!    were met. They follow the 37 on the page. If the portion had fewer, the next one would have
//!    8·1,953 documents, beginning after the last document of this one.

use std::ops::ControlFlow;

use crate::index::{BLOCK, BLOCK_NUMBERS, BlockSums, Cursor, Postings, Summand, for_each_bit};
use crate::limits::MISSING_WEIGHT_MAX;
use crate::plan::{PlanContext, ReleaseSet, ReleaseSets};

use super::doc_set::{DocBlock, DocSet};
use super::top::Ranked;

/// Number of possible missing weights.
const WEIGHTS: usize = MISSING_WEIGHT_MAX as usize + 1;
/// Number of visits for each sought document at first, if nothing is known of its rank.
const VISITS_OF_UNKNOWN: usize = 16;
/// Growth factor of the portions.
const PORTION_GROWTH: usize = 8;

/// The release words of a request over one segment.
pub(super) struct Weigher<'a> {
    context: &'a PlanContext<'a>,
    sets: ReleaseSets<'a>,
}

/// Ranks the matches of a branch one by one, and knows where those of a relevance are.
///
/// The methods are look-ups without side effects. They may be called in any order and any number of
/// times during one search of a segment, and give the same answers throughout.
pub(super) trait RankDocs {
    /// True if the rank of a match depends on its columns: they are read ahead, block by block.
    fn reads_columns(&self) -> bool;

    /// Relevance and fit of a match with this title. A document that is not a match may be passed,
    /// too: its rank must be one that no match has.
    fn rank_titled(&self, doc: u32, title: u32) -> Ranked;

    /// Upper bound or estimate of the documents of all titles that may give this relevance; `None`
    /// if the relevance does not come from such a set. Then the matches are visited, and
    /// [`RankDocs::relevance_docs`] is not called.
    fn relevance_docs_count(&self, relevance: u8) -> Option<u64>;

    /// Appends the documents with this relevance, and maybe others, matches or not, in any order
    /// and maybe more than once.
    ///
    /// Called only for a relevance with a [`RankDocs::relevance_docs_count`].
    fn relevance_docs(&self, relevance: u8, out: &mut Vec<u32>);
}

impl<'a> Weigher<'a> {
    /// A weigher by these words.
    pub(super) fn new(context: &'a PlanContext<'a>, sets: ReleaseSets<'a>) -> Self {
        Self { context, sets }
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

    /// Sum of the weights of the release words that each of the ascending documents has.
    ///
    /// Cost: an intersection with each word's documents; or, for many documents, the sums of their
    /// blocks, and a bit test for each digit of each document.
    fn weights(&self, docs: &[u32]) -> Vec<u8> {
        let docs_count = self.context.view.docs_count();
        if !(self.context.costs).prefers_intersecting(docs.len() as u64, docs_count) {
            let mut sums = self.sums();
            let mut weights = Vec::with_capacity(docs.len());
            for block in docs.chunk_by(is_one_block) {
                sums.read(block[0] / BLOCK_NUMBERS);
                weights.extend(block.iter().map(|&doc| sums.get(doc as u16)));
            }
            return weights;
        }
        let mut weights = vec![0; docs.len()];
        for set in &self.sets.sets {
            let cursor = |docs_of_word: &Postings<'a>| docs_of_word.cursor(docs.len());
            let mut own = cursor(&set.docs);
            let mut relatives: Vec<Cursor<'_>> = set.relatives.iter().map(cursor).collect();
            for (block, weights) in docs.chunks(BLOCK).zip(weights.chunks_mut(BLOCK)) {
                let with_word = own.seek(block);
                for_each_bit(&[with_word], |idx| weights[usize::from(idx)] += set.weight);
                let mut with_relative = 0;
                for relative in &mut relatives {
                    with_relative |= relative.seek(block);
                }
                let weight = set.relative_weight();
                for_each_bit(&[with_relative & !with_word], |idx| {
                    weights[usize::from(idx)] += weight;
                });
            }
        }
        weights
    }

    /// Sums of the release words' weights for the documents of the segment, block by block.
    fn sums(&self) -> BlockSums<'a> {
        let sets = self.sets.sets.iter().map(|set| Summand {
            docs: &set.docs,
            number: set.weight,
            others: &set.relatives,
            others_number: set.relative_weight(),
        });
        BlockSums::new(self.context.view.docs_count(), sets)
    }

    /// The best matches by rank and then by missing weight; `page` is the best by rank and then in
    /// answer order.
    ///
    /// Documents with a better rank than the last one of the page are on the page, whatever they
    /// weigh. Of the documents of the last rank, which may be many more, the best by weight are
    /// sought.
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

    /// The best `sought.count` documents of a set, by missing weight, of those with the sought
    /// rank; `None` if more than `sought.visits_max` would have to be ranked.
    ///
    /// Cost: for each portion the sums of the blocks that have documents.
    pub(super) fn lightest(
        &self,
        docs: &DocSet,
        sought: Sought,
        rank: impl Fn(u32, u32) -> Ranked,
    ) -> Option<Vec<Ranked>> {
        let mut found = Vec::with_capacity(sought.count);
        // A portion that is too short costs the sums once more; one that is too long costs little.
        let size_min = u64::from(self.context.view.docs_count()) / self.context.costs.weighed_share;
        let (mut after, mut size) = (None, sought.visits_expected.max(size_min as usize));
        let mut visits_left = sought.visits_max;
        loop {
            let portion = self.portion(docs, size, after);
            let note = || format!("order by missing weight, from {after:?}");
            self.context.note(None, || portion.len(), note);
            for (missing, docs) in portion.docs() {
                for block in docs.chunks(BLOCK) {
                    if sought.reads_columns {
                        self.context.view.columns().prefetch(block);
                    }
                    let titles = self.context.view.titles_of(block);
                    for (&doc, title) in block.iter().zip(titles) {
                        if found.len() == sought.count {
                            return Some(found);
                        }
                        visits_left = visits_left.checked_sub(1)?;
                        let ranked = rank(doc, title);
                        if ranked.pair() == sought.pair {
                            found.push(ranked.with_missing(missing));
                        }
                    }
                }
            }
            after = portion.last();
            // Before the next portion is made, which is eight times as large.
            if after.is_none() || found.len() == sought.count {
                return Some(found);
            }
            size = size.saturating_mul(PORTION_GROWTH);
        }
    }

    /// The first `size` documents of a set, or some more, by missing weight, then in answer order,
    /// beginning after one of them.
    fn portion(&self, docs: &DocSet, size: usize, after: Option<(u8, u32)>) -> Portion {
        let mut portion = Portion::new(size, after);
        let weight_sum = self.sets.weight_sum;
        let prefers_intersecting = |docs: &[u32]| {
            let docs_count = self.context.view.docs_count();
            (self.context.costs).prefers_intersecting(docs.len() as u64, docs_count)
        };
        let _ = match docs {
            docs if self.sets.sets.is_empty() => docs.try_for_each(|doc| {
                portion.offer(doc, weight_sum);
                portion.flow(weight_sum)
            }),
            DocSet::List(docs) if prefers_intersecting(docs) => {
                for (&doc, weight) in docs.iter().zip(self.weights(docs)) {
                    portion.offer(doc, weight_sum - weight);
                }
                ControlFlow::Continue(())
            }
            docs => self.offer_blocks(docs, &mut portion),
        };
        portion
    }

    fn offer_blocks(&self, docs: &DocSet, portion: &mut Portion) -> ControlFlow<()> {
        let (mut sums, weight_sum) = (self.sums(), self.sets.weight_sum);
        let found_sum: u8 = self.sets.sets.iter().map(ReleaseSet::weight_max).sum();
        let mut words = Vec::new();
        docs.try_for_each_block(|block_idx, block| {
            sums.read(block_idx);
            match block {
                DocBlock::List(docs) => {
                    for &doc in docs {
                        portion.offer(doc, weight_sum - sums.get(doc as u16));
                    }
                }
                DocBlock::Bits(bits) => {
                    words.clear();
                    words.extend_from_slice(bits);
                    if let Some(weight) = weight_sum.checked_sub(portion.bar as u8) {
                        sums.retain_above(weight, &mut words);
                    }
                    for_each_bit(&words, |low| {
                        let doc = block_idx * BLOCK_NUMBERS + u32::from(low);
                        portion.offer(doc, weight_sum - sums.get(low));
                    });
                }
            }
            // No document of a later block lacks less than the sets that there are.
            portion.flow(weight_sum - found_sum)
        })
    }
}

/// Documents that [`Weigher::lightest`] seeks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sought {
    /// Relevance and fit.
    pub(super) pair: (u8, u8),
    /// Number of documents to find: one or more.
    pub(super) count: usize,
    /// Number of documents that probably have to be ranked for it.
    pub(super) visits_expected: usize,
    /// Maximum number of documents that may be ranked for it.
    pub(super) visits_max: u64,
    /// True if the rank of a document depends on its columns.
    pub(super) reads_columns: bool,
}

impl Sought {
    /// Seeks the documents of a rank without an estimate.
    pub(super) fn unknown(relevance: u8, fit: u8, count: usize) -> Self {
        Self {
            pair: (relevance, fit),
            count,
            visits_expected: count.saturating_mul(VISITS_OF_UNKNOWN),
            visits_max: u64::MAX,
            reads_columns: true,
        }
    }
}

/// The first documents by missing weight, then in answer order.
struct Portion {
    size: usize,
    /// Missing weight and number of the last document of the portion before.
    after: Option<(u8, u32)>,
    /// Documents by missing weight, ascending in each.
    by_missing: Vec<Vec<u32>>,
    /// Least missing weight up to which there are `size` documents. Later documents that lack as
    /// much are not in the portion. One more than all weights until then.
    bar: usize,
    /// Count of documents that lack less than `bar`.
    better_count: usize,
}

impl Portion {
    fn new(size: usize, after: Option<(u8, u32)>) -> Self {
        Self {
            size: size.max(1),
            after,
            by_missing: vec![Vec::new(); WEIGHTS],
            bar: WEIGHTS,
            better_count: 0,
        }
    }

    /// Offers a document that is after all others in answer order.
    #[inline]
    fn offer(&mut self, doc: u32, missing: u8) {
        let is_after = self.after.is_none_or(|after| after < (missing, doc));
        if usize::from(missing) >= self.bar || !is_after {
            return;
        }
        self.by_missing[usize::from(missing)].push(doc);
        self.better_count += 1;
        while self.size <= self.better_count {
            self.bar -= 1;
            self.better_count -= self.by_missing[self.bar].len();
        }
    }

    /// Breaks if no later document that lacks as much, or more, is in the portion.
    fn flow(&self, missing: u8) -> ControlFlow<()> {
        if usize::from(missing) < self.bar {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }

    /// The documents, by missing weight.
    fn docs(&self) -> impl Iterator<Item = (u8, &Vec<u32>)> {
        (0..).zip(&self.by_missing).take(self.bar + 1)
    }

    fn len(&self) -> u64 {
        self.docs().map(|(_, docs)| docs.len() as u64).sum()
    }

    /// Missing weight and number of the last document; `None` if the portion is not full, and so no
    /// document comes after it.
    fn last(&self) -> Option<(u8, u32)> {
        let last = self.by_missing.get(self.bar)?.last()?;
        Some((self.bar as u8, *last))
    }
}

fn is_one_block(a: &u32, b: &u32) -> bool {
    a / BLOCK_NUMBERS == b / BLOCK_NUMBERS
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
        let context = self.weigher.context;
        if let DocSet::List(docs) = self.docs
            && (context.costs).prefers_intersecting(docs.len() as u64, context.view.docs_count())
        {
            return self.weigher.best(self.of_rank(docs), count);
        }
        let unknown = Sought {
            reads_columns: self.branch.reads_columns(),
            ..Sought::unknown(self.pair.0, self.pair.1, count)
        };
        let Some(title_docs) = self.branch.relevance_docs_count(self.pair.0) else {
            return self.visited(unknown).unwrap_or_default();
        };
        let visits_worth = self.docs.len().saturating_mul(count as u64);
        let visited = if visits_worth < title_docs.saturating_mul(title_docs) {
            // Twice as many, since the count is an estimate and some weights are more frequent.
            let visits_expected = 2 * visits_worth / title_docs;
            self.visited(Sought {
                visits_expected: (visits_expected as usize).max(count),
                visits_max: title_docs,
                ..unknown
            })
        } else {
            None
        };
        visited.unwrap_or_else(|| self.collected(count))
    }

    /// Ranks ascending documents, and keeps those of the sought rank.
    fn of_rank(&self, docs: &[u32]) -> Vec<Ranked> {
        let mut ranked = Vec::with_capacity(docs.len());
        let view = &self.weigher.context.view;
        for block in docs.chunks(BLOCK) {
            if self.branch.reads_columns() {
                view.columns().prefetch(block);
            }
            let titles = view.titles_of(block);
            let of_block = block.iter().zip(titles);
            ranked.extend(of_block.map(|(&doc, title)| self.branch.rank_titled(doc, title)));
        }
        ranked.retain(|ranked| ranked.pair() == self.pair);
        ranked
    }

    /// The best matches; `None` if too many would be ranked.
    fn visited(&self, sought: Sought) -> Option<Vec<Ranked>> {
        let rank = |doc, title| self.branch.rank_titled(doc, title);
        self.weigher.lightest(self.docs, sought, rank)
    }

    fn collected(&self, count: usize) -> Vec<Ranked> {
        let mut docs = Vec::new();
        self.branch.relevance_docs(self.pair.0, &mut docs);
        docs.retain(|&doc| self.docs.contains(doc));
        docs.sort_unstable();
        docs.dedup();
        self.weigher.best(self.of_rank(&docs), count)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn portions_go_on_where_the_one_before_ended(
            weights in prop::collection::vec(0u8..=MISSING_WEIGHT_MAX, 0..200),
            size in 0usize..30,
        ) {
            let mut expected: Vec<(u8, u32)> = weights.iter().copied().zip(0..).collect();
            expected.sort_unstable();
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let mut portion = Portion::new(size, after);
                for (&missing, doc) in weights.iter().zip(0..) {
                    portion.offer(doc, missing);
                }
                for (missing, docs) in portion.docs() {
                    found.extend(docs.iter().map(|&doc| (missing, doc)));
                }
                after = portion.last();
                if after.is_none() {
                    break;
                }
                prop_assert!(size as u64 <= portion.len());
            }
            prop_assert_eq!(found, expected);
        }
    }
}
