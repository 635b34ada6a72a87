//! Look-ups for a value that is read as a name: the titles, and the fields that a record must match
//! (SEARCH.md 4.12 to 4.16).

use std::cell::OnceCell;

use crate::name::{NameDate, Named, QueryName};
use crate::text::{EpisodeMarker, fold, title_key, words};

/// One look-up of a name.
#[derive(Debug, Clone)]
pub(crate) struct NameLookup {
    /// Rule by which it is tried.
    pub(crate) step: NameStep,
    /// The looked-up title, in its displayed form.
    pub(crate) title: String,
    pub(crate) subject: LookupSubject,
    pub(crate) kinds: LookupKinds,
    pub(crate) episode: LookupEpisode,
    pub(crate) year: LookupYear,
    pub(crate) date: Option<NameDate>,
    /// Year that a record's year is compared with for its fit.
    pub(crate) fit_year: Option<u32>,
    /// True if a title with the word of that year is excused (SEARCH.md 5.3).
    pub(crate) is_year_excused: bool,
    /// True if a record that is not exactly the episode has a worse fit.
    pub(crate) fits_episode: bool,
    pub(crate) title_fit: LookupTitleFit,
    /// Words that order the found records.
    pub(crate) tail: Vec<String>,
}

/// Step of the reading of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameStep {
    /// SEARCH.md 4.13.
    Number,
    /// SEARCH.md 4.14.
    Title,
    /// SEARCH.md 4.15, with another year.
    OtherYear,
    /// SEARCH.md 4.15.
    Film,
    /// SEARCH.md 4.16.
    Words,
}

/// Records that a look-up searches for.
#[derive(Debug, Clone)]
pub(crate) enum LookupSubject {
    /// Records with this key of their title.
    Key(String),
    /// Records that have these words, each once; a single one in their title.
    Words(Vec<String>),
}

/// Kinds of records that a look-up finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupKinds {
    /// All.
    Any,
    /// Films.
    Films,
    /// Films, and packs of this season.
    FilmsAndPacks(u32),
}

/// Season and episode that a look-up requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupEpisode {
    /// None.
    Any,
    /// This episode; without a season, that of season 1 or of none.
    Exactly { season: Option<u32>, episode: u32 },
    /// This episode, or the pack of its season.
    OrPack { season: Option<u32>, episode: u32 },
    /// Any of this season.
    Season(u32),
}

/// Year that a look-up requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookupYear {
    /// None.
    Any,
    /// This year.
    Exactly(u32),
    /// This year, or none.
    OrUnknown(u32),
    /// This year, or none, or its word in the record.
    OrUnknownOrWord(u32),
    /// The one before or after.
    OneOff(u32),
}

/// Title that gives a record a better fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LookupTitleFit {
    /// Any.
    Any,
    /// The one with this folded text.
    Folded(String),
    /// None.
    None,
}

/// Turn in which a value is read as the name of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseTurn {
    /// Never.
    Never,
    /// After the numbers, and among these records.
    Second(LookupKinds),
    /// After everything else, and among films only.
    Last,
}

/// A value that is read as a name, and all its look-ups.
#[derive(Debug)]
pub(crate) struct NameLookups {
    pub(crate) name: QueryName,
    /// Look-ups of numbers, before releases.
    pub(crate) numbers: Vec<NameLookup>,
    /// The value in lower case.
    value: Box<str>,
    is_query: bool,
    /// Look-ups after releases, made when they are asked for: most names are those of releases.
    others: OnceCell<Vec<NameLookup>>,
}

/// Season, and perhaps episode, that a value names (SEARCH.md 5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamedEpisode {
    pub(crate) season: u32,
    pub(crate) episode: Option<u32>,
}

impl From<EpisodeMarker> for NamedEpisode {
    fn from(marker: EpisodeMarker) -> Self {
        Self {
            season: marker.season.get().into(),
            episode: marker.episode.map(|episode| episode.get().into()),
        }
    }
}

