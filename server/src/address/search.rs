//! `api/v1/subtitles/search` (API.md 20.8).

use bytes::Bytes;
use http::Response;
use serde::Serialize;
use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, HitOrder, Language, Number, PackFilter, Query,
    SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, SearchText, VideoType, YEAR_MAX, Year,
};

use super::call::AddressCall;
use super::item::{Item, ItemRequest};
use super::record::AddressRecord;
use crate::api::SnapshotHits;
use crate::cache::AddressAnswer;
use crate::limits::ADDRESS_ITEMS_MAX;
use crate::request::{AddressSearch, address_search};
use crate::respond::ApiError;
use crate::rows::named_language;
use crate::runtime::Body;

#[derive(Serialize)]
struct ItemList {
    items: Vec<Item>,
    total_items: u64,
    page: u32,
    per_page: u32,
}

/// Answers with the records that match, a page of the first ones.
pub(super) fn answer(call: AddressCall<'_>) -> Response<Body> {
    let query_string = call.uri.query().unwrap_or_default();
    let base = call.base();
    if let Some(body) = call.worker.kept_answer(call.target(), &base) {
        return call.worker.send_hits(call.admitted, body, query_string);
    }
    let search = match address_search(query_string) {
        Ok(search) => search,
        Err(rejection) => {
            let error = ApiError::InvalidAddressParameter(rejection.body);
            return call.worker.refuse(call.admitted, error);
        }
    };
    match list(&call, &search, &base) {
        Ok(body) => call.worker.send_hits(call.admitted, body, query_string),
        Err(error) => call.worker.refuse(call.admitted, error),
    }
}

/// The finished answer.
fn list(call: &AddressCall<'_>, search: &AddressSearch, base: &str) -> Result<Bytes, ApiError> {
    let Some(query) = query_of(search, call.variety()) else {
        return Ok(written(search, Vec::new(), 0));
    };
    let found = call.worker.find(&query)?;
    let items = items(&found, search, base)?;
    let body = written(search, items, found.hits.total());
    let answer = AddressAnswer {
        base: base.to_owned(),
        hits: found.hits,
        downloads: found.downloads,
        body: body.clone(),
    };
    call.worker.keep_answer(call.target(), answer);
    Ok(body)
}

fn written(search: &AddressSearch, items: Vec<Item>, total_items: u64) -> Bytes {
    let list = ItemList {
        items,
        total_items,
        page: search.page,
        per_page: search.per_page,
    };
    let body = serde_json::to_vec(&list).expect("texts and numbers always serialise");
    body.into()
}

/// The items of the page.
fn items(found: &SnapshotHits, search: &AddressSearch, base: &str) -> Result<Vec<Item>, ApiError> {
    let request = ItemRequest {
        base,
        query: search.query.as_deref(),
        is_by_id: search.imdb_id.is_some(),
        language: search.language.as_deref(),
        year: search.year.filter(|year| *year != 0),
        season: search.numbers.season,
        episode: search.numbers.season.and(search.numbers.episode),
    };
    let per_page = search.per_page as usize;
    let start = (search.page as usize - 1).saturating_mul(per_page);
    let hits = found.hits.locations().iter().zip(&found.downloads);
    let mut items = Vec::new();
    for (location, downloads) in hits.skip(start).take(per_page) {
        let record = AddressRecord::read(&found.snapshot, location)?;
        items.push(Item::new(record, *downloads, &request));
    }
    found
        .snapshot
        .ensure_not_truncated()
        .map_err(|error| crate::api::failed(&error))?;
    Ok(items)
}

/// The query for the engine; `None` for a search that finds nothing.
fn query_of(search: &AddressSearch, variety: Option<Language>) -> Option<Query> {
    let mut filters = Filters {
        has_source: true,
        variety,
        packs: PackFilter::Include,
        ..Filters::default()
    };
    filters = filters.with_flag(Flag::Forced, FlagFilter::Exclude);
    filters = filters.with_flag(
        Flag::HearingImpaired,
        match search.hi {
            None => FlagFilter::Include,
            Some(true) => FlagFilter::Only,
            Some(false) => FlagFilter::Exclude,
        },
    );
    if let Some(text) = &search.language {
        filters.language = Some(named_language(text)?);
    }
    match search.numbers.season {
        Some(season) => {
            filters.video_type = Some(VideoType::Episode);
            filters.season = Some(number(season)?);
            filters.episode = match search.numbers.episode {
                Some(episode) => Some(number(episode)?),
                None => None,
            };
        }
        None if search.imdb_id.is_none() => filters.video_type = Some(VideoType::Movie),
        None => {}
    }
    let query = |filters| Query::new(filters, ADDRESS_ITEMS_MAX).with_order(HitOrder::Player);
    if let Some(id) = &search.imdb_id {
        let term = CatalogTerm::parse(short(id)?);
        return Some(query(filters).with_catalog_id(Some(term)));
    }
    filters.year = match search.year {
        None | Some(0) => None,
        Some(year) => Some(searched_year(year)?),
    };
    let title = SearchText::title(short(search.query.as_deref()?)?)?;
    Some(query(filters).with_title(Some(title)))
}

/// A season or an episode that records can have.
pub(super) fn number(number: u32) -> Option<Number> {
    Number::new(u16::try_from(number).ok()?)
}

fn searched_year(year: u32) -> Option<Year> {
    let year = u16::try_from(year).ok()?;
    if !(SEARCH_YEAR_MIN..=YEAR_MAX).contains(&year) {
        return None;
    }
    Year::new(year)
}

/// A text that a search of the API would take.
fn short(text: &str) -> Option<&str> {
    Some(text).filter(|text| text.chars().count() <= SEARCH_TEXT_CHARS_MAX)
}
