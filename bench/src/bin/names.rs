//! Asks for records by names in every form: `names --catalog FILE [--titles N] [--per-form N]`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::arguments::exit_code;
use subcat_bench::error::Result;
use subcat_bench::names::{NameCatalog, NameReport};
use subcat_bench::search::{RecordFile, Records};

/// Makes names of files and releases from the titles of a catalog, and prints the share that has
/// the right record first, by form.
#[derive(Parser)]
struct Arguments {
    /// Import records (JSON lines).
    #[arg(long)]
    catalog: PathBuf,
    /// Titles that are taken from it.
    #[arg(long, default_value_t = 4_000)]
    titles: usize,
    /// Names of each form.
    #[arg(long, default_value_t = 2_000)]
    per_form: usize,
}

fn main() -> ExitCode {
    exit_code("names", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let records = RecordFile::open(&arguments.catalog, usize::MAX)?;
    let step = (records.count() / arguments.titles).max(1);
    let mut titles = Vec::with_capacity(arguments.titles);
    for idx in (0..records.count()).step_by(step) {
        titles.push(records.record(idx)?.title);
    }
    let catalog = NameCatalog::new(&titles)?;
    println!("{} records", catalog.subjects.len());
    println!();
    print!("{}", NameReport::new(&catalog, arguments.per_form)?);
    Ok(())
}
