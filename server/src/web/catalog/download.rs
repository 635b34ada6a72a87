//! The file of a record, or one text of it, downloaded from a page. Counted for the record and the
//! day, but not in the rate-limit window of an API key.

use http::header::VARY;
use http::{HeaderValue, Method, Response};
use subcat_engine::RecordId;

use crate::api::PageDownload;
use crate::web::PageBody;
use crate::web::frame::answer::PageResult;
use crate::web::frame::web_request::WebRequest;

/// `GET /catalog/{id}/download`, with the parameters of a text download (API.md 17).
pub(crate) fn download(request: &WebRequest, id: &str) -> PageResult {
    let mut response = Response::new(PageBody::File(PageDownload {
        id: RecordId::parse(id),
        query: request.raw_query.clone(),
        headers: request.headers.clone(),
        is_head: request.method == Method::HEAD,
    }));
    let vary = HeaderValue::from_static("Cookie, Accept-Encoding");
    response.headers_mut().insert(VARY, vary);
    Ok(response)
}
