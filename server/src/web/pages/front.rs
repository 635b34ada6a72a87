//! The front page: search, and the steps to an API key.

use askama::Template;
use http::StatusCode;

use crate::web::answer::{self, PageResult};
use crate::web::frame::Frame;
use crate::web::web_request::WebRequest;

#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage {
    page: Frame,
    records: u64,
    is_first_start: bool,
    base_url: String,
    /// True if anybody may read the catalog.
    is_public: bool,
}

/// `GET /`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let template = FrontPage {
        page: request.frame("/"),
        records: request.site.stats()?.active_records,
        is_first_start: request.site.is_first_start(),
        base_url: request.base_url(),
        is_public: request.site.service.config().is_catalog_public,
    };
    answer::page(StatusCode::OK, &template)
}
