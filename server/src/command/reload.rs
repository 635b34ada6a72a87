//! `subcat reload`: the running server reads its settings again.

use clap::Args;

use super::access::run_operation;
use super::context::Context;
use super::error::CommandError;
use super::subcommand::Subcommand;
use super::table::plain;
use crate::config::SettingChange;
use crate::ops::ReloadSettings;
use crate::service::Reloaded;

/// Let the running server read its settings again
///
/// It applies limits, log level, upstream, trusted proxies and registration without closing a
/// connection, and names the settings that need a restart. If anything is not valid, nothing
/// changes. SIGHUP does the same.
#[derive(Debug, Args)]
pub(super) struct ReloadArguments {}

impl Subcommand for ReloadArguments {
    const NAME: &'static str = "reload";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        run_operation(context, ReloadSettings {}, shown)
    }
}

fn shown(reloaded: &Reloaded) -> String {
    let mut out = String::new();
    if reloaded.applied.is_empty() {
        out.push_str("nothing to apply: the settings are as they were\n");
    }
    for change in &reloaded.applied {
        out.push_str(&format!("applied        {}\n", change_line(change)));
    }
    for change in &reloaded.needs_restart {
        out.push_str(&format!("needs restart  {}\n", change_line(change)));
    }
    out
}

fn change_line(change: &SettingChange) -> String {
    let SettingChange { name, from, to } = change;
    format!("{name}: {} -> {}", plain(from), plain(to))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn changes_are_shown_by_what_becomes_of_them() {
        let change = |name: &str, from, to| SettingChange {
            name: name.into(),
            from,
            to,
        };
        let reloaded = Reloaded {
            applied: vec![change("upstream.url", Value::Null, json!("set (hidden)"))],
            needs_restart: vec![change("workers", json!(1), json!(2))],
        };
        let expected = "applied        upstream.url: - -> set (hidden)\n\
                        needs restart  workers: 1 -> 2\n";
        assert_eq!(shown(&reloaded), expected);
    }
}
