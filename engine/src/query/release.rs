//! Names of releases: a `query` value read as one (SEARCH.md 4.8), and the words of a release with
//! their weights (SEARCH.md 5.6).

use crate::limits::{MISSING_WEIGHT_MAX, RELEASE_WORDS_MAX};
use crate::model::Year;
use crate::text::parse_year;

use super::ParsedText;

/// Endings of file names, which are not a part of a release's name.
const FILE_ENDINGS: &[&str] = &[
    "srt", "sub", "ssa", "ass", "vtt", "zip", "rar", "mkv", "mp4", "avi", "m4v", "ts",
];
/// Weight of the last word, which usually is the group that made the release.
const GROUP_WEIGHT: u8 = 8;
/// Weight of a word that names a source or an edition: it decides the timing of a subtitle.
const SOURCE_WEIGHT: u8 = 4;
const SOURCES: &[&str] = &[
    "bluray",
    "bdrip",
    "brrip",
    "bdremux",
    "remux",
    "uhd",
    "web",
    "webdl",
    "webrip",
    "hdtv",
    "pdtv",
    "dvd",
    "dvdrip",
    "hdrip",
    "cam",
    "hdcam",
    "telesync",
    "extended",
    "unrated",
    "directors",
    "remastered",
    "imax",
    "theatrical",
    "proper",
    "repack",
];
/// Weight of a word that names a streaming service.
const SERVICE_WEIGHT: u8 = 3;
const SERVICES: &[&str] = &[
    "nf", "amzn", "hmax", "max", "dsnp", "atvp", "hulu", "pcok", "pmtp", "stan", "crav",
];
/// Weight of a word that names a resolution or a codec.
const FORMAT_WEIGHT: u8 = 2;
const FORMATS: &[&str] = &[
    "480p", "576p", "720p", "1080p", "2160p", "x264", "h264", "264", "x265", "h265", "265", "hevc",
    "av1",
];
const OTHER_WEIGHT: u8 = 1;

const _: () = assert!(
    GROUP_WEIGHT as usize + (RELEASE_WORDS_MAX - 1) * SOURCE_WEIGHT as usize
        == MISSING_WEIGHT_MAX as usize
);

/// A `query` value read as the name of a release.
#[derive(Debug, Clone)]
pub(crate) struct ReleaseName<'a> {
    name: Vec<&'a str>,
    years: Vec<Year>,
    tail: Vec<&'a str>,
}

impl<'a> ReleaseName<'a> {
    /// Reads a `query` value; `None` when it cannot be the name of a release.
    ///
    /// Source: SEARCH.md 4.8.
    pub(crate) fn of(text: &ParsedText<'a>) -> Option<Self> {
        let words = text.words();
        let episode_idx = text.markers().episode.map(|marker| marker.word_idx);
        if episode_idx == Some(0) {
            return None;
        }
        let years_end = episode_idx.unwrap_or(words.len());
        let is_year = |idx: usize| idx < years_end && parse_year(words[idx]).is_some();
        let is_mark = |idx: usize| Some(idx) == episode_idx || is_year(idx);
        let name_end = match (1..words.len()).find(|&idx| is_mark(idx)) {
            Some(first_mark) => first_mark,
            None if is_year(0) => 1,
            None => return None,
        };
        let (name, rest) = words.split_at(name_end);
        let (mut years, mut tail) = (Vec::new(), Vec::new());
        for (idx, word) in (name_end..).zip(rest) {
            if Some(idx) == episode_idx {
                continue;
            }
            match parse_year(word).filter(|_| is_year(idx)) {
                Some(year) => years.push(year),
                None => tail.push(*word),
            }
        }
        years.sort_unstable();
        years.dedup();
        Some(Self {
            name: name.to_vec(),
            years,
            tail,
        })
    }

    /// Words of the title, at least one.
    pub(crate) fn name(&self) -> &[&'a str] {
        &self.name
    }

    /// The years among the marks, each once, ascending.
    pub(crate) fn years(&self) -> &[Year] {
        &self.years
    }

    /// The words after the name that are not marks.
    pub(crate) fn tail(&self) -> &[&'a str] {
        &self.tail
    }
}

/// A word of a release, and what a record without it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReleaseWord<'a> {
    pub(crate) word: &'a str,
    pub(crate) weight: u8,
}

