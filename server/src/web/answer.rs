//! Answers of the pages: body, status and headers.

use std::sync::Arc;

use askama::Template;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use subcat_engine::blob::Blob;

use super::error::PageError;

/// The answer to a request, or why there is none.
pub(crate) type PageResult = Result<Response<PageBody>, PageError>;

/// Body of a page: bytes, or a stored file.
pub enum PageBody {
    /// Finished bytes.
    Bytes(Bytes),
    /// A file of the content store.
    Blob(Arc<Blob>),
}

/// Only our own files, no inline script or style, no frame around us, no form to elsewhere.
const POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// Sets the headers that every page has.
pub(crate) fn set_security_headers(headers: &mut HeaderMap) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "same-origin");
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    // Every page depends on who looks at it; only what says otherwise may be kept.
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(VARY, HeaderValue::from_static("Cookie, Accept-Language"));
    }
}

/// An answer of finished bytes.
pub(crate) fn bytes(
    status: StatusCode,
    content_type: &'static str,
    bytes: impl Into<Bytes>,
) -> Response<PageBody> {
    let mut response = Response::new(PageBody::Bytes(bytes.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// A page.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> PageResult {
    let html = template.render()?;
    Ok(bytes(status, "text/html; charset=utf-8", html))
}

/// On to another page: 303, so that a reload repeats nothing.
pub(crate) fn see_other(location: &str) -> Response<PageBody> {
    let mut response = bytes(
        StatusCode::SEE_OTHER,
        "text/html; charset=utf-8",
        Bytes::new(),
    );
    let location = HeaderValue::try_from(location).unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}
