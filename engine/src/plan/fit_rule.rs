//! Fit of a match of `title` or `query` (SEARCH.md 5.3).

use crate::error::Result;
use crate::index::{Lookup, SegmentView};
use crate::model::Number;
use crate::query::ParsedText;
use crate::text::{EpisodeMarker, YearMarker};

use super::filter::Filter;
use super::marker_clauses::titles_with;

/// Part of the fit for a year other than that of the request or the text.
pub(crate) const YEAR_FIT: u8 = 1;
/// Part of the fit for an episode other than exactly that of the text.
pub(crate) const EPISODE_FIT: u8 = 2;
/// Part of the fit for a title other than that of a name.
pub(crate) const TITLE_FIT: u8 = 4;

/// Rule that gives a match fit 0 to 3.
///
/// Example: `query=lost s01e02`. A record of season 1, episode 2 has fit 0. The pack of season 1
/// matches, too, but has fit 2 unless its title has the word "s01e02".
pub(crate) struct FitRule<'a> {
    view: &'a SegmentView<'a>,
    /// The episode marker, and the titles that have its word.
    episode: Option<(EpisodeMarker, Lookup<'a>)>,
    /// The year marker, and the titles that have its word.
    year: Option<(YearMarker, Lookup<'a>)>,
    /// True if the word of the year marker is in the text twice: a title then has one of them.
    is_year_twice: bool,
}

impl<'a> FitRule<'a> {
    /// Rule for the markers of a text.
    pub(crate) fn new(view: &'a SegmentView<'a>, text: &ParsedText<'_>) -> Result<Self> {
        let titles = |word| Ok(titles_with(view, word)?.lookup());
        let markers = text.markers();
        let episode_titles = text.episode_word().map(titles).transpose()?;
        let year_titles = text.year_word().map(titles).transpose()?;
        Ok(Self {
            view,
            episode: markers.episode.zip(episode_titles),
            year: markers.year.zip(year_titles),
            is_year_twice: text.has_year_word_twice(),
        })
    }

    /// True if there is no marker: then only an unknown year counts.
    pub(crate) fn is_trivial(&self) -> bool {
        self.episode.is_none() && self.year.is_none()
    }

    /// True if the fit of a document depends on its columns.
    pub(crate) fn reads_columns(&self, filter: &Filter<'_>) -> bool {
        !self.is_trivial() || filter.has_year()
    }

    /// Fit of a document that matches.
    #[inline]
    pub(crate) fn fit(&self, doc: u32, filter: &Filter<'_>) -> u8 {
        let is_year_unknown = filter.matches_unknown_year(doc);
        // Most texts have no marker: then no column is read.
        if self.is_trivial() {
            return YEAR_FIT * u8::from(is_year_unknown);
        }
        let year_fit = YEAR_FIT * u8::from(is_year_unknown || self.misses_year(doc));
        year_fit + EPISODE_FIT * u8::from(self.misses_episode(doc))
    }

    /// True if an episode is named and the document is not exactly that one.
    #[inline]
    pub(crate) fn misses_episode(&self, doc: u32) -> bool {
        let Some((marker, titles)) = &self.episode else {
            return false;
        };
        let row = self.view.columns().get(doc);
        // For a season the pack, which has no episode, is exact.
        let episode = marker.episode.map_or(0, Number::get);
        let is_exact = row.season == marker.season.get() && row.episode == episode;
        !is_exact && !titles.contains(self.view.title_of(doc))
    }

    /// True if a year is named and the document has another one.
    #[inline]
    pub(crate) fn misses_year(&self, doc: u32) -> bool {
        let Some((marker, titles)) = &self.year else {
            return false;
        };
        let year = self.view.columns().get(doc).year;
        // Most documents are of the year: then no title is looked up.
        let is_excused = || !self.is_year_twice && titles.contains(self.view.title_of(doc));
        year != marker.year.get() && !is_excused()
    }
}
