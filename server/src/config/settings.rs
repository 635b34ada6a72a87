//! Every setting: its value in [`Config`], its default, and its entry in the table.
//!
//! A new setting is edited here only: a field, its default, and an entry with its name, its allowed
//! values, and the function that reads it.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use ipnet::IpNet;
use serde::Serialize;
use serde_json::{Value, json};
use subcat_engine::{BLOB_BYTES_MAX, FREE_BYTES_MIN, StoreKind};

use super::cluster_settings::{ClusterSettings, log_address, node_name, stream_name};
use super::listen_address::ListenAddress;
use super::parse::{bytes, choose, named, networks, number, parsed, put, upstream_url};
use super::public_url::public_url;
use super::s3_settings::{S3Settings, access_word, bucket, endpoint};
use super::secret::{Secrets, hidden, without_password};
use super::sections::{
    AccessLog, Accounts, Compat, Connections, ExpiredStatus, Io, LogSettings, RateLimits,
    Registration, UpstreamSettings,
};
use super::trace_settings::{TraceSettings, collector_url};
use crate::limits::ACTIVE_KEYS_MAX;

/// The effective configuration. Fields have the names of the settings.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct Config {
    pub data: PathBuf,
    pub listen: ListenAddress,
    pub admin: SocketAddr,
    pub store: StoreKind,
    /// Public URL of the service, without a slash at its end.
    pub public_url: Option<String>,
    pub trusted_proxies: Vec<IpNet>,
    pub workers: usize,
    pub io: Io,
    pub connections: Connections,
    pub rate_limit: RateLimits,
    pub cache_search_bytes: usize,
    /// Bytes of the disk that are left free: with fewer, records and files are not changed.
    pub disk_reserve_bytes: usize,
    /// Bytes of all cached files; 0 keeps all.
    pub files_cache_bytes: usize,
    pub files_s3: S3Settings,
    pub cluster: ClusterSettings,
    pub upstream: UpstreamSettings,
    pub auth_expired_status: ExpiredStatus,
    pub accounts: Accounts,
    /// True if the catalog can be read on the pages without an account.
    pub is_catalog_public: bool,
    pub compat: Compat,
    pub log: LogSettings,
    pub traces: TraceSettings,
}

impl Default for Config {
    /// Every setting at its default.
    fn default() -> Self {
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        Self {
            data: PathBuf::from("./subcat-data"),
            listen: local(8080).into(),
            admin: local(9464),
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
            disk_reserve_bytes: 256 << 20,
            files_cache_bytes: 0,
            files_s3: S3Settings::default(),
            cluster: ClusterSettings::default(),
            upstream: UpstreamSettings::default(),
            auth_expired_status: ExpiredStatus::Unauthorized,
            accounts: Accounts {
                registration: Registration::Closed,
                keys_max: 25,
                is_admin_totp_required: false,
            },
            is_catalog_public: false,
            compat: Compat {
                imdb_id_alias: true,
                empty_null_strings: false,
            },
            log: LogSettings {
                access: AccessLog::Off,
                is_json: false,
                level: "info".into(),
            },
            traces: TraceSettings::default(),
        }
    }
}

impl Config {
    /// Returns true if upstream or object storage can give a file again that has left this machine.
    pub fn files_can_come_back(&self) -> bool {
        self.upstream.url.is_some() || self.files_s3.endpoint.is_some()
    }

    /// These settings, as far as a running server can apply them: the others as in `running`.
    #[must_use]
    pub fn applied_over(self, running: &Self) -> Self {
        Self {
            data: running.data.clone(),
            listen: running.listen.clone(),
            admin: running.admin,
            store: running.store,
            workers: running.workers,
            io: running.io,
            // The workers have divided it among themselves.
            cache_search_bytes: running.cache_search_bytes,
            // Cached answers are as these settings were.
            compat: running.compat,
            log: LogSettings {
                is_json: running.log.is_json,
                ..self.log
            },
            traces: running.traces.clone(),
            files_s3: running.files_s3.clone(),
            cluster: running.cluster.clone(),
            ..self
        }
    }
}

/// The time at which a changed value of a setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Applies {
    /// The next reload of a running server.
    AtReload,
    /// The next start of the server.
    AtStart,
}

