//! Measures building and searching:
//! `search --catalog FILE [--records N] [--rounds N] [--set NAME] [--deleted 0,1,0.1%,1%,20%]
//! [--pieces]`.

use std::ops::Range;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Parser;
use subcat_bench::arguments::{QueryArguments, exit_code};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::names::name_sets;
use subcat_bench::search::{
    BATCH, Deletion, QuerySet, RecordFile, Times, piece_starts, query_sets, thread_nanoseconds,
    worst_requests,
};
use subcat_engine::{
    Query, Snapshot,
    internals::{Segment, SegmentBuilder},
};

/// Builds one segment of a catalog file and runs the sets of queries over it, on one thread.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    queries: QueryArguments,
    /// Prints the slowest query of each set.
    #[arg(long)]
    slowest: bool,
    /// Deleted documents, as numbers or in percent: each query is measured with each in turn.
    #[arg(long, value_delimiter = ',', default_value = "0")]
    deleted: Vec<Deletion>,
    /// Also measures, in each turn, the catalog in eight segments.
    #[arg(long)]
    pieces: bool,
}

/// The catalog with some of its documents deleted.
struct Level {
    deletion: Deletion,
    segments_count: usize,
    snapshot: Snapshot,
}

impl Level {
    fn new(segments: &[Arc<Segment>], deletion: Deletion) -> Self {
        let parts = segments.iter().map(|segment| {
            let tombstones = Arc::new(deletion.tombstones(segment.len()));
            (Arc::clone(segment), tombstones)
        });
        Self {
            deletion,
            segments_count: segments.len(),
            snapshot: Snapshot::new(1, parts.collect()),
        }
    }
}

/// Measurements of one set over one level.
#[derive(Default)]
struct Measured {
    hits_count: u64,
    /// The first run of each query: nothing is remembered of an earlier one.
    first: Times,
    /// The median of the later runs of each query.
    later: Times,
    /// Nanoseconds and index of the slowest query.
    slowest: (u64, usize),
}

fn main() -> ExitCode {
    exit_code("search", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let records = RecordFile::open(&arguments.queries.catalog, arguments.queries.records)?;
    let mut sets = query_sets(&records, arguments.queries.queries)?;
    sets.extend(name_sets(&records, arguments.queries.queries)?);
    sets.push(worst_requests(&records)?);
    let count = records.answer_order().len();
    let mut catalogs = vec![vec![Arc::new(build(&records, 0..count)?)]];
    if arguments.pieces {
        let starts = piece_starts(count as u32).into_iter();
        let mut bounds: Vec<usize> = starts.map(|start| start as usize).collect();
        bounds.push(count);
        let pieces = bounds.windows(2);
        let pieces = pieces.map(|bounds| Ok(Arc::new(build(&records, bounds[0]..bounds[1])?)));
        catalogs.push(pieces.collect::<Result<_>>()?);
    }
    let levels: Vec<Level> = catalogs
        .iter()
        .flat_map(|segments| {
            let deleted = arguments.deleted.iter();
            deleted.map(|&deletion| Level::new(segments, deletion))
        })
        .collect();
    println!(
        "{:<28} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
        "set",
        "segments",
        "deleted",
        "hits",
        "first us",
        "mean us",
        "p50 us",
        "p99 us",
        "max us",
        "ratio"
    );
    for set in sets
        .iter()
        .filter(|set| set.name.contains(&arguments.queries.set))
    {
        measure(&levels, set, arguments)?;
    }
    Ok(())
}

/// One segment of the records of these ranks.
fn build(records: &RecordFile, ranks: Range<usize>) -> Result<Segment> {
    let failed = BenchError::on::<subcat_engine::Error>;
    let mut builder = SegmentBuilder::new();
    let mut adding = 0;
    for batch in records.answer_order()[ranks].chunks(BATCH) {
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

/// Runs a set. Levels take turns at each query, so that disturbances of the machine hit all.
fn measure(levels: &[Level], set: &QuerySet, arguments: &Arguments) -> Result<()> {
    let mut all: Vec<Measured> = levels.iter().map(|_| Measured::default()).collect();
    for (query_idx, query) in set.queries.iter().enumerate() {
        let search = |level: &Level| {
            level
                .snapshot
                .search(query)
                .map_err(BenchError::on("search"))
        };
        // The first search of a query reads pages and checks blocks that others find checked.
        search(&levels[0])?;
        let mut rounds = vec![Vec::with_capacity(arguments.queries.rounds); levels.len()];
        for round in 0..=arguments.queries.rounds {
            for ((level, measured), rounds) in levels.iter().zip(&mut all).zip(&mut rounds) {
                let began = thread_nanoseconds();
                let hits = search(level)?;
                let nanoseconds = thread_nanoseconds() - began;
                if round == 0 {
                    measured.hits_count += hits.total();
                    measured.first.push(nanoseconds);
                } else {
                    rounds.push(nanoseconds);
                }
            }
        }
        for (measured, rounds) in all.iter_mut().zip(&mut rounds) {
            rounds.sort_unstable();
            let median = rounds[rounds.len() / 2];
            measured.slowest = measured.slowest.max((median, query_idx));
            measured.later.push(median);
        }
    }
    let clean_us = all[0].later.mean_us();
    for (level, measured) in levels.iter().zip(&all) {
        let times = &measured.later;
        println!(
            "{:<28} {:>8} {:>9} {:>9} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>7.2}",
            set.name,
            level.segments_count,
            level.deletion,
            measured.hits_count / set.queries.len() as u64,
            measured.first.mean_us(),
            times.mean_us(),
            times.quantile_us(0.5),
            times.quantile_us(0.99),
            times.quantile_us(1.0),
            times.mean_us() / clean_us,
        );
        if arguments.slowest {
            explain(&level.snapshot, &set.queries[measured.slowest.1])?;
        }
    }
    Ok(())
}

fn explain(snapshot: &Snapshot, query: &Query) -> Result<()> {
    let began = Instant::now();
    let clock = || began.elapsed().as_nanos() as u64;
    let text = snapshot
        .explain(query, &clock)
        .map_err(BenchError::on("explain"))?;
    text.lines()
        .take(16)
        .for_each(|line| println!("      {line}"));
    Ok(())
}
