//! Classes of words in names, as tables: NAMES.md N2, N3, N7, N8. A class is tested by hand-written
//! scans, without regular expressions: a name is read for every search without matches.

use std::ops::RangeInclusive;

use crate::limits::NAME_SOURCE_BYTES_MAX;

/// Words after which a number is that of an episode.
pub(crate) const EPISODE_WORDS: [&str; 6] =
    ["ep", "cap", "capitulo", "episode", "episodio", "folge"];
/// Words of parts.
pub(crate) const PART_WORDS: [&str; 3] = ["part", "pt", "parte"];
/// Words of seasons that stand before a number, glued to it or not.
const SEASON_WORDS: [&str; 5] = ["season", "temporada", "saison", "staffel", "stagione"];
/// Words of seasons that are never glued to a number.
const LOOSE_SEASON_WORDS: [&str; 3] = ["temp", "tem", "seizoen"];
/// Words of several seasons.
const SEASON_PLURALS: [&str; 6] = [
    "seasons",
    "temporadas",
    "saisons",
    "staffeln",
    "stagioni",
    "seizoenen",
];
/// Numbers of lines of a picture.
const LINES: [&str; 8] = ["480", "540", "576", "720", "1080", "1440", "2160", "4320"];
/// Source words, but for those that contain a number that varies.
const SOURCES: [&str; 59] = [
    "10bit", "4k", "8bit", "aac", "aac2", "ac3", "av1", "avc", "bdremux", "bdrip", "bluray",
    "brrip", "dd2", "dd5", "ddp2", "ddp5", "divx", "dsr", "dsrip", "dts", "dtvrip", "dvbrip",
    "dvd5", "dvd9", "dvdr", "dvdrip", "dvdscr", "eac3", "flac", "h264", "h265", "hdcam", "hddvd",
    "hdr10", "hdrip", "hdtc", "hdts", "hdtv", "hdtvrip", "hevc", "mpeg2", "pdtv", "remux",
    "satrip", "screener", "telecine", "telesync", "truehd", "tvrip", "uhd", "vc1", "vhsrip",
    "webcap", "webdl", "webhd", "webrip", "x264", "x265", "xvid",
];
/// Ordinals of seasons: their number is their place.
const ENGLISH_ORDINALS: [&str; 20] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
    "twentieth",
];
const SPANISH_ORDINALS: [&str; 10] = [
    "primera", "segunda", "tercera", "cuarta", "quinta", "sexta", "septima", "octava", "novena",
    "decima",
];
const ORDINAL_ENDINGS: [&str; 9] = ["a", "o", "da", "ra", "ta", "st", "nd", "rd", "th"];
const ENGLISH_MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const SPANISH_MONTHS: [&str; 12] = [
    "enero",
    "febrero",
    "marzo",
    "abril",
    "mayo",
    "junio",
    "julio",
    "agosto",
    "septiembre",
    "octubre",
    "noviembre",
    "diciembre",
];
/// Endings of video files.
const VIDEO_ENDINGS: [&str; 13] = [
    "mkv", "mp4", "avi", "m4v", "ts", "mov", "wmv", "mpg", "mpeg", "flv", "ogm", "webm", "divx",
];
const M2TS: &str = "m2ts";
/// Endings of subtitles and of archives.
const SUBTITLE_ENDINGS: [&str; 6] = ["srt", "sub", "ssa", "ass", "zip", "rar"];
/// An ending of subtitles that are not imported.
const VTT: &str = "vtt";
/// First year that a word can be.
const YEAR_FIRST: u32 = 1900;

/// True if a word is among these.
pub(crate) fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.contains(&word)
}

/// The number of a word that is digits only, of a length in this range.
pub(crate) fn number(word: &str, digits: RangeInclusive<usize>) -> Option<u32> {
    let is_number = digits.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { word.parse().ok() } else { None }
}

/// The digits that a text begins with, of a length in this range and not followed by another
/// digit: their number, and the rest of the text.
pub(crate) fn leading_number(text: &str, digits: RangeInclusive<usize>) -> Option<(u32, &str)> {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(text.len());
    let (head, rest) = text.split_at(end);
    Some((number(head, digits)?, rest))
}

/// The number of a word of digits, with `v` and a version behind it or not: `12`, `12v2`.
pub(crate) fn versioned_number(word: &str, digits: RangeInclusive<usize>) -> Option<u32> {
    let (number, rest) = leading_number(word, digits)?;
    let is_version = rest.strip_prefix('v').is_some_and(|version| {
        leading_number(version, 1..=9).is_some_and(|(_, rest)| rest.is_empty())
    });
    (rest.is_empty() || is_version).then_some(number)
}

/// Length, in words, of the source word that begins at a word before the word `next`: 0, 1 or 2
/// (NAMES.md N2).
pub(crate) fn source_len(word: &str, next: &str) -> usize {
    if word.is_empty() {
        return 0;
    }
    let is_of_letters = || word.bytes().all(|byte| byte.is_ascii_lowercase());
    if (!next.is_empty() && is_of_letters() && is_source_pair(word, next))
        || (word == "10" && next == "bit")
    {
        return 2;
    }
    usize::from(is_source_word(word))
}

/// True for two words that give a source if they are joined.
fn is_source_pair(word: &str, next: &str) -> bool {
    let mut joined = [0; NAME_SOURCE_BYTES_MAX];
    let Some(joined) = joined.get_mut(..word.len() + next.len()) else {
        return false;
    };
    let (first, second) = joined.split_at_mut(word.len());
    first.copy_from_slice(word.as_bytes());
    second.copy_from_slice(next.as_bytes());
    SOURCES
        .binary_search_by(|known| known.as_bytes().cmp(joined))
        .is_ok()
}

