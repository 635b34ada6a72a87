//! Titles: the words that are removed from their end (NAMES.md N8), and what is shown (N9).

use std::ops::Range;

use super::tokens::{NameTokens, is_dash};
use super::word_class::is_one_of;

/// The part of a name directly behind its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TitleStop {
    Source,
    Mark,
    PlainYear,
    BracketYear,
    End,
}

/// A part of a name: its words, and its bytes with the characters around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamePart {
    pub(crate) words: Range<usize>,
    pub(crate) bytes: Range<usize>,
}

/// Words of a repeated release.
const REPEATS: [&str; 6] = ["proper", "repack", "rerip", "internal", "readnfo", "nfofix"];
/// Words of a version of a film.
const VERSIONS: [&str; 6] = [
    "extended",
    "unrated",
    "uncut",
    "remastered",
    "theatrical",
    "imax",
];
/// Words of a release that are words of titles as well.
const RELEASE_WORDS: [&str; 19] = [
    "limited", "retail", "dubbed", "subbed", "multi", "dual", "hdr", "dv", "custom", "hybrid",
    "fix", "festival", "docu", "stv", "dvd", "dc", "ws", "se", "3d",
];
const CUTS: [&str; 3] = ["directors", "extended", "theatrical"];
const EDITIONS: [&str; 7] = [
    "extended",
    "special",
    "ultimate",
    "theatrical",
    "uncut",
    "unrated",
    "collectors",
];
/// Articles that stand behind a comma: `Simpsons, The`.
pub(super) const ARTICLES: [&str; 9] = ["the", "a", "an", "el", "la", "los", "las", "un", "una"];

/// A phrase at the end of a title, by what may stand behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phrase {
    Repeat,
    Version,
    ReleaseWord,
    Disc,
    Series,
}

impl Phrase {
    fn may_stand_before(self, stop: TitleStop) -> bool {
        match self {
            Self::Repeat => matches!(
                stop,
                TitleStop::Source | TitleStop::Mark | TitleStop::PlainYear
            ),
            Self::Version => matches!(stop, TitleStop::Source | TitleStop::PlainYear),
            Self::ReleaseWord => stop == TitleStop::Source,
            Self::Disc | Self::Series => true,
        }
    }
}

/// The words that N8 removes from the end of a title.
pub(crate) struct Trimmed {
    pub(crate) span: NamePart,
    /// Places of series phrases that were removed.
    pub(crate) series_phrase: Option<Range<usize>>,
}

/// Removes the words of a release from the end of a title, while words remain (NAMES.md N8).
/// Without `stop` all of them, whatever stands behind.
pub(crate) fn trim(tokens: &NameTokens, span: NamePart, stop: Option<TitleStop>) -> Trimmed {
    let mut trimmed = Trimmed {
        span,
        series_phrase: None,
    };
    while let Some((words, phrase)) = last_phrase(tokens, &trimmed.span.words) {
        let bracket = tokens.lone_bracket(&words);
        let is_allowed = stop.is_none_or(|stop| phrase.may_stand_before(stop));
        if words.start == trimmed.span.words.start || !(is_allowed || bracket.is_some()) {
            break;
        }
        let end = bracket.map_or(tokens.start(words.start), |bracket| bracket.start);
        if phrase == Phrase::Series {
            trimmed.series_phrase = Some(words.clone());
        }
        trimmed.span.words.end = words.start;
        trimmed.span.bytes.end = end.max(trimmed.span.bytes.start);
    }
    trimmed
}

/// The longest phrase that these words end with.
fn last_phrase(tokens: &NameTokens, words: &Range<usize>) -> Option<(Range<usize>, Phrase)> {
    for len in (1..=words.len().min(3)).rev() {
        let range = words.end - len..words.end;
        let text: [&str; 3] = std::array::from_fn(|at| {
            if at < len {
                tokens.word(range.start + at)
            } else {
                ""
            }
        });
        if let Some(phrase) = phrase(text) {
            return Some((range, phrase));
        }
    }
    None
}

fn phrase(words: [&str; 3]) -> Option<Phrase> {
    match words {
        ["the", "complete", "series"]
        | ["complete", "series" | "seasons", ""]
        | ["serie", "completa", ""]
        | ["the", "complete", ""]
        | ["complete", "", ""] => Some(Phrase::Series),
        ["read", "nfo", ""] => Some(Phrase::Repeat),
        [first, "cut", ""] if is_one_of(first, &CUTS) => Some(Phrase::Version),
        [first, "edition", ""] if is_one_of(first, &EDITIONS) => Some(Phrase::Version),
        ["cd1" | "cd2" | "cd3" | "cd4", "", ""] => Some(Phrase::Disc),
        [word, "", ""] if is_one_of(word, &REPEATS) => Some(Phrase::Repeat),
        [word, "", ""] if is_one_of(word, &VERSIONS) => Some(Phrase::Version),
        [word, "", ""] if is_one_of(word, &RELEASE_WORDS) => Some(Phrase::ReleaseWord),
        _ => None,
    }
}

/// The series phrase that begins at a word.
pub(crate) fn series_phrase_at(tokens: &NameTokens, idx: usize) -> Option<Range<usize>> {
    (1..=3).rev().find_map(|len| {
        let range = idx..idx + len;
        let is_inside = range.end <= tokens.len();
        let (words, phrase) = last_phrase(tokens, &range).filter(|_| is_inside)?;
        (words == range && phrase == Phrase::Series).then_some(range)
    })
}

/// True if N8 removes this word by itself from the end of some title.
pub(crate) fn is_release_word(word: &str) -> bool {
    phrase([word, "", ""]).is_some()
}

