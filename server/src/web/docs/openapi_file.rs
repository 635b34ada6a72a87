//! The OpenAPI document as a file.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use crate::web::frame::answer::{self, PageBody, PageResult};
use crate::web::frame::openapi::{self, Document};
use crate::web::frame::packed::Compressible;
use crate::web::frame::web_request::WebRequest;

/// `GET /openapi.json`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let config = request.site.service.config();
    let (mut response, etag) = match config.base_path() {
        "" => {
            let document = openapi::document();
            (at_root(document, &request.headers), document.etag.clone())
        }
        base => {
            let text = openapi::text_below(base);
            let etag = openapi::etag(&text);
            (below_base(text), etag)
        }
    };
    let known = request.headers.get(IF_NONE_MATCH);
    if known.is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        response = Response::new(PageBody::Bytes(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    headers.insert(ETAG, HeaderValue::try_from(etag)?);
    Ok(response)
}

/// `GET /openapi-address.json`.
pub(crate) fn show_address(request: &WebRequest) -> PageResult {
    let config = request.site.service.config();
    Ok(below_base(openapi::address_text(config.base_path())))
}

fn at_root(document: &Document, headers: &HeaderMap) -> Response<PageBody> {
    let (text, coding) = document.content.accepted(headers);
    let mut response = answer::bytes(StatusCode::OK, "application/json", text);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

fn below_base(text: String) -> Response<PageBody> {
    let mut response = answer::bytes(StatusCode::OK, "application/json", text);
    response.extensions_mut().insert(Compressible);
    response
}
