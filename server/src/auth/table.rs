//! The table of all keys by digest.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use subcat_engine::{ApiKey, ApiKeyId, ApiKeyState, Timestamp};

use super::key_text::{api_key_digest, is_api_key_text};
use crate::limiter::Window;

type KeysByDigest = HashMap<[u8; 32], Arc<KnownKey>, foldhash::fast::RandomState>;

/// Every key by its digest, swapped as a whole when one changes.
///
/// A connection that remembers a key and the [`KeyTable::generation`] that it was found in need not
/// look it up again while the generation stays the same.
pub struct KeyTable {
    table: ArcSwap<KeysByDigest>,
    generation: AtomicU64,
}

/// A key in the table.
pub struct KnownKey {
    /// The key as stored.
    pub api_key: ApiKey,
    /// Its rate limit window, which outlives the replacement of the table.
    pub window: Arc<Window>,
}

impl KeyTable {
    /// A table of these keys. The caller leaves out keys of disabled accounts.
    pub fn new(api_keys: Vec<ApiKey>) -> Self {
        let table = build(api_keys, &KeysByDigest::default());
        Self {
            table: ArcSwap::from_pointee(table),
            generation: AtomicU64::new(1),
        }
    }

    /// Replaces the table. When it returns, no request that starts is checked against the old one.
    /// Callers must take turns, so that the last one to call has the newest list.
    pub fn replace(&self, api_keys: Vec<ApiKey>) {
        let table = build(api_keys, &self.table.load());
        self.table.store(Arc::new(table));
        // After the swap: a key that is remembered under the new number came from the new table.
        self.generation.fetch_add(1, Ordering::SeqCst);
    }

    /// Number of the table. Read it before [`KeyTable::lookup`] to remember a key with it: in the
    /// other order a key of the old table could be remembered under the new number.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The key with this text, even if it has expired. Revoked keys are not in the table. Cost: a
    /// CRC; if that matches, a SHA-256 and one look-up.
    pub fn lookup(&self, text: &str) -> Option<Arc<KnownKey>> {
        if !is_api_key_text(text.as_bytes()) {
            return None;
        }
        let table = self.table.load();
        table.get(&api_key_digest(text)).map(Arc::clone)
    }

    /// The key with this text, if it is active at `now`.
    pub fn find(&self, text: &str, now: Timestamp) -> Option<Arc<KnownKey>> {
        let is_active = |known: &Arc<KnownKey>| known.api_key.state(now) == ApiKeyState::Active;
        self.lookup(text).filter(is_active)
    }
}

fn build(api_keys: Vec<ApiKey>, old: &KeysByDigest) -> KeysByDigest {
    let by_id = |known: &Arc<KnownKey>| (known.api_key.id, Arc::clone(&known.window));
    let windows: HashMap<ApiKeyId, Arc<Window>> = old.values().map(by_id).collect();
    let mut table = KeysByDigest::default();
    for api_key in api_keys {
        if api_key.revoked_at.is_some() {
            continue;
        }
        let window = windows.get(&api_key.id).map(Arc::clone);
        let known = KnownKey {
            window: window.unwrap_or_default(),
            api_key,
        };
        table.insert(known.api_key.digest, Arc::new(known));
    }
    table
}

#[cfg(test)]
mod tests {
    use subcat_engine::{RateLimit, Scopes};

    use super::*;
    use crate::auth::{api_key_partial, api_key_text};
    use crate::runtime::Moment;

    fn time(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn api_key(id: u64, text: &str) -> ApiKey {
        ApiKey {
            id: ApiKeyId(id),
            account: None,
            name: "test".to_owned(),
            digest: api_key_digest(text),
            partial: api_key_partial(text),
            scopes: Scopes::ALL,
            limit: None,
            created_at: time("2026-01-01"),
            expires_at: None,
            revoked_at: None,
        }
    }

    #[test]
    fn finds_active_keys_only() {
        let text = api_key_text(b"00000000000000000000000000000001");
        let mut key = api_key(1, &text);
        let now = time("2026-06-01T00:00:00Z");
        let table = KeyTable::new(vec![key.clone()]);
        assert_eq!(table.find(&text, now).unwrap().api_key.id, ApiKeyId(1));
        assert!(table.find("sct_", now).is_none());
        let unknown = api_key_text(b"00000000000000000000000000000002");
        assert!(table.find(&unknown, now).is_none());

        key.expires_at = Some(time("2026-05-31T23:59:59Z"));
        table.replace(vec![key.clone()]);
        assert!(table.find(&text, now).is_none());
        assert!(table.lookup(&text).is_some());

        key.revoked_at = Some(now);
        table.replace(vec![key]);
        assert!(table.lookup(&text).is_none());
    }

    #[test]
    fn a_replaced_table_has_a_new_number_and_keeps_windows() {
        let text = api_key_text(b"00000000000000000000000000000001");
        let limit = RateLimit::parse("1/60").unwrap();
        let now = Moment {
            monotonic_us: 0,
            unix_ms: 0,
        };
        let table = KeyTable::new(vec![api_key(1, &text)]);
        let generation = table.generation();
        let known = table.lookup(&text).unwrap();
        assert_eq!(known.window.take(limit, now).remaining, 0);
        table.replace(vec![api_key(1, &text)]);
        assert_ne!(table.generation(), generation);
        let known = table.lookup(&text).unwrap();
        assert_eq!(known.window.peek(limit, now).remaining, 0);
    }
}
