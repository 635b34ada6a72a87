//! Measures small changes, and starts with a past: `lived-in changes`, `lived-in past DATA`,
//! `lived-in start DATA`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Parser, Subcommand};
use subcat_bench::arguments::exit_code;
use subcat_bench::error::{BenchError, Result};
use subcat_bench::past;
use subcat_bench::process::memory;
use subcat_bench::search::{Deletion, Times, process_nanoseconds, thread_nanoseconds};
use subcat_engine::{DraftValue, Engine, RecordDraft, RecordId};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// CPU of one small change beside a delta.
    Changes {
        /// Records of the delta.
        #[arg(long, default_value_t = 4_000)]
        delta: u64,
        /// Changes of each kind.
        #[arg(long, default_value_t = 90)]
        rounds: u64,
    },
    /// Adds downloads of every record and cached files to a data directory, and deletes records.
    Past {
        data: PathBuf,
        /// Cached files.
        #[arg(long, default_value_t = 200_000)]
        files: usize,
        /// Deleted records, as a number or in percent.
        #[arg(long, default_value = "0")]
        deleted: Deletion,
    },
    /// Opens a data directory: time, memory, and what the statistics take.
    Start { data: PathBuf },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().what {
        What::Changes { delta, rounds } => changes(delta, rounds),
        What::Past {
            data,
            files,
            deleted,
        } => past::open(&data).and_then(|engine| {
            past::add(&engine, files)?;
            past::delete(&engine, deleted)?;
            engine.close().map_err(failed("close"))
        }),
        What::Start { data } => start(&data),
    };
    exit_code("lived-in", done)
}

fn failed(what: &str) -> impl FnOnce(subcat_engine::Error) -> BenchError {
    BenchError::on(what)
}

fn id(number: u64) -> RecordId {
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    RecordId::from_bytes(((u128::from(spread) << 64) | u128::from(number)).to_be_bytes())
}

fn import(engine: &Engine, numbers: impl Iterator<Item = u64>, version: &str) -> Result<()> {
    let mut importer = engine.catalog().importer();
    let text = |text: String| DraftValue::Text(text.into());
    for number in numbers {
        let draft = RecordDraft {
            id: text(id(number).to_string()),
            video_type: text("movie".into()),
            title: text(format!("La casa número {}", number % 500)),
            description: text(format!(
                "{version} sincronizada para la edición {number}, corregida y ampliada \
                 con letreros y canciones, sin publicidad"
            )),
            posted_at: text(format!("20{:02}-01-02T03:04:05Z", number % 24)),
            ..RecordDraft::default()
        };
        let pushed = importer.push(draft).map_err(failed("import"))?;
        pushed.map_err(BenchError::on("import"))?;
    }
    importer.finish(&mut |_| {}).map_err(failed("import"))?;
    Ok(())
}

fn changes(delta: u64, rounds: u64) -> Result<()> {
    let folder = tempfile::tempdir().map_err(BenchError::on("make a temporary folder"))?;
    let engine = past::open(&folder.path().join("data"))?;
    import(&engine, 0..delta, "primera")?;
    println!(
        "beside a delta of {}, CPU ms of this thread: mean, median, 99 %, most",
        engine.stats().map_err(failed("count"))?.delta_records
    );
    let catalog = engine.catalog();
    measure("one switched off", rounds, |round| {
        let switched = catalog.set_active(id(round), false);
        switched.map(|_| ()).map_err(failed("switch off"))
    })?;
    measure("one deleted", rounds, |round| {
        let deleted = catalog.delete_records(&[id(rounds + round)]);
        deleted.map(|_| ()).map_err(failed("delete"))
    })?;
    measure("one changed", rounds, |round| {
        let number = 2 * rounds + round;
        import(&engine, number..=number, "segunda")
    })?;
    measure("one equal to what is stored", rounds, |round| {
        let number = 3 * rounds + round;
        import(&engine, number..=number, "primera")
    })?;
    Ok(())
}

fn measure(what: &str, rounds: u64, mut work: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut times = Times::default();
    for round in 0..rounds {
        let began = thread_nanoseconds();
        work(round)?;
        times.push(thread_nanoseconds() - began);
    }
    println!(
        "{what:<28} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
        times.mean_us() / 1e3,
        times.quantile_us(0.5) / 1e3,
        times.quantile_us(0.99) / 1e3,
        times.quantile_us(1.0) / 1e3,
    );
    Ok(())
}

fn start(data: &Path) -> Result<()> {
    let own = || -> Result<f64> {
        let memory = memory(&[std::process::id()])?;
        Ok(memory.anonymous_bytes as f64 / f64::from(1 << 20))
    };
    let before = own()?;
    let (began, cpu) = (Instant::now(), process_nanoseconds());
    let engine = past::open(data)?;
    println!(
        "opened in {:.0} ms, {:.0} ms of CPU, {:.1} MiB of own memory ({before:.1} before)",
        began.elapsed().as_secs_f64() * 1e3,
        (process_nanoseconds() - cpu) as f64 / 1e6,
        own()?,
    );
    let mut times = Times::default();
    for _ in 0..101 {
        let cpu = thread_nanoseconds();
        engine.stats().map_err(failed("count"))?;
        times.push(thread_nanoseconds() - cpu);
    }
    println!(
        "statistics: median {:.0} µs, most {:.0} µs of CPU",
        times.quantile_us(0.5),
        times.quantile_us(1.0)
    );
    Ok(())
}
