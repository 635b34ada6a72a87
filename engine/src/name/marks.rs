//! Marks of a name: the words that give episode, season, date or number (NAMES.md N3 and N4).

use std::ops::Range;

use super::tokens::{NameTokens, ends_in_dash, is_blank};
use super::word_class::{
    EPISODE_WORDS, PART_WORDS, is_any_season_word, is_one_of, is_season_plural, is_season_word,
    leading_number, month, number, ordinal, year,
};
use super::years::YearWords;

/// The season given by the folder of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderSeason {
    /// The name is in no folder of a season.
    Outside,
    /// The name is in the folder of an unknown season: `Season 1-3`.
    Unknown,
    /// The name is in the folder of this season; 0 for specials.
    Number(u32),
}

/// The circumstances in which a name is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Circumstances {
    /// True for the query of a search, which is read by other rules in part (NAMES.md N).
    pub(crate) is_query: bool,
    /// The last number that is a year.
    pub(crate) year_last: u32,
    pub(crate) folder: FolderSeason,
}

/// A day given by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameDate {
    /// The year, from 1900 on.
    pub year: u32,
    /// The month, 1 to 12.
    pub month: u32,
    /// The day, 1 to 31.
    pub day: u32,
}

/// Episodes of one mark, from the first to the last; equal for a single one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Episodes {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// True behind `cap`: from 100 on the number may be season and episode.
    pub(crate) is_cap: bool,
}

/// The season of a season mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeasonMark {
    Number(u32),
    /// Several seasons, or one that a number behind it makes none (NAMES.md N4).
    None {
        /// True if that number stands behind a blank, a dot, `_`, ` - ` or a bracket: it may be
        /// an episode.
        may_be_episode: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkKind {
    Episode { season: u32, episodes: Episodes },
    Season(SeasonMark),
    Date(NameDate),
    Number { episodes: Episodes, is_spelt: bool },
}

/// A mark, and the words that it consists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) kind: MarkKind,
    pub(crate) words: Range<usize>,
}

/// A season's words, before what stands behind them is known.
struct Season {
    number: u32,
    end: usize,
    /// True for words that are a mark only directly before a number: `Part 3`.
    needs_number: bool,
    is_plural: bool,
}

/// All marks of a name, from left to right.
pub(crate) fn marks(
    tokens: &NameTokens,
    years: &[YearWords],
    circumstances: &Circumstances,
) -> Vec<Mark> {
    let scan = MarkScan {
        tokens,
        years,
        circumstances,
        source: tokens.first_source(),
    };
    let mut marks = Vec::new();
    let mut idx = 0;
    while idx < tokens.len() {
        if let Some(mark) = scan.mark_at(idx) {
            idx = mark.words.end;
            marks.push(mark);
        } else {
            idx += 1;
        }
    }
    marks
}

/// The date that begins at a word, and the place behind it.
pub(crate) fn date_at(
    tokens: &NameTokens,
    idx: usize,
    year_last: u32,
) -> Option<(NameDate, usize)> {
    let two_digits = |idx| number(tokens.word(idx), 2..=2);
    let year_at = |idx| year(tokens.word(idx), year_last);
    if let (Some(year), Some(month), Some(day)) =
        (year_at(idx), two_digits(idx + 1), two_digits(idx + 2))
    {
        return Some((date(year, month, day)?, idx + 3));
    }
    if let (Some(day), Some(month), Some(year)) =
        (two_digits(idx), two_digits(idx + 1), year_at(idx + 2))
    {
        return Some((date(year, month, day)?, idx + 3));
    }
    let (day, rest) = leading_number(tokens.word(idx), 1..=2)?;
    if !(rest.is_empty() || is_one_of(rest, &["st", "nd", "rd", "th"])) {
        return None;
    }
    let skip_de = |idx| idx + usize::from(tokens.word(idx) == "de");
    let month_idx = skip_de(idx + 1);
    let year_idx = skip_de(month_idx + 1);
    let day_and_month = date(year_at(year_idx)?, month(tokens.word(month_idx))?, day)?;
    Some((day_and_month, year_idx + 1))
}

