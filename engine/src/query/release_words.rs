//! The words of a release with their weights (SEARCH.md 5.6).

use std::cmp::Reverse;
use std::sync::LazyLock;

use crate::limits::{MISSING_WEIGHT_MAX, RELEASE_WORDS_MAX};
use crate::text::{fold, words};

/// Endings of file names, which do not belong to the name of a release.
const FILE_ENDINGS: [&str; 21] = [
    "srt", "sub", "ssa", "ass", "vtt", "zip", "rar", "mkv", "mp4", "avi", "m4v", "ts", "mov",
    "wmv", "mpg", "mpeg", "flv", "ogm", "webm", "divx", "m2ts",
];
/// Tags that a poster writes after the group.
const POSTING_TAGS: [&str; 9] = [
    "obfuscated",
    "scrambled",
    "postbot",
    "xpost",
    "nzbgeek",
    "asrequested",
    "buymore",
    "chamele0n",
    "whiterev",
];
/// Prefix of another such tag.
const POSTING_TAG_START: &str = "rakuv";
/// Weight of the group that made the release.
const GROUP_WEIGHT: u8 = 8;
/// Weight of a word for a source or an edition: it decides the timing of a subtitle.
const SOURCE_WEIGHT: u8 = 4;
/// Weight of a word for a streaming service.
const SERVICE_WEIGHT: u8 = 3;
/// Weight of a word for a resolution or a codec.
const FORMAT_WEIGHT: u8 = 2;
const OTHER_WEIGHT: u8 = 1;
/// Weight that a record lacks if it has not the word, but another one of its family.
pub(crate) const RELATIVE_WEIGHT: u8 = 1;
/// Families of words of one meaning, and their weight.
const FAMILIES: [(u8, &[&str]); 35] = [
    (
        SOURCE_WEIGHT,
        &["bluray", "blu", "bdrip", "brrip", "bdremux"],
    ),
    (SOURCE_WEIGHT, &["remux"]),
    (SOURCE_WEIGHT, &["web", "webdl", "webrip"]),
    (SOURCE_WEIGHT, &["hdtv", "pdtv"]),
    (SOURCE_WEIGHT, &["dvd", "dvdrip"]),
    (SOURCE_WEIGHT, &["hdrip"]),
    (SOURCE_WEIGHT, &["cam", "hdcam"]),
    (SOURCE_WEIGHT, &["telesync", "hdts"]),
    (SOURCE_WEIGHT, &["extended"]),
    (SOURCE_WEIGHT, &["unrated"]),
    (SOURCE_WEIGHT, &["directors"]),
    (SOURCE_WEIGHT, &["remastered"]),
    (SOURCE_WEIGHT, &["imax"]),
    (SOURCE_WEIGHT, &["theatrical"]),
    (SOURCE_WEIGHT, &["proper"]),
    (SOURCE_WEIGHT, &["repack"]),
    (SERVICE_WEIGHT, &["nf"]),
    (SERVICE_WEIGHT, &["amzn", "amazon"]),
    (SERVICE_WEIGHT, &["hmax"]),
    (SERVICE_WEIGHT, &["max"]),
    (SERVICE_WEIGHT, &["dsnp"]),
    (SERVICE_WEIGHT, &["atvp"]),
    (SERVICE_WEIGHT, &["hulu"]),
    (SERVICE_WEIGHT, &["pcok"]),
    (SERVICE_WEIGHT, &["pmtp"]),
    (SERVICE_WEIGHT, &["stan"]),
    (SERVICE_WEIGHT, &["crav"]),
    (FORMAT_WEIGHT, &["480p"]),
    (FORMAT_WEIGHT, &["576p"]),
    (FORMAT_WEIGHT, &["720p"]),
    (FORMAT_WEIGHT, &["1080p"]),
    (FORMAT_WEIGHT, &["2160p", "4k", HIGH_SOURCE]),
    (FORMAT_WEIGHT, &["x264", "h264", "264", "avc"]),
    (FORMAT_WEIGHT, &["x265", "h265", "265", "hevc"]),
    (FORMAT_WEIGHT, &["av1"]),
];
/// A word of a resolution's family that is a source.
const HIGH_SOURCE: &str = "uhd";

const _: () = assert!(
    GROUP_WEIGHT as usize + (RELEASE_WORDS_MAX - 1) * SOURCE_WEIGHT as usize
        == MISSING_WEIGHT_MAX as usize
);

