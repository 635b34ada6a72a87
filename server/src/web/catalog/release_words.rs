//! The facts of a release that rows show, read from a file name or a description.

use subcat_engine::ReleaseFacts;

use crate::limits::GROUP_CHARS_MAX;

/// Facts of a release; empty where the text is not clear.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ReleaseWords(ReleaseFacts);

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
        self.0.is_empty()
    }

    /// The facts with dots between them: `1080p · WEB-DL · GRP`.
    pub(crate) fn line(&self) -> String {
        let facts = &self.0;
        let parts = [
            facts.resolution.as_str(),
            facts.source,
            facts.group.as_str(),
        ];
        let known: Vec<&str> = parts.into_iter().filter(|it| !it.is_empty()).collect();
        known.join(" · ")
    }

    /// The facts of one name. Without dots or underscores a word is prose, not a release.
    fn of_name(name: &str, may_have_spaces: bool) -> Self {
        let name = name.trim_matches(['.', ',', ';', ':', '(', ')', '"', '«', '»']);
        let pieces = name.split(['.', '_', ' ']).filter(|it| !it.is_empty());
        if pieces.count() < 3 || (name.contains(' ') && !may_have_spaces) {
            return Self::default();
        }
        let mut facts = ReleaseFacts::parse(name);
        if facts.is_empty() || GROUP_CHARS_MAX < facts.group.chars().count() {
            facts.group.clear();
        }
        Self(facts)
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
        check(
            "Show.S01E02.1080p.WEB-DL.H.264-QUETZAL.es.srt",
            "",
            "1080p · WEB-DL · QUETZAL",
        );
        check("Show.2009.WEB-DL-GRP.srt", "", "WEB-DL · GRP");
        check("Show.2009.720p.x264-CD1.srt", "", "720p");
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
