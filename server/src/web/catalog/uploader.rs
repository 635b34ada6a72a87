//! The subtitles of an uploader: all of them, the newest or the most downloaded first.

use askama::Template;
use http::StatusCode;
use subcat_engine::{ListOrder, ListPage};

use super::record_view::{RecordView, uploader_path};
use super::result_order::{ORDER_PARAMETER, OrderLink, ResultOrder, order_links};
use crate::limits::HITS_PER_PAGE;
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
    /// Number of all their records.
    total: String,
    is_one: bool,
    orders: Vec<OrderLink>,
    page_number: usize,
    pages_count: usize,
    /// Query string of this page without its number.
    search: String,
}

/// `GET /uploader?name=NAME`; `sort` and `page` as in the catalog.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.reader()?;
    let name = request.query.raw("name");
    let order = ResultOrder::of(&request.query);
    let asked: usize = request.query.get("page").parse().unwrap_or(1);
    let page = ListPage {
        skipped: asked.saturating_sub(1).saturating_mul(HITS_PER_PAGE),
        size: HITS_PER_PAGE,
    };
    let engine = &request.site.service.engine;
    let snapshot = engine.catalog().snapshot();
    let own = engine.usage().own_downloads();
    let (listing, total) = snapshot.of_uploader(name, order.of_list(&own), page)?;
    let hits = RecordView::list(request, &snapshot, &listing.docs)?;
    snapshot.ensure_not_truncated()?;
    let mut search = format!("name={}", params::encode(name));
    if order == ResultOrder::Downloads {
        search.push_str(&format!("&{ORDER_PARAMETER}={}", order.value()));
    }
    let pages_count = total.div_ceil(HITS_PER_PAGE).max(1);
    if pages_count < asked {
        // From an old link: the last page.
        let path = format!("/uploader?{search}&page={pages_count}");
        return Ok(answer::see_other(&path));
    }
    let template = UploaderPage {
        page: request.frame("/catalog"),
        name: name.to_owned(),
        hits,
        total: request.lang.number(total as u64),
        is_one: total == 1,
        orders: order_links(&request.query, false, request.lang),
        page_number: asked.max(1),
        pages_count,
        search,
    };
    answer::page(StatusCode::OK, &template)
}

/// Path of the page of the uploader with this name; empty if there is none.
pub(crate) fn known_uploader(request: &WebRequest, name: &str) -> Result<String, PageError> {
    let snapshot = request.site.service.engine.catalog().snapshot();
    let (_, total) = snapshot.of_uploader(name, ListOrder::Newest, ListPage::first(1))?;
    let path = if total == 0 {
        String::new()
    } else {
        uploader_path(name)
    };
    snapshot.ensure_not_truncated()?;
    Ok(path)
}
