//! `subcat completions`: a script for a shell.

use clap::Args;
use clap_complete::Shell;

use super::context::Context;
use super::error::CommandError;
use super::output::print;
use super::subcommand::Subcommand;

/// Print a script that completes commands in a shell
#[derive(Debug, Args)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

impl Subcommand for CompletionsArguments {
    const NAME: &'static str = "completions";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let mut script = Vec::new();
        let mut program = context.program().clone();
        clap_complete::generate(self.shell, &mut program, "subcat", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
