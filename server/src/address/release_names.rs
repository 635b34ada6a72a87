//! The names of releases in a description or a file name (API.md 20.10).

use std::borrow::Cow;

use subcat_engine::{fold, release_word_weight, words};

use super::title_names::is_one_episode_word;
use crate::limits::{RELEASE_NAME_CHARS_MAX, RELEASE_PARTS_MIN};

/// Years that identify the name of a release.
const YEARS: std::ops::RangeInclusive<u16> = 1900..=2100;

/// The names of releases in a text, in their order.
pub(super) fn release_names(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.split_whitespace().filter_map(release_name)
}

/// A word between white space as the name of a release, if it is one.
fn release_name(word: &str) -> Option<Cow<'_, str>> {
    let separators = word.bytes().filter(|byte| b"._-".contains(byte)).count();
    // Most words of a description are refused here, for the cost of a look at their bytes.
    if separators + 1 < RELEASE_PARTS_MIN {
        return None;
    }
    match without_brackets(word) {
        Cow::Borrowed(bare) => bare_name(bare).map(Cow::Borrowed),
        Cow::Owned(bare) => bare_name(&bare).map(|name| Cow::Owned(name.to_owned())),
    }
}

/// The name in a word without brackets.
fn bare_name(bare: &str) -> Option<&str> {
    let name = bare.trim_matches(|c: char| !c.is_alphanumeric());
    let is_refused = name.contains(['/', '@']) || RELEASE_NAME_CHARS_MAX < name.chars().count();
    if is_refused {
        return None;
    }
    let parts = || {
        let parts = name.split(['.', '_', '-']);
        parts.filter(|part| !part.is_empty())
    };
    let is_release = RELEASE_PARTS_MIN <= parts().count() && parts().any(tells_release);
    if is_release { Some(name) } else { None }
}

/// True for a year, an episode word, or a word that distinguishes releases.
fn tells_release(part: &str) -> bool {
    let is_year = part.len() == 4 && part.parse().is_ok_and(|year| YEARS.contains(&year));
    if is_year {
        return true;
    }
    let folded = fold(part);
    let mut all = words(&folded);
    let (Some(word), None) = (all.next(), all.next()) else {
        return false;
    };
    1 < release_word_weight(word) || is_one_episode_word(part, word)
}

/// A word without its parts in square brackets.
fn without_brackets(word: &str) -> Cow<'_, str> {
    if !word.contains('[') {
        return Cow::Borrowed(word);
    }
    let mut bare = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, inside)) = rest.split_once('[') {
        let Some((_, after)) = inside.split_once(']') else {
            break;
        };
        bare.push_str(before);
        rest = after;
    }
    bare.push_str(rest);
    Cow::Owned(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = release_names(text).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn rule_20_10_a_release_name_has_three_parts_and_a_sign() {
        check("para Heat.1995.GRP", &["Heat.1995.GRP"]);
        check("Dark.S01E02.GRP y otros", &["Dark.S01E02.GRP"]);
        check("Dark_720p-GRP", &["Dark_720p-GRP"]);
        check("Heat.BluRay--GRP", &["Heat.BluRay--GRP"]);
        check("a.b.c", &[]);
        check("Heat.1995", &[]);
        check("Heat 1995 GRP", &[]);
    }

    #[test]
    fn rule_20_10_edges_and_brackets_go() {
        check("(Heat.1995.720p-GRP),", &["Heat.1995.720p-GRP"]);
        check("Heat.1995.720p-GRP[rartv]", &["Heat.1995.720p-GRP"]);
        check("http://x/Heat.1995.720p-GRP", &[]);
        check("me@heat.1995.example", &[]);
        let long = format!("Heat.1995.{}", "x".repeat(200));
        check(&long, &[]);
    }
}
