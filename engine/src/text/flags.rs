//! Flags set by the description and the file name of a record (SEARCH.md 6.4).

use super::character::fold_character;
use super::words;
use crate::model::{Flag, FlagSet};

/// Rows of words of a description that set a flag.
const PHRASES: [(Flag, &[&str]); 26] = [
    (Flag::HearingImpaired, &["sdh"]),
    (Flag::HearingImpaired, &["para", "sordos"]),
    (Flag::HearingImpaired, &["discapacidad", "auditiva"]),
    (Flag::HearingImpaired, &["hearing", "impaired"]),
    (Flag::HearingImpaired, &["closed", "caption"]),
    (Flag::HearingImpaired, &["closed", "captions"]),
    (Flag::Forced, &["solo", "forzado"]),
    (Flag::Forced, &["solo", "forzados"]),
    (Flag::Forced, &["solo", "los", "forzados"]),
    (Flag::Forced, &["solo", "subtitulos", "forzados"]),
    (Flag::Forced, &["forced", "only"]),
    (Flag::Forced, &["only", "forced"]),
    (Flag::MachineTranslated, &["traduccion", "automatica"]),
    (Flag::MachineTranslated, &["traductor", "automatico"]),
    (Flag::MachineTranslated, &["google", "translate"]),
    (Flag::MachineTranslated, &["google", "traductor"]),
    (Flag::MachineTranslated, &["traductor", "de", "google"]),
    (Flag::MachineTranslated, &["traducido", "con", "ia"]),
    (Flag::MachineTranslated, &["traducidos", "con", "ia"]),
    (Flag::MachineTranslated, &["traduccion", "con", "ia"]),
    (Flag::MachineTranslated, &["inteligencia", "artificial"]),
    (Flag::MachineTranslated, &["chatgpt"]),
    (Flag::MachineTranslated, &["deepl"]),
    (Flag::MachineTranslated, &["machine", "translated"]),
    (Flag::MachineTranslated, &["machine", "translation"]),
    (Flag::MachineTranslated, &["ai", "translated"]),
];

/// Words that deny a phrase when they are one of the three before it.
const DENIALS_BEFORE: [&str; 12] = [
    "sin",
    "no",
    "quite",
    "quitado",
    "quitados",
    "saque",
    "eliminado",
    "eliminados",
    "elimine",
    "without",
    "removed",
    "not",
];
const WORDS_BEFORE: usize = 3;

/// Words that deny a phrase when they are one of the two after it.
const DENIALS_AFTER: [&str; 5] = ["eliminado", "eliminados", "quitado", "quitados", "removed"];
const WORDS_AFTER: usize = 2;

/// Words of a file name that set a flag wherever they stand.
const NAME_WORDS: [(Flag, &str); 7] = [
    (Flag::HearingImpaired, "sdh"),
    (Flag::HearingImpaired, "sordos"),
    (Flag::Forced, "forced"),
    (Flag::Forced, "forzado"),
    (Flag::Forced, "forzados"),
    (Flag::Forced, "forzada"),
    (Flag::Forced, "forzadas"),
];

/// Words of a file name that mean, as the last word, that it is for the hearing impaired.
const LAST_NAME_WORDS: [&str; 2] = ["hi", "cc"];

/// Endings of file names of subtitles and archives, the longest first.
const ENDINGS: [&str; 8] = [
    ".vtt.srt", ".srt", ".ssa", ".ass", ".sub", ".vtt", ".zip", ".rar",
];

/// The flags set by a description: a phrase that is not denied by a word near it.
///
/// Source: SEARCH.md 6.4.
///
/// ```
/// use subcat_engine::{Flag, internals::described_flags};
/// let flags = described_flags("Versión SDH de Netflix");
/// assert!(flags.contains(Flag::HearingImpaired));
/// assert!(!described_flags("sin SDH").contains(Flag::HearingImpaired));
/// ```
pub fn described_flags(description: &str) -> FlagSet {
    let folded = fold_plainly(description);
    let all: Vec<&str> = words(&folded).collect();
    let mut flags = FlagSet::default();
    for (start, first) in all.iter().enumerate() {
        for (flag, phrase) in PHRASES {
            if phrase[0] == *first
                && all[start..].starts_with(phrase)
                && !is_denied(&all, start, start + phrase.len())
            {
                flags = flags.with(flag);
            }
        }
    }
    flags
}

