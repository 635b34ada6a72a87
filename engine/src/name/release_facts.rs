//! The facts of a release by which people choose: resolution, source and group.

use super::marks::{Circumstances, FolderSeason};
use super::named::YEAR_LAST;
use super::path_words::{is_in_source, release_group};
use super::tags::{Surroundings, Tags};
use super::tokens::NameTokens;
use super::word_class::{is_lines, is_one_of, is_searched_ending};

/// Sources, folded and without punctuation, with their displayed forms; of two the longer one
/// counts.
const SOURCES: [(&str, &str); 22] = [
    ("webdl", "WEB-DL"),
    ("webrip", "WEBRip"),
    ("web", "WEB"),
    ("bluray", "BluRay"),
    ("bdrip", "BDRip"),
    ("brrip", "BRRip"),
    ("bdremux", "BDRemux"),
    ("remux", "Remux"),
    ("hdtv", "HDTV"),
    ("pdtv", "PDTV"),
    ("dvdrip", "DVDRip"),
    ("dvdscr", "DVDScr"),
    ("dvd", "DVD"),
    ("dvd5", "DVD"),
    ("dvd9", "DVD"),
    ("hdrip", "HDRip"),
    ("hddvd", "HD-DVD"),
    ("tvrip", "TVRip"),
    ("vhsrip", "VHSRip"),
    ("hdcam", "HDCAM"),
    ("hdts", "TS"),
    ("telesync", "TS"),
];

/// Facts of a release; empty where its name does not give them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReleaseFacts {
    /// Lines of the picture: `1080p`.
    pub resolution: String,
    /// The medium that the video comes from: `WEB-DL`.
    pub source: &'static str,
    /// Name of the group that made the release.
    pub group: String,
}

impl ReleaseFacts {
    /// Reads the name of a file or a release, with its ending or without.
    ///
    /// ```
    /// use subcat_engine::ReleaseFacts;
    /// let facts = ReleaseFacts::parse("Show.S01E02.1080p.WEB-DL.H.264-GRP.es.srt");
    /// assert_eq!((facts.resolution.as_str(), facts.source), ("1080p", "WEB-DL"));
    /// assert_eq!(facts.group, "GRP");
    /// ```
    pub fn parse(name: &str) -> Self {
        let circumstances = Circumstances {
            is_query: false,
            year_last: YEAR_LAST,
            folder: FolderSeason::Outside,
        };
        let stem = match name.rsplit_once('.') {
            Some((stem, ending)) if is_file_ending(ending) => stem,
            _ => name,
        };
        let tags = Tags::new(stem, circumstances, &Surroundings::default());
        let tokens = NameTokens::new(&tags.name);
        let len = tokens.len();
        let mut facts = Self::default();
        for idx in 0..len {
            facts.take(&tokens, idx);
        }
        let first = (0..len).find(|idx| is_fact(&tokens, *idx));
        if let Some(start) = release_group(&tokens, first, len) {
            facts.group = group(&tokens, start);
        }
        facts
    }

    /// True if neither resolution nor source is known.
    pub fn is_empty(&self) -> bool {
        self.resolution.is_empty() && self.source.is_empty()
    }

    /// Takes the word at a place, and the two words that begin there.
    fn take(&mut self, tokens: &NameTokens, idx: usize) {
        let word = tokens.word(idx);
        if let Some(lines) = word.strip_suffix(['p', 'i'])
            && is_lines(lines)
        {
            word.clone_into(&mut self.resolution);
        } else if is_one_of(word, &["4k", "uhd"]) && self.resolution.is_empty() {
            "2160p".clone_into(&mut self.resolution);
        }
        let joined = [word, tokens.word(idx + 1)].concat();
        let pair = Some(joined.as_str()).filter(|_| tokens.source_len(idx) == 2);
        let known = SOURCES
            .iter()
            .find(|(name, _)| pair == Some(*name) || *name == word);
        if let Some((_, shown)) = known
            && self.source.len() < shown.len()
        {
            self.source = shown;
        }
    }
}

/// True if the name of a subtitle, an archive or a video may end with this, behind a dot.
pub fn is_file_ending(ending: &str) -> bool {
    is_searched_ending(ending) || ending.eq_ignore_ascii_case("txt")
}

fn is_fact(tokens: &NameTokens, idx: usize) -> bool {
    is_in_source(tokens, idx) || tokens.word(idx) == "web"
}

/// The group that begins at a word; a tag in brackets behind it does not belong to it.
fn group(tokens: &NameTokens, start: usize) -> String {
    let is_tag = tokens.bracket(start).is_none() && tokens.bracket(start + 1).is_some();
    let end = if is_tag { start + 1 } else { tokens.len() };
    if is_one_of(tokens.word(start), &["cd1", "cd2", "cd3", "cd4"]) {
        return String::new();
    }
    tokens.text()[tokens.start(start)..tokens.end(end - 1)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: [&str; 3]) {
        let facts = ReleaseFacts::parse(name);
        let found = [&*facts.resolution, facts.source, &*facts.group];
        assert_eq!(found, expected, "{name:?}");
    }

    #[test]
    fn facts_are_read() {
        check(
            "Solo.2009.1080p.NF.WEB-DL.DDP5.1.H.264-GRP",
            ["1080p", "WEB-DL", "GRP"],
        );
        check("Solo.2009.WEB-DL-GRP.srt", ["", "WEB-DL", "GRP"]);
        check("Solo.1080p.WEB.H264-GRP.es.srt", ["1080p", "WEB", "GRP"]);
        check("Solo.2009.DVDRip.XviD-GRP.zip", ["", "DVDRip", "GRP"]);
        check("Solo.2009.720p.BluRay.x264-CD1.srt", ["720p", "BluRay", ""]);
        check(
            "Solo.2009.2160p.UHD.BluRay.x265-GRP[TGx].mkv",
            ["2160p", "BluRay", "GRP"],
        );
        check(
            "Solo.2009.4K.WEBRip.x265-GRP.es.forced [rarbg].srt",
            ["2160p", "WEBRip", "GRP"],
        );
        check("Solo.2009.1080p.x264-[YTS.MX].srt", ["1080p", "", "YTS.MX"]);
        check("Solo_S01E02_HDTV_XviD.avi", ["", "HDTV", ""]);
        check("Solo.1080p.WEB-DL.srt", ["1080p", "WEB-DL", ""]);
        check("Solo", ["", "", ""]);
        check("", ["", "", ""]);
    }
}
