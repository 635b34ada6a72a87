//! Measures building and searching:
//! `search --catalog FILE [--records N] [--rounds N] [--set NAME] [--deleted 0,1,0.1%,1%,20%]
//! [--pieces] [--order newest|downloads [--counted SHARE] [--flat]]`.

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
    Filters, ListOrder, ListPage, OwnDownloads, Query, Snapshot,
    internals::{DownloadTable, Segment, SegmentBuilder},
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
    /// Order of the hits, of which a page of 25 is listed.
    #[arg(long, value_enum, default_value_t = Order::Relevance)]
    order: Order,
    /// Percentage of records with downloads from this service: 1 to 9 each.
    #[arg(long, default_value_t = 0)]
    counted: u64,
    /// Leaves upstream's downloads out: our own decide about the order.
    #[arg(long)]
    flat: bool,
    /// First hit of the page that is listed.
    #[arg(long, default_value_t = 0)]
    skipped: usize,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    Relevance,
    Newest,
    Downloads,
}

impl Arguments {
    /// The downloads of the share of records that is counted.
    fn downloads(&self, records: &RecordFile) -> Result<DownloadTable> {
        let mut counted = Vec::new();
        if 0 < self.counted {
            for batch in records.answer_order().chunks(BATCH) {
                for record in records.batch(batch)? {
                    let [.., high, low] = *record.id.as_bytes();
                    let number = u64::from(u16::from_be_bytes([high, low]));
                    if number % 100 < self.counted {
                        counted.push((record.id, 1 + number / 100 % 9));
                    }
                }
            }
        }
        let loaded = DownloadTable::load(counted.len() as u64, |add| {
            counted.iter().for_each(|(id, count)| add(*id, *count));
            Ok(())
        });
        loaded.map_err(BenchError::on("count downloads"))
    }

    /// The order of lists; `None` for relevance.
    fn list_order<'o>(&self, own: &'o OwnDownloads<'o>) -> Option<ListOrder<'o>> {
        match self.order {
            Order::Relevance => None,
            Order::Newest => Some(ListOrder::Newest),
            Order::Downloads => Some(ListOrder::Downloads(own)),
        }
    }

    fn page(&self) -> ListPage {
        ListPage {
            skipped: self.skipped,
            size: 25,
        }
    }

    /// The number of hits of a query, once the page is found.
    fn search(&self, snapshot: &Snapshot, query: &Query, own: &OwnDownloads<'_>) -> Result<u64> {
        let failed = BenchError::on::<subcat_engine::Error>;
        let Some(order) = self.list_order(own) else {
            let hits = snapshot.search(query).map_err(failed("search"))?;
            return Ok(hits.total());
        };
        let found = snapshot.search_listed(query, order, self.page());
        Ok(found.map_err(failed("search"))?.1)
    }
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
    let mut catalogs = vec![vec![Arc::new(build(&records, 0..count, arguments.flat)?)]];
    if arguments.pieces {
        let starts = piece_starts(count as u32).into_iter();
        let mut bounds: Vec<usize> = starts.map(|start| start as usize).collect();
        bounds.push(count);
        let pieces = bounds.windows(2);
        let pieces = pieces.map(|bounds| {
            Ok(Arc::new(build(
                &records,
                bounds[0]..bounds[1],
                arguments.flat,
            )?))
        });
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
    let downloads = arguments.downloads(&records)?;
    measure_lists(&levels, arguments, &downloads)?;
    for set in sets
        .iter()
        .filter(|set| set.name.contains(&arguments.queries.set))
    {
        measure(&levels, set, arguments, &downloads)?;
    }
    Ok(())
}

/// One segment of the records of these ranks.
fn build(records: &RecordFile, ranks: Range<usize>, is_flat: bool) -> Result<Segment> {
    let failed = BenchError::on::<subcat_engine::Error>;
    let mut builder = SegmentBuilder::new();
    let mut adding = 0;
    for batch in records.answer_order()[ranks].chunks(BATCH) {
        let mut batch = records.batch(batch)?;
        if is_flat {
            batch.iter_mut().for_each(|record| record.downloads = 0);
        }
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

/// Lists all records in the order of the arguments, if it is one of lists.
fn measure_lists(levels: &[Level], arguments: &Arguments, downloads: &DownloadTable) -> Result<()> {
    let own = downloads.own_downloads();
    let Some(order) = arguments.list_order(&own) else {
        return Ok(());
    };
    for level in levels {
        let mut times = Times::default();
        for _ in 0..=10 * arguments.queries.rounds {
            let began = thread_nanoseconds();
            let listing = level
                .snapshot
                .listed(&Filters::default(), order, arguments.page());
            listing.map_err(BenchError::on("list"))?;
            times.push(thread_nanoseconds() - began);
        }
        println!(
            "all records: {} segments, {} deleted: p50 {:.1} us, max {:.1} us",
            level.segments_count,
            level.deletion,
            times.quantile_us(0.5),
            times.quantile_us(1.0),
        );
    }
    Ok(())
}

/// Runs a set. Levels take turns at each query, so that disturbances of the machine hit all.
fn measure(
    levels: &[Level],
    set: &QuerySet,
    arguments: &Arguments,
    downloads: &DownloadTable,
) -> Result<()> {
    let own = downloads.own_downloads();
    let mut all: Vec<Measured> = levels.iter().map(|_| Measured::default()).collect();
    for (query_idx, query) in set.queries.iter().enumerate() {
        let search = |level: &Level| arguments.search(&level.snapshot, query, &own);
        // The first search of a query reads pages and checks blocks that others find checked.
        search(&levels[0])?;
        let mut rounds = vec![Vec::with_capacity(arguments.queries.rounds); levels.len()];
        for round in 0..=arguments.queries.rounds {
            for ((level, measured), rounds) in levels.iter().zip(&mut all).zip(&mut rounds) {
                let began = thread_nanoseconds();
                let hits_count = search(level)?;
                let nanoseconds = thread_nanoseconds() - began;
                if round == 0 {
                    measured.hits_count += hits_count;
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
