//! `subcat man`: the manual.

use clap::{Args, CommandFactory};
use clap_mangen::Man as Page;

use super::arguments::Arguments;
use super::context::{Context, Stop, print};

/// Print the manual page, or that of a subcommand, in troff
#[derive(Debug, Args)]
pub(super) struct Man {
    /// The subcommand, such as `key create`
    command: Vec<String>,
}

impl Man {
    pub(super) fn run(self, _: &Context) -> Result<(), Stop> {
        let mut program = Arguments::command();
        program.build();
        let mut command = &program;
        for name in &self.command {
            let Some(found) = command.find_subcommand(name) else {
                let whole = self.command.join(" ");
                return Err(Stop::Usage(format!("there is no subcommand {whole}")));
            };
            command = found;
        }
        let mut page = Vec::new();
        let rendered = Page::new(command.clone()).render(&mut page);
        rendered.expect("writing to memory does not fail");
        print(&String::from_utf8_lossy(&page))
    }
}
