//! The page of all segments, merged from the best of each (SEARCH.md 5).
//!
//! Each segment gives at most a page, in order. Document numbers mean nothing across segments, so
//! documents of equal rank are ordered by their times and ids, which stand in the stored documents:
//! several cache misses each. So few are read:
//!
//! - If each segment is newer than all of the next one, none is: after imports, say, whose records
//!   are newer than the catalog. Hits of one rank are taken segment by segment.
//! - If all documents of one segment are newer than all of another, none of these two.
//! - Otherwise all that precede the best of the other segments are taken at once, as far as
//!   galloping finds them: a segment of old documents that a re-import moved gives one hit here and
//!   there, between long runs of the others.

use std::cell::OnceCell;
use std::cmp::Ordering;

use crate::error::Result;
use crate::index::{Segment, try_gallop};
use crate::model::RecordId;

use super::hits::Hit;
use super::top::Ranked;

/// The rest of the best documents of one segment.
pub(super) struct PageRun<'a> {
    part_idx: u32,
    segment: &'a Segment,
    rest: &'a [Ranked],
    /// Position of its first document, once it was asked for.
    head: OnceCell<AnswerPosition<'a>>,
}

/// Position among documents of equal rank: newest first, then by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct AnswerPosition<'a> {
    /// `YYYY-MM-DDTHH:MM:SSZ`.
    time: Option<&'a [u8]>,
    id: Option<RecordId>,
}

impl AnswerPosition<'_> {
    fn precedes(&self, other: &Self) -> bool {
        let by_time = other.time.cmp(&self.time);
        by_time.then_with(|| self.id.cmp(&other.id)) == Ordering::Less
    }
}

impl<'a> PageRun<'a> {
    /// The best documents of a segment, in order.
    pub(super) fn new(part_idx: usize, segment: &'a Segment, best: &'a [Ranked]) -> Self {
        Self {
            part_idx: part_idx as u32,
            segment,
            rest: best,
            head: OnceCell::new(),
        }
    }

    /// Rank of its first document.
    fn rank(&self) -> Option<u32> {
        self.rest.first().map(|ranked| ranked.rank())
    }

    fn position(&self, idx: usize) -> Result<AnswerPosition<'a>> {
        let stored = self.segment.doc(self.rest[idx].doc())?;
        Ok(AnswerPosition {
            time: stored.time(),
            id: stored.id(),
        })
    }

    fn head(&self) -> Result<AnswerPosition<'a>> {
        if let Some(head) = self.head.get() {
            return Ok(*head);
        }
        let head = self.position(0)?;
        Ok(*self.head.get_or_init(|| head))
    }

    /// True if a document of this run precedes the first of another.
    fn precedes(&self, idx: usize, other: &Self) -> Result<bool> {
        let own = self.rest[idx].rank().cmp(&other.rest[0].rank());
        if own.is_ne() {
            return Ok(own.is_lt());
        }
        if self.segment.is_newer_than(other.segment)? {
            return Ok(true);
        }
        if other.segment.is_newer_than(self.segment)? {
            return Ok(false);
        }
        let position = if idx == 0 {
            self.head()?
        } else {
            self.position(idx)?
        };
        Ok(position.precedes(&other.head()?))
    }

    /// Number of documents, at most `limit`, that precede the first of another run; the first does.
    fn count_before(&self, other: &Self, limit: usize) -> Result<usize> {
        let to = limit.min(self.rest.len());
        try_gallop(1, to, |idx| self.precedes(idx, other))
    }

    fn hit(&self, idx: usize) -> Hit {
        let ranked = self.rest[idx];
        Hit {
            part_idx: self.part_idx,
            doc: ranked.doc(),
            relevance: ranked.relevance(),
            fit: ranked.fit(),
            missing: ranked.missing(),
        }
    }

    fn advance(&mut self, count: usize) {
        self.rest = &self.rest[count..];
        self.head = OnceCell::new();
    }
}

/// The first `page_size` documents of all runs, which come in the order of their newest documents.
///
/// Cost: for segments that do not overlap in time a comparison of each run with each rank, and no
/// document is read. Otherwise for each change from one run to another a comparison with each run,
/// and documents as the logarithm of the hits between two changes. Errors: a damaged block.
pub(super) fn merge_pages(mut runs: Vec<PageRun<'_>>, page_size: usize) -> Result<Vec<Hit>> {
    let mut hits = Vec::with_capacity(page_size);
    runs.retain(|run| !run.rest.is_empty());
    if are_apart(&runs)? {
        take_by_rank(&mut runs, page_size, &mut hits);
        return Ok(hits);
    }
    while hits.len() < page_size
        && let Some(first_idx) = first_of(&runs, None)?
    {
        let room = page_size - hits.len();
        let first = &runs[first_idx];
        let count = match first_of(&runs, Some(first_idx))? {
            Some(second_idx) => first.count_before(&runs[second_idx], room)?,
            None => first.rest.len().min(room),
        };
        hits.extend((0..count).map(|idx| first.hit(idx)));
        runs[first_idx].advance(count);
        if runs[first_idx].rest.is_empty() {
            runs.swap_remove(first_idx);
        }
    }
    Ok(hits)
}

/// True if all documents of each run are newer than those of the next one.
fn are_apart(runs: &[PageRun<'_>]) -> Result<bool> {
    for pair in runs.windows(2) {
        if !pair[0].segment.is_newer_than(pair[1].segment)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Takes documents rank by rank, and those of one rank run by run.
fn take_by_rank(runs: &mut [PageRun<'_>], page_size: usize, hits: &mut Vec<Hit>) {
    while let Some(rank) = runs.iter().filter_map(PageRun::rank).min() {
        for run in &mut *runs {
            while run.rank() == Some(rank) {
                if hits.len() == page_size {
                    return;
                }
                hits.push(run.hit(0));
                run.rest = &run.rest[1..];
            }
        }
    }
}

/// Index of the run whose first document precedes those of the others, but for the run `but`.
fn first_of(runs: &[PageRun<'_>], but: Option<usize>) -> Result<Option<usize>> {
    let mut first: Option<usize> = None;
    for idx in (0..runs.len()).filter(|&idx| Some(idx) != but) {
        first = match first {
            Some(best) if !runs[idx].precedes(0, &runs[best])? => Some(best),
            _ => Some(idx),
        };
    }
    Ok(first)
}