impl LookupEpisode {
    /// True if a record of this season and episode is found; 0 is none.
    #[inline]
    pub(crate) fn matches(self, season: u32, episode: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly {
                season: wanted,
                episode: number,
            } => episode == number && is_season(season, wanted),
            Self::OrPack {
                season: wanted,
                episode: number,
            } => {
                let is_pack = episode == 0 && season == wanted.unwrap_or(1);
                is_pack || episode == number && is_season(season, wanted)
            }
            Self::Season(wanted) => season == wanted,
        }
    }

    /// True if a record of this season and episode is exactly the named one.
    #[inline]
    pub(crate) fn is_exact(self, season: u32, episode: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Exactly {
                season: wanted,
                episode: number,
            }
            | Self::OrPack {
                season: wanted,
                episode: number,
            } => episode == number && is_season(season, wanted),
            Self::Season(wanted) => season == wanted && episode == 0,
        }
    }

    /// Season and number of a single episode.
    pub(crate) const fn slot(self) -> Option<(Option<u32>, u32)> {
        match self {
            Self::Exactly { season, episode } | Self::OrPack { season, episode } => {
                Some((season, episode))
            }
            Self::Any | Self::Season(_) => None,
        }
    }

    /// Folded word for it that a title may have.
    pub(crate) fn word(self) -> Option<String> {
        match self {
            Self::Exactly {
                season: Some(season),
                episode,
            }
            | Self::OrPack {
                season: Some(season),
                episode,
            } => Some(format!("s{season:02}e{episode:02}")),
            Self::Season(season) => Some(format!("s{season:02}")),
            _ => None,
        }
    }
}

/// True if a season is the wanted one, or without one the first or none.
const fn is_season(season: u32, wanted: Option<u32>) -> bool {
    match wanted {
        Some(wanted) => season == wanted,
        None => season <= 1,
    }
}

impl LookupKinds {
    /// True if a record of this type, season and episode is found; 0 is none.
    #[inline]
    pub(crate) fn matches(self, is_film: bool, season: u32, episode: u32) -> bool {
        match self {
            Self::Any => true,
            Self::Films => is_film,
            Self::FilmsAndPacks(wanted) => is_film || season == wanted && episode == 0,
        }
    }
}

impl NameLookups {
    /// Reads a `query` value. Source: SEARCH.md 4.11 to 4.16.
    pub(crate) fn of_query(value: &str) -> Self {
        let mut lookups = Self::new(value, true);
        let has_numbers = !lookups.name.numbers.is_empty() || lookups.name.title_place.is_some();
        if has_numbers && !finds_nothing(&lookups.name) {
            lookups.numbers = lookups.maker().numbers();
        }
        lookups
    }

    /// Reads a `title` value. Source: SEARCH.md 4.17.
    pub(crate) fn of_title(value: &str) -> Self {
        Self::new(value, false)
    }

    fn new(value: &str, is_query: bool) -> Self {
        Self {
            name: QueryName::parse(value),
            numbers: Vec::new(),
            value: value.into(),
            is_query,
            others: OnceCell::new(),
        }
    }

    /// Look-ups after releases, while no branch has matched.
    pub(crate) fn others(&self) -> &[NameLookup] {
        self.others.get_or_init(|| {
            let mut others = Vec::new();
            if finds_nothing(&self.name) {
                return others;
            }
            let maker = self.maker();
            if self.is_query || maker.tail.is_empty() {
                maker.add_titles(&mut others);
            }
            if self.is_query {
                maker.add_films(&mut others);
                others.extend(maker.words());
            }
            others
        })
    }

    fn maker(&self) -> LookupMaker<'_> {
        LookupMaker {
            name: &self.name,
            titles: self.name.titles(),
            tail: self.name.tail(),
            value_words: folded_words(&self.value),
            kinds: if self.is_query {
                kinds(&self.name)
            } else {
                LookupKinds::Any
            },
        }
    }

    /// Turn in which the value is read as the name of a release; `marker` is its episode marker.
    /// Source: SEARCH.md 4.12.
    pub(crate) fn release_turn(&self, marker: Option<NamedEpisode>) -> ReleaseTurn {
        let second = ReleaseTurn::Second(kinds(&self.name));
        let has_episode = marker.is_some_and(|marker| marker.episode.is_some());
        let season = marker.map(|marker| marker.season);
        match self.name.named {
            Named::Special | Named::Contradiction => ReleaseTurn::Never,
            Named::Nothing | Named::Seasons => second,
            _ if has_episode => second,
            Named::Episode { .. } | Named::Number(_) => ReleaseTurn::Never,
            Named::Season(named) if season == Some(named) => second,
            Named::Season(_) | Named::Date(_) => ReleaseTurn::Last,
        }
    }

    /// Season and episode that the value names (SEARCH.md 5.2).
    pub(crate) fn named_episode(&self) -> Option<NamedEpisode> {
        let (season, episode) = self.name.season_and_episode()?;
        Some(NamedEpisode { season, episode })
    }
}

