//! Numbers of a query that may be an episode (SEARCH.md 4, numbers of names).

use std::ops::Range;

use crate::limits::NAME_NUMBERS_MAX;

use super::marks::{MarkKind, SeasonMark};
use super::named::{Named, YEAR_LAST};
use super::parsed_name::{EpisodeForm, NameKind, ParsedName};
use super::query_tail::{Marked, OriginalWords, tail};
use super::word_class::{
    EPISODE_WORDS, PART_WORDS, is_lines, is_one_of, leading_number, number, versioned_number, year,
};
use super::years::YearWords;

/// Roman numbers of parts: their number is their place.
const ROMAN: [&str; 20] = [
    "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x", "xi", "xii", "xiii", "xiv", "xv",
    "xvi", "xvii", "xviii", "xix", "xx",
];

/// An episode to look up: an equal title, this season and episode, and this year or none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberLookup {
    /// The displayed title before the number.
    pub title: String,
    /// The year before the number.
    pub year: Option<u32>,
    /// The season; `None` is season 1 or none.
    pub season: Option<u32>,
    /// The episode, from 1 on.
    pub episode: u32,
    /// Folded words that are no words of title, year or marks when the number is one.
    pub tail: Vec<String>,
}

/// A word that may be the number of an episode.
pub(super) struct Candidate {
    word: usize,
    /// First word of the mark that the number is: the word that marks it as a number, if any does.
    mark: usize,
    number: u32,
    /// The season of `2x4`.
    season: Option<u32>,
    /// True if season and two digits come first: it stands bare, or behind `cap`.
    is_split_first: bool,
    /// True for the number that the name itself gives.
    pub(super) is_own: bool,
}

/// The words of a query that may be the number of an episode, the most certain first.
pub(super) fn candidates(
    name: &ParsedName,
    named: Named,
    film_year: Option<&YearWords>,
) -> Vec<Candidate> {
    match named {
        Named::Number(_) => own_number(name).into_iter().collect(),
        Named::Season(_) | Named::Nothing => {
            let season = season_of(named);
            Numbers::new(name, season, film_year).candidates()
        }
        _ => Vec::new(),
    }
}

/// Episodes to look up, in this order.
pub(super) struct NumberLookups {
    pub(super) lookups: Vec<NumberLookup>,
    /// Place before which the title of the name is looked up, if it has one of the words.
    pub(super) title_place: Option<usize>,
}

/// The episodes that these words may be.
pub(super) fn number_lookups(
    name: &ParsedName,
    candidates: &[Candidate],
    named: Named,
    original: &OriginalWords,
) -> NumberLookups {
    let (mut lookups, mut title_place) = (Vec::new(), None);
    for candidate in candidates {
        if !candidate.is_own && name.title.words.contains(&candidate.word) {
            title_place.get_or_insert(lookups.len());
        }
        let first_mark = name.words.first_mark().map(|mark| mark.words.start);
        let mark = first_mark.map_or(candidate.mark, |mark| mark.min(candidate.mark));
        let heading = name.words.heading(mark, Some(candidate.number));
        let title = name.shown_part(heading.title.bytes.clone());
        if title.is_empty() {
            continue;
        }
        let marked = Marked {
            title: &heading.title.words,
            year: heading.year.as_ref(),
            number: candidate.mark..candidate.word + 1,
        };
        let tail = tail(original, name, Some(&marked));
        for (season, episode) in ways(candidate, season_of(named)) {
            lookups.push(NumberLookup {
                title: title.clone(),
                year: heading.year.as_ref().map(|year| year.year),
                season,
                episode,
                tail: tail.clone(),
            });
        }
    }
    NumberLookups {
        lookups,
        title_place,
    }
}

/// The season that the name gives, without an episode.
const fn season_of(named: Named) -> Option<u32> {
    match named {
        Named::Season(season) => Some(season),
        _ => None,
    }
}

/// The number that the name itself gives without a season.
fn own_number(name: &ParsedName) -> Option<Candidate> {
    let NameKind::Episode(episode) = name.kind else {
        return None;
    };
    let is_cap = match episode.form {
        EpisodeForm::Number { is_cap } => is_cap,
        EpisodeForm::GroupNumber => false,
        _ => return None,
    };
    let word = name.mark.as_ref()?.start;
    Some(Candidate {
        word,
        mark: word,
        number: episode.episode?,
        season: None,
        is_split_first: is_cap,
        is_own: true,
    })
}

