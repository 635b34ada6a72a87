//! One name, read: episode, film, or nothing (NAMES.md N5 to N7).

use std::ops::Range;

use super::marks::{Circumstances, Episodes, FolderSeason, Mark, MarkKind, NameDate, SeasonMark};
use super::name_words::{Heading, NameWords};
use super::title::{NamePart, TitleStop, series_phrase_at, shown, trim};
use super::word_class::{
    EPISODE_WORDS, is_lines, is_one_of, is_part, leading_number, number, versioned_number,
};
use super::years::YearWords;

/// The episode given by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EpisodeName {
    /// The season; 0 for specials.
    pub(crate) season: Option<u32>,
    /// The first episode; `None` for a season, and for a range of more than two.
    pub(crate) episode: Option<u32>,
    pub(crate) form: EpisodeForm,
}

/// The form in which a name gives an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EpisodeForm {
    /// Season and episode, in one mark or in two.
    Episode,
    /// A season, and no episode.
    Season,
    /// Several seasons, or a season that a number behind it makes none.
    Seasons,
    Date(NameDate),
    /// A number; `is_cap` if it stands behind `cap`.
    Number {
        is_cap: bool,
    },
    /// A number behind a group and ` - `.
    GroupNumber,
}

/// The kind of a name: of an episode, of a film, or of neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameKind {
    Episode(EpisodeName),
    /// A film, with a year or a source word.
    Film,
    Nothing,
}

/// A reason to doubt what a name says (NAMES.md N4, N7, P3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// A number behind `cap` that contradicts the season.
    CapAndSeason,
    NumberBehindYear,
    PartBehindYear,
    EpisodeWordBehindYear,
    JoinedYears,
    TitleEndsInNumber,
    SpeltNumber,
    /// `1of6`.
    NumberOf,
    /// A number, a part, an episode word between the first word and a source word.
    NumberBeforeSource,
    /// `LostS06E08`.
    GluedEpisode,
}

/// A name, read.
#[derive(Debug, Clone)]
pub(crate) struct ParsedName {
    pub(crate) words: NameWords,
    pub(crate) kind: NameKind,
    pub(crate) title: NamePart,
    pub(crate) year: Option<YearWords>,
    pub(crate) doubt: Option<Doubt>,
    /// The words of the mark that counts.
    pub(crate) mark: Option<Range<usize>>,
    /// The series phrase at the end of the title, or directly behind its year.
    pub(crate) series_phrase: Option<Range<usize>>,
}

impl ParsedName {
    /// Reads a name without its ending.
    pub(crate) fn new(name: &str, circumstances: Circumstances) -> Self {
        let words = NameWords::new(name, circumstances);
        match counted(&words) {
            Some(counted) => Self::episode(words, &counted),
            None => Self::film(words),
        }
    }

    /// The displayed title.
    pub(crate) fn shown_title(&self) -> String {
        self.shown_part(self.title.bytes.clone())
    }

    /// The displayed form of a part of the name.
    pub(crate) fn shown_part(&self, bytes: Range<usize>) -> String {
        shown(self.words.tokens.text().get(bytes).unwrap_or(""))
    }

    /// The id, if the name has exactly one.
    pub(crate) fn id(&self) -> Option<&str> {
        match self.words.ids.as_slice() {
            [id] => Some(id),
            _ => None,
        }
    }

    fn episode(words: NameWords, counted: &CountedMark) -> Self {
        let first = words
            .first_mark()
            .map_or(counted.words.start, |mark| mark.words.start);
        let heading = words.heading(first.min(counted.words.start), counted.episode.episode);
        Self {
            kind: NameKind::Episode(counted.episode),
            doubt: counted.doubt,
            mark: Some(counted.words.clone()),
            ..Self::with_heading(words, heading)
        }
    }

    fn with_heading(words: NameWords, heading: Heading) -> Self {
        Self {
            words,
            kind: NameKind::Nothing,
            title: heading.title,
            year: heading.year,
            doubt: None,
            mark: None,
            series_phrase: heading.series_phrase,
        }
    }

    /// A name without a mark that counts (NAMES.md N6).
    fn film(words: NameWords) -> Self {
        let year = film_year(&words).cloned();
        let tells_nothing = year.is_none() && is_led_by_year(&words);
        let (title, series_phrase) = film_title(&words, year.as_ref());
        let has_source_and_title = words.source.is_some() && !title.words.is_empty();
        let is_film = (year.is_some() || has_source_and_title) && !tells_nothing;
        let mut name = Self {
            kind: if is_film {
                NameKind::Film
            } else {
                NameKind::Nothing
            },
            words,
            title,
            year,
            doubt: None,
            mark: None,
            series_phrase,
        };
        if !name.words.circumstances.is_query {
            name.doubt = name.film_doubt();
        }
        name
    }