/// An entry of the table of settings.
pub(super) struct Setting {
    /// Path in the file: `rate_limit.requests`.
    pub name: &'static str,
    /// The time at which a changed value takes effect.
    pub applies: Applies,
    /// The value may hold a secret: it can be read from a file of its own, `NAME_file`.
    pub is_secret: bool,
    /// The values that are allowed, as the end of an error's sentence.
    pub allowed: &'static str,
    /// Reads a value into the configuration; `None` if it is not allowed.
    pub set: Set,
    /// The effective value, secret or not. Pages and messages use [`Setting::shown`].
    pub show: Show,
}

/// Reads a value into the configuration; `None` if it is not allowed.
type Set = fn(&mut Config, &str) -> Option<()>;
/// The effective value.
type Show = fn(&Config) -> Value;

/// A setting that is read at a start.
const fn at_start(name: &'static str, allowed: &'static str, set: Set, show: Show) -> Setting {
    Setting {
        name,
        applies: Applies::AtStart,
        is_secret: false,
        allowed,
        set,
        show,
    }
}

/// A setting that is read at a start and at each reload.
const fn at_reload(name: &'static str, allowed: &'static str, set: Set, show: Show) -> Setting {
    Setting {
        applies: Applies::AtReload,
        ..at_start(name, allowed, set, show)
    }
}

impl Setting {
    /// This setting, with values that may be secret.
    const fn secret(self) -> Self {
        Self {
            is_secret: true,
            ..self
        }
    }

    /// The environment variable that sets it.
    pub(super) fn variable(&self) -> String {
        let name = self.name.replace('.', "_").to_uppercase();
        format!("{VARIABLE_PREFIX}{name}")
    }

    /// The effective value as it may be read.
    pub(super) fn shown(&self, config: &Config, secrets: Secrets) -> Value {
        match (self.show)(config) {
            Value::String(value) if self.is_secret && secrets == Secrets::Hidden => {
                json!(hidden(&value))
            }
            value => value,
        }
    }

    /// A text that was given as the value, as messages may show it; `None` if it is a secret.
    pub(super) fn shown_text(&self, given: &str) -> Option<String> {
        if self.is_secret {
            return None;
        }
        Some(without_password(given).into_owned())
    }
}

/// Prefix of the environment variables that are settings.
pub(super) const VARIABLE_PREFIX: &str = "SUBCAT_";

const ADDRESS: &str = "an IP address with a port, such as 127.0.0.1:8080 or [::1]:8080";
const LISTEN_ADDRESS: &str = "an IP address with a port, such as 127.0.0.1:8080, or unix: with an \
                              absolute path";
const COUNT: &str = "a whole number from 1 to 4294967295";
const MILLION: &str = "a whole number from 1 to 1000000";
const SECONDS: &str = "a whole number of seconds from 1 to 86400";
const SECONDS_OR_ZERO: &str = "a whole number of seconds from 0 to 86400";
const BYTES: &str = "a number of bytes from 1 to 1 GiB, such as 10485760 or 10 MiB";
const BYTES_OR_ZERO: &str = "a number of bytes, 0 or more, such as 67108864 or 64 MiB";
const NETWORKS: &str = "a list of networks, such as 10.0.0.0/8, fd00::/8 or 127.0.0.1, without \
                        bits behind their prefix and not /0";
const SWITCH: &str = "true or false";

/// An entry of the table: the time at which a change takes effect, the name, the place in
/// [`Config`], the values that are allowed, and the function that reads one. A choice has the names
/// of its values in the place of the last two.
macro_rules! setting {
    ($applies:ident $name:literal: $($field:ident).+ one of $names:ident, $allowed:expr) => {
        $applies(
            $name,
            $allowed,
            |c, v| put(&mut c.$($field).+, choose(v, &$names)),
            |c| named(c.$($field).+, &$names),
        )
    };
    ($applies:ident $name:literal: $($field:ident).+, $allowed:expr, $read:expr) => {
        $applies(
            $name,
            $allowed,
            |c, v| put(&mut c.$($field).+, ($read)(v)),
            |c| json!(c.$($field).+),
        )
    };
}

