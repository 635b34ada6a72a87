//! `compare-serving`: the service beside nginx and the floor of this kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::catalog::write_file;
use subcat_bench::compare::{Outcome, Rig, Settings, conduct, picture, table};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::machine::Machine;
use subcat_bench::subcat::Program;

/// Seed of the generated catalog.
const SEED: u64 = 42;

/// Compares serving with nginx and with a canned-answer loop; writes `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    /// Import records to load (JSON lines); otherwise a catalog is generated.
    #[arg(long)]
    catalog: Option<PathBuf>,
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
    /// Core of the servers.
    #[arg(long, default_value = "0")]
    server_core: String,
    /// Core of the load program.
    #[arg(long, default_value = "1")]
    load_core: String,
    /// Folder of the programs under measurement.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
    /// Name of this machine in the folder of the run; otherwise made from its processor.
    #[arg(long)]
    machine: Option<String>,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("compare-serving: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let machine = Machine::here(arguments.machine.as_deref())?;
    let folder = tempfile::tempdir().map_err(BenchError::on("make a temporary folder"))?;
    let catalog = match &arguments.catalog {
        Some(catalog) => catalog.clone(),
        None => {
            let path = folder.path().join("catalog.jsonl");
            write_file(&path, SEED, arguments.records)?;
            path
        }
    };
    let settings = Settings {
        program: Program::new(&arguments.programs.join("subcat"))?,
        floor: arguments.programs.join("floor"),
        rig: Rig {
            load: arguments.programs.join("load"),
            cores: Some(arguments.load_core.clone()),
            gives_way: false,
            rounds: arguments.rounds,
            seconds: arguments.seconds,
        },
        catalog: Some(catalog),
        core: arguments.server_core.clone(),
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
    write(&folder.join("serving.json"), &json)?;
    write(&folder.join("serving.md"), page)?;
    write(&folder.join("serving.svg"), &picture(outcome))?;
    eprintln!("written to {}", folder.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(BenchError::on(format!("write {}", path.display())))
}
