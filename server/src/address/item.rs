//! An item of a search below an address (API.md 20.10).

use std::borrow::Cow;

use serde::Serialize;
use subcat_engine::without_ending;

use super::item_request::ItemRequest;
use super::record::AddressRecord;
use super::release_names::release_names;
use super::title_text::TitleCache;
use crate::limits::{NAMED_RELEASES_MAX, URL_START_BYTES};
use crate::rows::language_name;

/// An item, with its fields in output order.
#[derive(Serialize)]
struct Item<'a> {
    id: &'a str,
    subscene_id: &'a str,
    title: &'a str,
    slug: &'a str,
    imdb_id: &'a str,
    language: &'a str,
    hi: bool,
    author: &'a str,
    releases: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<u16>,
    filename: &'a str,
    format: &'a str,
    uploaded_at: &'a str,
    downloads: u64,
    download_url: &'a str,
}

/// Writes the items of one answer.
pub(super) struct ItemWriter<'a, 'r> {
    request: ItemRequest<'r>,
    /// Query string of the downloads, with its question mark.
    question: String,
    /// URL of the last item's download: its memory is used again.
    url: String,
    titles: TitleCache<'a>,
}

impl<'a, 'r> ItemWriter<'a, 'r> {
    /// A writer of the items of a request.
    pub(super) fn new(request: ItemRequest<'r>) -> Self {
        Self {
            question: question(&request),
            url: String::with_capacity(URL_START_BYTES),
            request,
            titles: TitleCache::default(),
        }
    }

    /// Appends the item of a record with its download count of now.
    pub(super) fn write(&mut self, record: &AddressRecord<'a>, downloads: u64, out: &mut Vec<u8>) {
        let request = &self.request;
        let texts = self.titles.texts(record, request);
        let filename = file_name(record);
        let language = match (request.language, record.language) {
            (Some(asked), _) => Cow::Borrowed(asked),
            (None, Some(term)) => language_name(term),
            (None, None) => Cow::Borrowed(""),
        };
        let description = record.fields.description.as_deref().unwrap_or_default();
        let named = named_releases(description, record.file_name.unwrap_or_default());
        let mut releases = Vec::with_capacity(1 + named.len());
        releases.push(&*texts.lines);
        releases.extend(named.iter().map(|name| &**name));
        let id = record.id.to_string();
        self.url.clear();
        let parts = [request.base, "/api/v1/subtitles/", &id, "/download"];
        self.url.extend(parts);
        self.url.push_str(&self.question);
        let item = Item {
            id: &id,
            subscene_id: &id,
            title: &texts.title,
            slug: &texts.slug,
            imdb_id: &record.imdb_id,
            language: &language,
            hi: record.is_hearing_impaired,
            author: record.fields.uploader_name.as_deref().unwrap_or_default(),
            releases,
            comment: Some(description).filter(|text| !text.is_empty()),
            year: record.fields.year,
            format: format_of(&filename),
            filename: &filename,
            uploaded_at: &record.fields.posted_at,
            downloads,
            download_url: &self.url,
        };
        serde_json::to_writer(out, &item).expect("texts and numbers always serialise");
    }
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

fn question(request: &ItemRequest<'_>) -> String {
    match (request.season, request.episode) {
        (Some(season), Some(episode)) => format!("?season={season}&episode={episode}"),
        (Some(season), None) => format!("?season={season}"),
        (None, _) => String::new(),
    }
}
