//! One look-up of a value that is read as a name, over one segment (SEARCH.md 4.13 to 4.16).
//!
//! Example: `query=Los Serrano [Cap.307]`. The title with the key "losserrano" has 300 documents;
//! two of them are episode 7 of season 3. Look-ups by words begin with the smallest set instead.

use crate::codec::fragment_fields;
use crate::error::Result;
use crate::index::{ColumnRow, ColumnValue, Lookup, Postings, SegmentView};
use crate::model::Year;
use crate::name::{NameDate, tells_date};
use crate::query::{LookupEpisode, LookupTitleFit, LookupYear, NameLookup};

use super::clause::Clause;
use super::cost::PlanContext;
use super::filter::Filter;
use super::fit_rule::{EPISODE_FIT, TITLE_FIT, YEAR_FIT};
use super::marker_clauses::{term_docs, titles_with};
use super::subject::Subject;

/// A look-up over a segment.
pub(crate) struct NamePlan<'a, 'n> {
    context: &'a PlanContext<'a>,
    lookup: &'n NameLookup,
    /// Documents with the word of the year that is required.
    with_year_word: Lookup<'a>,
    /// Titles with the word of the year that a record's year is compared with.
    year_titles: Lookup<'a>,
    /// Titles with the word of the episode.
    episode_titles: Lookup<'a>,
}

/// Clauses of a look-up by words: the documents with each, and sets that reduce them at little
/// cost.
pub(crate) fn word_clauses<'a>(
    context: &PlanContext<'a>,
    lookup: &NameLookup,
    words: &[String],
) -> Result<Vec<Clause<'a>>> {
    let view = &context.view;
    let mut clauses = Vec::with_capacity(words.len() + 1);
    for word in words {
        let clause = Clause::of_sets(Subject::NameWord, Vec::new());
        clauses.push(if words.len() == 1 {
            let titles = titles_with(view, word)?;
            clause.or_stored_titles(titles, context.costs.title_docs_estimate)
        } else {
            clause.or_set(term_docs(view, view.term(word))?)
        });
    }
    clauses.extend(column_clause(view, lookup)?);
    Ok(clauses)
}

/// Documents that may have the season and episode, or else the year.
fn column_clause<'a>(view: &SegmentView<'a>, lookup: &NameLookup) -> Result<Option<Clause<'a>>> {
    let slot = |season: u32, episode: u32| -> Result<_> {
        let slot = u16::try_from(season).ok().zip(u16::try_from(episode).ok());
        let (season, episode) = slot.unwrap_or_default();
        view.value_docs(ColumnValue::SeasonEpisode(season, episode))
    };
    let sets = match lookup.episode {
        LookupEpisode::Any => match lookup.year {
            LookupYear::Exactly(year) => vec![value_of_year(view, year)?],
            _ => return Ok(None),
        },
        LookupEpisode::Exactly { season, episode } | LookupEpisode::OrPack { season, episode } => {
            let first = season.unwrap_or(1);
            let other = season.unwrap_or(0);
            vec![
                slot(first, episode)?,
                slot(first, 0)?,
                slot(other, episode)?,
            ]
        }
        LookupEpisode::Season(season) => {
            view.season_docs(u16::try_from(season).unwrap_or_default())?
        }
    };
    Ok(Some(Clause::of_sets(Subject::EpisodeMarker, sets)))
}

impl<'a, 'n> NamePlan<'a, 'n> {
    /// Plans the conditions on documents with the title or the words, and their fit. Cost: up to
    /// three look-ups in the dictionary.
    pub(crate) fn new(context: &'a PlanContext<'a>, lookup: &'n NameLookup) -> Result<Self> {
        let view = &context.view;
        let with_year_word = match lookup.year {
            LookupYear::OrUnknownOrWord(year) => year_docs(view, year)?,
            _ => Postings::EMPTY,
        };
        let year_word = lookup.fit_year.filter(|_| lookup.is_year_excused);
        let year_word = year_word.map(|year| year.to_string()).unwrap_or_default();
        let episode_word = lookup.episode.word().filter(|_| lookup.fits_episode);
        Ok(Self {
            context,
            lookup,
            with_year_word: with_year_word.lookup(),
            year_titles: titles_with(view, &year_word)?.lookup(),
            episode_titles: titles_with(view, &episode_word.unwrap_or_default())?.lookup(),
        })
    }

