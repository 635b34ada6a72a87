//! An item of a search below an address, prepared (API.md 20.10).

use std::borrow::Cow;
use std::sync::Arc;

use subcat_engine::without_ending;

use super::json::{write_number, write_quoted};
use super::record::AddressRecord;
use super::release_names::release_names;
use crate::cache::{AddressItem, ItemTitle};
use crate::limits::{ADDRESS_ITEM_BYTES, NAMED_RELEASES_MAX};
use crate::rows::language_name;

/// Bytes before the id in the JSON of an item, and bytes of the id.
pub(super) const ID_START: usize = START.len();
pub(super) const ID_BYTES: usize = 36;
/// Bytes before the fields of the title: the id twice.
pub(super) const IDS_BYTES: usize = START.len() + SECOND_ID.len() + 2 * ID_BYTES + 1;

const START: &[u8] = b"{\"id\":\"";
const SECOND_ID: &[u8] = b"\",\"subscene_id\":\"";

/// The item of a record, which has this title.
pub(super) fn prepared_item(record: &AddressRecord<'_>, title: Arc<ItemTitle>) -> AddressItem {
    let fields = &record.fields;
    let mut json = Vec::with_capacity(ADDRESS_ITEM_BYTES);
    let id = record.id.to_string();
    for part in [START, id.as_bytes(), SECOND_ID, id.as_bytes(), b"\""] {
        json.extend_from_slice(part);
    }
    debug_assert_eq!(json.len(), IDS_BYTES, "ids have one length");
    json.extend_from_slice(b",\"imdb_id\":");
    write_quoted(&mut json, &record.imdb_id);
    json.extend_from_slice(b",\"language\":");
    let language_start = json.len();
    let language = record.language.map(language_name).unwrap_or_default();
    write_quoted(&mut json, &language);
    let language = language_start..json.len();
    json.extend_from_slice(if record.is_hearing_impaired {
        b",\"hi\":true,\"author\":"
    } else {
        b",\"hi\":false,\"author\":"
    });
    let author = fields.uploader_name.as_deref();
    write_quoted(&mut json, author.unwrap_or_default());
    json.extend_from_slice(b",\"releases\":[\"");
    let release_start = json.len();
    json.push(b'"');
    write_rest(record, &mut json);
    AddressItem {
        title,
        year: fields.year,
        season: fields.season,
        episode: fields.episode,
        json: json.into(),
        language,
        release_start,
    }
}

/// Appends the releases but the first, and the fields after them.
fn write_rest(record: &AddressRecord<'_>, json: &mut Vec<u8>) {
    let description = record.fields.description.as_deref().unwrap_or_default();
    for name in named_releases(description, record.file_name.unwrap_or_default()) {
        json.push(b',');
        write_quoted(json, &name);
    }
    json.push(b']');
    if !description.is_empty() {
        json.extend_from_slice(b",\"comment\":");
        write_quoted(json, description);
    }
    if let Some(year) = record.fields.year {
        json.extend_from_slice(b",\"year\":");
        write_number(json, year);
    }
    let filename = file_name(record);
    json.extend_from_slice(b",\"filename\":");
    write_quoted(json, &filename);
    json.extend_from_slice(b",\"format\":");
    write_quoted(json, format_of(&filename));
    json.extend_from_slice(b",\"uploaded_at\":");
    write_quoted(json, &record.fields.posted_at);
    json.extend_from_slice(b",\"downloads\":");
}

/// The releases that a record names, each once.
fn named_releases<'a>(description: &'a str, file_name: &'a str) -> Vec<Cow<'a, str>> {
    let all = release_names(description).chain(release_names(without_ending(file_name)));
    let mut named = Vec::new();
    for name in all {
        if named.len() == NAMED_RELEASES_MAX {
            break;
        }
        if !named.contains(&name) {
            named.push(name);
        }
    }
    named
}

/// Name of the one text that a download gives.
fn file_name<'a>(record: &AddressRecord<'a>) -> Cow<'a, str> {
    let Some(name) = record.file_name else {
        return Cow::Owned(format!("{}.srt", record.id));
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) if is_one_of(ending, &["zip", "rar"]) => {
            Cow::Owned(format!("{stem}.srt"))
        }
        _ => Cow::Borrowed(name),
    }
}

/// The format that an ending names; `srt` for any other.
fn format_of(filename: &str) -> &'static str {
    const FORMATS: [&str; 4] = ["srt", "ssa", "ass", "sub"];
    let ending = filename.rsplit_once('.').map_or("", |(_, ending)| ending);
    let found = FORMATS
        .into_iter()
        .find(|format| ending.eq_ignore_ascii_case(format));
    found.unwrap_or("srt")
}

fn is_one_of(ending: &str, endings: &[&str]) -> bool {
    endings
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}
