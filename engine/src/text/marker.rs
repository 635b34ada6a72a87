//! Markers: words of a request that name an episode or a year (SEARCH.md 2).

use crate::limits::{SEARCH_YEAR_MIN, YEAR_MAX};
use crate::model::{Number, Year};

use super::EpisodeWord;

/// A season, or an episode of a season, that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpisodeMarker {
    /// Index of its word.
    pub word_idx: usize,
    /// The season.
    pub season: Number,
    /// The episode; none for a season marker.
    pub episode: Option<Number>,
}

/// A year that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct YearMarker {
    /// Index of its word.
    pub word_idx: usize,
    /// The year.
    pub year: Year,
}

/// The markers among the words of a `query` or `title`. All other words are plain words.
///
/// INVARIANT: at least one word is not a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Markers {
    /// The episode marker.
    pub episode: Option<EpisodeMarker>,
    /// The year marker; never of a `title`.
    pub year: Option<YearMarker>,
}

impl Markers {
    /// The markers of a `query`; `year` is the `year` parameter, when it is given.
    ///
    /// Source: SEARCH.md 2.
    ///
    /// ```
    /// use subcat_engine::internals::Markers;
    /// let markers = Markers::of_query(&["lost", "s01e02", "2004"], None);
    /// assert_eq!(markers.episode.unwrap().word_idx, 1);
    /// assert_eq!(markers.year.unwrap().word_idx, 2);
    /// let title_only = Markers::of_query(&["1917"], None);
    /// assert_eq!(title_only, Markers::default());
    /// ```
    pub fn of_query<S: AsRef<str>>(words: &[S], year: Option<Year>) -> Self {
        let markers = Self {
            episode: episode_marker(words),
            year: year_marker(words, year),
        };
        markers.leave_a_plain_word(words.len())
    }

    /// The markers of a `title`: an episode marker or none.
    ///
    /// Source: SEARCH.md 2.
    pub fn of_title<S: AsRef<str>>(words: &[S]) -> Self {
        let markers = Self {
            episode: episode_marker(words),
            year: None,
        };
        markers.leave_a_plain_word(words.len())
    }

    /// True if the word at this index is a marker.
    pub fn is_marker(&self, word_idx: usize) -> bool {
        let is_episode = self
            .episode
            .is_some_and(|marker| marker.word_idx == word_idx);
        let is_year = self.year.is_some_and(|marker| marker.word_idx == word_idx);
        is_episode || is_year
    }

    /// If every word is a marker, the year word becomes a plain word; if every word is still a
    /// marker, the episode word becomes one.
    fn leave_a_plain_word(mut self, words_count: usize) -> Self {
        let markers_count = |markers: &Self| {
            usize::from(markers.episode.is_some()) + usize::from(markers.year.is_some())
        };
        // The year becomes a plain word first: in "1917 s01" it is the title.
        if markers_count(&self) == words_count {
            self.year = None;
        }
        if markers_count(&self) == words_count {
            self.episode = None;
        }
        self
    }
}

/// The first word that reads `s01e02` or `s01`, with numbers that a record can have.
fn episode_marker<S: AsRef<str>>(words: &[S]) -> Option<EpisodeMarker> {
    let number = |number: u32| u16::try_from(number).ok().and_then(Number::new);
    for (word_idx, word) in words.iter().enumerate() {
        let Some(read) = EpisodeWord::parse(word.as_ref()) else {
            continue;
        };
        let Some(season) = number(read.season) else {
            continue;
        };
        // `s01e00` is a special: it names no episode that a record could have as a number.
        let episode = read.episode.map(number);
        if episode != Some(None) {
            let episode = episode.flatten();
            return Some(EpisodeMarker {
                word_idx,
                season,
                episode,
            });
        }
    }
    None
}

/// The last word that is the given year; without one, the last of four digits that is a year a
/// search may name.
fn year_marker<S: AsRef<str>>(words: &[S], given: Option<Year>) -> Option<YearMarker> {
    let mut found = None;
    for (word_idx, word) in words.iter().enumerate() {
        let Some(year) = parse_year(word.as_ref()) else {
            continue;
        };
        if given.is_none_or(|given| given == year) {
            found = Some(YearMarker { word_idx, year });
        }
    }
    found
}

