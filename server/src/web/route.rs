//! The table of pages: paths and methods to handlers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Method, Response, StatusCode};

use super::account::link;
use super::account::profile;
use super::account::second_step;
use super::account::sign_in;
use super::catalog::download;
use super::catalog::feed;
use super::catalog::front;
use super::catalog::look;
use super::catalog::results;
use super::catalog::title;
use super::catalog::uploader;
use super::console::accounts;
use super::console::admin;
use super::console::audit;
use super::console::files;
use super::console::settings;
use super::console::status;
use super::docs::changes;
use super::docs::openapi;
use super::docs::reference;
use super::frame::answer::{self, PageResult};
use super::frame::assets::{self, Asset};
use super::frame::error::PageError;
use super::frame::throttle::AttemptSubject;
use super::frame::web_request::WebRequest;
use super::keys::key;
use super::keys::key_list;
use super::keys::key_new;
use super::keys::key_roll;
use crate::web::PageBody;

/// Caching of an asset: its address contains a checksum, so its content never changes.
const CACHE_FOREVER: &str = "public, max-age=31536000, immutable";

/// Handler of one method of a path.
#[derive(Clone, Copy)]
enum PageHandler {
    /// Answers on a control thread: must not block.
    Inline(fn(&WebRequest) -> PageResult),
    /// Answers on a blocking thread, because it reads tables or writes durably.
    Blocking(fn(&WebRequest) -> PageResult),
    /// The same, with the variable segment of the path.
    BlockingWith(fn(&WebRequest, &str) -> PageResult),
    /// Waits for other threads: password hashing, upstream.
    Waiting(fn(Arc<WebRequest>, String) -> PageResultFuture),
}
use PageHandler::{Blocking, BlockingWith, Inline, Waiting};

type PageResultFuture = Pin<Box<dyn Future<Output = PageResult> + Send>>;

/// A path and its handlers.
struct PageRoute {
    /// Segments; one in braces matches any text.
    path: &'static str,
    get: Option<PageHandler>,
    post: Option<PageHandler>,
}

const fn at(path: &'static str) -> PageRoute {
    PageRoute {
        path,
        get: None,
        post: None,
    }
}

