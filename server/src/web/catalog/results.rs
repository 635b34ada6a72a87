//! The catalog for people: the search of the API, lists without words, and a page for each record.

use std::sync::Arc;

use askama::Template;
use http::StatusCode;
use http::header::REFERER;
use subcat_engine::{
    CatalogId, Doc, EpisodeSlot, Filters, ListOrder, ListPage, PAGE_SIZE_MAX, Query, RecordId,
    Snapshot, TitlePart,
};

use super::feed_link::{own_feed, public_feed};
use super::language_filter::language_choices;
use super::look::StoredFile;
use super::record_view::{
    RecordView, below_heading, below_titles, packs_with, same_releases_together,
};
use super::result_order::{ORDER_PARAMETER, OrderLink, ResultOrder, order_links};
use super::search_box::{self, BoxReading, Destination};
use super::search_form::{SearchErrors, SearchForm};
use super::uploader::known_uploader;
use crate::auth::without_keys;
use crate::files::CueLook;
use crate::limits::{
    HITS_PER_PAGE, LIST_PAGES_MAX, OTHER_VERSIONS_MAX, REACHED_HITS_MAX,
    RECORD_DESCRIPTION_CHARS_MAX,
};
use crate::request::{SearchRejection, search_request, without_base};
use crate::runtime::WorkKind;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params::Params;
use crate::web::frame::title_text::{episode_number, title_path};
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/catalog.html")]
struct CatalogPage {
    page: Frame,
    /// Path of the page of an uploader, if the search for that name found nothing; else empty.
    uploader_path: String,
    form: SearchForm,
    errors: SearchErrors,
    results: Option<SearchResults>,
    /// Address of the feed of the same list, if anybody may read it; else empty.
    feed_path: String,
    /// Query string of the same list, for readers with an address of their own; else empty.
    feed_hint: String,
}

/// One page of the records that were found or listed.
struct SearchResults {
    hits: Vec<RecordView>,
    /// Counts of a search; `None` for a list of the newest.
    found: Option<FoundCounts>,
    /// True without any criterion: the whole catalog.
    is_everything: bool,
    orders: Vec<OrderLink>,
    /// True if the most downloaded come first.
    is_by_downloads: bool,
    page_number: usize,
    /// True if there is a page after this one.
    has_next: bool,
    /// Query string of the search and its order, for links to its other pages.
    search: String,
}

/// The frame of a page with a search box of its own.
fn searched_frame(request: &WebRequest) -> Frame {
    let mut page = request.frame("/catalog");
    page.is_searchable = false;
    page.canonical = request.canonical("/catalog");
    page
}

/// Counts of a search.
struct FoundCounts {
    total: String,
    is_one: bool,
    /// Positions of the first and last hit on this page, counted from 1.
    first: usize,
    last: usize,
    /// Number of hits on all pages.
    reachable: String,
    /// True if the search has more hits than that.
    is_truncated: bool,
    pages_count: usize,
}

/// `GET /catalog`: the search of the API, with its parameters and order; without a criterion the
/// newest records that pass the filters.
///
/// `page` selects 25 of the hits: of all up to [`REACHED_HITS_MAX`], or of the first that `limit`
/// in the address asks for.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.reader()?;
    let has_alias = request.site.service.compat.imdb_id_alias;
    let reading = search_box::read(&request.query, has_alias);
    // Filters beside a link select a part of its records: a search.
    let filters = reading.params.without(&[
        "catalog_id",
        "public_id",
        "lang",
        "theme",
        "page",
        ORDER_PARAMETER,
    ]);
    let named = reading.destination.filter(|_| filters.is_empty());
    if let Some(location) = destination(request, named)? {
        return Ok(answer::see_other(&location));
    }
    let params = meant(request, reading, has_alias)?;
    let search_string = searched(&params);
    let (mut errors, mut results) = (SearchErrors::default(), None);
    match parse(&params, &search_string, has_alias) {
        Ok(query) => {
            let began_us = request.site.service.clock.now().monotonic_us;
            results = Some(if search_box::has_criterion(&params) {
                search(request, &query, &params, &search_string)?
            } else {
                listed(request, query.filters(), &params)?
            });
            let ended_us = request.site.service.clock.now().monotonic_us;
            let duration_us = ended_us.saturating_sub(began_us);
            let slow_searches = &request.site.service.slow_searches;
            slow_searches.note(request.now, duration_us, &search_string, None);
        }
        Err(rejection) => errors = SearchErrors::new(&rejection, request.lang),
    }
    let status = if errors.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let languages = request.site.service.language_counts()?;
    let languages = language_choices(&languages, request.lang);
    let is_in_vain = results.as_ref().is_some_and(|it| it.hits.is_empty());
    let template = CatalogPage {
        page: searched_frame(request),
        uploader_path: if is_in_vain {
            known_uploader(request, request.query.get("query"))?
        } else {
            String::new()
        },
        form: SearchForm::new(&params, &errors, &languages, request.lang),
        feed_path: if errors.is_empty() {
            public_feed(request, &search_string)
        } else {
            String::new()
        },
        feed_hint: if errors.is_empty() {
            own_feed(request, &search_string)
        } else {
            String::new()
        },
        errors,
        results,
    };
    answer::page(status, &template)
}

