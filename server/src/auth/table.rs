//! The table of all keys by digest.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use subcat_engine::{AccountId, ApiKey, ApiKeyId, ApiKeyState, RateLimit, Scopes, Timestamp};

use super::key_text::{api_key_digest, is_api_key_text};
use crate::limiter::Window;

type KeysByDigest = HashMap<[u8; 32], Arc<KnownKey>, foldhash::fast::RandomState>;

/// Windows of accounts, one for each length that their keys' windows have, and others for their
/// keys of addresses. They stay until the process ends: an account that revokes its keys and makes
/// new ones keeps what it has used.
type AccountWindows = HashMap<WindowOwner, Arc<Window>>;

/// Parts of the table, each replaced by itself.
const SHARDS: usize = 256;

/// Every key by its digest. A change of one key copies one shard of 256.
///
/// A connection that remembers a key and the [`KeyTable::generation`] that it was found in need not
/// look it up again while the generation stays the same.
pub struct KeyTable {
    /// By the first byte of the digest.
    shards: Box<[ArcSwap<KeysByDigest>]>,
    account_windows: Mutex<AccountWindows>,
    generation: AtomicU64,
}

/// A key in the table.
pub struct KnownKey {
    /// The key as stored.
    pub api_key: ApiKey,
    /// Rate limit window of the key. It outlives the replacement of the entry.
    pub window: Arc<Window>,
    /// The window that it shares with the other keys of its account, if it has one.
    pub account_window: Option<Arc<Window>>,
}

/// The key or the account that a window belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowOwner {
    /// A key.
    ApiKey(ApiKeyId),
    /// An account, and the length of the window in seconds; `None` is the server's length.
    Account(AccountId, Option<NonZeroU32>),
    /// The same, for its keys of addresses (API.md 20.2).
    AccountAddresses(AccountId, Option<NonZeroU32>),
}

/// Limits of keys without a limit of their own.
#[derive(Debug, Clone, Copy)]
pub struct DefaultLimits {
    /// Limit of a key of the API.
    pub api_key: RateLimit,
    /// Limit of a key of an address; its window has the same length.
    pub address_key: RateLimit,
}

impl DefaultLimits {
    /// The default limit of a key with these scopes.
    pub const fn of_scopes(&self, scopes: Scopes) -> RateLimit {
        if scopes.is_address() {
            self.address_key
        } else {
            self.api_key
        }
    }
}

impl WindowOwner {
    /// Length of an account's window in seconds, unless it is the server's.
    const fn own_seconds(self) -> Option<NonZeroU32> {
        match self {
            Self::ApiKey(_) => None,
            Self::Account(_, seconds) | Self::AccountAddresses(_, seconds) => seconds,
        }
    }
}

impl KeyTable {
    /// A table of these keys. The caller leaves out revoked keys and keys of disabled accounts.
    pub fn new(api_keys: Vec<ApiKey>) -> Self {
        let table = Self {
            shards: (0..SHARDS).map(|_| ArcSwap::default()).collect(),
            account_windows: Mutex::default(),
            generation: AtomicU64::new(1),
        };
        table.replace(api_keys);
        table
    }

    /// Replaces all keys. When it returns, no request that starts is checked against the old ones.
    /// Callers of this and of [`KeyTable::put`], [`KeyTable::remove`] and [`KeyTable::retain`] must
    /// take turns, so that the last one to call has the newest state.
    pub fn replace(&self, api_keys: Vec<ApiKey>) {
        let mut shards: Vec<KeysByDigest> = Vec::new();
        shards.resize_with(SHARDS, KeysByDigest::default);
        for api_key in api_keys {
            let known = self.known(api_key);
            let shard_idx = shard_idx(&known.api_key.digest);
            shards[shard_idx].insert(known.api_key.digest, Arc::new(known));
        }
        for (place, shard) in self.shards.iter().zip(shards) {
            place.store(Arc::new(shard));
        }
        self.advance();
    }

