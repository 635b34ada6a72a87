//! The text of an archive that a request means (SEARCH.md 7.7 to 7.11).

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::model::{Flag, FlagSet, Language, Number, Record, VideoType, Year};
use crate::query::{RELATIVE_WEIGHT, release_group, release_words};

use super::part_marks::part_marks;
use super::path_flags::flags_of_path;
use super::path_language::{LanguageRank, LanguageReader};
use super::path_numbers::{
    EpisodeRange, ListedNumbers, PathNumbers, PathParts, TEXT_EXTENSIONS, numbers_of, split_number,
};
use super::path_words::PathWords;

/// A text that can be chosen.
#[derive(Debug, Clone, Copy)]
pub struct TextCandidate<'a> {
    /// Path in the archive.
    pub path: &'a str,
    /// Size when unpacked.
    pub size_bytes: u64,
}

/// Parameters of a request that choose a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct TextRequest {
    /// Path of the text; if given, the others are ignored.
    pub file: Option<String>,
    /// Season of an episode.
    pub season: Option<u16>,
    /// Episode.
    pub episode: Option<u16>,
    /// Name of a release.
    pub release: Option<String>,
}

/// Fields of a record that decide the choice among the texts of its archive.
#[derive(Debug, Clone)]
pub struct ChoiceRecord<'a> {
    /// Film or episode.
    pub video_type: VideoType,
    /// Title.
    pub title: &'a str,
    /// Year.
    pub year: Option<u16>,
    /// Season.
    pub season: Option<u16>,
    /// Episode.
    pub episode: Option<u16>,
    /// Language.
    pub language: &'a Language,
    /// True if it has foreign passages only; unknown counts as false.
    pub is_forced: bool,
    /// True if it is for the hearing impaired; unknown counts as false.
    pub is_hearing_impaired: bool,
}

impl<'a> ChoiceRecord<'a> {
    /// The fields of a record.
    pub fn of(record: &'a Record) -> Self {
        Self {
            video_type: record.video_type,
            title: &record.title,
            year: record.year.map(Year::get),
            season: record.season.map(Number::get),
            episode: record.episode.map(Number::get),
            language: &record.language,
            is_forced: record.flags.set().contains(Flag::Forced),
            is_hearing_impaired: record.flags.set().contains(Flag::HearingImpaired),
        }
    }
}

