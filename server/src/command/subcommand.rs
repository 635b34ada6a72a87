//! A subcommand: its arguments, and the function that runs it.

use clap::{ArgMatches, Args, Command};

use super::context::Context;
use super::error::CommandError;

/// The arguments of a subcommand, which clap reads, and its execution.
pub(super) trait Subcommand: Args {
    /// Name of the subcommand.
    const NAME: &'static str;

    /// Does it.
    fn run(self, context: &Context) -> Result<(), CommandError>;
}

/// A subcommand in the list of the program.
pub(super) struct SubcommandEntry {
    /// Name of the subcommand.
    pub name: &'static str,
    /// Definition for clap: help and arguments.
    pub define: fn() -> Command,
    /// Runs it with the arguments that clap has read.
    pub run: fn(&ArgMatches, &Context) -> Result<(), CommandError>,
}

impl SubcommandEntry {
    /// The entry of one type of arguments.
    pub(super) const fn of<S: Subcommand>() -> Self {
        Self {
            name: S::NAME,
            define: || S::augment_args(Command::new(S::NAME)),
            run: |matches, context| S::from_arg_matches(matches)?.run(context),
        }
    }
}
