//! Search: the engine against the oracle, and segments with damaged bytes.

use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use subcat_engine::{
    Query, Record, Snapshot,
    internals::{Segment, SegmentBuilder, Tombstones, oracle::Oracle},
};

use crate::choices::Choices;
use crate::differ::segments;
use crate::records::record;
use crate::requests::request;

/// Requests put to the catalog after each of its changes.
const REQUESTS_PER_CHANGE: usize = 4;

/// Catalog, changes and requests are all read from the bytes; engine and oracle must agree.
pub fn engine_and_oracle(data: &[u8]) {
    segments(&mut Choices::from_bytes(data), REQUESTS_PER_CHANGE);
}

/// Records, the segment that holds them, and requests.
struct Sample {
    records: Vec<Record>,
    bytes: Vec<u8>,
    queries: Vec<Query>,
}

static SAMPLE: LazyLock<Sample> = LazyLock::new(|| {
    let mut choices = Choices::seeded(1);
    let mut records: Vec<Record> = (0..200).map(|_| record(&mut choices)).collect();
    records.sort_by_key(|record| record.id);
    records.dedup_by_key(|record| record.id);
    let mut builder = SegmentBuilder::new();
    for record in &records {
        builder.add(record).expect("a record fits into memory");
    }
    let mut bytes = Vec::new();
    builder
        .finish(&mut bytes)
        .expect("memory takes every write");
    let queries = (0..40).map(|_| request(&mut choices, &records)).collect();
    Sample {
        records,
        bytes,
        queries,
    }
});

/// A segment with damaged bytes is refused, or answers as if undamaged: bytes are checked before
/// they are used, and bytes that no answer needs may be damaged.
pub fn damaged_segment(data: &[u8]) {
    let sample = &*SAMPLE;
    let mut bytes = sample.bytes.clone();
    damage(&mut bytes, data);
    let is_whole = bytes == sample.bytes;
    let segment = match Segment::open(Bytes::from(bytes), "damaged") {
        Ok(segment) => segment,
        Err(_) => return assert!(!is_whole),
    };
    assert_eq!(segment.verify_all().is_ok(), is_whole);
    let parts = vec![(Arc::new(segment), Arc::new(Tombstones::new()))];
    let snapshot = Snapshot::new(1, parts);
    let oracle = Oracle::new(&sample.records);
    for query in &sample.queries {
        let expected = oracle.search(query);
        let Ok(hits) = snapshot.search(query) else {
            assert!(!is_whole);
            continue;
        };
        assert_eq!(hits.total(), expected.total, "{query:#?}");
        for (hit_idx, expected) in expected.hits.iter().enumerate() {
            match snapshot.hit_doc(&hits, hit_idx) {
                Ok(doc) => assert_eq!(doc.id(), expected.id, "{query:#?}"),
                Err(_) => assert!(!is_whole),
            }
        }
    }
    for record in &sample.records {
        match snapshot.doc(record.id) {
            Ok(doc) => assert_eq!(doc.is_some(), record.is_active),
            Err(_) => assert!(!is_whole),
        }
    }
}

/// Changes, cuts or appends bytes. Every five bytes of the data are a position, which also chooses
/// the kind of damage, and a value.
fn damage(bytes: &mut Vec<u8>, data: &[u8]) {
    for change in data.chunks(5).take(8) {
        let mut choices = Choices::from_bytes(change);
        let place = choices.below(1 << 16) | choices.below(1 << 16) << 16;
        let value = choices.byte();
        if bytes.is_empty() {
            return;
        }
        let place = place % bytes.len();
        match place % 16 {
            14 => bytes.truncate(place),
            15 => bytes.push(value),
            _ => bytes[place] ^= value,
        }
    }
}
