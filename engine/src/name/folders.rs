//! The folders of a path: the inner one, that of a season, that of the series (NAMES.md P1).

use super::folder::{Folder, FolderKind};
use super::marks::FolderSeason;
use super::parsed_name::{EpisodeName, ParsedName};

/// Folders of a path and their roles for the file in them.
pub(crate) struct Folders {
    /// From the outermost to the innermost.
    pub(crate) all: Vec<Folder>,
    /// The nearest folder that is not passed.
    pub(crate) inner: Option<usize>,
    /// The season of the nearest folder of one.
    pub(crate) season: FolderSeason,
    /// The episode of the inner folder.
    pub(crate) episode: Option<(ParsedName, EpisodeName)>,
    /// The folder of the series.
    pub(crate) series: Option<usize>,
}

impl Folders {
    /// Reads the names of folders, the outermost first.
    pub(crate) fn new(names: &[&str], year_last: u32) -> Self {
        let mut all: Vec<Folder> = Vec::with_capacity(names.len());
        let mut is_above_season = false;
        for name in names.iter().rev() {
            let folder = Folder::new(name, year_last, is_above_season);
            is_above_season = matches!(folder.kind, FolderKind::Season(_));
            all.push(folder);
        }
        all.reverse();
        let mut folders = Self {
            inner: (0..all.len())
                .rev()
                .find(|idx| all[*idx].kind == FolderKind::Other),
            all,
            season: FolderSeason::Outside,
            episode: None,
            series: None,
        };
        let above = folders.season_folder(folders.inner.unwrap_or(0));
        if let Some(inner) = folders.inner {
            folders.episode = folders.all[inner].episode(above);
        }
        folders.season = folders.nearest_season();
        folders.series = folders.series_folder();
        folders
    }

    /// The nearest folder of a season above this place.
    fn season_folder(&self, end: usize) -> FolderSeason {
        let season = self.all[..end]
            .iter()
            .rev()
            .find_map(|folder| match folder.kind {
                FolderKind::Season(season) => Some(season),
                _ => None,
            });
        match season {
            None => FolderSeason::Outside,
            Some(None) => FolderSeason::Unknown,
            Some(Some(season)) => FolderSeason::Number(season),
        }
    }

    fn nearest_season(&self) -> FolderSeason {
        let next_up = self.inner.and_then(|inner| self.not_passed_above(inner));
        for (idx, folder) in self.all.iter().enumerate().rev() {
            match folder.kind {
                FolderKind::Season(None) => return FolderSeason::Unknown,
                FolderKind::Season(Some(season)) => return FolderSeason::Number(season),
                _ => {}
            }
            let is_season =
                Some(idx) == self.inner || (Some(idx) == next_up && self.episode.is_some());
            if let Some(season) = folder.titled_season
                && is_season
            {
                return season;
            }
        }
        FolderSeason::Outside
    }

    /// The next folder up that is not passed.
    pub(crate) fn not_passed_above(&self, idx: usize) -> Option<usize> {
        (0..idx)
            .rev()
            .find(|idx| self.all[*idx].kind == FolderKind::Other)
    }

    fn series_folder(&self) -> Option<usize> {
        let inner = self.inner?;
        let is_titled_season = self.all[inner].titled_season.is_some();
        let is_in_season = self.season_folder(inner) != FolderSeason::Outside;
        let series = if self.episode.is_some() || (!is_titled_season && is_in_season) {
            self.not_passed_above(inner)?
        } else {
            inner
        };
        self.all[series].names_something().then_some(series)
    }

    /// True for a folder of a season by its title, or above the folder of a season.
    pub(crate) fn is_season_or_parent(&self, idx: usize) -> bool {
        let is_season = |folder: &Folder| matches!(folder.kind, FolderKind::Season(_));
        self.all[idx].titled_season.is_some() || self.all[idx + 1..].iter().any(is_season)
    }

    /// Folders below the inner one.
    pub(crate) fn below_inner(&self) -> impl DoubleEndedIterator<Item = &Folder> {
        let start = self.inner.map_or(0, |inner| inner + 1);
        self.all[start..].iter()
    }

    pub(crate) fn inner_folder(&self) -> Option<&Folder> {
        self.inner.map(|inner| &self.all[inner])
    }

    /// True below a collection of series.
    pub(crate) fn is_below_series_collection(&self) -> bool {
        self.all.iter().any(|folder| folder.is_series_collection)
    }
}