fn is_denied(all: &[&str], start: usize, end: usize) -> bool {
    let before = &all[start.saturating_sub(WORDS_BEFORE)..start];
    let after = &all[end..all.len().min(end + WORDS_AFTER)];
    let is_before = before.iter().any(|word| DENIALS_BEFORE.contains(word));
    is_before || after.iter().any(|word| DENIALS_AFTER.contains(word))
}

/// The flags set by a file name; its ending does not count as a word.
///
/// Source: SEARCH.md 6.5.
pub fn named_flags(file_name: &str) -> FlagSet {
    let folded = fold_plainly(without_ending(file_name));
    let mut flags = FlagSet::default();
    for word in words(&folded) {
        let known = NAME_WORDS.iter().find(|(_, known)| *known == word);
        flags = known.map_or(flags, |(flag, _)| flags.with(*flag));
    }
    match words(&folded).next_back() {
        Some(last) if LAST_NAME_WORDS.contains(&last) => flags.with(Flag::HearingImpaired),
        _ => flags,
    }
}

/// A file name without the ending of subtitles or of an archive, in any case.
pub fn without_ending(file_name: &str) -> &str {
    for ending in ENDINGS {
        let start = file_name.len().saturating_sub(ending.len());
        let end = file_name.get(start..).unwrap_or_default();
        if end.eq_ignore_ascii_case(ending) {
            return &file_name[..start];
        }
    }
    file_name
}

/// Folds a text by SEARCH.md 1.1 to 1.4: episode words keep their spelling.
fn fold_plainly(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            folded.push(character.to_ascii_lowercase());
        } else {
            fold_character(character, &mut |letter| folded.push(letter));
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(flags: FlagSet) -> String {
        flags.iter().map(Flag::as_str).collect::<Vec<_>>().join(" ")
    }

    fn described(description: &str, expected: &str) {
        assert_eq!(
            names(described_flags(description)),
            expected,
            "{description}"
        );
    }

    fn named(file_name: &str, expected: &str) {
        assert_eq!(names(named_flags(file_name)), expected, "{file_name}");
    }

    #[test]
    fn search_rule_6_4_every_phrase_tells_its_flag() {
        for (flag, phrase) in PHRASES {
            described(&format!("x {} y", phrase.join(" ")), flag.as_str());
        }
        described(
            "Traducción automática (SDH)",
            "hearing_impaired machine_translated",
        );
        described("Nada de google translate", "machine_translated");
        described("Hijos de sordos", "");
        described("Completos y forzados", "");
        described("", "");
    }

    #[test]
    fn search_rule_6_4_words_near_it_deny_a_phrase() {
        described("No son solo forzados", "");
        described("sin a b SDH", "");
        described("sin a b c SDH", "hearing_impaired");
        described("SDH removed", "");
        described("SDH a quitado", "");
        described("SDH a b quitado", "hearing_impaired");
        described("SDH sin", "hearing_impaired");
        described("sin SDH, a b c con SDH", "hearing_impaired");
    }

    #[test]
    fn search_rule_6_5_words_of_a_file_name() {
        named("Película para sordos.rar", "hearing_impaired");
        named("Film.forzados.zip", "forced");
        named("Film.SDH.Forced.es.srt", "hearing_impaired forced");
        named("Film.2001.HI.srt", "hearing_impaired");
        named("Film.2001.cc.vtt.SRT", "hearing_impaired");
        named("Film.CC.1080p.srt", "");
        named("Film.HI.mkv", "");
        named("Film.S01E02.x264-LOL.HI", "hearing_impaired");
        named(".srt", "");
        named("", "");
    }

    #[test]
    fn endings_go_in_any_case_once() {
        assert_eq!(without_ending("a.vtt.srt"), "a");
        assert_eq!(without_ending("a.SRT.zip"), "a.SRT");
        assert_eq!(without_ending("ñsrt"), "ñsrt");
        assert_eq!(without_ending("a.mkv"), "a.mkv");
    }
}