/// The index of the text that a request means; `None` when none or several are.
///
/// Cost: linear in the paths, but for the sorting of those that fit.
/// Source: SEARCH.md 7.7 to 7.11.
pub fn choose_text(
    candidates: &[TextCandidate<'_>],
    request: &TextRequest,
    record: &ChoiceRecord<'_>,
) -> Option<usize> {
    if let Some(file) = &request.file {
        return candidates
            .iter()
            .position(|candidate| candidate.path == file);
    }
    let paths: Vec<PathParts> = candidates
        .iter()
        .map(|candidate| PathParts::of(candidate.path))
        .collect();
    let wanted = WantedEpisode::of(request, record);
    let (numbers, fitting) = match record.video_type {
        VideoType::Movie => (Vec::new(), (0..paths.len()).collect()),
        VideoType::Episode => {
            let numbers = numbers_of(&paths);
            let is_single = candidates.len() == 1 && wanted.is_of_record;
            let (numbers, fitting) = if is_single {
                (numbers, vec![0])
            } else {
                wanted.fitting(numbers)?
            };
            (numbers, fitting)
        }
    };
    let chooser = Chooser {
        candidates,
        paths: &paths,
        numbers: &numbers,
        record,
        fitting: &fitting,
    };
    chooser.best(request, wanted.episode.is_some())
}

/// Season and episode of each text in a list.
///
/// Source: SEARCH.md 7.6.
pub fn listed_numbers(paths: &[&str], record_season: Option<u16>) -> Vec<ListedNumbers> {
    let parts: Vec<PathParts> = paths.iter().map(|path| PathParts::of(path)).collect();
    let numbers = numbers_of(&parts).into_iter();
    numbers
        .map(|numbers| {
            let numbers = split_number(numbers, record_season.map(u32::from));
            ListedNumbers {
                season: numbers.season,
                episode: numbers.episodes.map(|range| range.first),
            }
        })
        .collect()
}

/// Season and episode that a request wants of a record.
struct WantedEpisode {
    season: Option<u32>,
    episode: Option<u32>,
    record_season: Option<u32>,
    record_episode: Option<u32>,
    /// True if the request names no number that differs from the record's.
    is_of_record: bool,
}

impl WantedEpisode {
    fn of(request: &TextRequest, record: &ChoiceRecord<'_>) -> Self {
        let season = request.season.or(record.season);
        let is_own_season = record.season.is_none() || season == record.season;
        let record_episode = record.episode.filter(|_| is_own_season);
        let is_same = |wanted: Option<u16>, own: Option<u16>| wanted.is_none() || wanted == own;
        Self {
            season: season.map(u32::from),
            episode: request.episode.or(record_episode).map(u32::from),
            record_season: record.season.map(u32::from),
            record_episode: record.episode.map(u32::from),
            is_of_record: is_same(request.season, record.season)
                && is_same(request.episode, record.episode),
        }
    }

    /// The texts that fit, and the numbers by which they fit; `None` when none does, or when
    /// different ones do.
    fn fitting(&self, numbers: Vec<PathNumbers>) -> Option<(Vec<PathNumbers>, Vec<usize>)> {
        let mut numbers = numbers;
        let mut fitting = self.fitting_by(&numbers);
        if fitting.is_empty() {
            for numbers in &mut numbers {
                *numbers = split_number(*numbers, self.season);
            }
            fitting = self.fitting_by(&numbers);
        }
        if fitting.is_empty() || self.is_ambiguous(&numbers, &fitting) {
            return None;
        }
        Some((numbers, fitting))
    }

    /// The texts that have the wanted season and episodes.
    fn fitting_by(&self, numbers: &[PathNumbers]) -> Vec<usize> {
        let has_episodes = numbers.iter().any(|numbers| numbers.episodes.is_some());
        let has_season = numbers
            .iter()
            .any(|numbers| self.season.is_some() && numbers.season == self.season);
        let is_own_season = self.record_season.is_none() || self.season == self.record_season;
        let allows_none = is_own_season && !(self.episode.is_some() && has_season);
        let fits = |numbers: &PathNumbers| {
            let is_season = match (self.season, numbers.season) {
                (None, _) => true,
                (Some(_), None) => allows_none,
                (wanted, season) => wanted == season,
            };
            let is_episode = match self.episode {
                Some(wanted) if has_episodes => numbers
                    .episodes
                    .is_some_and(|episodes| episodes.contains(wanted)),
                _ => true,
            };
            is_season && is_episode
        };
        (0..numbers.len())
            .filter(|idx| fits(&numbers[*idx]))
            .collect()
    }

    /// Returns true when fitting texts are of different seasons or episodes, or do not name the
    /// wanted one.
    fn is_ambiguous(&self, numbers: &[PathNumbers], fitting: &[usize]) -> bool {
        let first = &numbers[fitting[0]];
        let first_episode = |numbers: &PathNumbers| numbers.episodes.map(|range| range.first);
        let others = || fitting.iter().map(|idx| &numbers[*idx]);
        let differ_in_season = others().any(|other| other.season != first.season);
        let differ_in_episode = others().any(|other| first_episode(other) != first_episode(first));
        if self.season.is_none() && differ_in_season {
            return true;
        }
        if self.episode.is_none() && (differ_in_season || differ_in_episode) {
            return true;
        }
        let is_other_episode = self.episode.is_some() && self.episode != self.record_episode;
        let have_none = others().all(|other| other.episodes.is_none());
        let is_told_apart = fitting.len() == 1 && self.record_episode.is_none();
        is_other_episode && have_none && !is_told_apart
    }
}

/// The order of texts that fit.
struct Chooser<'a> {
    candidates: &'a [TextCandidate<'a>],
    paths: &'a [PathParts],
    /// Numbers of each text; none for films.
    numbers: &'a [PathNumbers],
    record: &'a ChoiceRecord<'a>,
    fitting: &'a [usize],
}

/// Criteria that precede marks of parts; the smallest is the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct FirstCriteria {
    is_other_year: bool,
    is_other_language: bool,
    differs_in_forced: bool,
    language: LanguageRank,
}

