//! Files at fixed addresses, for browsers and search engines.

use http::header::{CONTENT_ENCODING, VARY};
use http::{HeaderValue, Response, StatusCode};

use super::answer::{self, PageBody, PageResult};
use super::assets::{self, Asset};
use super::error::PageError;
use super::page_route::PageHandler::Inline;
use super::page_route::{PageRoute, at};
use super::web_request::WebRequest;
use crate::request::Caching;
use crate::request::RouteAccess::Anybody;

/// Rows of the table of routes.
pub(crate) const ROUTES: &[PageRoute] = &[
    at("/assets/{name}", Anybody)
        .get(Inline(asset))
        .cached(Caching::Forever),
    at("/favicon.ico", Anybody)
        .get(Inline(favicon))
        .cached(Caching::Day),
    at("/robots.txt", Anybody)
        .get(Inline(robots))
        .cached(Caching::Day),
    at("/.well-known/change-password", Anybody).get(Inline(change_password)),
];

fn asset(request: &WebRequest) -> PageResult {
    let asset = assets::find(&request.path).ok_or(PageError::NotFound)?;
    Ok(asset_response(request, asset))
}

/// The icon at the address that browsers try by themselves. Its content may change.
fn favicon(request: &WebRequest) -> PageResult {
    Ok(asset_response(request, &assets::ICON))
}

fn asset_response(request: &WebRequest, asset: &Asset) -> Response<PageBody> {
    let (content, coding) = asset.content.accepted(&request.headers);
    let mut response = answer::bytes(StatusCode::OK, asset.content_type, content);
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// `GET /robots.txt`: nothing for search engines behind a sign-in; records and titles of a public
/// catalog, without their files.
fn robots(request: &WebRequest) -> PageResult {
    let config = request.site.service.config();
    let base = config.base_path();
    let mut text = "User-agent: *\n".to_owned();
    let mut rule = |kind: &str, path: &str| text.push_str(&format!("{kind}: {base}{path}\n"));
    for path in ["/$", "/docs", "/assets/"] {
        rule("Allow", path);
    }
    if config.is_catalog_public {
        for path in ["/catalog/*/look", "/catalog/*/download"] {
            rule("Disallow", path);
        }
        for path in ["/catalog$", "/catalog/", "/title/"] {
            rule("Allow", path);
        }
    }
    rule("Disallow", "/");
    Ok(answer::bytes(
        StatusCode::OK,
        "text/plain; charset=utf-8",
        text,
    ))
}

/// `GET /.well-known/change-password`: where password managers look.
fn change_password(_: &WebRequest) -> PageResult {
    Ok(answer::see_other("/profile#password-change"))
}
