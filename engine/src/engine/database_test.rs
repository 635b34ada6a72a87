//! A database that is opened, filled, changed, closed and opened again.

use std::sync::Arc;

use super::test_support::{
    after, id, import, now, open, open_with, over_both, summary, text, title_of, work_dir,
};
use crate::disk::{Disk, Fault, Faulty, Real};
use crate::error::Error;
use crate::limits::{
    AGGREGATE_SECONDS_MAX, COMMIT_BYTES_MAX, DELTA_BYTES_MAX, DELTA_RECORDS_MAX,
    DESCRIPTION_CHARS_MAX,
};
use crate::model::{FileKind, RecordDraft, ReleaseId, Variant};
use crate::{Engine, StoreKind};

#[test]
fn a_few_records_are_found_at_once_and_after_a_restart() {
    let dir = work_dir();
    let engine = open(dir.path());
    assert_eq!(import(&engine, 0..10, "Uno").unwrap(), summary(10, 0, 0));
    assert_eq!(import(&engine, 5..15, "Uno").unwrap(), summary(5, 0, 5));
    assert_eq!(import(&engine, 0..2, "Dos").unwrap(), summary(0, 2, 0));
    assert!(engine.catalog().set_active(id(3), false).unwrap());
    assert!(!engine.catalog().set_active(id(99), false).unwrap());
    assert_eq!(
        engine
            .catalog()
            .delete_records(&[id(4), id(99), id(4)])
            .unwrap(),
        [id(99)]
    );
    let check = |engine: &Engine| {
        assert_eq!(title_of(engine, 0).unwrap(), "Dos 0");
        assert_eq!(title_of(engine, 2).unwrap(), "Uno 2");
        assert_eq!(title_of(engine, 3), None);
        assert_eq!(title_of(engine, 4), None);
        assert!(
            !engine
                .catalog()
                .stored_record(id(3))
                .unwrap()
                .unwrap()
                .is_active
        );
        let stats = engine.stats().unwrap();
        assert_eq!((stats.records, stats.active_records), (14, 13));
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    engine.catalog().request_reindex();
    assert!(engine.maintain(now()).unwrap());
    check(&engine);
    assert_eq!(engine.stats().unwrap().delta_records, 0);
    assert_eq!(engine.stats().unwrap().file_segments, 1);
    engine.close().unwrap();
    drop(engine);
    check(&open(dir.path()));
}

#[test]
fn a_large_import_becomes_segments_that_are_merged() {
    over_both(|engine| {
        let first = import(engine, 0..25_000, "Uno").unwrap();
        assert_eq!(first, summary(25_000, 0, 0));
        let second = import(engine, 5_000..30_000, "Dos").unwrap();
        assert_eq!(second, summary(5_000, 20_000, 0));
        let third = import(engine, 0..5_000, "Uno").unwrap();
        assert_eq!(third, summary(0, 0, 5_000));
        assert_eq!(engine.stats().unwrap().tombstones, 20_000);
        assert!(2 < engine.stats().unwrap().file_segments);
        while engine.maintain(now()).unwrap() {}
        assert_eq!(engine.stats().unwrap().tombstones, 0);
        assert_eq!(title_of(engine, 4_999).unwrap(), "Uno 4999");
        assert_eq!(title_of(engine, 5_000).unwrap(), "Dos 5000");
        assert_eq!(title_of(engine, 29_999).unwrap(), "Dos 29999");
        let docs: u64 = engine
            .catalog()
            .snapshot()
            .parts()
            .iter()
            .map(|(segment, tombstones)| u64::from(segment.len()) - tombstones.len())
            .sum();
        assert_eq!(docs, 30_000);
        assert_eq!(engine.verify(false).unwrap(), []);
        let mut exported = Vec::new();
        let export = engine.catalog().export(&mut |record| {
            exported.push(record.id);
            Ok(())
        });
        export.unwrap();
        assert_eq!(exported.len(), 30_000);
        assert!(exported.is_sorted());
    });
}

#[test]
fn an_import_that_changes_nothing_writes_nothing() {
    let dir = work_dir();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk: Arc<dyn Disk> = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(dir.path(), disk, StoreKind::Redb).unwrap();
    let records_count = DELTA_RECORDS_MAX as u64 * 3;
    import(&engine, 0..records_count, "Uno").unwrap();
    let ops_count = faulty.ops_count();
    for numbers in [0..records_count, 0..1] {
        let expected = summary(0, 0, numbers.end);
        assert_eq!(import(&engine, numbers, "Uno").unwrap(), expected);
    }
    assert!(engine.catalog().set_active(id(1), true).unwrap());
    assert_eq!(
        engine
            .catalog()
            .delete_records(&[id(records_count)])
            .unwrap()
            .len(),
        1
    );
    assert_eq!(faulty.ops_count(), ops_count);
}

#[test]
fn long_records_are_committed_and_built_by_their_bytes() {
    let dir = work_dir();
    let engine = open(dir.path());
    // Four bytes each, and no word: nothing in them is indexed.
    let description = "\u{1f3ac}".repeat(DESCRIPTION_CHARS_MAX);
    let records_count = (COMMIT_BYTES_MAX * 5 / 4 / description.len()) as u64;
    // Few enough for a transaction, and for the delta, were it not for their bytes.
    assert!(records_count < DELTA_RECORDS_MAX as u64);
    let mut importer = engine.catalog().importer();
    for number in 0..records_count {
        let id = id(number).to_string();
        let pushed = importer.push(RecordDraft {
            id: text(&id),
            video_type: text("movie"),
            title: text("Uno"),
            description: text(&description),
            posted_at: text("2020-01-02T03:04:05Z"),
            ..RecordDraft::default()
        });
        pushed.unwrap().unwrap();
    }
    let mut durable_counts = Vec::new();
    importer
        .finish(&mut |count| durable_counts.push(count))
        .unwrap();
    let first_bytes = durable_counts[0] * description.len() as u64;
    let bytes_max = COMMIT_BYTES_MAX as u64;
    // A transaction ends with the record that makes it full.
    assert!(
        first_bytes <= bytes_max + description.len() as u64,
        "{first_bytes}"
    );
    assert!(bytes_max / 2 < first_bytes, "{first_bytes}");
    assert_eq!(durable_counts[1..], [records_count]);
    // Each group is shown by itself, and the last one is small enough for the delta.
    let stats = engine.stats().unwrap();
    let rest = records_count - durable_counts[0];
    assert!(rest * description.len() as u64 <= DELTA_BYTES_MAX as u64);
    assert_eq!((stats.file_segments, stats.delta_records), (1, rest));
}

#[test]
fn the_index_is_rebuilt_when_it_is_gone_or_damaged() {
    let dir = work_dir();
    let engine = open(dir.path());
    import(&engine, 0..12_000, "Uno").unwrap();
    import(&engine, 0..100, "Dos").unwrap();
    drop(engine);
    let index = dir.path().join("index");
    std::fs::remove_dir_all(&index).unwrap();
    let check = || {
        let engine = open(dir.path());
        assert_eq!(title_of(&engine, 99).unwrap(), "Dos 99");
        assert_eq!(title_of(&engine, 11_999).unwrap(), "Uno 11999");
        let repaired = engine.verify(false).unwrap();
        assert!(
            !repaired.is_empty(),
            "what opening has repaired is reported once"
        );
        assert!(repaired.iter().all(|finding| finding.is_repaired));
        assert_eq!(engine.verify(false).unwrap(), []);
    };
    check();
    for entry in std::fs::read_dir(&index).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap();
        std::fs::write(&path, &content[..content.len() / 2]).unwrap();
    }
    check();
}