impl Chooser<'_> {
    fn best(&self, request: &TextRequest, wants_episode: bool) -> Option<usize> {
        let flags: Vec<FlagSet> = self.paths.iter().map(flags_of_path).collect();
        let title = PathWords::of(self.record.title);
        let fitting: Vec<&PathParts> = self.fitting.iter().map(|idx| &self.paths[*idx]).collect();
        let record = self.record;
        let languages = LanguageReader::new(record.language, record.title, &title, &fitting);
        let first_criteria = |idx: usize| {
            let language = languages.rank(&self.paths[idx]);
            FirstCriteria {
                is_other_year: self.is_other_year(&self.paths[idx], &title),
                is_other_language: language == LanguageRank::Other,
                differs_in_forced: flags[idx].contains(Flag::Forced) != record.is_forced,
                language,
            }
        };
        let ranked: Vec<(FirstCriteria, usize)> = self
            .fitting
            .iter()
            .map(|idx| (first_criteria(*idx), *idx))
            .collect();
        let smallest = ranked.iter().map(|(criteria, _)| *criteria).min()?;
        let equals = ranked.iter().filter(|(criteria, _)| *criteria == smallest);
        let equals: Vec<usize> = equals.map(|(_, idx)| *idx).collect();
        let remaining = self.without_parts(&equals, &title)?;
        let release = request.release.as_deref();
        remaining.into_iter().min_by_key(|idx| {
            let path = &self.paths[*idx];
            let candidate = &self.candidates[*idx];
            let covered = self.numbers.get(*idx).and_then(|numbers| numbers.episodes);
            (
                covered
                    .filter(|_| wants_episode)
                    .map_or(0, EpisodeRange::count),
                release
                    .as_ref()
                    .map_or(0, |release| missing_weight(release, path)),
                flags[*idx].contains(Flag::HearingImpaired) != self.record.is_hearing_impaired,
                kind_rank(candidate.path),
                Reverse(candidate.size_bytes),
                candidate.path,
            )
        })
    }

    /// Returns true if a path has years, but neither the record's nor one of its title.
    fn is_other_year(&self, path: &PathParts, title: &PathWords) -> bool {
        let (VideoType::Movie, Some(own)) = (self.record.video_type, self.record.year) else {
            return false;
        };
        let own = own.to_string();
        let is_year = |word: &&str| word.len() == 4 && ("1900"..="2100").contains(word);
        let is_digits = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
        let years = || path.words().filter(|word| is_digits(word) && is_year(word));
        let is_known = |year: &str| year == own || title.iter().any(|word| word == year);
        years().next().is_some() && !years().any(is_known)
    }

    /// The texts without the parts; `None` when all are parts, and there are several.
    fn without_parts(&self, texts: &[usize], title: &PathWords) -> Option<Vec<usize>> {
        let marks: Vec<HashSet<String>> = texts
            .iter()
            .map(|idx| self.paths[*idx].parts.iter().flat_map(part_marks).collect())
            .collect();
        let of_title = part_marks(title);
        let is_shared = |mark: &String| marks.iter().all(|others| others.contains(mark));
        let is_part = |own: &HashSet<String>| {
            own.iter()
                .any(|mark| !of_title.contains(mark) && !is_shared(mark))
        };
        let whole: Vec<usize> = texts
            .iter()
            .zip(&marks)
            .filter(|(_, own)| !is_part(own))
            .map(|(idx, _)| *idx)
            .collect();
        if whole.is_empty() { None } else { Some(whole) }
    }
}

/// Place of the kind of a text in the order of kinds.
fn kind_rank(path: &str) -> usize {
    const ORDER: [&str; 5] = ["srt", "ass", "ssa", "vtt", "sub"];
    const _: () = assert!(ORDER.len() == TEXT_EXTENSIONS.len());
    let extension = path.rsplit('.').next().unwrap_or_default();
    let is_kind = |kind: &&str| extension.eq_ignore_ascii_case(kind);
    ORDER.iter().position(is_kind).unwrap_or(ORDER.len())
}

/// Weight of the words of a release that a path does not have.
///
/// Source: SEARCH.md 5.6.
fn missing_weight(release: &str, path: &PathParts) -> u32 {
    let wanted = PathWords::of(release);
    let sequence: Vec<&str> = wanted.iter().collect();
    let group = release_group(release);
    let words: HashSet<&str> = path.words().collect();
    let mut missing = 0;
    for word in release_words(&sequence, group.as_deref()) {
        let has_relative = || word.relatives().any(|relative| words.contains(relative));
        missing += if words.contains(word.word) {
            0
        } else if has_relative() {
            u32::from(RELATIVE_WEIGHT)
        } else {
            u32::from(word.weight)
        };
    }
    missing
}
