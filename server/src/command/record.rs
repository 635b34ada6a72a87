//! `subcat record`: single records.

use clap::Args;
use serde_json::{Map, Value};
use subcat_engine::RecordId;

use super::access::run_operation;
use super::context::Context;
use super::error::{ArgumentError, CommandError};
use super::subcommand::Subcommand;
use super::table::facts;
use crate::ops::{DeleteRecords, SetRecordActive, ShowRecord};

/// Show, switch and delete single records
#[derive(Debug, Args)]
pub(super) struct RecordArguments {
    #[command(subcommand)]
    action: RecordAction,
}

#[derive(Debug, clap::Subcommand)]
enum RecordAction {
    /// Make a record visible or invisible
    Set {
        /// Id of the record
        #[arg(value_parser = record_id)]
        id: RecordId,
        /// true to make it visible, false to hide it
        #[arg(long, value_name = "true|false", action = clap::ArgAction::Set)]
        active: bool,
    },
    /// Show the stored record
    Show {
        /// Id of the record
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

fn record_id(text: &str) -> Result<RecordId, ArgumentError> {
    ArgumentError::unless(RecordId::parse(text), "a record's id is a UUID")
}

impl Subcommand for RecordArguments {
    const NAME: &'static str = "record";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            RecordAction::Set { id, active } => {
                let set = SetRecordActive {
                    id: id.to_string(),
                    is_active: active,
                };
                let state = if active { "active" } else { "inactive" };
                run_operation(context, set, |_| format!("{id} is {state}\n"))
            }
            RecordAction::Show { id } => {
                let show = ShowRecord { id: id.to_string() };
                run_operation(context, show, shown)
            }
            RecordAction::Delete { ids } => {
                let delete = DeleteRecords {
                    ids: ids.iter().map(ToString::to_string).collect(),
                };
                run_operation(context, delete, |done| {
                    format!("{} deleted\n", done.deleted)
                })
            }
        }
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
