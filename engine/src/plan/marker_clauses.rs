//! Clauses of the markers of a text (SEARCH.md 2): the documents that an episode or a year fits.

use crate::error::Result;
use crate::index::{Column, ColumnValue, Columns, Postings, RowTest, SegmentView, Term};
use crate::model::Year;
use crate::query::ParsedText;
use crate::text::EpisodeMarker;

use super::clause::Clause;
use super::cost::PlanContext;
use super::subject::Subject;

/// Documents that satisfy the episode marker of a text, if it has one (SEARCH.md 4.5).
pub(crate) fn episode_clause<'a>(
    view: &SegmentView<'a>,
    text: &ParsedText<'_>,
) -> Result<Option<Clause<'a>>> {
    let (Some(marker), Some(word)) = (text.markers().episode, text.episode_word()) else {
        return Ok(None);
    };
    // A release name in the description may have the word although the columns are empty.
    let with_word = term_docs(view, view.term(word))?;
    Ok(Some(episode_fits(view, marker)?.or_set(with_word)))
}

/// Documents that fit an episode marker (SEARCH.md 2.4).
pub(super) fn episode_fits<'a>(
    view: &SegmentView<'a>,
    marker: EpisodeMarker,
) -> Result<Clause<'a>> {
    let season = marker.season.get();
    let sets = match marker.episode {
        Some(episode) => vec![
            view.value_docs(ColumnValue::SeasonEpisode(season, episode.get()))?,
            // Season packs contain every episode.
            view.value_docs(ColumnValue::SeasonEpisode(season, 0))?,
        ],
        None => view.season_docs(season)?,
    };
    let clause = Clause::of_sets(Subject::EpisodeMarker, sets);
    Ok(match episode_test(&view.columns(), marker) {
        Some(test) => clause.tested_by(test),
        None => clause,
    })
}

/// Test of the documents that fit an episode marker; `None` when no document of the segment can.
pub(super) fn episode_test(columns: &Columns<'_>, marker: EpisodeMarker) -> Option<RowTest> {
    let test = columns.with_equal(RowTest::default(), Column::Season, marker.season.get())?;
    match marker.episode {
        Some(episode) => columns.with_equal_or_none(test, Column::Episode, episode.get()),
        None => Some(test),
    }
}

/// Documents that satisfy the year marker of a text, if it has one (SEARCH.md 4.5).
pub(crate) fn year_clause<'a>(
    context: &PlanContext<'a>,
    text: &ParsedText<'_>,
) -> Result<Option<Clause<'a>>> {
    let view = &context.view;
    let (Some(marker), Some(word)) = (text.markers().year, text.year_word()) else {
        return Ok(None);
    };
    let sets = vec![
        view.value_docs(ColumnValue::Year(Some(marker.year)))?,
        view.yearless_docs()?,
    ];
    let mut clause = Clause::of_sets(Subject::YearMarker, sets);
    if let Some(test) = years_test(&view.columns(), marker.year) {
        clause = clause.tested_by(test);
    }
    // "blade runner 2049" of 2017: the year may be a word of the title.
    let titles = titles_with(view, word)?;
    Ok(Some(clause.or_stored_titles(
        titles,
        context.costs.title_docs_estimate,
    )))
}

/// Test of the documents of a year or of none; `None` when no document of the segment can pass.
pub(super) fn years_test(columns: &Columns<'_>, year: Year) -> Option<RowTest> {
    columns.with_equal_or_none(RowTest::default(), Column::Year, year.get())
}

/// Documents with a term; none without a term.
pub(super) fn term_docs<'a>(view: &SegmentView<'a>, term: Option<Term>) -> Result<Postings<'a>> {
    match term {
        Some(term) => view.term_docs(term.rank),
        None => Ok(Postings::EMPTY),
    }
}

/// Titles with a word.
pub(super) fn titles_with<'a>(view: &SegmentView<'a>, word: &str) -> Result<Postings<'a>> {
    match view.term(word).filter(|term| term.is_title) {
        Some(term) => view.term_titles(term.rank),
        None => Ok(Postings::EMPTY),
    }
}
