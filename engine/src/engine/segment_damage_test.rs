//! Damage of a segment: what it costs, and for how long.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::test_support::{copy_dir, id, import, now, open, summary, title_of, work_dir};
use crate::{Engine, Error, MaintenanceTask};

const SEGMENTS: u64 = 3;
/// Records of each: more than the delta takes.
const RECORDS: u64 = 4_200;
/// Distance of the damaged bytes, a prime.
const STRIDE: usize = 90_001;

fn flush(engine: &Engine) {
    engine.catalog().request_reindex();
    engine.run_task(MaintenanceTask::Reindex, now()).unwrap();
}

/// A directory with some segments of as many records.
fn prepare(data: &Path) {
    let engine = open(data);
    for segment in 0..SEGMENTS {
        import(&engine, segment * RECORDS..(segment + 1) * RECORDS, "Uno").unwrap();
        flush(&engine);
    }
    engine.close().unwrap();
}

fn segments(data: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(data.join("index")).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

fn cut(segment: &Path) {
    let file = fs::OpenOptions::new().write(true).open(segment).unwrap();
    file.set_len(8192).unwrap();
}

/// Asserts that the catalog has just these records, each once.
fn assert_whole(engine: &Engine, expected: impl Fn(u64) -> Option<String>, count: u64) {
    let snapshot = engine.catalog().snapshot();
    assert!(!snapshot.is_partial());
    let mut ids = BTreeSet::new();
    for doc in snapshot.docs() {
        assert!(ids.insert(doc.unwrap().id()), "a record is live twice");
    }
    let mut live_count = 0;
    for number in 0..count {
        let title = expected(number);
        live_count += usize::from(title.is_some());
        assert_eq!(title_of(engine, number), title, "record {number}");
    }
    assert_eq!(ids.len(), live_count);
}

#[test]
fn what_is_stored_is_not_answered_as_failed() {
    let dir = work_dir();
    let prepared = dir.path().join("prepared");
    prepare(&prepared);
    let size = fs::metadata(&segments(&prepared)[0]).unwrap().len() as usize;
    let many = RECORDS + 2_000;
    for at in (0..size).step_by(STRIDE) {
        let data = dir.path().join("damaged");
        copy_dir(&prepared, &data);
        let segment = &segments(&data)[0];
        let mut bytes = fs::read(segment).unwrap();
        bytes[at] ^= 0x10;
        fs::write(segment, bytes).unwrap();
        let engine = open(&data);
        let ids: Vec<_> = (0..20).map(id).collect();
        let deleted = engine.catalog().delete_records(&ids);
        assert!(deleted.unwrap().is_empty(), "byte {at}");
        let few = import(&engine, 20..40, "Dos").unwrap();
        assert_eq!(few, summary(0, 20, 0), "byte {at}");
        let all = import(&engine, 40..many, "Tres").unwrap();
        assert_eq!(all, summary(0, many - 40, 0), "byte {at}");
        while engine
            .run_task(MaintenanceTask::RepairIndex, now())
            .unwrap()
        {}
        let expected = |number: u64| match number {
            0..20 => None,
            20..40 => Some(format!("Dos {number}")),
            _ if number < many => Some(format!("Tres {number}")),
            _ => Some(format!("Uno {number}")),
        };
        assert_whole(&engine, expected, SEGMENTS * RECORDS);
        drop(engine);
        fs::remove_dir_all(&data).unwrap();
    }
}

/// The successors of the one lack the records of the other ones, which are looked up there.
#[test]
fn a_start_heals_damage_of_two_segments() {
    let dir = work_dir();
    let prepared = dir.path().join("prepared");
    prepare(&prepared);
    let size = fs::metadata(&segments(&prepared)[1]).unwrap().len() as usize;
    let mut met_count = 0;
    for at in (0..size).step_by(STRIDE) {
        let data = dir.path().join("damaged");
        copy_dir(&prepared, &data);
        let [first, second, _] = &segments(&data)[..] else {
            panic!("there are {SEGMENTS} segments");
        };
        cut(first);
        let mut bytes = fs::read(second).unwrap();
        bytes[at] ^= 0x10;
        fs::write(second, bytes).unwrap();
        let engine = open(&data);
        met_count += usize::from(engine.take_damage().len() == 2);
        while engine
            .run_task(MaintenanceTask::RepairIndex, now())
            .unwrap()
        {}
        let uno = |number| Some(format!("Uno {number}"));
        assert_whole(&engine, uno, SEGMENTS * RECORDS);
        drop(engine);
        fs::remove_dir_all(&data).unwrap();
    }
    assert!(0 < met_count, "a start meets both");
}

#[test]
fn damage_costs_its_segment_until_there_is_another() {
    let dir = work_dir();
    let data = dir.path();
    prepare(data);
    let engine = open(data);
    let damaged = segments(data)[1].clone();
    cut(&damaged);
    // A successor that is there soon is waited for.
    for _ in 0..3 {
        assert!(!engine.catalog().snapshot().is_partial());
        let take_out = MaintenanceTask::TakeOutDamaged;
        assert!(!engine.run_task(take_out, now()).unwrap());
    }
    let snapshot = engine.catalog().snapshot();
    assert!(snapshot.is_partial());
    assert_eq!(snapshot.docs().count() as u64, (SEGMENTS - 1) * RECORDS);
    drop(snapshot);
    assert_eq!(title_of(&engine, 7).unwrap(), "Uno 7");
    // Whether there is such a record is unknown.
    for number in [RECORDS + 7, SEGMENTS * RECORDS + 7] {
        let found = engine.catalog().snapshot().doc(id(number)).map(|_| ());
        assert!(matches!(found, Err(Error::Rebuilding)), "{found:?}");
    }
    // The others change in the meantime.
    let of_damaged = RECORDS + 8;
    import(&engine, [7, of_damaged].into_iter(), "Dos").unwrap();
    let ids = [id(8), id(of_damaged + 1)];
    assert!(engine.catalog().delete_records(&ids).unwrap().is_empty());
    flush(&engine);
    assert!(damaged.exists(), "it stays until there is another");
    assert!(
        engine
            .run_task(MaintenanceTask::RepairIndex, now())
            .unwrap()
    );
    assert!(!damaged.exists());
    assert!(
        !engine
            .run_task(MaintenanceTask::RepairIndex, now())
            .unwrap()
    );
    let expected = |number: u64| match number {
        _ if number == 7 || number == of_damaged => Some(format!("Dos {number}")),
        _ if number == 8 || number == of_damaged + 1 => None,
        _ => Some(format!("Uno {number}")),
    };
    assert_whole(&engine, expected, SEGMENTS * RECORDS);
    engine.close().unwrap();
    drop(engine);
    assert_whole(&open(data), expected, SEGMENTS * RECORDS);
}

#[test]
fn records_change_while_successors_are_built() {
    let dir = work_dir();
    let data = dir.path();
    prepare(data);
    let engine = open(data);
    let mut changed = 0;
    for round in 0..4 {
        cut(&segments(data)[0]);
        std::thread::scope(|scope| {
            let repair = scope.spawn(|| {
                while engine
                    .run_task(MaintenanceTask::RepairIndex, now())
                    .unwrap()
                {}
            });
            while !repair.is_finished() {
                // One that is there, and one that is new.
                import(&engine, [changed].into_iter(), "Dos").unwrap();
                let fresh = SEGMENTS * RECORDS + changed;
                import(&engine, [fresh].into_iter(), "Dos").unwrap();
                changed += 1;
                if changed % 3 == 0 {
                    flush(&engine);
                }
            }
        });
        let expected = |number: u64| {
            let is_new = SEGMENTS * RECORDS <= number;
            let is_changed = number < changed || is_new;
            Some(format!(
                "{} {number}",
                if is_changed { "Dos" } else { "Uno" }
            ))
        };
        assert!(0 < changed && changed < RECORDS, "round {round}: {changed}");
        assert_whole(&engine, expected, SEGMENTS * RECORDS + changed);
    }
}
