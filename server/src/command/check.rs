//! `subcat check`: is the configuration right, and where does each value come from?

use clap::Args;
use serde_json::Value;

use super::context::{Context, Stop, print, say};
use super::table::table;
use crate::config::Fault;

/// Check the configuration and show it with the origin of each value
#[derive(Debug, Args)]
pub(super) struct Check {}

impl Check {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let effective = match context.effective(&[]) {
            Ok(effective) => effective,
            Err(faults) => {
                // Whoever checks wants to see everything that is wrong, a line each.
                for fault in &faults.0 {
                    say(&fault.to_string());
                }
                let is_usage = faults.0.iter().all(Fault::is_usage);
                return Err(Stop::Said(if is_usage { 2 } else { 1 }));
            }
        };
        if context.is_json() {
            let entries = serde_json::to_string(&effective.entries);
            let entries = entries.expect("texts and numbers always serialise");
            return print(&format!("{entries}\n"));
        }
        let rows: Vec<Vec<String>> = effective
            .entries
            .iter()
            .map(|entry| vec![entry.name.into(), plain(&entry.value), entry.origin.clone()])
            .collect();
        print(&table(&["SETTING", "VALUE", "ORIGIN"], &rows))
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".into(),
        other => other.to_string(),
    }
}
