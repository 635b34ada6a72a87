//! Writes an invented catalog as import records:
//! `generate --records 1000000 --seed 42 [--past] [--own-titles] > file`.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use subcat_bench::catalog::Generator;

/// Writes an invented catalog as JSON lines, ready for `subcat import`.
#[derive(Parser)]
struct Arguments {
    /// Number of records; a smaller catalog is the beginning of a larger one.
    #[arg(long, default_value_t = 1_000_000)]
    records: u64,
    /// The same seed gives the same catalog.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Some records are of works whose uploads stopped years ago, which `search` finds last, or
    /// have titles or descriptions as long as they may be.
    #[arg(long)]
    past: bool,
    /// Every record has a title of its own.
    #[arg(long)]
    own_titles: bool,
}

/// Bytes that are buffered before a write.
const BATCH_BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    match generate(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has read enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("generate: cannot write the catalog: {error}; is the disk full?");
            ExitCode::FAILURE
        }
    }
}

fn generate(arguments: &Arguments) -> io::Result<()> {
    let mut generator = Generator::new(arguments.seed);
    if arguments.past {
        generator = generator.with_past();
    }
    if arguments.own_titles {
        generator = generator.with_own_titles();
    }
    let mut out = io::stdout().lock();
    let mut batch = String::with_capacity(BATCH_BYTES + 64 * 1024);
    for number in 0..arguments.records {
        generator.write(number, &mut batch);
        if batch.len() >= BATCH_BYTES {
            out.write_all(batch.as_bytes())?;
            batch.clear();
        }
    }
    out.write_all(batch.as_bytes())?;
    out.flush()
}
