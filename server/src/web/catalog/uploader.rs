//! The subtitles of an uploader, among the newest records that are cheap to read.

use askama::Template;
use http::StatusCode;
use subcat_engine::ListPage;

use super::record_view::{RecordView, uploader_path};
use crate::limits::{
    HIT_DESCRIPTION_CHARS_MAX, HIT_TITLE_CHARS_MAX, HITS_PER_PAGE, LIST_PAGES_MAX,
    UPLOADER_OFFER_READ_MAX, UPLOADER_RECORDS_READ_MAX,
};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::error::PageError;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::params;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/uploader.html")]
struct UploaderPage {
    page: Frame,
    name: String,
    hits: Vec<RecordView>,
    /// Count of the newest records that were read, as text; empty if these are all.
    read: String,
    page_number: usize,
    has_next: bool,
    /// Query string of this page without its number.
    search: String,
}

/// `GET /uploader?name=NAME`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.reader()?;
    let name = request.query.get("name");
    let page_number = request.query.get("page").parse().unwrap_or(1);
    let page_number = usize::clamp(page_number, 1, LIST_PAGES_MAX);
    let page = ListPage {
        skipped: (page_number - 1) * HITS_PER_PAGE,
        size: HITS_PER_PAGE,
    };
    let snapshot = request.site.service.engine.catalog().snapshot();
    let listing = snapshot.newest_of_uploader(name, UPLOADER_RECORDS_READ_MAX, page)?;
    let mut hits = Vec::with_capacity(listing.docs.len());
    for doc in &listing.docs {
        let view = RecordView::new(request, &snapshot, doc)?;
        hits.push(view.shortened(HIT_TITLE_CHARS_MAX, HIT_DESCRIPTION_CHARS_MAX));
    }
    snapshot.ensure_not_truncated()?;
    let records_count = request.site.stats()?.active_records;
    let template = UploaderPage {
        page: request.frame("/catalog"),
        name: name.to_owned(),
        hits,
        read: if records_count <= UPLOADER_RECORDS_READ_MAX as u64 {
            String::new()
        } else {
            request.lang.number(UPLOADER_RECORDS_READ_MAX as u64)
        },
        page_number,
        has_next: listing.has_more && page_number < LIST_PAGES_MAX,
        search: format!("name={}", params::encode(name)),
    };
    answer::page(StatusCode::OK, &template)
}

/// Path of the page of the uploader with this name; empty if none of the newest records is by this
/// uploader.
pub(crate) fn known_uploader(request: &WebRequest, name: &str) -> Result<String, PageError> {
    let first = ListPage {
        skipped: 0,
        size: 1,
    };
    let snapshot = request.site.service.engine.catalog().snapshot();
    let listing = snapshot.newest_of_uploader(name, UPLOADER_OFFER_READ_MAX, first)?;
    let path = if listing.docs.is_empty() {
        String::new()
    } else {
        uploader_path(name)
    };
    snapshot.ensure_not_truncated()?;
    Ok(path)
}