/// A word of a family.
struct KnownWord {
    word: &'static str,
    weight: u8,
    /// Places of the other words of its family.
    relatives: Box<[usize]>,
}

/// The words of all families, sorted: a release has a dozen words, and each is sought here.
static KNOWN_WORDS: LazyLock<Box<[KnownWord]>> = LazyLock::new(|| {
    let families = FAMILIES.iter().flat_map(|(weight, family)| {
        family.iter().map(|&word| match word {
            HIGH_SOURCE => (word, SOURCE_WEIGHT, *family),
            _ => (word, *weight, *family),
        })
    });
    let mut words: Vec<(&str, u8, &[&str])> = families.collect();
    words.sort_unstable_by_key(|(word, ..)| *word);
    let place = |wanted: &&str| words.iter().position(|(word, ..)| word == wanted);
    let known = words.iter().map(|(word, weight, family)| {
        let relatives = family.iter().filter(|relative| *relative != word);
        KnownWord {
            word,
            weight: *weight,
            relatives: relatives.filter_map(place).collect(),
        }
    });
    known.collect()
});

/// The words of all families, in the order of their places.
pub(crate) fn known_release_words() -> impl Iterator<Item = &'static str> {
    KNOWN_WORDS.iter().map(|known| known.word)
}

/// A word of a release, and the weight that a record without it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleaseWord<'a> {
    pub(crate) word: &'a str,
    pub(crate) weight: u8,
    /// Its place among the words of all families.
    pub(crate) place: Option<usize>,
}

impl ReleaseWord<'_> {
    /// The other words of its family.
    pub(crate) fn relatives(&self) -> impl Iterator<Item = &'static str> {
        let places = self.relative_places().iter();
        places.map(|&place| KNOWN_WORDS[place].word)
    }

    /// Places of the other words of its family among the words of all families.
    pub(crate) fn relative_places(&self) -> &'static [usize] {
        self.place
            .map_or(&[], |place| &KNOWN_WORDS[place].relatives)
    }
}

/// The weighed words of a release, each once; `group` is that of its text.
///
/// Source: SEARCH.md 5.6.
pub(crate) fn release_words<'a>(sequence: &[&'a str], group: Option<&str>) -> Vec<ReleaseWord<'a>> {
    let sequence = match sequence {
        [rest @ .., last] if !rest.is_empty() && is_ending(last) => rest,
        all => all,
    };
    let is_there = |group: &&str| sequence.contains(group);
    let Some(group) = group.filter(is_there).or(sequence.last().copied()) else {
        return Vec::new();
    };
    let mut weighed: Vec<ReleaseWord<'_>> = Vec::new();
    for &word in sequence {
        if weighed.iter().all(|known| known.word != word) {
            let (weight, place) = kind(word);
            let weight = if word == group { GROUP_WEIGHT } else { weight };
            weighed.push(ReleaseWord {
                word,
                weight,
                place,
            });
        }
    }
    // Stable: among equals the first.
    weighed.sort_by_key(|word| Reverse(word.weight));
    weighed.truncate(RELEASE_WORDS_MAX);
    weighed
}

/// Weight of a folded word of a release, wherever it stands: more than 1 for a word that
/// distinguishes releases.
///
/// Source: SEARCH.md 5.6.
///
/// ```
/// use subcat_engine::release_word_weight;
/// assert!(1 < release_word_weight("bluray"));
/// assert_eq!(release_word_weight("lost"), 1);
/// ```
pub fn release_word_weight(word: &str) -> u8 {
    kind(word).0
}

/// The group that made the release of this text: its last word before its ending and the tags
/// behind it.
///
/// Source: SEARCH.md 5.6.
pub(crate) fn release_group(text: &str) -> Option<String> {
    let mut rest = without_ending(text);
    loop {
        rest = rest.trim_end_matches(|end: char| !end.is_alphanumeric() && end != ']');
        match without_tag(rest) {
            Some(shorter) => rest = shorter,
            None => break,
        }
    }
    words(&fold(rest)).next_back().map(str::to_string)
}

/// The text without its last word, if that is the ending of a file.
fn without_ending(text: &str) -> &str {
    let named = text.trim_end_matches(|end: char| !end.is_alphanumeric());
    let (rest, last) = split_last_word(named);
    let is_only = !rest.contains(char::is_alphanumeric);
    if !is_only && is_ending(&fold(last)) {
        rest
    } else {
        text
    }
}