/// The parameters of a search. Drops empty values: an empty field of the form is not a parameter.
fn searched(params: &Params) -> String {
    params.without(&["lang", "theme", "page", ORDER_PARAMETER])
}

/// The parameters that are meant: with a season in words as a marker, unless the words are those of
/// a title, or find something only so.
pub(crate) fn meant(
    request: &WebRequest,
    reading: BoxReading,
    has_alias: bool,
) -> Result<Params, PageError> {
    let BoxReading { params, marked, .. } = reading;
    let Some(marked) = marked else {
        return Ok(params);
    };
    let snapshot = request.site.service.engine.catalog().snapshot();
    let best_relevance = |params: &Params| -> Result<Option<u8>, PageError> {
        let Ok(query) = parse(params, &searched(params), has_alias) else {
            return Ok(None);
        };
        let hits = snapshot.search(&query.with_page_size(1))?;
        Ok(hits.hits().first().map(|hit| hit.relevance))
    };
    // Of a relevance up to 4 every word is in the title (SEARCH.md 5.1).
    let is_title = matches!(best_relevance(&params)?, Some(0..=4));
    let is_marked =
        !is_title && (!search_box::has_criterion(&marked) || best_relevance(&marked)?.is_some());
    snapshot.ensure_not_truncated()?;
    Ok(if is_marked { marked } else { params })
}

/// Path of the page that a pasted text names, if there is such a page.
fn destination(
    request: &WebRequest,
    destination: Option<Destination>,
) -> Result<Option<String>, PageError> {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let path = match destination {
        Some(Destination::Record(id)) if snapshot.doc(id)?.is_some() => {
            Some(format!("/catalog/{id}"))
        }
        Some(Destination::Title(number)) => {
            let listing = snapshot.of_title(number, TitlePart::All, ListPage::first(1))?;
            if listing.docs.is_empty() {
                None
            } else {
                Some(title_path(number))
            }
        }
        _ => None,
    };
    snapshot.ensure_not_truncated()?;
    Ok(path)
}

/// Parses the parameters as the API does. Without a criterion only the filters of the result count.
pub(crate) fn parse(
    params: &Params,
    search_string: &str,
    has_alias: bool,
) -> Result<Query, SearchRejection> {
    // Any criterion will do for parsing the filters.
    let criterion = if search_box::has_criterion(params) {
        ""
    } else {
        "&catalog_id=tt0"
    };
    // The last of a repeated parameter counts, so a limit in the address replaces this one.
    let text = format!("limit={PAGE_SIZE_MAX}&{search_string}{criterion}");
    search_request(&text, has_alias).map(|parsed| parsed.query)
}

fn search(
    request: &WebRequest,
    query: &Query,
    params: &Params,
    search_string: &str,
) -> Result<SearchResults, PageError> {
    let engine = &request.site.service.engine;
    let snapshot = engine.catalog().snapshot();
    let order = ResultOrder::of(params);
    let asked = request.query.get("page").parse().unwrap_or(1).max(1);
    let found = match order {
        ResultOrder::Default => by_relevance(&snapshot, query, params, asked)?,
        ResultOrder::Newest | ResultOrder::Downloads => {
            let own = engine.usage().own_downloads();
            let order = order.of_list(&own);
            in_order(&snapshot, query, params, order, asked)?
        }
    };
    if found.docs.is_empty() {
        let empty_searches = &request.site.service.empty_searches;
        empty_searches.note(request.now, search_string);
    }
    // As in the API, a search by free text requests a reindex job.
    if query.uses_free_text() {
        engine.catalog().request_reindex();
    }
    let mut views = RecordView::list(request, &snapshot, &found.docs)?;
    if order == ResultOrder::Default {
        views = below_titles(same_releases_together(views));
    }
    // Only now is it certain that the mapped files were complete while they were read.
    snapshot.ensure_not_truncated()?;
    let start = (found.page_number - 1) * HITS_PER_PAGE;
    Ok(SearchResults {
        found: Some(FoundCounts {
            total: request.lang.number(found.total),
            is_one: found.total == 1,
            first: start + 1,
            last: start + views.len(),
            reachable: request.lang.number(found.reachable as u64),
            is_truncated: (found.reachable as u64) < found.total,
            pages_count: found.pages_count(),
        }),
        hits: views,
        is_everything: false,
        orders: order_links(params, true, request.lang),
        is_by_downloads: order == ResultOrder::Downloads,
        page_number: found.page_number,
        has_next: found.page_number < found.pages_count(),
        search: params.without(&["lang", "theme", "page"]),
    })
}