    /// Keeps the documents that satisfy the look-up.
    ///
    /// Cost: a read of columns each; with a date, the text of each that has words of its year and
    /// its day.
    pub(crate) fn retain(&self, docs: &mut Vec<u32>) -> Result<()> {
        docs.retain(|&doc| self.has_columns(doc));
        let Some(date) = self.lookup.date.filter(|_| !docs.is_empty()) else {
            return Ok(());
        };
        year_docs(&self.context.view, date.year)?.retain(docs);
        day_clause(&self.context.view, date.day)?.retain(self.context, docs);
        let mut dated = Vec::with_capacity(docs.len());
        for &doc in docs.iter() {
            dated.push(self.tells(doc, date)?);
        }
        let mut dated = dated.into_iter();
        docs.retain(|_| dated.next().unwrap_or_default());
        Ok(())
    }

    fn has_columns(&self, doc: u32) -> bool {
        let row = self.context.view.columns().get(doc);
        let (season, episode) = (u32::from(row.season), u32::from(row.episode));
        let NameLookup { kinds, .. } = self.lookup;
        kinds.matches(!row.is_episode, season, episode)
            && self.lookup.episode.matches(season, episode)
            && self.has_year(row, doc)
    }

    fn has_year(&self, row: ColumnRow, doc: u32) -> bool {
        let recorded = u32::from(row.year);
        match self.lookup.year {
            LookupYear::Any => true,
            LookupYear::Exactly(year) => recorded == year,
            LookupYear::OrUnknown(year) => recorded == year || recorded == 0,
            LookupYear::OrUnknownOrWord(year) => {
                recorded == year || recorded == 0 || self.with_year_word.contains(doc)
            }
            LookupYear::OneOff(year) => recorded + 1 == year || recorded == year + 1,
        }
    }

    fn tells(&self, doc: u32, date: NameDate) -> Result<bool> {
        let fragment = self.context.view.fragment(doc)?;
        let Some(fields) = fragment_fields(fragment) else {
            return Ok(false);
        };
        let description = fields.description.unwrap_or_default();
        Ok(tells_date(&fields.title, date) || tells_date(&description, date))
    }

    /// Fit of a found document (SEARCH.md 5.3).
    pub(crate) fn fit(&self, doc: u32, filter: &Filter<'_>) -> u8 {
        let view = &self.context.view;
        let (row, title) = (view.columns().get(doc), view.title_of(doc));
        let is_other_year = self
            .lookup
            .fit_year
            .is_some_and(|year| u32::from(row.year) != year && !self.year_titles.contains(title));
        let is_other_episode =
            self.lookup.fits_episode && !self.is_exact(row) && !self.episode_titles.contains(title);
        let is_other_title = match &self.lookup.title_fit {
            LookupTitleFit::Any => false,
            LookupTitleFit::Folded(folded) => view.title(title) != folded.as_bytes(),
            LookupTitleFit::None => true,
        };
        YEAR_FIT * u8::from(is_other_year || filter.matches_unknown_year(doc))
            + EPISODE_FIT * u8::from(is_other_episode)
            + TITLE_FIT * u8::from(is_other_title)
    }

    fn is_exact(&self, row: ColumnRow) -> bool {
        let (season, episode) = (u32::from(row.season), u32::from(row.episode));
        self.lookup.episode.is_exact(season, episode)
    }
}

/// Documents with a word of a day: `5`, `05`, `5th`.
fn day_clause<'a>(view: &SegmentView<'a>, day: u32) -> Result<Clause<'a>> {
    let mut clause = Clause::of_sets(Subject::NameWord, Vec::new());
    for ending in ["", "st", "nd", "rd", "th"] {
        clause = clause.or_set(term_docs(view, view.term(&format!("{day:02}{ending}")))?);
        if day < 10 {
            clause = clause.or_set(term_docs(view, view.term(&format!("{day}{ending}")))?);
        }
    }
    Ok(clause)
}

/// Documents with the word of a year.
fn year_docs<'a>(view: &SegmentView<'a>, year: u32) -> Result<Postings<'a>> {
    term_docs(view, view.term(&year.to_string()))
}

/// Documents of a year.
fn value_of_year<'a>(view: &SegmentView<'a>, year: u32) -> Result<Postings<'a>> {
    let year = u16::try_from(year).ok().and_then(Year::new);
    match year {
        Some(year) => view.value_docs(ColumnValue::Year(Some(year))),
        None => Ok(Postings::EMPTY),
    }
}