/// All pages. The first matching path counts, so a fixed segment stands before a variable one.
const ROUTES: &[PageRoute] = &[
    at("/").get(Blocking(front::show)),
    at("/assets/{name}").get(Inline(asset)),
    at("/favicon.ico").get(Inline(favicon)),
    at("/robots.txt").get(Inline(robots)),
    at("/.well-known/change-password").get(Inline(change_password)),
    at("/openapi.json").get(Inline(openapi_document)),
    at("/openapi-address.json").get(Inline(address_document)),
    at("/docs").get(Blocking(reference::show)),
    at("/docs/changes").get(Inline(changes::show)),
    at("/setup")
        .get(Blocking(sign_in::show_set_up))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::set_up(&request).await })
        })),
    at("/signup")
        .get(Blocking(sign_in::show_sign_up))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::sign_up(&request).await })
        })),
    at("/signin")
        .get(Blocking(sign_in::show_sign_in))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::sign_in(&request).await })
        })),
    at("/signin/code")
        .get(Blocking(second_step::show_code))
        .post(Waiting(|request, _| {
            Box::pin(async move { second_step::enter_code(&request).await })
        })),
    at("/signout").post(Blocking(sign_in::sign_out)),
    at("/profile")
        .get(Blocking(profile::show))
        .post(Waiting(|request, _| {
            Box::pin(async move { profile::change(&request).await })
        })),
    at("/profile/second-step")
        .get(Blocking(second_step::show))
        .post(Waiting(|request, _| {
            Box::pin(async move { second_step::change(&request).await })
        })),
    at("/profile/delete")
        .get(Blocking(profile::show_delete))
        .post(Waiting(|request, _| {
            Box::pin(async move { profile::delete(&request).await })
        })),
    at("/profile/feed").post(Blocking(feed::renew)),
    at("/feed.atom").get(Blocking(feed::show)),
    at("/keys")
        .get(Blocking(key_list::show))
        .post(Blocking(key_new::create)),
    at("/keys/new").get(Blocking(key_new::show)),
    at("/keys/{number}")
        .get(BlockingWith(key::show))
        .post(BlockingWith(key::change)),
    at("/keys/{number}/roll")
        .get(BlockingWith(key_roll::show))
        .post(BlockingWith(key_roll::roll)),
    at("/keys/{number}/usage.csv").get(BlockingWith(key::usage_csv)),
    at("/keys/{number}/revoke")
        .get(BlockingWith(key::show_revoke))
        .post(BlockingWith(key::revoke)),
    at("/catalog").get(Blocking(results::show)),
    at("/catalog/{id}").get(BlockingWith(results::show_record)),
    at("/catalog/{id}/look").get(Waiting(|request, id| {
        Box::pin(async move { look::show(&request, &id).await })
    })),
    at("/catalog/{id}/download").get(Waiting(|request, id| {
        Box::pin(async move { download::download(&request, &id).await })
    })),
    at("/title/{id}").get(BlockingWith(title::show)),
    at("/uploader").get(Blocking(uploader::show)),
    at("/status").get(Inline(status::show)),
    at("/admin").get(Blocking(admin::show)),
    at("/admin/usage.csv").get(Blocking(admin::usage_csv)),
    at("/admin/audit").get(Blocking(audit::show)),
    at("/admin/audit.csv").get(Blocking(audit::export)),
    at("/admin/settings").get(Blocking(settings::show)),
    at("/admin/files")
        .get(Blocking(files::show))
        .post(Blocking(files::forget)),
    at("/admin/accounts")
        .get(Blocking(accounts::show_all))
        .post(Blocking(link::invite)),
    at("/admin/registration").post(Blocking(accounts::set_registration)),
    at("/admin/keys").get(Blocking(key_list::show_all)),
    at("/admin/accounts/{number}/password-link").post(BlockingWith(link::password_link)),
    at("/link/{token}")
        .get(BlockingWith(link::show))
        .post(Waiting(|request, token| {
            Box::pin(async move { link::follow(&request, &token).await })
        })),
    at("/admin/accounts/{number}/change").get(BlockingWith(accounts::show_change)),
    at("/admin/accounts/{number}")
        .get(BlockingWith(accounts::show))
        .post(BlockingWith(accounts::change)),
];

impl PageRoute {
    const fn get(self, handler: PageHandler) -> Self {
        Self {
            get: Some(handler),
            ..self
        }
    }

    const fn post(self, handler: PageHandler) -> Self {
        Self {
            post: Some(handler),
            ..self
        }
    }

    /// The text of the variable segment (empty if the path has none) if these segments match.
    fn matched<'a>(&self, segments: &[&'a str]) -> Option<&'a str> {
        let pattern = self.path.split('/').filter(|part| !part.is_empty());
        if pattern.clone().count() != segments.len() {
            return None;
        }
        let mut variable = "";
        for (expected, segment) in pattern.zip(segments) {
            if expected.starts_with('{') {
                variable = segment;
            } else if expected != *segment {
                return None;
            }
        }
        Some(variable)
    }

    /// The handler of a method that `handle` admits; other methods are rejected there.
    fn handler(&self, method: &Method) -> Result<PageHandler, PageError> {
        let handler = if *method == Method::POST {
            self.post
        } else {
            self.get
        };
        handler.ok_or(PageError::MethodNotAllowed(match self.get {
            Some(_) => "GET, HEAD",
            None => "POST",
        }))
    }
}

