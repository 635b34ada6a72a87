//! Types of the settings, by section.

use std::fmt;
use std::num::NonZeroU32;

use subcat_engine::RateLimit;

use super::secret::hidden;

/// The I/O backend of the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum Io {
    Auto,
    IoUring,
    Epoll,
}

/// Caps on connections.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct Connections {
    pub max: usize,
    pub max_per_address: usize,
}

/// Default limits.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    /// Per key, unless the key has its own.
    pub api_key: RateLimit,
    /// Per key with the scope `address`, in a window of the same length.
    pub address_requests: NonZeroU32,
    /// Per client address, in a window of the same length.
    pub anonymous_requests: NonZeroU32,
    /// Requests of all keys of an account together, as a multiple of a key's limit; 0 sets none.
    pub account_factor: u32,
}

impl RateLimits {
    /// The limit of a key with the scope `address`, unless the key has its own.
    pub const fn address_key(&self) -> RateLimit {
        RateLimit {
            requests: self.address_requests,
            window_seconds: self.api_key.window_seconds,
        }
    }
}

impl Default for RateLimits {
    /// 60 requests in 60 seconds per key, 3000 per key of an address, 600 per client address.
    fn default() -> Self {
        const REQUESTS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        const SECONDS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        const ADDRESS: NonZeroU32 = NonZeroU32::new(3000).unwrap();
        const ANONYMOUS: NonZeroU32 = NonZeroU32::new(600).unwrap();
        Self {
            api_key: RateLimit {
                requests: REQUESTS,
                window_seconds: SECONDS,
            },
            address_requests: ADDRESS,
            anonymous_requests: ANONYMOUS,
            account_factor: 5,
        }
    }
}

/// The source of files that are not cached.
#[derive(Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct UpstreamSettings {
    /// With `{source_release_id}`.
    pub url: Option<String>,
    pub connect_seconds: u32,
    pub timeout_seconds: u32,
    pub max_bytes: usize,
    pub concurrency: usize,
    pub failure_ttl_seconds: u32,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            url: None,
            connect_seconds: 3,
            timeout_seconds: 20,
            max_bytes: 10 << 20,
            concurrency: 64,
            failure_ttl_seconds: 30,
        }
    }
}

impl fmt::Debug for UpstreamSettings {
    /// Without the address, which may hold a token: it may end in a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamSettings")
            .field("url", &self.url.as_deref().map(hidden))
            .field("connect_seconds", &self.connect_seconds)
            .field("timeout_seconds", &self.timeout_seconds)
            .field("max_bytes", &self.max_bytes)
            .field("concurrency", &self.concurrency)
            .field("failure_ttl_seconds", &self.failure_ttl_seconds)
            .finish()
    }
}

/// The status of requests with an expired key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum ExpiredStatus {
    Unauthorized,
    Forbidden,
}

/// Permission to make an account without an administrator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum Registration {
    Open,
    Closed,
}

/// Accounts of the web interface.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct Accounts {
    pub registration: Registration,
    /// Maximum number of active keys of one account. Administrators have ten times as many.
    pub keys_max: usize,
    /// Administrators must sign in with a second step.
    pub is_admin_totp_required: bool,
}

/// Compatibility with existing clients.
#[derive(Debug, Clone, Copy)]
pub struct Compat {
    /// `imdb_id` is an alias of `catalog_id`.
    pub imdb_id_alias: bool,
    /// Null strings are sent as empty ones.
    pub empty_null_strings: bool,
}

/// The requests that get a line in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum AccessLog {
    Off = 0,
    Sampled = 1,
    All = 2,
}

/// Format and level of the log.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct LogSettings {
    pub access: AccessLog,
    pub is_json: bool,
    pub level: String,
}