/// True for one word that gives the source of a release.
fn is_source_word(word: &str) -> bool {
    if SOURCES.binary_search(&word).is_ok() {
        return true;
    }
    is_resolution(word)
}

/// `1080p`, `720p50`, `1920x1080`.
fn is_resolution(word: &str) -> bool {
    let Some((_, rest)) = leading_number(word, 3..=4) else {
        return false;
    };
    if let Some(height) = rest.strip_prefix('x') {
        return number(height, 3..=4).is_some();
    }
    let lines = &word[..word.len() - rest.len()];
    let rate = rest.strip_prefix(['i', 'p']);
    is_lines(lines) && rate.is_some_and(|rate| rate.is_empty() || number(rate, 2..=2).is_some())
}

/// True for a number of lines of a picture: `720`.
pub(crate) fn is_lines(word: &str) -> bool {
    is_one_of(word, &LINES)
}

/// The year that a word is, up to `year_last`.
pub(crate) fn year(word: &str, year_last: u32) -> Option<u32> {
    number(word, 4..=4).filter(|year| (YEAR_FIRST..=year_last).contains(year))
}

/// True for a word before the number of a season, glued to it or not.
pub(crate) fn is_season_word(word: &str) -> bool {
    is_one_of(word, &SEASON_WORDS)
}

/// True for a word before or behind the number of a season.
pub(crate) fn is_any_season_word(word: &str) -> bool {
    is_season_word(word) || is_one_of(word, &LOOSE_SEASON_WORDS)
}

/// True for a word of several seasons.
pub(crate) fn is_season_plural(word: &str) -> bool {
    is_one_of(word, &SEASON_PLURALS)
}

/// The number of an ordinal before a season's word: `2nd`, `2a`, `second`, `segunda`.
pub(crate) fn ordinal(word: &str) -> Option<u32> {
    if let Some((number, rest)) = leading_number(word, 1..=2) {
        return is_one_of(rest, &ORDINAL_ENDINGS).then_some(number);
    }
    let place = |words: &[&str]| words.iter().position(|it| *it == word);
    let place = place(&ENGLISH_ORDINALS).or_else(|| place(&SPANISH_ORDINALS))?;
    u32::try_from(place + 1).ok()
}

/// The number of a month's name, whole or its first three letters.
pub(crate) fn month(word: &str) -> Option<u32> {
    let is_month = |name: &&str| *name == word || (word.len() == 3 && name.starts_with(word));
    let place = |names: &[&str]| names.iter().position(is_month);
    let place = place(&ENGLISH_MONTHS).or_else(|| place(&SPANISH_MONTHS))?;
    u32::try_from(place + 1).ok()
}

/// True for letters of a Roman number of a part: `ii`, `xiv`.
pub(crate) fn is_roman(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'i' | b'v' | b'x'))
}

/// A part, which may be glued to a number: `part`, `part4`, `ptii`.
pub(crate) fn is_part(word: &str) -> bool {
    PART_WORDS.iter().any(|part| {
        word.strip_prefix(part).is_some_and(|rest| {
            rest.is_empty() || is_roman(rest) || rest.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

/// True for the ending of a video file.
pub(crate) fn is_video_ending(ending: &str) -> bool {
    let is = |known: &str| ending.eq_ignore_ascii_case(known);
    VIDEO_ENDINGS.iter().any(|known| is(known)) || is(M2TS)
}

/// True for an ending that a search leaves out (SEARCH.md 4.11).
pub(crate) fn is_searched_ending(ending: &str) -> bool {
    is_subtitle_ending(ending) || is_video_ending(ending) || ending.eq_ignore_ascii_case(VTT)
}

/// True for the ending of a file of subtitles that is imported.
pub(crate) fn is_subtitle_ending(ending: &str) -> bool {
    SUBTITLE_ENDINGS
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::tokens::NameTokens;

    fn source(text: &str) -> usize {
        NameTokens::new(text).source_len(0)
    }

    #[test]
    fn n2_source_words() {
        assert!(SOURCES.is_sorted());
        let longest = SOURCES.iter().map(|source| source.len()).max();
        assert_eq!(longest, Some(NAME_SOURCE_BYTES_MAX));
        for one in [
            "1080p",
            "720p50",
            "1920x1080",
            "4K",
            "BluRay",
            "dvd9",
            "HDTS",
            "x265",
            "EAC3",
            "HDR10",
            "10bit",
            "WEBRip",
            "DDP5",
        ] {
            assert_eq!(source(one), 1, "{one}");
        }
        for two in ["WEB-DL", "H.264", "Blu-ray", "10 bit", "DD 5", "web rip"] {
            assert_eq!(source(two), 2, "{two}");
        }
        for none in [
            "WEB", "DVD", "720", "300p", "720pp", "10", "5 1", "1 080p", "GRP",
        ] {
            assert_eq!(source(none), 0, "{none}");
        }
    }

    #[test]
    fn n3_ordinals_and_months() {
        assert_eq!(ordinal("2nd"), Some(2));
        assert_eq!(ordinal("2a"), Some(2));
        assert_eq!(ordinal("twentieth"), Some(20));
        assert_eq!(ordinal("decima"), Some(10));
        assert_eq!(ordinal("2x"), None);
        assert_eq!(month("october"), Some(10));
        assert_eq!(month("ene"), Some(1));
        assert_eq!(month("marzo"), Some(3));
        assert_eq!(month("octo"), None);
    }

    #[test]
    fn n7_parts_and_versions() {
        assert!(is_part("part") && is_part("part04") && is_part("ptiii"));
        assert!(!is_part("party") && !is_part("parts"));
        assert_eq!(versioned_number("12v2", 1..=4), Some(12));
        assert_eq!(versioned_number("12v", 1..=4), None);
        assert_eq!(versioned_number("12345", 1..=4), None);
    }
}
