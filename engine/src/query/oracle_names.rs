//! Look-ups of names by the oracle (SEARCH.md 4.11 to 4.17): written again, except for the reader
//! of names itself.

use crate::model::{Number, VideoType, Year};
use crate::name::{Named, QueryName, tells_date};
use crate::text::{EpisodeMarker, fold, words};

use super::oracle_entry::{OracleEntry, oracle_title_key};

/// A value that is read as a name.
pub(super) struct OracleName {
    name: QueryName,
    title: String,
    titles: Vec<String>,
    film_titles: Vec<String>,
    tail: Vec<String>,
    value_words: Vec<String>,
    /// True for a `query`: its numbers are looked up, too.
    is_query: bool,
}

/// One look-up of a name, in the order of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameTry {
    /// SEARCH.md 4.13: the title that has one of the numbers.
    TitleFirst,
    /// SEARCH.md 4.13.
    Number(usize),
    /// SEARCH.md 4.14.
    Title(usize),
    /// SEARCH.md 4.15: one year more or less.
    OtherYear,
    /// SEARCH.md 4.15.
    Film(usize),
    /// SEARCH.md 4.16.
    Words,
}

/// Turn of the name of a release (SEARCH.md 4.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Never,
    Second,
    Last,
}

impl OracleName {
    pub(super) fn new(value: &str, is_query: bool) -> Self {
        let name = QueryName::parse(value);
        Self {
            title: name.title(),
            titles: name.titles(),
            film_titles: name.film_titles(),
            tail: name.tail(),
            name,
            value_words: words(&fold(value)).map(str::to_string).collect(),
            is_query,
        }
    }

    /// SEARCH.md 5.2: season and episode that are named.
    pub(super) fn season_and_episode(&self) -> Option<(u32, Option<u32>)> {
        match self.name.named {
            Named::Episode { season, episode } => Some((season, Some(episode))),
            Named::Season(season) => Some((season, None)),
            _ => None,
        }
    }

    /// SEARCH.md 4.11: names for which only a release is looked up, or nothing.
    fn is_left_out(&self) -> bool {
        let named = self.name.named;
        matches!(
            named,
            Named::Special | Named::Contradiction | Named::Seasons
        )
    }

    /// SEARCH.md 4.13.
    pub(super) fn numbers(&self) -> Vec<NameTry> {
        let mut tries = Vec::new();
        if self.is_left_out() {
            return tries;
        }
        for number_idx in 0..=self.name.numbers.len() {
            if self.name.title_place == Some(number_idx) && !self.titles.is_empty() {
                tries.push(NameTry::TitleFirst);
            }
            if number_idx < self.name.numbers.len() {
                tries.push(NameTry::Number(number_idx));
            }
        }
        tries
    }

    /// SEARCH.md 4.12.
    pub(super) fn release_turn(&self, marker: Option<EpisodeMarker>) -> Turn {
        let has_episode = marker.is_some_and(|marker| marker.episode.is_some());
        let season = marker.map(|marker| u32::from(marker.season.get()));
        match self.name.named {
            Named::Special | Named::Contradiction => Turn::Never,
            Named::Episode { .. } | Named::Number(_) if !has_episode => Turn::Never,
            Named::Date(_) if !has_episode => Turn::Last,
            Named::Season(named) if !has_episode && season != Some(named) => Turn::Last,
            _ => Turn::Second,
        }
    }

    /// SEARCH.md 4.14 to 4.16.
    pub(super) fn others(&self) -> Vec<NameTry> {
        let mut tries = Vec::new();
        if self.is_left_out() || !self.is_query && !self.tail.is_empty() {
            return tries;
        }
        tries.extend((0..self.titles.len()).map(NameTry::Title));
        if self.is_query {
            if self.name.is_film_year {
                tries.push(NameTry::OtherYear);
                tries.extend((0..self.film_titles.len()).map(NameTry::Film));
            }
            if self.name.is_film_year || self.name.named != Named::Nothing {
                tries.push(NameTry::Words);
            }
        }
        tries
    }

    /// SEARCH.md 4.13: the records found if a number was not.
    pub(super) fn allows_kind(&self, entry: &OracleEntry<'_>) -> bool {
        let record = entry.record;
        let is_doubtful = self.is_query && self.name.may_be_episode;
        let is_film = record.video_type == VideoType::Movie;
        let is_pack = match self.name.named {
            Named::Season(season) => record.episode.is_none() && has_season(entry, season),
            _ => false,
        };
        !is_doubtful || is_film || is_pack
    }

    /// True if the look-up finds the record.
    pub(super) fn finds(&self, attempt: NameTry, entry: &OracleEntry<'_>) -> bool {
        let has_title =
            |title: &str| oracle_title_key(title) == oracle_title_key(&entry.record.title);
        let is_film = entry.record.video_type == VideoType::Movie;
        let year = self.name.year;
        match attempt {
            NameTry::TitleFirst => {
                has_title(&self.titles[0]) && self.fits(entry) && self.has_year(entry)
            }
            NameTry::Number(idx) => {
                let number = &self.name.numbers[idx];
                has_title(&number.title)
                    && has_episode(entry, number.episode)
                    && match number.season {
                        Some(season) => has_season(entry, season),
                        None => entry.record.season.is_none() || has_season(entry, 1),
                    }
                    && number
                        .year
                        .is_none_or(|year| entry.record.year.is_none() || is_of_year(entry, year))
            }
            NameTry::Title(idx) => {
                has_title(&self.titles[idx])
                    && self.fits(entry)
                    && self.has_year(entry)
                    && self.allows_kind(entry)
            }
            NameTry::OtherYear => {
                let is_near =
                    |year: u32| is_of_year(entry, year + 1) || is_of_year(entry, year - 1);
                is_film && has_title(&self.title) && self.fits(entry) && year.is_some_and(is_near)
            }
            NameTry::Film(idx) => {
                is_film
                    && has_title(&self.film_titles[idx])
                    && self.fits(entry)
                    && year.is_some_and(|year| is_of_year(entry, year))
            }
            NameTry::Words => {
                let is_year_right = match year {
                    Some(year) if self.name.is_film_year => is_of_year(entry, year),
                    _ => self.has_year(entry),
                };
                self.has_words(entry)
                    && self.fits(entry)
                    && is_year_right
                    && self.allows_kind(entry)
            }
        }
    }