/// Every setting, in display order.
pub(super) static SETTINGS: &[Setting] = &[
    at_start(
        "data",
        "the path of a directory",
        |c, v| {
            put(
                &mut c.data,
                Some(v).filter(|v| !v.is_empty()).map(PathBuf::from),
            )
        },
        |c| json!(c.data.display().to_string()),
    ),
    at_start(
        "listen",
        LISTEN_ADDRESS,
        |c, v| put(&mut c.listen, parsed(v)),
        |c| json!(c.listen.to_string()),
    ),
    setting!(at_start "admin": admin, ADDRESS, parsed),
    setting!(at_start "store": store one of STORES, "redb or memory"),
    setting!(at_reload "public_url": public_url,
        "http:// or https:// with a host, perhaps a path, or nothing", public_url),
    setting!(at_reload "trusted_proxies": trusted_proxies, NETWORKS, networks),
    setting!(at_start "workers": workers, "a whole number from 1 to 1024", number(1, 1024)),
    setting!(at_start "io": io one of IOS, "auto, io_uring or epoll"),
    setting!(at_reload "connections.max": connections.max, MILLION, number(1, 1_000_000)),
    setting!(at_reload "connections.max_per_address": connections.max_per_address, MILLION,
        number(1, 1_000_000)),
    setting!(at_reload "rate_limit.requests": rate_limit.api_key.requests, COUNT, parsed),
    setting!(at_reload "rate_limit.window_seconds": rate_limit.api_key.window_seconds, SECONDS,
        |v: &str| NonZeroU32::new(number(1, 86_400)(v)?)),
    setting!(at_reload "rate_limit.address_requests": rate_limit.address_requests, COUNT, parsed),
    setting!(at_reload "rate_limit.anonymous_requests": rate_limit.anonymous_requests, COUNT,
        parsed),
    setting!(at_reload "rate_limit.account_factor": rate_limit.account_factor,
        "a whole number from 0 to 1000", number(0, 1_000)),
    setting!(at_start "cache.search_bytes": cache_search_bytes, BYTES_OR_ZERO, bytes),
    setting!(at_reload "disk.reserve_bytes": disk_reserve_bytes,
        "a number of bytes, 48 MiB or more, such as 268435456 or 1 GiB",
        |v| bytes(v).filter(|count| FREE_BYTES_MIN <= *count as u64)),
    setting!(at_reload "files.cache_bytes": files_cache_bytes,
        "a number of bytes, such as 107374182400 or 100 GiB, or 0 to keep every file", bytes),
    setting!(at_start "files.s3.endpoint": files_s3.endpoint,
        "http:// or https:// with a host and no path, or nothing", endpoint),
    setting!(at_start "files.s3.bucket": files_s3.bucket,
        "the name of a bucket (3 to 63 of a-z, 0-9, - and .), or nothing", bucket),
    setting!(at_start "files.s3.region": files_s3.region,
        "the name of a region, such as us-east-1", |v| access_word(v).flatten()),
    setting!(at_start "files.s3.access_key": files_s3.access_key,
        "an access key, or nothing", access_word)
    .secret(),
    setting!(at_start "files.s3.secret_key": files_s3.secret_key,
        "the secret of the access key, or nothing", access_word)
    .secret(),
    setting!(at_start "cluster.log": cluster.log,
        "nats:// or postgres:// with one or more hosts, or nothing", log_address)
    .secret(),
    setting!(at_start "cluster.stream": cluster.stream,
        "a name of 1 to 32 of a-z, 0-9, - and _", stream_name),
    setting!(at_start "cluster.node": cluster.node,
        "a name of 1 to 32 of a-z, 0-9, - and _, or nothing", node_name),
    setting!(at_start "cluster.auth_max_stale_seconds": cluster.auth_max_stale_seconds,
        "a number of seconds from 6 to 86400, or 0 for no end",
        |v: &str| number(0, 86_400)(v).filter(|seconds| *seconds == 0 || 6 <= *seconds)),
    setting!(at_reload "upstream.url": upstream.url,
        "an http:// or https:// address with {source_release_id} after its host", upstream_url)
    .secret(),
    setting!(at_reload "upstream.connect_seconds": upstream.connect_seconds, SECONDS,
        number(1, 86_400)),
    setting!(at_reload "upstream.timeout_seconds": upstream.timeout_seconds, SECONDS,
        number(1, 86_400)),
    setting!(at_reload "upstream.max_bytes": upstream.max_bytes, BYTES,
        |v| bytes(v).filter(|count| (1..=BLOB_BYTES_MAX).contains(&(*count as u64)))),
    setting!(at_reload "upstream.concurrency": upstream.concurrency,
        "a whole number from 1 to 10000", number(1, 10_000)),
    setting!(at_reload "upstream.failure_ttl_seconds": upstream.failure_ttl_seconds,
        SECONDS_OR_ZERO, number(0, 86_400)),
    at_reload(
        "auth.expired_status",
        "401 or 403",
        |c, v| put(&mut c.auth_expired_status, choose(v, &EXPIRED)),
        |c| match c.auth_expired_status {
            ExpiredStatus::Unauthorized => json!(401),
            ExpiredStatus::Forbidden => json!(403),
        },
    ),
    setting!(at_reload "accounts.registration": accounts.registration one of REGISTRATIONS,
        "open or closed"),
    setting!(at_reload "accounts.keys_max": accounts.keys_max,
        "a whole number from 1 to 1000", number(1, ACTIVE_KEYS_MAX)),
    setting!(at_reload "accounts.admin_totp": accounts.is_admin_totp_required one of ADMIN_TOTP,
        "optional or required"),
    setting!(at_reload "web.catalog": is_catalog_public one of CATALOG_READERS,
        "accounts or public"),
    setting!(at_start "compat.imdb_id_alias": compat.imdb_id_alias, SWITCH, parsed),
    setting!(at_start "compat.null_strings": compat.empty_null_strings one of NULL_STRINGS,
        "null or empty"),
    setting!(at_reload "log.access": log.access one of ACCESS_LOGS, "off, sampled or all"),
    setting!(at_start "log.format": log.is_json one of LOG_FORMATS, "text or json"),
    setting!(at_reload "log.level": log.level,
        "off, error, warn, info, debug or trace",
        |v: &str| Some(v.to_owned()).filter(|level| LOG_LEVELS.contains(&level.as_str()))),
    setting!(at_start "traces.url": traces.url,
        "http:// or https:// with a host and perhaps a path, or nothing", collector_url),
    setting!(at_start "traces.every": traces.every, COUNT, number(1, u32::MAX)),
];

