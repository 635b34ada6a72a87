//! A `query`, `title` or `release` value: folded, and parsed into words and markers.

use std::fmt;

use crate::limits::QUERY_WORDS_MAX;
use crate::model::Year;
use crate::text::{Markers, fold, title_key, words};

/// A `query`, `title` or `release` value: folded, with one or more words.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SearchText {
    /// The value in lower case, which names are read from.
    written: Box<str>,
    folded: String,
}

/// Error for a `query` with more words than [`crate::limits::QUERY_WORDS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyWords;

impl fmt::Display for TooManyWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a query has at most {QUERY_WORDS_MAX} words")
    }
}

impl std::error::Error for TooManyWords {}

impl SearchText {
    /// Folds a `query` value. `None` when it has no words (it counts as not supplied).
    ///
    /// ```
    /// use subcat_engine::SearchText;
    /// let text = SearchText::query("Lost 1x02").unwrap().unwrap();
    /// assert_eq!(text.folded(), "lost s01e02");
    /// assert_eq!(SearchText::query("!!!"), Ok(None));
    /// ```
    pub fn query(value: &str) -> Result<Option<Self>, TooManyWords> {
        let Some(text) = Self::title(value) else {
            return Ok(None);
        };
        // Counted after folding, which joins and drops words ("s1 e2 e3" is one).
        match text.words().count() {
            0..=QUERY_WORDS_MAX => Ok(Some(text)),
            _ => Err(TooManyWords),
        }
    }

    /// Folds a `title` value. `None` when it has no words (it counts as not supplied).
    pub fn title(value: &str) -> Option<Self> {
        let folded = fold(value);
        if folded.is_empty() {
            return None;
        }
        Some(Self {
            written: value.trim().to_lowercase().into(),
            folded,
        })
    }

    /// Folds a `release` value. `None` when it has no words (it counts as not supplied).
    pub fn release(value: &str) -> Option<Self> {
        Self::title(value)
    }

    /// The value in lower case: its punctuation separates the parts of a name.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// The folded text: words joined by single spaces.
    pub fn folded(&self) -> &str {
        &self.folded
    }

    /// Words of the value: one or more.
    pub fn words(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        words(&self.folded)
    }

    /// The number of a text that is a single word, `tt` and 5 to 10 digits. As a `query` it is a
    /// catalog id.
    ///
    /// Source: SEARCH.md 4.4.
    pub fn catalog_number(&self) -> Option<u64> {
        // Text is folded, so full-width digits are ASCII here. A space is not a digit: more words
        // than one are refused by the same test.
        let digits = self.folded.strip_prefix("tt")?;
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = is_number && (5..=10).contains(&digits.len());
        if is_number { digits.parse().ok() } else { None }
    }
}

/// Words of a value, with its markers separated from its plain words.
///
/// INVARIANT: there is a word, and there is a plain word.
#[derive(Debug, Clone)]
pub struct ParsedText<'a> {
    words: Vec<&'a str>,
    markers: Markers,
}

impl<'a> ParsedText<'a> {
    /// Parses a `query`; `year` is the `year` filter.
    pub(super) fn of_query(text: &'a SearchText, year: Option<Year>) -> Self {
        let words: Vec<&str> = text.words().collect();
        let markers = Markers::of_query(&words, year);
        Self { words, markers }
    }

    /// Parses a `title`.
    pub(super) fn of_title(text: &'a SearchText) -> Self {
        let words: Vec<&str> = text.words().collect();
        let markers = Markers::of_title(&words);
        Self { words, markers }
    }

    /// All words, in order.
    pub fn words(&self) -> &[&'a str] {
        &self.words
    }

    /// The markers.
    pub fn markers(&self) -> &Markers {
        &self.markers
    }