/// The displayed form of a part of a name (NAMES.md N9).
pub(crate) fn shown(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut rest = part;
    let mut before = None;
    while let Some(character) = rest.chars().next() {
        if !before.is_some_and(char::is_alphanumeric)
            && let Some(acronym) = acronym(rest)
        {
            text.push_str(acronym);
            text.push(' ');
            rest = &rest[acronym.len()..];
            before = Some('.');
            continue;
        }
        rest = &rest[character.len_utf8()..];
        let keeps_dot = || {
            before.is_some_and(char::is_alphanumeric)
                && rest.starts_with(|c: char| c == '_' || c.is_whitespace())
        };
        match character {
            '.' if keeps_dot() => text.push('.'),
            '.' | '_' => text.push(' '),
            _ => text.push(character),
        }
        before = Some(character);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    with_article_in_front(without_ends(&words.join(" ")))
}

/// Two or more single letters, each with a dot behind: `S.W.A.T.`; the last dot may be missing at
/// the end of a text.
fn acronym(text: &str) -> Option<&str> {
    let mut end = 0;
    let mut letters = 0;
    loop {
        let mut chars = text[end..].chars();
        let Some(letter) = chars.next().filter(|c| c.is_alphabetic()) else {
            break;
        };
        match chars.next() {
            Some('.') => end += letter.len_utf8() + 1,
            next => {
                let ends_here = next.is_none_or(|c| c == '_' || c.is_whitespace());
                if letters > 0 && ends_here {
                    end += letter.len_utf8();
                    letters += 1;
                }
                break;
            }
        }
        letters += 1;
    }
    (letters > 1).then(|| &text[..end])
}

/// Without dashes and single brackets at the ends.
fn without_ends(text: &str) -> &str {
    let mut text = text;
    loop {
        let trimmed = text.trim_matches(|c: char| is_dash(c) || c.is_whitespace());
        let trimmed = without_single_bracket(trimmed);
        if trimmed.len() == text.len() {
            return text;
        }
        text = trimmed;
    }
}

/// Without a bracket at either end that has no counterpart.
fn without_single_bracket(text: &str) -> &str {
    let pairs = super::tokens::brackets(text);
    let last = text.len().saturating_sub(1);
    if text.starts_with(['(', ')', '[', ']', '{', '}']) && pairs.iter().all(|pair| pair.start != 0)
    {
        return &text[1..];
    }
    if text.ends_with(['(', ')', '[', ']', '{', '}'])
        && pairs.iter().all(|pair| pair.end != last + 1)
    {
        return &text[..last];
    }
    text
}

fn with_article_in_front(text: &str) -> String {
    let Some((title, article)) = text.rsplit_once(", ") else {
        return text.to_owned();
    };
    if title.is_empty() || !is_one_of(&article.to_ascii_lowercase(), &ARTICLES) {
        return text.to_owned();
    }
    format!("{article} {title}")
}

/// A part without its brackets and what they contain.
pub(crate) fn without_brackets(part: &str) -> String {
    let mut text = part.to_owned();
    for pair in super::tokens::brackets(part) {
        super::clean::blank(&mut text, pair);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_shown(part: &str, expected: &str) {
        assert_eq!(shown(part), expected, "{part:?}");
    }

    #[test]
    fn n9_shown() {
        check_shown("Mr.Robot.", "Mr Robot");
        check_shown("S.W.A.T.", "S.W.A.T.");
        check_shown("E.T.The.Extra-Terrestrial.", "E.T. The Extra-Terrestrial");
        check_shown("Agents.of.S.H.I.E.L.D.", "Agents of S.H.I.E.L.D.");
        check_shown("S.W.A.T", "S.W.A.T");
        check_shown("Dr._Who_", "Dr. Who");
        check_shown("Dr. No ", "Dr. No");
        check_shown("Monsters, Inc. ", "Monsters, Inc.");
        check_shown("Tick, Tick... Boom! ", "Tick, Tick Boom!");
        check_shown("Show - [", "Show");
        check_shown("(Untitled) ", "(Untitled)");
        check_shown(" - Amores.Perros.", "Amores Perros");
        check_shown("Simpsons, The ", "The Simpsons");
        check_shown("Casa, La", "La Casa");
        check_shown("Blood+ - ", "Blood+");
        check_shown("Vol.1.", "Vol 1");
    }

    fn check_trim(name: &str, stop: TitleStop, expected: &str) {
        let tokens = NameTokens::new(name);
        let span = NamePart {
            words: 0..tokens.len(),
            bytes: 0..name.len(),
        };
        let trimmed = trim(&tokens, span, Some(stop));
        assert_eq!(shown(&name[trimmed.span.bytes]), expected, "{name:?}");
    }

    #[test]
    fn n8_words_of_a_release_are_removed_from_the_end() {
        check_trim("Juno.LIMITED.", TitleStop::Source, "Juno");
        check_trim("Juno LIMITED ", TitleStop::PlainYear, "Juno LIMITED");
        check_trim("The Fix ", TitleStop::BracketYear, "The Fix");
        check_trim("Fyre Festival ", TitleStop::Mark, "Fyre Festival");
        check_trim("The Fix PROPER ", TitleStop::Mark, "The Fix");
        check_trim("Troy.Directors.Cut.", TitleStop::PlainYear, "Troy");
        check_trim("Volver (Director's Cut) ", TitleStop::BracketYear, "Volver");
        check_trim(
            "The Wire - The Complete Series ",
            TitleStop::Mark,
            "The Wire",
        );
        check_trim("Amelie CD1 ", TitleStop::BracketYear, "Amelie");
        check_trim("Unrated ", TitleStop::Source, "Unrated");
        check_trim(
            "A Complete Unknown",
            TitleStop::PlainYear,
            "A Complete Unknown",
        );
    }
}
