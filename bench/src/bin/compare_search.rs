//! Search beside tantivy and SQLite: `scripts/compare-search`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::machine::Machine;
use subcat_bench::peers::{Contest, ContestOptions};

/// Builds the indexes of all engines from one file of records and runs the same queries over all of
/// them. Writes `search-RECORDS.md` and `.json` to `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    /// Import records as JSON lines.
    #[arg(long)]
    catalog: PathBuf,
    /// Origin of the records, for the page.
    #[arg(long, default_value = "A given catalog")]
    source: String,
    /// Most records to read.
    #[arg(long, default_value_t = usize::MAX)]
    records: usize,
    /// Queries of each set.
    #[arg(long, default_value_t = 200)]
    queries: usize,
    /// Measurements of each query; the median counts.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only sets whose name contains this.
    #[arg(long, default_value = "")]
    set: String,
    /// Name of the machine in the folder of the run.
    #[arg(long)]
    machine: Option<String>,
    /// Prints the page only.
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-search: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<()> {
    let machine = Machine::here(arguments.machine.as_deref())?;
    let contest = Contest::run(&ContestOptions {
        catalog: arguments.catalog,
        records: arguments.records,
        queries: arguments.queries,
        rounds: arguments.rounds,
        set: arguments.set,
    })?;
    let page = contest.to_page(&machine, &arguments.source);
    print!("{page}");
    if arguments.dry_run {
        return Ok(());
    }
    let folder = machine.folder()?;
    let name = format!("search-{}", contest.records.0);
    let write = |ending: &str, text: String| {
        let path = folder.join(format!("{name}.{ending}"));
        fs::write(&path, text).map_err(BenchError::on(format!("write {}", path.display())))
    };
    write("md", page)?;
    let json = contest.to_json(&machine, &arguments.source);
    write("json", format!("{json:#}\n"))
}
