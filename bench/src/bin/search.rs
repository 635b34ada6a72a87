//! Measures building and searching:
//! `search --catalog FILE [--records N] [--rounds N] [--set NAME]`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use subcat_bench::arguments::{QueryArguments, exit_code};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::search::{
    BATCH, QuerySet, RecordFile, Times, query_sets, thread_nanoseconds, worst_requests,
};
use subcat_engine::{
    Snapshot,
    internals::{Segment, SegmentBuilder, Tombstones},
};

/// Builds one segment of a catalog file and runs the sets of queries over it, on one thread.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    queries: QueryArguments,
    /// Prints the slowest query of each set.
    #[arg(long)]
    slowest: bool,
}

fn main() -> ExitCode {
    exit_code("search", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let records = RecordFile::open(&arguments.queries.catalog, arguments.queries.records)?;
    let mut sets = query_sets(&records, arguments.queries.queries)?;
    sets.push(worst_requests(&records)?);
    let segment = build(&records)?;
    let parts = vec![(Arc::new(segment), Arc::new(Tombstones::new()))];
    let snapshot = Snapshot::new(1, parts);
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

fn build(records: &RecordFile) -> Result<Segment> {
    let failed = BenchError::on::<subcat_engine::Error>;
    let mut builder = SegmentBuilder::new();
    let mut adding = 0;
    for batch in records.answer_order().chunks(BATCH) {
        let batch = records.batch(batch)?;
        let began = thread_nanoseconds();
        for record in &batch {
            builder.add(record).map_err(failed("add a record"))?;
        }
        adding += thread_nanoseconds() - began;
    }
    let (added, memory_bytes) = (thread_nanoseconds(), builder.memory_bytes());
    let mut bytes = Vec::new();
    let summary = builder
        .finish(&mut bytes)
        .map_err(failed("finish the segment"))?;
    let done = thread_nanoseconds();
    let count = f64::from(summary.docs_count);
    let index_bytes = (summary.segment_bytes - summary.document_bytes) as f64;
    println!(
        "built {} documents: {:.2} + {:.2} us of CPU each, \
         {:.1} bytes of index and {:.1} of document each, {:.0} bytes each while building",
        summary.docs_count,
        adding as f64 / count / 1000.0,
        (done - added) as f64 / count / 1000.0,
        index_bytes / f64::from(summary.docs_count),
        summary.document_bytes as f64 / f64::from(summary.docs_count),
        memory_bytes as f64 / count,
    );
    let began = thread_nanoseconds();
    let segment = Segment::open(bytes.into(), "bench").map_err(failed("open the segment"))?;
    println!(
        "opened in {:.0} us",
        (thread_nanoseconds() - began) as f64 / 1000.0
    );
    for (section, bytes) in segment.sections_bytes() {
        println!(
            "  {section:<22} {:>7.2} bytes each",
            bytes as f64 / f64::from(summary.docs_count)
        );
    }
    Ok(segment)
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
        let query = &set.queries[slowest.1];
        let text = snapshot
            .explain(query, &clock)
            .map_err(BenchError::on("explain"))?;
        text.lines()
            .take(16)
            .for_each(|line| println!("      {line}"));
    }
    Ok(())
}
