//! An item of a search below an address (API.md 20.10).

use serde::Serialize;
use subcat_engine::{fold, without_accents, without_ending, words};

use super::record::AddressRecord;
use super::release_names::release_names;
use super::title_names::title_names;
use crate::limits::{NAMED_RELEASES_MAX, TITLE_LINES_MAX};
use crate::rows::language_name;

/// The facts of a request that its items show.
pub(super) struct ItemRequest<'a> {
    /// Beginning of URLs, the key and the tag included.
    pub(super) base: &'a str,
    /// The title in the request.
    pub(super) query: Option<&'a str>,
    /// True if the search was by `imdb_id`.
    pub(super) is_by_id: bool,
    pub(super) language: Option<&'a str>,
    pub(super) year: Option<u32>,
    pub(super) season: Option<u32>,
    pub(super) episode: Option<u32>,
}

/// An item, with its fields in output order.
#[derive(Serialize)]
pub(super) struct Item {
    id: String,
    subscene_id: String,
    title: String,
    slug: String,
    imdb_id: String,
    language: String,
    hi: bool,
    author: String,
    releases: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    year: Option<u16>,
    filename: String,
    format: String,
    uploaded_at: String,
    downloads: u64,
    download_url: String,
}

impl Item {
    /// The item of a record with its download count of now.
    pub(super) fn new(record: AddressRecord, downloads: u64, request: &ItemRequest<'_>) -> Self {
        let names = title_names(&record.title, record.is_episode);
        let title = shown_title(&names, request.query);
        let filename = file_name(&record);
        let language = match (request.language, record.language) {
            (Some(asked), _) => asked.to_owned(),
            (None, Some(term)) => language_name(term).into_owned(),
            (None, None) => String::new(),
        };
        let id = record.id.to_string();
        Self {
            subscene_id: id.clone(),
            slug: words(&fold(&title)).collect::<Vec<_>>().join("-"),
            imdb_id: record.imdb_id.clone(),
            language,
            hi: record.is_hearing_impaired,
            author: record.uploader_name.clone().unwrap_or_default(),
            releases: releases(&record, &names, request),
            year: record.year,
            format: format_of(&filename).to_owned(),
            filename,
            downloads,
            download_url: download_url(&id, request),
            title,
            id,
            comment: record.description,
            uploaded_at: record.posted_at,
        }
    }
}

/// The title in the spelling of the query, if it is one of the names; else the first name.
fn shown_title(names: &[String], query: Option<&str>) -> String {
    let asked = query.filter(|query| {
        let folded = fold(query);
        names.iter().any(|name| fold(name) == folded)
    });
    asked.unwrap_or(&names[0]).to_owned()
}

/// The lines of the first release, then releases that the record names.
fn releases(record: &AddressRecord, names: &[String], request: &ItemRequest<'_>) -> Vec<String> {
    let mut releases = vec![title_lines(record, names, request).join("\n")];
    let described = record.description.as_deref().unwrap_or_default();
    let file_name = record.file_name.as_deref().unwrap_or_default();
    let named = release_names(described).chain(release_names(without_ending(file_name)));
    let mut seen: Vec<String> = Vec::new();
    for name in named {
        if seen.len() < NAMED_RELEASES_MAX && !seen.contains(&name) {
            seen.push(name);
        }
    }
    releases.extend(seen);
    releases
}

fn title_lines(record: &AddressRecord, names: &[String], request: &ItemRequest<'_>) -> Vec<String> {
    let asked_year = request
        .year
        .filter(|_| !record.is_episode && request.is_by_id);
    let year = asked_year.or(record.year.map(u32::from));
    let year_text = year.map_or(String::new(), |year| format!(" ({year})"));
    let number = number(record, request);
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        for name in [name.clone(), without_accents(name)] {
            let line = format!("{name}{year_text}{number}");
            if lines.len() < TITLE_LINES_MAX && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    if record.is_episode && request.is_by_id && year.is_some() {
        lines.push(format!("{}{number}", names[0]));
    }
    lines
}

/// ` S01E02`, or ` S01` without an episode; nothing for films and without a season.
fn number(record: &AddressRecord, request: &ItemRequest<'_>) -> String {
    if !record.is_episode {
        return String::new();
    }
    let season = request.season.or(record.season.map(u32::from));
    let episode = request.episode.or(record.episode.map(u32::from));
    match (season, episode) {
        (Some(season), Some(episode)) => format!(" S{season:02}E{episode:02}"),
        (Some(season), None) => format!(" S{season:02}"),
        (None, _) => String::new(),
    }
}

/// Name of the one text that a download gives.
fn file_name(record: &AddressRecord) -> String {
    let Some(name) = &record.file_name else {
        return format!("{}.srt", record.id);
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) if is_one_of(ending, &["zip", "rar"]) => format!("{stem}.srt"),
        _ => name.clone(),
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

fn download_url(id: &str, request: &ItemRequest<'_>) -> String {
    let mut url = format!("{}/api/v1/subtitles/{id}/download", request.base);
    if let Some(season) = request.season {
        url.push_str(&format!("?season={season}"));
        if let Some(episode) = request.episode {
            url.push_str(&format!("&episode={episode}"));
        }
    }
    url
}
