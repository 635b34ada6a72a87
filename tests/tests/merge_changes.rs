//! Records that change while a merge runs: the result of the merge must not bring them back.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;

use subcat_engine::{Disk, Engine, Filters, Query, Real, RecordId, SearchText};
use subcat_tests::filled::{id, import_films, now, open_on};
use subcat_tests::pausing_disk::PausingDisk;

/// Segments of one tier that a merge takes.
const SEGMENTS_COUNT: u64 = 4;
const RECORDS_IN_SEGMENT: u64 = 10;
const RECORDS_COUNT: u64 = SEGMENTS_COUNT * RECORDS_IN_SEGMENT;

fn open(dir: &Path, disk: Arc<dyn Disk>) -> Engine {
    open_on(disk, dir).unwrap()
}

fn import(engine: &Engine, numbers: impl Iterator<Item = u64>, title: &str) {
    import_films(engine, numbers, |_| title.to_owned()).unwrap();
}

/// Numbers of the records that a search for a title finds, and its total.
fn found(engine: &Engine, title: &str) -> (Vec<u64>, u64) {
    let query = Query::new(Filters::default(), 200).with_title(SearchText::title(title));
    let snapshot = engine.catalog().snapshot();
    let hits = snapshot.search(&query).unwrap();
    let mut numbers = Vec::new();
    for hit_idx in 0..hits.len() {
        let doc = snapshot.hit_doc(&hits, hit_idx).unwrap();
        numbers.push(u128::from_be_bytes(*doc.id().as_bytes()) as u64);
    }
    numbers.sort_unstable();
    (numbers, hits.total())
}

/// Every third record is replaced, every fifth is deleted, the others are as they were.
fn check(engine: &Engine, when: &str) {
    let kept: Vec<u64> = (0..RECORDS_COUNT)
        .filter(|number| number % 3 != 0 && number % 5 != 0)
        .collect();
    let replaced: Vec<u64> = (0..RECORDS_COUNT)
        .filter(|number| number % 3 == 0 && number % 5 != 0)
        .collect();
    let (old, old_total) = found(engine, "Antes");
    assert_eq!(old, kept, "{when}");
    assert_eq!(old_total, kept.len() as u64, "{when}");
    let (new, new_total) = found(engine, "Ahora");
    assert_eq!(new, replaced, "{when}");
    assert_eq!(new_total, replaced.len() as u64, "{when}");
    assert_eq!(engine.stats().unwrap().records, old_total + new_total);
}

#[test]
fn a_record_that_changes_while_a_merge_runs_stays_changed() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Arc::new(PausingDisk::default());
    let engine = open(dir.path(), disk.clone());
    for segment in 0..SEGMENTS_COUNT {
        let from = segment * RECORDS_IN_SEGMENT;
        import(&engine, from..from + RECORDS_IN_SEGMENT, "Antes");
        engine.catalog().request_reindex();
        if segment + 1 < SEGMENTS_COUNT {
            engine.maintain(now()).unwrap();
        }
    }
    // The flush of the last part would be the first to make a segment.
    assert_eq!(engine.stats().unwrap().file_segments, SEGMENTS_COUNT - 1);
    let flush = disk.pause_at(".seg");
    std::thread::scope(|scope| {
        let maintenance = scope.spawn(|| while engine.maintain(now()).unwrap() {});
        flush.wait_until_reached();
        let merge = disk.pause_at(".seg");
        drop(flush);
        merge.wait_until_reached();
        import(&engine, (0..RECORDS_COUNT).step_by(3), "Ahora");
        let deleted: Vec<RecordId> = (0..RECORDS_COUNT).step_by(5).map(id).collect();
        engine.catalog().delete_records(&deleted).unwrap();
        check(&engine, "while the merge runs");
        drop(merge);
        maintenance.join().unwrap();
    });
    assert_eq!(engine.stats().unwrap().merges_done, 1);
    check(&engine, "after the merge");
    drop(engine);
    let engine = open(dir.path(), Arc::new(Real));
    check(&engine, "after a restart");
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    check(&engine, "after a flush");
    assert!(engine.verify(false).unwrap().is_empty());
}
