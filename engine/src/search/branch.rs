//! Request and result of one branch over one segment.

use crate::query::HitOrder;

use super::cutoff::Needed;
use super::doc_set::DocSet;
use super::top::{Ranked, Top};
use super::weigher::Weigher;

/// Part of the matches that a branch must deliver.
#[derive(Clone, Copy)]
pub(super) struct PageRequest<'w> {
    /// Hits of a page.
    pub(super) size: usize,
    /// True if all matching documents are needed: another branch matches too, and documents of both
    /// count once; or they are weighed.
    pub(super) needs_docs: bool,
    /// Weighs matches by the `release` of the request, if it has one.
    pub(super) weigher: Option<&'w Weigher<'w>>,
    /// Hits that are needed; the others are only counted. [`Needed::ALL`] with a weigher.
    pub(super) needed: Needed<'w>,
    /// Order of the hits.
    pub(super) order: HitOrder,
}

impl PageRequest<'_> {
    /// Number of hits of this relevance, or a worse one, that the page still lacks, if the segment
    /// has given `found_count` better ones.
    pub(super) fn missing_count(&self, relevance: u8, found_count: usize) -> usize {
        let better_count = self.needed.preceding_count(relevance) + found_count;
        self.size.saturating_sub(better_count)
    }

    /// The best of some documents, each once, in order.
    pub(super) fn best(&self, ranked: Vec<Ranked>) -> Vec<Ranked> {
        if let Some(weigher) = self.weigher {
            return weigher.best(ranked, self.size);
        }
        let mut top = Top::new(self.size, self.needed.cutoff);
        ranked.into_iter().for_each(|ranked| top.offer(ranked));
        top.into_sorted()
    }
}

/// Matches of one branch.
pub(super) struct BranchResult {
    /// Count of documents that match.
    pub(super) total: u64,
    /// The best matches, in order: a page, or all that are needed if they are fewer.
    pub(super) best: Vec<Ranked>,
    /// All matching documents; may be `None` if they were not needed.
    pub(super) docs: Option<DocSet>,
}

impl BranchResult {
    /// Result of a branch without matches.
    pub(super) fn empty() -> Self {
        Self {
            total: 0,
            best: Vec::new(),
            docs: Some(DocSet::empty()),
        }
    }
}
