//! Classes of words in paths: clear, technical and generic words, flags (NAMES.md P1, P4, L1).

use super::language::{LanguageWords, language_before};
use super::language_words::word_tag;
use super::tokens::{NameTokens, is_dash};
use super::word_class::{is_one_of, leading_number, number};

/// Words of folders that hold subtitles.
const CLEAR_WORDS: [&str; 10] = [
    "sub",
    "subs",
    "subtitle",
    "subtitles",
    "subtitulo",
    "subtitulos",
    "srt",
    "cd1",
    "cd2",
    "cd3",
];
/// Words that name any video.
const GENERIC_WORDS: [&str; 6] = ["movie", "film", "video", "pelicula", "track", "title"];
/// Words before one digit that give the technical form of a release.
const TECHNICAL_PREFIXES: [&str; 11] = [
    "cd", "dvd", "disc", "disco", "r", "ac", "mp", "aac", "dd", "ddp", "h",
];
const TECHNICAL_X: &str = "x";
/// Flags of subtitles for the hearing impaired.
const HEARING_FLAGS: [&str; 4] = ["sdh", "cc", "hi", "sordos"];
/// Flags of subtitles of foreign passages.
const FORCED_FLAGS: [&str; 3] = ["forced", "forzado", "forzados"];
/// Flags that say nothing.
const EMPTY_FLAGS: [&str; 4] = ["default", "full", "completo", "completos"];

/// A flag of subtitles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NameFlag {
    HearingImpaired,
    Forced,
    /// `foreign`, which is one only beside a language.
    Foreign,
    /// A word that says nothing about the subtitles.
    Empty,
}

/// The flag that a folded word is.
pub(crate) fn flag(word: &str) -> Option<NameFlag> {
    if is_one_of(word, &HEARING_FLAGS) {
        Some(NameFlag::HearingImpaired)
    } else if is_one_of(word, &FORCED_FLAGS) {
        Some(NameFlag::Forced)
    } else if is_one_of(word, &EMPTY_FLAGS) {
        Some(NameFlag::Empty)
    } else if word == "foreign" {
        Some(NameFlag::Foreign)
    } else {
        None
    }
}

/// True for a word that only folders of subtitles have.
pub(crate) fn is_clear(word: &str) -> bool {
    is_one_of(word, &CLEAR_WORDS)
}

/// True for a technical word (NAMES.md P4): one that source words consist of, or a number that is
/// no episode's.
pub(crate) fn is_technical(tokens: &NameTokens, idx: usize) -> bool {
    let word = tokens.word(idx);
    let before = |back: usize| idx.checked_sub(back).map_or("", |idx| tokens.word(idx));
    if is_in_source(tokens, idx) || is_one_of(word, &["264", "265", "3d"]) {
        return true;
    }
    let is_prefixed = |prefix: &str| {
        word.strip_prefix(prefix)
            .is_some_and(|rest| number(rest, 1..=1).is_some())
    };
    if TECHNICAL_PREFIXES
        .iter()
        .chain(&[TECHNICAL_X])
        .any(|it| is_prefixed(it))
    {
        return true;
    }
    if let Some((_, rest)) = leading_number(word, 1..=2)
        && (rest == "bit" || (is_one_of(rest, &["ch", "st", "nd", "rd", "th"]) && word.len() == 3))
    {
        return true;
    }
    if number(word, 1..=1).is_none() {
        return false;
    }
    is_one_of(before(1), &["cd", "disc", "dvd", "h", "x"])
        || is_sound(before(1))
        || (number(before(1), 1..=1).is_some() && is_sound(before(2)))
}

/// True for a word that is a source word or belongs to one of two words.
pub(crate) fn is_in_source(tokens: &NameTokens, idx: usize) -> bool {
    tokens.is_source(idx)
        || idx
            .checked_sub(1)
            .is_some_and(|before| tokens.source_len(before) == 2)
}

/// A form of sound, which the number of its channels follows: `dd`, `DD5`.
fn is_sound(word: &str) -> bool {
    let names = ["dd", "ddp", "aac", "dts", "ac3", "eac3"];
    names.iter().any(|name| {
        word.strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || number(rest, 1..=1).is_some())
    })
}

