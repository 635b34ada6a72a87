//! The parts of an item that follow from its title, prepared (API.md 20.10).

use std::borrow::Cow;

use subcat_engine::without_accents;

use super::json::{write_quoted, write_text};
use super::title_names::title_names;
use crate::cache::ItemTitle;
use crate::limits::TITLE_LINES_MAX;

/// The parts of an item that follow from its title.
pub(super) fn item_title(text: &str, is_episode: bool) -> ItemTitle {
    let names = title_names(text, is_episode);
    let folded_names: Vec<&str> = names.iter().map(|name| &*name.folded).collect();
    ItemTitle {
        text: text.into(),
        is_episode,
        folded_names: folded_names.join("\n").into(),
        fields: title_fields(names[0].text, &names[0].folded).into(),
        line_starts: line_starts(names.iter().map(|name| name.text)).into(),
    }
}

/// The fields `title` and `slug` of an item.
pub(super) fn title_fields(title: &str, folded: &str) -> Vec<u8> {
    const FRAME: &[u8] = b",\"title\":\"\",\"slug\":\"\"";
    let mut fields = Vec::with_capacity(FRAME.len() + title.len() + folded.len());
    fields.extend_from_slice(b",\"title\":");
    write_quoted(&mut fields, title);
    fields.extend_from_slice(b",\"slug\":");
    // A folding has single spaces between its words.
    write_quoted(&mut fields, &folded.replace(' ', "-"));
    fields
}

/// Each name and it without accents, equal ones once, the first ones.
fn line_starts<'a>(names: impl Iterator<Item = &'a str>) -> Vec<u8> {
    let mut starts: Vec<Cow<'_, str>> = Vec::new();
    for name in names {
        for start in [Cow::Borrowed(name), without_accents(name)] {
            if starts.len() < TITLE_LINES_MAX && !starts.contains(&start) {
                starts.push(start);
            }
        }
    }
    let mut joined = Vec::new();
    for (idx, start) in starts.iter().enumerate() {
        if 0 < idx {
            joined.push(0);
        }
        write_text(&mut joined, start);
    }
    joined
}
