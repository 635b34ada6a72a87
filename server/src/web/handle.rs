//! Entry point of the web interface.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, SET_COOKIE};
use http::{HeaderMap, Method, Request, Response};

use super::error_page;
use super::frame::answer::{self, PageBody};
use super::frame::error::PageError;
use super::frame::language::Lang;
use super::frame::notice::Notice;
use super::frame::origin;
use super::frame::page_frame::Theme;
use super::frame::session;
use super::frame::site::Site;
use super::frame::web_request::WebRequest;
use super::route;
use crate::request::HeadRejection;

/// Answers a request outside `/api`. Runs on the control runtime.
///
/// `peer` is the client's address and `is_https` is true if it connected by https, both with
/// trusted proxies taken into account. The response to `HEAD` has the body of `GET`; the caller
/// drops it.
pub async fn handle(
    site: &Arc<Site>,
    request: Request<Bytes>,
    peer: IpAddr,
    is_https: bool,
) -> Response<PageBody> {
    let request = Arc::new(WebRequest::read(site, request, peer, is_https));
    let result = match admit(&request) {
        Ok(()) => match switch(&request) {
            Some(response) => Ok(response),
            None => route::route(&request).await,
        },
        Err(error) => Err(error),
    };
    let response = result.unwrap_or_else(|error| error_page::answer(&error, &request));
    finish(response, &request)
}

/// The page that says why HTTP's own rules refuse a request. Its target may be the fault: of the
/// request only the header fields are read, for language and session.
pub fn refuse(
    site: &Arc<Site>,
    rejection: HeadRejection,
    headers: HeaderMap,
    peer: IpAddr,
    is_https: bool,
) -> Response<PageBody> {
    let mut request = Request::new(Bytes::new());
    *request.headers_mut() = headers;
    let request = WebRequest::read(site, request, peer, is_https);
    let response = error_page::answer(&PageError::Refused(rejection), &request);
    finish(response, &request)
}

/// Sets the fields that every page has.
fn finish(mut response: Response<PageBody>, request: &WebRequest) -> Response<PageBody> {
    answer::set_security_headers(response.headers_mut());
    // A page shows the message once; a redirect leaves it for its target.
    if request.notice.is_some() && !response.status().is_redirection() {
        let cookie = Notice::forget(request.is_secure);
        response.headers_mut().append(SET_COOKIE, cookie);
    }
    response
}

/// Rejects methods that no page has, forms from other sites and bodies that are not forms.
fn admit(request: &WebRequest) -> Result<(), PageError> {
    match request.method {
        Method::GET | Method::HEAD => Ok(()),
        // Checked before anything is read from the form, on every page.
        Method::POST if !origin::is_ours(&request.headers, &request.origins()) => {
            Err(PageError::ForeignForm)
        }
        Method::POST => {
            let content_type = request.headers.get(CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            let media_type = content_type.unwrap_or("").split(';').next().unwrap_or("");
            let is_form = media_type
                .trim()
                .eq_ignore_ascii_case("application/x-www-form-urlencoded");
            // Browsers send a form without fields without a body and without its type.
            let is_empty = request.form.is_empty() && content_type.is_none();
            if is_form || is_empty {
                Ok(())
            } else {
                Err(PageError::InvalidForm)
            }
        }
        _ => Err(PageError::MethodNotAllowed("GET, HEAD, POST")),
    }
}

/// Handles `?lang=` and `?theme=` on any page: remembers the choice in a cookie and redirects to
/// the page without them, so that the address can be shared.
fn switch(request: &WebRequest) -> Option<Response<PageBody>> {
    let lang = Lang::parse(request.query.get("lang"));
    let theme = Theme::parse(request.query.get("theme"));
    if request.method == Method::POST || (lang.is_none() && theme.is_none()) {
        return None;
    }
    let rest = request.query.without(&["lang", "theme"]);
    let joint = if rest.is_empty() { "" } else { "?" };
    let mut response = answer::see_other(&format!("{}{joint}{rest}", request.path));
    let headers = response.headers_mut();
    if let Some(lang) = lang {
        headers.append(
            SET_COOKIE,
            session::remember("lang", lang.code(), request.is_secure),
        );
    }
    if let Some(theme) = theme {
        headers.append(
            SET_COOKIE,
            session::remember("theme", theme.as_str(), request.is_secure),
        );
    }
    Some(response)
}
