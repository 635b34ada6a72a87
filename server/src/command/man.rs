//! `subcat man`: the manual.

use clap::Args;
use clap_mangen::Man;

use super::context::Context;
use super::error::CommandError;
use super::output::print;
use super::subcommand::Subcommand;

/// Print the manual page, or that of a subcommand, in troff
#[derive(Debug, Args)]
pub(super) struct ManArguments {
    /// The subcommand, such as `key create`
    command: Vec<String>,
}

/// A manual page of a subcommand that does not exist.
#[derive(Debug, thiserror::Error)]
#[error("there is no subcommand {0}")]
struct UnknownSubcommandError(String);

impl Subcommand for ManArguments {
    const NAME: &'static str = "man";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let mut program = context.program().clone();
        program.build();
        let mut command = &program;
        for name in &self.command {
            let Some(found) = command.find_subcommand(name) else {
                let error = UnknownSubcommandError(self.command.join(" "));
                return Err(CommandError::usage(error));
            };
            command = found;
        }
        let mut page = Vec::new();
        let rendered = Man::new(command.clone()).render(&mut page);
        rendered.expect("writing to memory does not fail");
        print(&String::from_utf8_lossy(&page))
    }
}
