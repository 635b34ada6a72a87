//! Reading of titles and names of releases (API.md 13.9). Dates tell nothing here.

use subcat_engine::{FolderSeason, ParsedRelease, ReleaseKind};

/// A name as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NameReading {
    /// True for an episode, a season or a series; else it is a film.
    pub(super) is_episode: bool,
    /// The title, as it is shown.
    pub(super) title: Option<String>,
    pub(super) season: Option<u16>,
    pub(super) episode: Option<u16>,
    pub(super) year: Option<u16>,
    /// True if a film's year stands in brackets or before a source word.
    pub(super) is_year_sure: bool,
}

/// Reads a name; none if it tells nothing, or tells it with doubt.
pub(super) fn read_name(name: &str, next_year: u16) -> Option<NameReading> {
    let release = ParsedRelease::parse(name, next_year.into(), FolderSeason::Outside);
    if release.is_doubtful {
        return None;
    }
    let (is_episode, season, episode) = match release.kind {
        ReleaseKind::Episode {
            date: None,
            season,
            episode,
        } => (true, season, episode),
        ReleaseKind::Film => (false, None, None),
        _ => return None,
    };
    let number = |number: u32| u16::try_from(number).ok();
    Some(NameReading {
        is_episode,
        title: Some(release.title).filter(|title| !title.is_empty()),
        season: season.and_then(number),
        episode: episode.and_then(number),
        year: release.year.and_then(number),
        is_year_sure: release.is_year_certain,
    })
}
