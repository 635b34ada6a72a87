//! A name as words, with its marks, years and source words: the input of all rules.

use std::ops::Range;

use super::clean::CleanName;
use super::marks::{Circumstances, Episodes, Mark, MarkKind, glued, marks};
use super::title::{NamePart, TitleStop, trim};
use super::tokens::NameTokens;
use super::word_class::{EPISODE_WORDS, is_one_of, number, year};
use super::years::{YearWords, years};

/// A name without what N1 removes, as words of known classes.
#[derive(Debug, Clone)]
pub(crate) struct NameWords {
    pub(crate) tokens: NameTokens,
    pub(crate) marks: Vec<Mark>,
    pub(crate) years: Vec<YearWords>,
    /// The first source word.
    pub(crate) source: Option<usize>,
    pub(crate) ids: Vec<String>,
    pub(crate) has_group: bool,
    pub(crate) has_id: bool,
    pub(crate) circumstances: Circumstances,
}

/// The title of an episode and the year behind it.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    pub(crate) title: NamePart,
    pub(crate) year: Option<YearWords>,
    pub(crate) series_phrase: Option<Range<usize>>,
}

impl NameWords {
    /// Splits a name without its ending. Cost: linear in the name; microseconds.
    pub(crate) fn new(name: &str, circumstances: Circumstances) -> Self {
        let clean = CleanName::new(name, circumstances.year_last);
        if let Some(text) = clean.without_copy() {
            let words = Self::of(&clean, text, circumstances);
            if !circumstances.is_query || words.ends_in_mark_year_or_source() {
                return words;
            }
        }
        Self::of(&clean, clean.text.clone(), circumstances)
    }

    fn of(clean: &CleanName, text: String, circumstances: Circumstances) -> Self {
        let tokens = NameTokens::of_plain(text);
        let years = years(&tokens, circumstances.year_last);
        let marks = marks(&tokens, &years, &circumstances);
        Self {
            years,
            source: tokens.first_source(),
            tokens,
            marks,
            ids: clean.ids.clone(),
            has_group: clean.has_group,
            has_id: clean.has_id,
            circumstances,
        }
    }

    fn ends_in_mark_year_or_source(&self) -> bool {
        let len = self.tokens.len();
        let ends_in_source = (1..=2).any(|words| {
            len.checked_sub(words)
                .is_some_and(|idx| self.tokens.source_len(idx) == words)
        });
        ends_in_source
            || self.marks.last().is_some_and(|mark| mark.words.end == len)
            || self.years.last().is_some_and(|year| year.words.end == len)
    }

    /// The part of the name before a word.
    pub(crate) fn part_before(&self, idx: usize, byte: usize) -> NamePart {
        NamePart {
            words: 0..idx,
            bytes: 0..byte,
        }
    }

    /// The title of an episode, which ends at a mark that begins at `mark`, or at a source word
    /// before it; and its year (NAMES.md N5).
    pub(crate) fn heading(&self, mark: usize, episode: Option<u32>) -> Heading {
        let stop = self.source.map_or(mark, |source| source.min(mark));
        let stop_kind = if stop < mark {
            TitleStop::Source
        } else {
            TitleStop::Mark
        };
        let mut title = self.part_before(stop, self.tokens.start(stop));
        self.drop_number(&mut title, episode);
        let trimmed = trim(&self.tokens, title, Some(stop_kind));
        let Some(year) = self.year_of(&trimmed.span) else {
            return Heading {
                title: trimmed.span,
                year: None,
                series_phrase: trimmed.series_phrase,
            };
        };
        let bracket = self.tokens.lone_bracket(&year.words);
        let mut title = trimmed.span;
        if year.words.start == title.words.start {
            let end = bracket
                .as_ref()
                .map_or(title.bytes.start, |bracket| bracket.end);
            title.words.start = year.words.end;
            title.bytes.start = end.min(title.bytes.end);
            return Heading {
                title,
                year: Some(year),
                series_phrase: trimmed.series_phrase,
            };
        }
        title.words.end = year.words.start;
        let stop_kind = if bracket.is_some() {
            TitleStop::BracketYear
        } else {
            TitleStop::PlainYear
        };
        title.bytes.end = bracket.map_or(self.tokens.start(year.words.start), |it| it.start);
        let before_year = trim(&self.tokens, title, Some(stop_kind));
        Heading {
            title: before_year.span,
            year: Some(year),
            series_phrase: before_year.series_phrase.or(trimmed.series_phrase),
        }
    }

    /// Removes an episode word, or ` - N` of the episode, from the end of a title.
    fn drop_number(&self, title: &mut NamePart, episode: Option<u32>) {
        let Some(last) = title.words.end.checked_sub(1) else {
            return;
        };
        let word = self.tokens.word(last);
        let is_number =
            episode.is_some() && number(word, 1..=5) == episode && self.tokens.is_behind_dash(last);
        if is_number || is_one_of(word, &EPISODE_WORDS) {
            title.words.end = last;
            title.bytes.end = self.tokens.start(last);
        }
    }

    /// The last year of a title that is its last word or alone in brackets.
    fn year_of(&self, title: &NamePart) -> Option<YearWords> {
        let is_year = |year: &&YearWords| {
            let is_last = year.words.end == title.words.end;
            let is_inside = year.words.end <= title.words.end;
            let is_lone = self.tokens.lone_bracket(&year.words).is_some();
            let is_first = year.words.start == title.words.start;
            let leaves_words = !(is_first && is_last);
            is_inside && leaves_words && (is_lone || is_last)
        };
        self.years.iter().rev().find(is_year).cloned()
    }

    /// The number of an episode behind a group and ` - `, before the end, a bracket or a source
    /// word (NAMES.md N5): `[Grp] Title - 05 [1080p]`.
    pub(crate) fn group_number(&self) -> Option<(usize, Episodes)> {
        if !self.has_group {
            return None;
        }
        (1..self.tokens.len()).find_map(|idx| {
            let word = self.tokens.word(idx);
            let episodes = glued(word, 2..=4)?;
            let next = idx + 1;
            let is_before_end = next == self.tokens.len()
                || self.tokens.gap(next).contains(['(', '[', '{'])
                || self.tokens.is_source(next);
            let is_episode = self.tokens.is_behind_dash(idx)
                && is_before_end
                && year(word, self.circumstances.year_last).is_none();
            is_episode.then_some((idx, episodes))
        })
    }

    /// The first mark.
    pub(crate) fn first_mark(&self) -> Option<&Mark> {
        self.marks.first()
    }

    /// The first mark of a season without episode.
    pub(crate) fn first_season(&self) -> Option<(usize, &Mark)> {
        let is_season = |mark: &&Mark| matches!(mark.kind, MarkKind::Season(_));
        self.marks
            .iter()
            .enumerate()
            .find(|(_, mark)| is_season(mark))
    }
}
