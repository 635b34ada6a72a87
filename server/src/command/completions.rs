//! `subcat completions`: a script for a shell.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::arguments::Arguments;
use super::context::{Context, Stop, print};

/// Print a script that completes commands in a shell
#[derive(Debug, Args)]
pub(super) struct Completions {
    /// For which shell
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self, _: &Context) -> Result<(), Stop> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "subcat", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
