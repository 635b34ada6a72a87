//! Paths that are left out: hidden ones, and extras such as trailers (NAMES.md F1).

use super::folder::{Folder, FolderKind};
use super::folders::Folders;
use super::marks::MarkKind;
use super::parsed_name::ParsedName;
use super::path_words::is_tag;
use super::tokens::NameTokens;
use super::word_class::is_one_of;

/// Names of hidden parts of a path, beside those that begin with a dot.
const HIDDEN: [&str; 6] = [
    "@eaDir",
    "#recycle",
    "$RECYCLE.BIN",
    "lost+found",
    "__MACOSX",
    "System Volume Information",
];
/// Names of folders and files of extras.
const EXTRAS: [&str; 9] = [
    "extras",
    "featurettes",
    "trailer",
    "trailers",
    "interviews",
    "sample",
    "samples",
    "behind the scenes",
    "deleted scenes",
];
/// Last words of extras behind `-` or a dot.
const EXTRA_ENDINGS: [&str; 6] = [
    "trailer",
    "sample",
    "featurette",
    "behindthescenes",
    "deleted",
    "interview",
];
/// Last words of extras behind `-`.
const EXTRA_ENDINGS_BEHIND_DASH: [&str; 4] = ["short", "scene", "clip", "other"];
const KARAOKE: &str = "karaoke";

/// True if a part of the path is hidden.
pub(crate) fn is_hidden(path: &str) -> bool {
    path.split('/')
        .any(|part| part.starts_with('.') || HIDDEN.contains(&part))
}

/// True if a folder or the name is that of extras. `name` is without its tags.
pub(crate) fn is_extra(folders: &Folders, name: &ParsedName) -> bool {
    let tokens = &name.words.tokens;
    let is_extra_folder = |idx: usize| {
        is_extra_name(&folders.all[idx].parsed.words.tokens) && !is_series(folders, idx, name)
    };
    if (0..folders.all.len()).any(is_extra_folder) || is_extra_name(tokens) {
        return true;
    }
    let is_episode = |kind: &MarkKind| matches!(kind, MarkKind::Episode { .. });
    let has_mark = name.words.marks.iter().any(|mark| is_episode(&mark.kind));
    if has_mark {
        return false;
    }
    let Some(last) = tokens.len().checked_sub(1) else {
        return false;
    };
    let title = folders
        .inner_folder()
        .map(|folder| folder.title_words.as_slice());
    let is_end_of_title = |word: &str| {
        title
            .and_then(<[String]>::last)
            .is_some_and(|last| last == word)
    };
    let word = tokens.word(last);
    let gap = tokens.gap(last);
    let is_ending = (gap.ends_with(['-', '.']) && is_one_of(word, &EXTRA_ENDINGS))
        || (gap.ends_with('-') && is_one_of(word, &EXTRA_ENDINGS_BEHIND_DASH))
        || word == KARAOKE;
    let in_bracket =
        (0..last).any(|idx| tokens.word(idx) == KARAOKE && tokens.bracket(idx).is_some());
    (is_ending && !is_end_of_title(word)) || (in_bracket && !is_end_of_title(KARAOKE))
}

/// True for words that name extras and nothing else, tags apart.
fn is_extra_name(tokens: &NameTokens) -> bool {
    let words: Vec<&str> = tokens.range(0..tokens.len()).collect();
    (1..=words.len()).any(|len| {
        is_one_of(&words[..len].join(" "), &EXTRAS)
            && (len..words.len()).all(|idx| is_tag(tokens, idx))
    })
}

/// True for the folder of a series of that name: collections only stand above it, and a season
/// below; or its words and an episode begin the name.
fn is_series(folders: &Folders, idx: usize, name: &ParsedName) -> bool {
    let is_season = |folder: &Folder| matches!(folder.kind, FolderKind::Season(_));
    let is_above_season = folders.all[idx + 1..].iter().any(is_season)
        && folders.all[..idx].iter().all(|folder| folder.is_collection);
    let words = &folders.all[idx].parsed.words.tokens;
    let begins_name = (0..words.len()).all(|at| words.word(at) == name.words.tokens.word(at));
    let is_episode = name.words.marks.iter().any(|mark| {
        mark.words.start == words.len() && matches!(mark.kind, MarkKind::Episode { .. })
    });
    is_above_season || (begins_name && is_episode)
}
