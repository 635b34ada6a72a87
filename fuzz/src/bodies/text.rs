//! Folding and markers against the rules done one step after another.

use std::sync::LazyLock;

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use regex::Regex;
use subcat_engine::{
    Year, fold,
    internals::{Markers, fold_into},
    words,
};

/// Folding is what SEARCH.md 1 says, done literally; and folding twice is folding once.
pub fn text_fold(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let folded = fold(&text);
    assert_eq!(folded, step_by_step(&text), "{text:?}");
    assert_eq!(fold(&folded), folded, "{text:?}");
    assert_eq!(words(&folded).collect::<Vec<_>>().join(" "), folded);
    let mut appended = String::from("s01 ");
    fold_into(&text, &mut appended);
    assert_eq!(appended, format!("s01 {folded}"));
}

/// Markers are what SEARCH.md 2 says; the first two bytes choose the `year` parameter.
pub fn markers(data: &[u8]) {
    let (choice, rest) = data.split_at(data.len().min(2));
    let number = choice
        .iter()
        .fold(0, |sum, byte| sum * 256 + u16::from(*byte));
    let year = Year::new(number % 256 + 1900).filter(|_| number < 0x8000);
    let folded = fold(&String::from_utf8_lossy(rest));
    let words: Vec<&str> = words(&folded).collect();
    let (episode, year_word) = marker_words(&words, year);
    let markers = Markers::of_query(&words, year);
    assert_eq!(
        markers.episode.map(|marker| marker.word_idx),
        episode,
        "{folded:?} {year:?}"
    );
    assert_eq!(
        markers.year.map(|marker| marker.word_idx),
        year_word,
        "{folded:?} {year:?}"
    );
    if let (Some(marker), Some(word_idx)) = (markers.year, year_word) {
        assert_eq!(marker.year.get().to_string(), words[word_idx]);
    }
}

const APOSTROPHES: &str = "\u{27}\u{60}\u{B4}\u{2BB}\u{2BC}\u{2018}\u{2019}\u{201B}\u{2032}";

/// SEARCH.md 1.1 to 1.5, each done to the whole text.
fn step_by_step(text: &str) -> String {
    let categories = CodePointMapData::<GeneralCategory>::new();
    let is_in = |group: GeneralCategoryGroup, c: char| group.contains(categories.get(c));
    let mut step = text.replace(|c| APOSTROPHES.contains(c), "");
    step = step.replace(|c| categories.get(c) == GeneralCategory::Format, "");
    step = DecomposingNormalizerBorrowed::new_nfkd()
        .normalize(&step)
        .into_owned();
    step = step.replace(|c| is_in(GeneralCategoryGroup::Mark, c), "");
    step = CaseMapper::new().fold_string(&step).into_owned();
    step = step.replace(|c| APOSTROPHES.contains(c), "");
    let is_kept =
        |c| is_in(GeneralCategoryGroup::Letter, c) || is_in(GeneralCategoryGroup::Number, c);
    step = crosses_between_digits(&step);
    step = step.replace(|c| !is_kept(c), " ");
    let words: Vec<&str> = step.split(' ').filter(|word| !word.is_empty()).collect();
    episode_words(&words).join(" ")
}

/// SEARCH.md 1.4: `×` between two digits is an `x`.
fn crosses_between_digits(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let is_digit = |idx: usize| characters.get(idx).is_some_and(char::is_ascii_digit);
    let written = characters.iter().enumerate().map(|(idx, &c)| {
        let is_between = idx.checked_sub(1).is_some_and(is_digit) && is_digit(idx + 1);
        if c == '\u{D7}' && is_between { 'x' } else { c }
    });
    written.collect()
}

