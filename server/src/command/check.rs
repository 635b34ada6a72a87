//! `subcat check`: the configuration in effect, or everything that is wrong with it.

use clap::Args;
use subcat_engine::error_chain;

use super::context::{Context, warn_of_variables};
use super::error::{CommandError, say};
use super::output::print;
use super::subcommand::Subcommand;
use super::table::{plain, table};
use crate::config::{Applies, Secrets};

/// Check the configuration and show it with the origin of each value
#[derive(Debug, Args)]
pub(super) struct CheckArguments {
    /// Show secrets, too: tokens, keys, passwords
    #[arg(long)]
    show_secrets: bool,
}

impl Subcommand for CheckArguments {
    const NAME: &'static str = "check";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let effective = match context.load(&[]) {
            Ok(effective) => effective,
            Err(errors) => {
                // Other subcommands write one line; a check shows each error on its own.
                for error in &errors.0 {
                    say(&error_chain(error));
                }
                let status = if errors.is_usage() { 2 } else { 1 };
                return Err(CommandError::Reported(status));
            }
        };
        warn_of_variables(&effective);
        let config = &effective.config;
        if config.files_cache_bytes != 0 && !config.files_can_come_back() {
            say(
                "files.cache_bytes has no effect without upstream.url or files.s3: files that \
                 are nowhere else are kept",
            );
        }
        let secrets = if self.show_secrets {
            Secrets::Shown
        } else {
            Secrets::Hidden
        };
        let entries = effective.entries(secrets);
        if context.is_json() {
            let entries = serde_json::to_string(&entries);
            let entries = entries.expect("texts and numbers always serialise");
            return print(&format!("{entries}\n"));
        }
        print(&table(
            &entries,
            &[
                ("SETTING", |entry| entry.name.into()),
                ("VALUE", |entry| plain(&entry.value)),
                ("CHANGED BY", |entry| match entry.applies {
                    Applies::AtReload => "reload".to_owned(),
                    Applies::AtStart => "restart".to_owned(),
                }),
                ("ORIGIN", |entry| entry.origin.clone()),
            ],
        ))
    }
}
