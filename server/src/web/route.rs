//! The table of pages: the rows of all families, and the order of checks for each request.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response};

use super::frame::answer::{PageBody, PageResult};
use super::frame::error::PageError;
use super::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing, Inline, Waiting};
use super::frame::page_route::PageRoute;
use super::frame::throttle::AttemptSubject;
use super::frame::web_request::WebRequest;
use super::frame::{feed_token, origin, site_files};
use super::{account, catalog, console, docs, keys};
use crate::request::{RouteAccess, RouteRule, RouteThrottle};
use crate::runtime::WorkKind;

/// All pages. The first matching path counts, so a fixed segment precedes a variable one.
const FAMILIES: [&[PageRoute]; 6] = [
    catalog::routes::ROUTES,
    keys::routes::ROUTES,
    account::routes::ROUTES,
    console::routes::ROUTES,
    docs::routes::ROUTES,
    site_files::ROUTES,
];

/// Rules of all pages.
pub fn page_rules() -> impl Iterator<Item = &'static RouteRule> {
    all().map(|route| &route.rule)
}

/// Answers a request with the page of its path.
///
/// The order of checks: path (404), method (405), origin and type of a form (403, 415), session and
/// role (303, 403), throttle (429).
pub(crate) async fn route(request: &Arc<WebRequest>) -> PageResult {
    let segments = request.segments();
    let (route, variable) = find(&segments).ok_or(PageError::NotFound)?;
    let allowed = route.rule.methods.allowed();
    let handler = route.handler(&request.method);
    let handler = handler.ok_or(PageError::MethodNotAllowed(allowed))?;
    admit_form(request, &route.rule)?;
    admit_client(request, route.rule.access)?;
    take(request, &route.rule)?;
    let response = match handler {
        Inline(page) => page(request),
        Blocking(page) => request.blocking(WorkKind::Pages, page).await,
        BlockingWith(page) => {
            let variable = variable.to_owned();
            request
                .blocking(WorkKind::Pages, move |request| page(request, &variable))
                .await
        }
        Changing(page) => {
            let variable = variable.to_owned();
            request.changing(|request| page(request, variable)).await
        }
        Waiting(page) => page(Arc::clone(request), variable.to_owned()).await,
    };
    response.map(|response| cached(response, &route.rule))
}

/// Path of the page with the form that is posted to `path`; empty if there is none.
pub(crate) fn form_page(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    match find(&segments) {
        Some((route, _)) if route.rule.path == "/keys" => "/keys/new".to_owned(),
        Some((route, _)) if route.rule.is_served(&Method::GET) => path.to_owned(),
        _ => String::new(),
    }
}

fn all() -> impl Iterator<Item = &'static PageRoute> {
    FAMILIES.into_iter().flatten()
}

/// The route of a path, and the text of its variable segment.
fn find<'a>(segments: &[&'a str]) -> Option<(&'static PageRoute, &'a str)> {
    all().find_map(|route| Some((route, route.rule.matched(segments)?)))
}

