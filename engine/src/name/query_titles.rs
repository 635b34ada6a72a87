//! Titles that are looked up for a query (SEARCH.md 4, titles and films of names).

use crate::limits::FILM_WORDS_LEFT_OUT_MAX;

use super::named::Named;
use super::parsed_name::ParsedName;

use super::title::{NamePart, shown, trim, without_brackets};
use super::word_class::{is_one_of, number};

/// Countries at the end of a title.
const COUNTRIES: [&str; 6] = ["us", "usa", "uk", "au", "nz", "ca"];
/// Words of a release at the end of a title, beside those of N8.
const RELEASE_WORDS: [&str; 22] = [
    "castellano",
    "espanol",
    "spanish",
    "latino",
    "vose",
    "english",
    "french",
    "truefrench",
    "german",
    "italian",
    "danish",
    "dl",
    "ld",
    "md",
    "line",
    "audio",
    "hd",
    "ts",
    "r5",
    "cam",
    "hsbs",
    "hou",
];

/// The title as read, then with one change each.
pub(super) fn titles(name: &ParsedName, named: Named) -> Vec<String> {
    let as_read = name.shown_title();
    if as_read.is_empty() {
        return Vec::new();
    }
    let is_of_series = matches!(
        named,
        Named::Episode { .. } | Named::Season(_) | Named::Number(_)
    );
    let mut titles = vec![as_read];
    let mut add = |title: String| {
        if !title.is_empty() && !titles.contains(&title) {
            titles.push(title);
        }
    };
    let part = &name.words.tokens.text()[name.title.bytes.clone()];
    add(shown(&without_brackets(part)));
    add(without_country(name));
    if name.words.source.is_some() || named != Named::Nothing {
        add(without_release_words(name));
    }
    if is_of_series {
        add(without_last_number(name));
        add(without_first_numbers(name));
    }
    titles
}

/// Titles of films: without the last word, the last two, up to eight, and behind the first ` - `.
pub(super) fn film_titles(name: &ParsedName) -> Vec<String> {
    let tokens = &name.words.tokens;
    let title = &name.title;
    let mut titles = Vec::new();
    let left_out_max = title
        .words
        .len()
        .saturating_sub(1)
        .min(FILM_WORDS_LEFT_OUT_MAX);
    for left_out in 1..=left_out_max {
        let end = tokens.start(title.words.end - left_out);
        titles.push(name.shown_part(title.bytes.start..end));
    }
    let mut behind_first = title.words.clone().skip(1);
    if let Some(idx) = behind_first.find(|idx| tokens.has_dash(*idx)) {
        titles.push(name.shown_part(tokens.start(idx)..title.bytes.end));
    }
    titles.retain(|title| !title.is_empty());
    titles
}

fn without_country(name: &ParsedName) -> String {
    let (tokens, words) = (&name.words.tokens, &name.title.words);
    let last = words.end.saturating_sub(1);
    if words.len() < 2 || !is_one_of(tokens.word(last), &COUNTRIES) {
        return String::new();
    }
    name.shown_part(name.title.bytes.start..tokens.start(last))
}

fn without_release_words(name: &ParsedName) -> String {
    let tokens = &name.words.tokens;
    let mut span = name.title.clone();
    loop {
        span = trim(tokens, span, None).span;
        let last = span.words.end.saturating_sub(1);
        if span.words.len() < 2 || !is_one_of(tokens.word(last), &RELEASE_WORDS) {
            break;
        }
        span = NamePart {
            words: span.words.start..last,
            bytes: span.bytes.start..tokens.start(last),
        };
    }
    name.shown_part(span.bytes)
}

/// Without a last ` - N`.
fn without_last_number(name: &ParsedName) -> String {
    let (tokens, words) = (&name.words.tokens, &name.title.words);
    let last = words.end.saturating_sub(1);
    let is_number = number(tokens.word(last), 1..=4).is_some() && tokens.is_behind_dash(last);
    if words.len() < 2 || !is_number {
        return String::new();
    }
    name.shown_part(name.title.bytes.start..tokens.start(last))
}

/// Without the numbers that it begins with.
fn without_first_numbers(name: &ParsedName) -> String {
    let (tokens, words) = (&name.words.tokens, &name.title.words);
    let is_number = |idx: &usize| number(tokens.word(*idx), 1..=9).is_some();
    let numbers = words.clone().take_while(is_number).count();
    if numbers == 0 || numbers == words.len() {
        return String::new();
    }
    name.shown_part(tokens.start(words.start + numbers)..name.title.bytes.end)
}

#[cfg(test)]
mod tests {
    use crate::name::QueryName;

    fn check(query: &str, expected: &[&str]) {
        assert_eq!(QueryName::parse(query).titles(), expected, "{query:?}");
    }

    #[test]
    fn titles_are_looked_up_as_read_and_with_one_change() {
        check("Volver.DVDRip.XviD-GRP.avi", &["Volver"]);
        check(
            "The Office (US) - S03E13",
            &["The Office (US)", "The Office"],
        );
        check(
            "The.Office.US.S03E13.720p",
            &["The Office US", "The Office"],
        );
        check("Tesis.SPANISH.DVDRip", &["Tesis SPANISH", "Tesis"]);
        check(
            "El.orfanato.LATINO.Dual.720p.mkv",
            &["El orfanato LATINO", "El orfanato"],
        );
        check(
            "Mushishi - 038 - S02E12.mkv",
            &["Mushishi - 038", "Mushishi"],
        );
        check("04 - Dark 1x04", &["04 - Dark", "Dark"]);
        check("Dark Extended", &["Dark Extended"]);
    }

    #[test]
    fn films_are_looked_up_with_fewer_words() {
        let films = |query: &str| QueryName::parse(query).film_titles();
        assert_eq!(
            films("Blade Runner (Final Cut) (1982)"),
            ["Blade Runner (Final", "Blade Runner", "Blade"]
        );
        assert_eq!(films("03 - Volver (2006).mkv"), ["03", "Volver"]);
        assert_eq!(films("Dark S01E02"), [""; 0]);
    }
}
