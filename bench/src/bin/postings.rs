//! Measures sets of documents that are read where they lie, beside the same sets as bitmaps of the
//! roaring crate on the heap: `postings --catalog FILE [--records N] [--rounds N] [--queries N]`.

use std::collections::{HashMap, HashSet};
use std::hint::black_box;
use std::process::ExitCode;

use clap::Parser;
use roaring::RoaringBitmap;
use subcat_bench::arguments::{QueryArguments, exit_code};
use subcat_bench::error::{BenchError, Result};
use subcat_bench::search::{QuerySet, RecordFile, Records, Times, query_sets, thread_nanoseconds};
use subcat_engine::{
    fold,
    internals::{SearchSteps, Tombstones},
    words,
};

/// Documents of a page.
const PAGE_SIZE: usize = 100;
/// Numbers from which on a set may be a bitmap; shorter ones are lists in both cases.
const BITMAP_NUMBERS_MIN: u32 = 129;

/// Intersects the sets of words of queries, in both ways in turn.
#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    queries: QueryArguments,
}

fn main() -> ExitCode {
    exit_code("postings", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let records = RecordFile::open(&arguments.queries.catalog, arguments.queries.records)?;
    let sets = query_sets(&records, arguments.queries.queries)?;
    let (segment, tombstones) = (records.segment()?, Tombstones::new());
    let steps = SearchSteps::new(&segment, &tombstones).map_err(failed("open the segment"))?;
    let heap = load(&records, &steps)?;
    println!(
        "{:<28} {:>8} {:>12} {:>12} {:>9}",
        "words of", "queries", "in place us", "heap us", "ratio"
    );
    let (mut logs, mut measured_count) = (0.0, 0);
    for set in sets.iter().filter(|set| !set.name.starts_with("f: ")) {
        if let Some(ratio) = measure(&steps, &heap, set, arguments.queries.rounds)? {
            logs += ratio.ln();
            measured_count += 1;
        }
    }
    let mean = (logs / f64::from(measured_count.max(1))).exp();
    println!("geometric mean of heap / in place: {mean:.2}");
    Ok(())
}

fn failed(what: &str) -> impl FnOnce(subcat_engine::Error) -> BenchError {
    BenchError::on(what)
}

/// The bitmaps of all words that have one, read by the crate as a start would have to. Prints what
/// that takes.
fn load(records: &RecordFile, steps: &SearchSteps<'_>) -> Result<HashMap<String, RoaringBitmap>> {
    let mut all: HashSet<String> = HashSet::new();
    for idx in 0..records.count() {
        let record = records.record(idx)?;
        let description = record.description.as_deref().unwrap_or("");
        for word in words(&fold(&record.title)).chain(words(&fold(description))) {
            if !all.contains(word) {
                all.insert(word.to_owned());
            }
        }
    }
    let mut stored = Vec::new();
    for word in all {
        if BITMAP_NUMBERS_MIN <= steps.docs_count(&word).map_err(failed("read a set"))? {
            let docs = steps.listed(&word).map_err(failed("read a set"))?;
            let bitmap = RoaringBitmap::from_sorted_iter(docs).expect("the numbers ascend");
            let mut bytes = Vec::new();
            let written = bitmap.serialize_into(&mut bytes);
            written.map_err(BenchError::on("write a bitmap"))?;
            stored.push((word, bytes));
        }
    }
    let began = thread_nanoseconds();
    let bitmaps = stored.iter().map(|(word, bytes)| {
        // Unchecked: a start that trusts its checksums. The checked way takes longer.
        let bitmap = RoaringBitmap::deserialize_unchecked_from(&bytes[..]);
        let bitmap = bitmap.map_err(BenchError::on("read a bitmap"))?;
        Ok((word.clone(), bitmap))
    });
    let heap = bitmaps.collect::<Result<HashMap<_, _>>>()?;
    let read_ms = (thread_nanoseconds() - began) as f64 / 1e6;
    let containers = heap.values().map(|bitmap| {
        let found = bitmap.statistics();
        // Not the crate's own figures: they count four bytes a number, and bits as bytes.
        u64::from(found.n_values_array_containers) * 2 + u64::from(found.n_bitset_containers) * 8192
    });
    println!(
        "{} bitmaps: read to the heap in {read_ms:.0} ms of CPU, {:.1} MiB of containers there, \
         {:.1} MiB stored",
        heap.len(),
        containers.sum::<u64>() as f64 / f64::from(1 << 20),
        stored.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() as f64 / f64::from(1 << 20),
    );
    Ok(heap)
}

/// Measures the queries of a set whose words all have bitmaps. Returns the ratio of the means.
fn measure(
    steps: &SearchSteps<'_>,
    heap: &HashMap<String, RoaringBitmap>,
    set: &QuerySet,
    rounds: usize,
) -> Result<Option<f64>> {
    let (mut in_place, mut on_heap) = (Times::default(), Times::default());
    let mut measured_count = 0;
    for query in &set.queries {
        let Some(text) = query.query() else { continue };
        let mut distinct: Vec<&str> = text.words().collect();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct.is_empty() || !distinct.iter().all(|word| heap.contains_key(*word)) {
            continue;
        }
        let expected = steps.intersected(&distinct, PAGE_SIZE);
        let expected = expected.map_err(failed("intersect"))?;
        if intersected(heap, &distinct) != expected {
            return Err(BenchError::new(format!("the sets of {distinct:?} differ")));
        }
        measured_count += 1;
        let mut taken = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let began = thread_nanoseconds();
            let found = steps.intersected(black_box(&distinct), PAGE_SIZE);
            black_box(found.map_err(failed("intersect"))?);
            let between = thread_nanoseconds();
            black_box(intersected(heap, black_box(&distinct)));
            taken[0].push(between - began);
            taken[1].push(thread_nanoseconds() - between);
        }
        for (times, taken) in [&mut in_place, &mut on_heap].into_iter().zip(&mut taken) {
            taken.sort_unstable();
            times.push(taken[taken.len() / 2]);
        }
    }
    if measured_count == 0 {
        return Ok(None);
    }
    let ratio = on_heap.mean_us() / in_place.mean_us();
    println!(
        "{:<28} {measured_count:>8} {:>12.2} {:>12.2} {ratio:>9.2}",
        set.name,
        in_place.mean_us(),
        on_heap.mean_us(),
    );
    Ok(Some(ratio))
}

/// The same as [`SearchSteps::intersected`], by the crate.
fn intersected(heap: &HashMap<String, RoaringBitmap>, words: &[&str]) -> (u64, Vec<u32>) {
    let mut sets: Vec<&RoaringBitmap> = words.iter().map(|word| &heap[*word]).collect();
    if let [only] = sets[..] {
        return (only.len(), only.iter().take(PAGE_SIZE).collect());
    }
    sets.sort_by_key(|set| set.len());
    let mut found = sets[0] & sets[1];
    for set in &sets[2..] {
        found &= *set;
    }
    (found.len(), found.iter().take(PAGE_SIZE).collect())
}