/// True if there are no look-ups for the name, except perhaps for a release.
const fn finds_nothing(name: &QueryName) -> bool {
    matches!(
        name.named,
        Named::Special | Named::Contradiction | Named::Seasons
    )
}

/// Kinds of records that are found if no number was: if the number may be an episode, no hit is a
/// better answer than another episode.
fn kinds(name: &QueryName) -> LookupKinds {
    match name.named {
        Named::Season(season) if name.may_be_episode => LookupKinds::FilmsAndPacks(season),
        _ if name.may_be_episode => LookupKinds::Films,
        _ => LookupKinds::Any,
    }
}

fn folded_words(text: &str) -> Vec<String> {
    words(&fold(text)).map(str::to_string).collect()
}

/// Makes the look-ups of a name.
struct LookupMaker<'n> {
    name: &'n QueryName,
    /// The title as read comes first; none if there is no title.
    titles: Vec<String>,
    tail: Vec<String>,
    /// Folded words of the value.
    value_words: Vec<String>,
    kinds: LookupKinds,
}

impl LookupMaker<'_> {
    /// SEARCH.md 4.13.
    fn numbers(&self) -> Vec<NameLookup> {
        let mut lookups = Vec::new();
        for number in &self.name.numbers {
            let year = number.year;
            lookups.push(NameLookup {
                step: NameStep::Number,
                kinds: LookupKinds::Any,
                episode: LookupEpisode::Exactly {
                    season: number.season,
                    episode: number.episode,
                },
                year: year.map_or(LookupYear::Any, LookupYear::OrUnknown),
                date: None,
                fits_episode: false,
                tail: number.tail.clone(),
                ..self.lookup(&number.title, year.or(self.name.year_behind_source))
            });
        }
        if let (Some(place), Some(title)) = (self.name.title_place, self.titles.first()) {
            let title = NameLookup {
                kinds: LookupKinds::Any,
                ..self.title(title)
            };
            lookups.insert(place, title);
        }
        lookups
    }

    /// SEARCH.md 4.14.
    fn add_titles(&self, lookups: &mut Vec<NameLookup>) {
        lookups.extend(self.titles.iter().map(|title| self.title(title)));
    }

    fn title(&self, title: &str) -> NameLookup {
        let year = self.name.year;
        NameLookup {
            year: year.map_or(LookupYear::Any, LookupYear::OrUnknownOrWord),
            ..self.lookup(title, year.or(self.name.year_behind_source))
        }
    }

    /// SEARCH.md 4.15.
    fn add_films(&self, lookups: &mut Vec<NameLookup>) {
        let Some(year) = self.name.year.filter(|_| self.name.is_film_year) else {
            return;
        };
        let film = |title: &str, step, required| NameLookup {
            step,
            kinds: LookupKinds::Films,
            year: required,
            title_fit: LookupTitleFit::Any,
            ..self.lookup(title, Some(year))
        };
        if let Some(title) = self.titles.first() {
            let year = LookupYear::OneOff(year);
            lookups.push(film(title, NameStep::OtherYear, year));
        }
        for title in &self.name.film_titles() {
            lookups.push(film(title, NameStep::Film, LookupYear::Exactly(year)));
        }
    }

    /// SEARCH.md 4.16.
    fn words(&self) -> Option<NameLookup> {
        let title = self.titles.first()?;
        let mut wanted = folded_words(title);
        wanted.sort_unstable();
        wanted.dedup();
        let names_something = self.name.named != Named::Nothing || self.name.is_film_year;
        if wanted.is_empty() || !names_something {
            return None;
        }
        let required = match self.name.year {
            Some(year) if self.name.is_film_year => LookupYear::Exactly(year),
            Some(year) => LookupYear::OrUnknownOrWord(year),
            None => LookupYear::Any,
        };
        let year = self.name.year.or(self.name.year_behind_source);
        Some(NameLookup {
            step: NameStep::Words,
            subject: LookupSubject::Words(wanted),
            year: required,
            title_fit: LookupTitleFit::None,
            ..self.lookup(title, year)
        })
    }

    /// Look-up of a title with the named fields; `fit_year` is compared with the year of the
    /// records.
    fn lookup(&self, title: &str, fit_year: Option<u32>) -> NameLookup {
        let folded = fold(title);
        let year_word = fit_year.map(|year| year.to_string());
        let is_year = |word: &&String| Some(*word) == year_word.as_ref();
        let (episode, date) = match self.name.named {
            Named::Episode { season, episode } => {
                let season = Some(season);
                (LookupEpisode::OrPack { season, episode }, None)
            }
            Named::Number(episode) => {
                let season = None;
                (LookupEpisode::OrPack { season, episode }, None)
            }
            Named::Season(season) => (LookupEpisode::Season(season), None),
            Named::Date(date) => (LookupEpisode::Any, Some(date)),
            _ => (LookupEpisode::Any, None),
        };
        NameLookup {
            step: NameStep::Title,
            title: title.to_string(),
            subject: LookupSubject::Key(title_key(title)),
            kinds: self.kinds,
            episode,
            year: LookupYear::Any,
            date,
            fit_year,
            is_year_excused: self.value_words.iter().filter(is_year).count() < 2,
            fits_episode: true,
            title_fit: LookupTitleFit::Folded(folded),
            tail: self.tail.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` are the look-ups: step, title, season, episode and year.
    fn check(value: &str, expected: &[&str]) {
        let names = NameLookups::of_query(value);
        let lookups = names.numbers.iter().chain(names.others());
        let shown: Vec<String> = lookups.map(show).collect();
        assert_eq!(shown, expected, "{value}");
    }

    fn show(lookup: &NameLookup) -> String {
        let NameLookup {
            step,
            title,
            episode,
            year,
            ..
        } = lookup;
        format!("{step:?} {title} {episode:?} {year:?}")
    }

    #[test]
    fn search_rule_4_13_numbers_come_first() {
        check(
            "mushishi ep12",
            &[
                "Number mushishi Exactly { season: None, episode: 12 } Any",
                "Title mushishi OrPack { season: None, episode: 12 } Any",
                "Words mushishi OrPack { season: None, episode: 12 } Any",
            ],
        );
    }

    #[test]
    fn search_rule_4_15_films_with_a_year_are_sought_beside_it() {
        check(
            "volver (2006)",
            &[
                "Title volver Any OrUnknownOrWord(2006)",
                "OtherYear volver Any OneOff(2006)",
                "Words volver Any Exactly(2006)",
            ],
        );
    }

    #[test]
    fn search_rule_4_18_specials_are_not_looked_up() {
        check("dark s00e04 720p", &[]);
        check("dark s01-s03", &[]);
    }

    #[test]
    fn search_rule_4_12_turn_of_the_name_of_a_release() {
        let turn = |value: &str, season: Option<u32>, episode: Option<u32>| {
            let marker = season.map(|season| NamedEpisode { season, episode });
            NameLookups::of_query(value).release_turn(marker)
        };
        let second = ReleaseTurn::Second(LookupKinds::Any);
        assert_eq!(turn("dark s02e04 720p", Some(2), Some(4)), second);
        assert_eq!(turn("volver 2006 720p", None, None), second);
        assert_eq!(turn("2005.ep12", None, None), ReleaseTurn::Never);
        assert_eq!(
            turn("dark s02 capítulo 9", Some(2), None),
            ReleaseTurn::Never
        );
        assert_eq!(turn("dark temporada 2", None, None), ReleaseTurn::Last);
        assert_eq!(turn("dark s02 720p", Some(2), None), second);
        assert_eq!(turn("x 14.03.2019", None, None), ReleaseTurn::Last);
        assert_eq!(turn("dark s00e01", None, None), ReleaseTurn::Never);
    }

    #[test]
    fn seasons_and_episodes_match() {
        let exactly = LookupEpisode::Exactly {
            season: None,
            episode: 12,
        };
        assert!(exactly.matches(0, 12) && exactly.matches(1, 12));
        assert!(!exactly.matches(2, 12) && !exactly.matches(1, 0));
        let or_pack = LookupEpisode::OrPack {
            season: None,
            episode: 12,
        };
        assert!(or_pack.matches(1, 0) && or_pack.matches(0, 12));
        assert!(!or_pack.matches(0, 0) && !or_pack.is_exact(1, 0));
        let season = LookupEpisode::Season(2);
        assert!(season.matches(2, 5) && !season.is_exact(2, 5) && season.is_exact(2, 0));
        let kinds = LookupKinds::FilmsAndPacks(2);
        assert!(kinds.matches(true, 0, 0) && kinds.matches(false, 2, 0));
        assert!(!kinds.matches(false, 2, 4) && !kinds.matches(false, 3, 0));
    }
}
