//! One folder of a path: passed, of a season, or one that may name a series or a film (NAMES.md
//! P1).

use super::language::LanguageWords;
use super::marks::{Circumstances, FolderSeason, MarkKind, SeasonMark};
use super::parsed_name::{EpisodeForm, EpisodeName, NameKind, ParsedName};
use super::path_words::{NameFlag, flag, is_clear, is_technical, languages, release_group};
use super::title::{NamePart, shown};
use super::tokens::NameTokens;
use super::word_class::{is_any_season_word, is_one_of, number, year};
use crate::text::{fold, words};

/// Words before the number of a disc or a volume.
const VOLUMES: [&str; 9] = [
    "disc", "disco", "disk", "dvd", "vol", "volumen", "libro", "part", "parte",
];
/// Words of a season's folder before a number, and nothing else.
const SEASON_PREFIXES: [&str; 4] = ["serie", "series", "t", "temp"];
const SPELT_NUMBERS: [[&str; 2]; 6] = [
    ["one", "uno"],
    ["two", "dos"],
    ["three", "tres"],
    ["four", "cuatro"],
    ["five", "cinco"],
    ["six", "seis"],
];
/// Names of collections of series.
const SERIES_COLLECTIONS: [&str; 7] = [
    "tv",
    "tv shows",
    "tv series",
    "show",
    "shows",
    "serie",
    "series",
];
/// Names of other collections.
const COLLECTIONS: [&str; 25] = [
    "movie",
    "movies",
    "film",
    "films",
    "pelicula",
    "peliculas",
    "cine",
    "anime",
    "download",
    "downloads",
    "descargas",
    "media",
    "video",
    "videos",
    "library",
    "biblioteca",
    "complete",
    "incoming",
    "hoard",
    "data",
    "mnt",
    "home",
    "srv",
    "documentales",
    "documentaries",
];

/// The kind of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FolderKind {
    /// A folder of subtitles, a release or a disc, by its words.
    Passed,
    /// The folder of a season; `None` if it does not say which.
    Season(Option<u32>),
    /// A folder that may be named after a series, a film or a collection.
    Other,
}

/// A folder of a path.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    pub(crate) name: String,
    pub(crate) kind: FolderKind,
    pub(crate) parsed: ParsedName,
    pub(crate) is_clear: bool,
    /// The languages given by the words of a passed folder.
    pub(crate) languages: Vec<LanguageWords>,
    pub(crate) flags: Vec<NameFlag>,
    /// True for a collection of series, films or files, which names none.
    pub(crate) is_collection: bool,
    pub(crate) is_series_collection: bool,
    /// The displayed title.
    pub(crate) title: String,
    pub(crate) title_words: Vec<String>,
    /// The season of a folder of another kind: `Show.S01.1080p`.
    pub(crate) titled_season: Option<FolderSeason>,
}

impl Folder {
    /// Reads a folder. `is_above_season` is true directly above the folder of a season.
    pub(crate) fn new(name: &str, year_last: u32, is_above_season: bool) -> Self {
        let circumstances = Circumstances {
            is_query: false,
            year_last,
            folder: FolderSeason::Outside,
        };
        let parsed = ParsedName::new(name, circumstances);
        let tokens = &parsed.words.tokens;
        let season = season_of(&parsed);
        let is_passed = is_passed(&parsed, is_above_season);
        let kind = match season {
            Some(season) => FolderKind::Season(season),
            None if is_passed => FolderKind::Passed,
            None => FolderKind::Other,
        };
        let is_of_words = kind == FolderKind::Passed;
        let collection = collection(&parsed);
        let mut folder = Self {
            is_clear: is_of_words && (0..tokens.len()).any(|idx| is_clear(tokens.word(idx))),
            languages: if is_of_words {
                told_languages(tokens)
            } else {
                Vec::new()
            },
            flags: if is_of_words {
                flags(tokens)
            } else {
                Vec::new()
            },
            is_collection: collection.is_some(),
            is_series_collection: collection == Some(true),
            title: String::new(),
            title_words: Vec::new(),
            titled_season: None,
            name: name.to_owned(),
            kind,
            parsed,
        };
        if folder.kind == FolderKind::Other && !folder.is_collection {
            let (title, season) = folder.title_and_season();
            folder.title_words = words(&fold(&title)).map(str::to_owned).collect();
            folder.titled_season = season.filter(|_| !title.is_empty());
            folder.title = title;
        }
        folder
    }

