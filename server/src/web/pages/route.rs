//! Paths and methods to pages.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Method, Response, StatusCode};

use super::{
    accounts, admin, audit, catalog, docs, download, front, key, key_list, key_new, profile,
    sign_in,
};
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::throttle::Subject;
use crate::web::web_request::WebRequest;
use crate::web::{PageBody, assets, openapi};

const READ_ONLY: &str = "GET, HEAD";
const POST_ONLY: &str = "POST";
/// An address that names its content never changes it.
const KEEP_FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// What a request is answered with.
pub(crate) async fn route(request: &Arc<WebRequest>) -> PageResult {
    let is_post = request.method == Method::POST;
    if let (["catalog", ..], Some(viewer)) = (request.segments().as_slice(), &request.viewer) {
        let subjects = [Subject::Catalog(viewer.account.id.0)];
        request
            .site
            .catalog_throttle
            .take(&subjects, request.elapsed())?;
    }
    match (request.segments().as_slice(), is_post) {
        (["assets", _], false) => asset(request),
        (["openapi.json"], false) => Ok(openapi_document(request)),
        (["signin"], true) => sign_in::sign_in(request).await,
        (["signup"], true) => sign_in::sign_up(request).await,
        (["setup"], true) => sign_in::set_up(request).await,
        (["profile"], true) => profile::change(request).await,
        (["catalog", id, "download"], false) => download::download(request, id).await,
        _ => request.blocking(route_blocking).await,
    }
}

/// Pages that read tables or write durably, off the control threads.
fn route_blocking(request: &WebRequest) -> PageResult {
    let is_post = request.method == Method::POST;
    match (request.segments().as_slice(), is_post) {
        ([], false) => front::show(request),
        (["setup"], false) => sign_in::show_set_up(request),
        (["signin"], false) => sign_in::show_sign_in(request),
        (["signup"], false) => sign_in::show_sign_up(request),
        (["signout"], true) => sign_in::sign_out(request),
        (["profile"], false) => profile::show(request),
        (["keys"], false) => key_list::show(request),
        (["keys"], true) => key_new::create(request),
        (["keys", "new"], false) => key_new::show(request),
        (["keys", number], false) => key::show(request, number),
        (["keys", number, "revoke"], false) => key::show_revoke(request, number),
        (["keys", number, "revoke"], true) => key::revoke(request, number),
        (["catalog"], false) => catalog::show(request),
        (["catalog", id], false) => catalog::show_record(request, id),
        (["admin"], false) => admin::show(request),
        (["admin", "audit"], false) => audit::show(request),
        (["admin", "accounts"], false) => accounts::show_all(request),
        (["admin", "accounts", number], false) => accounts::show(request, number),
        (["admin", "accounts", number], true) => accounts::change(request, number),
        (["docs"], false) => docs::show(request),
        (path, _) => Err(other_method(path)),
    }
}

/// 405 for a known path, 404 for any other.
fn other_method(path: &[&str]) -> PageError {
    match path {
        ["signout"] => PageError::MethodNotAllowed(POST_ONLY),
        []
        | ["docs" | "openapi.json" | "catalog" | "admin"]
        | ["assets" | "catalog", _]
        | ["keys", "new"]
        | ["catalog", _, "download"]
        | ["admin", "audit" | "accounts"] => PageError::MethodNotAllowed(READ_ONLY),
        _ => PageError::NotFound,
    }
}

fn asset(request: &WebRequest) -> PageResult {
    let asset = assets::find(&request.path).ok_or(PageError::NotFound)?;
    let mut response = answer::bytes(StatusCode::OK, asset.content_type, asset.bytes);
    let keep = HeaderValue::from_static(KEEP_FOR_GOOD);
    response.headers_mut().insert(CACHE_CONTROL, keep);
    Ok(response)
}

fn openapi_document(request: &WebRequest) -> Response<PageBody> {
    let document = openapi::document();
    let known = request.headers.get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|etag| etag.as_bytes() == document.etag.as_bytes());
    let mut response = if is_known {
        let mut response = Response::new(PageBody::Bytes(bytes::Bytes::new()));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        answer::bytes(StatusCode::OK, "application/json", document.text.as_str())
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    let etag = HeaderValue::try_from(document.etag.as_str());
    headers.insert(ETAG, etag.expect("an entity tag is a quoted number"));
    response
}
