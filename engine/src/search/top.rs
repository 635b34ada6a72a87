//! The best of many ranked documents.

/// A document of one segment with its rank, as a number that sorts in answer order: relevance, fit,
/// missing weight, document (documents are numbered newest first, then by id: SEARCH.md 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked(u64);

impl Ranked {
    /// After every document.
    pub(super) const LAST: Self = Self(u64::MAX);

    /// A ranked document, of missing weight 0.
    #[inline(always)]
    pub(super) fn new(relevance: u8, fit: u8, doc: u32) -> Self {
        Self(u64::from(relevance) << 48 | u64::from(fit) << 40 | u64::from(doc))
    }

    /// A document with a sort key in the place of relevance, fit and missing weight.
    #[inline(always)]
    pub(super) fn keyed(key: u32, doc: u32) -> Self {
        Self(u64::from(key) << 32 | u64::from(doc))
    }

    /// The same document with this missing weight (SEARCH.md 5.7).
    #[inline]
    pub(super) fn with_missing(self, missing: u8) -> Self {
        Self(self.0 & !(0xff << 32) | u64::from(missing) << 32)
    }

    /// Relevance and fit.
    #[inline]
    pub(super) fn pair(self) -> (u8, u8) {
        (self.relevance(), self.fit())
    }

    /// Relevance, fit and missing weight, as a number that sorts like them, or the sort key.
    pub(super) fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Relevance: 0 is best, 9 is worst.
    pub(super) fn relevance(self) -> u8 {
        (self.0 >> 48) as u8
    }

    /// Fit: 0 is best, 7 is worst.
    pub(super) fn fit(self) -> u8 {
        (self.0 >> 40) as u8
    }

    /// Missing weight.
    pub(super) fn missing(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// The document.
    pub(super) fn doc(self) -> u32 {
        self.0 as u32
    }
}

/// The best `size_max` of the documents that are offered, in any order.
///
/// Cost: a comparison for a document that is not among them. Memory: up to twice the page.
#[derive(Debug, Clone)]
pub(super) struct Top {
    size_max: usize,
    kept: Vec<Ranked>,
    /// Documents that do not precede this one are not among the best.
    bar: Ranked,
}

impl Top {
    /// A page before its first document; only documents that precede `cutoff` are kept.
    pub(super) fn new(size_max: usize, cutoff: Ranked) -> Self {
        Self {
            size_max: size_max.max(1),
            kept: Vec::new(),
            bar: cutoff,
        }
    }

    /// Offers a document.
    #[inline]
    pub(super) fn offer(&mut self, ranked: Ranked) {
        if ranked < self.bar {
            // Many segments offer no document to a page that newer ones have filled.
            if self.kept.capacity() == 0 {
                self.kept.reserve_exact(2 * self.size_max);
            }
            self.kept.push(ranked);
            if self.kept.len() == 2 * self.size_max {
                self.shrink();
            }
        }
    }

    /// False if a document of this rank is certainly not among the best.
    #[inline]
    pub(super) fn admits(&self, ranked: Ranked) -> bool {
        ranked < self.bar
    }

    fn shrink(&mut self) {
        // A selection, not a sort, once for each page of better documents: linear over all offers.
        let (_, last, _) = self.kept.select_nth_unstable(self.size_max - 1);
        self.bar = *last;
        self.kept.truncate(self.size_max);
    }

    /// Count of kept documents: a page or more, if a page was offered.
    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The best, in order.
    pub(super) fn into_sorted(mut self) -> Vec<Ranked> {
        self.kept.sort_unstable();
        self.kept.truncate(self.size_max);
        self.kept
    }
}

/// Best documents of several branches. A document of more than one counts once, by its smallest
/// pair of relevance and fit. The best of all are among the best of each, so pages are enough.
pub(super) fn best_of_branches(branches: &[Vec<Ranked>], size_max: usize) -> Vec<Ranked> {
    // By document, best rank first: the first of each document is the one that counts.
    let mut all = branches.concat();
    all.sort_unstable_by_key(|ranked| (ranked.doc(), *ranked));
    all.dedup_by_key(|ranked| ranked.doc());
    all.sort_unstable();
    all.truncate(size_max);
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn keeps_the_best(
            offered in prop::collection::vec((0u8..3, 0u8..2, 0u32..50), 0..200),
            size_max in 1usize..20,
            cutoff in prop_oneof![
                Just(Ranked::LAST),
                (0u8..3, 0u8..3).prop_map(|(relevance, fit)| Ranked::new(relevance, fit, 0)),
            ],
        ) {
            let mut ranked: Vec<Ranked> = offered
                .into_iter()
                .map(|(relevance, fit, doc)| Ranked::new(relevance, fit, doc))
                .collect();
            let mut top = Top::new(size_max, cutoff);
            ranked.iter().for_each(|&ranked| top.offer(ranked));
            ranked.retain(|ranked| *ranked < cutoff);
            ranked.sort_unstable();
            ranked.truncate(size_max);
            prop_assert_eq!(top.into_sorted(), ranked);
        }
    }

    #[test]
    fn a_document_of_two_branches_counts_once() {
        let first = vec![Ranked::new(2, 0, 7), Ranked::new(4, 0, 1)];
        let second = vec![Ranked::new(1, 1, 1), Ranked::new(9, 0, 7)];
        let best = best_of_branches(&[first, second], 5);
        assert_eq!(best, [Ranked::new(1, 1, 1), Ranked::new(2, 0, 7)]);
    }
}
