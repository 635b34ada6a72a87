//! Measures searches by the name of a release:
//! `releases --catalog FILE [--records N] [--rounds N] [--queries N] [--set NAME]`.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use subcat_bench::arguments::{QueryArguments, exit_code};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::search::{
    HeldOut, QuerySet, RecordFile, Records, Times, held_out, release_sets, thread_nanoseconds,
    with_release, worst_requests,
};
use subcat_engine::{Snapshot, fold, internals::Tombstones, words};

/// Words of the release that all worst requests are weighed by: as many as count.
const WORST_WORDS: usize = 16;

/// Asks for records by the names of their releases: is the own release first, and what does it
/// cost?
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    queries: QueryArguments,
    /// Records whose own release is asked for.
    #[arg(long, default_value_t = 10_000)]
    held_out: usize,
    /// Prints the slowest query of each set.
    #[arg(long)]
    slowest: bool,
}

fn main() -> ExitCode {
    exit_code("releases", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let records = RecordFile::open(&arguments.queries.catalog, arguments.queries.records)?;
    let mut sets = release_sets(&records, arguments.queries.queries)?;
    let worst = worst_requests(&records)?;
    sets.push(with_release(&worst, &frequent_words(&records)?));
    sets.push(worst);
    let asked = held_out(&records, arguments.held_out)?;
    let part = (Arc::new(records.segment()?), Arc::new(Tombstones::new()));
    let snapshot = Snapshot::new(1, vec![part]);
    report_held_out(&snapshot, &asked)?;
    println!(
        "{:<28} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "set", "hits", "mean us", "p50 us", "p99 us", "max us"
    );
    for set in sets
        .iter()
        .filter(|set| set.name.contains(&arguments.queries.set))
    {
        measure(&snapshot, set, arguments)?;
    }
    Ok(())
}

/// The most frequent words of the catalog, as a release.
fn frequent_words(records: &RecordFile) -> Result<String> {
    let mut counts: HashMap<String, u64> = HashMap::new();
    for idx in 0..records.count() {
        let record = records.record(idx)?;
        let description = record.description.as_deref().unwrap_or("");
        for word in words(&fold(description)).chain(words(&fold(&record.title))) {
            match counts.get_mut(word) {
                Some(count) => *count += 1,
                None => {
                    counts.insert(word.to_owned(), 1);
                }
            }
        }
    }
    let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let words = counts.into_iter().take(WORST_WORDS).map(|(word, _)| word);
    Ok(words.collect::<Vec<_>>().join("."))
}

/// Shares of the records that are first themselves, and whose release is.
///
/// Several records may have the same release words: then the newest is first, and its release is
/// the one that was asked for all the same.
fn report_held_out(snapshot: &Snapshot, asked: &[HeldOut]) -> Result<()> {
    let failed = BenchError::on::<subcat_engine::Error>;
    let (mut own, mut equal, mut alone, mut total) = (0, 0, 0, 0);
    for HeldOut { record, query } in asked {
        let hits = snapshot.search(query).map_err(failed("search"))?;
        total += hits.total();
        alone += usize::from(hits.total() == 1);
        let first = hits.hits().first().map(|hit| hit.missing);
        for hit_idx in 0..hits.len() {
            let doc = snapshot.hit_doc(&hits, hit_idx).map_err(failed("read"))?;
            if doc.id() == record.id {
                own += usize::from(hit_idx == 0);
                equal += usize::from(first == Some(hits.hits()[hit_idx].missing));
            }
        }
    }
    let percent = |count: usize| count as f64 * 100.0 / asked.len() as f64;
    println!(
        "own release of {} records, among {:.1} of their episode on average ({:.1} % have one): \
         first in {:.2} %, the record itself in {:.2} %",
        asked.len(),
        total as f64 / asked.len() as f64,
        percent(alone),
        percent(equal),
        percent(own),
    );
    Ok(())
}

fn measure(snapshot: &Snapshot, set: &QuerySet, arguments: &Arguments) -> Result<()> {
    let mut times = Times::default();
    let (mut hits_count, mut slowest) = (0, (0, 0));
    for (query_idx, query) in set.queries.iter().enumerate() {
        let mut rounds = Vec::with_capacity(arguments.queries.rounds);
        for round in 0..=arguments.queries.rounds {
            let began = thread_nanoseconds();
            let hits = snapshot.search(query).map_err(BenchError::on("search"))?;
            let nanoseconds = thread_nanoseconds() - began;
            if round == 0 {
                hits_count += hits.total();
            } else {
                rounds.push(nanoseconds);
            }
        }
        rounds.sort_unstable();
        let median = rounds[rounds.len() / 2];
        slowest = slowest.max((median, query_idx));
        times.push(median);
    }
    println!(
        "{:<28} {:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1}",
        set.name,
        hits_count / set.queries.len() as u64,
        times.mean_us(),
        times.quantile_us(0.5),
        times.quantile_us(0.99),
        times.quantile_us(1.0),
    );
    if arguments.slowest {
        let began = Instant::now();
        let clock = || began.elapsed().as_nanos() as u64;
        let text = snapshot
            .explain(&set.queries[slowest.1], &clock)
            .map_err(BenchError::on("explain"))?;
        text.lines()
            .take(16)
            .for_each(|line| println!("      {line}"));
    }
    Ok(())
}