    /// The reason to doubt that this is a film, for a name that gives one or nothing (NAMES.md N7).
    fn film_doubt(&self) -> Option<Doubt> {
        let words = &self.words;
        if let Some(year) = &self.year {
            if let Some(doubt) = behind_year(words, year) {
                return Some(doubt);
            }
        } else if let Some(doubt) = before_source(words) {
            return Some(doubt);
        }
        if self.title_ends_in_number() {
            return Some(Doubt::TitleEndsInNumber);
        }
        let is_spelt = |mark: &Mark| matches!(mark.kind, MarkKind::Number { is_spelt: true, .. });
        if words.marks.iter().any(is_spelt) {
            return Some(Doubt::SpeltNumber);
        }
        let has_number_of = (0..words.tokens.len()).any(|idx| is_number_of(words.tokens.word(idx)));
        has_number_of.then_some(Doubt::NumberOf)
    }

    /// True for a title that ends in ` - N` or ` - N-N`.
    fn title_ends_in_number(&self) -> bool {
        let tokens = &self.words.tokens;
        let is_number = |idx: usize| number(tokens.word(idx), 1..=9).is_some();
        let Some(last) = self.title.words.end.checked_sub(1) else {
            return false;
        };
        if !is_number(last) || last <= self.title.words.start {
            return false;
        }
        let is_range = tokens.gap(last) == "-" && is_number(last - 1) && tokens.has_dash(last - 1);
        tokens.is_behind_dash(last) || is_range
    }
}

/// A mark that counts.
struct CountedMark {
    episode: EpisodeName,
    words: Range<usize>,
    doubt: Option<Doubt>,
}

/// The mark that counts, if any does (NAMES.md N5).
fn counted(words: &NameWords) -> Option<CountedMark> {
    let marked = |season, episode, form, range: &Range<usize>| CountedMark {
        episode: EpisodeName {
            season,
            episode,
            form,
        },
        words: range.clone(),
        doubt: None,
    };
    for mark in &words.marks {
        if let MarkKind::Episode { season, episodes } = mark.kind {
            let mut counted = marked(Some(season), None, EpisodeForm::Episode, &mark.words);
            counted.set_episode(words, season, episodes);
            return Some(counted);
        }
    }
    if let Some((at, mark)) = words.first_season() {
        return Some(season_with_number(words, at, mark));
    }
    for mark in &words.marks {
        if let MarkKind::Date(date) = mark.kind {
            return Some(marked(None, None, EpisodeForm::Date(date), &mark.words));
        }
    }
    let folder = words.circumstances.folder;
    for mark in &words.marks {
        let MarkKind::Number { episodes, is_spelt } = mark.kind else {
            continue;
        };
        let counts = folder != FolderSeason::Outside || (!is_spelt && mark.words.start > 0);
        if counts {
            let is_cap = episodes.is_cap;
            let form = EpisodeForm::Number { is_cap };
            let mut counted = marked(None, None, form, &mark.words);
            counted.set_number(words, episodes);
            return Some(counted);
        }
    }
    let (idx, episodes) = words.group_number()?;
    let mut counted = marked(None, None, EpisodeForm::GroupNumber, &(idx..idx + 1));
    counted.set_number(words, episodes);
    Some(counted)
}

/// The first season, with the first number behind it or one directly before it.
fn season_with_number(words: &NameWords, at: usize, mark: &Mark) -> CountedMark {
    let season = match mark.kind {
        MarkKind::Season(SeasonMark::Number(season)) => Some(season),
        _ => None,
    };
    let form = match season {
        Some(_) => EpisodeForm::Season,
        None => EpisodeForm::Seasons,
    };
    let mut counted = CountedMark {
        episode: EpisodeName {
            season,
            episode: None,
            form,
        },
        words: mark.words.clone(),
        doubt: None,
    };
    let Some(season) = season else {
        return counted;
    };
    let number_of = |mark: &Mark| match mark.kind {
        MarkKind::Number { episodes, .. } => Some(episodes),
        _ => None,
    };
    let behind = words.marks[at + 1..].iter().find_map(number_of);
    let before = || {
        let before = words.marks.get(at.checked_sub(1)?)?;
        let between = before.words.end..mark.words.start;
        let is_direct = words
            .tokens
            .range(between)
            .all(|word| is_one_of(word, &["de", "la", "of"]));
        let episodes = number_of(before)?;
        is_direct.then_some((episodes, before.words.start))
    };
    if let Some(episodes) = behind {
        counted.episode.form = EpisodeForm::Episode;
        counted.set_episode(words, season, episodes);
    } else if let Some((episodes, start)) = before() {
        counted.episode.form = EpisodeForm::Episode;
        counted.words.start = start;
        counted.set_episode(words, season, episodes);
    }
    counted
}