    /// Inserts or replaces a key. When it returns, no request that starts is checked against the
    /// old one. Cost: a copy of one shard.
    pub fn put(&self, api_key: ApiKey) {
        let known = self.known(api_key);
        let place = &self.shards[shard_idx(&known.api_key.digest)];
        let mut shard = KeysByDigest::clone(&place.load());
        let is_known = shard
            .insert(known.api_key.digest, Arc::new(known))
            .is_some();
        place.store(Arc::new(shard));
        // No connection remembers a key that was not there.
        if is_known {
            self.advance();
        }
    }

    /// Removes a key, if it is there. When it returns, no request that starts is served with it.
    /// Cost: a copy of one part of the table.
    pub fn remove(&self, digest: &[u8; 32]) {
        let place = &self.shards[shard_idx(digest)];
        let mut shard = KeysByDigest::clone(&place.load());
        if shard.remove(digest).is_some() {
            place.store(Arc::new(shard));
            self.advance();
        }
    }

    /// Removes the keys that `is_kept` refuses. When it returns, no request that starts is served
    /// with one of them. Cost: a walk over the table, and a copy of each part that loses a key.
    pub fn retain(&self, is_kept: impl Fn(&ApiKey) -> bool) {
        let is_lost = |known: &Arc<KnownKey>| !is_kept(&known.api_key);
        for place in &self.shards {
            if !place.load().values().any(is_lost) {
                continue;
            }
            let mut shard = KeysByDigest::clone(&place.load());
            shard.retain(|_, known| !is_lost(known));
            place.store(Arc::new(shard));
            self.advance();
        }
    }

    /// Generation of the table. Read it before [`KeyTable::lookup`] to remember a key with it: in
    /// the other order a key of the old table could be remembered under the new generation.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// The key with this text, even if it has expired. A revoked key is not in the table, unless it
    /// was rolled: then it is found in state `Revoked`. Cost: a CRC; if that matches, a SHA-256 and
    /// one look-up.
    pub fn lookup(&self, text: &str) -> Option<Arc<KnownKey>> {
        if !is_api_key_text(text.as_bytes()) {
            return None;
        }
        let digest = api_key_digest(text);
        let shard = self.shards[shard_idx(&digest)].load();
        shard.get(&digest).map(Arc::clone)
    }

    /// The key with this text, if it is active at `now`.
    pub fn find(&self, text: &str, now: Timestamp) -> Option<Arc<KnownKey>> {
        let is_active = |known: &Arc<KnownKey>| known.api_key.state(now) == ApiKeyState::Active;
        self.lookup(text).filter(is_active)
    }

    /// Calls `visit` with every window: those of keys with their limits, those of accounts with
    /// limits of the same length, in which the number of requests means nothing. Cost: a walk over
    /// the table; changes of keys of accounts wait for the end.
    pub fn visit_windows(
        &self,
        defaults: DefaultLimits,
        mut visit: impl FnMut(WindowOwner, &Arc<Window>, RateLimit),
    ) {
        for shard in &self.shards {
            for known in shard.load().values() {
                let owner = WindowOwner::ApiKey(known.api_key.id);
                let default = defaults.of_scopes(known.api_key.scopes);
                let limit = known.api_key.limit.unwrap_or(default);
                visit(owner, &known.window, limit);
            }
        }
        let length = defaults.api_key.window_seconds;
        for (owner, window) in &*self.account_windows.lock() {
            let limit = RateLimit {
                window_seconds: owner.own_seconds().unwrap_or(length),
                ..defaults.api_key
            };
            visit(*owner, window, limit);
        }
    }

