//! Titles, years and ids that a name gets from its folders, and names that a folder's name replaces
//! (NAMES.md P4 to P6).

use super::folder::Folder;
use super::folders::Folders;
use super::marks::{FolderSeason, NameDate};
use super::parsed_name::{EpisodeForm, EpisodeName, NameKind, ParsedName};
use super::path_doubt::{
    has_episode_doubt, has_film_doubt, is_complete_disc, is_season_and_episode,
};
use super::path_refusal::PathRefusal;
use super::path_words::{is_generic, is_technical};
use super::title::{NamePart, is_release_word, trim};
use super::word_class::{is_part, is_roman, number};
use crate::text::{fold, words};

/// A record before language and flags.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathRecord {
    pub(crate) is_episode: bool,
    pub(crate) title: String,
    /// The season; 0 for specials.
    pub(crate) season: Option<u32>,
    pub(crate) episode: Option<u32>,
    date: Option<NameDate>,
    pub(crate) year: Option<u32>,
    pub(crate) id: Option<String>,
    pub(crate) parent_id: Option<String>,
    /// The name of the folder that was read in place of the file's.
    pub(crate) folder: Option<String>,
}

impl PathRecord {
    /// The episode given by a name.
    pub(crate) fn of_episode(name: &ParsedName, episode: &EpisodeName) -> Self {
        Self {
            title: name.shown_title(),
            year: name.year.as_ref().map(|year| year.year),
            id: name.id().map(str::to_owned),
            ..Self::of_number(episode)
        }
    }

    /// An episode without title and id in its name.
    pub(crate) fn of_number(episode: &EpisodeName) -> Self {
        Self {
            is_episode: true,
            season: episode.season,
            episode: episode.episode,
            date: match episode.form {
                EpisodeForm::Date(date) => Some(date),
                _ => None,
            },
            ..Self::default()
        }
    }

    /// A name that tells nothing but a title.
    pub(crate) fn titled(name: &ParsedName) -> Self {
        Self {
            is_episode: matches!(name.kind, NameKind::Episode(_)),
            title: name.shown_title(),
            ..Self::default()
        }
    }

    fn of_film(name: &ParsedName) -> Self {
        Self {
            title: name.shown_title(),
            year: name.year.as_ref().map(|year| year.year),
            id: name.id().map(str::to_owned),
            ..Self::default()
        }
    }

    fn title_words(&self) -> Vec<String> {
        words(&fold(&self.title)).map(str::to_owned).collect()
    }
}

/// Title, year and id that the folder of a series gives.
struct SeriesFolder<'a> {
    title: &'a str,
    title_words: &'a [String],
    year: Option<u32>,
    id: Option<&'a str>,
}

/// An episode with title, year and ids of its folders (NAMES.md P5).
pub(crate) fn with_folders(folders: &Folders, record: PathRecord) -> PathRecord {
    let mut record = record;
    if let Some(title) = inner_title(folders, &record) {
        record.title = title;
    }
    let Some(idx) = folders.series else {
        return record;
    };
    let series = series(folders, idx);
    if series.title_words.is_empty() {
        return record;
    }
    let name_words = record.title_words();
    let reasons = [
        series.year.is_some() || series.id.is_some(),
        folders.is_season_or_parent(idx),
        series.title_words.starts_with(&name_words),
    ];
    let count = reasons.iter().filter(|holds| **holds).count();
    if name_words.is_empty() || count > 1 {
        series.title.clone_into(&mut record.title);
        record.year = series.year.or(record.year);
    }
    if record.title_words() == series.title_words {
        record.parent_id = series.id.map(str::to_owned);
    }
    if record.parent_id.is_some() && record.id == record.parent_id {
        record.id = None;
    }
    record
}