    /// The title, and the season behind it.
    fn title_and_season(&self) -> (String, Option<FolderSeason>) {
        let title = self.parsed.shown_title();
        if let NameKind::Episode(episode) = self.parsed.kind {
            let season = match episode.form {
                EpisodeForm::Season => episode.season.map(FolderSeason::Number),
                EpisodeForm::Seasons => Some(FolderSeason::Unknown),
                _ => None,
            };
            return (title, season);
        }
        match self.last_short_season() {
            Some((season, span)) => {
                let text = self.parsed.words.tokens.text();
                (shown(&text[span.bytes]), Some(FolderSeason::Number(season)))
            }
            None => (title, None),
        }
    }

    /// A last and only `tN` behind a title: `Dark T1 1080p`.
    fn last_short_season(&self) -> Option<(u32, NamePart)> {
        let tokens = &self.parsed.words.tokens;
        let short = |idx: usize| {
            let rest = tokens.word(idx).strip_prefix('t');
            rest.and_then(|rest| number(rest, 1..=2))
        };
        let end = self.end_before_technical();
        let last = end.checked_sub(1).filter(|last| *last > 0)?;
        let is_only = (0..last).all(|idx| short(idx).is_none());
        let season = short(last).filter(|_| is_only)?;
        let span = self.parsed.words.part_before(last, tokens.start(last));
        Some((season, span))
    }

    /// Place behind the last word that is not technical.
    fn end_before_technical(&self) -> usize {
        let words = &self.parsed.words;
        let len = words.tokens.len();
        let mut end = release_group(&words.tokens, words.source, len).unwrap_or(len);
        while end > 0 && is_technical(&words.tokens, end - 1) {
            end -= 1;
        }
        end
    }

    /// The episode given by the folder, below the folder of a season or not.
    pub(crate) fn episode(&self, above: FolderSeason) -> Option<(ParsedName, EpisodeName)> {
        if self.kind != FolderKind::Other || self.is_collection {
            return None;
        }
        let circumstances = Circumstances {
            folder: above,
            ..self.parsed.words.circumstances
        };
        let parsed = ParsedName::new(&self.name, circumstances);
        let NameKind::Episode(episode) = parsed.kind else {
            return None;
        };
        // A season's folder without a number takes no name without a season.
        let is_of_no_season = above == FolderSeason::Unknown && episode.season.is_none();
        let has_episode =
            !is_of_no_season && !matches!(episode.form, EpisodeForm::Season | EpisodeForm::Seasons);
        has_episode.then_some((parsed, episode))
    }

    /// The year of the folder.
    pub(crate) fn year(&self) -> Option<u32> {
        if self.is_collection {
            return None;
        }
        self.parsed.year.as_ref().map(|year| year.year)
    }

    /// True if the folder may give a title, a film or a series.
    pub(crate) fn names_something(&self) -> bool {
        self.kind == FolderKind::Other && !self.is_collection
    }
}

