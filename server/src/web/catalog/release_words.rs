//! The facts of a release by which people choose: resolution, source and group, read from a file
//! name or a description when they are plain.

use crate::limits::GROUP_CHARS_MAX;

/// Facts of a release; empty where the text does not say them plainly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReleaseWords {
    /// `1080p`.
    pub(crate) resolution: &'static str,
    /// `WEB-DL`, `BluRay`.
    pub(crate) source: &'static str,
    /// Name of the group that made the release.
    pub(crate) group: String,
}

/// Resolutions as release names write them.
const RESOLUTIONS: [&str; 5] = ["480p", "576p", "720p", "1080p", "2160p"];

/// Sources: as release names write them without punctuation, in lower case, and as pages show them.
const SOURCES: [(&str, &str); 17] = [
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
    ("hdrip", "HDRip"),
    ("vhsrip", "VHSRip"),
    ("hdcam", "HDCAM"),
    ("telesync", "TS"),
];

/// Endings that a name may have after its group.
const ENDINGS: [&str; 13] = [
    "srt", "sub", "ssa", "ass", "vtt", "zip", "rar", "mkv", "mp4", "avi", "m4v", "ts", "txt",
];

impl ReleaseWords {
    /// Reads the first release name of these texts: of the file name if it is one, else of the
    /// description.
    pub(crate) fn read(file_name: Option<&str>, description: Option<&str>) -> Self {
        let names = file_name.into_iter().map(|name| (name, true));
        let words = description.unwrap_or("").split_whitespace();
        names
            .chain(words.map(|word| (word, false)))
            .map(|(name, may_have_spaces)| Self::of_name(name, may_have_spaces))
            .find(|words| !words.is_empty())
            .unwrap_or_default()
    }

    /// True if nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.resolution.is_empty() && self.source.is_empty()
    }

    /// The facts with dots between them: `1080p · WEB-DL · GRP`.
    pub(crate) fn line(&self) -> String {
        let parts = [self.resolution, self.source, &self.group];
        let known: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        known.join(" · ")
    }

    /// The facts of one name. Without dots or underscores a word is prose, not a release.
    fn of_name(name: &str, may_have_spaces: bool) -> Self {
        let name = name.trim_matches(['.', ',', ';', ':', '(', ')', '[', ']', '"', '«', '»']);
        let name = without_ending(name);
        let pieces = || name.split(['.', '_', ' ']).filter(|it| !it.is_empty());
        if pieces().count() < 3 || (name.contains(' ') && !may_have_spaces) {
            return Self::default();
        }
        let mut words = Self::default();
        for piece in pieces() {
            words.take(piece);
            // The group follows the last hyphen, glued to a codec or a source: `x264-GRP`.
            for part in piece.split('-') {
                words.take(part);
            }
        }
        if !words.is_empty() {
            words.group = group_of(name).unwrap_or("").to_owned();
        }
        words
    }

    fn take(&mut self, piece: &str) {
        let plain: String = piece.chars().filter(|c| *c != '-').collect();
        let plain = plain.to_ascii_lowercase();
        if let Some(known) = RESOLUTIONS.into_iter().find(|known| *known == plain) {
            self.resolution = known;
        }
        let source = SOURCES.into_iter().find(|(known, _)| *known == plain);
        // `WEB-DL` is also the two words WEB and DL: the longer one counts.
        if let Some((_, shown)) = source
            && self.source.len() < shown.len()
        {
            self.source = shown;
        }
    }
}

fn without_ending(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if is_ending(ending) => stem,
        _ => name,
    }
}

/// True if a file's name may end with this, after a dot.
pub(crate) fn is_ending(text: &str) -> bool {
    ENDINGS.iter().any(|known| text.eq_ignore_ascii_case(known))
}

/// The group of a release name: what follows its last hyphen.
fn group_of(name: &str) -> Option<&str> {
    let (before, group) = name.rsplit_once('-')?;
    let is_group = !group.is_empty()
        && group.chars().count() <= GROUP_CHARS_MAX
        && group.chars().all(char::is_alphanumeric);
    // `WEB-DL` at the end names no group.
    let is_source = group.eq_ignore_ascii_case("dl") && before.to_lowercase().ends_with("web");
    if is_group && !is_source {
        Some(group)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file_name: &str, description: &str, expected: &str) {
        let file_name = Some(file_name).filter(|name| !name.is_empty());
        let words = ReleaseWords::read(file_name, Some(description));
        assert_eq!(words.line(), expected, "{file_name:?} {description}");
    }

    #[test]
    fn plain_release_names_are_read() {
        check(
            "",
            "No los hice yo. Blade.Runner.2049.2017.1080p.NF.WEB-DL.DDP5.1.H.264-JACARANDA",
            "1080p · WEB-DL · JACARANDA",
        );
        check(
            "The.Godfather.1972.DVDRip.XviD-ANDES.zip",
            "",
            "DVDRip · ANDES",
        );
        check(
            "",
            "Para Magnolia.1999.720p.BluRay.x264-ZARZA.",
            "720p · BluRay · ZARZA",
        );
        check(
            "The Matrix 1999 1080p WEB H264-BRASA.srt",
            "",
            "1080p · WEB · BRASA",
        );
        check("Lost_S01E02_HDTV_XviD.avi", "", "HDTV");
        check("show.1080p.WEB-DL.srt", "", "1080p · WEB-DL");
    }

    #[test]
    fn prose_names_nothing() {
        check(
            "",
            "Ajustados al dvd que me pasaron, y al web-dl. A disfrutar.",
            "",
        );
        check("", "Para el rip de QUETZAL. Con los otros se adelanta.", "");
        check("matrix.srt", "", "");
        check("", "", "");
    }
}
