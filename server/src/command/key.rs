//! `subcat key`: API keys.

use clap::{Args, Subcommand};
use subcat_engine::model::{Day, RateLimit, Scopes, Timestamp};

use super::access::{Missing, perform_once};
use super::context::{Context, Stop, now};
use super::table::{facts, or_dash, or_never, table};
use crate::ops::{KeyCreated, KeyListed, KeyShown, NewKeyOrder, Operation};

/// Create, list, show and revoke API keys
#[derive(Debug, Args)]
pub(super) struct Key {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a key and print it: it cannot be shown again
    Create {
        /// A name that tells what it is for
        #[arg(long)]
        name: String,
        /// The account that it shall belong to
        #[arg(long, value_name = "EMAIL")]
        account: Option<String>,
        /// When it expires: in 30d, 12h or 90s, at the end of 2027-01-31, or never
        #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry)]
        expires: Expiry,
        /// What it may be used for, separated by commas: search, read, download [default: all]
        #[arg(long, value_name = "SCOPES", value_parser = scopes)]
        scope: Option<String>,
        /// Its own rate limit, such as 1000/60 [default: the server's]
        #[arg(long, value_name = "N/SECONDS", value_parser = limit)]
        limit: Option<String>,
    },
    /// List all keys
    List,
    /// Show a key with its usage per day
    Show {
        /// Its number in the list
        id: u64,
    },
    /// Revoke a key for good: no request with it is served any more
    Revoke {
        /// Its number in the list
        id: u64,
    },
}

/// When a key expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expiry {
    Never,
    InSeconds(i64),
    EndOf(Day),
}

impl Expiry {
    fn at(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Never => None,
            Self::InSeconds(seconds) => Some(now.plus_seconds(seconds)),
            Self::EndOf(day) => Some(day.end()),
        }
    }
}

fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    if let Some(day) = Day::parse(text) {
        return Ok(Expiry::EndOf(day));
    }
    for (unit, seconds) in [("d", 86_400_i64), ("h", 3_600), ("s", 1)] {
        let count = text
            .strip_suffix(unit)
            .and_then(|count| count.parse::<u32>().ok());
        if let Some(count) = count.filter(|count| *count != 0) {
            return Ok(Expiry::InSeconds(i64::from(count) * seconds));
        }
    }
    Err("write 30d, 12h, 90s, a date such as 2027-01-31, or never".into())
}

fn scopes(text: &str) -> Result<String, String> {
    let known = Scopes::parse(text).map(|_| text.to_owned());
    known.ok_or_else(|| "write any of search,read,download".into())
}

fn limit(text: &str) -> Result<String, String> {
    let known = RateLimit::parse(text).map(|_| text.to_owned());
    known.ok_or_else(|| "write REQUESTS/SECONDS, such as 60/60, both at least 1".into())
}

impl Key {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        match self.action {
            Action::Create {
                name,
                account,
                expires,
                scope,
                limit,
            } => {
                let order = NewKeyOrder {
                    name,
                    account,
                    expires_at: expires.at(now()).map(|at| at.to_string()),
                    scopes: scope,
                    limit,
                };
                let operation = Operation::KeyCreate(order);
                let answer = perform_once(config, Missing::Create, operation)?;
                context.show(&answer, created)
            }
            Action::List => {
                let answer = perform_once(config, Missing::Refuse, Operation::KeyList {})?;
                context.show(&answer, |keys: &Vec<KeyListed>| listed(keys))
            }
            Action::Show { id } => {
                let answer = perform_once(config, Missing::Refuse, Operation::KeyShow { id })?;
                context.show(&answer, shown)
            }
            Action::Revoke { id } => {
                let answer = perform_once(config, Missing::Refuse, Operation::KeyRevoke { id })?;
                context.show(&answer, |_: &serde_json::Value| {
                    format!("key {id} is revoked: no request with it is served any more\n")
                })
            }
        }
    }
}

fn created(key: &KeyCreated) -> String {
    let about = facts(&[
        ("id", key.id.to_string()),
        ("name", key.name.clone()),
        ("scopes", key.scopes.join(",")),
        ("expires", or_never(key.expires_at.as_ref())),
        ("limit", key.limit.clone()),
        ("key", key.key.clone()),
    ]);
    format!("{about}Keep the key now: it cannot be shown again.\n")
}

fn listed(keys: &[KeyListed]) -> String {
    let row = |key: &KeyListed| {
        vec![
            key.id.to_string(),
            key.name.clone(),
            key.partial.clone(),
            key.scopes.join(","),
            key.created_at.clone(),
            or_dash(key.last_used_at.as_ref()),
            or_never(key.expires_at.as_ref()),
            key.state.clone(),
            key.requests.to_string(),
            key.downloads.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = keys.iter().map(row).collect();
    let header = [
        "ID",
        "NAME",
        "KEY",
        "SCOPES",
        "CREATED",
        "LAST USED",
        "EXPIRES",
        "STATE",
        "REQUESTS",
        "DOWNLOADS",
    ];
    table(&header, &rows)
}

fn shown(key: &KeyShown) -> String {
    let listed = &key.listed;
    let about = facts(&[
        ("id", listed.id.to_string()),
        ("name", listed.name.clone()),
        ("key", listed.partial.clone()),
        ("account", or_dash(key.account.as_ref())),
        ("scopes", listed.scopes.join(",")),
        ("limit", key.limit.clone()),
        ("state", listed.state.clone()),
        ("created", listed.created_at.clone()),
        ("last used", or_dash(listed.last_used_at.as_ref())),
        ("expires", or_never(listed.expires_at.as_ref())),
        ("revoked", or_dash(key.revoked_at.as_ref())),
        ("requests", listed.requests.to_string()),
        ("downloads", listed.downloads.to_string()),
    ]);
    let days = super::stats::usage_table(&key.days);
    format!("{about}\n{days}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiry_is_a_span_a_date_or_never() {
        let now = Timestamp::parse("2026-11-21T10:00:00Z").unwrap();
        let check = |text: &str, expected: Option<&str>| {
            let at = expiry(text).unwrap().at(now).map(|at| at.to_string());
            assert_eq!(at.as_deref(), expected, "{text}");
        };
        check("never", None);
        check("30d", Some("2026-12-21T10:00:00Z"));
        check("12h", Some("2026-11-21T22:00:00Z"));
        check("90s", Some("2026-11-21T10:01:30Z"));
        check("2027-01-31", Some("2027-01-31T23:59:59Z"));
        check("4294967295d", Some("9999-12-31T23:59:59Z"));
        for text in [
            "",
            "0",
            "0d",
            "-1d",
            "1w",
            "d",
            "1.5d",
            "2027-02-30",
            "tomorrow",
        ] {
            assert!(expiry(text).is_err(), "{text}");
        }
    }
}
