//! A `query` that is read as the name of a release, over one segment (SEARCH.md 4.8, 4.9).
//!
//! Example: `query=The.Matrix.1999.1080p.BluRay.x264-GRP.srt`. The name is "the matrix": of the
//! 28,000 titles with "the" and the 40 with "matrix", 35 have both, and their 600 documents are the
//! first clause. The year is the second: documents of 1999 or of no year. Nothing else is required.

use crate::error::Result;
use crate::index::{ColumnValue, Postings, SegmentView};
use crate::model::{Number, VideoType, Year};
use crate::query::{LookupKinds, ParsedText, ReleaseName};

use super::clause::Clause;
use super::cost::PlanContext;
use super::filter::Filter;
use super::fit_rule::{FitRule, TITLE_FIT};
use super::marker_clauses::{episode_clause, titles_with, years_test};
use super::subject::Subject;
use super::title_set::TitleSet;

/// Clauses of the name of a release, and the titles that fit best.
pub(crate) struct ReleasePlan<'a> {
    /// A clause for the name, and one each for the episode marker and the years.
    pub(crate) clauses: Vec<Clause<'a>>,
    /// Titles that are the first words of the value.
    pub(crate) first_titles: Vec<u32>,
    /// Clauses of the matches with the right year.
    pub(crate) exact_years: Vec<Clause<'a>>,
    /// Clause of the matches with the right episode.
    pub(crate) exact_episode: Option<Clause<'a>>,
    fit: FitRule<'a>,
}

impl<'a> ReleasePlan<'a> {
    /// Plans the branch; `year` is the `year` filter. `None` when nothing of these kinds can match.
    pub(crate) fn new(
        context: &'a PlanContext<'a>,
        text: &ParsedText<'_>,
        name: &ReleaseName<'_>,
        year: Option<Year>,
        kinds: LookupKinds,
    ) -> Result<Option<Self>> {
        let view = &context.view;
        let mut clauses = Vec::with_capacity(4);
        clauses.extend(name_clause(context, name.name())?);
        if clauses.is_empty() {
            return Ok(None);
        }
        clauses.extend(episode_clause(view, text)?);
        clauses.extend(years_clause(context, name.years())?);
        clauses.extend(kinds_clause(view, kinds)?);
        if clauses.iter().any(|clause| clause.size_max() == 0) {
            return Ok(None);
        }
        Ok(Some(Self {
            clauses,
            first_titles: first_titles(view, text.words()),
            exact_years: exact_year_clauses(context, text, year)?,
            exact_episode: exact_episode_clause(context, text)?,
            fit: FitRule::new(view, text)?,
        }))
    }

    /// Fit of a document that matches and has this title (SEARCH.md 5.3).
    #[inline]
    pub(crate) fn fit(&self, doc: u32, title: u32, filter: &Filter<'_>) -> u8 {
        let is_first = self.first_titles.contains(&title);
        let fit = self.fit.fit(doc, filter);
        if is_first { fit } else { fit + TITLE_FIT }
    }
}

/// Documents that have all words of the name in their title; `None` when no title has them.
fn name_clause<'a>(context: &PlanContext<'a>, name: &[&str]) -> Result<Option<Clause<'a>>> {
    let view = &context.view;
    let mut words = name.to_vec();
    words.sort_unstable();
    words.dedup();
    let mut sets = Vec::with_capacity(words.len());
    for word in words {
        sets.push(titles_with(view, word)?);
    }
    sets.sort_unstable_by_key(Postings::count);
    let (first, others) = sets.split_first().expect("a name has a word");
    if first.count() == 0 {
        return Ok(None);
    }
    let clause = Clause::of_sets(Subject::ReleaseName, Vec::new());
    if others.is_empty() {
        // Left encoded: "the" has a third of all titles, and the other clauses leave few documents.
        return Ok(Some(
            clause.or_stored_titles(*first, context.costs.title_docs_estimate),
        ));
    }
    let mut titles = Vec::new();
    first.decode(&mut titles);
    others.iter().for_each(|set| set.retain(&mut titles));
    if titles.is_empty() {
        return Ok(None);
    }
    Ok(Some(clause.or_titles(TitleSet::of_sorted(context, titles))))
}

