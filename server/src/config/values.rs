//! The effective configuration as typed values.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use ipnet::IpNet;
use subcat_engine::{RateLimit, StoreKind};

/// The effective configuration. The names are those of the settings page.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct Config {
    pub data: PathBuf,
    pub listen: SocketAddr,
    pub admin: SocketAddr,
    pub store: StoreKind,
    /// How users reach the service; without a slash at its end.
    pub public_url: Option<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub workers: usize,
    pub io: Io,
    pub connections: Connections,
    pub rate_limit: RateLimits,
    pub cache_search_bytes: usize,
    pub upstream: UpstreamSettings,
    pub auth_expired_status: ExpiredStatus,
    pub registration: Registration,
    pub compat: Compat,
    pub log: LogSettings,
}

impl Default for Config {
    /// Every setting as it is when nobody says anything.
    fn default() -> Self {
        let ours = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            data: PathBuf::from("./subcat-data"),
            listen: ours(8080),
            admin: ours(9090),
            store: StoreKind::Redb,
            public_url: None,
            trusted_proxies: Vec::new(),
            workers: std::thread::available_parallelism().map_or(1, NonZeroUsize::get),
            io: Io::Auto,
            connections: Connections {
                max: 20_000,
                max_per_address: 1_000,
            },
            rate_limit: RateLimits::default(),
            cache_search_bytes: 64 << 20,
            upstream: UpstreamSettings::default(),
            auth_expired_status: ExpiredStatus::Unauthorized,
            registration: Registration::Closed,
            compat: Compat {
                imdb_id_alias: true,
                empty_null_strings: false,
            },
            log: LogSettings {
                is_json: false,
                level: "info".into(),
            },
        }
    }
}

/// How sockets are driven.
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
    /// Per client address, in a window of the same length.
    pub anonymous_requests: NonZeroU32,
}

impl Default for RateLimits {
    /// 60 requests in 60 seconds per key, 600 per address.
    fn default() -> Self {
        const REQUESTS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        const SECONDS: NonZeroU32 = NonZeroU32::new(60).unwrap();
        const ANONYMOUS: NonZeroU32 = NonZeroU32::new(600).unwrap();
        Self {
            api_key: RateLimit {
                requests: REQUESTS,
                window_seconds: SECONDS,
            },
            anonymous_requests: ANONYMOUS,
        }
    }
}

/// Where files come from.
#[derive(Debug, Clone)]
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

/// The status of requests with an expired key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum ExpiredStatus {
    Unauthorized,
    Forbidden,
}

/// Whether anyone may make an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub enum Registration {
    Open,
    Closed,
}

/// Concessions to clients.
#[derive(Debug, Clone, Copy)]
pub struct Compat {
    /// `imdb_id` is an alias of `catalog_id`.
    pub imdb_id_alias: bool,
    /// Null strings are sent as empty ones.
    pub empty_null_strings: bool,
}

/// How and how much is logged.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct LogSettings {
    pub is_json: bool,
    pub level: String,
}
