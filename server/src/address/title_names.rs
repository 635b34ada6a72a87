//! The names of a title (API.md 20.10).

use subcat_engine::{fold, words};

use crate::limits::{EPISODE_PIECES_MAX, INNER_NAME_CHARS_MIN};

/// Folded placeholder that is not a name.
const NO_NAME: &str = "tv series";
/// Years in parentheses that end a name.
const YEARS: std::ops::RangeInclusive<u16> = 1850..=2100;

/// A name of a title.
pub(super) struct TitleName<'a> {
    pub(super) text: &'a str,
    /// Its folding.
    pub(super) folded: String,
}

/// The names of a title: separated by `aka`, and inside and outside of parentheses, without
/// trailing parts that belong to no name. A title without such names is its own name.
pub(super) fn title_names(title: &str, is_episode: bool) -> Vec<TitleName<'_>> {
    let mut names = Vec::new();
    for part in split_at_aka(title) {
        let name = without_end(part, is_episode);
        names.extend(TitleName::of(name));
        if let Some((outer, inner)) = parenthesised(name) {
            names.extend(TitleName::of(without_end(outer, is_episode)));
            names.extend(TitleName::of(inner));
        }
    }
    if names.is_empty() {
        let folded = fold(title);
        names.push(TitleName {
            text: title,
            folded,
        });
    }
    names
}

impl<'a> TitleName<'a> {
    /// A text as a name, if it is one.
    fn of(text: &'a str) -> Option<Self> {
        let folded = fold(text);
        let is_name = !folded.is_empty() && folded != NO_NAME;
        if is_name {
            Some(Self { text, folded })
        } else {
            None
        }
    }
}

/// The parts between `aka` or `a.k.a.`, in any case, where white space is on both sides of it.
fn split_at_aka(title: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, word) in spaced_words(title) {
        let end = at + word.len();
        let is_inside = 0 < at && end < title.len();
        let is_aka = word.eq_ignore_ascii_case("aka") || word.eq_ignore_ascii_case("a.k.a.");
        if is_inside && is_aka {
            parts.push(title[start..at].trim());
            start = end;
        }
    }
    parts.push(title[start..].trim());
    parts
}

/// The words between white space, each with its place.
fn spaced_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr() as usize;
    text.split_whitespace()
        .map(move |word| (word.as_ptr() as usize - start, word))
}

/// A text without years in parentheses, episode words and separators at its end.
fn without_end(text: &str, is_episode: bool) -> &str {
    let mut rest = text.trim_end();
    loop {
        let shorter = without_separator(rest)
            .or_else(|| without_year(rest))
            .or_else(|| without_episode(rest).filter(|_| is_episode));
        match shorter {
            Some(shorter) => rest = shorter.trim_end(),
            None => return rest,
        }
    }
}

fn without_separator(text: &str) -> Option<&str> {
    text.strip_suffix(['-', '–', ':', ','])
}

/// The text without `(1999)` at its end.
fn without_year(text: &str) -> Option<&str> {
    let (before, year) = text.strip_suffix(')')?.rsplit_once('(')?;
    let is_year = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = is_year && year.parse().is_ok_and(|year: u16| YEARS.contains(&year));
    if is_year { Some(before) } else { None }
}

/// The text without an episode word at its end, perhaps in parentheses.
fn without_episode(text: &str) -> Option<&str> {
    if let Some((before, inner)) = text
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('))
        && is_episode_word(inner.trim())
    {
        return Some(before);
    }
    let places: Vec<usize> = spaced_words(text).map(|(at, _)| at).collect();
    let first = places.len().saturating_sub(EPISODE_PIECES_MAX);
    // The longest first: of `S01 E02` no part must stay.
    let at = places[first..]
        .iter()
        .find(|at| is_episode_word(&text[**at..]))?;
    Some(&text[..*at])
}

fn is_episode_word(text: &str) -> bool {
    let folded = fold(text);
    let mut all = words(&folded);
    matches!((all.next(), all.next()), (Some(word), None) if is_one_episode_word(text, word))
}

/// True if a text is one episode word (SEARCH.md 1.5), from its first character to its last; `word`
/// is its folding, which is one word.
pub(super) fn is_one_episode_word(text: &str, word: &str) -> bool {
    let is_plain = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    if !is_plain(bytes.first()) || !is_plain(bytes.last()) {
        return false;
    }
    let Some(numbers) = word.strip_prefix('s') else {
        return false;
    };
    let (season, episode) = numbers.split_once('e').unwrap_or((numbers, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    are_digits(season) && are_digits(episode)
}

/// `X` and `Y` of `X (Y)`, `Y` having four characters or more.
fn parenthesised(text: &str) -> Option<(&str, &str)> {
    let (outer, inner) = text.strip_suffix(')')?.rsplit_once('(')?;
    let (outer, inner) = (outer.trim(), inner.trim());
    if inner.chars().count() < INNER_NAME_CHARS_MIN || outer.is_empty() {
        return None;
    }
    Some((outer, inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(title: &str, is_episode: bool, expected: &[&str]) {
        let names = title_names(title, is_episode);
        let texts: Vec<&str> = names.iter().map(|name| name.text).collect();
        assert_eq!(texts, expected, "{title}");
    }

    fn film(title: &str, expected: &[&str]) {
        check(title, false, expected);
    }

    fn episode(title: &str, expected: &[&str]) {
        check(title, true, expected);
    }

    #[test]
    fn rule_20_10_aka_separates_names() {
        film("Ran aka Chaos", &["Ran", "Chaos"]);
        film("Ran A.K.A. Chaos AKA Caos", &["Ran", "Chaos", "Caos"]);
        film("Aka", &["Aka"]);
        film("aka Ran", &["aka Ran"]);
        film("Akane", &["Akane"]);
    }

    #[test]
    fn rule_20_10_what_ends_a_name_goes() {
        film("Heat (1995)", &["Heat"]);
        film("Heat (1849)", &["Heat (1849)", "Heat", "1849"]);
        film("Heat -", &["Heat"]);
        film("Heat: , – (1995) -", &["Heat"]);
        film("Dark S01E02", &["Dark S01E02"]);
        episode("Dark S01E02", &["Dark"]);
        episode("Dark - 1x02", &["Dark"]);
        episode("Dark (S01)", &["Dark"]);
        episode("Dark S01 E02", &["Dark"]);
        episode("Dark (2017) - S01E02", &["Dark"]);
        episode("24 S01", &["24"]);
        episode("S01E02", &["S01E02"]);
    }

    #[test]
    fn rule_20_10_parentheses_hold_another_name() {
        film(
            "Money Heist (La casa de papel)",
            &[
                "Money Heist (La casa de papel)",
                "Money Heist",
                "La casa de papel",
            ],
        );
        film("It (US)", &["It (US)"]);
        let names = ["Heat, (Fuego)", "Heat", "Fuego"];
        film("Heat, (Fuego)", &names);
        film("Dark (TV Series)", &["Dark (TV Series)", "Dark"]);
        film("(Fuego)", &["(Fuego)"]);
    }

    #[test]
    fn rule_20_10_a_title_without_a_name_is_its_own() {
        film("TV Series", &["TV Series"]);
        film("?", &["?"]);
    }
}