/// A page of the hits of a search.
struct FoundPage<'s> {
    docs: Vec<Doc<'s>>,
    /// Number of all hits.
    total: u64,
    /// Number of hits on all pages.
    reachable: usize,
    page_number: usize,
}

impl FoundPage<'_> {
    fn pages_count(&self) -> usize {
        pages_count(self.reachable)
    }
}

fn pages_count(reachable: usize) -> usize {
    reachable.div_ceil(HITS_PER_PAGE).max(1)
}

/// The page of the hits in their own order. Cost: about a microsecond for each hit up to the page.
fn by_relevance<'s>(
    snapshot: &'s Snapshot,
    query: &Query,
    params: &Params,
    asked: usize,
) -> Result<FoundPage<'s>, PageError> {
    let mut reaching = query.clone();
    if !params.has("limit") {
        let last = asked.saturating_mul(HITS_PER_PAGE);
        let needed = last.clamp(PAGE_SIZE_MAX.into(), REACHED_HITS_MAX.into());
        reaching = reaching.with_page_size(u16::try_from(needed).unwrap_or(REACHED_HITS_MAX));
    }
    let hits = snapshot.search(&reaching)?;
    let reachable = reachable(hits.total(), query, params);
    // A page beyond the last one, from an old link, shows the last one.
    let page_number = asked.min(pages_count(reachable));
    let start = (page_number - 1) * HITS_PER_PAGE;
    let end = hits.len().min(start + HITS_PER_PAGE);
    let docs = (start..end).map(|hit_idx| snapshot.hit_doc(&hits, hit_idx));
    Ok(FoundPage {
        docs: docs.collect::<Result<_, _>>()?,
        total: hits.total(),
        reachable,
        page_number,
    })
}

/// The page of all hits in another order.
fn in_order<'s>(
    snapshot: &'s Snapshot,
    query: &Query,
    params: &Params,
    order: ListOrder<'_>,
    asked: usize,
) -> Result<FoundPage<'s>, PageError> {
    let list = |page_number: usize| {
        let skipped = page_number.saturating_sub(1).saturating_mul(HITS_PER_PAGE);
        let size = HITS_PER_PAGE;
        snapshot.search_listed(query, order, ListPage { skipped, size })
    };
    let (mut listing, total) = list(asked)?;
    let reachable = reachable(total, query, params);
    let page_number = asked.min(pages_count(reachable));
    if page_number < asked {
        listing = list(page_number)?.0;
    }
    let left = reachable - (page_number - 1) * HITS_PER_PAGE;
    listing.docs.truncate(left);
    Ok(FoundPage {
        docs: listing.docs,
        total,
        reachable,
        page_number,
    })
}

/// Number of hits on all pages of a search.
fn reachable(total: u64, query: &Query, params: &Params) -> usize {
    let reached_max = if params.has("limit") {
        query.page_size()
    } else {
        REACHED_HITS_MAX
    };
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    total.min(reached_max.into())
}

/// The records that pass the filters, newest first or the most downloaded.
fn listed(
    request: &WebRequest,
    filters: &Filters,
    params: &Params,
) -> Result<SearchResults, PageError> {
    let page_number = request.query.get("page").parse().unwrap_or(1);
    let page_number = usize::clamp(page_number, 1, LIST_PAGES_MAX);
    let engine = &request.site.service.engine;
    let snapshot = engine.catalog().snapshot();
    let page = ListPage {
        skipped: (page_number - 1) * HITS_PER_PAGE,
        size: HITS_PER_PAGE,
    };
    let order = ResultOrder::of(params);
    let own = engine.usage().own_downloads();
    let listing = snapshot.listed(filters, order.of_list(&own), page)?;
    let hits = RecordView::list(request, &snapshot, &listing.docs)?;
    snapshot.ensure_not_truncated()?;
    let selection = params.without(&["lang", "theme", "page", ORDER_PARAMETER]);
    Ok(SearchResults {
        hits,
        found: None,
        is_everything: selection.is_empty(),
        orders: order_links(params, false, request.lang),
        is_by_downloads: order == ResultOrder::Downloads,
        page_number,
        has_next: listing.has_more && page_number < LIST_PAGES_MAX,
        search: params.without(&["lang", "theme", "page"]),
    })
}

#[derive(Template)]
#[template(path = "catalog/record.html")]
struct RecordPage {
    page: Frame,
    hit: RecordView,
    base_url: String,
    /// Address of the list that led here, if it was one.
    back: String,
    /// Other records of the same film or episode.
    versions: Vec<RecordView>,
    has_more_versions: bool,
    /// Packs of the season of an episode, which are offered without the other episodes.
    packs: Vec<RecordView>,
    /// First cues of a stored text, or of the only one in a stored archive.
    cues: Vec<CueLook>,
    previous: Option<Neighbour>,
    next: Option<Neighbour>,
}