/// The regular expressions of SEARCH.md, for whole words.
struct Patterns {
    glued: Regex,
    cross: Regex,
    season_before: Regex,
    season: Regex,
    number_behind: Regex,
    number: Regex,
    further: Regex,
    marker: Regex,
    four_digits: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    const MORE: &str = "(?:(?:e|ep|x)[0-9]{1,5})*";
    let pattern = |text: &str| Regex::new(text).expect("the pattern is well formed");
    Patterns {
        glued: pattern(&format!(
            "^[st]([0-9]{{1,4}})x?(?:e|ep|x)([0-9]{{1,5}}){MORE}$"
        )),
        cross: pattern(&format!("^([0-9]{{1,2}})x([0-9]{{2,4}}){MORE}$")),
        season_before: pattern("^s([0-9]{1,4})$"),
        season: pattern("^s([0-9]{1,2})$"),
        number_behind: pattern(&format!(
            "^(?:x?(?:e|ep)([0-9]{{1,5}})|x([0-9]{{1,2}})){MORE}$"
        )),
        number: pattern(&format!("^([0-9]{{1,5}}){MORE}$")),
        further: pattern("^(?:(?:e|ep)[0-9]{1,5})+$"),
        marker: pattern("^s([0-9]{2,4})e([0-9]{2,5})$"),
        four_digits: pattern("^([0-9]{4})$"),
    }
});

/// The numbers in a word, when the pattern matches it.
fn numbers(pattern: &Regex, word: &str) -> Option<Vec<u32>> {
    let captures = pattern.captures(word)?;
    let numbers = captures.iter().skip(1).flatten();
    numbers.map(|number| number.as_str().parse().ok()).collect()
}

/// Season and episode that words begin with, and how many words they are.
fn episode_in_front(words: &[&str]) -> Option<(u32, u32, usize)> {
    let glued = numbers(&PATTERNS.glued, words[0]).or_else(|| numbers(&PATTERNS.cross, words[0]));
    if let Some(numbers) = glued {
        return Some((numbers[0], numbers[1], 1));
    }
    let season = numbers(&PATTERNS.season_before, words[0])?[0];
    let second = words.get(1)?;
    if let Some(numbers) = numbers(&PATTERNS.number_behind, second) {
        return Some((season, numbers[0], 2));
    }
    let third = words.get(2).filter(|_| ["e", "ep"].contains(second))?;
    let number = numbers(&PATTERNS.number, third)?[0];
    Some((season, number, 3))
}

/// SEARCH.md 1.5.
fn episode_words(words: &[&str]) -> Vec<String> {
    let mut written = Vec::new();
    let mut rest = words;
    while let [word, after @ ..] = rest {
        if let Some((season, number, count)) = episode_in_front(rest) {
            written.push(format!("s{season:02}e{number:02}"));
            rest = &rest[count..];
            while let [further, after @ ..] = rest
                && PATTERNS.further.is_match(further)
            {
                rest = after;
            }
            continue;
        }
        rest = after;
        written.push(match numbers(&PATTERNS.season, word) {
            Some(season) => format!("s{:02}", season[0]),
            None => (*word).to_string(),
        });
    }
    written
}

/// SEARCH.md 2.1 to 2.3: the positions of the episode marker and the year marker.
fn marker_words(words: &[&str], given: Option<Year>) -> (Option<usize>, Option<usize>) {
    let is_episode = |word: &&str| {
        let numbers = numbers(&PATTERNS.marker, word).or_else(|| numbers(&PATTERNS.season, word));
        let is_in_range = |number: &u32| (1..=65_535).contains(number);
        numbers.is_some_and(|numbers| numbers.iter().all(is_in_range))
    };
    let is_year = |word: &&str| match (numbers(&PATTERNS.four_digits, word), given) {
        (Some(_), Some(given)) => **word == given.get().to_string(),
        (Some(number), None) => (1900..=2100).contains(&number[0]),
        (None, _) => false,
    };
    let episode = words.iter().position(is_episode);
    let year = words.iter().rposition(is_year);
    match (episode, year) {
        (Some(_), Some(_)) if words.len() == 2 => (episode, None),
        (Some(_), None) if words.len() == 1 => (None, None),
        (None, Some(_)) if words.len() == 1 => (None, None),
        both => both,
    }
}