    /// SEARCH.md 4.16: every word of the title.
    fn has_words(&self, entry: &OracleEntry<'_>) -> bool {
        let folded = fold(&self.title);
        let mut wanted: Vec<&str> = words(&folded).collect();
        wanted.dedup();
        match &wanted[..] {
            [] => false,
            all if all.iter().all(|word| *word == all[0]) => entry.has_title_word(all[0]),
            all => all.iter().all(|word| entry.has_word(word)),
        }
    }

    /// SEARCH.md 4.14: the record fits what is named.
    fn fits(&self, entry: &OracleEntry<'_>) -> bool {
        let record = entry.record;
        match self.name.named {
            Named::Episode { season, episode } => {
                has_season(entry, season)
                    && (has_episode(entry, episode) || record.episode.is_none())
            }
            Named::Number(episode) => {
                let is_first = has_season(entry, 1);
                let is_episode = has_episode(entry, episode);
                is_episode && (is_first || record.season.is_none())
                    || is_first && record.episode.is_none()
            }
            Named::Season(season) => has_season(entry, season),
            Named::Date(date) => {
                let description = record.description.as_deref().unwrap_or("");
                tells_date(&record.title, date) || tells_date(description, date)
            }
            _ => true,
        }
    }

    /// SEARCH.md 4.14: a year that was read is equal, null or a word of the record.
    fn has_year(&self, entry: &OracleEntry<'_>) -> bool {
        self.name.year.is_none_or(|year| {
            entry.record.year.is_none()
                || is_of_year(entry, year)
                || entry.has_word(&year.to_string())
        })
    }

    /// SEARCH.md 5.3, for a record found by the look-up.
    pub(super) fn fit(
        &self,
        attempt: NameTry,
        entry: &OracleEntry<'_>,
        is_year_unknown: bool,
    ) -> u8 {
        let read = match attempt {
            NameTry::Number(idx) => self.name.numbers[idx].year,
            _ => self.name.year,
        };
        let is_year_off = read.or(self.name.year_behind_source).is_some_and(|year| {
            let word = year.to_string();
            let is_twice = self
                .value_words
                .iter()
                .filter(|other| **other == word)
                .count()
                > 1;
            (is_twice || !entry.has_title_word(&word)) && !is_of_year(entry, year)
        });
        let title = match attempt {
            NameTry::TitleFirst => Some(&self.titles[0]),
            NameTry::Number(idx) => Some(&self.name.numbers[idx].title),
            NameTry::Title(idx) => Some(&self.titles[idx]),
            NameTry::OtherYear | NameTry::Film(_) | NameTry::Words => None,
        };
        let is_title_off =
            attempt == NameTry::Words || title.is_some_and(|title| fold(title) != entry.title);
        let is_episode_off = !matches!(attempt, NameTry::Number(_)) && self.misses_episode(entry);
        u8::from(is_year_unknown || is_year_off)
            + 2 * u8::from(is_episode_off)
            + 4 * u8::from(is_title_off)
    }

    fn misses_episode(&self, entry: &OracleEntry<'_>) -> bool {
        let record = entry.record;
        match self.name.named {
            Named::Episode { season, episode } => {
                let is_exact = has_season(entry, season) && has_episode(entry, episode);
                !is_exact && !entry.has_title_word(&format!("s{season:02}e{episode:02}"))
            }
            Named::Number(episode) => {
                let is_season = record.season.is_none() || has_season(entry, 1);
                !is_season || !has_episode(entry, episode)
            }
            Named::Season(season) => {
                let is_exact = has_season(entry, season) && record.episode.is_none();
                !is_exact && !entry.has_title_word(&format!("s{season:02}"))
            }
            _ => false,
        }
    }

    /// SEARCH.md 4.11: the words that order what the look-up finds.
    pub(super) fn tail(&self, attempt: NameTry) -> Vec<String> {
        match attempt {
            NameTry::Number(idx) => self.name.numbers[idx].tail.clone(),
            _ => self.tail.clone(),
        }
    }
}

fn has_season(entry: &OracleEntry<'_>, season: u32) -> bool {
    entry
        .record
        .season
        .map(|number| u32::from(Number::get(number)))
        == Some(season)
}

fn has_episode(entry: &OracleEntry<'_>, episode: u32) -> bool {
    entry
        .record
        .episode
        .map(|number| u32::from(Number::get(number)))
        == Some(episode)
}

fn is_of_year(entry: &OracleEntry<'_>, year: u32) -> bool {
    entry
        .record
        .year
        .map(|recorded| u32::from(Year::get(recorded)))
        == Some(year)
}
