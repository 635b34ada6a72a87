//! Answers of the pages: body, status and headers.

use askama::Template;
use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, LOCATION, REFERRER_POLICY,
    SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::error::PageError;
use crate::api::PageDownload;
use crate::limits::PAGE_BYTES_MAX;

/// The response to a request, or the reason why the page is not shown.
pub(crate) type PageResult = Result<Response<PageBody>, PageError>;

/// Body of a page.
pub enum PageBody {
    /// Finished bytes.
    Bytes(Bytes),
    /// A file that the worker answers with (API.md 12.4), by the path of all downloads.
    File(PageDownload),
}

/// Only files of this origin, no inline script or style, no framing, no form to another origin.
const CONTENT_POLICY: &str = "default-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'; object-src 'none'";

/// Sets the security headers that every page has, and forbids caching unless a page allowed it.
pub(crate) fn set_security_headers(headers: &mut HeaderMap) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    set(CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    set(X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(REFERRER_POLICY, "same-origin");
    set(
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    );
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    // A page depends on the session: a shared cache must not hand it to other users. Assets and the
    // OpenAPI document set their own policy before.
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.append(VARY, HeaderValue::from_static("Cookie, Accept-Language"));
    }
}

/// A response of finished bytes.
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

/// A response that renders a template.
pub(crate) fn page(status: StatusCode, template: &impl Template) -> PageResult {
    let html = rendered(template)?;
    Ok(bytes(status, "text/html; charset=utf-8", html))
}

/// The text of a template, within the bound of every page (API.md 12.9).
pub(crate) fn rendered(template: &impl Template) -> Result<String, PageError> {
    let text = template.render()?;
    if text.len() <= PAGE_BYTES_MAX {
        Ok(text)
    } else {
        Err(PageError::TooLarge(text.len()))
    }
}

/// A redirect to another page. Its status is 303, so that a reload does not post a form again.
pub(crate) fn see_other(location: &str) -> Response<PageBody> {
    let mut response = bytes(
        StatusCode::SEE_OTHER,
        "text/html; charset=utf-8",
        Bytes::new(),
    );
    let location = HeaderValue::try_from(location);
    // A path with control characters is not a header value; the front page is always safe.
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    response.headers_mut().insert(LOCATION, location);
    response
}

/// The response, with one more cookie.
pub(crate) fn with_cookie(
    mut response: Response<PageBody>,
    cookie: HeaderValue,
) -> Response<PageBody> {
    response.headers_mut().append(SET_COOKIE, cookie);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Template)]
    #[template(source = "{{ text }}", ext = "html")]
    struct Text {
        text: String,
    }

    #[test]
    fn api_rule_12_9_no_page_is_larger_than_its_bound() {
        let page_of = |text: String| page(StatusCode::OK, &Text { text });
        assert!(page_of("a".repeat(PAGE_BYTES_MAX)).is_ok());
        // A quote takes five bytes.
        let quotes = page_of("\"".repeat(PAGE_BYTES_MAX / 5 + 1));
        assert!(matches!(quotes, Err(PageError::TooLarge(_))));
    }
}
