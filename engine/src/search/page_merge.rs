//! The page of all segments, merged from the best of each (SEARCH.md 5).
//!
//! Each segment gives up to a page, in order. Document numbers cannot be compared across segments,
//! so documents of equal rank are ordered by their times and ids, which are in the stored
//! documents: several cache misses each. So few are read:
//!
//! - Segments that overlap in time are a group; all documents of a group are newer than those of
//!   the next one. Hits of one rank are taken group by group, and from a group that is one segment
//!   without reading any: after an import of records that are newer than the catalog, say.
//! - In a group of several segments all hits that precede the best of the other segments are taken
//!   at once, as far as galloping finds them: a segment of old documents that a re-import moved
//!   gives one hit here and there, between long runs of the others.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::ops::Range;

use crate::error::Result;
use crate::index::{Segment, try_gallop};
use crate::model::RecordId;

use super::hits::Hit;
use super::top::Ranked;

/// The rest of the best documents of one segment.
pub(super) struct PageRun<'a> {
    part_idx: usize,
    segment: &'a Segment,
    rest: &'a [Ranked],
    /// Position of its first document, once it was read.
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
            part_idx,
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

    /// Count of the documents, up to `limit`, that precede the first of another run; the first
    /// does.
    fn count_before(&self, other: &Self, limit: usize) -> Result<usize> {
        let to = limit.min(self.rest.len());
        try_gallop(1, to, |idx| self.precedes(idx, other))
    }

    /// Count of the documents, up to `limit`, that have the rank of the first.
    fn count_of_rank(&self, rank: u32, limit: usize) -> usize {
        let first = self.rest.iter().take(limit);
        first.take_while(|ranked| ranked.rank() == rank).count()
    }

    fn hit(&self, idx: usize) -> Hit {
        Hit::new(self.part_idx, self.rest[idx])
    }

    fn advance(&mut self, count: usize) {
        self.rest = &self.rest[count..];
        self.head = OnceCell::new();
    }
}

/// The first `page_size` documents of all runs, which are given in the order of their newest
/// documents.
///
/// Cost: a comparison of each run with each rank, and for segments that do not overlap in time no
/// document is read. In a group, each change from one run to another costs a comparison with each
/// run, and reads of documents logarithmic in the hits between two changes. Errors: a damaged
/// block.
pub(super) fn merge_pages(mut runs: Vec<PageRun<'_>>, page_size: usize) -> Result<Vec<Hit>> {
    runs.retain(|run| !run.rest.is_empty());
    if let [only] = &runs[..] {
        let hits_count = only.rest.len().min(page_size);
        return Ok((0..hits_count).map(|idx| only.hit(idx)).collect());
    }
    let groups = groups(&runs)?;
    let hits_count: usize = runs.iter().map(|run| run.rest.len()).sum();
    let mut hits = Vec::with_capacity(hits_count.min(page_size));
    while let Some(rank) = runs.iter().filter_map(PageRun::rank).min()
        && hits.len() < page_size
    {
        for group in &groups {
            take_rank(&mut runs[group.clone()], rank, page_size, &mut hits)?;
        }
    }
    Ok(hits)
}

/// Groups of runs with segments that overlap in time, as ranges of `runs`. All documents of a group
/// are newer than those of the next one.
fn groups(runs: &[PageRun<'_>]) -> Result<Vec<Range<usize>>> {
    let mut groups: Vec<Range<usize>> = Vec::with_capacity(runs.len());
    // The segment with the oldest document, up to now.
    let mut oldest: Option<&Segment> = None;
    for (idx, run) in runs.iter().enumerate() {
        let overlaps = match oldest {
            Some(oldest) => !oldest.is_newer_than(run.segment)?,
            None => false,
        };
        match groups.last_mut().filter(|_| overlaps) {
            Some(group) => group.end = idx + 1,
            None => groups.push(idx..idx + 1),
        }
        let is_older = match oldest {
            Some(oldest) => run.segment.ends_before(oldest)?,
            None => true,
        };
        if is_older {
            oldest = Some(run.segment);
        }
    }
    Ok(groups)
}

/// Takes the documents of a rank from the runs of a group, until the page is full.
fn take_rank(
    runs: &mut [PageRun<'_>],
    rank: u32,
    page_size: usize,
    hits: &mut Vec<Hit>,
) -> Result<()> {
    while hits.len() < page_size
        && let Some(first_idx) = first_of(runs, rank, None)?
    {
        let room = page_size - hits.len();
        let first = &runs[first_idx];
        let count = match first_of(runs, rank, Some(first_idx))? {
            Some(second_idx) => first.count_before(&runs[second_idx], room)?,
            None => first.count_of_rank(rank, room),
        };
        hits.extend((0..count).map(|idx| first.hit(idx)));
        runs[first_idx].advance(count);
    }
    Ok(())
}

/// Index of the run that begins with the first document of this rank, of all runs that begin with
/// one; the run `but` is left out.
fn first_of(runs: &[PageRun<'_>], rank: u32, but: Option<usize>) -> Result<Option<usize>> {
    let mut first: Option<usize> = None;
    for (idx, run) in runs.iter().enumerate() {
        if Some(idx) == but || run.rank() != Some(rank) {
            continue;
        }
        first = match first {
            Some(best) if !run.precedes(0, &runs[best])? => Some(best),
            _ => Some(idx),
        };
    }
    Ok(first)
}
