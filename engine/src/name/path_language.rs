//! Language and flags given by the folders of a path (NAMES.md P1).

use super::folder::{Folder, FolderKind};
use super::folders::Folders;
use super::path_words::NameFlag;
use super::tags::Surroundings;

/// The language of the nearest folder that gives one.
pub(crate) fn folder_language(folders: &Folders) -> Option<String> {
    (0..folders.all.len())
        .rev()
        .find_map(|idx| language_at(folders, idx))
}

fn language_at(folders: &Folders, idx: usize) -> Option<String> {
    let folder = &folders.all[idx];
    let [language] = folder.languages.as_slice() else {
        return None;
    };
    let parent = idx.checked_sub(1).map(|parent| &folders.all[parent]);
    let is_in_clear = parent.is_some_and(|parent| parent.is_clear);
    let is_below_inner = folders.inner.is_none_or(|inner| inner < idx);
    if !is_below_inner && idx > 0 && !is_in_clear {
        return None;
    }
    let holds_doubtful = |parent: &Folder| {
        parent.is_clear
            || parent.year().is_some()
            || parent.titled_season.is_some()
            || matches!(parent.kind, FolderKind::Season(_))
    };
    let counts = !language.is_doubtful || parent.is_some_and(holds_doubtful);
    counts.then(|| language.tag.clone())
}

/// The flags of folders.
pub(crate) struct FolderFlags {
    pub(crate) is_hearing_impaired: bool,
    pub(crate) is_forced: bool,
}

/// The flags of folders below the inner one.
pub(crate) fn folder_flags(folders: &Folders) -> FolderFlags {
    let has = |wanted: NameFlag| {
        let mut below = folders.below_inner();
        below.any(|folder| folder.flags.contains(&wanted))
    };
    FolderFlags {
        is_hearing_impaired: has(NameFlag::HearingImpaired),
        is_forced: has(NameFlag::Forced),
    }
}

/// The folders around a name, as far as its language depends on them.
pub(crate) fn surroundings(folders: &Folders) -> Surroundings {
    let inner = folders.inner_folder();
    let series = folders.series.map(|idx| &folders.all[idx]);
    Surroundings {
        title: inner.map_or_else(Vec::new, |folder| folder.title_words.clone()),
        is_clear: folders.below_inner().any(|folder| folder.is_clear),
        has_year_or_episode: folders.episode.is_some()
            || inner.is_some_and(|folder| folder.year().is_some()),
        is_release: inner.is_some_and(|folder| folder.parsed.words.source.is_some()),
        language: folder_language(folders),
        series: series.map_or_else(Vec::new, |folder| folder.title_words.clone()),
        series_year: series.and_then(Folder::year),
    }
}