impl CountedMark {
    /// Sets the episode of a season: behind `cap`, from 100 on, the last two digits if the rest is
    /// the season (NAMES.md N4).
    fn set_episode(&mut self, words: &NameWords, season: u32, episodes: Episodes) {
        match cap_episodes(episodes, Some(season)) {
            Some(episodes) => self.episode.episode = first_of(words, episodes),
            None => self.doubt = Some(Doubt::CapAndSeason),
        }
    }

    /// Sets a number beside the season of the folder.
    fn set_number(&mut self, words: &NameWords, episodes: Episodes) {
        let season = match words.circumstances.folder {
            FolderSeason::Number(season) => Some(season),
            FolderSeason::Outside | FolderSeason::Unknown => None,
        };
        self.episode.season = season;
        match cap_episodes(episodes, season) {
            Some(episodes) => self.episode.episode = first_of(words, episodes),
            // A query asks for both ways to read the number.
            None if words.circumstances.is_query => {
                self.episode.episode = Some(episodes.first);
            }
            None => self.doubt = Some(Doubt::CapAndSeason),
        }
    }
}

/// Episodes without the season in front; `None` if what is in front is another season.
fn cap_episodes(episodes: Episodes, season: Option<u32>) -> Option<Episodes> {
    if !episodes.is_cap || episodes.first < 100 {
        return Some(episodes);
    }
    if Some(episodes.first / 100) != season {
        return None;
    }
    let offset = episodes.first / 100 * 100;
    Some(Episodes {
        first: episodes.first - offset,
        last: episodes
            .last
            .saturating_sub(offset)
            .max(episodes.first - offset),
        is_cap: true,
    })
}

/// The first of episodes up to the next one; none of more, but in queries.
fn first_of(words: &NameWords, episodes: Episodes) -> Option<u32> {
    let is_pack = episodes.last > episodes.first.saturating_add(1);
    (words.circumstances.is_query || !is_pack).then_some(episodes.first)
}

/// The year of a film (NAMES.md N6).
fn film_year(words: &NameWords) -> Option<&YearWords> {
    let in_bracket = |year: &&YearWords| words.tokens.bracket(year.words.start).is_some();
    let before_source = |year: &&YearWords| {
        year.words.start > 0 && words.source.is_none_or(|source| year.words.start < source)
    };
    let last_in_bracket = words.years.iter().rev().find(in_bracket);
    last_in_bracket.or_else(|| words.years.iter().rev().find(before_source))
}

/// True for a year first of several words before a source word or the end.
fn is_led_by_year(words: &NameWords) -> bool {
    let starts = words.years.first().filter(|year| year.words.start == 0);
    starts.is_some_and(|year| words.source.is_none_or(|source| source > year.words.end))
}

/// The title of a film, and the series phrase at its end or behind its year.
fn film_title(words: &NameWords, year: Option<&YearWords>) -> (NamePart, Option<Range<usize>>) {
    let tokens = &words.tokens;
    let len = tokens.len();
    let year_start = year.map_or(len, |year| year.words.start);
    let source = words.source.unwrap_or(len);
    let first = year_start.min(source);
    let stop = if first == len {
        TitleStop::End
    } else if source < year_start {
        TitleStop::Source
    } else if tokens.bracket(first).is_some() {
        TitleStop::BracketYear
    } else {
        TitleStop::PlainYear
    };
    if let Some(year) = year
        && first == 0
        && stop == TitleStop::BracketYear
    {
        return title_behind(words, year, source);
    }
    let end = tokens.stop_before(first);
    let span = words.part_before(tokens.words_before(end).min(first), end);
    let trimmed = trim(tokens, span, Some(stop));
    let behind = year.and_then(|year| phrase_behind(words, year));
    (trimmed.span, trimmed.series_phrase.or(behind))
}

