//! Folding and markers against the rules done one step after another.

use std::sync::LazyLock;

use icu_casemap::CaseMapper;
use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use regex::Regex;
use subcat_engine::{
    Year,
    internals::{Markers, fold, fold_into, words},
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
    step = step.replace(|c| !is_kept(c), " ");
    let words: Vec<&str> = step.split(' ').filter(|word| !word.is_empty()).collect();
    episode_words(&words).join(" ")
}

/// The regular expressions of SEARCH.md, for whole words.
struct Patterns {
    s1e2: Regex,
    cross: Regex,
    s1: Regex,
    e2: Regex,
    four_digits: Regex,
}

static PATTERNS: LazyLock<Patterns> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("the pattern is well formed");
    Patterns {
        s1e2: pattern("^s([0-9]{1,2})e([0-9]{1,3})(?:e[0-9]{1,3})*$"),
        cross: pattern("^([0-9]{1,2})x([0-9]{2,3})$"),
        s1: pattern("^s([0-9]{1,2})$"),
        e2: pattern("^e([0-9]{1,3})$"),
        four_digits: pattern("^([0-9]{4})$"),
    }
});

/// The numbers in a word, when the pattern matches it.
fn numbers(pattern: &Regex, word: &str) -> Option<Vec<u16>> {
    let captures = pattern.captures(word)?;
    let numbers = captures.iter().skip(1).flatten();
    numbers.map(|number| number.as_str().parse().ok()).collect()
}

/// SEARCH.md 1.5.
fn episode_words(words: &[&str]) -> Vec<String> {
    let mut written = Vec::new();
    let mut rest = words;
    while let [word, after @ ..] = rest {
        rest = after;
        let next = after.first().and_then(|next| numbers(&PATTERNS.e2, next));
        let glued = numbers(&PATTERNS.s1e2, word).or_else(|| numbers(&PATTERNS.cross, word));
        let episode = match (glued, numbers(&PATTERNS.s1, word), next) {
            (Some(numbers), _, _) => Some((numbers[0], numbers[1])),
            (None, Some(season), Some(number)) => {
                rest = &after[1..];
                Some((season[0], number[0]))
            }
            (None, Some(season), None) => {
                written.push(format!("s{:02}", season[0]));
                continue;
            }
            (None, None, _) => None,
        };
        let Some((season, number)) = episode else {
            written.push((*word).to_string());
            continue;
        };
        written.push(format!("s{season:02}e{number:02}"));
        while let [further, after @ ..] = rest
            && numbers(&PATTERNS.e2, further).is_some()
        {
            rest = after;
        }
    }
    written
}

/// SEARCH.md 2.1 to 2.3: the positions of the episode marker and the year marker.
fn marker_words(words: &[&str], given: Option<Year>) -> (Option<usize>, Option<usize>) {
    let is_episode = |word: &&str| {
        let numbers = numbers(&PATTERNS.s1e2, word).or_else(|| numbers(&PATTERNS.s1, word));
        numbers.is_some_and(|numbers| numbers.iter().all(|number| 1 <= *number))
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
