//! The `title` branch over one segment (SEARCH.md 4.3).

use crate::error::Result;
use crate::index::{FactTest, View};
use crate::query::Reading;

use super::word_plan::FitRule;

/// Characters from which on a text is found anywhere, also inside words.
const INNER_CHARS_MIN: usize = 3;
/// A relevance that no title has.
const NONE: u8 = u8::MAX;

/// A title that contains the text, or the text without its marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TitleWay {
    /// The title.
    pub(crate) title: u32,
    /// Relevance 2 to 5 by the whole text.
    pub(crate) whole: u8,
    /// Relevance 2 to 5 by the text without its marker, for documents that fit it.
    pub(crate) unmarked: u8,
}

/// Titles by which documents match.
pub(crate) struct TitlePlan<'a> {
    /// The titles, each once.
    pub(crate) ways: Vec<TitleWay>,
    /// What a document must pass to match without the marker.
    pub(crate) fits: Option<FactTest>,
    /// What gives fit 1.
    pub(crate) fit: FitRule<'a>,
}

impl<'a> TitlePlan<'a> {
    /// The plan. Cost: linear in the occurrences of the texts in distinct titles.
    pub(crate) fn new(view: &View<'a>, reading: &Reading<'_>) -> Result<Self> {
        let mut classes = Classes::new(view);
        let texts = reading.strings();
        classes.mark(view, &texts[0], |way| &mut way.whole)?;
        let mut fits = None;
        if let Some(marker) = reading.markers().episode {
            fits = view.facts.fit_test(marker.season, marker.episode);
            if fits.is_some() {
                classes.mark(view, &texts[1], |way| &mut way.unmarked)?;
            }
        }
        Ok(Self {
            ways: classes.ways,
            fits,
            fit: FitRule::new(view, reading)?,
        })
    }
}

/// The ways so far, and where the way of each title stands.
struct Classes {
    ways: Vec<TitleWay>,
    places: Vec<u32>,
}

impl Classes {
    fn new(view: &View<'_>) -> Self {
        Self {
            ways: Vec::new(),
            places: vec![u32::MAX; view.titles_count() as usize],
        }
    }

    fn way(&mut self, title: u32) -> &mut TitleWay {
        let place = &mut self.places[title as usize];
        if *place == u32::MAX {
            *place = self.ways.len() as u32;
            self.ways.push(TitleWay {
                title,
                whole: NONE,
                unmarked: NONE,
            });
        }
        &mut self.ways[*place as usize]
    }

    fn mark(
        &mut self,
        view: &View<'_>,
        text: &str,
        field: impl Fn(&mut TitleWay) -> &mut u8,
    ) -> Result<()> {
        let mut mark = |title: u32, relevance: u8| {
            let field = field(self.way(title));
            *field = relevance.min(*field);
        };
        if text.chars().count() < INNER_CHARS_MIN {
            return mark_word_beginnings(view, text, mark);
        }
        view.occurrences(text.as_bytes(), |title, before, behind| {
            let relevance = match (before, behind) {
                (b'\n', b'\n') => 2,
                (b'\n', b' ') => 3,
                (b' ', b'\n' | b' ') => 4,
                _ => 5,
            };
            mark(title, relevance);
        })
    }
}

/// A text of one or two characters is one word: the titles are those of the terms it begins.
fn mark_word_beginnings(view: &View<'_>, text: &str, mut mark: impl FnMut(u32, u8)) -> Result<()> {
    let whole_rank = view
        .term(text)
        .filter(|term| term.is_title)
        .map(|term| term.rank);
    for rank in view.prefix_ranks(text) {
        let is_whole = Some(rank) == whole_rank;
        view.term_titles(rank)?.for_each_while(|title| {
            let rest = view.title(title).strip_prefix(text.as_bytes());
            let relevance = match rest {
                Some([]) => 2,
                Some([b' ', ..]) => 3,
                _ if is_whole => 4,
                _ => 5,
            };
            mark(title, relevance);
            true
        });
    }
    Ok(())
}