/// Documents of one of the years, of none, or with one of the years in the title.
fn years_clause<'a>(context: &PlanContext<'a>, years: &[Year]) -> Result<Option<Clause<'a>>> {
    if years.is_empty() {
        return Ok(None);
    }
    let view = &context.view;
    let (mut sets, mut titles) = (Vec::new(), Vec::new());
    for &year in years {
        sets.push(view.value_docs(ColumnValue::Year(Some(year)))?);
        titles.push(titles_with(view, &year.get().to_string())?);
    }
    sets.push(view.yearless_docs()?);
    let clause = Clause::of_sets(Subject::ReleaseYears, sets);
    if let ([year], [titles]) = (years, &titles[..]) {
        let clause = match years_test(&view.columns(), *year) {
            Some(test) => clause.tested_by(test),
            None => clause,
        };
        return Ok(Some(
            clause.or_stored_titles(*titles, context.costs.title_docs_estimate),
        ));
    }
    let titles = TitleSet::union(context, titles.into_iter().map(Ok))?;
    Ok(Some(clause.or_titles(titles)))
}

/// Documents of some kinds; `None` if all kinds pass.
fn kinds_clause<'a>(view: &SegmentView<'a>, kinds: LookupKinds) -> Result<Option<Clause<'a>>> {
    let season = match kinds {
        LookupKinds::Any => return Ok(None),
        LookupKinds::Films => None,
        LookupKinds::FilmsAndPacks(season) => u16::try_from(season).ok(),
    };
    let films = ColumnValue::VideoType(VideoType::Movie);
    let mut sets = vec![view.value_docs(films)?];
    if let Some(season) = season {
        sets.push(view.value_docs(ColumnValue::SeasonEpisode(season, 0))?);
    }
    Ok(Some(Clause::of_sets(Subject::Kinds, sets)))
}

/// Clauses that a match satisfies exactly if its fit has no 1 (SEARCH.md 5.3).
fn exact_year_clauses<'a>(
    context: &PlanContext<'a>,
    text: &ParsedText<'_>,
    year: Option<Year>,
) -> Result<Vec<Clause<'a>>> {
    let view = &context.view;
    let mut clauses = Vec::new();
    if let Some(year) = year {
        let sets = vec![view.value_docs(ColumnValue::Year(Some(year)))?];
        clauses.push(Clause::of_sets(Subject::ReleaseYears, sets));
    }
    if let (Some(marker), Some(word)) = (text.markers().year, text.year_word()) {
        let sets = vec![view.value_docs(ColumnValue::Year(Some(marker.year)))?];
        let clause = Clause::of_sets(Subject::YearMarker, sets);
        let titles = if text.has_year_word_twice() {
            Postings::EMPTY
        } else {
            titles_with(view, word)?
        };
        clauses.push(clause.or_stored_titles(titles, context.costs.title_docs_estimate));
    }
    Ok(clauses)
}

/// Clause that a match satisfies exactly if its fit has no 2 (SEARCH.md 5.3).
fn exact_episode_clause<'a>(
    context: &PlanContext<'a>,
    text: &ParsedText<'_>,
) -> Result<Option<Clause<'a>>> {
    let view = &context.view;
    let (Some(marker), Some(word)) = (text.markers().episode, text.episode_word()) else {
        return Ok(None);
    };
    let episode = marker.episode.map_or(0, Number::get);
    let value = ColumnValue::SeasonEpisode(marker.season.get(), episode);
    let clause = Clause::of_sets(Subject::EpisodeMarker, vec![view.value_docs(value)?]);
    let docs_estimate = context.costs.title_docs_estimate;
    Ok(Some(
        clause.or_stored_titles(titles_with(view, word)?, docs_estimate),
    ))
}

/// Titles that are the first words of a value: up to one for each number of words.
fn first_titles(view: &SegmentView<'_>, words: &[&str]) -> Vec<u32> {
    let mut titles = Vec::new();
    let mut text = String::new();
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(word);
        let at = view.titles_before(text.as_bytes());
        // Titles that begin with the text would begin here: if there is none, no longer text has
        // one either.
        if at == view.titles_count() || !view.title(at).starts_with(text.as_bytes()) {
            break;
        }
        if view.title(at) == text.as_bytes() {
            titles.push(at);
        }
    }
    titles
}