    /// The entry of a key, with the windows that it has had.
    fn known(&self, api_key: ApiKey) -> KnownKey {
        let shard = self.shards[shard_idx(&api_key.digest)].load();
        let old = shard.get(&api_key.digest);
        let account_window = api_key.account.map(|account| {
            let seconds = api_key.limit.map(|limit| limit.window_seconds);
            let owner = if api_key.scopes.is_address() {
                WindowOwner::AccountAddresses(account, seconds)
            } else {
                WindowOwner::Account(account, seconds)
            };
            let mut windows = self.account_windows.lock();
            Arc::clone(windows.entry(owner).or_default())
        });
        KnownKey {
            window: old.map(|old| Arc::clone(&old.window)).unwrap_or_default(),
            account_window,
            api_key,
        }
    }

    /// After the swap: a key that is remembered under the new number came from the new table.
    fn advance(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
    }
}

fn shard_idx(digest: &[u8; 32]) -> usize {
    usize::from(digest[0])
}

#[cfg(test)]
mod tests {
    use subcat_engine::{ApiKeyId, RateLimit, Scopes};

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
            replaced_by: None,
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

        key.expires_at = None;
        key.revoked_at = Some(time("2026-06-01T00:00:01Z"));
        table.replace(vec![key]);
        assert!(table.find(&text, now).is_some(), "it was rolled");
        assert!(table.find(&text, time("2026-06-01T00:00:01Z")).is_none());
        table.remove(&api_key_digest(&text));
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

    /// A change of one key must not cost a copy of all: every user may make keys.
    #[test]
    fn a_change_of_one_key_leaves_the_rest_of_the_table_alone() {
        let texts: Vec<String> = (0..1000)
            .map(|number| {
                let digits = format!("{number:032}");
                api_key_text(digits.as_bytes().try_into().unwrap())
            })
            .collect();
        let keys = texts.iter().zip(1..).map(|(text, id)| api_key(id, text));
        let table = KeyTable::new(keys.collect());
        let shards = || -> Vec<_> { table.shards.iter().map(ArcSwap::load_full).collect() };
        let changed_since = |before: &[Arc<KeysByDigest>]| {
            let now = shards();
            let pairs = before.iter().zip(&now);
            pairs.filter(|(old, new)| !Arc::ptr_eq(old, new)).count()
        };
        let new = api_key_text(b"00000000000000000000000000001000");
        let before = (shards(), table.generation());
        table.put(api_key(1001, &new));
        assert_eq!(changed_since(&before.0), 1);
        assert_eq!(table.generation(), before.1, "nobody remembers a new key");
        assert!(table.lookup(&new).is_some());
        table.remove(&api_key_digest(&new));
        assert_eq!(changed_since(&before.0), 1);
        assert_ne!(table.generation(), before.1);
        assert!(table.lookup(&new).is_none());
        assert!(texts.iter().all(|text| table.lookup(text).is_some()));
    }

    #[test]
    fn keys_of_one_account_share_a_window_that_outlives_them() {
        let owned = |id, limit: Option<&str>| {
            let digits = format!("{id:032}");
            let text = api_key_text(digits.as_bytes().try_into().unwrap());
            let mut key = api_key(id, &text);
            key.account = Some(AccountId(7));
            key.limit = limit.map(|text| RateLimit::parse(text).unwrap());
            (text, key)
        };
        let (first, first_key) = owned(1, None);
        let (second, second_key) = owned(2, None);
        let (other, other_key) = owned(3, Some("9/5"));
        let digest = first_key.digest;
        let table = KeyTable::new(vec![first_key, other_key]);
        let window = |text: &str| table.lookup(text).unwrap().account_window.clone().unwrap();
        let shared = window(&first);
        table.remove(&digest);
        table.put(second_key);
        assert!(Arc::ptr_eq(&shared, &window(&second)));
        assert!(!Arc::ptr_eq(&shared, &window(&other)), "another length");
        let lone = api_key_text(b"00000000000000000000000000000009");
        table.put(api_key(9, &lone));
        let (address, mut address_key) = owned(4, None);
        address_key.scopes = Scopes::ADDRESS;
        table.put(address_key);
        assert!(!Arc::ptr_eq(&shared, &window(&address)), "of addresses");
        assert!(table.lookup(&lone).unwrap().account_window.is_none());
    }
}
