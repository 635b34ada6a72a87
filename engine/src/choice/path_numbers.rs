//! Season and episodes named in a path (SEARCH.md 7.1 to 7.6).

use crate::name::language_of;
use crate::text::without_ending;

use super::number_words::{
    EpisodeNumbers, episode_word, further_episodes, is_episode_word, is_full_season_word,
    is_season_word, marker, number, ordinal, season_word,
};
use super::path_words::PathWords;

/// The extensions of texts.
pub(super) const TEXT_EXTENSIONS: [&str; 5] = ["srt", "ssa", "ass", "sub", "vtt"];

/// Season and first episode of a text in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedNumbers {
    /// The season, if the path names one.
    pub season: Option<u32>,
    /// The first episode, if the path names one.
    pub episode: Option<u32>,
}

/// Season and episodes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathNumbers {
    pub(super) season: Option<u32>,
    pub(super) episodes: Option<EpisodeRange>,
}

/// The episodes that a text covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EpisodeRange {
    pub(super) first: u32,
    pub(super) last: u32,
    /// True for a number in a marker, which is never season and episode in one.
    is_marked: bool,
}

impl EpisodeRange {
    pub(super) fn contains(self, episode: u32) -> bool {
        (self.first..=self.last).contains(&episode)
    }

    /// Count of episodes.
    pub(super) fn count(self) -> u32 {
        self.last.saturating_sub(self.first) + 1
    }
}

/// A path as words.
#[derive(Debug, Clone)]
pub(super) struct PathParts {
    /// The parts from the base name to the outermost directory.
    pub(super) parts: Vec<PathWords>,
    /// The base name as written, without an ending such as `vtt.srt`.
    pub(super) name: String,
    /// Words of that name.
    pub(super) base: PathWords,
    /// The directories as written, the nearest first.
    pub(super) directories: Vec<String>,
    /// The base name as written, without its extension.
    stem: String,
}

impl PathParts {
    pub(super) fn of(path: &str) -> Self {
        let mut parts = path.rsplit('/');
        let base = parts.next().unwrap_or_default();
        let stem = without_extension(base);
        let name = without_ending(base);
        let directories: Vec<String> = parts.map(str::to_owned).collect();
        Self {
            parts: std::iter::once(stem)
                .chain(directories.iter().map(String::as_str))
                .map(PathWords::of)
                .collect(),
            base: PathWords::of(name),
            name: name.to_owned(),
            directories,
            stem: stem.to_owned(),
        }
    }

    /// The words of all parts, those of the base name last.
    pub(super) fn words(&self) -> impl DoubleEndedIterator<Item = &str> {
        let directories = self.parts[1..].iter().rev();
        directories.chain([&self.base]).flat_map(PathWords::iter)
    }
}

/// The name without the extension of a text.
pub(super) fn without_extension(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, extension))
            if TEXT_EXTENSIONS
                .iter()
                .any(|text| extension.eq_ignore_ascii_case(text)) =>
        {
            stem
        }
        _ => name,
    }
}

/// Season and episodes of the texts of one archive.
///
/// Source: SEARCH.md 7.1 to 7.5.
pub(super) fn numbers_of(paths: &[PathParts]) -> Vec<PathNumbers> {
    let mut numbers: Vec<PathNumbers> = paths.iter().map(numbers_of_path).collect();
    let has_episode = |numbers: &PathNumbers| numbers.episodes.is_some();
    if 1 < paths.len() && !numbers.iter().any(has_episode) {
        for (numbers, episode) in numbers.iter_mut().zip(counted_episodes(paths)) {
            numbers.episodes = episode.map(|episode| EpisodeRange {
                first: episode,
                last: episode,
                is_marked: false,
            });
        }
    }
    numbers
}

/// An episode where it is found in a part.
struct FoundEpisode {
    numbers: EpisodeNumbers,
    season: Option<u32>,
    is_marked: bool,
    /// Place of the word behind it.
    next: usize,
}

fn numbers_of_path(path: &PathParts) -> PathNumbers {
    let found = path
        .parts
        .iter()
        .find_map(|part| Some((part, find_episode(part)?)));
    let season = match &found {
        Some((_, episode)) if episode.season.is_some() => episode.season,
        _ => path.parts.iter().find_map(find_season),
    };
    let season = if is_special(path) { Some(0) } else { season };
    let episodes = found.map(|(part, episode)| EpisodeRange {
        first: episode.numbers.first,
        last: last_episode(part, &episode, season),
        is_marked: episode.is_marked,
    });
    PathNumbers { season, episodes }
}

/// Episode of a part: by its first marker, else by its first episode word.
fn find_episode(part: &PathWords) -> Option<FoundEpisode> {
    let marked = (0..part.len()).find_map(|idx| {
        let marker = marker(part.word(idx))?;
        Some(FoundEpisode {
            numbers: marker.episodes,
            season: Some(marker.season),
            is_marked: true,
            next: idx + 1,
        })
    });
    marked.or_else(|| (0..part.len()).find_map(|idx| named_episode(part, idx)))
}

