//! Links from lists to their feeds.

use crate::web::frame::web_request::WebRequest;

/// Address of the feed of a list, given by its query string, if the catalog is public. Else it is
/// empty: each reader has a token of their own.
pub(crate) fn public_feed(request: &WebRequest, query: &str) -> String {
    if !request.site.service.config().is_catalog_public {
        return String::new();
    }
    match query {
        "" => "/feed.atom".to_owned(),
        query => format!("/feed.atom?{query}"),
    }
}

/// Query string that a reader adds to the address of their own feeds for a list. Empty if anybody
/// may read the feed of the list, or there is no session.
pub(crate) fn own_feed(request: &WebRequest, query: &str) -> String {
    let is_public = request.site.service.config().is_catalog_public;
    if is_public || request.viewer().is_err() {
        return String::new();
    }
    query.to_owned()
}