const STORES: [(&str, StoreKind); 2] = [("redb", StoreKind::Redb), ("memory", StoreKind::Memory)];
const IOS: [(&str, Io); 3] = [
    ("auto", Io::Auto),
    ("io_uring", Io::IoUring),
    ("epoll", Io::Epoll),
];
const EXPIRED: [(&str, ExpiredStatus); 2] = [
    ("401", ExpiredStatus::Unauthorized),
    ("403", ExpiredStatus::Forbidden),
];
const REGISTRATIONS: [(&str, Registration); 2] = [
    ("open", Registration::Open),
    ("closed", Registration::Closed),
];
const ADMIN_TOTP: [(&str, bool); 2] = [("optional", false), ("required", true)];
const CATALOG_READERS: [(&str, bool); 2] = [("accounts", false), ("public", true)];
const NULL_STRINGS: [(&str, bool); 2] = [("null", false), ("empty", true)];
const ACCESS_LOGS: [(&str, AccessLog); 3] = [
    ("off", AccessLog::Off),
    ("sampled", AccessLog::Sampled),
    ("all", AccessLog::All),
];
const LOG_FORMATS: [(&str, bool); 2] = [("text", false), ("json", true)];
const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Option<Value> {
        let setting = SETTINGS.iter().find(|s| s.name == name).unwrap();
        let mut config = Config::default();
        (setting.set)(&mut config, value).map(|()| (setting.show)(&config))
    }

    fn check(name: &str, value: &str, expected: impl Into<Option<Value>>) {
        assert_eq!(set(name, value), expected.into(), "{name} = {value}");
    }

    /// The whole table: a new setting has its line here, and its default in API.md.
    #[test]
    fn every_setting_has_its_documented_default() {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let expected = json!({
            "data": "./subcat-data",
            "listen": "127.0.0.1:8080",
            "admin": "127.0.0.1:9464",
            "store": "redb",
            "public_url": null,
            "trusted_proxies": [],
            "workers": cores,
            "io": "auto",
            "connections.max": 20_000,
            "connections.max_per_address": 1_000,
            "rate_limit.requests": 60,
            "rate_limit.window_seconds": 60,
            "rate_limit.address_requests": 3_000,
            "rate_limit.anonymous_requests": 600,
            "rate_limit.account_factor": 5,
            "cache.search_bytes": 64 << 20,
            "disk.reserve_bytes": 256 << 20,
        });
        let files_and_on = json!({
            "files.cache_bytes": 0,
            "files.s3.endpoint": null,
            "files.s3.bucket": null,
            "files.s3.region": "us-east-1",
            "files.s3.access_key": null,
            "files.s3.secret_key": null,
            "cluster.log": null,
            "cluster.stream": "subcat",
            "cluster.node": null,
            "cluster.auth_max_stale_seconds": 60,
            "upstream.url": null,
            "upstream.connect_seconds": 3,
            "upstream.timeout_seconds": 20,
            "upstream.max_bytes": 10_485_760,
            "upstream.concurrency": 64,
            "upstream.failure_ttl_seconds": 30,
            "auth.expired_status": 401,
            "accounts.registration": "closed",
            "accounts.keys_max": 25,
            "accounts.admin_totp": "optional",
            "web.catalog": "accounts",
            "compat.imdb_id_alias": true,
            "compat.null_strings": "null",
            "log.access": "off",
            "log.format": "text",
            "log.level": "info",
            "traces.url": null,
            "traces.every": 100,
        });
        let config = Config::default();
        let shown = |setting: &Setting| (setting.name.to_owned(), (setting.show)(&config));
        let defaults: serde_json::Map<_, _> = SETTINGS.iter().map(shown).collect();
        let expected = [expected, files_and_on]
            .into_iter()
            .flat_map(|part| match part {
                Value::Object(part) => part,
                other => panic!("not an object: {other}"),
            });
        assert_eq!(defaults, expected.collect());
    }

    #[test]
    fn every_default_can_be_given_back() {
        let config = Config::default();
        for setting in SETTINGS {
            let text = match (setting.show)(&config) {
                Value::String(text) => text,
                Value::Null => String::new(),
                Value::Array(_) => String::new(),
                other => other.to_string(),
            };
            let shown = (setting.show)(&config);
            check(setting.name, &text, Some(shown));
        }
    }

    #[test]
    fn reads_addresses_and_networks() {
        check("listen", "[::1]:0", Some(json!("[::1]:0")));
        check("listen", "localhost:8080", None);
        check("listen", "127.0.0.1", None);
        check(
            "trusted_proxies",
            "10.0.0.0/8, ::1",
            Some(json!(["10.0.0.0/8", "::1/128"])),
        );
        check("trusted_proxies", "10.0.0.0/33", None);
    }

    #[test]
    fn holds_numbers_to_their_ranges() {
        check("workers", "0", None);
        check("workers", "1.5", None);
        check("rate_limit.requests", "0", None);
        check("rate_limit.requests", "4294967296", None);
        check("rate_limit.window_seconds", "86401", None);
        check("upstream.max_bytes", "10 MiB", Some(json!(10_485_760)));
        check("upstream.max_bytes", "2GiB", None);
        check("upstream.max_bytes", "99999999999999999999GiB", None);
        check("upstream.failure_ttl_seconds", "0", Some(json!(0)));
        check("cache.search_bytes", "0", Some(json!(0)));
        check("files.cache_bytes", "2 GiB", Some(json!(2_u64 << 30)));
        check("files.cache_bytes", "-1", None);
        check("disk.reserve_bytes", "48 MiB", Some(json!(48 << 20)));
        check("disk.reserve_bytes", "47 MiB", None);
    }

    #[test]
    fn upstream_urls_hold_the_placeholder_after_the_host() {
        for url in [
            "http://127.0.0.1:9/files/{source_release_id}",
            "https://u.example/get?id={source_release_id}&x=1",
        ] {
            check("upstream.url", url, Some(json!(url)));
        }
        check("upstream.url", "http://{source_release_id}.example/", None);
        check("upstream.url", "https://u.example/files/", None);
        check("upstream.url", "{source_release_id}", None);
        check(
            "upstream.url",
            "http://u.example/#{source_release_id}",
            None,
        );
    }
}