#[test]
fn a_flipped_bit_anywhere_in_a_segment_is_found() {
    let dir = work_dir();
    let engine = open(dir.path());
    import(&engine, 0..500, "Uno").unwrap();
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    drop(engine);
    let index = dir.path().join("index");
    let mut entries = std::fs::read_dir(&index).unwrap();
    let segment_bytes = entries.next().unwrap().unwrap().metadata().unwrap().len();
    for offset in (0..segment_bytes).step_by(997) {
        // Opening may have repaired the last damage by a new file.
        let mut entries = std::fs::read_dir(&index).unwrap();
        let path = entries.next().unwrap().unwrap().path();
        let mut content = std::fs::read(&path).unwrap();
        content[offset as usize] ^= 4;
        std::fs::write(&path, &content).unwrap();
        let found = open(dir.path()).verify(true).unwrap();
        assert!(!found.is_empty(), "byte {offset} of {segment_bytes}");
        assert!(found.iter().all(|finding| finding.is_repaired));
    }
}

#[test]
fn verify_names_damage_and_repairs_what_is_derived() {
    let dir = work_dir();
    let engine = open(dir.path());
    import(&engine, 0..12_000, "Uno").unwrap();
    let release = ReleaseId::parse("1").unwrap();
    let file = engine
        .files()
        .store_file(&release, b"1\n00:00", FileKind::Srt, None);
    let hash = file.unwrap().content;
    engine
        .files()
        .store_variant(&hash, Variant::Gzip, b"gz")
        .unwrap();
    assert_eq!(engine.verify(false).unwrap(), []);
    let blobs = dir.path().join("blobs").join(&hash.to_string()[..2]);
    std::fs::write(blobs.join("stray"), "x").unwrap();
    let gz = blobs.join(format!("{hash}.gz"));
    std::fs::write(&gz, "gzgzgzgzgzgzgzgzgzgzgz").unwrap();
    std::fs::write(dir.path().join("index/0000000099.seg"), "x").unwrap();
    let found = engine.verify(true).unwrap();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|finding| finding.is_repaired), "{found:?}");
    assert_eq!(engine.verify(false).unwrap(), []);
    std::fs::write(blobs.join(hash.to_string()), "1\n00:01").unwrap();
    let found = engine.verify(true).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!found[0].is_repaired);
    assert!(found[0].file.ends_with(&hash.to_string()));
}

