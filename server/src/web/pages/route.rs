//! Paths and methods to pages.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Method, Response, StatusCode};

use super::{
    accounts, admin, audit, catalog, docs, download, front, key, key_list, key_new, profile,
    sign_in,
};
use crate::web::answer::{self, PageResult, Refusal};
use crate::web::throttle::Subject;
use crate::web::visit::Visit;
use crate::web::{PageBody, assets, openapi};

const READ_ONLY: &str = "GET, HEAD";
const POST_ONLY: &str = "POST";
/// An address that names its content never changes it.
const KEEP_FOR_GOOD: &str = "public, max-age=31536000, immutable";

/// What a request is answered with.
pub(crate) async fn route(visit: &Arc<Visit>) -> PageResult {
    let is_post = visit.method == Method::POST;
    if let (["catalog", ..], Some(viewer)) = (visit.segments().as_slice(), &visit.viewer) {
        let subjects = [Subject::Catalog(viewer.account.id.0)];
        visit
            .site
            .catalog_throttle
            .take(&subjects, visit.elapsed())?;
    }
    match (visit.segments().as_slice(), is_post) {
        (["assets", _], false) => asset(visit),
        (["openapi.json"], false) => Ok(openapi_document(visit)),
        (["signin"], true) => sign_in::sign_in(visit).await,
        (["signup"], true) => sign_in::sign_up(visit).await,
        (["setup"], true) => sign_in::set_up(visit).await,
        (["profile"], true) => profile::change(visit).await,
        (["catalog", id, "download"], false) => download::download(visit, id).await,
        _ => visit.blocking(route_blocking).await,
    }
}

/// Pages that read tables or write durably, off the control threads.
fn route_blocking(visit: &Visit) -> PageResult {
    let is_post = visit.method == Method::POST;
    match (visit.segments().as_slice(), is_post) {
        ([], false) => front::show(visit),
        (["setup"], false) => sign_in::show_set_up(visit),
        (["signin"], false) => sign_in::show_sign_in(visit),
        (["signup"], false) => sign_in::show_sign_up(visit),
        (["signout"], true) => sign_in::sign_out(visit),
        (["profile"], false) => profile::show(visit),
        (["keys"], false) => key_list::show(visit),
        (["keys"], true) => key_new::create(visit),
        (["keys", "new"], false) => key_new::show(visit),
        (["keys", number], false) => key::show(visit, number),
        (["keys", number, "revoke"], false) => key::show_revoke(visit, number),
        (["keys", number, "revoke"], true) => key::revoke(visit, number),
        (["catalog"], false) => catalog::show(visit),
        (["catalog", id], false) => catalog::show_record(visit, id),
        (["admin"], false) => admin::show(visit),
        (["admin", "audit"], false) => audit::show(visit),
        (["admin", "accounts"], false) => accounts::show_all(visit),
        (["admin", "accounts", number], false) => accounts::show(visit, number),
        (["admin", "accounts", number], true) => accounts::change(visit, number),
        (["docs"], false) => docs::show(visit),
        (path, _) => Err(other_method(path)),
    }
}

/// 405 for a known path, 404 for any other.
fn other_method(path: &[&str]) -> Refusal {
    match path {
        ["signout"] => Refusal::Method(POST_ONLY),
        []
        | ["docs" | "openapi.json" | "catalog" | "admin"]
        | ["assets" | "catalog", _]
        | ["keys", "new"]
        | ["catalog", _, "download"]
        | ["admin", "audit" | "accounts"] => Refusal::Method(READ_ONLY),
        _ => Refusal::NotFound,
    }
}

fn asset(visit: &Visit) -> PageResult {
    let asset = assets::find(&visit.path).ok_or(Refusal::NotFound)?;
    let mut response = answer::bytes(StatusCode::OK, asset.content_type, asset.bytes);
    let keep = HeaderValue::from_static(KEEP_FOR_GOOD);
    response.headers_mut().insert(CACHE_CONTROL, keep);
    Ok(response)
}

fn openapi_document(visit: &Visit) -> Response<PageBody> {
    let document = openapi::document();
    let known = visit.headers.get(IF_NONE_MATCH);
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
