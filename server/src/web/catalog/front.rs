//! The front page: search, and the steps to an API key.

use askama::Template;
use http::StatusCode;
use subcat_engine::{Filters, ListOrder, ListPage};

use super::record_view::RecordView;
use crate::limits::FRONT_HITS;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::command_text::command_text;
use crate::web::frame::error::PageError;
use crate::web::frame::openapi::search_answer;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "catalog/front.html")]
struct FrontPage {
    page: Frame,
    records: u64,
    is_first_start: bool,
    /// Command that makes the first account.
    create_command: String,
    base_url: String,
    /// Example of an answer.
    response: String,
    /// True if anybody may read the catalog.
    is_public: bool,
    /// The newest records, for viewers who may read the catalog.
    newest: Vec<RecordView>,
}

/// `GET /`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let mut page = request.frame("/");
    page.is_searchable = false;
    page.canonical = request.canonical("/");
    let template = FrontPage {
        page,
        records: request.site.stats()?.active_records,
        is_first_start: request.site.is_first_start(),
        create_command: command_text(request, "account create EMAIL --role admin"),
        base_url: request.base_url(),
        response: search_answer(),
        is_public: request.site.service.config().is_catalog_public,
        newest: if request.reader().is_ok() {
            newest(request)?
        } else {
            Vec::new()
        },
    };
    answer::page(StatusCode::OK, &template)
}

fn newest(request: &WebRequest) -> Result<Vec<RecordView>, PageError> {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let page = ListPage::first(FRONT_HITS);
    let listing = snapshot.listed(&Filters::default(), ListOrder::Newest, page)?;
    let hits = RecordView::list(request, &snapshot, &listing.docs)?;
    snapshot.ensure_not_truncated()?;
    Ok(hits)
}