fn named_episode(part: &PathWords, idx: usize) -> Option<FoundEpisode> {
    let word = part.word(idx);
    if let Some(numbers) = episode_word(word) {
        return Some(FoundEpisode {
            numbers,
            season: None,
            is_marked: false,
            next: idx + 1,
        });
    }
    if !is_episode_word(word) {
        return None;
    }
    let first = number(part.word(idx + 1), 4)?;
    let second = part.word(idx + 2);
    let is_pointed = part.word(idx + 1).len() == 1
        && first != 0
        && second.len() == 2
        && part.gap(idx + 2) == ".";
    if let Some(episode) = number(second, 2).filter(|_| is_pointed) {
        return Some(FoundEpisode {
            numbers: EpisodeNumbers::single(episode),
            season: Some(first),
            is_marked: true,
            next: idx + 3,
        });
    }
    Some(FoundEpisode {
        numbers: EpisodeNumbers::single(first),
        season: None,
        is_marked: false,
        next: idx + 2,
    })
}

/// The last episode, as far as the words after the first one continue the range.
fn last_episode(part: &PathWords, found: &FoundEpisode, season: Option<u32>) -> u32 {
    let marked_season = found.season.or(season);
    let mut last = found.numbers.largest;
    for idx in found.next..part.len() {
        let word = part.word(idx);
        let marked = marker(word)
            .filter(|marker| Some(marker.season) == marked_season)
            .map(|marker| marker.episodes);
        let further = marked.or_else(|| further_episodes(word));
        if let Some(numbers) = further.filter(|numbers| last < numbers.largest) {
            last = numbers.largest;
            continue;
        }
        let is_glued = part.gap(idx).ends_with('-');
        let is_long = (2..=3).contains(&word.len()) || is_glued && word.len() == 1;
        match number(word, 3) {
            Some(number) if is_long && Some(number) == last.checked_add(1) => last = number,
            _ => break,
        }
    }
    last
}

/// Season of a part, from left to right.
fn find_season(part: &PathWords) -> Option<u32> {
    (0..part.len()).find_map(|idx| {
        let word = part.word(idx);
        let before = part.word_before(idx);
        if let Some(marker) = marker(word) {
            return Some(marker.season);
        }
        if let Some(season) = season_word(word) {
            return Some(season);
        }
        if is_full_season_word(word)
            && let Some(season) = ordinal_before(part, idx)
        {
            return Some(season);
        }
        if is_season_word(word)
            && let Some(season) = number(part.word(idx + 1), 2)
        {
            return Some(season);
        }
        if is_full_season_word(word) {
            number(before, 2)
        } else {
            None
        }
    })
}

/// An ordinal before a word: `2nd`, `segunda`, or `2` and one letter.
fn ordinal_before(part: &PathWords, idx: usize) -> Option<u32> {
    let before = part.word_before(idx);
    if let Some(season) = ordinal(before) {
        return Some(season);
    }
    let is_letter = before.len() == 1 && before.bytes().all(|byte| byte.is_ascii_lowercase());
    if is_letter {
        number(part.word_before(idx - 1), 2)
    } else {
        None
    }
}

/// Returns true in a directory of specials.
fn is_special(path: &PathParts) -> bool {
    let mut has_season_below = false;
    for part in &path.parts[1..] {
        let is_named = |names: &[&str]| part.len() == 1 && names.contains(&part.word(0));
        if is_named(&["specials", "especiales", "ovas"])
            || is_named(&["extras"]) && !has_season_below
        {
            return true;
        }
        has_season_below |= find_season(part).is_some();
    }
    false
}

/// Episodes by the number in which base names differ.
///
/// Source: SEARCH.md 7.5.
fn counted_episodes(paths: &[PathParts]) -> Vec<Option<u32>> {
    let bases: Vec<Option<&PathWords>> = paths
        .iter()
        .map(|path| {
            let has_number = path.parts[0].iter().any(|word| number(word, 4).is_some());
            (has_number && !is_numbered_language(&path.stem)).then(|| &path.parts[0])
        })
        .collect();
    let numbered: Vec<&PathWords> = bases.iter().flatten().copied().collect();
    let is_shared = |idx: usize, word: &str| numbered.iter().all(|base| base.word(idx) == word);
    let episodes: Vec<Option<u32>> = bases
        .iter()
        .map(|base| {
            let base = (*base)?;
            (0..base.len()).find_map(|idx| {
                let word = base.word(idx);
                number(word, 4).filter(|_| !is_shared(idx, word))
            })
        })
        .collect();
    let found_count = episodes.iter().flatten().count();
    if paths.len() < 2 * found_count {
        episodes
    } else {
        vec![None; paths.len()]
    }
}