/// The title of an inner folder of the same season, and the same episode or none, or the same day.
fn inner_title(folders: &Folders, record: &PathRecord) -> Option<String> {
    let inner = folders
        .inner_folder()
        .filter(|folder| folder.names_something())?;
    let (title, is_same) = match &folders.episode {
        Some((parsed, episode)) => {
            let is_same_number = episode.season.is_some()
                && episode.season == record.season
                && (episode.episode.is_none() || episode.episode == record.episode);
            let is_same_day = match episode.form {
                EpisodeForm::Date(date) => record.date == Some(date),
                _ => false,
            };
            (parsed.shown_title(), is_same_number || is_same_day)
        }
        None => {
            let season = record.season.map(FolderSeason::Number);
            let is_same = season.is_some() && inner.titled_season == season;
            (inner.title.clone(), is_same)
        }
    };
    (is_same && !title.is_empty()).then_some(title)
}

/// The folder of the series; if it is that of a season, with the facts of the next one up.
fn series(folders: &Folders, idx: usize) -> SeriesFolder<'_> {
    let folder = &folders.all[idx];
    let mut series = SeriesFolder {
        title: &folder.title,
        title_words: &folder.title_words,
        year: folder.year(),
        id: folder.parsed.id(),
    };
    let next_up = folders.not_passed_above(idx).map(|up| &folders.all[up]);
    if folder.titled_season.is_some()
        && let Some(up) = next_up.filter(|up| up.names_something())
        && up.title_words.starts_with(&folder.title_words)
    {
        series.title = &up.title;
        series.title_words = &up.title_words;
        series.year = up.year().or(series.year);
        series.id = up.parsed.id().or(series.id);
    }
    series
}

/// A film with title, year and id of its folder (NAMES.md P6).
pub(crate) fn film_with_folder(folders: &Folders, name: &ParsedName) -> PathRecord {
    let mut record = PathRecord::of_film(name);
    let Some(folder) = folders.inner_folder().filter(|folder| is_film(folder)) else {
        return record;
    };
    let (name_words, title) = (record.title_words(), &folder.title_words);
    let year = folder.year();
    let do_years_differ = year.is_some() && record.year.is_some() && year != record.year;
    let are_equal = name_words == *title && !do_years_differ;
    let is_part = title.starts_with(&name_words)
        || name_words.starts_with(title)
        || name_words.ends_with(title);
    let is_same_year = year.is_some() && year == record.year;
    if are_equal || (is_same_year && is_part) {
        record.title.clone_from(&folder.title);
        record.year = year.or(record.year);
        record.id = one_id(name, folder);
    }
    record
}

/// Number of folders down to that of a film: the inner one if it was read in the place of the
/// name, has the film's title, or is a film of its year.
pub(crate) fn film_folder(folders: &Folders, record: &PathRecord) -> Option<usize> {
    let inner = folders.inner.filter(|_| !record.is_episode)?;
    let folder = &folders.all[inner];
    let year = folder.year();
    let do_years_differ = year.is_some() && record.year.is_some() && year != record.year;
    let has_title = folder.title_words == record.title_words() && !do_years_differ;
    let has_year = year.is_some() && year == record.year && is_film(folder);
    let is_of_film = record.folder.is_some() || has_title || has_year;
    (folder.names_something() && is_of_film).then_some(inner + 1)
}

/// The id of a name and its folder; two are none.
fn one_id(name: &ParsedName, folder: &Folder) -> Option<String> {
    let mut ids = name.words.ids.iter().chain(&folder.parsed.words.ids);
    let first = ids.next()?;
    ids.all(|id| id == first).then(|| first.clone())
}

/// True for a folder that is a film with year or id, or a release of one.
fn is_film(folder: &Folder) -> bool {
    let parsed = &folder.parsed;
    let is_series = parsed.series_phrase.is_some()
        && parsed.words.marks.is_empty()
        && !is_complete_disc(parsed);
    let is_certain = parsed.doubt.is_none() && !has_film_doubt(parsed) && !is_series;
    let tells = match parsed.kind {
        NameKind::Film => true,
        NameKind::Nothing => parsed.id().is_some(),
        NameKind::Episode(_) => false,
    };
    let is_named = folder.names_something() && folder.titled_season.is_none();
    is_named && is_certain && tells && !folder.title_words.is_empty()
}