/// `(1999) Title`: the title behind a year in front.
fn title_behind(
    words: &NameWords,
    year: &YearWords,
    source: usize,
) -> (NamePart, Option<Range<usize>>) {
    let tokens = &words.tokens;
    let bracket_end = tokens.bracket(year.words.start).map_or(0, |it| it.end);
    let start = tokens.words_before(bracket_end);
    let source = source.max(start);
    let stop = if source < tokens.len() {
        TitleStop::Source
    } else {
        TitleStop::End
    };
    let end = tokens.stop_before(source).max(bracket_end);
    let span = NamePart {
        words: start..tokens.words_before(end).clamp(start, source),
        bytes: bracket_end..end,
    };
    let trimmed = trim(tokens, span, Some(stop));
    (trimmed.span, trimmed.series_phrase)
}

/// A series phrase directly behind the year, before a source word or nothing (NAMES.md P3).
fn phrase_behind(words: &NameWords, year: &YearWords) -> Option<Range<usize>> {
    let phrase = series_phrase_at(&words.tokens, year.words.end)?;
    let is_last = phrase.end == words.tokens.len();
    (is_last || words.tokens.is_source(phrase.end)).then_some(phrase)
}

/// The doubt that the words behind a year give.
fn behind_year(words: &NameWords, year: &YearWords) -> Option<Doubt> {
    if year.is_joined {
        return Some(Doubt::JoinedYears);
    }
    let next = year.words.end;
    let word = words.tokens.word(next);
    let is_year = words.years.iter().any(|year| year.words.start == next);
    let is_number = number(word, 1..=4).is_some() && !is_lines(word) && !is_year;
    if is_number && !words.tokens.is_source(next) {
        return Some(Doubt::NumberBehindYear);
    }
    if is_part(word) {
        return Some(Doubt::PartBehindYear);
    }
    is_one_of(word, &EPISODE_WORDS).then_some(Doubt::EpisodeWordBehindYear)
}

/// The doubt that the words before a source word give, of a name without a year.
fn before_source(words: &NameWords) -> Option<Doubt> {
    let tokens = &words.tokens;
    let source = words.source?;
    if is_glued_episode(tokens.word(0)) {
        return Some(Doubt::GluedEpisode);
    }
    let is_doubtful = |idx: usize| {
        let word = tokens.word(idx);
        versioned_number(word, 1..=9).is_some()
            || is_part(word)
            || is_one_of(word, &EPISODE_WORDS)
            || is_volume_episode(word)
            || word
                .strip_prefix('s')
                .is_some_and(|rest| number(rest, 3..=4).is_some())
    };
    let has_doubtful = (1..source).any(is_doubtful);
    has_doubtful.then_some(Doubt::NumberBeforeSource)
}

/// `v01e29`.
fn is_volume_episode(word: &str) -> bool {
    let rest = word
        .strip_prefix('v')
        .and_then(|rest| leading_number(rest, 1..=9));
    let episode = rest.and_then(|(_, rest)| rest.strip_prefix('e'));
    episode.is_some_and(|episode| number(episode, 1..=9).is_some())
}

/// `LostS06E08`.
fn is_glued_episode(word: &str) -> bool {
    word.match_indices('s').any(|(at, _)| {
        let rest = leading_number(&word[at + 1..], 1..=4);
        let episode = rest.and_then(|(_, rest)| rest.strip_prefix('e'));
        at > 0 && episode.is_some_and(|episode| leading_number(episode, 1..=5).is_some())
    })
}