/// A day; month and day are swapped if the month is not a valid one.
fn date(year: u32, month: u32, day: u32) -> Option<NameDate> {
    let (month, day) = if month > 12 {
        (day, month)
    } else {
        (month, day)
    };
    let is_day = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_day.then_some(NameDate { year, month, day })
}

struct MarkScan<'a> {
    tokens: &'a NameTokens,
    years: &'a [YearWords],
    circumstances: &'a Circumstances,
    /// The first source word.
    source: Option<usize>,
}

impl MarkScan<'_> {
    fn mark_at(&self, idx: usize) -> Option<Mark> {
        if let Some((season, episodes)) = self.episode_word(idx) {
            return Some(self.episode(idx, season, episodes, idx + 1));
        }
        if let Some(season) = self.season_at(idx)
            && let Some(mark) = self.season_mark(idx, &season)
        {
            return Some(mark);
        }
        // No date begins inside `2010-2013`, but behind the dash of `2010 - 2013.06.05`.
        let is_inside_years = self.years.iter().any(|year| {
            let is_second = year.words.contains(&idx) && year.words.start < idx;
            is_second && (year.is_joined || self.tokens.bracket(idx).is_some())
        });
        if !is_inside_years
            && let Some((date, end)) = date_at(self.tokens, idx, self.circumstances.year_last)
        {
            let kind = MarkKind::Date(date);
            return Some(Mark {
                kind,
                words: idx..end,
            });
        }
        let (episodes, is_spelt, end) = self.number_at(idx)?;
        let (episodes, end) = self.extended(None, episodes, end);
        let kind = MarkKind::Number { episodes, is_spelt };
        Some(Mark {
            kind,
            words: idx..end,
        })
    }

    fn episode(&self, start: usize, season: u32, episodes: Episodes, end: usize) -> Mark {
        let (episodes, end) = self.extended(Some(season), episodes, end);
        Mark {
            kind: MarkKind::Episode { season, episodes },
            words: start..end,
        }
    }

    /// The mark of a season and of what stands directly behind it.
    fn season_mark(&self, start: usize, season: &Season) -> Option<Mark> {
        if !season.is_plural {
            if let Some((episodes, end)) = self.number_behind(season) {
                return Some(self.episode(start, season.number, episodes, end));
            }
            if season.needs_number {
                return None;
            }
        }
        Some(Mark {
            kind: MarkKind::Season(self.counted_season(season)),
            words: start..season.end,
        })
    }

    /// A word that is season and episode: `S01E02`, `1x02`.
    fn episode_word(&self, idx: usize) -> Option<(u32, Episodes)> {
        let word = self.tokens.word(idx);
        if let Some(rest) = word.strip_prefix(['s', 't']) {
            let (season, rest) = leading_number(rest, 1..=4)?;
            let rest = match rest.strip_prefix('x') {
                Some(behind) if behind.starts_with(['e', 'c', 'x']) => behind,
                _ => rest,
            };
            let rest = rest
                .strip_prefix("ep")
                .or_else(|| rest.strip_prefix(['e', 'c', 'x']))?;
            return Some((season, glued(rest, 1..=5)?));
        }
        let (season, rest) = leading_number(word, 1..=2)?;
        let rest = rest.strip_prefix('x')?;
        let (episode, _) = leading_number(rest, 1..=4)?;
        let is_long = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let is_alone = || {
            idx == 0
                || self.tokens.is_behind_dash(idx)
                || self.tokens.lone_bracket(&(idx..idx + 1)).is_some()
        };
        if matches!(episode, 264 | 265) || !(is_long || is_alone()) {
            return None;
        }
        Some((season, glued(rest, 1..=4)?))
    }

    fn season_at(&self, idx: usize) -> Option<Season> {
        self.glued_season(idx)
            .or_else(|| self.season_word_and_number(idx))
            .or_else(|| self.number_and_season_word(idx))
            .or_else(|| self.season_before_number(idx))
    }

    /// `S01`, `season3`, `S2014`, `S01D02`.
    fn glued_season(&self, idx: usize) -> Option<Season> {
        let word = self.tokens.word(idx);
        let letters = word.bytes().position(|byte| byte.is_ascii_digit())?;
        let (name, rest) = word.split_at(letters);
        if !(name == "s" || is_season_word(name)) {
            return None;
        }
        let (season, rest) = leading_number(rest, 1..=2).or_else(|| {
            leading_number(rest, 4..=4).filter(|(season, _)| (1900..2100).contains(season))
        })?;
        let is_disc = |rest: &str| {
            rest.strip_prefix('d')
                .is_some_and(|disc| number(disc, 1..=2).is_some())
        };
        let is_behind_source = self.source.is_some_and(|source| source < idx);
        let is_group = name == "s" && is_behind_source && self.is_glued_by_dash(idx);
        let is_season = (rest.is_empty() || is_disc(rest)) && !is_group;
        is_season.then_some(Season {
            number: season,
            end: idx + 1,
            needs_number: false,
            is_plural: false,
        })
    }

    fn is_glued_by_dash(&self, idx: usize) -> bool {
        self.tokens.gap(idx).ends_with('-') && !self.tokens.is_behind_dash(idx)
    }

    /// `Season 3`, `Temp 3`, `Seasons 3`.
    fn season_word_and_number(&self, idx: usize) -> Option<Season> {
        let word = self.tokens.word(idx);
        let is_plural = is_season_plural(word);
        if !(is_plural || is_any_season_word(word)) || self.tokens.has_dash(idx + 1) {
            return None;
        }
        Some(Season {
            number: number(self.tokens.word(idx + 1), 1..=2)?,
            end: idx + 2,
            needs_number: false,
            is_plural,
        })
    }

    /// `2nd Season`, `Segunda temporada`; in queries `2 temporada`, `3 seasons`.
    fn number_and_season_word(&self, idx: usize) -> Option<Season> {
        let behind = self.tokens.word(idx + 1);
        let is_plural = is_season_plural(behind);
        if !(is_plural || is_any_season_word(behind)) {
            return None;
        }
        let word = self.tokens.word(idx);
        let is_followed = number(self.tokens.word(idx + 2), 1..=2).is_some();
        let plain = number(word, 1..=2)
            .filter(|_| self.circumstances.is_query && (is_plural || !is_followed));
        Some(Season {
            number: ordinal(word).or(plain)?,
            end: idx + 2,
            needs_number: false,
            is_plural,
        })
    }

    /// `Part 3`, `T2`, which are seasons only before a number.
    fn season_before_number(&self, idx: usize) -> Option<Season> {
        let word = self.tokens.word(idx);
        let found = |number, end, needs_number| Season {
            number,
            end,
            needs_number,
            is_plural: false,
        };
        if let Some(season) = word.strip_prefix('t').and_then(|rest| number(rest, 1..=2)) {
            let may_be_first = self.circumstances.folder != FolderSeason::Outside;
            let is_season = idx > 0 || may_be_first;
            return is_season.then(|| found(season, idx + 1, !self.circumstances.is_query));
        }
        let names = PART_WORDS.iter().chain(&["series"]);
        for name in names {
            let Some(rest) = word.strip_prefix(name) else {
                continue;
            };
            if let Some(season) = number(rest, 1..=2) {
                return Some(found(season, idx + 1, true));
            }
            if rest.is_empty() {
                let season = number(self.tokens.word(idx + 1), 1..=2)?;
                return Some(found(season, idx + 2, true));
            }
        }
        None
    }

    /// The number directly behind a season, and the place behind it.
    fn number_behind(&self, season: &Season) -> Option<(Episodes, usize)> {
        let idx = season.end;
        let word = self.tokens.word(idx);
        let behind_e = word
            .strip_prefix('x')
            .unwrap_or(word)
            .strip_prefix('e')
            .and_then(|rest| glued(rest, 1..=5));
        let behind_x = || word.strip_prefix('x').and_then(|rest| glued(rest, 1..=2));
        if let Some(episodes) = behind_e.or_else(behind_x) {
            return Some((episodes, idx + 1));
        }
        if word == "e"
            && let Some(episodes) = glued(self.tokens.word(idx + 1), 1..=5)
        {
            return Some((episodes, idx + 2));
        }
        if let Some((episodes, _, end)) = self.number_at(idx) {
            return Some((episodes, end));
        }
        if season.needs_number || self.begins_source_or_date(idx) {
            return None;
        }
        let is_set_apart =
            self.tokens.is_behind_dash(idx) || self.tokens.lone_bracket(&(idx..idx + 1)).is_some();
        if is_set_apart && let Some(episodes) = glued(word, 2..=3) {
            return Some((episodes, idx + 1));
        }
        let gap = self.tokens.gap(idx);
        if self.circumstances.is_query && !gap.is_empty() && gap.chars().all(is_blank) {
            return Some((glued(word, 2..=2)?, idx + 1));
        }
        None
    }

    fn begins_source_or_date(&self, idx: usize) -> bool {
        self.tokens.is_source(idx)
            || date_at(self.tokens, idx, self.circumstances.year_last).is_some()
    }

    /// The season of a season mark without episode (NAMES.md N4).
    fn counted_season(&self, season: &Season) -> SeasonMark {
        let none = |may_be_episode| SeasonMark::None { may_be_episode };
        if season.is_plural {
            return none(false);
        }
        let is_joined = is_one_of(self.tokens.word(season.end), &["a", "al", "to", "y", "and"]);
        let next = season.end + usize::from(is_joined);
        if is_season_plural(self.tokens.word(next)) {
            return none(false);
        }
        if let Some(other) = self.season_at(next) {
            let is_mark = !other.needs_number || self.number_behind(&other).is_some();
            if is_mark && (other.is_plural || other.number != season.number) {
                return none(false);
            }
            if is_mark {
                return SeasonMark::Number(season.number);
            }
        }
        let is_number = number(self.tokens.word(next), 1..=2).is_some();
        if is_number && !self.begins_source_or_date(next) {
            return none(!is_joined && is_loose(self.tokens.gap(next)));
        }
        SeasonMark::Number(season.number)
    }

    /// A number that a word marks as an episode: its numbers, true if it is spelt, and the position
    /// after it.
    fn number_at(&self, idx: usize) -> Option<(Episodes, bool, usize)> {
        let word = self.tokens.word(idx);
        if is_one_of(word, &EPISODE_WORDS) {
            let next = self.tokens.word(idx + 1);
            // `Ep 2x03` is the mark `2x03` behind a word.
            let mut episodes = glued(next, 1..=4).filter(|_| !next.contains('x'))?;
            episodes.is_cap = word == "cap";
            return Some((episodes, true, idx + 2));
        }
        for name in EPISODE_WORDS {
            if let Some(mut episodes) = word.strip_prefix(name).and_then(|it| glued(it, 1..=5)) {
                episodes.is_cap = name == "cap";
                return Some((episodes, false, idx + 1));
            }
        }
        let episodes = glued(word.strip_prefix('e')?, 2..=5)?;
        Some((episodes, false, idx + 1))
    }

    /// Adds the further episodes directly behind a mark (NAMES.md N4).
    fn extended(&self, season: Option<u32>, first: Episodes, end: usize) -> (Episodes, usize) {
        let (mut episodes, mut end) = (first, end);
        while let Some(further) = self.further(season, episodes.last, end)
            && episodes.last < further
        {
            episodes.last = further;
            end += 1;
        }
        (episodes, end)
    }

    /// The last number of a word that continues with a mark.
    fn further(&self, season: Option<u32>, last: u32, idx: usize) -> Option<u32> {
        if self.tokens.is_source(idx) {
            return None;
        }
        let word = self.tokens.word(idx);
        let behind = word
            .strip_prefix("ep")
            .or_else(|| word.strip_prefix(['e', 'x']));
        if let Some(episodes) = behind.and_then(|rest| glued(rest, 1..=5)) {
            return Some(episodes.last);
        }
        if let Some((other, episodes)) = self.episode_word(idx) {
            return (Some(other) == season).then_some(episodes.last);
        }
        match self.tokens.gap(idx) {
            "-" => Some(glued(word, 1..=3)?.last),
            "_" if last > 99 => Some(glued(word, 3..=4)?.last),
            _ => None,
        }
    }
}

