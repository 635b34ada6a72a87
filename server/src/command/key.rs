//! `subcat key`: API keys.

use clap::Args;
use subcat_engine::{Expiry, ExpiryPassed, ROLL_DAYS_MAX, RateLimit, Scopes};

use super::access::{Missing, execute_once, run_operation};
use super::context::{Context, now};
use super::error::{ArgumentError, CommandError};
use super::subcommand::Subcommand;
use super::table::{facts, or_dash, or_never, table, usage_table};
use crate::ops::{
    CreateKey, KeyCreated, KeyListed, KeyShown, ListKeys, RevokeKey, RollKey, SetKeyLimit, ShowKey,
};

/// Word for the server's limit.
const DEFAULT_LIMIT: &str = "default";

/// Create, list, show and revoke API keys
#[derive(Debug, Args)]
pub(super) struct KeyArguments {
    #[command(subcommand)]
    action: KeyAction,
}

#[derive(Debug, clap::Subcommand)]
enum KeyAction {
    /// Create a key and print it: it cannot be shown again
    Create {
        /// A descriptive name
        #[arg(long)]
        name: String,
        /// The account that owns it
        #[arg(long, value_name = "EMAIL")]
        account: Option<String>,
        /// Expiry: in 30d, 12h or 90s, at the end of 2027-01-31, or never
        #[arg(long, value_name = "WHEN", default_value = "never", value_parser = expiry)]
        expires: Expiry,
        /// Permissions, separated by commas: search, read, download [default: these]; or address
        /// alone, for programs that take only an address
        #[arg(long, value_name = "SCOPES", value_parser = scopes)]
        scope: Option<String>,
        /// Rate limit of the key, such as 1000/60 [default: the server's]
        #[arg(long, value_name = "N/SECONDS", value_parser = limit)]
        limit: Option<String>,
    },
    /// List all keys
    List,
    /// Show a key with its usage per day
    Show {
        /// Id of the key in the list
        id: u64,
    },
    /// Replace a key: the new one has its name, scopes, limit and usage history
    Roll {
        /// Id of the key in the list
        id: u64,
        /// Days for which the old key remains valid, 0 to 30
        #[arg(long, value_name = "DAYS", default_value_t = 7,
              value_parser = clap::value_parser!(u32).range(..=i64::from(ROLL_DAYS_MAX)))]
        grace_days: u32,
        /// Expiry of the new key: in 30d, 12h or 90s, at the end of 2027-01-31, or never
        #[arg(long, value_name = "WHEN", default_value = "90d", value_parser = expiry)]
        expires: Expiry,
    },
    /// Change the rate limit of a key: it holds from the next request on
    Limit {
        /// Id of the key in the list
        id: u64,
        /// Rate limit of the key, such as 1000/60, or default for the server's
        #[arg(value_name = "N/SECONDS", value_parser = limit_or_default)]
        limit: String,
    },
    /// Revoke a key for good: later requests with it are rejected
    Revoke {
        /// Id of the key in the list
        id: u64,
    },
}

fn expiry(text: &str) -> Result<Expiry, ArgumentError> {
    let advice = "write 30d, 12h, 90s, a date such as 2027-01-31, or never";
    ArgumentError::unless(Expiry::parse(text), advice)
}

fn scopes(text: &str) -> Result<String, ArgumentError> {
    let scopes = Scopes::parse(text).map(|_| text.to_owned());
    ArgumentError::unless(
        scopes,
        "write any of search,read,download, or address alone",
    )
}

fn limit(text: &str) -> Result<String, ArgumentError> {
    let limit = RateLimit::parse(text).map(|_| text.to_owned());
    let advice = "write REQUESTS/SECONDS, such as 60/60, both at least 1";
    ArgumentError::unless(limit, advice)
}

fn limit_or_default(text: &str) -> Result<String, ArgumentError> {
    if text == DEFAULT_LIMIT {
        Ok(text.to_owned())
    } else {
        limit(text)
    }
}