/// The season of a folder that is one by its first words.
fn season_of(parsed: &ParsedName) -> Option<Option<u32>> {
    let tokens = &parsed.words.tokens;
    let (first, second) = (tokens.word(0), tokens.word(1));
    if tokens.len() == 1 && is_one_of(first, &["specials", "especiales"]) {
        return Some(Some(0));
    }
    let glued = SEASON_PREFIXES
        .iter()
        .find_map(|prefix| number(first.strip_prefix(prefix)?, 1..=2));
    if let (1, Some(season)) = (tokens.len(), glued) {
        return Some(Some(season));
    }
    if tokens.len() == 2
        && is_one_of(first, &SEASON_PREFIXES)
        && let Some(season) = number(second, 1..=2)
    {
        return Some(Some(season));
    }
    if let Some(mark) = parsed
        .words
        .marks
        .first()
        .filter(|mark| mark.words.start == 0)
    {
        match mark.kind {
            MarkKind::Season(SeasonMark::Number(season)) => return Some(Some(season)),
            MarkKind::Season(SeasonMark::None { .. }) => return Some(None),
            _ => {}
        }
    }
    if is_any_season_word(first) {
        let spelt = SPELT_NUMBERS
            .iter()
            .position(|words| is_one_of(second, words));
        let spelt = spelt.and_then(|place| u32::try_from(place + 1).ok());
        let season = year(second, parsed.words.circumstances.year_last).or(spelt);
        return season.map(Some);
    }
    let season = number(first, 1..=2).filter(|_| is_any_season_word(second))?;
    number(tokens.word(2), 1..=9)
        .is_none()
        .then_some(Some(season))
}

/// True for a folder without a name: words of subtitles, languages, releases, discs.
fn is_passed(parsed: &ParsedName, is_above_season: bool) -> bool {
    // A folder with an id is that of a film or a series, whatever its title: `21 [tt0478087]`.
    if parsed.words.has_id {
        return false;
    }
    let tokens = &parsed.words.tokens;
    let (first, second) = (tokens.word(0), tokens.word(1));
    let is_number = |word: &str| number(word, 1..=2).is_some();
    let is_volume = match tokens.len() {
        1 => {
            let rest = VOLUMES
                .iter()
                .find_map(|name| first.strip_prefix(name).filter(|rest| is_number(rest)));
            rest.is_some()
                || is_one_of(first, &["bonus", "miniserie"])
                || (is_number(first) && !is_above_season)
        }
        2 => is_one_of(first, &VOLUMES) && is_number(second),
        _ => false,
    };
    is_volume || is_of_passed_words(parsed)
}

fn is_of_passed_words(parsed: &ParsedName) -> bool {
    let tokens = &parsed.words.tokens;
    let len = tokens.len();
    let end = release_group(tokens, parsed.words.source, len).unwrap_or(len);
    let languages = languages(tokens);
    (0..end).all(|idx| {
        let word = tokens.word(idx);
        is_clear(word)
            || word == "en"
            || flag(word).is_some_and(|it| it != NameFlag::Foreign || !languages.is_empty())
            || is_technical(tokens, idx)
            || languages
                .iter()
                .any(|language| language.words.contains(&idx))
    })
}

/// The languages of a folder; `en` beside another is a preposition.
fn told_languages(tokens: &NameTokens) -> Vec<LanguageWords> {
    let mut found = languages(tokens);
    let is_other = |language: &LanguageWords| tokens.word(language.words.start) != "en";
    if found.iter().any(is_other) {
        found.retain(is_other);
    }
    // `hi` is a flag unless it says more.
    found.retain(|it| tokens.word(it.words.start) != "hi" || it.words.len() > 1);
    found
}

fn flags(tokens: &NameTokens) -> Vec<NameFlag> {
    (0..tokens.len())
        .filter_map(|idx| flag(tokens.word(idx)))
        .collect()
}

/// `Some(true)` for a collection of series, `Some(false)` for another one.
fn collection(parsed: &ParsedName) -> Option<bool> {
    let words = &parsed.words;
    let tokens = &words.tokens;
    let is_name = |idx: &usize| {
        let is_year = words
            .years
            .iter()
            .any(|year| year.words.contains(idx) && tokens.bracket(*idx).is_none());
        !(is_year || is_technical(tokens, *idx))
    };
    let names: Vec<usize> = (0..tokens.len()).filter(is_name).collect();
    let name: Vec<&str> = names.iter().map(|idx| tokens.word(*idx)).collect();
    let name = name.join(" ");
    if is_one_of(&name, &SERIES_COLLECTIONS) {
        return Some(true);
    }
    is_one_of(&name, &COLLECTIONS).then_some(false)
}
