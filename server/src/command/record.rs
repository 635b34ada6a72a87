//! `subcat record`: single records.

use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use subcat_engine::model::RecordId;

use super::access::{Missing, perform_once};
use super::context::{Context, Stop};
use super::table::facts;
use crate::ops::Operation;

/// Show, switch and delete single records
#[derive(Debug, Args)]
pub(super) struct Record {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make a record visible or invisible
    Set {
        /// Its id
        #[arg(value_parser = record_id)]
        id: RecordId,
        /// Whether it can be found and downloaded
        #[arg(long, value_name = "true|false", action = clap::ArgAction::Set)]
        active: bool,
    },
    /// Show a record as it is stored
    Show {
        /// Its id
        #[arg(value_parser = record_id)]
        id: RecordId,
    },
    /// Delete records: all of them, or none when one is unknown
    Delete {
        /// Their ids
        #[arg(value_parser = record_id, required = true)]
        ids: Vec<RecordId>,
    },
}

fn record_id(text: &str) -> Result<RecordId, String> {
    RecordId::parse(text).ok_or_else(|| "a record's id is a UUID".into())
}

impl Record {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let operation = match &self.action {
            Action::Set { id, active } => Operation::RecordSet {
                id: id.to_string(),
                is_active: *active,
            },
            Action::Show { id } => Operation::RecordShow { id: id.to_string() },
            Action::Delete { ids } => Operation::RecordDelete {
                ids: ids.iter().map(ToString::to_string).collect(),
            },
        };
        let config = context.effective(&[])?.config;
        let answer = perform_once(config, Missing::Refuse, operation)?;
        context.show(&answer, |answer: &Map<String, Value>| match &self.action {
            Action::Set { id, active: true } => format!("{id} is active\n"),
            Action::Set { id, active: false } => format!("{id} is inactive\n"),
            Action::Show { .. } => shown(answer),
            Action::Delete { .. } => format!("{} deleted\n", answer["deleted"]),
        })
    }
}

/// Every field with its value; texts of several lines stay in one.
fn shown(record: &Map<String, Value>) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.escape_debug().to_string(),
        other => other.to_string(),
    };
    let lines: Vec<(&str, String)> = record
        .iter()
        .map(|(name, value)| (name.as_str(), text(value)))
        .collect();
    facts(&lines)
}
