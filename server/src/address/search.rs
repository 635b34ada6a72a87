//! `api/v1/subtitles/search` (API.md 20.8).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use http::Response;
use subcat_engine::{
    CatalogTerm, Filters, Flag, FlagFilter, HitOrder, Language, Number, PackFilter, Query,
    RecordLocation, SEARCH_TEXT_CHARS_MAX, SEARCH_YEAR_MIN, SearchText, Snapshot, VideoType,
    YEAR_MAX, Year, fold,
};

use super::call::AddressCall;
use super::item::prepared_item;
use super::item_request::{AskedTitle, ItemRequest};
use super::item_title::item_title;
use super::item_writer::ItemWriter;
use super::json::write_number;
use super::record::AddressRecord;
use crate::api::failed;
use crate::cache::{AddressAnswer, AddressItem, AddressItems, ItemTitle};
use crate::limits::ADDRESS_ITEMS_MAX;
use crate::request::{AddressSearch, address_search};
use crate::respond::ApiError;
use crate::rows::named_language;
use crate::runtime::Body;

/// Start of an answer.
const START: &[u8] = b"{\"items\":[";

/// Answers with the records that match, a page of the first ones.
pub(super) fn answer(call: AddressCall<'_>) -> Response<Body> {
    let query_string = call.uri.query().unwrap_or_default();
    let mut base = call.base();
    base.push_str("/api/v1/subtitles/");
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
        let mut out = BytesMut::from(START);
        write_end(search, 0, &mut out);
        return Ok(out.freeze());
    };
    let found = call.worker.find(&query)?;
    let page = page_of(search, found.hits.locations().len());
    let shown = &found.hits.locations()[page];
    let downloads = call.worker.downloads(shown);
    let body = call.worker.assemble(|items, out| {
        out.extend_from_slice(START);
        let folded = folded_title(search, &query);
        let mut writer = writer(search, &folded, base);
        for (idx, (location, downloads)) in shown.iter().zip(&downloads).enumerate() {
            if 0 < idx {
                out.put_u8(b',');
            }
            let item = item(items, &found.snapshot, location, writer.last_title())?;
            writer.write(&item, *downloads, out);
        }
        write_end(search, found.hits.total(), out);
        Ok(())
    })?;
    let snapshot_id = found.snapshot.id();
    call.worker
        .keep_answer(snapshot_id, call.target(), || AddressAnswer {
            base: base.to_owned(),
            counted: shown.into(),
            downloads,
            body: Bytes::copy_from_slice(&body),
        });
    Ok(body)
}

/// The places of the hits on the page.
fn page_of(search: &AddressSearch, hits_count: usize) -> Range<usize> {
    let per_page = search.per_page as usize;
    let start = (search.page as usize - 1).saturating_mul(per_page);
    let start = start.min(hits_count);
    start..hits_count.min(start + per_page)
}

/// The folding of the title in the request, which a search by title has made already.
fn folded_title<'q>(search: &AddressSearch, query: &'q Query) -> Cow<'q, str> {
    match (query.title(), &search.query) {
        (Some(title), _) => title.folded().into(),
        (None, Some(text)) => fold(text).into(),
        (None, None) => "".into(),
    }
}

fn writer<'a>(search: &'a AddressSearch, folded: &'a str, base: &'a str) -> ItemWriter<'a> {
    let query = search.query.as_deref();
    ItemWriter::new(ItemRequest {
        base,
        query: query.map(|text| AskedTitle { text, folded }),
        is_by_id: search.imdb_id.is_some(),
        language: search.language.as_deref(),
        year: search.year.filter(|year| *year != 0),
        season: search.numbers.season,
        episode: search.numbers.season.and(search.numbers.episode),
    })
}

/// The item at a location: the prepared one, or a new one, which shares `last_title` if that is its
/// title.
fn item(
    items: &mut AddressItems,
    snapshot: &Snapshot,
    location: &RecordLocation,
    last_title: Option<&Arc<ItemTitle>>,
) -> Result<Arc<AddressItem>, ApiError> {
    if let Some(item) = items.get(snapshot.id(), location.id) {
        return Ok(item);
    }
    let record = AddressRecord::read(snapshot, location)?;
    let (text, is_episode) = (&*record.fields.title, record.is_episode());
    let title = match last_title {
        Some(last) if *last.text == *text && last.is_episode == is_episode => Arc::clone(last),
        _ => Arc::new(item_title(text, is_episode)),
    };
    let item = Arc::new(prepared_item(&record, title));
    // Before it is kept: it may be made of bytes that were missing.
    snapshot
        .ensure_not_truncated()
        .map_err(|error| failed(&error))?;
    items.put(snapshot.id(), location.id, Arc::clone(&item));
    Ok(item)
}

/// Appends what follows the items.
fn write_end(search: &AddressSearch, total_items: u64, out: &mut BytesMut) {
    let AddressSearch { page, per_page, .. } = search;
    out.extend_from_slice(b"],\"total_items\":");
    write_number(out, total_items);
    out.extend_from_slice(b",\"page\":");
    write_number(out, *page);
    out.extend_from_slice(b",\"per_page\":");
    write_number(out, *per_page);
    out.put_u8(b'}');
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
