//! Search beside tantivy and SQLite: `scripts/compare-search`.

use std::process::ExitCode;

use clap::Parser;
use subcat_bench::arguments::{QueryArguments, exit_code, write_page};
use subcat_bench::error::Result;
use subcat_bench::machine::Machine;
use subcat_bench::peers::Contest;

/// Builds the indexes of all engines from one file of records and runs the same queries over all of
/// them. Writes `search-RECORDS.md` and `.json` to `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    queries: QueryArguments,
    /// Also measures with deleted records and several segments: six states of the catalog.
    #[arg(long)]
    lived_in: bool,
    /// Origin of the records, for the page.
    #[arg(long, default_value = "A given catalog")]
    source: String,
    /// Name of the machine in the folder of the run.
    #[arg(long)]
    machine: Option<String>,
    /// Prints the page only.
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    exit_code("compare-search", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let machine = Machine::here(arguments.machine.as_deref())?;
    let contest = Contest::run(&arguments.queries, arguments.lived_in)?;
    let page = contest.to_page(&machine, &arguments.source);
    print!("{page}");
    if arguments.dry_run {
        return Ok(());
    }
    let folder = machine.folder()?;
    let name = format!("search-{}", contest.records.0);
    write_page(&folder.join(format!("{name}.md")), &page)?;
    let json = contest.to_json(&machine, &arguments.source);
    write_page(&folder.join(format!("{name}.json")), &format!("{json:#}\n"))
}
