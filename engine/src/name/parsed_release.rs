//! The name of a release or of a file, read by itself (NAMES.md N).

use super::marks::{Circumstances, FolderSeason, NameDate};
use super::parsed_name::{EpisodeForm, NameKind, ParsedName};

/// Title, kind and year given by the name of a release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedRelease {
    /// Episode, film, or neither.
    pub kind: ReleaseKind,
    /// The displayed title; for a name without facts, its words before a source word.
    pub title: String,
    /// The year of a film, or that behind the title of an episode.
    pub year: Option<u32>,
    /// True if the year is in brackets or before a source word: it does not belong to the title.
    pub is_year_certain: bool,
    /// The id in the catalog, such as `tt0068646`, if the name has one and only one.
    pub id: Option<String>,
    /// True if the name may be that of something else (NAMES.md N4, N7).
    pub is_doubtful: bool,
    /// True if the name says that it is of a whole series.
    pub is_complete_series: bool,
}

/// Episode, film, or neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseKind {
    /// An episode, a season or several.
    Episode {
        /// The season, from 1 on.
        season: Option<u32>,
        /// The episode, from 1 on.
        episode: Option<u32>,
        /// The day that identifies the episode, where no season does.
        date: Option<NameDate>,
    },
    /// A film, with a year or a source word.
    Film,
    /// Neither: the name has no mark, no year and no source word.
    Nothing,
}

impl ParsedRelease {
    /// Reads a name without its ending. `year_last` is the last number that is a year: next year.
    ///
    /// ```
    /// use subcat_engine::{FolderSeason, ReleaseKind, ParsedRelease};
    /// let name = ParsedRelease::parse("Heat.1995.1080p.BluRay-GRP", 2027, FolderSeason::Outside);
    /// assert_eq!((name.title.as_str(), name.year), ("Heat", Some(1995)));
    /// assert_eq!(name.kind, ReleaseKind::Film);
    /// ```
    pub fn parse(name: &str, year_last: u32, folder: FolderSeason) -> Self {
        let circumstances = Circumstances {
            is_query: false,
            year_last,
            folder,
        };
        let name = ParsedName::new(name, circumstances);
        let is_year_certain = name.year.as_ref().is_some_and(|year| {
            let in_bracket = name.words.tokens.bracket(year.words.start).is_some();
            let source = name.words.source;
            in_bracket || source.is_some_and(|source| year.words.start < source)
        });
        Self {
            kind: kind(&name),
            title: name.shown_title(),
            year: name.year.as_ref().map(|year| year.year),
            is_year_certain,
            id: name.id().map(str::to_owned),
            is_doubtful: name.doubt.is_some(),
            is_complete_series: name.series_phrase.is_some(),
        }
    }
}

fn kind(name: &ParsedName) -> ReleaseKind {
    match name.kind {
        NameKind::Episode(episode) => {
            let is_special = episode.season == Some(0) || episode.episode == Some(0);
            ReleaseKind::Episode {
                season: episode.season.filter(|_| !is_special),
                episode: episode.episode.filter(|_| !is_special),
                date: match episode.form {
                    EpisodeForm::Date(date) => Some(date),
                    _ => None,
                },
            }
        }
        NameKind::Film => ReleaseKind::Film,
        NameKind::Nothing => ReleaseKind::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> ParsedRelease {
        ParsedRelease::parse(name, 2027, FolderSeason::Outside)
    }

    #[test]
    fn releases_are_read() {
        let special = read("Dark.S00E03.Making.of");
        let none = ReleaseKind::Episode {
            season: None,
            episode: None,
            date: None,
        };
        assert_eq!(special.kind, none);
        assert_eq!(
            read("Heat (1995) tt0113277").id.as_deref(),
            Some("tt0113277")
        );
        assert_eq!(read("Heat tt0113277 tt0113278").id, None);
        assert!(read("Heat.1995.1080p").is_year_certain);
        assert!(!read("Heat 1995").is_year_certain);
        assert!(read("The.Flash.2014.208.hdtv").is_doubtful);
        assert!(read("The.Wire.Complete.Series.1080p").is_complete_series);
        assert_eq!(read("Alien").kind, ReleaseKind::Nothing);
    }
}
