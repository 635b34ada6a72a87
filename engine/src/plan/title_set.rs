//! A set of folded titles, standing for the documents that bear them.

use crate::index::{Bits, Postings, View};

/// Titles up to which a set is searched instead of having a bit for every title.
const LIST_MAX: usize = 16;

/// Folded titles of one segment.
#[derive(Debug, Clone)]
pub(crate) struct TitleSet {
    titles: Vec<u32>,
    bits: Option<Bits>,
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
        bits.for_each_while(|title| {
            titles.push(title);
            true
        });
        let docs_count = docs_count(view, &titles);
        Ok(Self {
            titles,
            bits: Some(bits),
            docs_count,
        })
    }

    /// A set of ascending titles.
    pub(crate) fn of_sorted(view: &View<'_>, titles: Vec<u32>) -> Self {
        let docs_count = docs_count(view, &titles);
        Self::of_counted(view, titles, docs_count)
    }

    /// A set of ascending titles that so many documents bear.
    pub(crate) fn of_counted(view: &View<'_>, titles: Vec<u32>, docs_count: u64) -> Self {
        let bits = (titles.len() > LIST_MAX).then(|| {
            let mut bits = Bits::new(view.titles_count());
            titles.iter().for_each(|&title| bits.insert(title));
            bits
        });
        Self {
            titles,
            bits,
            docs_count,
        }
    }

    /// The titles, ascending.
    pub(crate) fn titles(&self) -> &[u32] {
        &self.titles
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.titles.is_empty()
    }

    /// How many documents bear one of them.
    pub(crate) fn docs_count(&self) -> u64 {
        self.docs_count
    }

    /// Whether a title is in the set.
    #[inline]
    pub(crate) fn contains(&self, title: u32) -> bool {
        match &self.bits {
            Some(bits) => bits.contains(title),
            None => self.titles.contains(&title),
        }
    }
}

fn docs_count(view: &View<'_>, titles: &[u32]) -> u64 {
    let counts = titles.iter().map(|&title| view.title_docs_count(title));
    counts.map(u64::from).sum()
}
