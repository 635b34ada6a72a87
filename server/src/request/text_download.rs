//! The parameters of a text download.

use subcat_engine::{SEARCH_TEXT_CHARS_MAX, SearchText};

use super::query_string::parameters;
use super::search::{
    NUMBERS, ParameterRejection, ParameterRejections, ValueRejection, integer, short, supplied,
};

/// The parameters of a text download, as the documentation lists them (API.md 17.4).
pub const TEXT_PARAMETERS: [&str; 6] =
    ["file", "season", "episode", "release", "encoding", "format"];

/// A download of one text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDownload {
    /// Path in the archive.
    pub file: Option<String>,
    /// Season of an episode.
    pub season: Option<u16>,
    /// Episode.
    pub episode: Option<u16>,
    /// Name of a release.
    pub release: Option<String>,
    /// Characters of the answer; without it, the stored bytes.
    pub encoding: Option<TextEncoding>,
    /// Format of the answer.
    pub format: Option<TextFormat>,
}

/// Characters of a text download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextEncoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 behind its mark.
    Utf8Bom,
}

impl TextEncoding {
    /// The value in requests.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Bom => "utf-8-bom",
        }
    }
}

/// A format that a text can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// `SubRip`.
    Srt,
    /// WebVTT.
    Vtt,
}

impl TextFormat {
    /// The extension, which is the value in requests.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Srt => "srt",
            Self::Vtt => "vtt",
        }
    }
}

const _: () = assert!(SEARCH_TEXT_CHARS_MAX == 512);
const ENCODING: ValueRejection =
    ValueRejection("Input should be 'utf-8' or 'utf-8-bom'", "literal_error");
const FORMAT: ValueRejection = ValueRejection("Input should be 'srt' or 'vtt'", "literal_error");

/// Parses the query string of a download; `None` when it supplies none of the parameters of a text
/// download. Errors: all of them that are not valid, in the order of [`TEXT_PARAMETERS`].
///
/// Source: API.md 17.1, 17.2, 17.4.
pub fn text_download(query_string: &str) -> Result<Option<TextDownload>, Vec<ParameterRejection>> {
    let mut raw = [const { None }; TEXT_PARAMETERS.len()];
    for (name, value) in parameters(query_string) {
        let place = TEXT_PARAMETERS.iter().position(|known| *known == name);
        if let Some(place) = place {
            raw[place] = Some(value);
        }
    }
    let [file, season, episode, release, encoding, format] =
        raw.each_ref().map(|value| supplied(value.as_ref()));
    let mut rejected = ParameterRejections::default();
    let file = rejected.keep("file", short(file));
    let season = rejected.keep("season", integer(season, &NUMBERS));
    let episode = rejected.keep("episode", integer(episode, &NUMBERS));
    let release = rejected.keep("release", short(release));
    let encoding = rejected.keep("encoding", encoding.map(parse_encoding).transpose());
    let format = rejected.keep("format", format.map(parse_format).transpose());
    if !rejected.rejections.is_empty() {
        return Err(rejected.rejections);
    }
    let has_words = |release: &&str| SearchText::release(release).is_some();
    let format = format.flatten();
    let implied = format.map(|_| TextEncoding::Utf8);
    let download = TextDownload {
        file: file.flatten().map(str::to_owned),
        season: season.flatten(),
        episode: episode.flatten(),
        release: release.flatten().filter(has_words).map(str::to_owned),
        encoding: encoding.flatten().or(implied),
        format,
    };
    if download == TextDownload::default() {
        return Ok(None);
    }
    Ok(Some(download))
}

fn parse_encoding(value: &str) -> Result<TextEncoding, ValueRejection> {
    match value {
        "utf-8" => Ok(TextEncoding::Utf8),
        "utf-8-bom" => Ok(TextEncoding::Utf8Bom),
        _ => Err(ENCODING),
    }
}

fn parse_format(value: &str) -> Result<TextFormat, ValueRejection> {
    match value {
        "srt" => Ok(TextFormat::Srt),
        "vtt" => Ok(TextFormat::Vtt),
        _ => Err(FORMAT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(query_string: &str) -> Vec<(&'static str, &'static str)> {
        let rejections = text_download(query_string).unwrap_err();
        let shown = |rejection: ParameterRejection| (rejection.parameter, rejection.kind);
        rejections.into_iter().map(shown).collect()
    }

    #[test]
    fn api_rule_17_1_what_supplies_nothing_is_a_plain_download() {
        for query_string in [
            "",
            "x=1",
            "file=&season=+&format=",
            "release=...",
            "release=%5B%5D",
        ] {
            assert_eq!(text_download(query_string), Ok(None), "{query_string}");
        }
        assert!(text_download("release=x").unwrap().is_some());
    }

    #[test]
    fn api_rule_17_2_a_format_implies_utf_8() {
        let read = |query_string| text_download(query_string).unwrap().unwrap();
        assert_eq!(read("format=srt").encoding, Some(TextEncoding::Utf8));
        let both = read("format=vtt&encoding=utf-8-bom");
        assert_eq!(both.encoding, Some(TextEncoding::Utf8Bom));
        assert_eq!(both.format, Some(TextFormat::Vtt));
        assert_eq!(read("season=1").encoding, None);
    }

    #[test]
    fn api_rule_17_4_faults_stand_in_their_order() {
        let long = "a".repeat(513);
        let all =
            format!("format=x&encoding=UTF-8&release={long}&episode=0&season=70000&file={long}");
        assert_eq!(
            rejected(&all),
            [
                ("file", "string_too_long"),
                ("season", "less_than_equal"),
                ("episode", "greater_than_equal"),
                ("release", "string_too_long"),
                ("encoding", "literal_error"),
                ("format", "literal_error"),
            ]
        );
        assert_eq!(rejected("season=x"), [("season", "int_parsing")]);
    }
}