/// Season and episode that a number is, in the order in which they are tried. A season of `None`
/// is 1 or none.
fn ways(candidate: &Candidate, season: Option<u32>) -> Vec<(Option<u32>, u32)> {
    let number = candidate.number;
    if let Some(season) = candidate.season {
        let is_record = season > 0 && number > 0;
        return if is_record {
            vec![(Some(season), number)]
        } else {
            Vec::new()
        };
    }
    let mut ways = Vec::new();
    if number > 0 {
        ways.push((season, number));
    }
    let (hundreds, rest) = (number / 100, number % 100);
    if hundreds > 0 && rest > 0 && season.is_none_or(|season| season == hundreds) {
        let place = if candidate.is_split_first {
            0
        } else {
            ways.len()
        };
        ways.insert(place, (Some(hundreds), rest));
    }
    ways
}

/// The numbers of a name that names nothing, or a season.
struct Numbers<'a> {
    name: &'a ParsedName,
    /// The words that may be a number: behind the season, not the first.
    range: Range<usize>,
    /// The first source word.
    source: usize,
    has_season: bool,
    has_film_year: bool,
}

impl<'a> Numbers<'a> {
    fn new(name: &'a ParsedName, season: Option<u32>, film_year: Option<&YearWords>) -> Self {
        let len = name.words.tokens.len();
        let mark = name
            .words
            .marks
            .iter()
            .find(|mark| matches!(mark.kind, MarkKind::Season(SeasonMark::Number(_))));
        let start = match (season, mark) {
            (Some(_), Some(mark)) => mark.words.end,
            _ => 1,
        };
        Self {
            name,
            range: start.max(1)..len,
            source: name.words.source.unwrap_or(len),
            has_season: season.is_some(),
            has_film_year: film_year.is_some(),
        }
    }

    fn candidates(&self) -> Vec<Candidate> {
        let mut found: Vec<Candidate> = Vec::new();
        let lines: [&dyn Fn(usize) -> Option<Candidate>; 2] =
            [&|idx| self.spelt(idx), &|idx| self.set_apart(idx)];
        for line in lines {
            for idx in self.range.clone() {
                self.add(&mut found, idx, line(idx));
            }
        }
        for idx in self.range.clone().rev() {
            self.add(&mut found, idx, self.bare(idx));
        }
        found.truncate(NAME_NUMBERS_MAX);
        found
    }

    fn add(&self, found: &mut Vec<Candidate>, idx: usize, candidate: Option<Candidate>) {
        let word = self.name.words.tokens.word(idx);
        let is_none = is_lines(word) || year(word, YEAR_LAST).is_some();
        if let Some(candidate) = candidate
            && !is_none
            && found.iter().all(|it| it.word != idx)
        {
            found.push(candidate);
        }
    }

    /// A number behind an episode word or a part, or glued to a part.
    fn spelt(&self, idx: usize) -> Option<Candidate> {
        if self.has_film_year && !self.is_behind_year(idx) {
            return None;
        }
        let tokens = &self.name.words.tokens;
        let word = tokens.word(idx);
        let before = tokens.word(idx.checked_sub(1)?);
        let is_behind_word =
            idx > 1 && (is_one_of(before, &EPISODE_WORDS) || is_one_of(before, &PART_WORDS));
        if is_behind_word
            && let Some(number) = versioned_number(word, 1..=4).or_else(|| roman(word))
        {
            return Some(Candidate {
                mark: idx - 1,
                ..candidate(idx, number, before == "cap")
            });
        }
        let glued = |part: &&str| {
            let rest = word.strip_prefix(*part)?;
            versioned_number(rest, 1..=4)
        };
        // `part` is a prefix of `parte`: the first that leaves a number counts.
        let number = PART_WORDS.iter().find_map(glued)?;
        Some(candidate(idx, number, false))
    }

    /// A number behind ` - ` or alone in brackets; without a season `2x4`.
    fn set_apart(&self, idx: usize) -> Option<Candidate> {
        if !self.is_before_source(idx) {
            return None;
        }
        let tokens = &self.name.words.tokens;
        let word = tokens.word(idx);
        let is_apart = tokens.is_behind_dash(idx) || tokens.lone_bracket(&(idx..idx + 1)).is_some();
        if is_apart && let Some(number) = versioned_number(word, 1..=4) {
            return Some(candidate(idx, number, false));
        }
        if self.has_season {
            return None;
        }
        let (season, rest) = leading_number(word, 1..=2)?;
        let episode = number(rest.strip_prefix('x')?, 1..=1)?;
        Some(Candidate {
            season: Some(season),
            ..candidate(idx, episode, false)
        })
    }