    /// The words that are not markers, in order.
    pub fn plain_words(&self) -> impl DoubleEndedIterator<Item = &'a str> + Clone {
        let markers = self.markers;
        let numbered = self.words.iter().enumerate();
        numbered
            .filter(move |(word_idx, _)| !markers.is_marker(*word_idx))
            .map(|(_, word)| *word)
    }

    /// The last plain word: the only one that may be the prefix of a title word (SEARCH.md 4.5).
    pub fn last_plain_word(&self) -> &'a str {
        let last = self.plain_words().next_back();
        last.expect("at least one word is not a marker")
    }

    /// The word of the episode marker.
    pub fn episode_word(&self) -> Option<&'a str> {
        self.markers
            .episode
            .map(|marker| self.words[marker.word_idx])
    }

    /// The word of the year marker.
    pub fn year_word(&self) -> Option<&'a str> {
        self.markers.year.map(|marker| self.words[marker.word_idx])
    }

    /// True if the word of the year marker is in the text twice (SEARCH.md 5.3).
    pub fn has_year_word_twice(&self) -> bool {
        let year = self.year_word();
        let is_year = |word: &&&str| Some(**word) == year;
        self.words.iter().filter(is_year).count() > 1
    }

    /// The title key of the plain words (SEARCH.md 4.10).
    pub fn plain_title_key(&self) -> String {
        let plain: Vec<&str> = self.plain_words().collect();
        // Folded again: words that a marker stood between may be an episode.
        title_key(&plain.join(" "))
    }

    /// The words joined by spaces: first all of them, then without each of the markers, then
    /// without both. One to four texts.
    ///
    /// Source: SEARCH.md 5.1, relevance 2 and 3.
    pub fn strings(&self) -> Vec<String> {
        let mut strings = vec![self.words.join(" ")];
        let episode = self.markers.episode.map(|marker| marker.word_idx);
        let year = self.markers.year.map(|marker| marker.word_idx);
        if episode.is_some() {
            strings.push(self.joined_without(episode, None));
        }
        if year.is_some() {
            strings.push(self.joined_without(None, year));
        }
        if episode.is_some() && year.is_some() {
            strings.push(self.joined_without(episode, year));
        }
        strings
    }

    /// The only plain word of a text without markers, however often it occurs.
    pub(crate) fn only_word(&self) -> Option<&str> {
        let word = self.last_plain_word();
        let has_marker = self.markers.episode.is_some() || self.markers.year.is_some();
        let is_only = !has_marker && self.plain_words().all(|other| other == word);
        if is_only { Some(word) } else { None }
    }

    fn joined_without(&self, first: Option<usize>, second: Option<usize>) -> String {
        let mut kept = Vec::with_capacity(self.words.len());
        for (word_idx, word) in self.words.iter().enumerate() {
            if Some(word_idx) != first && Some(word_idx) != second {
                kept.push(*word);
            }
        }
        kept.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> SearchText {
        SearchText::title(value).unwrap()
    }

    #[test]
    fn search_rule_4_1_a_text_without_words_is_not_supplied() {
        for value in ["", "   ", "!!!", "''", "\u{200B}", "\u{301}"] {
            assert_eq!(SearchText::query(value), Ok(None), "{value:?}");
            assert_eq!(SearchText::title(value), None, "{value:?}");
        }
    }

    #[test]
    fn words_are_counted_after_folding() {
        let words = |count: usize| "a ".repeat(count);
        assert!(SearchText::query(&words(QUERY_WORDS_MAX)).is_ok());
        assert_eq!(
            SearchText::query(&words(QUERY_WORDS_MAX + 1)),
            Err(TooManyWords)
        );
        let episodes = format!("s1{}", " e2".repeat(QUERY_WORDS_MAX + 1));
        assert_eq!(text(&episodes).folded(), "s01e02");
        assert!(SearchText::query(&episodes).is_ok());
        assert!(SearchText::title(&words(QUERY_WORDS_MAX + 1)).is_some());
    }

    #[test]
    fn search_rule_4_4_one_word_of_tt_and_digits_is_a_catalog_id() {
        let check = |value: &str, expected| assert_eq!(text(value).catalog_number(), expected);
        check("tt12345", Some(12345));
        check("TT0012345", Some(12345));
        check(" tt-12345 ", None);
        check("«tt1234567890»", Some(1_234_567_890));
        check("ｔｔ１２３４５", Some(12345));
        check("tt1234", None);
        check("tt12345678901", None);
        check("tt12345 x", None);
        check("12345", None);
        check("tt1234a", None);
        check("tt١٢٣٤٥", None);
    }

    #[test]
    fn search_rule_4_10_the_title_key_is_that_of_the_plain_words() {
        let key = |value: &str| {
            let value = text(value);
            ParsedText::of_query(&value, None).plain_title_key()
        };
        assert_eq!(key("The S.W.A.T. S01E16 2017"), "swat");
        assert_eq!(key("s00e01 2049 ep99"), "s00e01");
    }

    #[test]
    fn strings_leave_out_none_one_or_both_markers() {
        let value = text("Lost S01E02 2004 pilot");
        let both = ParsedText::of_query(&value, None);
        assert_eq!(
            both.strings(),
            [
                "lost s01e02 2004 pilot",
                "lost 2004 pilot",
                "lost s01e02 pilot",
                "lost pilot"
            ]
        );
        assert_eq!(both.plain_words().collect::<Vec<_>>(), ["lost", "pilot"]);
        assert_eq!(both.last_plain_word(), "pilot");
        assert_eq!(both.episode_word(), Some("s01e02"));
        assert_eq!(both.year_word(), Some("2004"));
        let title = ParsedText::of_title(&value);
        assert_eq!(
            title.strings(),
            ["lost s01e02 2004 pilot", "lost 2004 pilot"]
        );
    }
}
