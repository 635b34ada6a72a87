//! A set of folded titles, which stands for their documents.
//!
//! Titles repeat: a series has one title and hundreds of documents. A clause such as "words that
//! begin with `bre`" is therefore kept as titles, which are few, and a document satisfies it if its
//! title is among them.

use std::cell::OnceCell;
use std::ops::Range;

use crate::error::Result;
use crate::index::{Bits, Postings, SegmentView};

use super::cost::PlanContext;

/// Folded titles of one segment.
#[derive(Debug, Clone)]
pub(crate) struct TitleSet {
    titles: Vec<u32>,
    /// A bit for every title of the segment. Made at the first look-up: a plan that starts from
    /// this set never looks a title up.
    bits: OnceCell<Bits>,
    /// True if the set is so small that a linear search is faster than bits.
    is_small: bool,
    /// Count of titles in the segment.
    segment_titles: u32,
    docs_count: u64,
}

impl TitleSet {
    /// The union of sets of titles.
    ///
    /// Cost: linear in their sizes, and a bit for every title of the segment.
    pub(crate) fn union<'a>(
        context: &PlanContext<'a>,
        sets: impl Iterator<Item = Result<Postings<'a>>>,
    ) -> Result<Self> {
        let sets = sets.collect::<Result<Vec<_>>>()?;
        let mut titles = Vec::new();
        if let [set] = sets[..] {
            set.decode(&mut titles);
            return Ok(Self::of_sorted(context, titles));
        }
        let count: u64 = sets.iter().map(|set| u64::from(set.count())).sum();
        if count <= context.costs.title_set_list_max as u64 {
            sets.iter().for_each(|set| set.decode(&mut titles));
            titles.sort_unstable();
            titles.dedup();
            return Ok(Self::of_sorted(context, titles));
        }
        // Bits give a sorted union without a sort, and they are kept for look-ups.
        let mut bits = Bits::new(context.view.titles_count());
        sets.iter().for_each(|set| set.union_into(&mut bits));
        bits.decode(&mut titles);
        Ok(Self {
            bits: OnceCell::from(bits),
            ..Self::of_sorted(context, titles)
        })
    }

    /// A set of ascending titles. Cost: two reads for each run of neighbouring titles.
    pub(crate) fn of_sorted(context: &PlanContext<'_>, titles: Vec<u32>) -> Self {
        let docs_count = docs_count(&context.view, &titles);
        Self::of_counted(context, titles, docs_count)
    }

    /// A set of ascending titles with a known number of documents.
    pub(crate) fn of_counted(context: &PlanContext<'_>, titles: Vec<u32>, docs_count: u64) -> Self {
        Self {
            is_small: titles.len() <= context.costs.title_set_list_max,
            titles,
            bits: OnceCell::new(),
            segment_titles: context.view.titles_count(),
            docs_count,
        }
    }

    /// The titles, ascending.
    pub(crate) fn titles(&self) -> &[u32] {
        &self.titles
    }

    /// The titles, ascending, as ranges of neighbours.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range<u32>> {
        runs(&self.titles)
    }

    /// True if the set has no title.
    pub(crate) fn is_empty(&self) -> bool {
        self.titles.is_empty()
    }

    /// Count of documents that have one of the titles.
    pub(crate) fn docs_count(&self) -> u64 {
        self.docs_count
    }

    /// True if the set has the title. Cost: a bit test; the first time also a bit for every title
    /// of the segment.
    #[inline]
    pub(crate) fn contains(&self, title: u32) -> bool {
        if self.is_small {
            return self.titles.contains(&title);
        }
        self.bits().contains(title)
    }

    /// Returns a bit for each of up to 64 titles, set if the set has it. No branch depends on a
    /// title.
    #[inline]
    pub(crate) fn matching(&self, titles: &[u32]) -> u64 {
        let mut matching = 0;
        if self.is_small {
            for (idx, title) in titles.iter().enumerate() {
                matching |= u64::from(self.titles.contains(title)) << idx;
            }
            return matching;
        }
        let bits = self.bits();
        for (idx, &title) in titles.iter().enumerate() {
            matching |= u64::from(bits.contains(title)) << idx;
        }
        matching
    }

    fn bits(&self) -> &Bits {
        self.bits.get_or_init(|| {
            let mut bits = Bits::new(self.segment_titles);
            self.titles.iter().for_each(|&title| bits.insert(title));
            bits
        })
    }
}

fn docs_count(view: &SegmentView<'_>, titles: &[u32]) -> u64 {
    runs(titles).map(|run| view.titles_docs_count(run)).sum()
}

fn runs(titles: &[u32]) -> impl Iterator<Item = Range<u32>> {
    let runs = titles.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| run[0]..run[0] + run.len() as u32)
}
