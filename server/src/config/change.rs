//! Differences between two configurations.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::secret::Secrets;
use super::settings::{Applies, Config, SETTINGS};

/// A setting with two different values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SettingChange {
    /// The setting's path.
    pub name: String,
    /// Old value; of a secret, that it is set.
    pub from: Value,
    /// New value; of a secret, that it is set.
    pub to: Value,
}

impl Config {
    /// The settings that differ in `new` and take effect at this time, in the order of the table.
    pub fn changes(&self, new: &Self, applies: Applies) -> Vec<SettingChange> {
        let mut changes = Vec::new();
        for setting in SETTINGS.iter().filter(|s| s.applies == applies) {
            if (setting.show)(self) == (setting.show)(new) {
                continue;
            }
            changes.push(SettingChange {
                name: setting.name.to_owned(),
                from: setting.shown(self, Secrets::Hidden),
                to: setting.shown(new, Secrets::Hidden),
            });
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another value for each setting.
    const OTHERS: [(&str, &str); 45] = [
        ("data", "/other"),
        ("listen", "127.0.0.1:1"),
        ("admin", "127.0.0.1:2"),
        ("store", "memory"),
        ("public_url", "https://subs.example"),
        ("trusted_proxies", "10.0.0.0/8"),
        ("workers", "1001"),
        ("io", "epoll"),
        ("connections.max", "7"),
        ("connections.max_per_address", "8"),
        ("rate_limit.requests", "9"),
        ("rate_limit.window_seconds", "10"),
        ("rate_limit.address_requests", "51"),
        ("rate_limit.anonymous_requests", "11"),
        ("rate_limit.account_factor", "12"),
        ("cache.search_bytes", "13"),
        ("disk.reserve_bytes", "49 MiB"),
        ("files.cache_bytes", "50"),
        ("files.s3.endpoint", "http://s3.example"),
        ("files.s3.bucket", "files"),
        ("files.s3.region", "eu-west-1"),
        ("files.s3.access_key", "access"),
        ("files.s3.secret_key", "secret"),
        ("cluster.log", "nats://a:4222"),
        ("cluster.stream", "other"),
        ("cluster.node", "madrid"),
        ("cluster.auth_max_stale_seconds", "20"),
        ("upstream.url", "http://u.example/{source_release_id}"),
        ("upstream.connect_seconds", "1"),
        ("upstream.timeout_seconds", "14"),
        ("upstream.max_bytes", "15"),
        ("upstream.concurrency", "16"),
        ("upstream.failure_ttl_seconds", "17"),
        ("auth.expired_status", "403"),
        ("accounts.registration", "open"),
        ("accounts.keys_max", "18"),
        ("accounts.admin_totp", "required"),
        ("web.catalog", "public"),
        ("compat.imdb_id_alias", "false"),
        ("compat.null_strings", "empty"),
        ("log.access", "all"),
        ("log.format", "json"),
        ("log.level", "debug"),
        ("traces.url", "http://127.0.0.1:4318"),
        ("traces.every", "19"),
    ];

    #[test]
    fn what_a_reload_applies_is_what_the_table_says() {
        let running = Config::default();
        let mut loaded = Config::default();
        for setting in SETTINGS {
            let other = OTHERS.iter().find(|(name, _)| *name == setting.name);
            let (_, value) = other.unwrap_or_else(|| panic!("no value for {}", setting.name));
            (setting.set)(&mut loaded, value).unwrap();
        }
        let applied = loaded.clone().applied_over(&running);
        for setting in SETTINGS {
            let expected = match setting.applies {
                Applies::AtReload => &loaded,
                Applies::AtStart => &running,
            };
            let name = setting.name;
            assert_eq!((setting.show)(&applied), (setting.show)(expected), "{name}");
        }
        let now = running.changes(&loaded, Applies::AtReload);
        let later = running.changes(&loaded, Applies::AtStart);
        assert_eq!(now.len() + later.len(), SETTINGS.len());
        assert_eq!(applied.changes(&loaded, Applies::AtReload), []);
    }

    #[test]
    fn a_change_names_both_values_and_hides_secrets() {
        let running = Config::default();
        let mut loaded = Config::default();
        loaded.accounts.keys_max = 3;
        loaded.upstream.url = Some("http://u.example/{source_release_id}?token=hush".into());
        let changes = running.changes(&loaded, Applies::AtReload);
        let text = serde_json::to_string(&changes).unwrap();
        assert_eq!(
            text,
            "[{\"name\":\"upstream.url\",\"from\":null,\
               \"to\":\"set (hidden), http://u.example\"},\
             {\"name\":\"accounts.keys_max\",\"from\":25,\"to\":3}]"
        );
    }
}
