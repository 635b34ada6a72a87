//! The rank that a hit needs to reach the page, given the hits of other segments.
//!
//! Segments are searched one after the other, the newest first. Once the earlier ones have given a
//! page of hits up to some rank, a later segment need not find others: its hits of a worse rank
//! come after that page, and so do those of the same rank if they are older. They are only counted.
//!
//! Example: `query=que`, a page of 100. A delta of the last 4,000 records gives 100 hits of
//! relevance 6. All older segments are searched only for titles with "que", which give relevance 2
//! to 4; their other hits, tens of thousands, are never ranked. Had the delta given 90, the next
//! segment would stop at the tenth of its own.

use crate::error::Result;
use crate::index::Segment;

use super::top::Ranked;

/// Greatest relevance and fit, and one more: see SEARCH.md 5.1 and 5.3.
const RELEVANCES: usize = 10;
const FITS: usize = 8;

/// Ranks of the hits of the segments searched up to now.
pub(super) struct PageRanks<'s> {
    page_size: usize,
    /// Counts of hits by relevance, then fit. Hits that cannot be on the page may be left out.
    counts: [usize; RELEVANCES * FITS],
    hits_count: usize,
    /// The segment with the oldest document, of the segments with hits.
    oldest: Option<&'s Segment>,
}

impl<'s> PageRanks<'s> {
    /// Ranks for a page before its first hit.
    pub(super) fn new(page_size: usize) -> Self {
        Self {
            page_size,
            counts: [0; RELEVANCES * FITS],
            hits_count: 0,
            oldest: None,
        }
    }

    /// Adds the best hits of a segment, in order.
    pub(super) fn add(&mut self, segment: &'s Segment, best: &[Ranked]) -> Result<()> {
        if best.is_empty() {
            return Ok(());
        }
        self.hits_count += best.len();
        for hits in best.chunk_by(|a, b| a.pair() == b.pair()) {
            let (relevance, fit) = hits[0].pair();
            self.counts[usize::from(relevance) * FITS + usize::from(fit)] += hits.len();
        }
        let is_older = match self.oldest {
            Some(oldest) => segment.ends_before(oldest)?,
            None => true,
        };
        if is_older {
            self.oldest = Some(segment);
        }
        Ok(())
    }

    /// The hits of a segment that the page needs.
    ///
    /// Hits must have no missing weight: one of an older segment may lack less of a release.
    pub(super) fn needed(&self, segment: &Segment) -> Result<Needed<'_>> {
        let Some(oldest) = self.oldest else {
            return Ok(Needed::ALL);
        };
        let are_newer = oldest.is_newer_than(segment)?;
        Ok(Needed {
            cutoff: self.cutoff(are_newer),
            ranks: Some(self),
            are_newer,
        })
    }

    fn cutoff(&self, are_newer: bool) -> Ranked {
        if self.hits_count < self.page_size {
            return Ranked::LAST;
        }
        let mut hits_count = 0;
        for (idx, count) in self.counts.iter().enumerate() {
            hits_count += count;
            if self.page_size <= hits_count {
                let (relevance, fit) = ((idx / FITS) as u8, (idx % FITS) as u8);
                return Ranked::new(relevance, fit + u8::from(!are_newer), 0);
            }
        }
        Ranked::LAST
    }
}

/// The hits of a segment that the page needs, given those of earlier segments.
#[derive(Clone, Copy)]
pub(super) struct Needed<'r> {
    /// Hits of the segment that do not precede this one cannot be on the page.
    pub(super) cutoff: Ranked,
    ranks: Option<&'r PageRanks<'r>>,
    /// True if all those hits precede the segment's hits of equal rank.
    are_newer: bool,
}

impl Needed<'_> {
    /// All hits that a page can hold.
    pub(super) const ALL: Self = Self {
        cutoff: Ranked::LAST,
        ranks: None,
        are_newer: false,
    };

    /// Count of hits of other segments that precede all hits of this relevance of the segment.
    pub(super) fn preceding_count(&self, relevance: u8) -> usize {
        let Some(ranks) = self.ranks else {
            return 0;
        };
        let ranks_count = usize::from(relevance) * FITS + usize::from(self.are_newer);
        ranks.counts[..ranks_count].iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use crate::index::SegmentBuilder;
    use crate::model::{Record, RecordId, Timestamp};

    use super::*;

    /// A segment of a record for each of these seconds.
    fn segment(seconds: &[i64]) -> Segment {
        let mut builder = SegmentBuilder::new();
        for (idx, &seconds) in seconds.iter().enumerate() {
            let record = Record {
                posted_at: Timestamp::from_seconds(seconds).unwrap(),
                ..Record::new(RecordId::from_bytes([idx as u8; 16]), "lost")
            };
            builder.add(&record).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        Segment::open(bytes.into(), "test").unwrap()
    }

    #[test]
    fn a_full_page_of_newer_segments_leaves_better_ranks_only() {
        let [newest, newer, older] = [[9, 8], [7, 6], [5, 4]].map(|seconds| segment(&seconds));
        let mut ranks = PageRanks::new(3);
        assert_eq!(ranks.needed(&newest).unwrap().cutoff, Ranked::LAST);
        let best = [Ranked::new(2, 0, 0), Ranked::new(6, 1, 1)];
        ranks.add(&newest, &best).unwrap();
        assert_eq!(ranks.needed(&newer).unwrap().cutoff, Ranked::LAST);
        ranks.add(&newer, &[Ranked::new(4, 1, 0)]).unwrap();
        // Three hits: those of rank 6, 1 are the last of a page.
        let needed = ranks.needed(&older).unwrap();
        let preceding = [1, 2, 4, 6, 7].map(|relevance| needed.preceding_count(relevance));
        assert_eq!(preceding, [0, 1, 1, 2, 3]);
        let cutoff = needed.cutoff;
        assert!(Ranked::new(6, 0, 0) < cutoff);
        assert!(Ranked::new(6, 1, 0) >= cutoff);
        ranks.add(&older, &[Ranked::new(2, 1, 0)]).unwrap();
        let cutoff = ranks.needed(&older).unwrap().cutoff;
        assert!(Ranked::new(4, 0, u32::MAX) < cutoff);
    }

    #[test]
    fn segments_of_overlapping_times_are_asked_for_equal_ranks_too() {
        let overlapping = segment(&[7, 3]);
        for seconds in [[6, 2], [3, 1], [3, 3]] {
            let mut ranks = PageRanks::new(1);
            ranks.add(&overlapping, &[Ranked::new(6, 3, 0)]).unwrap();
            ranks.add(&overlapping, &[Ranked::new(7, 0, 0)]).unwrap();
            let segment = segment(&seconds);
            let needed = ranks.needed(&segment).unwrap();
            let preceding = [6, 7, 8].map(|relevance| needed.preceding_count(relevance));
            assert_eq!(preceding, [0, 1, 2]);
            let cutoff = needed.cutoff;
            assert!(Ranked::new(6, 3, u32::MAX) < cutoff);
            assert!(Ranked::new(7, 0, 0) >= cutoff);
        }
    }
}
