//! Occurrences of a text in titles, as a range of suffixes.

use std::ops::Range;

use crate::error::Result;

use super::bisect::{gallop, partition};
use super::repeats::Repeats;
use super::section::Section;
use super::segment::SegmentView;
use super::suffix::{Suffixes, TitlePosition};

/// Neighbour of an occurrence on one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The title begins or ends there.
    Title,
    /// A word begins or ends there.
    Word,
    /// The word continues.
    Inside,
}

/// Positions in titles at which a text occurs.
pub(crate) struct Occurrences<'a> {
    suffixes: Suffixes<'a>,
    /// `None` if no text is repeated in many titles.
    repeats: Option<Repeats<'a>>,
    /// Starts of those that end a title, of those that end a word, of the others; and the end.
    bounds: [usize; 4],
}

impl<'a> SegmentView<'a> {
    /// Positions in titles at which `text` occurs.
    ///
    /// Suffixes are sorted by the text that follows, so the occurrences of a text are one range. In
    /// that range those at the end of a title come first, then those at the end of a word.
    /// Cost: a binary search among all suffixes.
    pub(crate) fn occurrences(&self, text: &[u8]) -> Result<Occurrences<'a>> {
        let sections = self.segment().sections();
        let suffixes = Suffixes::read(sections.whole(Section::Suffixes)?)
            .ok_or_else(|| sections.corrupt(Section::Suffixes, 0, "positions in titles"))?;
        let repeats = match sections.whole(Section::Repeats)? {
            [] => None,
            bytes => Some(
                Repeats::read(bytes, suffixes.len())
                    .ok_or_else(|| sections.corrupt(Section::Repeats, 0, "a number a block"))?,
            ),
        };
        let rest = |at: usize| {
            let TitlePosition { title, offset, .. } = suffixes.get(at);
            self.text_from(title, offset)
        };
        let after = |at: usize| rest(at)[text.len()];
        let from = partition(0, suffixes.len(), |at| rest(at) < text);
        let to = gallop(from, suffixes.len(), |at| rest(at).starts_with(text));
        // A line feed ends a title and sorts before a space, which sorts before all letters.
        // Occurrences are few among all suffixes: galloping finds the ends in their neighbourhood.
        let ends_title = gallop(from, to, |at| after(at) == b'\n');
        let ends_word = gallop(ends_title, to, |at| after(at) == b' ');
        Ok(Occurrences {
            suffixes,
            repeats,
            bounds: [from, ends_title, ends_word, to],
        })
    }
}

