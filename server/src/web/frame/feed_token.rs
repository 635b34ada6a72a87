//! Tokens of feeds: API keys without any scope, which open the feeds of their owner and nothing
//! else (API.md, 12.14). A reader of feeds cannot sign in; its address holds one.

use subcat_engine::{AccountId, ApiKey, Scopes};

use super::web_request::WebRequest;

/// True for the key of a feed, which lists of keys leave out.
pub(crate) fn is_feed_key(key: &ApiKey) -> bool {
    key.scopes == Scopes::NONE
}

/// True if the address has a token that opens nothing.
pub(crate) fn is_refused(request: &WebRequest) -> bool {
    request.query.has("token") && owner(request).is_none()
}

/// The account with the feeds that the token in the address opens; `None` without a valid one.
pub(crate) fn owner(request: &WebRequest) -> Option<AccountId> {
    let token = request.query.get("token");
    let credentials = request.site.service.credentials();
    let known = credentials.key_table().find(token, request.effective_now)?;
    if is_feed_key(&known.api_key) {
        known.api_key.account
    } else {
        None
    }
}
