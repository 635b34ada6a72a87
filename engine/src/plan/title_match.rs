//! Relevance that a title gives to its documents, and collection of the matching titles.

use super::cost::PlanContext;

/// Best relevance (2 to 5) of a title by the whole text, and by the text without its marker.
///
/// Shape: 6 less the relevance by the whole text in the lower half, by the text without its marker
/// in the upper half; 0 means that the title does not contain it. So the greater half is the better
/// match, and two matches of one title are merged by the maximum of each half.
///
/// Example: `title=lost s01`. The title "lost s01 extras" begins with the whole text: relevance 3,
/// lower half 3. It also begins with "lost": upper half 3, for documents of season 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TitleMatch(u8);

impl TitleMatch {
    const WHOLE: u8 = 0x0f;
    /// One more than the greatest value: both halves are up to 4.
    pub(super) const COUNT: usize = 0x44 + 1;

    /// Match by the whole text, of relevance 2 to 5.
    pub(super) fn by_whole(relevance: u8) -> Self {
        Self(6 - relevance)
    }

    /// Match by the text without its marker, of relevance 2 to 5.
    pub(super) fn by_unmarked(relevance: u8) -> Self {
        Self((6 - relevance) << 4)
    }

    /// All values, in the order of [`TitleMatch::idx`].
    pub(super) fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self).take(Self::COUNT)
    }

    /// Index among all values.
    pub(super) fn idx(self) -> usize {
        usize::from(self.0)
    }

    /// True if the title contains the whole text.
    pub(crate) fn is_whole(self) -> bool {
        self.0 & Self::WHOLE != 0
    }

    /// True if the title contains the text without its marker.
    pub(crate) fn is_unmarked(self) -> bool {
        self.0 & !Self::WHOLE != 0
    }

    /// The better of both in each half.
    #[inline]
    fn or(self, other: Self) -> Self {
        let whole = (self.0 & Self::WHOLE).max(other.0 & Self::WHOLE);
        let unmarked = (self.0 & !Self::WHOLE).max(other.0 & !Self::WHOLE);
        Self(whole | unmarked)
    }

    /// True if a document with this title may have this relevance.
    #[inline]
    pub(crate) fn may_give(self, relevance: u8) -> bool {
        self.0 & Self::WHOLE == 6 - relevance || self.0 >> 4 == 6 - relevance
    }

    /// Best relevance of a document with this title; the text without its marker counts for
    /// documents that fit the marker only.
    #[inline]
    pub(crate) fn relevance(self, fits_marker: bool) -> Option<u8> {
        let unmarked = if fits_marker { self.0 >> 4 } else { 0 };
        match unmarked.max(self.0 & Self::WHOLE) {
            0 => None,
            best => Some(6 - best),
        }
    }
}

/// Matches during their collection: few as a list, many as a byte for every title.
pub(super) struct TitleMatchBuilder {
    /// Titles in any order, possibly several times.
    list: Vec<(u32, TitleMatch)>,
    list_max: usize,
    /// Match of every title of the segment; empty until the list is full.
    table: Vec<TitleMatch>,
    segment_titles: usize,
}

/// Finished matches.
pub(super) struct TitleMatches {
    /// Matching titles, ascending.
    pub(super) list: Vec<(u32, TitleMatch)>,
    /// The match of every title of the segment, when there are many matches; else empty.
    pub(super) table: Vec<TitleMatch>,
}

impl TitleMatchBuilder {
    /// A builder before its first match.
    pub(super) fn new(context: &PlanContext<'_>) -> Self {
        Self {
            list: Vec::new(),
            list_max: context.costs.title_list_max,
            table: Vec::new(),
            segment_titles: context.view.titles_count() as usize,
        }
    }

    /// Adds a match of a title, which may have other matches.
    #[inline]
    pub(super) fn add(&mut self, title: u32, title_match: TitleMatch) {
        if let Some(known) = self.table.get_mut(title as usize) {
            *known = known.or(title_match);
            return;
        }
        self.list.push((title, title_match));
        if self.list.len() > self.list_max {
            self.spill();
        }
    }

    /// Moves the list into a table: a text such as "a" occurs in most titles, several times in
    /// each, and sorting its occurrences would cost more than a byte for every title.
    fn spill(&mut self) {
        self.table = vec![TitleMatch::default(); self.segment_titles];
        for (title, title_match) in self.list.drain(..) {
            let known = &mut self.table[title as usize];
            *known = known.or(title_match);
        }
    }

    /// The matches, one for each title.
    pub(super) fn finish(mut self) -> TitleMatches {
        if self.table.is_empty() {
            self.list.sort_unstable_by_key(|(title, _)| *title);
            self.list.dedup_by(|next, kept| {
                let is_same = next.0 == kept.0;
                if is_same {
                    kept.1 = kept.1.or(next.1);
                }
                is_same
            });
        } else {
            self.list_table();
        }
        TitleMatches {
            list: self.list,
            table: self.table,
        }
    }

    fn list_table(&mut self) {
        // Most titles do not match: eight of them are compared by one instruction, and the matching
        // ones are found by counting zeros. A loop over each byte took half the time of a prefix
        // search.
        let (words, rest) = self.table.as_chunks::<{ size_of::<u64>() }>();
        for (word_idx, matches) in words.iter().enumerate() {
            let mut word = u64::from_le_bytes(matches.map(|title_match| title_match.0));
            while word != 0 {
                let idx = word.trailing_zeros() as usize / 8;
                let title = word_idx * matches.len() + idx;
                self.list.push((title as u32, matches[idx]));
                word &= !(0xff << (8 * idx));
            }
        }
        let first_of_rest = self.table.len() - rest.len();
        for (title, title_match) in (first_of_rest..).zip(rest) {
            if *title_match != TitleMatch::default() {
                self.list.push((title as u32, *title_match));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_half_gives_the_relevance() {
        let both = TitleMatch::by_whole(5).or(TitleMatch::by_unmarked(2));
        assert_eq!(both.relevance(false), Some(5));
        assert_eq!(both.relevance(true), Some(2));
        assert_eq!(TitleMatch::by_unmarked(2).relevance(false), None);
        assert!(both.may_give(5));
        assert!(both.may_give(2));
        assert!(!both.may_give(3));
    }
}
