//! A whole engine: imports, deletions, activity, maintenance, restarts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    Engine, Language, NodeId, Options, Real, Record, RecordId, StoreKind, Timestamp, fold,
    internals::{SpanishRegion, oracle::Oracle},
    words,
};

use super::compare::{same_answer, same_record};
use crate::choices::Choices;
use crate::records::{draft, record, record_id};
use crate::requests::request;

/// Changes in one history, at most.
const CHANGES_MAX: usize = 16;
/// Records of one import, at most.
const BATCH_MAX: usize = 96;

/// An engine, and the records that its catalog should hold.
struct Catalog<'d> {
    data: &'d Path,
    store: StoreKind,
    /// `None` only while it is opened again.
    engine: Option<Engine>,
    truth: BTreeMap<RecordId, Record>,
}

/// Changes an engine at random and, after each change, sends requests to the engine and the oracle.
///
/// `data` is an empty folder. Returns the number of compared requests. Panics when an answer
/// differs.
pub fn history(
    choices: &mut Choices<'_>,
    data: &Path,
    store: StoreKind,
    requests_per_change: usize,
) -> usize {
    let mut catalog = Catalog {
        data,
        store,
        engine: Some(open(data, store)),
        truth: BTreeMap::new(),
    };
    let mut requests_count = 0;
    for _ in 0..=choices.below(CHANGES_MAX) {
        catalog.change(choices);
        let records: Vec<Record> = catalog.truth.values().cloned().collect();
        let oracle = Oracle::new(&records);
        let snapshot = catalog.engine().catalog().snapshot();
        for _ in 0..requests_per_change {
            same_answer(
                std::slice::from_ref(&*snapshot),
                &oracle,
                &request(choices, &records),
            );
            requests_count += 1;
        }
        for record in &records {
            same_record(&snapshot, record);
        }
        catalog.check_store(&records);
    }
    catalog.engine().close().expect("an engine closes");
    requests_count
}

impl Catalog<'_> {
    fn engine(&self) -> &Engine {
        self.engine.as_ref().expect("it is open between changes")
    }

    fn change(&mut self, choices: &mut Choices<'_>) {
        match choices.below(10) {
            0..=3 => self.import(choices),
            4 => self.delete(choices),
            5 => self.set_active(choices),
            6 | 7 => self.maintain(choices),
            8 => self.reopen(true),
            _ => self.reopen(false),
        }
    }

    fn import(&mut self, choices: &mut Choices<'_>) {
        let mut importer = self.engine().catalog().importer();
        let mut batch = BTreeMap::new();
        for _ in 0..=choices.below(BATCH_MAX) {
            let record = record(choices);
            let verdict = importer
                .push(draft(&record))
                .expect("the disk has no fault");
            verdict.expect("a generated record is valid");
            batch.insert(record.id, imported(record));
        }
        let summary = importer.finish(&mut |_| {}).expect("an import ends");
        let is_new = |id: &RecordId| !self.truth.contains_key(id);
        let inserted_count = batch.keys().filter(|id| is_new(id)).count() as u64;
        let is_equal = |record: &&Record| self.truth.get(&record.id) == Some(*record);
        let unchanged_count = batch.values().filter(is_equal).count() as u64;
        let updated_count = batch.len() as u64 - inserted_count - unchanged_count;
        assert_eq!(summary.inserted, inserted_count);
        assert_eq!(summary.unchanged, unchanged_count);
        assert_eq!(summary.updated, updated_count);
        self.truth.extend(batch);
    }

    fn delete(&mut self, choices: &mut Choices<'_>) {
        let mut ids = Vec::new();
        for _ in 0..=choices.below(8) {
            ids.push(record_id(choices));
        }
        let missing = self
            .engine()
            .catalog()
            .delete_records(&ids)
            .expect("records are deleted");
        for id in &ids {
            let was_there = self.truth.contains_key(id);
            assert!(was_there || missing.contains(id), "{id} was not there");
        }
        for id in ids {
            self.truth.remove(&id);
        }
    }

    fn set_active(&mut self, choices: &mut Choices<'_>) {
        let id = record_id(choices);
        let is_active = choices.one_in(2);
        let was_there = self
            .engine()
            .catalog()
            .set_active(id, is_active)
            .expect("a record is changed");
        assert_eq!(was_there, self.truth.contains_key(&id));
        if let Some(record) = self.truth.get_mut(&id) {
            record.is_active = is_active;
        }
    }

    /// Some steps of maintenance, sometimes after a request to reindex.
    fn maintain(&self, choices: &mut Choices<'_>) {
        if choices.one_in(2) {
            self.engine().catalog().request_reindex();
        }
        for _ in 0..=choices.below(4) {
            self.engine().maintain(now()).expect("maintenance goes on");
        }
    }

    /// Opens the data again, after the engine was closed or merely dropped.
    fn reopen(&mut self, is_closed: bool) {
        if self.store == StoreKind::Memory {
            return;
        }
        if is_closed {
            self.engine().close().expect("an engine closes");
        }
        self.engine = None;
        self.engine = Some(open(self.data, self.store));
    }

    /// The store holds what it should, in order.
    fn check_store(&self, records: &[Record]) {
        let mut stored = Vec::with_capacity(records.len());
        let mut keep = |record: &Record| {
            stored.push(record.clone());
            Ok(())
        };
        self.engine()
            .catalog()
            .export(&mut keep)
            .expect("the store can be read");
        assert_eq!(stored, records);
    }
}

fn open(data: &Path, store: StoreKind) -> Engine {
    let options = Options {
        disk: Arc::new(Real),
        store,
        counter_lanes: 1,
        node: NodeId(1),
    };
    Engine::open(data, options).expect("the data directory opens")
}

fn now() -> Timestamp {
    Timestamp::from_seconds(1_800_000_000).expect("the second is in range")
}

/// The record as an import stores it: SEARCH.md 6.
fn imported(record: Record) -> Record {
    let is_spanish = record.language.primary() == "es";
    if !is_spanish || record.language.region().is_some() {
        return record;
    }
    let description = fold(record.description.as_deref().unwrap_or(""));
    let names = |region: &[&str]| words(&description).any(|word| region.contains(&word));
    let tag = match (names(SPAIN_WORDS), names(LATIN_AMERICA_WORDS)) {
        (true, false) => SpanishRegion::Spain.tag(),
        (false, true) => SpanishRegion::LatinAmerica.tag(),
        (true, true) | (false, false) => return record,
    };
    let language = Language::parse(tag).expect("the tag is well formed");
    Record { language, ..record }
}

const SPAIN_WORDS: &[&str] = &[
    "espana",
    "castellano",
    "castellana",
    "iberico",
    "iberica",
    "castilla",
];

const LATIN_AMERICA_WORDS: &[&str] = &[
    "latino",
    "latina",
    "latinos",
    "latinas",
    "latam",
    "latinoamerica",
    "latinoamericano",
    "latinoamericana",
    "hispanoamerica",
    "mexico",
    "mexicano",
    "argentina",
    "argentino",
    "chile",
    "colombia",
    "peru",
    "venezuela",
    "uruguay",
];
