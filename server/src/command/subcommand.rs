//! A subcommand: its arguments, and what runs them.

use clap::{ArgMatches, Args, Command};

use super::context::Context;
use super::error::CommandError;

/// The arguments of a subcommand, which clap reads, and what they lead to.
pub(super) trait Subcommand: Args {
    /// Its name.
    const NAME: &'static str;

    /// Does it.
    fn run(self, context: &Context) -> Result<(), CommandError>;
}

/// A subcommand in the list of the program.
pub(super) struct SubcommandEntry {
    /// Its name.
    pub name: &'static str,
    /// Its definition for clap: help and arguments.
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
