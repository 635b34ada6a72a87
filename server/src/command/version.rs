//! `subcat version`.

use clap::Args;
use serde_json::json;

use super::context::Context;
use super::error::CommandError;
use super::output::print;
use super::subcommand::Subcommand;

/// Print the version
#[derive(Debug, Args)]
pub(super) struct VersionArguments {}

impl Subcommand for VersionArguments {
    const NAME: &'static str = "version";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let version = env!("CARGO_PKG_VERSION");
        if context.is_json() {
            return print(&format!("{}\n", json!({ "version": version })));
        }
        print(&format!("subcat {version}\n"))
    }
}
