//! The filters of a request (SEARCH.md 3) over one segment.

use crate::error::Result;
use crate::index::{ColumnValue, RowTest, Tombstones, View};
use crate::query::{Filters, LanguageTerm};

use super::clause::{Clause, Subject};
use super::doc_list::retain;

/// What every match must pass: filters, and not being gone.
pub(crate) struct Filter<'a> {
    view: View<'a>,
    tombstones: &'a Tombstones,
    test: RowTest,
    languages: Option<Vec<bool>>,
    has_year: bool,
    /// Whether an episode is asked for without a season: that has no set.
    has_bare_episode: bool,
    is_hopeless: bool,
}

impl<'a> Filter<'a> {
    /// The filters of a request over a segment.
    pub(crate) fn new(
        view: View<'a>,
        tombstones: &'a Tombstones,
        filters: &Filters,
    ) -> Result<Self> {
        let test = view.columns.test(
            filters.video_type,
            filters.year,
            filters.season,
            filters.episode,
        );
        let mut is_hopeless = test.is_none();
        let mut languages = None;
        if let Some(language) = &filters.language {
            let wanted = LanguageTerm::of(language);
            let passing = view.language_terms()?.map(|term| term.passes(wanted));
            let passing: Vec<bool> = passing.collect();
            is_hopeless |= !passing.contains(&true);
            languages = passing.contains(&false).then_some(passing);
        }
        Ok(Self {
            view,
            tombstones,
            test: test.unwrap_or_default(),
            languages,
            has_year: filters.year.is_some(),
            has_bare_episode: filters.episode.is_some() && filters.season.is_none(),
            is_hopeless,
        })
    }

    /// Whether no document of the segment can pass.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.is_hopeless
    }

    /// Whether every document of the segment passes.
    pub(crate) fn is_trivial(&self) -> bool {
        self.test.is_trivial() && self.languages.is_none() && self.tombstones.is_empty()
    }

    /// Whether the document passes. Cost: a probe of each column that is asked.
    #[inline]
    pub(crate) fn passes(&self, doc: u32) -> bool {
        self.test.passes(self.view.columns.row(doc)) && self.passes_rest(doc)
    }

    /// Keeps the ascending documents that pass; `sets` are those of [`Filter::clauses`]. Cost: a
    /// probe of each, or, for many documents, that of the sets.
    pub(crate) fn retain(&self, sets: &[Clause<'_>], docs: &mut Vec<u32>) {
        let mut is_settled = self.is_trivial() || !self.is_more_than_sets();
        for set in sets {
            if set.is_better_asked(&self.view, docs.len() as u64) {
                is_settled = false;
            } else {
                set.retain(&self.view, docs);
            }
        }
        if !is_settled {
            self.retain_asked(docs);
        }
    }

    fn retain_asked(&self, docs: &mut Vec<u32>) {
        if !self.test.is_trivial() {
            retain(docs, |doc| self.test.passes(self.view.columns.row(doc)));
        }
        if let Some(passing) = &self.languages {
            retain(docs, |doc| passing[self.view.language_of(doc) as usize]);
        }
        if !self.tombstones.is_empty() {
            retain(docs, |doc| !self.tombstones.contains(doc));
        }
    }

    /// Whether documents of all sets of [`Filter::clauses`] may still not pass.
    pub(crate) fn is_more_than_sets(&self) -> bool {
        self.has_bare_episode || !self.tombstones.is_empty()
    }

    #[inline]
    fn passes_rest(&self, doc: u32) -> bool {
        let language_passes = match &self.languages {
            Some(passing) => passing[self.view.language_of(doc) as usize],
            None => true,
        };
        language_passes && (self.tombstones.is_empty() || !self.tombstones.contains(doc))
    }

    /// Whether the year is asked for and the document has none: fit 1 (SEARCH.md 5.3).
    #[inline]
    pub(crate) fn is_year_guessed(&self, doc: u32) -> bool {
        self.has_year && self.view.columns.get(doc).year == 0
    }

    /// The filters as sets of documents, for a plan that starts from one of them or intersects
    /// them whole. An episode without a season has no set.
    pub(crate) fn clauses(&self, filters: &Filters) -> Result<Vec<Clause<'a>>> {
        let view = &self.view;
        let mut clauses = Vec::new();
        if let Some(year) = filters.year {
            let sets = vec![
                view.value_docs(ColumnValue::Year(Some(year)))?,
                view.value_docs(ColumnValue::Year(None))?,
            ];
            clauses.push(Clause::of_sets(Subject::YearFilter, sets));
        }
        if let Some(video_type) = filters.video_type {
            let sets = vec![view.value_docs(ColumnValue::VideoType(video_type))?];
            clauses.push(Clause::of_sets(Subject::TypeFilter, sets));
        }
        if let Some(season) = filters.season {
            let sets = match filters.episode {
                Some(episode) => {
                    let value = ColumnValue::SeasonEpisode(season.get(), episode.get());
                    vec![view.value_docs(value)?]
                }
                None => view.season_docs(season.get())?,
            };
            clauses.push(Clause::of_sets(Subject::SeasonFilter, sets));
        }
        if let Some(passing) = &self.languages {
            let numbers = (0..passing.len()).filter(|&number| passing[number]);
            let sets = numbers
                .map(|number| view.value_docs(ColumnValue::Language(number as u32)))
                .collect::<Result<Vec<_>>>()?;
            clauses.push(Clause::of_sets(Subject::LanguageFilter, sets));
        }
        Ok(clauses)
    }
}
