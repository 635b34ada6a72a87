//! Reading of titles and names of releases (API.md 13.9). Dates identify nothing here.

use subcat_engine::{FolderSeason, ParsedRelease, ReleaseKind};

/// Parts of a name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct NameReading {
    /// True for an episode, a season or a series; else it is a film.
    pub(super) is_episode: bool,
    /// The title in its displayed form.
    pub(super) title: Option<String>,
    pub(super) season: Option<u16>,
    pub(super) episode: Option<u16>,
    pub(super) year: Option<u16>,
    /// True if a film's year stands in brackets or before a source word.
    pub(super) is_year_sure: bool,
}

/// Reads a name; none if nothing is recognised, or not with certainty.
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