/// Returns true for `2_English`.
fn is_numbered_language(stem: &str) -> bool {
    let Some((digits, language)) = stem.split_once('_') else {
        return false;
    };
    number(digits, 2).is_some() && language_of(language).is_some()
}

/// A single number from 100 on as season and episode, when its season is that of the path, else the
/// wanted one.
///
/// Source: SEARCH.md 7.6.
pub(super) fn split_number(numbers: PathNumbers, wanted_season: Option<u32>) -> PathNumbers {
    let Some(range) = numbers.episodes.filter(|range| range.first == range.last) else {
        return numbers;
    };
    let (season, episode) = (range.first / 100, range.first % 100);
    let is_season = numbers.season.or(wanted_season) == Some(season);
    if range.first < 100 || episode == 0 || range.is_marked || !is_season {
        return numbers;
    }
    PathNumbers {
        season: Some(season),
        episodes: Some(EpisodeRange {
            first: episode,
            last: episode,
            is_marked: true,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> (Option<u32>, Option<[u32; 2]>) {
        let numbers = numbers_of(&[PathParts::of(path)])[0];
        let episodes = numbers.episodes.map(|range| [range.first, range.last]);
        (numbers.season, episodes)
    }

    fn check(path: &str, season: Option<u32>, episodes: Option<[u32; 2]>) {
        assert_eq!(read(path), (season, episodes), "{path}");
    }

    #[test]
    fn search_rule_7_2_episodes() {
        check("Show.S01E02-E03.srt", Some(1), Some([2, 3]));
        check("1x02.srt", Some(1), Some([2, 2]));
        check("T1E02.srt", Some(1), Some([2, 2]));
        check("Cap.102.srt", None, Some([102, 102]));
        check("Temporada 1/02 - Título.srt", Some(1), None);
        check("2ª Temporada/Capítulo 3.srt", Some(2), Some([3, 3]));
        check("Cap. 1.02.srt", Some(1), Some([2, 2]));
        check("Cap. 1 02.srt", None, Some([1, 2]));
        check("S01E02/3_Spanish.srt", Some(1), Some([2, 2]));
        check("a/b.srt", None, None);
    }

    #[test]
    fn search_rule_7_3_seasons() {
        check("Season 2/a.srt", Some(2), None);
        check("Show s2/a.srt", Some(2), None);
        check("1.ª temporada/a.srt", Some(1), None);
        check("tercera temporada/a.srt", Some(3), None);
        check("2 Season/a.srt", Some(2), None);
        check("Specials/Show.S01E02.srt", Some(0), Some([2, 2]));
        check("Season 1/Extras/a.srt", Some(0), None);
        check("Extras/Season 1/a.srt", Some(1), None);
        check("Season 2/cap 5.srt", Some(2), Some([5, 5]));
    }

    #[test]
    fn search_rule_7_4_ranges() {
        check("S01E02-03.srt", Some(1), Some([2, 3]));
        check("S01E02-3.srt", Some(1), Some([2, 3]));
        check("S01E02 3.srt", Some(1), Some([2, 2]));
        check("S01E02 03 04 06.srt", Some(1), Some([2, 4]));
        check("1x02 1x03 2x04.srt", Some(1), Some([2, 3]));
        check("S01E02E01.srt", Some(1), Some([2, 2]));
    }

    fn counted(paths: &[&str]) -> Vec<Option<u32>> {
        let parts: Vec<PathParts> = paths.iter().map(|path| PathParts::of(path)).collect();
        let numbers = numbers_of(&parts);
        numbers
            .iter()
            .map(|numbers| numbers.episodes.map(|range| range.first))
            .collect()
    }

    #[test]
    fn search_rule_7_5_numbers_in_which_names_differ() {
        assert_eq!(counted(&["24 01.srt", "24 02.srt"]), [Some(1), Some(2)]);
        assert_eq!(counted(&["01.srt", "a.srt"]), [None, None]);
        assert_eq!(
            counted(&["01.srt", "02.srt", "a.srt"]),
            [Some(1), Some(2), None]
        );
        assert_eq!(counted(&["01.srt"]), [None]);
    }

    #[test]
    fn search_rule_7_6_a_number_is_split_for_its_season() {
        let split = |path: &str, wanted| {
            let numbers = split_number(numbers_of(&[PathParts::of(path)])[0], wanted);
            (numbers.season, numbers.episodes.map(|range| range.first))
        };
        assert_eq!(split("Cap.102.srt", Some(1)), (Some(1), Some(2)));
        assert_eq!(split("Cap.102.srt", Some(2)), (None, Some(102)));
        assert_eq!(split("Season 1/Cap.102.srt", Some(2)), (Some(1), Some(2)));
        assert_eq!(split("Cap.100.srt", Some(1)), (None, Some(100)));
        assert_eq!(split("1x102.srt", Some(1)), (Some(1), Some(102)));
    }
}
