//! The OpenAPI document as a file.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Response, StatusCode};

use super::openapi;
use crate::web::frame::answer::{self, PageBody, PageResult};
use crate::web::frame::web_request::WebRequest;

/// `GET /openapi.json`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let document = openapi::document();
    let known = request.headers.get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|etag| etag.as_bytes() == document.etag.as_bytes());
    let mut response = if is_known {
        let mut response = Response::new(PageBody::Bytes(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let (text, coding) = document.content.accepted(&request.headers);
        let mut response = answer::bytes(StatusCode::OK, "application/json", text);
        if let Some(coding) = coding {
            let coding = HeaderValue::from_static(coding);
            response.headers_mut().insert(CONTENT_ENCODING, coding);
        }
        response
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    headers.insert(ETAG, HeaderValue::try_from(document.etag.as_str())?);
    Ok(response)
}

/// `GET /openapi-address.json`.
pub(crate) fn show_address(_: &WebRequest) -> PageResult {
    let text = Bytes::from_static(openapi::address_text().as_bytes());
    Ok(answer::bytes(StatusCode::OK, "application/json", text))
}
