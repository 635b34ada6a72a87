//! `compare-serving`: the service beside nginx and the floor of this kernel.

use std::process::ExitCode;

use clap::Parser;
use subcat_bench::arguments::{ServiceArguments, exit_code, write_page};
use subcat_bench::compare::{Outcome, Settings, conduct, picture, table};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::machine::Machine;

/// Compares serving with nginx and with a canned-answer loop; writes `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    service: ServiceArguments,
    /// Size of the generated catalog.
    #[arg(long, default_value_t = 100_000)]
    records: u64,
    /// Rounds.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Seconds of each load.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Idle connections to hold; 0 skips that measurement.
    #[arg(long, default_value_t = 10_000)]
    idle: usize,
    /// Only this work: search, record, file-40k, file-8m, gzip-60k. Prints without writing a run.
    #[arg(long)]
    only: Option<String>,
}

fn main() -> ExitCode {
    exit_code("compare-serving", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let service = &arguments.service;
    let machine = Machine::here(service.machine.as_deref())?;
    let folder = tempfile::tempdir().map_err(BenchError::on("make a temporary folder"))?;
    let settings = Settings {
        program: service.service()?,
        floor: service.floor(),
        rig: service.rig(arguments.rounds, arguments.seconds),
        catalog: Some(service.catalog(arguments.records, &folder)?),
        core: service.server_core.clone(),
        idle: arguments.idle,
        only: arguments.only.clone(),
    };
    let outcome = conduct(&settings, machine)?;
    let page = table(&outcome);
    println!("{page}");
    if arguments.only.is_some() {
        return Ok(());
    }
    write_run(&outcome, &page)
}

fn write_run(outcome: &Outcome, page: &str) -> Result<()> {
    let folder = outcome.machine.folder()?;
    let json = format!("{:#}\n", outcome.to_json());
    write_page(&folder.join("serving.json"), &json)?;
    write_page(&folder.join("serving.md"), page)?;
    write_page(&folder.join("serving.svg"), &picture(outcome))?;
    eprintln!("written to {}", folder.display());
    Ok(())
}
