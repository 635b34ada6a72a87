//! Segments in memory: built, superseded, merged, and searched.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::{
    Query, Record, RecordId, Snapshot,
    internals::{Segment, SegmentBuilder, Tombstones, merge, oracle::Oracle, oracle::OracleAnswer},
};

use super::compare::{same_answer, same_explanation, same_record};
use crate::choices::Choices;
use crate::records::{record, record_id};
use crate::requests::{name_request, request};

/// Changes to one catalog, at most.
const CHANGES_MAX: usize = 12;
/// Records written by one change, at most.
const BATCH_MAX: usize = 64;

/// A segment and its tombstones.
pub(super) type Part = (Arc<Segment>, Arc<Tombstones>);

/// A catalog as segments, and the records that it should hold.
#[derive(Default)]
struct Catalog {
    truth: BTreeMap<RecordId, Record>,
    parts: Vec<Part>,
}

/// Changes a catalog at random and, after each change, sends requests to it and to the oracle.
///
/// Returns the number of compared requests. Panics when an answer differs.
pub fn segments(choices: &mut Choices<'_>, requests_per_change: usize) -> usize {
    changes(choices, requests_per_change, request)
}

/// The same with requests for names.
pub fn names(choices: &mut Choices<'_>, requests_per_change: usize) -> usize {
    changes(choices, requests_per_change, name_request)
}

fn changes(
    choices: &mut Choices<'_>,
    requests_per_change: usize,
    request: fn(&mut Choices<'_>, &[Record]) -> Query,
) -> usize {
    let mut catalog = Catalog::default();
    let mut requests_count = 0;
    for change_idx in 0..=choices.below(CHANGES_MAX) {
        catalog.change(choices);
        let snapshots = [Snapshot::new(change_idx as u64 + 1, catalog.parts.clone())];
        let records: Vec<Record> = catalog.truth.values().cloned().collect();
        let oracle = Oracle::new(&records);
        for _ in 0..requests_per_change {
            same_answer(&snapshots, &oracle, &request(choices, &records));
            requests_count += 1;
        }
        same_explanation(&snapshots[0], &request(choices, &records));
        for record in &records {
            same_record(&snapshots[0], record);
        }
    }
    requests_count
}

/// Asserts that the engine answers like the oracle: with all records in one segment, and with a
/// segment for each.
///
/// Panics when they differ. Ids are unique.
pub fn agreed_answer(records: &[Record], query: &Query) -> OracleAnswer {
    let together = vec![segment_of(records)];
    let apart = records.chunks(1).map(segment_of).collect();
    let snapshots = [Snapshot::new(1, together), Snapshot::new(2, apart)];
    snapshots
        .iter()
        .for_each(|snapshot| same_explanation(snapshot, query));
    same_answer(&snapshots, &Oracle::new(records), query)
}

fn segment_of(records: &[Record]) -> Part {
    let mut builder = SegmentBuilder::new();
    for record in records {
        builder.add(record).expect("a record fits into memory");
    }
    let mut bytes = Vec::new();
    builder
        .finish(&mut bytes)
        .expect("memory takes every write");
    open(bytes)
}

impl Catalog {
    fn change(&mut self, choices: &mut Choices<'_>) {
        match choices.below(8) {
            0..=3 => self.import(choices),
            4 => self.delete(record_id(choices)),
            5 => self.flip_active(record_id(choices)),
            6 => self.merge(choices),
            _ => self.drop_some(choices),
        }
    }

    /// Writes a batch as a segment; of records with one id the last counts.
    fn import(&mut self, choices: &mut Choices<'_>) {
        let mut batch = BTreeMap::new();
        for _ in 0..=choices.below(BATCH_MAX) {
            let record = record(choices);
            batch.insert(record.id, record);
        }
        self.write(batch.into_values().collect());
    }

    fn write(&mut self, records: Vec<Record>) {
        let mut builder = SegmentBuilder::new();
        for record in &records {
            self.delete_docs(record.id);
            builder.add(record).expect("a record fits into memory");
        }
        let mut bytes = Vec::new();
        builder
            .finish(&mut bytes)
            .expect("memory takes every write");
        self.parts.push(open(bytes));
        for record in records {
            self.truth.insert(record.id, record);
        }
    }

    fn delete(&mut self, id: RecordId) {
        self.delete_docs(id);
        self.truth.remove(&id);
    }

    fn flip_active(&mut self, id: RecordId) {
        if let Some(record) = self.truth.get(&id) {
            let is_active = !record.is_active;
            let record = Record {
                is_active,
                ..record.clone()
            };
            self.write(vec![record]);
        }
    }

    /// Deletes about half of all records.
    fn drop_some(&mut self, choices: &mut Choices<'_>) {
        let ids: Vec<RecordId> = self.truth.keys().copied().collect();
        for id in ids {
            if choices.one_in(2) {
                self.delete(id);
            }
        }
    }

    /// Makes one segment of several neighbours, or of one.
    fn merge(&mut self, choices: &mut Choices<'_>) {
        let start = choices.below(self.parts.len() + 1);
        let end = start + choices.below(self.parts.len() - start + 1);
        let mut bytes = Vec::new();
        merge(&self.parts[start..end], &mut bytes).expect("undamaged segments merge");
        self.parts.splice(start..end, [open(bytes)]);
    }

    /// Deletes the document with this id in every segment.
    fn delete_docs(&mut self, id: RecordId) {
        for (segment, tombstones) in &mut self.parts {
            if let Some(doc) = segment.find(id).expect("an undamaged segment answers") {
                Arc::make_mut(tombstones).insert(doc);
            }
        }
    }
}

/// Opens a segment that a builder or a merge wrote.
pub(super) fn open(bytes: Vec<u8>) -> Part {
    let segment = Segment::open(Bytes::from(bytes), "generated").expect("what was written opens");
    segment.verify_all().expect("what was written is whole");
    (Arc::new(segment), Arc::new(Tombstones::new()))
}