/// True for words that name no title: languages, flags, source words, digits (NAMES.md P4).
pub(crate) fn is_generic(tokens: &NameTokens, idx: usize) -> bool {
    let word = tokens.word(idx);
    is_clear(word)
        || is_one_of(word, &GENERIC_WORDS)
        || flag(word).is_some()
        || is_in_source(tokens, idx)
        || word.bytes().all(|byte| byte.is_ascii_digit())
        || is_of_language(tokens, idx)
}

/// True for a word of a language or a flag.
pub(crate) fn is_tag(tokens: &NameTokens, idx: usize) -> bool {
    flag(tokens.word(idx)).is_some() || is_of_language(tokens, idx)
}

/// True for a word that gives a language, alone or with its neighbours.
fn is_of_language(tokens: &NameTokens, idx: usize) -> bool {
    if word_tag(tokens.word(idx)).is_some() {
        return true;
    }
    // Words of a place stand beside the name: up to two.
    (idx + 1..=tokens.len().min(idx + 3))
        .any(|end| language_before(tokens, end).is_some_and(|found| found.words.contains(&idx)))
}

/// The languages of a text, in their order; a capital letter makes a doubtful code a word.
pub(crate) fn languages(tokens: &NameTokens) -> Vec<LanguageWords> {
    let mut found = Vec::new();
    let mut end = tokens.len();
    while end > 0 {
        match language_before(tokens, end).filter(|language| is_written_as_code(tokens, language)) {
            Some(language) => {
                end = language.words.start;
                found.push(language);
            }
            None => end -= 1,
        }
    }
    found.reverse();
    found
}

/// True unless a doubtful code has capital letters.
pub(crate) fn is_written_as_code(tokens: &NameTokens, language: &LanguageWords) -> bool {
    let start = language.words.start;
    let raw = &tokens.text()[tokens.start(start)..tokens.end(start)];
    !language.is_doubtful || !raw.contains(char::is_uppercase)
}

/// The group of a release that ends before `end`: one or two words without blanks behind the last
/// `-` behind a source word. Returns its first word.
pub(crate) fn release_group(
    tokens: &NameTokens,
    source: Option<usize>,
    end: usize,
) -> Option<usize> {
    let source = source?;
    let start = (source + 1..end)
        .rev()
        .find(|idx| tokens.gap(*idx).contains(is_dash) && !is_second_of_source(tokens, *idx))?;
    let text = &tokens.text()[tokens.end(start - 1)..tokens.end(end - 1)];
    let is_group = end - start <= 2 && !text.contains(char::is_whitespace);
    is_group.then_some(start)
}

fn is_second_of_source(tokens: &NameTokens, idx: usize) -> bool {
    idx.checked_sub(1)
        .is_some_and(|before| tokens.source_len(before) == 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p4_technical_words() {
        let technical = |text: &str| {
            let tokens = NameTokens::new(text);
            (0..tokens.len()).all(|idx| is_technical(&tokens, idx))
        };
        assert!(technical("1080p.WEB-DL.DD5.1"));
        assert!(technical("AAC.2.0 x265 10bit 6ch 3D mp3"));
        assert!(technical("AC3 5.1"));
        assert!(!technical("5 1"));
        assert!(!technical("25th"));
        assert!(!technical("web"));
    }

    #[test]
    fn p4_generic_words() {
        let generic = |text: &str| {
            let tokens = NameTokens::new(text);
            (0..tokens.len()).all(|idx| is_generic(&tokens, idx))
        };
        assert!(generic("2_English SDH"));
        assert!(generic("Spanish (Latin America)"));
        assert!(generic("movie"));
        assert!(!generic("sample movie"));
    }

    #[test]
    fn l3_groups_of_releases() {
        let group = |text: &str| {
            let tokens = NameTokens::new(text);
            let source = tokens.first_source();
            release_group(&tokens, source, tokens.len())
        };
        assert_eq!(group("Heat.1080p.x264-ABC"), Some(3));
        assert_eq!(group("Heat.1080p.x264-YTS.MX"), Some(3));
        assert_eq!(group("Heat.1080p.x264-[YTS.MX]"), Some(3));
        assert_eq!(group("Heat.1080p.WEB-DL"), None);
        assert_eq!(group("Heat-ABC.1080p"), None);
        assert_eq!(group("Heat.1080p-ABC of x"), None);
    }
}