/// Answers a request with the page of its path.
pub(crate) async fn route(request: &Arc<WebRequest>) -> PageResult {
    let segments = request.segments();
    if let Some(&("catalog" | "title" | "uploader")) = segments.first() {
        let subjects = [match &request.viewer {
            Some(viewer) => AttemptSubject::Catalog(viewer.account.id.0),
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
    let (route, variable) = find(&segments).ok_or(PageError::NotFound)?;
    match route.handler(&request.method)? {
        Inline(page) => page(request),
        Blocking(page) => request.blocking(page).await,
        BlockingWith(page) => {
            let variable = variable.to_owned();
            request
                .blocking(move |request| page(request, &variable))
                .await
        }
        Waiting(page) => page(Arc::clone(request), variable.to_owned()).await,
    }
}

/// Path of the page with the form that is posted to `path`; empty if there is none.
pub(crate) fn form_page(path: &str) -> String {
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    match find(&segments) {
        Some((route, _)) if route.path == "/keys" => "/keys/new".to_owned(),
        Some((route, _)) if route.get.is_some() => path.to_owned(),
        _ => String::new(),
    }
}

/// The route of a path, and the text of its variable segment.
fn find<'a>(segments: &[&'a str]) -> Option<(&'static PageRoute, &'a str)> {
    ROUTES
        .iter()
        .find_map(|route| Some((route, route.matched(segments)?)))
}

fn asset(request: &WebRequest) -> PageResult {
    let asset = assets::find(&request.path).ok_or(PageError::NotFound)?;
    Ok(asset_response(request, asset, CACHE_FOREVER))
}

/// The icon at the address where browsers look without being told. Its content may change.
fn favicon(request: &WebRequest) -> PageResult {
    Ok(asset_response(
        request,
        &assets::ICON,
        "public, max-age=86400",
    ))
}

fn asset_response(
    request: &WebRequest,
    asset: &Asset,
    caching: &'static str,
) -> Response<PageBody> {
    let (content, coding) = asset.content(&request.headers);
    let mut response = answer::bytes(StatusCode::OK, asset.content_type, content);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// `GET /robots.txt`: nothing for search engines behind a sign-in.
fn robots(_: &WebRequest) -> PageResult {
    let text = "User-agent: *\nAllow: /$\nAllow: /docs\nAllow: /assets/\nDisallow: /\n";
    let mut response = answer::bytes(StatusCode::OK, "text/plain; charset=utf-8", text);
    let caching = HeaderValue::from_static("public, max-age=86400");
    response.headers_mut().insert(CACHE_CONTROL, caching);
    Ok(response)
}

/// `GET /.well-known/change-password`: where password managers look.
fn change_password(_: &WebRequest) -> PageResult {
    Ok(answer::see_other("/profile#password-change"))
}

fn address_document(_: &WebRequest) -> PageResult {
    let text = Bytes::from_static(openapi::address_text().as_bytes());
    Ok(answer::bytes(StatusCode::OK, "application/json", text))
}

fn openapi_document(request: &WebRequest) -> PageResult {
    let document = openapi::document();
    let known = request.headers.get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|etag| etag.as_bytes() == document.etag.as_bytes());
    let mut response = if is_known {
        let mut response = Response::new(PageBody::Bytes(Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        let text = Bytes::from_static(document.text.as_bytes());
        let plain = answer::bytes(StatusCode::OK, "application/json", text);
        answer::compressed(plain, &request.headers)
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    headers.insert(ETAG, HeaderValue::try_from(document.etag.as_str())?);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Option<(&str, &str)>) {
        let segments: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
        let found = find(&segments).map(|(route, variable)| (route.path, variable));
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
    fn every_path_is_reachable() {
        for route in ROUTES {
            let segments: Vec<_> = route.path.split('/').filter(|it| !it.is_empty()).collect();
            let found = find(&segments).map(|(found, _)| found.path);
            assert_eq!(found, Some(route.path));
        }
    }

    #[test]
    fn other_methods_are_told_the_allowed_ones() {
        let allowed = |path: &str, method| {
            let segments: Vec<_> = path.split('/').filter(|it| !it.is_empty()).collect();
            match find(&segments).unwrap().0.handler(&method) {
                Err(PageError::MethodNotAllowed(allowed)) => allowed,
                _ => "",
            }
        };
        assert_eq!(allowed("/signout", Method::GET), "POST");
        assert_eq!(allowed("/docs", Method::POST), "GET, HEAD");
        assert_eq!(allowed("/keys", Method::POST), "");
        assert_eq!(allowed("/keys", Method::HEAD), "");
    }
}
