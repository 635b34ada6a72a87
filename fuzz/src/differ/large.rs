//! A catalog so large that every form of postings and every strategy of the planner is used.

use std::sync::Arc;

use subcat_engine::{
    Filters, Number, Query, Record, RecordId, SearchText, Snapshot, Year,
    internals::{SegmentBuilder, Tombstones, merge, oracle::Oracle},
};

use super::compare::{same_answer, same_record};
use super::segments::{Part, open};
use crate::choices::Choices;
use crate::records::record;
use crate::requests::{COMMON_RELEASES, COMMON_TEXTS, common_request, request};

/// Number of records that all others copy, so that titles and descriptions repeat.
const MODELS_COUNT: usize = 400;
/// Segments into which the catalog is written.
const PARTS_COUNT: usize = 3;

/// Sends requests to a catalog of many records, before and after its segments are merged.
///
/// Panics when an answer differs from the oracle's.
pub fn large(choices: &mut Choices<'_>, records_count: u32, requests_count: usize) {
    let models: Vec<Record> = (0..MODELS_COUNT).map(|_| common(choices)).collect();
    let mut records = Vec::new();
    let mut parts: Vec<Part> = Vec::new();
    let share = records_count / PARTS_COUNT as u32;
    for part_idx in 0..PARTS_COUNT as u32 {
        let numbers = part_idx * share..(part_idx + 1) * share;
        parts.push(part(choices, &models, numbers, &mut records));
    }
    records.sort_by_key(|record| record.id);
    let oracle = Oracle::new(&records);
    let mut merged = Vec::new();
    merge(&parts, &mut merged).expect("undamaged segments merge");
    let snapshots = [
        Snapshot::new(1, parts),
        Snapshot::new(2, vec![open(merged)]),
    ];
    for (text, release) in COMMON_TEXTS.iter().zip(COMMON_RELEASES.iter().cycle()) {
        let text = SearchText::query(text).unwrap_or(None);
        let query = Query::new(Filters::default(), 100).with_query(text);
        same_answer(&snapshots, &oracle, &query);
        let query = query.with_release(SearchText::release(release));
        same_answer(&snapshots, &oracle, &query);
    }
    for request_idx in 0..requests_count {
        let query = match request_idx % 2 {
            0 => common_request(choices),
            _ => request(choices, &models),
        };
        same_answer(&snapshots, &oracle, &query);
    }
    for _ in 0..requests_count {
        let record = &records[choices.below(records.len().min(1 << 16))];
        for snapshot in &snapshots {
            same_record(snapshot, record);
        }
    }
}

/// A record with words that most others have too.
fn common(choices: &mut Choices<'_>) -> Record {
    let mut record = record(choices);
    match choices.below(8) {
        0 => {}
        1..4 => record.title = "lost".to_string(),
        4 | 5 => record.title = format!("lost {}", record.title),
        _ => record.title = format!("{} lost", record.title),
    }
    if !choices.one_in(8) {
        let description = record.description.unwrap_or_default();
        record.description = Some(format!("{description} subs"));
    }
    if !choices.one_in(4) {
        record.year = choices.pick(&[Year::new(2004), Year::new(2004), None]);
    }
    if !choices.one_in(4) {
        record.season = Number::new(1);
        record.episode = choices.pick(&[Number::new(2), Number::new(2), None]);
    }
    record
}

/// A segment with records of these numbers, some of them deleted; the others are added to
/// `records`.
fn part(
    choices: &mut Choices<'_>,
    models: &[Record],
    numbers: std::ops::Range<u32>,
    records: &mut Vec<Record>,
) -> Part {
    let mut builder = SegmentBuilder::new();
    let mut deleted = Vec::new();
    for number in numbers {
        let model = choices.pick(models);
        let id = id(number);
        let seconds = i64::from(choices.byte()) - 128;
        let record = Record {
            id,
            posted_at: model.posted_at.plus_seconds(seconds),
            ..model
        };
        builder.add(&record).expect("a record fits into memory");
        if choices.one_in(50) {
            deleted.push(id);
        } else {
            records.push(record);
        }
    }
    let mut bytes = Vec::new();
    builder
        .finish(&mut bytes)
        .expect("memory takes every write");
    let (segment, _) = open(bytes);
    let mut tombstones = Tombstones::new();
    for id in deleted {
        if let Some(doc) = segment.find(id).expect("an undamaged segment answers") {
            tombstones.insert(doc);
        }
    }
    (segment, Arc::new(tombstones))
}

/// Ids spread over all of their space, near one another, and at both ends.
fn id(number: u32) -> RecordId {
    let mut bytes = [0; 16];
    match number % 4 {
        0 => bytes[0..4].copy_from_slice(&number.wrapping_mul(0x9E37_79B1).to_be_bytes()),
        1 => bytes[12..16].copy_from_slice(&number.to_be_bytes()),
        2 => {
            bytes = [0xFF; 16];
            bytes[12..16].copy_from_slice(&number.to_be_bytes());
        }
        _ => {
            bytes[0] = 0x42;
            bytes[4..8].copy_from_slice(&number.to_be_bytes());
        }
    }
    RecordId::from_bytes(bytes)
}