/// Rejects forms from other sites and bodies that are not forms, before anything is read from them.
fn admit_form(request: &WebRequest, rule: &RouteRule) -> Result<(), PageError> {
    if request.method != Method::POST {
        return Ok(());
    }
    if rule.is_form_checked && !origin::is_ours(&request.headers, &request.origins()) {
        return Err(PageError::ForeignForm);
    }
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

fn admit_client(request: &WebRequest, access: RouteAccess) -> Result<(), PageError> {
    match access {
        RouteAccess::Anybody => Ok(()),
        RouteAccess::CatalogReaders => request.reader(),
        // A reader of feeds cannot do anything with the page of the sign-in.
        RouteAccess::FeedReaders if feed_token::is_refused(request) => Err(PageError::NotFound),
        RouteAccess::FeedReaders if feed_token::owner(request).is_some() => Ok(()),
        RouteAccess::FeedReaders => request.reader(),
        RouteAccess::SignedIn => request.viewer().map(|_| ()),
        RouteAccess::Administrators => request.admin().map(|_| ()),
        // Pages take no API keys.
        RouteAccess::ApiKey(_) | RouteAccess::Address => Err(PageError::NotFound),
    }
}

/// Takes the request from the windows of its client.
fn take(request: &WebRequest, rule: &RouteRule) -> Result<(), PageError> {
    // A page for anybody shows nothing of the catalog to viewers who may not read it.
    let is_counted = rule.access != RouteAccess::Anybody || request.reader().is_ok();
    if rule.throttle == RouteThrottle::Catalog && is_counted {
        let token_owner = match rule.access {
            RouteAccess::FeedReaders => feed_token::owner(request),
            _ => None,
        };
        let account = token_owner.or(request.viewer.as_ref().map(|viewer| viewer.account.id));
        let subjects = [match account {
            Some(account) => AttemptSubject::Catalog(account.0),
            None => AttemptSubject::CatalogAddress(request.peer),
        }];
        let throttle = &request.site.catalog_throttle;
        let taken = throttle.take(&subjects, request.elapsed());
        taken.map_err(PageError::TooManyPages)?;
    }
    if let (&Method::POST, Some(viewer)) = (&request.method, &request.viewer) {
        // Each is a durable transaction at least.
        let subjects = [AttemptSubject::Form(viewer.account.id.0)];
        request.site.throttle.take(&subjects, request.elapsed())?;
    }
    Ok(())
}

/// Sets the caching of a successful answer, and of a 304.
fn cached(mut response: Response<PageBody>, rule: &RouteRule) -> Response<PageBody> {
    let status = response.status();
    let is_answer = status.is_success() || status == http::StatusCode::NOT_MODIFIED;
    if let (true, Some(header)) = (is_answer, rule.caching.header()) {
        let header = HeaderValue::from_static(header);
        response.headers_mut().insert(CACHE_CONTROL, header);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Caching, Cost};

    fn check(path: &str, expected: Option<(&str, &str)>) {
        let segments: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let found = find(&segments).map(|(route, variable)| (route.rule.path, variable));
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn fixed_segments_win_over_variable_ones() {
        check("/", Some(("/", "")));
        check("/keys/new", Some(("/keys/new", "")));
        check("/keys/7", Some(("/keys/{number}", "7")));
        check("/keys/7/revoke/", Some(("/keys/{number}/revoke", "7")));
        check("/keys/7/other", None);
        check("/nothing", None);
    }

    #[test]
    fn a_posted_form_leads_back_to_its_page() {
        assert_eq!(form_page("/keys"), "/keys/new");
        assert_eq!(form_page("/keys/7/revoke"), "/keys/7/revoke");
        assert_eq!(form_page("/profile"), "/profile");
        assert_eq!(form_page("/signout"), "");
        assert_eq!(form_page("/nothing"), "");
    }

    #[test]
    fn every_path_is_reachable_by_the_methods_that_it_tells() {
        for route in all() {
            let segments: Vec<_> = route
                .rule
                .path
                .split('/')
                .filter(|it| !it.is_empty())
                .collect();
            let found = find(&segments).map(|(found, _)| found.rule.path);
            assert_eq!(found, Some(route.rule.path));
            for method in [Method::GET, Method::HEAD, Method::POST, Method::PUT] {
                let is_served = route.rule.is_served(&method);
                assert_eq!(route.handler(&method).is_some(), is_served, "{method}");
            }
        }
    }

    /// Costly pages have a limit, pages that depend on a session are never cached, and no form is
    /// taken from another site.
    #[test]
    fn costs_are_limited_and_sessions_are_private() {
        for rule in page_rules() {
            let expected = match rule.cost {
                Cost::Cheap => rule.throttle,
                Cost::ReadsCatalog | Cost::Searches => RouteThrottle::Catalog,
                Cost::Hashes => RouteThrottle::Attempts,
            };
            assert_eq!(rule.throttle, expected, "{}", rule.path);
            assert!(rule.is_form_checked, "{}", rule.path);
            let is_shared = !matches!(
                rule.caching,
                Caching::Never | Caching::Minutes | Caching::ComparedPrivately
            );
            assert!(
                !is_shared || rule.access == RouteAccess::Anybody,
                "{}",
                rule.path
            );
        }
    }
}
