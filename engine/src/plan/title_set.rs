//! A set of folded titles, standing for the documents that bear them.

use std::cell::OnceCell;
use std::ops::Range;

use crate::index::{Bits, Postings, View};

/// Titles up to which a set is searched instead of having a bit for every title.
const LIST_MAX: usize = 16;

/// Folded titles of one segment.
#[derive(Debug, Clone)]
pub(crate) struct TitleSet {
    titles: Vec<u32>,
    /// A bit for every title of the segment, when they were asked for.
    bits: OnceCell<Bits>,
    /// How many titles the segment has.
    titles_count: u32,
    docs_count: u64,
}

impl TitleSet {
    /// The union of sets of titles.
    ///
    /// Cost: linear in their sizes, and a bit for every title of the segment.
    pub(crate) fn union<'a>(
        view: &View<'a>,
        sets: impl Iterator<Item = crate::Result<Postings<'a>>>,
    ) -> crate::Result<Self> {
        let sets = sets.collect::<crate::Result<Vec<_>>>()?;
        let mut titles = Vec::new();
        if let [set] = sets[..] {
            set.decode(&mut titles);
            return Ok(Self::of_sorted(view, titles));
        }
        let count: u64 = sets.iter().map(|set| u64::from(set.count())).sum();
        if count <= LIST_MAX as u64 {
            sets.iter().for_each(|set| set.decode(&mut titles));
            titles.sort_unstable();
            titles.dedup();
            return Ok(Self::of_sorted(view, titles));
        }
        let mut bits = Bits::new(view.titles_count());
        sets.iter().for_each(|set| set.set_bits(&mut bits));
        bits.decode(&mut titles);
        Ok(Self {
            bits: OnceCell::from(bits),
            ..Self::of_sorted(view, titles)
        })
    }

    /// A set of ascending titles.
    pub(crate) fn of_sorted(view: &View<'_>, titles: Vec<u32>) -> Self {
        let counts = runs(&titles).map(|run| view.titles_docs_count(run));
        let docs_count = counts.sum();
        Self::of_counted(view, titles, docs_count)
    }

    /// A set of ascending titles that so many documents bear.
    pub(crate) fn of_counted(view: &View<'_>, titles: Vec<u32>, docs_count: u64) -> Self {
        Self {
            titles,
            bits: OnceCell::new(),
            titles_count: view.titles_count(),
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

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.titles.is_empty()
    }

    /// How many documents bear one of them.
    pub(crate) fn docs_count(&self) -> u64 {
        self.docs_count
    }

    /// Whether a title is in the set. Cost: a bit test; the first time a bit for every title of
    /// the segment.
    #[inline]
    pub(crate) fn contains(&self, title: u32) -> bool {
        if self.titles.len() <= LIST_MAX {
            return self.titles.contains(&title);
        }
        let bits = self.bits.get_or_init(|| {
            let mut bits = Bits::new(self.titles_count);
            self.titles.iter().for_each(|&title| bits.insert(title));
            bits
        });
        bits.contains(title)
    }
}

fn runs(titles: &[u32]) -> impl Iterator<Item = Range<u32>> {
    let runs = titles.chunk_by(|a, b| a + 1 == *b);
    runs.map(|run| run[0]..run[0] + run.len() as u32)
}