/// True if a number behind this may be an episode: a blank, a dot, `_`, ` - ` or a bracket.
fn is_loose(gap: &str) -> bool {
    gap.contains(['(', '[', '{', ')', ']', '}'])
        || ends_in_dash(gap)
        || (!gap.is_empty() && gap.chars().all(is_blank))
}

/// The numbers of a text of digits with what may be glued to them: `02`, `02e03`, `02v2`, `02a`.
pub(crate) fn glued(text: &str, digits: std::ops::RangeInclusive<usize>) -> Option<Episodes> {
    let (first, mut rest) = leading_number(text, digits)?;
    let mut last = first;
    while let Some(more) = rest
        .strip_prefix("ep")
        .or_else(|| rest.strip_prefix(['e', 'x']))
    {
        let (number, behind) = leading_number(more, 1..=5)?;
        last = last.max(number);
        rest = behind;
    }
    if let Some(version) = rest.strip_prefix('v') {
        rest = leading_number(version, 1..=9)?.1;
    }
    matches!(rest, "" | "a" | "b" | "c").then_some(Episodes {
        first,
        last,
        is_cap: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::years::years;

    fn found(text: &str, is_query: bool) -> String {
        let circumstances = Circumstances {
            is_query,
            year_last: 2027,
            folder: FolderSeason::Outside,
        };
        let episodes = |it: Episodes| {
            let cap = if it.is_cap { "cap" } else { "" };
            if it.first == it.last {
                format!("{cap}{}", it.first)
            } else {
                format!("{cap}{}-{}", it.first, it.last)
            }
        };
        let shown = |mark: &Mark| match mark.kind {
            MarkKind::Episode {
                season,
                episodes: e,
            } => format!("{season}x{}", episodes(e)),
            MarkKind::Season(SeasonMark::Number(season)) => format!("s{season}"),
            MarkKind::Season(SeasonMark::None { may_be_episode }) => {
                format!("none{}", if may_be_episode { "?" } else { "" })
            }
            MarkKind::Date(date) => format!("{}-{}-{}", date.year, date.month, date.day),
            MarkKind::Number {
                episodes: e,
                is_spelt,
            } => {
                format!("{}{}", if is_spelt { "spelt " } else { "e" }, episodes(e))
            }
        };
        let tokens = NameTokens::new(text);
        let years = years(&tokens, circumstances.year_last);
        let marks = marks(&tokens, &years, &circumstances);
        marks.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(found(text, false), expected, "{text:?}");
    }

    fn check_query(text: &str, expected: &str) {
        assert_eq!(found(text, true), expected, "{text:?}");
    }

    #[test]
    fn n3_episodes() {
        check("Dark S01E02", "1x2");
        check("Dark s3ep13", "3x13");
        check("Dark T02C04", "2x4");
        check("Dark S01xE02", "1x2");
        check("Dark s02x04", "2x4");
        check("Dark S2014E18", "2014x18");
        check("Dark 2×04", "2x4");
        check("Dark 2x4", "");
        check("2x4", "2x4");
        check("Dark (2x4)", "2x4");
        check("Dark - 2x4", "2x4");
        check("Movie 12x265", "");
        check("Movie 1920x1080", "");
        check("LostS06E08", "");
        check("Dark S01E02v2", "1x2");
        check("Dark S01E02a", "1x2");
        check("Dark S03.E13", "3x13");
        check("Dark S02-x04", "2x4");
        check("Dark Season 3 Episode 13", "3x13");
        check("Dark - Season 02 - Episode 04", "2x4");
        check("Dark Tem 2 Cap 4", "2xcap4");
        check("Dark S3 [07]", "3x7");
        check("Dark S2 - 12", "2x12");
        check("Dark S2 E 5", "2x5");
        check("Dark T2 E04", "2x4");
        check("Dark Part 3 Chapter 2", "");
        check("Dark Parte 3 Capítulo 2", "3x2");
        check("Dark T2", "");
    }

    #[test]
    fn n3_queries_know_more_forms() {
        check("Dark S2 05", "none?");
        check_query("Dark S2 05", "2x5");
        check_query("Dark 2 temporada", "s2");
        check("Dark 2 temporada", "");
        check_query("Dark 3 Seasons", "none");
        check("Dark 1-3 Seasons", "");
        check_query("Dark T2", "s2");
        check_query("Dark S03 10 bit", "s3");
    }

    #[test]
    fn n3_seasons() {
        check("Dark S01", "s1");
        check("Dark S01D02", "s1");
        check("Dark S2014", "s2014");
        check("Dark season3", "s3");
        check("Dark Season 3", "s3");
        check("Dark Season - 3", "");
        check("Dark 2ª Temporada", "s2");
        check("Dark Third Season", "s3");
        check("Fargo 1080p DTS-S12", "");
        check("Fargo-S12", "s12");
    }

    #[test]
    fn n3_dates() {
        check("Show 2017.10.25", "2017-10-25");
        check("Show 25.10.2017", "2017-10-25");
        check("Show 10.25.2017", "2017-10-25");
        check("Show 25 October 2019", "2019-10-25");
        check("Show (2010-2013) 05.06.2014", "2014-6-5");
        check("Show (2010 - 2013) 05.06.2014", "2014-6-5");
        check("Show 2010 - 2013.06.05", "2013-6-5");
        check("Show 14 de marzo de 2019", "2019-3-14");
        check("Show 5th mar 2019", "2019-3-5");
        check("Show 2017.10.32", "");
        check("Show 2017.1.2", "");
    }

    #[test]
    fn n3_numbers() {
        check("Show E05", "e5");
        check("Show E5", "");
        check("Show ep5", "e5");
        check("Show Episode 5", "spelt 5");
        check("Show Cap.1503", "spelt cap1503");
        check("Show cap1503", "ecap1503");
    }

    #[test]
    fn n4_ranges() {
        check("Show S03E12E13", "3x12-13");
        check("Show S02E01-E24", "2x1-24");
        check("Show 01x02-03", "1x2-3");
        check("Show 1x02x03", "1x2-3");
        check("Show 1x02-1x03", "1x2-3");
        check("Show S01E02-S02E01", "1x2, 2x1");
        check("Show s01e100_101", "1x100-101");
        check("Show s01e10_11", "1x10");
        check("Show S01E02.x264", "1x2");
        check("Show S01E05-03", "1x5");
    }

    #[test]
    fn n4_seasons_that_are_none() {
        check("Lost Seasons 1 to 6", "none");
        check("Lost S01-S05", "none, s5");
        check("Lost Season 1-3", "none");
        check("Lost Season 1 y 2", "none");
        check("Lost S02 05", "none?");
        check("Lost S02-05", "none");
        check("Lost S02 - 5", "none?");
        check("Lost S02 25 October 2019", "s2, 2019-10-25");
        check("Lost S02 10 bit", "s2");
        check("Lost Temporada 2 al 4", "none");
    }
}
