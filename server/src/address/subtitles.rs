//! `subtitles/{type}/{id}[/{extra}].json` (API.md 20.13).

use bytes::Bytes;
use http::Response;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, HitOrder, Language, Number, PackFilter, Query,
    SEARCH_TEXT_CHARS_MAX, SearchText, VideoType,
};

use super::call::AddressCall;
use crate::api::{SnapshotHits, failed};
use crate::cache::AddressAnswer;
use crate::limits::ADDON_ITEMS_MAX;
use crate::request::{AddonVideo, parameters};
use crate::respond::ApiError;
use crate::runtime::Body;

/// Characters of a value that are escaped: all but the unreserved ones of RFC 3986.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

#[derive(Serialize)]
struct AddonItem {
    id: String,
    url: String,
    lang: String,
}

#[derive(Serialize)]
struct AddonList {
    subtitles: Vec<AddonItem>,
}

/// The video that an add-on searches for.
struct Wanted<'a> {
    term: CatalogTerm,
    video_type: VideoType,
    /// Season and episode of a series.
    numbers: Option<[Number; 2]>,
    /// Name of the file that is played.
    file_name: Option<&'a str>,
}

/// Answers with the subtitles of a video.
pub(super) fn answer(call: AddressCall<'_>, video: &AddonVideo<'_>) -> Response<Body> {
    let base = call.base();
    if let Some(body) = call.worker.kept_answer(call.target(), &base) {
        return call.worker.send_hits(call.admitted, body, &video.id);
    }
    let file_name = file_name(video.extra);
    let listed = match wanted(video, file_name.as_deref()) {
        Some(wanted) => list(&call, &wanted, &base),
        None => Ok(written(Vec::new())),
    };
    match listed {
        Ok(body) => call.worker.send_hits(call.admitted, body, &video.id),
        Err(error) => call.worker.refuse(call.admitted, error),
    }
}

/// The video that an id of its type names; `None` for any other.
fn wanted<'a>(video: &AddonVideo<'_>, file_name: Option<&'a str>) -> Option<Wanted<'a>> {
    let (id, video_type, numbers) = match &*video.kind {
        "movie" => (&*video.id, VideoType::Movie, None),
        "series" => {
            let mut parts = video.id.split(':');
            let id = parts.next()?;
            let numbers = [number(parts.next()?)?, number(parts.next()?)?];
            if parts.next().is_some() {
                return None;
            }
            (id, VideoType::Episode, Some(numbers))
        }
        _ => return None,
    };
    let term = match CatalogTerm::parse(id) {
        CatalogTerm::Number(number) if id.starts_with("tt") => CatalogTerm::Number(number),
        _ => return None,
    };
    Some(Wanted {
        term,
        video_type,
        numbers,
        file_name,
    })
}

/// A season or an episode in digits.
fn number(text: &str) -> Option<Number> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        return None;
    }
    Number::new(text.parse().ok()?)
}

/// The first characters of the `filename` parameter in the part after an id.
fn file_name(extra: &str) -> Option<String> {
    let named = parameters(extra).filter(|(name, _)| name == "filename");
    let (_, value) = named.last()?;
    let start: String = value.trim().chars().take(SEARCH_TEXT_CHARS_MAX).collect();
    Some(start).filter(|start| !start.is_empty())
}

fn query_of(wanted: &Wanted<'_>, variety: Option<Language>) -> Query {
    let filters = Filters {
        video_type: Some(wanted.video_type),
        season: wanted.numbers.map(|[season, _]| season),
        episode: wanted.numbers.map(|[_, episode]| episode),
        packs: PackFilter::Include,
        has_source: true,
        variety,
        ..Filters::default()
    };
    let filters = filters.with_flag(Flag::Forced, FlagFilter::Exclude);
    Query::new(filters, ADDON_ITEMS_MAX as u16)
        .with_order(HitOrder::Player)
        .with_catalog_id(Some(wanted.term))
        .with_release(wanted.file_name.and_then(SearchText::release))
}

/// The finished answer.
fn list(call: &AddressCall<'_>, wanted: &Wanted<'_>, base: &str) -> Result<Bytes, ApiError> {
    let found = call.worker.find(&query_of(wanted, call.variety()))?;
    let body = written(items(&found, wanted, base)?);
    let snapshot_id = found.snapshot.id();
    call.worker
        .keep_answer(snapshot_id, call.target(), || AddressAnswer {
            base: base.to_owned(),
            // It shows no counts.
            counted: Box::default(),
            downloads: Box::default(),
            body: body.clone(),
        });
    Ok(body)
}

fn written(subtitles: Vec<AddonItem>) -> Bytes {
    let list = AddonList { subtitles };
    let body = serde_json::to_vec(&list).expect("texts always serialise");
    body.into()
}

fn items(
    found: &SnapshotHits,
    wanted: &Wanted<'_>,
    base: &str,
) -> Result<Vec<AddonItem>, ApiError> {
    let unreadable = |error: subcat_engine::Error| failed(&error);
    let question = question(wanted);
    let snapshot = &found.snapshot;
    let mut items = Vec::new();
    for location in found.hits.locations() {
        let doc = snapshot.located_doc(location).map_err(unreadable)?;
        let term = snapshot.language_of(&doc).map_err(unreadable)?;
        let language = term.and_then(|term| Language::parse(&term.to_string()));
        let id = location.id;
        items.push(AddonItem {
            id: id.to_string(),
            url: format!("{base}/file/{id}.srt{question}"),
            lang: language.map_or(String::new(), |language| language.terminology_code()),
        });
    }
    snapshot.ensure_not_truncated().map_err(unreadable)?;
    Ok(items)
}

/// The query string of the files: which text of a pack is wanted.
fn question(wanted: &Wanted<'_>) -> String {
    let mut pairs = Vec::new();
    if let Some([season, episode]) = wanted.numbers {
        pairs.push(format!("season={}&episode={}", season.get(), episode.get()));
    }
    if let Some(name) = wanted.file_name {
        let name = utf8_percent_encode(name, ESCAPED);
        pairs.push(format!("release={name}"));
    }
    if pairs.is_empty() {
        return String::new();
    }
    format!("?{}", pairs.join("&"))
}
