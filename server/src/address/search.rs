//! `api/v1/subtitles/search` (API.md 20.8).

use bytes::Bytes;
use http::Response;
use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, HitOrder, Language, Number, PackFilter, Query,
    SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, SearchText, VideoType, YEAR_MAX, Year, fold,
};

use super::call::AddressCall;
use super::item::ItemWriter;
use super::item_request::{AskedTitle, ItemRequest};
use super::record::AddressRecord;
use crate::api::{SnapshotHits, failed};
use crate::cache::AddressAnswer;
use crate::limits::{ADDRESS_ITEM_BYTES, ADDRESS_ITEMS_MAX};
use crate::request::{AddressSearch, address_search};
use crate::respond::ApiError;
use crate::rows::named_language;
use crate::runtime::Body;

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
    const START: &[u8] = b"{\"items\":[";
    let Some(query) = query_of(search, call.variety()) else {
        let mut out = START.to_vec();
        write_end(search, 0, &mut out);
        return Ok(out.into());
    };
    let found = call.worker.find(&query)?;
    let items_max = found.downloads.len().min(search.per_page as usize);
    // With room for the end.
    let mut out = Vec::with_capacity((items_max + 1) * ADDRESS_ITEM_BYTES);
    out.extend_from_slice(START);
    write_items(&found, search, base, &mut out)?;
    write_end(search, found.hits.total(), &mut out);
    let body = Bytes::from(out);
    let answer = AddressAnswer {
        base: base.to_owned(),
        hits: found.hits,
        downloads: found.downloads,
        body: body.clone(),
    };
    call.worker.keep_answer(call.target(), answer);
    Ok(body)
}

/// Appends what follows the items.
fn write_end(search: &AddressSearch, total_items: u64, out: &mut Vec<u8>) {
    let AddressSearch { page, per_page, .. } = search;
    let end = format!("],\"total_items\":{total_items},\"page\":{page},\"per_page\":{per_page}}}");
    out.extend_from_slice(end.as_bytes());
}

/// Appends the items of the page.
fn write_items(
    found: &SnapshotHits,
    search: &AddressSearch,
    base: &str,
    out: &mut Vec<u8>,
) -> Result<(), ApiError> {
    let folded = search.query.as_deref().map(fold);
    let asked = search.query.as_deref().zip(folded.as_deref());
    let mut writer = ItemWriter::new(ItemRequest {
        base,
        query: asked.map(|(text, folded)| AskedTitle { text, folded }),
        is_by_id: search.imdb_id.is_some(),
        language: search.language.as_deref(),
        year: search.year.filter(|year| *year != 0),
        season: search.numbers.season,
        episode: search.numbers.season.and(search.numbers.episode),
    });
    let per_page = search.per_page as usize;
    let start = (search.page as usize - 1).saturating_mul(per_page);
    let hits = found.hits.locations().iter().zip(&found.downloads);
    for (idx, (location, downloads)) in hits.skip(start).take(per_page).enumerate() {
        if 0 < idx {
            out.push(b',');
        }
        let record = AddressRecord::read(&found.snapshot, location)?;
        writer.write(&record, *downloads, out);
    }
    found
        .snapshot
        .ensure_not_truncated()
        .map_err(|error| failed(&error))
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
