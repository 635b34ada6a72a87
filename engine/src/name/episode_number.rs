//! The number of an episode in the folder of a season (NAMES.md P2).

use crate::limits::COMPACT_EPISODE_MAX;

use super::marks::{Episodes, FolderSeason, date_at, glued};
use super::name_words::NameWords;
use super::path_words::is_technical;
use super::tokens::is_blank;
use super::word_class::{number, versioned_number, year};

/// A number of a name in the folder of a season.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathNumber {
    pub(crate) episodes: Episodes,
    /// Place behind its words.
    pub(crate) end: usize,
}

/// The number behind the title of the series, or in front of a name that does not begin with it.
pub(crate) fn path_number(
    words: &NameWords,
    series: &[String],
    series_year: Option<u32>,
) -> Option<PathNumber> {
    let tokens = &words.tokens;
    let begins_with_series = !series.is_empty()
        && series.len() <= tokens.len()
        && series
            .iter()
            .enumerate()
            .all(|(idx, word)| tokens.word(idx) == word);
    if !begins_with_series {
        return number_in_front(words);
    }
    let mut idx = series.len();
    if let Some(year) = words.years.iter().find(|year| year.words.start == idx) {
        if series_year.is_some_and(|series_year| series_year != year.year) {
            return None;
        }
        idx = year.words.end;
    }
    number_at(words, idx)
}

fn number_at(words: &NameWords, idx: usize) -> Option<PathNumber> {
    let tokens = &words.tokens;
    let word = tokens.word(idx);
    let first = versioned_number(word, 1..=4)?;
    let mut episodes = Episodes {
        first,
        last: first,
        is_cap: false,
    };
    let year_last = words.circumstances.year_last;
    let is_other = year(word, year_last).is_some()
        || date_at(tokens, idx, year_last).is_some()
        || tokens.is_source(idx);
    if is_other {
        return None;
    }
    let mut end = idx + 1;
    while let Some(further) = further(words, &episodes, end) {
        episodes.last = further;
        end += 1;
    }
    Some(PathNumber { episodes, end })
}

/// A larger number that continues a range (NAMES.md N4).
fn further(words: &NameWords, episodes: &Episodes, idx: usize) -> Option<u32> {
    let tokens = &words.tokens;
    let digits = match tokens.gap(idx) {
        "-" => 1..=3,
        "_" if episodes.last > 99 => 3..=4,
        _ => return None,
    };
    let further = glued(tokens.word(idx), digits)?;
    (episodes.last < further.last).then_some(further.last)
}

fn number_in_front(words: &NameWords) -> Option<PathNumber> {
    let tokens = &words.tokens;
    if !tokens.gap(0).chars().all(|c| is_blank(c) || c == '-') {
        return None;
    }
    let found = number_at(words, 0)?;
    let next = found.end;
    let gap = tokens.gap(next);
    let is_number = |idx: usize| number(tokens.word(idx), 1..=9).is_some();
    let is_ended = next == tokens.len()
        || (tokens.is_behind_dash(next) && !is_number(next))
        || gap.contains(['(', '[', '{'])
        || tokens.is_source(next);
    let is_before_letter = || {
        let has_letter = tokens.word(next).starts_with(char::is_alphabetic);
        let is_sign = |c: char| c == '-' || is_blank(c);
        let is_set_apart = !gap.is_empty() && gap.chars().all(is_sign);
        let is_other = |idx: usize| is_number(idx) && !is_technical(tokens, idx);
        is_set_apart && has_letter && !(next..tokens.len()).any(is_other)
    };
    (is_ended || is_before_letter()).then_some(found)
}

/// The first episode of numbers in the folder of a season: from 100 on they are season and
/// episode. The inner `None` is a range of more than two; the outer one is doubt.
pub(crate) fn first_episode(words: &NameWords, episodes: Episodes) -> Option<Option<u32>> {
    let Episodes { first, last, .. } = episodes;
    let is_pack = last > first.saturating_add(1);
    if first < 100 {
        return Some((!is_pack).then_some(first));
    }
    let FolderSeason::Number(season) = words.circumstances.folder else {
        return None;
    };
    let episode = first % 100;
    let is_certain = first / 100 == season
        && (1..=COMPACT_EPISODE_MAX).contains(&episode)
        && (season != 1 || words.source.is_some());
    is_certain.then(|| (!is_pack).then_some(episode))
}
