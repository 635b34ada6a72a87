//! API keys: making them, and telling whose request it is.

use std::sync::Arc;

use subcat_engine::model::{ApiKey, Timestamp};

/// The text of a new API key from 32 random base62 digits: `sct_`, the digits, and six digits of
/// the CRC-32 of what precedes (API.md, keys).
pub fn api_key_text(_random: &[u8; 32]) -> String {
    todo!()
}

/// SHA-256 of a key's text.
pub fn api_key_digest(_text: &str) -> [u8; 32] {
    todo!()
}

/// How lists show a key: `sct_AbCd…wXyZ`.
pub fn api_key_partial(_text: &str) -> String {
    todo!()
}

/// Every key by its digest, swapped as a whole when one changes.
pub struct KeyTable {}

/// What the table knows of a key.
pub struct KnownKey {
    /// The key as stored.
    pub api_key: ApiKey,
}

impl KeyTable {
    /// A table of these keys. Keys of disabled accounts are left out by the caller.
    pub fn new(_api_keys: Vec<ApiKey>) -> Self {
        todo!()
    }

    /// Replaces the table. When it returns, no request that starts is judged by the old one.
    pub fn replace(&self, _api_keys: Vec<ApiKey>) {
        todo!()
    }

    /// The valid key whose text this is.
    pub fn find(&self, _text: &str, _now: Timestamp) -> Option<Arc<KnownKey>> {
        todo!()
    }
}