/// The episode before or after that of a record.
struct Neighbour {
    path: String,
    number: String,
}

/// `GET /catalog/{id}`.
pub(crate) async fn show_record(request: &Arc<WebRequest>, id: &str) -> PageResult {
    request.reader()?;
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let read = move |request: &WebRequest| record_page(request, id);
    let (mut template, file) = request.blocking(WorkKind::Pages, read).await?;
    // As many unpack at once as decoders may.
    let kind = match &file {
        Some(file) if file.is_archive() => WorkKind::Decoding,
        _ => WorkKind::Pages,
    };
    let show = move |request: &WebRequest| {
        template.cues = file.map_or(Vec::new(), |file| file.first_cues(request));
        answer::page(StatusCode::OK, &template)
    };
    request.blocking(kind, show).await
}

/// The page of a record without its cues, and its file if that is stored here: nothing is fetched
/// for them.
fn record_page(
    request: &WebRequest,
    id: RecordId,
) -> Result<(RecordPage, Option<StoredFile>), PageError> {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let hit = RecordView::new(request, &snapshot, &doc)?;
    let slot = EpisodeSlot {
        season: hit.record.season,
        episode: hit.record.episode,
    };
    let number = doc.catalog_id().map(CatalogId::number);
    let title = doc.parent_catalog_number().or(number);
    let (mut versions, mut has_more_versions) = (Vec::new(), false);
    let (mut previous, mut next) = (None, None);
    let mut packs = Vec::new();
    if let Some(title) = title {
        packs = packs_with(request, &snapshot, title, slot)?;
        let page = ListPage::first(OTHER_VERSIONS_MAX + 1);
        let mut listing = snapshot.of_title(title, TitlePart::Slot(slot), page)?;
        listing.docs.retain(|other| other.id() != id);
        versions = RecordView::list(request, &snapshot, &listing.docs)?;
        has_more_versions = listing.has_more || OTHER_VERSIONS_MAX < versions.len();
        versions.truncate(OTHER_VERSIONS_MAX);
        versions = below_heading(versions, true);
        if slot.episode.is_some() {
            (previous, next) = neighbours(&snapshot, title, slot)?;
        }
    }
    let mut page = request.frame("/catalog");
    page.canonical = request.canonical(&format!("/catalog/{id}"));
    let template = RecordPage {
        page,
        hit: hit.with_description_cut(RECORD_DESCRIPTION_CHARS_MAX),
        base_url: request.base_url(),
        back: list_before(request),
        versions,
        has_more_versions,
        packs,
        cues: Vec::new(),
        previous,
        next,
    };
    let file = StoredFile::of(request, &snapshot, &doc)?;
    snapshot.ensure_not_truncated()?;
    Ok((template, file))
}

/// The page of this site with the list that a record was chosen from, taken from `Referer`. Empty
/// without it, or for another kind of page.
fn list_before(request: &WebRequest) -> String {
    let referer = request.headers.get(REFERER);
    let referer = referer.and_then(|value| value.to_str().ok()).unwrap_or("");
    let referer = without_keys(referer);
    let origins = request.origins();
    let path = origins
        .iter()
        .find_map(|it| referer.strip_prefix(it.as_str()));
    let is_list = |path: &&str| {
        let is_searched = path.starts_with("/catalog?") || path.starts_with("/uploader?");
        is_searched || path.starts_with("/title/")
    };
    let config = request.site.service.config();
    let path = path.map(|path| without_base(path, config.base_path()));
    path.filter(is_list).unwrap_or("").to_owned()
}

/// The episodes before and after one, as far as the title has records of them.
fn neighbours(
    snapshot: &Snapshot,
    title: u64,
    slot: EpisodeSlot,
) -> Result<(Option<Neighbour>, Option<Neighbour>), PageError> {
    let slots = snapshot.episodes_of_title(title)?;
    let is_episode = |slot: &&EpisodeSlot| slot.season.is_some() && slot.episode.is_some();
    let neighbour = |slot: &EpisodeSlot| {
        let (season, episode) = (slot.season.unwrap_or(0), slot.episode.unwrap_or(0));
        Neighbour {
            path: format!("{}?season={season}&episode={episode}", title_path(title)),
            number: episode_number(slot.season, slot.episode),
        }
    };
    let previous = slots.range(..slot).map(|(slot, _)| slot).rfind(is_episode);
    let after = (std::ops::Bound::Excluded(slot), std::ops::Bound::Unbounded);
    let next = slots.range(after).map(|(slot, _)| slot).find(is_episode);
    Ok((previous.map(neighbour), next.map(neighbour)))
}
