//! `figures`: import, start, memory and searches of the whole service.

use std::process::ExitCode;

use clap::Parser;
use subcat_bench::arguments::{SEED, ServiceArguments, exit_code, write_page};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::figures::{Settings, take};
use subcat_bench::machine::Machine;
use subcat_bench::search::Deletion;

/// Imports a catalog, starts and kills the service, sends requests. Writes
/// `bench/runs/DATE-MACHINE/`.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    service: ServiceArguments,
    /// Size of the generated catalog.
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// Imports.
    #[arg(long, default_value_t = 3)]
    imports: usize,
    /// Starts after a clean stop, and as many after kill -9.
    #[arg(long, default_value_t = 7)]
    starts: usize,
    /// Records deleted after the import, as a number or in percent.
    #[arg(long, default_value = "0")]
    deleted: Deletion,
    /// Imports the catalog by and by, so that its index has several segments.
    #[arg(long)]
    pieces: bool,
    /// Prints and does not write a run.
    #[arg(long)]
    dry_run: bool,
}

fn main() -> ExitCode {
    exit_code("figures", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let service = &arguments.service;
    let machine = Machine::here(service.machine.as_deref())?;
    let folder = tempfile::tempdir().map_err(BenchError::on("make a temporary folder"))?;
    let settings = Settings {
        program: service.service()?,
        floor: service.floor(),
        rig: service.rig(arguments.imports, 0.0),
        core: service.server_core.clone(),
        catalog: service.catalog(arguments.records, &folder)?,
        source: match &service.catalog {
            Some(_) => "a given catalog".to_owned(),
            None => format!("a generated catalog (seed {SEED})"),
        },
        starts: arguments.starts,
        deleted: arguments.deleted,
        in_pieces: arguments.pieces,
    };
    let figures = take(&settings, machine)?;
    let page = figures.to_page();
    println!("{page}");
    if arguments.dry_run {
        return Ok(());
    }
    let folder = figures.machine.folder()?;
    let mut name = String::from("service");
    if arguments.deleted != Deletion::Count(0) {
        name.push_str("-deleted");
    }
    if arguments.pieces {
        name.push_str("-pieces");
    }
    write_page(&folder.join(format!("{name}.md")), &page)?;
    let json = figures.to_json();
    write_page(&folder.join(format!("{name}.json")), &format!("{json:#}\n"))?;
    eprintln!("written to {}", folder.display());
    Ok(())
}
