//! Entry point of the web interface.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};

use super::account::session_use;
use super::based_answer;
use super::error_page;
use super::frame::answer::{self, PageBody};
use super::frame::error::PageError;
use super::frame::language::Lang;
use super::frame::notice::Notice;
use super::frame::packed::Compressible;
use super::frame::page_frame::Theme;
use super::frame::params;
use super::frame::session;
use super::frame::site::Site;
use super::frame::web_request::WebRequest;
use super::route;
use crate::api::PageFileRejection;
use crate::request::HeadRejection;

/// The answer to a request.
pub struct PageAnswer {
    /// The response.
    pub response: Response<PageBody>,
    /// Replacement if there is no file.
    pub refusal: FileRefusal,
}

/// The page that explains why there is no file ([`PageBody::File`]).
pub struct FileRefusal(Arc<WebRequest>);

impl FileRefusal {
    /// The page for a rejection.
    pub fn page(&self, rejection: PageFileRejection) -> Response<PageBody> {
        let response = error_page::answer(&PageError::File(rejection), &self.0);
        finish(response, &self.0)
    }
}

/// Answers a request outside `/api`. Runs on the control runtime.
///
/// `peer` is the client's address and `is_https` is true if it connected by https, both with
/// trusted proxies taken into account. The response to `HEAD` has the body of `GET`; the caller
/// drops it.
pub async fn handle(
    site: &Arc<Site>,
    mut request: Request<Bytes>,
    peer: IpAddr,
    is_https: bool,
) -> PageAnswer {
    if !site.service.config().base_path().is_empty() {
        based_answer::rename_cookies(request.headers_mut());
    }
    let request = Arc::new(WebRequest::read(site, request, peer, is_https));
    session_use::note(&request);
    let result = match switch(&request) {
        Some(response) => Ok(response),
        None => route::route(&request).await,
    };
    let response = result.unwrap_or_else(|error| error_page::answer(&error, &request));
    PageAnswer {
        response: finish(response, &request),
        refusal: FileRefusal(request),
    }
}

/// The page that explains why HTTP's own rules refuse a request. The target may be the fault: only
/// the header fields of the request are read, for language and session.
pub fn refuse(
    site: &Arc<Site>,
    rejection: HeadRejection,
    headers: HeaderMap,
    peer: IpAddr,
    is_https: bool,
) -> Response<PageBody> {
    let mut request = Request::new(Bytes::new());
    *request.headers_mut() = headers;
    if !site.service.config().base_path().is_empty() {
        based_answer::rename_cookies(request.headers_mut());
    }
    let request = WebRequest::read(site, request, peer, is_https);
    let response = error_page::answer(&PageError::Refused(rejection), &request);
    finish(response, &request)
}

/// Sets the fields that every page has.
fn finish(mut response: Response<PageBody>, request: &WebRequest) -> Response<PageBody> {
    answer::set_security_headers(response.headers_mut());
    // A page shows the message once; a redirect leaves it for its target.
    if request.notice.is_some() && !response.status().is_redirection() {
        response = answer::with_cookie(response, Notice::forget(request.is_secure));
    }
    let config = request.site.service.config();
    if !config.base_path().is_empty() {
        based_answer::put_below(&mut response, config.base_path());
    }
    // Last, because a compressed answer cannot be changed.
    match response.extensions_mut().remove::<Compressible>() {
        Some(Compressible) => {
            let pages = &request.site.packed_pages;
            pages.compressed(response, &request.headers)
        }
        None => response,
    }
}

/// Handles `?lang=` and `?theme=` on any page: remembers the choice in a cookie and redirects to
/// the page without them, so that the address can be shared.
fn switch(request: &WebRequest) -> Option<Response<PageBody>> {
    let lang = Lang::parse(request.query.get("lang"));
    let theme = Theme::parse(request.query.get("theme"));
    let is_read = request.method == Method::GET || request.method == Method::HEAD;
    if !is_read || (lang.is_none() && theme.is_none()) {
        return None;
    }
    let rest = request.query.without(&["lang", "theme"]);
    let mut response = answer::see_other(&params::target(&request.path, &rest));
    let chosen = [
        ("lang", lang.map(Lang::code)),
        ("theme", theme.map(Theme::as_str)),
    ];
    for (name, choice) in chosen {
        if let Some(choice) = choice {
            let cookie = session::remember(name, choice, request.is_secure);
            response = answer::with_cookie(response, cookie);
        }
    }
    Some(response)
}
