//! The catalog for people: the search of the API, and a page for each record.

use askama::Template;
use http::StatusCode;
use subcat_engine::{PAGE_SIZE_MAX, Query, RecordId};

use super::record_view::RecordView;
use super::search_form::{SearchErrors, SearchForm};
use crate::limits::{
    HIT_DESCRIPTION_CHARS_MAX, HIT_TITLE_CHARS_MAX, HITS_PER_PAGE, RECORD_DESCRIPTION_CHARS_MAX,
};
use crate::request::search_request;
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog.html")]
struct CatalogPage {
    page: Frame,
    form: SearchForm,
    errors: SearchErrors,
    results: Option<SearchResults>,
}

/// One page of the hits of a search.
struct SearchResults {
    hits: Vec<RecordView>,
    total: String,
    is_one: bool,
    /// Positions of the first and last hit on this page, counted from 1.
    first: usize,
    last: usize,
    /// Number of hits on all pages: at most the largest page size of the API.
    reachable: usize,
    /// True if the search has more hits than that.
    is_truncated: bool,
    page_number: usize,
    pages_count: usize,
    /// Query string of the search, for links to its other pages.
    search: String,
}

/// `GET /catalog`: the search of the API, with its parameters and order.
///
/// `limit` defaults to the largest page size of the API; `page` selects 25 of these hits.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.viewer()?;
    // Drops empty values: an empty field of the form is not a parameter.
    let search_string = request.query.without(&["lang", "theme", "page"]);
    let has_alias = request.site.service.config.compat.imdb_id_alias;
    let (mut errors, mut results) = (SearchErrors::default(), None);
    if !search_string.is_empty() {
        // The last of a repeated parameter counts, so a limit in the address replaces this one.
        match search_request(&format!("limit={PAGE_SIZE_MAX}&{search_string}"), has_alias) {
            Ok(parsed) => {
                let began_us = request.site.service.clock.now().monotonic_us;
                let found = search(request, &parsed.query, search_string.clone())?;
                results = Some(found);
                let ended_us = request.site.service.clock.now().monotonic_us;
                let duration_us = ended_us.saturating_sub(began_us);
                let slow_searches = &request.site.service.slow_searches;
                slow_searches.note(request.now, duration_us, &search_string, None);
            }
            Err(rejection) => errors = SearchErrors::new(&rejection, request.lang),
        }
    }
    let status = if errors.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::UNPROCESSABLE_ENTITY
    };
    let template = CatalogPage {
        page: request.frame("/catalog"),
        form: SearchForm::new(&request.query, &errors, request.lang),
        errors,
        results,
    };
    answer::page(status, &template)
}

fn search(
    request: &WebRequest,
    query: &Query,
    search_string: String,
) -> Result<SearchResults, PageError> {
    let engine = &request.site.service.engine;
    let snapshot = engine.catalog().snapshot();
    let hits = snapshot.search(query)?;
    // As in the API, a search by free text requests a reindex job.
    if query.uses_free_text() {
        engine.catalog().request_reindex();
    }
    let pages_count = hits.len().div_ceil(HITS_PER_PAGE).max(1);
    let page_number = request.query.get("page").parse().unwrap_or(1);
    // A page beyond the last one, from an old link, shows the last one.
    let page_number = usize::clamp(page_number, 1, pages_count);
    let start = (page_number - 1) * HITS_PER_PAGE;
    let end = hits.len().min(start + HITS_PER_PAGE);
    let mut views = Vec::with_capacity(end - start);
    for hit_idx in start..end {
        let doc = snapshot.hit_doc(&hits, hit_idx)?;
        let view = RecordView::new(&doc, engine, request.lang)?;
        views.push(view.shortened(HIT_TITLE_CHARS_MAX, HIT_DESCRIPTION_CHARS_MAX));
    }
    // Only now is it certain that the mapped files were complete while they were read.
    snapshot.ensure_not_truncated()?;
    Ok(SearchResults {
        total: request.lang.number(hits.total()),
        is_one: hits.total() == 1,
        is_truncated: (hits.len() as u64) < hits.total(),
        hits: views,
        first: start + 1,
        last: end,
        reachable: hits.len(),
        page_number,
        pages_count,
        search: search_string,
    })
}

#[derive(Template)]
#[template(path = "record.html")]
struct RecordPage {
    page: Frame,
    hit: RecordView,
    base_url: String,
}

/// `GET /catalog/{id}`.
pub(crate) fn show_record(request: &WebRequest, id: &str) -> PageResult {
    request.viewer()?;
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let engine = &request.site.service.engine;
    let snapshot = engine.catalog().snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let hit = RecordView::new(&doc, engine, request.lang)?;
    let template = RecordPage {
        page: request.frame("/catalog"),
        hit: hit.with_description_cut(RECORD_DESCRIPTION_CHARS_MAX),
        base_url: request.base_url(),
    };
    snapshot.ensure_not_truncated()?;
    answer::page(StatusCode::OK, &template)
}