    /// A number of two to four digits that nothing sets apart, without a season.
    fn bare(&self, idx: usize) -> Option<Candidate> {
        if self.has_season || !self.is_before_source(idx) {
            return None;
        }
        let number = versioned_number(self.name.words.tokens.word(idx), 2..=4)?;
        Some(candidate(idx, number, true))
    }

    /// True before any source word, and directly behind a year where a film's year is read.
    fn is_before_source(&self, idx: usize) -> bool {
        let years = &self.name.words.years;
        let is_direct = || years.iter().any(|year| year.words.end == idx);
        let is_source = self.name.words.tokens.is_source(idx);
        idx < self.source && !is_source && (!self.has_film_year || is_direct())
    }

    fn is_behind_year(&self, idx: usize) -> bool {
        let mut years = self.name.words.years.iter();
        years.any(|year| year.words.end <= idx)
    }
}

fn candidate(word: usize, number: u32, is_split_first: bool) -> Candidate {
    Candidate {
        word,
        mark: word,
        number,
        season: None,
        is_split_first,
        is_own: false,
    }
}

fn roman(word: &str) -> Option<u32> {
    let place = ROMAN.iter().position(|it| *it == word)?;
    u32::try_from(place + 1).ok()
}

#[cfg(test)]
mod tests {
    use crate::name::QueryName;

    /// Look-ups as `title|year|season x episode`; `-` is season 1 or none.
    fn check(query: &str, expected: &[&str]) {
        let name = QueryName::parse(query);
        let number = |it: Option<u32>| it.map_or("-".to_owned(), |it| it.to_string());
        let shown: Vec<String> = name
            .numbers
            .iter()
            .map(|it| {
                let (year, season) = (number(it.year), number(it.season));
                format!("{}|{year}|{season}x{}", it.title, it.episode)
            })
            .collect();
        assert_eq!(shown, expected, "{query:?}");
    }

    #[test]
    fn numbers_are_looked_up() {
        check("dark.204.hdtv-grp", &["dark|-|2x4", "dark|-|-x204"]);
        check(
            "dark.2017.204.hdtv-grp",
            &["dark|2017|2x4", "dark|2017|-x204"],
        );
        check("Mushishi E12 1080p", &["Mushishi|-|-x12"]);
        check("[Grupo] Mushishi - 12 [1080p].mkv", &["Mushishi|-|-x12"]);
        check("Mushishi - 12v2 - La serpiente.mkv", &["Mushishi|-|-x12"]);
        check("Mushishi (2005) - 12v2.mkv", &["Mushishi|2005|-x12"]);
        check("Dark 2x4", &["Dark|-|2x4"]);
        check(
            "Los Serrano [Cap.307]",
            &["Los Serrano|-|3x7", "Los Serrano|-|-x307"],
        );
        check("Los 100 (2014) episodio 04.mkv", &["Los 100|2014|-x4"]);
        check("Crematorio.Parte.III.avi", &["Crematorio|-|-x3"]);
        check("Crematorio.Pt3.720p.mkv", &["Crematorio|-|-x3"]);
        check("Crematorio (3)", &["Crematorio|-|-x3"]);
        check("Dark S02 1080p 10 bit", &[]);
        check("Dark Temporada 2 [5]", &[]);
        check("Volver.2006.1080p", &[]);
        check(
            "los.100.304.hdtv.avi",
            &["los 100|-|3x4", "los 100|-|-x304", "los|-|-x100"],
        );
    }

    #[test]
    fn a_title_with_a_number_is_looked_up_before_it() {
        let place = |query: &str| QueryName::parse(query).title_place;
        assert_eq!(place("Brooklyn 99 1080p"), Some(0));
        // The name says which episode: it is sought before any of the title.
        assert_eq!(place("Zoey 101 [HDTV][Cap.301].avi"), Some(2));
        assert_eq!(place("Mushishi EP12 1080p"), None);
    }

    #[test]
    fn words_that_may_be_an_episode() {
        let may_be = |query: &str| QueryName::parse(query).may_be_episode;
        // There is no episode 0, but the film is better than another episode.
        assert!(may_be("Dark (4)") && may_be("Dark (0)"));
        assert!(!may_be("Mushishi EP12") && !may_be("Dark S01E02"));
    }
}