/// Without a search that asks for it, committed records wait for a segment file for a minute.
#[test]
fn a_delta_becomes_a_segment_after_a_minute() {
    let dir = work_dir();
    let engine = open(dir.path());
    import(&engine, 0..10, "Uno").unwrap();
    let file_segments_at = |seconds| {
        while engine.maintain(after(seconds)).unwrap() {}
        engine.stats().unwrap().file_segments
    };
    assert_eq!(file_segments_at(0), 0);
    assert_eq!(file_segments_at(59), 0);
    assert_eq!(file_segments_at(60), 1);
    import(&engine, 10..20, "Uno").unwrap();
    assert_eq!(file_segments_at(61), 1, "these have not waited yet");
    assert_eq!(file_segments_at(121), 2);
}

#[test]
fn a_second_process_is_refused() {
    let dir = work_dir();
    let _first = open(dir.path());
    let second = open_with(dir.path(), Arc::new(Real), StoreKind::Redb);
    assert!(matches!(second, Err(Error::Locked { pid, .. }) if pid == std::process::id()));
}

#[test]
fn a_full_disk_lets_everyone_read_and_begins_no_merge() {
    let dir = work_dir();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let open = || {
        open_with(
            dir.path(),
            Arc::clone(&faulty) as Arc<dyn Disk>,
            StoreKind::Redb,
        )
    };
    let engine = open().unwrap();
    for round in 0..4 {
        import(&engine, round * 10..round * 10 + 10, "Uno").unwrap();
        engine.catalog().request_reindex();
        if round < 3 {
            engine.maintain(now()).unwrap();
        }
    }
    let mut lane = engine.usage().counter_lane().unwrap();
    lane.count(id(1), None, now().day()).unwrap();
    // As if the process was killed.
    std::mem::forget(lane);
    drop(engine);
    faulty.set_free_bytes(1 << 20);
    let engine = open().unwrap();
    assert_eq!(engine.usage().downloads(id(1)), 1);
    assert_eq!(title_of(&engine, 39).unwrap(), "Uno 39");
    let refused = import(&engine, 40..50, "Uno");
    assert!(matches!(refused, Err(Error::Space { .. })));
    let ops_count = faulty.ops_count();
    engine.maintain(now()).unwrap();
    for time in 1..4 {
        let maintained = engine.maintain(after(time * AGGREGATE_SECONDS_MAX));
        assert!(matches!(maintained, Err(Error::Space { .. })));
    }
    assert_eq!(faulty.ops_count(), ops_count, "nothing is tried");
    engine.close().unwrap();
    drop(engine);
    faulty.set_free_bytes(u64::MAX);
    let engine = open().unwrap();
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    assert_eq!(engine.usage().downloads(id(1)), 1);
    assert_eq!(
        engine.usage().per_day(now().day(), now().day()).unwrap()[0]
            .1
            .downloads,
        1
    );
    assert_eq!(engine.stats().unwrap().file_segments, 1);
}

#[test]
fn merges_are_stopped_for_good() {
    let dir = work_dir();
    let engine = open(dir.path());
    for round in 0..4 {
        import(&engine, round * 10..round * 10 + 10, "Uno").unwrap();
        engine.catalog().request_reindex();
        if round == 3 {
            engine.catalog().stop_merging();
        }
        engine.maintain(now()).unwrap();
    }
    assert!(!engine.maintain(now()).unwrap());
    assert_eq!(engine.stats().unwrap().file_segments, 4);
    engine.close().unwrap();
}

#[test]
fn imports_updates_and_merges_at_once_end_as_one_after_another() {
    let dir = work_dir();
    let engine = open(dir.path());
    std::thread::scope(|scope| {
        scope.spawn(|| import(&engine, 0..30_000, "Uno").unwrap());
        scope.spawn(|| {
            for number in 0..200 {
                engine.catalog().delete_records(&[id(number * 7)]).unwrap();
                engine.catalog().request_reindex();
            }
        });
        scope.spawn(|| import(&engine, 20_000..40_000, "Dos").unwrap());
        scope.spawn(|| {
            for _ in 0..50 {
                engine.maintain(now()).unwrap();
            }
        });
    });
    let check = |engine: &Engine| {
        let mut stored_count = 0;
        let export = engine.catalog().export(&mut |record| {
            stored_count += 1;
            let snapshot = engine.catalog().snapshot();
            let doc = snapshot
                .doc(record.id)?
                .expect("every stored record is found");
            let fragment = String::from_utf8_lossy(doc.fragment()).into_owned();
            assert!(
                fragment.contains(&format!("\"{}\"", record.title)),
                "{fragment}"
            );
            Ok(())
        });
        export.unwrap();
        let docs: u64 = engine
            .catalog()
            .snapshot()
            .parts()
            .iter()
            .map(|(segment, tombstones)| u64::from(segment.len()) - tombstones.len())
            .sum();
        assert_eq!(docs, stored_count);
    };
    check(&engine);
    drop(engine);
    let engine = open(dir.path());
    check(&engine);
    while engine.maintain(now()).unwrap() {}
    check(&engine);
    const { assert!(DELTA_RECORDS_MAX < 30_000) };
}