/// The text without the tag that ends it: a bracket directly behind a word behind a dash, or a dash
/// and the tag of a posting.
fn without_tag(text: &str) -> Option<&str> {
    if let Some(inside) = text.strip_suffix(']') {
        let (before, _) = inside.rsplit_once('[')?;
        let (rest, word) = split_last_word(before);
        return (!word.is_empty() && rest.ends_with('-')).then_some(before);
    }
    let (rest, tag) = split_last_word(text);
    let rest = rest.strip_suffix('-')?;
    let tag = tag.to_lowercase();
    let is_tag = POSTING_TAGS.contains(&&*tag) || tag.starts_with(POSTING_TAG_START);
    is_tag.then_some(rest)
}

/// The letters and digits at the end of a text, and what stands before them.
fn split_last_word(text: &str) -> (&str, &str) {
    let rest = text.trim_end_matches(char::is_alphanumeric);
    (rest, &text[rest.len()..])
}

fn is_ending(word: &str) -> bool {
    FILE_ENDINGS.contains(&word)
}

/// Weight of a word that is not the group, and its place among the words of all families.
fn kind(word: &str) -> (u8, Option<usize>) {
    match KNOWN_WORDS.binary_search_by_key(&word, |known| known.word) {
        Ok(place) => (KNOWN_WORDS[place].weight, Some(place)),
        Err(_) => (OTHER_WEIGHT, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(value: &str) -> String {
        let folded = fold(value);
        let sequence: Vec<&str> = words(&folded).collect();
        let group = release_group(value);
        let words = release_words(&sequence, group.as_deref());
        let shown = words
            .iter()
            .map(|word| format!("{}:{}", word.word, word.weight));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn search_rule_5_6_words_have_weights() {
        assert_eq!(
            weights("Lost.1080p.NF.WEB-DL.DD5.1.H.264-GRP.mkv"),
            "grp:8 web:4 nf:3 1080p:2 264:2 lost:1 dl:1 dd5:1 1:1 h:1"
        );
        assert_eq!(weights("srt"), "srt:8");
        assert_eq!(weights("srt.srt"), "srt:8");
        assert_eq!(weights("mkv.srt"), "mkv:8");
        assert_eq!(weights("srt.x.srt"), "x:8 srt:1");
        assert_eq!(weights("web x web"), "web:8 x:1");
        assert_eq!(weights("UHD.4k.av1.x.m2ts"), "x:8 uhd:4 4k:2 av1:2");
    }

    #[test]
    fn search_rule_5_6_the_heaviest_words_are_weighed() {
        let mut many: Vec<String> = (0..20).map(|number| format!("a{number}")).collect();
        many.extend(["1080p", "web", "grp"].map(String::from));
        let words = weights(&many.join("."));
        assert_eq!(words.split(' ').count(), RELEASE_WORDS_MAX);
        assert!(
            words.starts_with("grp:8 web:4 1080p:2 a0:1 a1:1"),
            "{words}"
        );
    }

    #[test]
    fn search_rule_5_6_the_group_stands_before_ending_and_tags() {
        for (text, group) in [
            ("Lost.S01E02.HDTV-LOL", Some("lol")),
            ("Lost.S01E02.HDTV-LOL.srt", Some("lol")),
            ("Lost.S01E02.HDTV-LOL[TGx].mkv", Some("lol")),
            ("Lost.S01E02.HDTV-LOL-Obfuscated", Some("lol")),
            ("Lost-LOL-xpost-RakuvUS.mkv", Some("lol")),
            ("Lost-LOL[eztv]-postbot", Some("lol")),
            ("Lost.HDTV [TGx]", Some("tgx")),
            ("Lost-LOL[a][b]", Some("b")),
            ("[Group] Lost - 12", Some("12")),
            ("srt", Some("srt")),
            ("...", None),
        ] {
            assert_eq!(release_group(text).as_deref(), group, "{text}");
        }
    }

    #[test]
    fn no_release_weighs_more_than_the_bound() {
        let sources = FAMILIES
            .iter()
            .filter(|(weight, _)| *weight == SOURCE_WEIGHT);
        let mut sequence: Vec<&str> = sources.flat_map(|(_, family)| *family).copied().collect();
        sequence.push("grp");
        let weights = release_words(&sequence, None);
        let sum: u8 = weights.iter().map(|word| word.weight).sum();
        assert_eq!(sum, MISSING_WEIGHT_MAX);
    }
}
