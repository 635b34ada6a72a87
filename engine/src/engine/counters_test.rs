//! Downloads that are counted, aggregated, and read again after a restart.

use std::sync::Arc;

use super::test_support::{after, id, now, open, open_with, work_dir};
use crate::StoreKind;
use crate::database::{Database, StoreParameters};
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::limits::{AGGREGATE_BYTES_MAX, AGGREGATE_SECONDS_MAX};
use crate::model::{ApiKeyId, Day, NodeId};

#[test]
fn downloads_are_counted_exactly_once() {
    let dir = work_dir();
    let day = Day(20_000);
    let api_key = Some(ApiKeyId(1));
    let engine = open(dir.path());
    let mut lane = engine.usage().counter_lane().unwrap();
    let mut other = engine.usage().counter_lane().unwrap();
    for round in 0..1_000 {
        lane.count(id(1), api_key, day).unwrap();
        other.count(id(2), None, day).unwrap();
        if round % 100 == 0 {
            let later = after(round * AGGREGATE_SECONDS_MAX);
            engine.maintain(later).unwrap();
        }
    }
    engine.usage().sync_counters().unwrap();
    assert_eq!(engine.usage().downloads(id(1)), 1_000);
    // Neither lanes nor engine are closed: as if the process was killed.
    std::mem::forget(lane);
    std::mem::forget(other);
    drop(engine);
    for _ in 0..3 {
        let engine = open(dir.path());
        assert_eq!(engine.usage().downloads(id(1)), 1_000);
        assert_eq!(engine.usage().downloads(id(2)), 1_000);
        assert_eq!(
            engine
                .usage()
                .api_key_totals(ApiKeyId(1))
                .unwrap()
                .0
                .downloads,
            1_000
        );
        let usage = engine.usage().per_day(day, day).unwrap();
        assert_eq!(usage[0].1.downloads, 2_000);
        engine.maintain(now()).unwrap();
        engine.close().unwrap();
    }
}

#[test]
fn counts_are_aggregated_when_they_are_old_or_many_or_read() {
    let dir = work_dir();
    let database = Database::open(
        dir.path(),
        Arc::new(Real),
        StoreParameters::KEPT,
        1,
        NodeId(1),
    )
    .unwrap();
    let mut lane = database.counters.lane().unwrap();
    let mut count = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            lane.count(id(number), Some(ApiKeyId(1)), Day(1)).unwrap();
        }
    };
    let stored = || {
        let usage = database.state.usage(Day(1), Day(1)).unwrap();
        usage.first().map_or(0, |(_, usage)| usage.downloads)
    };
    let aggregated = |seconds| {
        database.aggregate_when_due(after(seconds)).unwrap();
        stored()
    };
    count(0..1);
    assert_eq!(aggregated(100), 0, "it was only just counted");
    assert_eq!(aggregated(100 + AGGREGATE_SECONDS_MAX - 1), 0);
    assert_eq!(aggregated(100 + AGGREGATE_SECONDS_MAX), 1);
    count(0..1);
    assert_eq!(aggregated(200), 1, "this one has not waited yet");
    assert_eq!(aggregated(150), 1, "a clock that is set back");
    assert_eq!(aggregated(150 + AGGREGATE_SECONDS_MAX), 2);
    let many = AGGREGATE_BYTES_MAX / 32;
    count(0..many);
    assert_eq!(aggregated(300), 2 + many, "it is enough for a transaction");
    count(0..5);
    assert_eq!(aggregated(400), 2 + many);
    database.aggregate_for_reader(after(401));
    assert_eq!(stored(), 7 + many, "a reader sees all of it");
    count(0..1);
    database.aggregate_for_reader(after(401));
    assert_eq!(stored(), 7 + many, "but not twice in a second");
    database.aggregate_for_reader(after(400));
    assert_eq!(stored(), 8 + many);
}

/// A file of a lane has room for 32,767 entries. The second disk gives no mapping to write to.
#[test]
fn a_full_counter_file_is_followed_by_another() {
    const COUNTED: u64 = 70_000;
    let disks: [Arc<dyn Disk>; 2] = [Arc::new(Real), Arc::new(Faulty::new(Fault::NONE))];
    for disk in disks {
        let dir = work_dir();
        let open = || open_with(dir.path(), Arc::clone(&disk), StoreKind::Redb).unwrap();
        let engine = open();
        let mut lane = engine.usage().counter_lane().unwrap();
        for number in 0..COUNTED {
            lane.count(id(number), None, Day(1)).unwrap();
            if number == COUNTED / 2 {
                engine.maintain(now()).unwrap();
            }
        }
        let files = std::fs::read_dir(dir.path().join("counters")).unwrap();
        assert_eq!(files.count(), 2, "the first is aggregated and gone");
        // Not closed: as if the process was killed.
        std::mem::forget(lane);
        drop(engine);
        let engine = open();
        assert!((0..COUNTED).all(|number| engine.usage().downloads(id(number)) == 1));
        assert!(
            engine.verify(false).unwrap().is_empty(),
            "zeros are no damage"
        );
    }
}

#[test]
fn a_torn_tail_of_a_counter_file_is_passed_over() {
    let dir = work_dir();
    let engine = open(dir.path());
    let mut lane = engine.usage().counter_lane().unwrap();
    for day in 1..=10 {
        lane.count(id(1), None, Day(day)).unwrap();
    }
    drop((lane, engine));
    let entry = std::fs::read_dir(dir.path().join("counters"))
        .unwrap()
        .next();
    let path = entry.unwrap().unwrap().path();
    let mut content = std::fs::read(&path).unwrap();
    content.extend([7; 50]);
    content[16] ^= 1;
    std::fs::write(&path, content).unwrap();
    let engine = open(dir.path());
    assert_eq!(engine.usage().downloads(id(1)), 9);
    let findings = engine.verify(false).unwrap();
    let torn = findings.iter().map(|finding| finding.offset);
    let expected = [16, (1 << 20) - 16, (1 << 20) + 16].map(Some);
    assert!(torn.eq(expected), "{findings:?}");
    drop(engine);
    assert_eq!(open(dir.path()).usage().downloads(id(1)), 9);
}