/// A word of four ASCII digits from 1900 to 2100.
pub(crate) fn parse_year(word: &str) -> Option<Year> {
    let is_four_digits = word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.parse().ok()?;
    let is_searchable = (SEARCH_YEAR_MIN..=YEAR_MAX).contains(&number);
    if !is_four_digits || !is_searchable {
        return None;
    }
    Year::new(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{fold, words};

    /// `expected` is the folded value with markers in brackets.
    fn check(value: &str, year: Option<u16>, expected: &str) {
        let folded = fold(value);
        let words: Vec<&str> = words(&folded).collect();
        let year = year.map(|year| Year::new(year).unwrap());
        assert_eq!(bracketed(&words, Markers::of_query(&words, year)), expected);
    }

    fn check_title(value: &str, expected: &str) {
        let folded = fold(value);
        let words: Vec<&str> = words(&folded).collect();
        assert_eq!(bracketed(&words, Markers::of_title(&words)), expected);
    }

    fn bracketed(words: &[&str], markers: Markers) -> String {
        let mut shown = Vec::new();
        for (word_idx, word) in words.iter().enumerate() {
            if markers.is_marker(word_idx) {
                shown.push(format!("[{word}]"));
            } else {
                shown.push((*word).to_string());
            }
        }
        shown.join(" ")
    }

    #[test]
    fn search_rule_2_1_the_first_episode_word_is_the_marker() {
        check("lost s01e02", None, "lost [s01e02]");
        check("lost 1x02 s03", None, "lost [s01e02] s03");
        check("s03 lost 1x02", None, "[s03] lost s01e02");
        check("24 S01", None, "24 [s01]");
        check("lost s1 e2", None, "lost [s01e02]");
        check("lost e2 s1", None, "lost e2 [s01]");
        check("lost s2014e18", None, "lost [s2014e18]");
        check("lost s1e65535", None, "lost [s01e65535]");
        check("lost s1e65536", None, "lost s01e65536");
        check("lost s2014", None, "lost s2014");
    }

    #[test]
    fn search_rule_2_1_numbers_are_at_least_1() {
        check("lost s00e01", None, "lost s00e01");
        check("lost s01e00", None, "lost s01e00");
        check("lost s00", None, "lost s00");
        check("lost s00e01 s02", None, "lost s00e01 [s02]");
        check("lost s1e0 s1e1", None, "lost s01e00 [s01e01]");
    }

    #[test]
    fn search_rule_2_2_the_last_year_is_the_marker() {
        check("blade runner 2049", None, "blade runner [2049]");
        check("blade runner 2049 2017", None, "blade runner 2049 [2017]");
        check("2001 odyssey", None, "[2001] odyssey");
        check("x 1899", None, "x 1899");
        check("x 1900", None, "x [1900]");
        check("x 2100", None, "x [2100]");
        check("x 2101", None, "x 2101");
        check("x 02001", None, "x 02001");
        check("x ２００１", None, "x [2001]");
        check("x ٢٠٠١", None, "x ٢٠٠١");
    }

    #[test]
    fn search_rule_2_2_a_given_year_decides() {
        check(
            "blade runner 2049 2017",
            Some(2049),
            "blade runner [2049] 2017",
        );
        check(
            "blade runner 2049 2017",
            Some(2017),
            "blade runner 2049 [2017]",
        );
        check("blade runner 2049", Some(2017), "blade runner 2049");
        check("x 2017 y 2017", Some(2017), "x 2017 y [2017]");
    }

    #[test]
    fn search_rule_2_3_a_plain_word_is_left() {
        check("1917", None, "1917");
        check("s01", None, "s01");
        check("s01e02", None, "s01e02");
        check("s01 2004", None, "[s01] 2004");
        check("2004 s01", None, "2004 [s01]");
        check("1917 2019", None, "1917 [2019]");
        check("1917 2019 s01", None, "1917 [2019] [s01]");
        check("s01 s02", None, "[s01] s02");
        check("1917", Some(1917), "1917");
    }

    #[test]
    fn search_rule_2_a_title_has_no_year_marker() {
        check_title("Blade Runner 2049", "blade runner 2049");
        check_title("Lost S01E02 2004", "lost [s01e02] 2004");
        check_title("S01E02", "s01e02");
        check_title("2004 S01", "2004 [s01]");
    }
}
