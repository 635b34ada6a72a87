//! `figures`: import, start, memory and searches of the whole service.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::catalog::write_file;
use subcat_bench::compare::Rig;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::figures::{Settings, take};
use subcat_bench::machine::Machine;
use subcat_bench::subcat::Program;

/// Seed of the generated catalog.
const SEED: u64 = 42;

/// Imports a catalog, starts and kills the service, sends requests. Writes
/// `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    /// Import records (JSON lines); otherwise a catalog is generated.
    #[arg(long)]
    catalog: Option<PathBuf>,
    /// Size of the generated catalog.
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// Imports.
    #[arg(long, default_value_t = 3)]
    imports: usize,
    /// Starts after a clean stop, and as many after kill -9.
    #[arg(long, default_value_t = 7)]
    starts: usize,
    /// Core of the server while one client sends requests.
    #[arg(long, default_value = "0")]
    server_core: String,
    /// Core of that client.
    #[arg(long, default_value = "1")]
    load_core: String,
    /// Folder of the programs under measurement.
    #[arg(long, default_value = "target/release")]
    programs: PathBuf,
    /// Name of this machine in the folder of the run; otherwise made from its processor.
    #[arg(long)]
    machine: Option<String>,
    /// Prints and does not write a run.
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("figures: {error}");
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
            eprintln!("generating {} records", arguments.records);
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
            rounds: arguments.imports,
            seconds: 0.0,
        },
        core: arguments.server_core.clone(),
        catalog,
        source: match &arguments.catalog {
            Some(_) => "a given catalog".to_owned(),
            None => format!("a generated catalog (seed {SEED})"),
        },
        starts: arguments.starts,
    };
    let figures = take(&settings, machine)?;
    let page = figures.to_page();
    println!("{page}");
    if arguments.dry_run {
        return Ok(());
    }
    let folder = figures.machine.folder()?;
    write(&folder.join("service.md"), &page)?;
    write(
        &folder.join("service.json"),
        &format!("{:#}\n", figures.to_json()),
    )?;
    eprintln!("written to {}", folder.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(BenchError::on(format!("write {}", path.display())))
}
