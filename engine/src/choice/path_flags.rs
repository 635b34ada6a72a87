//! Flags named in a path (SEARCH.md 7.11).

use crate::model::FlagSet;
use crate::name::without_site;
use crate::text::named_flags;

use super::path_numbers::PathParts;
use super::path_words::PathWords;

/// The flags named by the words of a path, less what a site adds.
pub(super) fn flags_of_path(path: &PathParts) -> FlagSet {
    let name = PathWords::of(&without_site(&path.name));
    let directories = path.parts[1..].iter().rev();
    let words: Vec<&str> = directories
        .chain([&name])
        .flat_map(PathWords::iter)
        .collect();
    named_flags(&words.join(" "))
}
