//! `subcat version`.

use clap::Args;
use serde_json::json;

use super::context::{Context, Stop, print};

/// Print the version
#[derive(Debug, Args)]
pub(super) struct Version {}

impl Version {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let version = env!("CARGO_PKG_VERSION");
        if context.is_json() {
            return print(&format!("{}\n", json!({ "version": version })));
        }
        print(&format!("subcat {version}\n"))
    }
}