/// `1of6`.
fn is_number_of(word: &str) -> bool {
    let rest = leading_number(word, 1..=4).and_then(|(_, rest)| rest.strip_prefix("of"));
    rest.is_some_and(|of| number(of, 1..=4).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> ParsedName {
        let circumstances = Circumstances {
            is_query: false,
            year_last: 2027,
            folder: FolderSeason::Outside,
        };
        ParsedName::new(name, circumstances)
    }

    fn shown_name(name: &ParsedName) -> String {
        let number = |it: Option<u32>| it.map_or("-".to_owned(), |it| it.to_string());
        let year = number(name.year.as_ref().map(|year| year.year));
        let doubt = if name.doubt.is_some() { " doubt" } else { "" };
        let title = name.shown_title();
        match name.kind {
            NameKind::Episode(it) => {
                let (season, episode) = (number(it.season), number(it.episode));
                format!("e|{title}|{season}|{episode}|{year}{doubt}")
            }
            NameKind::Film => format!("m|{title}|{year}{doubt}"),
            NameKind::Nothing => format!("?|{title}{doubt}"),
        }
    }

    fn check(name: &str, expected: &str) {
        assert_eq!(shown_name(&read(name)), expected, "{name:?}");
    }

    #[test]
    fn n5_episodes() {
        check("1923.S01E02", "e|1923|1|2|-");
        check("Dark (2017) - S01E02 - Lies", "e|Dark|1|2|2017");
        check("S.W.A.T.2017.S02E03.1080p", "e|S.W.A.T.|2|3|2017");
        check("Show [2012] Plus - 1x03", "e|Show|1|3|2012");
        check("Star Trek DS9 Ep 2x03 The Siege", "e|Star Trek DS9|2|3|-");
        check("Breaking.Bad.S03E12E13", "e|Breaking Bad|3|12|-");
        check("Lost.S02E01-E24", "e|Lost|2|-|-");
        check("Breaking.Bad.S01-S05.1080p", "e|Breaking Bad|-|-|-");
        check("Show - Temporada 15 [HDTV][Cap.1503]", "e|Show|15|3|-");
        check("Lost - Temporada 1 [Cap.305]", "e|Lost|1|-|- doubt");
        check("Dark Capítulo 4 de la temporada 2", "e|Dark|2|4|-");
        check("The Late Show 2017-10-25 Guest", "e|The Late Show|-|-|-");
        check("Planet.Earth.E05.720p", "e|Planet Earth|-|5|-");
        check("[Grp] Show Title - 05v2 (720p)", "e|Show Title|-|5|-");
        check("[Grp] Blood+ - 01", "e|Blood+|-|1|-");
        check("Show Title - 05", "?|Show Title - 05 doubt");
        check("Mushishi - 12 - 1x12", "e|Mushishi|1|12|-");
        check("Mushishi - 12 [1080p] 1x12", "e|Mushishi|1|12|-");
        check("Dark.REPACK.2017.S02E04", "e|Dark|2|4|2017");
        check(
            "The.Wire.Complete.Series.(2002).S01E02",
            "e|The Wire|1|2|2002",
        );
        check("Dark.EXTENDED.S02E04", "e|Dark EXTENDED|2|4|-");
    }

    #[test]
    fn n6_films() {
        check("Blade.Runner.2049.2017.1080p", "m|Blade Runner 2049|2017");
        check("Volver (Pedro Almodóvar, 2006)", "m|Volver|2006");
        check("(1960) Psycho", "m|Psycho|1960");
        check(
            "2001.A.Space.Odyssey.1968.720p",
            "m|2001 A Space Odyssey|1968",
        );
        check("1917.1080p.WEBRip", "m|1917|-");
        check("2009.shoot.fruit.chan.dvdrip", "?|2009 shoot fruit chan");
        check(
            "Metropolis (1927) 2010 restoration 720p",
            "m|Metropolis|1927",
        );
        check("(Untitled) (2009)", "m|(Untitled)|2009");
        check("Alien", "?|Alien");
        check("Juno.LIMITED.DVDRip.XviD-ABC", "m|Juno|-");
    }

    #[test]
    fn n7_doubt() {
        check("The.Flash.2014.208.hdtv", "m|The Flash|2014 doubt");
        check("The.Prisoner.2009.Part04.HDTV", "m|The Prisoner|2009 doubt");
        check("Carlos (2010-2011)", "m|Carlos|2010 doubt");
        check("Bron (2011 - 2018)", "m|Bron|2011");
        check("Show Name - 07 (2016)", "m|Show Name - 07|2016 doubt");
        check("Studio - 54-Club (1998)", "m|Studio - 54-Club|1998");
        check("Ocean.Story.1998.1of6", "m|Ocean Story|1998 doubt");
        check(
            "Star Wars Episode 4 (1977)",
            "m|Star Wars Episode 4|1977 doubt",
        );
        check("Rabbit.2048.720p", "m|Rabbit 2048|- doubt");
        check("b.and.b.v01e29.dvdrip", "m|b and b v01e29|- doubt");
        check(
            "OtherShowS02E03.Title.720p",
            "m|OtherShowS02E03 Title|- doubt",
        );
        check("Mob.Psycho.12v2.720p", "m|Mob Psycho 12v2|- doubt");
    }
}
