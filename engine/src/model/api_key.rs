//! API keys: scopes, expiry, rate limit, usage.

use std::fmt;
use std::num::NonZeroU32;

use super::ids::{AccountId, ApiKeyId};
use super::timestamp::{DAY_SECONDS, Timestamp};
use crate::limits::ROLL_DAYS_MAX;

/// Permissions of a key: a set of search, read and download; or the address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scopes(u8);

impl Scopes {
    /// No endpoint at all.
    pub const NONE: Self = Self(0);
    /// `GET /api/subtitles/search`.
    pub const SEARCH: Self = Self(1);
    /// `GET /api/subtitles/{subtitle_id}`.
    pub const READ: Self = Self(2);
    /// `GET /api/subtitles/{subtitle_id}/download`.
    pub const DOWNLOAD: Self = Self(4);
    /// Every endpoint of the API: the default.
    pub const ALL: Self = Self(7);
    /// `/a/<key>/…` and nothing else.
    pub const ADDRESS: Self = Self(8);
    /// Name of [`Scopes::ADDRESS`].
    const ADDRESS_NAME: &'static str = "address";
    /// Every single scope of the API with its name, in listing order.
    pub const NAMES: [(Self, &'static str); 3] = [
        (Self::SEARCH, "search"),
        (Self::READ, "read"),
        (Self::DOWNLOAD, "download"),
    ];

    /// True if every scope of `other` is in this set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The scopes of both.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The set with these bits, when no other bit is set.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits <= Self::ALL.0 || bits == Self::ADDRESS.0 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// One bit per scope.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// True if it is the scope of addresses.
    pub const fn is_address(self) -> bool {
        self.0 == Self::ADDRESS.0
    }

    /// Reads names separated by commas; `None` if there is no name or an unknown one, or one beside
    /// `address`.
    pub fn parse(text: &str) -> Option<Self> {
        if text.trim() == Self::ADDRESS_NAME {
            return Some(Self::ADDRESS);
        }
        let mut scopes = Self::NONE;
        for name in text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let (scope, _) = Self::NAMES.into_iter().find(|(_, known)| *known == name)?;
            scopes = scopes.union(scope);
        }
        if scopes == Self::NONE {
            return None;
        }
        Some(scopes)
    }

    /// The names of the scopes in this set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let has = move |&(scope, _): &(Self, &str)| self.contains(scope);
        let address = (Self::ADDRESS, Self::ADDRESS_NAME);
        let all = Self::NAMES.into_iter().chain([address]);
        all.filter(has).map(|(_, name)| name)
    }
}

/// A number of requests per window of a number of seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RateLimit {
    /// Requests per window.
    pub requests: NonZeroU32,
    /// Length of the window.
    pub window_seconds: NonZeroU32,
}

impl RateLimit {
    /// Reads `REQUESTS/SECONDS`, such as `60/60`.
    pub fn parse(text: &str) -> Option<Self> {
        let (requests, seconds) = text.split_once('/')?;
        Some(Self {
            requests: requests.parse().ok()?,
            window_seconds: seconds.parse().ok()?,
        })
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.requests, self.window_seconds)
    }
}

/// An API key. Its value is known to its owner only: the digest checks it and cannot be reversed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Id of the key.
    pub id: ApiKeyId,
    /// Account that owns it; none for keys made on the command line without `--account`.
    pub account: Option<AccountId>,
    /// Descriptive name of the key.
    pub name: String,
    /// SHA-256 of its value.
    pub digest: [u8; 32],
    /// Shortened value for lists: `sct_AbCd…wXyZ`.
    pub partial: String,
    /// Permissions of the key.
    pub scopes: Scopes,
    /// Rate limit of the key; none means the server's default.
    pub limit: Option<RateLimit>,
    /// Time of creation.
    pub created_at: Timestamp,
    /// First second at which it is expired; none means never.
    pub expires_at: Option<Timestamp>,
    /// First second at which it is revoked: in the future for a rolled key.
    pub revoked_at: Option<Timestamp>,
    /// The key that replaced it when it was rolled.
    pub replaced_by: Option<ApiKeyId>,
}

/// State of an API key at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ApiKeyState {
    /// Requests with it are served.
    Active,
    /// The key's time has passed.
    Expired,
    /// The key was revoked, for good.
    Revoked,
}

impl ApiKeyState {
    /// Name of the state: `active`, `expired` or `revoked`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    /// First second at which it is no longer valid: its expiry, or its end if that is earlier, as
    /// for a rolled key.
    pub fn ends_at(&self) -> Option<Timestamp> {
        match (self.expires_at, self.revoked_at) {
            (Some(expiry), Some(end)) => Some(expiry.min(end)),
            (expiry, end) => expiry.or(end),
        }
    }

    /// State of the key at `now`. It is expired from the second of its `expires_at`; a revoked key
    /// stays revoked after that.
    pub fn state(&self, now: Timestamp) -> ApiKeyState {
        if self.is_revoked(now) {
            ApiKeyState::Revoked
        } else if self.expires_at.is_some_and(|end| end <= now) {
            ApiKeyState::Expired
        } else {
            ApiKeyState::Active
        }
    }

    /// True from its end on. A rolled key has an end up to [`ROLL_DAYS_MAX`] ahead: one further
    /// ahead is by a clock that was wrong, and would come years after it was set right.
    fn is_revoked(&self, now: Timestamp) -> bool {
        let last = now.plus_seconds(i64::from(ROLL_DAYS_MAX) * DAY_SECONDS);
        self.revoked_at
            .is_some_and(|end| end <= now || end.is_far_after(last))
    }
}

/// Usage of a key, or of the whole service, on one day or in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Requests that consumed the key's window (API.md, rate limit).
    pub requests: u64,
    /// Downloads that count.
    pub downloads: u64,
    /// Answers with status 400 to 499, except 429.
    pub client_errors: u64,
    /// Answers with status 429.
    pub limited: u64,
}

impl Usage {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.downloads += other.downloads;
        self.client_errors += other.client_errors;
        self.limited += other.limited;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scope_of_addresses_stands_alone() {
        assert_eq!(Scopes::parse("address"), Some(Scopes::ADDRESS));
        assert_eq!(Scopes::parse("address,search"), None);
        assert_eq!(Scopes::parse("search,address"), None);
        assert_eq!(Scopes::from_bits(8), Some(Scopes::ADDRESS));
        for bits in 9..=u8::MAX {
            assert_eq!(Scopes::from_bits(bits), None);
        }
        assert!(!Scopes::ALL.contains(Scopes::ADDRESS));
        assert!(Scopes::ADDRESS.names().eq(["address"]));
        assert!(Scopes::ALL.names().eq(["search", "read", "download"]));
    }

    #[test]
    fn a_key_is_expired_from_the_second_of_its_expiry_on() {
        let end = Timestamp::parse("2026-05-03T10:00:00Z").unwrap();
        let mut api_key = ApiKey {
            id: ApiKeyId(1),
            account: None,
            name: "test".into(),
            digest: [0; 32],
            partial: String::new(),
            scopes: Scopes::ALL,
            limit: None,
            created_at: end.plus_seconds(-60),
            expires_at: Some(end),
            revoked_at: None,
            replaced_by: None,
        };
        assert_eq!(api_key.state(end.plus_seconds(-1)), ApiKeyState::Active);
        assert_eq!(api_key.state(end), ApiKeyState::Expired);
        assert_eq!(api_key.state(end.plus_seconds(1)), ApiKeyState::Expired);
        api_key.expires_at = None;
        assert_eq!(api_key.state(end.plus_seconds(1)), ApiKeyState::Active);
    }
}