/// A name that gives nothing, doubts or yields: its folder is read in its place, or the name stays
/// itself, or it is refused (NAMES.md P4).
pub(crate) fn told_by_folder(
    folders: &Folders,
    name: &ParsedName,
    is_doubtful: bool,
) -> Result<PathRecord, PathRefusal> {
    if let Some(record) = episode_folder(folders)? {
        return Ok(record);
    }
    let film = folders
        .inner_folder()
        .filter(|folder| folders.episode.is_none() && is_film(folder));
    let is_below_series = folders.is_below_series_collection();
    let may_be_episode = film.is_some_and(|folder| has_number(folder, name));
    if let Some(folder) = film
        && !is_below_series
        && !may_be_episode
        && takes(folder, name)
    {
        let mut record = PathRecord::of_film(&folder.parsed);
        record.title.clone_from(&folder.title);
        record.id = one_id(name, folder);
        record.folder = Some(folder.name.clone());
        return Ok(record);
    }
    let yields = name.kind == NameKind::Film && name.year.is_none() && !is_doubtful;
    if (yields && !is_below_series) || (!is_doubtful && name.id().is_some()) {
        return Ok(film_with_folder(folders, name));
    }
    if is_doubtful || (may_be_episode && !yields) {
        return Err(PathRefusal::MayBeEpisode);
    }
    Err(PathRefusal::TellsNothing)
}

/// The inner folder if it is an episode.
fn episode_folder(folders: &Folders) -> Result<Option<PathRecord>, PathRefusal> {
    let (Some(folder), Some((parsed, episode))) = (folders.inner_folder(), &folders.episode) else {
        return Ok(None);
    };
    let is_doubtful = parsed.doubt.is_some()
        || has_episode_doubt(parsed, episode)
        || is_season_and_episode(episode, folders.season);
    if is_doubtful {
        return Err(PathRefusal::MayBeEpisode);
    }
    let is_pack = episode.episode.is_none() && !matches!(episode.form, EpisodeForm::Date(_));
    if is_pack {
        return Ok(None);
    }
    if let (FolderSeason::Number(season), Some(record)) = (folders.season, episode.season)
        && season != 0
        && season != record
    {
        return Err(PathRefusal::OtherSeason);
    }
    let mut record = PathRecord::of_episode(parsed, episode);
    record.folder = Some(folder.name.clone());
    Ok(Some(with_folders(folders, record)))
}

/// True for a part, a word of a Roman number or a digit that is neither the folder's nor
/// technical.
fn has_number(folder: &Folder, name: &ParsedName) -> bool {
    let tokens = &name.words.tokens;
    let of_folder = &folder.parsed.words.tokens;
    // `2_` in front of a language, which is read already, counts the files of a folder.
    let is_counter = tokens.len() == 1
        && number(tokens.word(0), 1..=2).is_some()
        && tokens.gap(1).starts_with('_');
    !is_counter
        && (0..tokens.len()).any(|idx| {
            let word = tokens.word(idx);
            let is_number =
                is_part(word) || is_roman(word) || word.bytes().any(|byte| byte.is_ascii_digit());
            let is_of_folder = of_folder.range(0..of_folder.len()).any(|it| it == word);
            is_number && !is_of_folder && !is_technical(tokens, idx)
        })
}

/// True if a name is that of the film of its folder.
fn takes(folder: &Folder, name: &ParsedName) -> bool {
    let tokens = &name.words.tokens;
    let is_generic_name = (0..tokens.len()).all(|idx| is_generic(tokens, idx));
    let has_source = folder.parsed.words.source.is_some();
    if folder.year().is_some() || folder.parsed.id().is_some() {
        return has_source || is_generic_name || has_words_of_title(folder, name);
    }
    let mut title = folder.title_words.iter().enumerate();
    is_generic_name || title.all(|(idx, word)| tokens.word(idx) == word)
}

/// True if all words before a source word, those of N8 apart, are of the folder's title.
fn has_words_of_title(folder: &Folder, name: &ParsedName) -> bool {
    let tokens = &name.words.tokens;
    let end = name.words.source.unwrap_or(tokens.len());
    let span = NamePart {
        words: 0..end,
        bytes: 0..tokens.start(end),
    };
    let mut left = trim(tokens, span, None).span.words;
    left.all(|idx| {
        let word = tokens.word(idx);
        folder.title_words.iter().any(|it| it == word) || is_release_word(word)
    })
}
