//! The front page: what this is, and a key in one minute.

use askama::Template;
use http::StatusCode;

use crate::web::answer::{self, PageResult};
use crate::web::frame::Frame;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "front.html")]
struct FrontPage {
    page: Frame,
    records: u64,
    is_first_start: bool,
    base_url: String,
}

/// `GET /`.
pub(crate) fn show(visit: &Visit) -> PageResult {
    let template = FrontPage {
        page: visit.frame("/"),
        records: visit.site.stats()?.active_records,
        is_first_start: visit.site.is_first_start(),
        base_url: visit.base_url(),
    };
    answer::page(StatusCode::OK, &template)
}
