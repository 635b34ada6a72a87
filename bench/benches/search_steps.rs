//! The steps of a search, each alone: `cargo bench -p subcat-bench --bench search_steps`.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use subcat_bench::catalog::Generator;
use subcat_bench::search::{Deletion, parse_record, piece_starts, query_sets};
use subcat_engine::internals::{
    DELTA_RECORDS_MAX, SearchSteps, Segment, SegmentBuilder, Tombstones, merge, write_fragment,
};
use subcat_engine::{Record, Snapshot, fold, words};

/// Records of the catalog that is searched.
const RECORDS: u64 = 100_000;
/// Deleted records of it, and whether it is in eight segments.
const STATES: [(Deletion, bool); 7] = [
    (Deletion::Count(0), false),
    (Deletion::Count(1), false),
    (Deletion::Percent(0.1), false),
    (Deletion::Percent(1.0), false),
    (Deletion::Percent(20.0), false),
    (Deletion::Count(0), true),
    (Deletion::Percent(1.0), true),
];

fn records(count: u64) -> Vec<Record> {
    let mut generator = Generator::new(42);
    let mut lines = String::new();
    for number in 0..count {
        generator.write(number, &mut lines);
    }
    let parsed = lines.lines().map(parse_record);
    parsed
        .map(|record| record.expect("generated lines are records"))
        .collect()
}

fn segment_bytes(records: &[Record]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new();
    for record in records {
        builder.add(record).expect("memory takes every record");
    }
    let mut bytes = Vec::new();
    builder
        .finish(&mut bytes)
        .expect("memory takes every write");
    bytes
}

fn open(bytes: Vec<u8>) -> Segment {
    Segment::open(bytes.into(), "bench").expect("the segment was just written")
}

fn text_and_answers(criterion: &mut Criterion) {
    let record = records(1).remove(0);
    criterion.bench_function("text: fold an ASCII title", |bench| {
        bench.iter(|| {
            fold(black_box(
                "The Lord of the Rings: The Fellowship of the Ring",
            ))
        });
    });
    criterion.bench_function("text: fold an accented title", |bench| {
        bench.iter(|| fold(black_box("El señor de los anillos: La compañía del anillo")));
    });
    criterion.bench_function("answer: fragment of a record", |bench| {
        bench.iter_batched(
            || Vec::with_capacity(1024),
            |mut out| {
                write_fragment(black_box(&record), &mut out);
                out
            },
            BatchSize::SmallInput,
        );
    });
}

fn building(criterion: &mut Criterion) {
    let delta = records(DELTA_RECORDS_MAX as u64);
    let (first, second) = delta.split_at(delta.len() / 2);
    let mut group = criterion.benchmark_group("segment");
    group.sample_size(10);
    group.bench_function("build a full delta", |bench| {
        bench.iter(|| segment_bytes(&delta));
    });
    let bytes = segment_bytes(&delta);
    group.bench_function("open a full delta", |bench| {
        bench.iter_batched(|| bytes.clone(), open, BatchSize::LargeInput);
    });
    let part = |records| {
        (
            Arc::new(open(segment_bytes(records))),
            Arc::new(Tombstones::new()),
        )
    };
    let parts = [part(first), part(second)];
    group.bench_function("merge two halves of a delta", |bench| {
        bench.iter(|| {
            let mut out = Vec::new();
            merge(&parts, &mut out).expect("memory takes every write")
        });
    });
    group.finish();
}