impl Subcommand for KeyArguments {
    const NAME: &'static str = "key";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            KeyAction::Create {
                name,
                account,
                expires,
                scope,
                limit,
            } => {
                let config = context.effective_of_existing()?;
                let create = CreateKey {
                    name,
                    account,
                    expires_at: moment(expires),
                    scopes: scope,
                    limit,
                };
                let reply = execute_once(config, Missing::Create, create)?;
                context.show(&reply, created)
            }
            KeyAction::List => run_operation(context, ListKeys {}, |keys| listed(keys)),
            KeyAction::Show { id } => run_operation(context, ShowKey { id }, shown),
            KeyAction::Roll {
                id,
                grace_days,
                expires,
            } => {
                let roll = RollKey {
                    id,
                    grace_days,
                    expires_at: moment(expires),
                };
                run_operation(context, roll, |rolled| {
                    let old_end = &rolled.old_ends_at;
                    let text = created(&rolled.created);
                    format!("{text}Key {id}, which it replaces, is revoked at {old_end}.\n")
                })
            }
            KeyAction::Limit { id, limit } => {
                let limit = Some(limit).filter(|limit| limit != DEFAULT_LIMIT);
                let set = SetKeyLimit { id, limit };
                run_operation(context, set, |set| {
                    let (requests, seconds) = set.limit.split_once('/').unwrap_or_default();
                    format!("key {id} may make {requests} requests in {seconds} seconds\n")
                })
            }
            KeyAction::Revoke { id } => run_operation(context, RevokeKey { id }, |revoked| {
                let rejected = "requests with it are rejected from now on";
                let mut text = format!("key {id} is revoked: {rejected}\n");
                for node in &revoked.unconfirmed {
                    text.push_str(node);
                    text.push('\n');
                }
                text
            }),
        }
    }
}

/// The moment of an expiry. Resolved here, because an operation carries a point in time: a span
/// would count from its arrival. The operation itself rejects a time that has passed.
fn moment(expiry: Expiry) -> Option<String> {
    let at = match expiry.resolve(now()) {
        Ok(at) => at,
        Err(ExpiryPassed(at)) => Some(at),
    };
    at.map(|at| at.to_string())
}

fn created(key: &KeyCreated) -> String {
    let mut lines = vec![
        ("id", key.id.to_string()),
        ("name", key.name.clone()),
        ("scopes", key.scopes.join(",")),
        ("expires", or_never(key.expires_at.as_ref())),
        ("limit", key.limit.clone()),
        ("key", key.key.clone()),
    ];
    lines.extend(key.address.iter().map(|url| ("address", url.clone())));
    let about = facts(&lines);
    format!("{about}Keep the key now: it cannot be shown again.\n")
}

fn listed(keys: &[KeyListed]) -> String {
    table(
        keys,
        &[
            ("ID", |key| key.id.to_string()),
            ("NAME", |key| key.name.clone()),
            ("KEY", |key| key.partial.clone()),
            ("SCOPES", |key| key.scopes.join(",")),
            ("CREATED", |key| key.created_at.clone()),
            ("LAST USED", |key| or_dash(key.last_used_at.as_ref())),
            ("ENDS", |key| {
                or_never(key.ends_at.as_ref().or(key.expires_at.as_ref()))
            }),
            ("STATE", |key| key.state.clone()),
            ("REQUESTS", |key| key.requests.to_string()),
            ("DOWNLOADS", |key| key.downloads.to_string()),
        ],
    )
}

fn shown(key: &KeyShown) -> String {
    let listed = &key.listed;
    let replaced_by = listed.replaced_by.map(|id| id.to_string());
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
        ("replaced by", or_dash(replaced_by.as_ref())),
        ("requests", listed.requests.to_string()),
        ("downloads", listed.downloads.to_string()),
    ]);
    let days = usage_table(&key.days);
    format!("{about}\n{days}")
}
