//! Request and result of one branch over one segment.

use super::doc_set::DocSet;
use super::top::Ranked;
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
    /// Hits that do not precede this one are counted only. [`Ranked::LAST`] with a weigher.
    pub(super) cutoff: Ranked,
}

/// Matches of one branch.
pub(super) struct BranchResult {
    /// Number of documents that match.
    pub(super) total: u64,
    /// The best of them, in order: a page, or all that precede the cutoff if they are fewer.
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