impl Occurrences<'_> {
    /// Calls `each` with the title of every position, and its neighbours before and after, but for
    /// positions of a title that do no more than repeat earlier ones of it.
    /// Cost: a read of neighbouring numbers each.
    #[inline]
    pub(crate) fn for_each(&self, mut each: impl FnMut(u32, Side, Side)) {
        let [first, second, third, end] = self.bounds;
        // The range determines the neighbour after; only the one before is read for each position.
        let sides = [Side::Title, Side::Word, Side::Inside];
        for (range, after) in [first..second, second..third, third..end]
            .into_iter()
            .zip(sides)
        {
            let visit = |part: Range<usize>| {
                for idx in part {
                    let position = self.suffixes.get(idx);
                    let before = match position.offset {
                        0 => Side::Title,
                        _ if position.begins_word => Side::Word,
                        _ => Side::Inside,
                    };
                    each(position.title, before, after);
                }
            };
            match self.repeats {
                None => [range].into_iter().for_each(visit),
                Some(repeats) => repeats.new_parts(range, first).for_each(visit),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::{Segment, SegmentBuilder};
    use super::*;
    use crate::model::{Record, RecordId};

    fn segment_of(titles: &[String]) -> Segment {
        let mut builder = SegmentBuilder::new();
        for (number, title) in titles.iter().enumerate() {
            let id = RecordId::from_bytes((number as u128).to_be_bytes());
            builder.add(&Record::new(id, title)).unwrap();
        }
        let mut bytes = Vec::new();
        builder.finish(&mut bytes).unwrap();
        Segment::open(bytes.into(), "test").unwrap()
    }

    /// Rank of the sides of an occurrence as SEARCH.md 5.1 has it: smaller is better.
    fn rank(before: Side, after: Side) -> u8 {
        match (before, after) {
            (Side::Title, Side::Title) => 2,
            (Side::Title, Side::Word) => 3,
            (Side::Word, Side::Title | Side::Word) => 4,
            _ => 5,
        }
    }

    /// Best rank of each title that contains a text, and the count of positions visited for them.
    fn find(segment: &Segment, text: &str) -> (BTreeMap<String, u8>, usize) {
        let view = segment.view().unwrap();
        let (mut best, mut visited_count) = (BTreeMap::new(), 0);
        let occurrences = view.occurrences(text.as_bytes()).unwrap();
        occurrences.for_each(|title, before, after| {
            visited_count += 1;
            let title = String::from_utf8(view.title(title).to_vec()).unwrap();
            let known = best.entry(title).or_insert(u8::MAX);
            *known = rank(before, after).min(*known);
        });
        (best, visited_count)
    }

    /// The same by comparing each title, without an index.
    fn find_plainly(titles: &[String], text: &str) -> BTreeMap<String, u8> {
        let side = |neighbour: Option<u8>| match neighbour {
            None => Side::Title,
            Some(b' ') => Side::Word,
            Some(_) => Side::Inside,
        };
        let mut best = BTreeMap::new();
        for title in titles {
            let bytes = title.as_bytes();
            let ranks = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(text.as_bytes()));
            let ranks = ranks.map(|at| {
                let before = side(at.checked_sub(1).map(|before| bytes[before]));
                rank(before, side(bytes.get(at + text.len()).copied()))
            });
            if let Some(least) = ranks.min() {
                best.insert(title.clone(), least);
            }
        }
        best
    }

    /// 500 titles of 480 and more characters: 60,000 occurrences of "aba", and 500 matter.
    #[test]
    fn a_text_that_titles_repeat_costs_a_few_positions_of_each_title() {
        let titles: Vec<String> = (0..500)
            .map(|number| format!("{}{number}", "aba ".repeat(120)))
            .collect();
        let segment = segment_of(&titles);
        for text in ["aba", "aba aba", "ba a"] {
            let (best, visited_count) = find(&segment, text);
            assert_eq!(best, find_plainly(&titles, text), "{text}");
            assert!(visited_count <= 4 * titles.len(), "{text}: {visited_count}");
        }
        // A title that brings its words along, so that its occurrences are neighbours.
        let titles: Vec<String> = (0..500)
            .map(|number| format!("aba{number:03} ").repeat(70).trim_end().to_owned())
            .collect();
        let (best, visited_count) = find(&segment_of(&titles), "aba");
        assert_eq!(best, find_plainly(&titles, "aba"));
        assert!(
            visited_count <= 3 * 16 * titles.len(),
            "{visited_count} of {}",
            70 * titles.len()
        );
    }

    #[test]
    fn titles_that_do_not_repeat_themselves_cost_no_bytes() {
        let titles: Vec<String> = (0..500)
            .map(|number| format!("the man from {number} the"))
            .collect();
        let bytes_of = |titles: &[String]| {
            let segment = segment_of(titles);
            let mut sections = segment.sections_bytes();
            sections.find(|(name, _)| name == "Repeats").unwrap().1
        };
        assert_eq!(bytes_of(&titles), 0);
        assert_ne!(bytes_of(&["the the the".to_owned()]), 0);
    }

    proptest! {
        #[test]
        fn passes_over_nothing_that_a_plain_search_finds(
            titles in prop::collection::vec("[abж]{1,3}( [abж]{1,4}){0,20}", 1..40),
            text in "[abж]([abж]| [abж])[abж]{1,3}",
        ) {
            let (best, _) = find(&segment_of(&titles), &text);
            prop_assert_eq!(best, find_plainly(&titles, &text));
        }
    }
}