/// The words of a release that are weighed, each once.
///
/// Source: SEARCH.md 5.6.
pub(crate) fn release_words<'a>(sequence: &[&'a str]) -> Vec<ReleaseWord<'a>> {
    let sequence = match sequence {
        [rest @ .., last] if !rest.is_empty() && FILE_ENDINGS.contains(last) => rest,
        all => all,
    };
    let Some(group) = sequence.last() else {
        return Vec::new();
    };
    let mut weighed: Vec<ReleaseWord<'_>> = Vec::new();
    for word in sequence {
        if weighed.len() == RELEASE_WORDS_MAX {
            break;
        }
        if weighed.iter().all(|known| known.word != *word) {
            let weight = if word == group {
                GROUP_WEIGHT
            } else {
                release_word_weight(word)
            };
            weighed.push(ReleaseWord { word, weight });
        }
    }
    weighed
}

/// Weight of a folded word of a release, wherever it stands: more than 1 for one by which releases
/// are told apart.
///
/// Source: SEARCH.md 5.6.
///
/// ```
/// use subcat_engine::release_word_weight;
/// assert!(1 < release_word_weight("bluray"));
/// assert_eq!(release_word_weight("lost"), 1);
/// ```
pub fn release_word_weight(word: &str) -> u8 {
    let weights = [
        (SOURCES, SOURCE_WEIGHT),
        (SERVICES, SERVICE_WEIGHT),
        (FORMATS, FORMAT_WEIGHT),
    ];
    let found = weights.iter().find(|(words, _)| words.contains(&word));
    found.map_or(OTHER_WEIGHT, |(_, weight)| *weight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::SearchText;

    /// `expected` is name, years and tail, separated by bars.
    fn check(value: &str, expected: Option<&str>) {
        let text = SearchText::query(value).unwrap().unwrap();
        let parsed = ParsedText::of_query(&text, None);
        let read = ReleaseName::of(&parsed).map(|read| {
            let years: Vec<String> = read.years().iter().map(|y| y.get().to_string()).collect();
            let parts = [
                read.name().join(" "),
                years.join(" "),
                read.tail().join(" "),
            ];
            parts.join("|")
        });
        assert_eq!(read.as_deref(), expected, "{value}");
    }

    #[test]
    fn search_rule_4_8_a_value_is_read_as_the_name_of_a_release() {
        check(
            "The.Matrix.1999.1080p.BluRay.x264-GRP.srt",
            Some("the matrix|1999|1080p bluray x264 grp srt"),
        );
        check("1923.S01E02.2022.720p", Some("1923||2022 720p"));
        check(
            "Blade.Runner.2049.2017.mkv",
            Some("blade runner|2017 2049|mkv"),
        );
        check("1917.1080p", Some("1917||1080p"));
        check("1917", Some("1917||"));
        check("1917 2019 2019", Some("1917|2019|"));
        check("lost s01 s01e02 2004", Some("lost||s01e02 2004"));
        check("lost s00e01 s02 x", Some("lost s00e01||x"));
        check("Lost 2004 S01E02 x", Some("lost|2004|x"));
        check("S01E02.720p", None);
        check("s01 2004 x", None);
        check("The.Matrix.1080p", None);
        check("lost 1899 x", None);
        check("lost 2101 x", None);
        check("lost 02001", None);
    }

    fn weights(value: &str) -> String {
        let text = SearchText::release(value).unwrap();
        let sequence: Vec<&str> = text.words().collect();
        let words = release_words(&sequence);
        let shown = words
            .iter()
            .map(|word| format!("{}:{}", word.word, word.weight));
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn search_rule_5_6_words_have_weights() {
        assert_eq!(
            weights("Lost.1080p.NF.WEB-DL.DD5.1.H.264-GRP.mkv"),
            "lost:1 1080p:2 nf:3 web:4 dl:1 dd5:1 1:1 h:1 264:2 grp:8"
        );
        assert_eq!(weights("srt"), "srt:8");
        assert_eq!(weights("srt.srt"), "srt:8");
        assert_eq!(weights("mkv.srt"), "mkv:8");
        assert_eq!(weights("srt.x.srt"), "srt:1 x:8");
        assert_eq!(weights("web x web"), "web:8 x:1");
    }

    #[test]
    fn search_rule_5_6_at_most_16_words_are_weighed() {
        let many: Vec<String> = (0..20).map(|number| format!("a{number}")).collect();
        let words = weights(&many.join("."));
        assert_eq!(words.split(' ').count(), RELEASE_WORDS_MAX);
        assert!(
            !words.contains(":8"),
            "the last word is not among the first"
        );
    }

    #[test]
    fn no_release_weighs_more_than_the_bound() {
        let mut sequence: Vec<&str> = SOURCES[..RELEASE_WORDS_MAX - 1].to_vec();
        sequence.push("grp");
        let weights = release_words(&sequence);
        let sum: u8 = weights.iter().map(|word| word.weight).sum();
        assert_eq!(sum, MISSING_WEIGHT_MAX);
    }
}
