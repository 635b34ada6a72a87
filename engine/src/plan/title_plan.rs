//! The `title` branch over one segment (SEARCH.md 4.3).

use crate::error::Result;
use crate::index::{FactTest, View};
use crate::query::Reading;

use super::word_plan::FitRule;

/// Characters from which on a text is found anywhere, also inside words.
const INNER_CHARS_MIN: usize = 3;
/// Marks up to which they are sorted; more are gathered in a byte for every title. (Tests have
/// small segments, and take both ways.)
const SORTED_MAX: usize = if cfg!(test) { 4 } else { 512 };

/// A title that contains the text, or the text without its marker. A relevance of 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct TitleWay {
    /// The title.
    pub(crate) title: u32,
    /// Relevance 2 to 5 by the whole text.
    pub(crate) whole: u8,
    /// Relevance 2 to 5 by the text without its marker, for documents that fit it.
    pub(crate) unmarked: u8,
}

impl TitleWay {
    /// The best relevance of a document with this title.
    #[inline]
    pub(crate) fn relevance(&self, fits: bool) -> Option<u8> {
        match (self.whole, if fits { self.unmarked } else { 0 }) {
            (0, 0) => None,
            (relevance, 0) | (0, relevance) => Some(relevance),
            (whole, unmarked) => Some(whole.min(unmarked)),
        }
    }
}

/// Titles by which documents match.
pub(crate) struct TitlePlan<'a> {
    /// The titles, ascending.
    pub(crate) ways: Vec<TitleWay>,
    /// What a document must pass to match without the marker.
    pub(crate) fits: Option<FactTest>,
    /// What gives fit 1.
    pub(crate) fit: FitRule<'a>,
}

impl<'a> TitlePlan<'a> {
    /// The plan. Cost: linear in the occurrences of the texts in distinct titles.
    pub(crate) fn new(view: &View<'a>, reading: &Reading<'_>) -> Result<Self> {
        let texts = reading.strings();
        let mut ways: Vec<TitleWay> = marked_titles(view, &texts[0])?
            .into_iter()
            .map(|(title, whole)| TitleWay {
                title,
                whole,
                unmarked: 0,
            })
            .collect();
        let marker = reading.markers().episode;
        let fits = marker.and_then(|marker| view.facts.fit_test(marker.season, marker.episode));
        if fits.is_some() {
            for (title, unmarked) in marked_titles(view, &texts[1])? {
                ways.push(TitleWay {
                    title,
                    whole: 0,
                    unmarked,
                });
            }
            unite(&mut ways);
        }
        Ok(Self {
            ways,
            fits,
            fit: FitRule::new(view, reading)?,
        })
    }
}

/// Makes one way of the two that a title may have.
fn unite(ways: &mut Vec<TitleWay>) {
    ways.sort_unstable_by_key(|way| way.title);
    ways.dedup_by(|next, kept| {
        let is_same = next.title == kept.title;
        if is_same {
            kept.whole |= next.whole;
            kept.unmarked |= next.unmarked;
        }
        is_same
    });
}

/// The titles that contain a text, ascending, each with its best relevance, 2 to 5.
fn marked_titles(view: &View<'_>, text: &str) -> Result<Vec<(u32, u8)>> {
    let mut marks = Vec::new();
    if text.chars().count() < INNER_CHARS_MIN {
        mark_word_beginnings(view, text, &mut marks)?;
    } else {
        view.occurrences(text.as_bytes(), |title, before, behind| {
            let relevance = match (before, behind) {
                (b'\n', b'\n') => 2,
                (b'\n', b' ') => 3,
                (b' ', b'\n' | b' ') => 4,
                _ => 5,
            };
            marks.push((title, relevance));
        })?;
    }
    if marks.len() <= SORTED_MAX {
        marks.sort_unstable();
        marks.dedup_by_key(|(title, _)| *title);
        return Ok(marks);
    }
    let mut table = vec![0u8; view.titles_count() as usize];
    for (title, relevance) in marks.drain(..) {
        let best = &mut table[title as usize];
        if *best == 0 || relevance < *best {
            *best = relevance;
        }
    }
    marks.extend(
        table
            .iter()
            .zip(0..)
            .filter(|(best, _)| **best > 0)
            .map(|(b, t)| (t, *b)),
    );
    Ok(marks)
}

/// A text of one or two characters is one word: the titles are those of the terms it begins.
fn mark_word_beginnings(view: &View<'_>, text: &str, marks: &mut Vec<(u32, u8)>) -> Result<()> {
    let whole = view.term(text).filter(|term| term.is_title);
    for rank in view.prefix_ranks(text) {
        let is_whole = whole.is_some_and(|term| term.rank == rank);
        view.term_titles(rank)?.for_each_while(|title| {
            let relevance = match view.title(title).strip_prefix(text.as_bytes()) {
                Some([]) => 2,
                Some([b' ', ..]) => 3,
                _ if is_whole => 4,
                _ => 5,
            };
            marks.push((title, relevance));
            true
        });
    }
    Ok(())
}