/// Words of the titles, the most frequent first.
fn title_words(records: &[Record]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for record in records {
        for word in words(&fold(&record.title)) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    let mut words: Vec<(String, usize)> = counts.into_iter().collect();
    words.sort_unstable_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
    words.into_iter().map(|(word, _)| word).collect()
}

fn steps(criterion: &mut Criterion) {
    let records = records(RECORDS);
    let sets = query_sets(&records[..], 50).expect("records in memory are always there");
    let (segment, tombstones) = (open(segment_bytes(&records)), Tombstones::new());
    let steps = SearchSteps::new(&segment, &tombstones).expect("the segment is sound");
    let words = title_words(&records);
    let (frequent, rare) = (&words[1], &words[words.len() / 2]);
    let frequent_words: Vec<&str> = words.iter().take(8).map(String::as_str).collect();
    let listed = |word: &str| steps.listed(word).expect("the segment is sound");
    let mut group = criterion.benchmark_group("step");
    group.bench_function("dictionary: look a word up", |bench| {
        bench.iter(|| steps.docs_count(black_box(rare)));
    });
    group.bench_function("dictionary: words at distance 2", |bench| {
        bench.iter(|| steps.close_words_count(black_box("extraordinary"), 2));
    });
    group.bench_function("postings: list a frequent word", |bench| {
        bench.iter(|| listed(black_box(frequent)));
    });
    group.bench_function("postings: reduce a list by a frequent word", |bench| {
        bench.iter_batched(
            || listed(rare),
            |docs| steps.retained(docs, black_box(frequent)),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("postings: unite eight frequent words", |bench| {
        bench.iter(|| steps.united_count(black_box(&frequent_words)));
    });
    for set in sets.iter().filter(|set| set.name == "title words") {
        let queries = || set.queries.iter().map(black_box);
        group.bench_function("plan: 50 queries of title words", |bench| {
            bench.iter(|| {
                queries()
                    .map(|query| steps.clauses_count(query).expect("the segment is sound"))
                    .sum::<usize>()
            });
        });
        group.bench_function("plan and match: 50 queries of title words", |bench| {
            bench.iter(|| {
                queries()
                    .map(|query| steps.matches_count(query).expect("the segment is sound"))
                    .sum::<u64>()
            });
        });
    }
    group.bench_function("rank: the best 100 of 100,000", |bench| {
        bench.iter(|| SearchSteps::best_count(black_box(100_000), 100));
    });
    group.finish();
}

/// One segment of the records, and eight as a catalog has them after a while.
fn segments(records: &mut [Record]) -> [Vec<Arc<Segment>>; 2] {
    records.sort_by_key(|record| (Reverse(record.posted_at), record.id));
    let count = records.len();
    let starts = piece_starts(count as u32).into_iter();
    let mut bounds: Vec<usize> = starts.map(|start| start as usize).collect();
    bounds.push(count);
    let segment = |bounds: &[usize]| Arc::new(open(segment_bytes(&records[bounds[0]..bounds[1]])));
    [
        vec![segment(&[0, count])],
        bounds.windows(2).map(segment).collect(),
    ]
}

fn snapshot(segments: &[Arc<Segment>], deletion: Deletion) -> Snapshot {
    let parts = segments.iter().map(|segment| {
        let tombstones = Arc::new(deletion.tombstones(segment.len()));
        (Arc::clone(segment), tombstones)
    });
    Snapshot::new(1, parts.collect())
}

fn searching(criterion: &mut Criterion) {
    let mut records = records(RECORDS);
    let sets = query_sets(&records[..], 50).expect("records in memory are always there");
    let [whole, pieces] = segments(&mut records);
    for (deletion, is_in_pieces) in STATES {
        let segments = if is_in_pieces { &pieces } else { &whole };
        let snapshot = snapshot(segments, deletion);
        let mut group = criterion.benchmark_group(format!(
            "search, {deletion} deleted, segments: {}",
            segments.len()
        ));
        group.sample_size(20);
        for set in &sets {
            group.bench_function(format!("50 queries, {}", set.name), |bench| {
                bench.iter(|| {
                    let searched = set.queries.iter().map(|query| snapshot.search(query));
                    searched
                        .map(|hits| hits.expect("the segment is sound").total())
                        .sum::<u64>()
                });
            });
        }
        group.finish();
    }
    let snapshot = snapshot(&whole, Deletion::Count(0));
    let hits = snapshot
        .search(&sets[0].queries[0])
        .expect("the segment is sound");
    criterion.bench_function("answer: copy a page", |bench| {
        bench.iter(|| {
            let mut out = Vec::with_capacity(64 << 10);
            for hit_idx in 0..hits.len() {
                let doc = snapshot
                    .hit_doc(&hits, hit_idx)
                    .expect("the segment is sound");
                out.extend_from_slice(doc.fragment());
            }
            out
        });
    });
}

criterion_group!(benches, text_and_answers, building, steps, searching);
criterion_main!(benches);
