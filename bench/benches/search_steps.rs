//! The steps of a search, each alone: `cargo bench -p subcat-bench --bench search_steps`.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use subcat_bench::catalog::Generator;
use subcat_bench::search::{parse_record, query_sets};
use subcat_engine::{
    Record, Snapshot,
    internals::{
        DELTA_RECORDS_MAX, Segment, SegmentBuilder, Tombstones, fold, merge, write_fragment,
    },
};

/// Records of the catalog that is searched.
const RECORDS: u64 = 100_000;

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

fn searching(criterion: &mut Criterion) {
    let records = records(RECORDS);
    let sets = query_sets(&records[..], 50).expect("records in memory are always there");
    let segment = Arc::new(open(segment_bytes(&records)));
    let snapshot = Snapshot::new(1, vec![(segment, Arc::new(Tombstones::new()))]);
    let mut group = criterion.benchmark_group("search, 50 queries");
    group.sample_size(20);
    for set in &sets {
        group.bench_function(&set.name, |bench| {
            bench.iter(|| {
                let searched = set.queries.iter().map(|query| snapshot.search(query));
                searched
                    .map(|hits| hits.expect("the segment is sound").total())
                    .sum::<u64>()
            });
        });
    }
    group.finish();
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

criterion_group!(benches, text_and_answers, building, searching);
criterion_main!(benches);
