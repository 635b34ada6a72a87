//! Maintenance: sweeping content that nothing refers to, scrubbing, tasks that fail.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::test_support::{after, id, import, now, open, open_with, title_of};
use crate::disk::{Disk, Fault, Faulty};
use crate::error::Error;
use crate::limits::{AGGREGATE_SECONDS_MAX, ORPHAN_SECONDS_MIN, SWEEP_SECONDS};
use crate::model::{CachedFile, FileKind, ReleaseId, Variant};
use crate::{Engine, MaintenanceTask, StoreKind};

fn release(number: u64) -> ReleaseId {
    ReleaseId::parse(&number.to_string()).unwrap()
}

fn store(engine: &Engine, number: u64, content: &str) -> CachedFile {
    let files = engine.files();
    let stored = files.store_file(&release(number), content.as_bytes(), FileKind::Srt, None);
    stored.unwrap()
}

fn path_of(data: &Path, file: &CachedFile) -> PathBuf {
    let hash = file.content.to_string();
    data.join("blobs").join(&hash[..2]).join(hash)
}

/// Puts a content there whose row was never committed, as a killed process leaves it.
fn leave_orphan(engine: &Engine, data: &Path, content: &str) -> PathBuf {
    let file = store(engine, 99, content);
    let path = path_of(data, &file);
    let bytes = std::fs::read(&path).unwrap();
    engine.files().forget_content(file.content).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn content_that_nothing_refers_to_is_a_note_and_is_swept_at_start_and_after_an_hour() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    let kept = path_of(dir.path(), &store(&engine, 1, "1\n00:00 kept"));
    let left = leave_orphan(&engine, dir.path(), "1\n00:00 left");
    let found = engine.verify(false).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].is_note);
    drop(engine);
    let engine = open(dir.path());
    engine.maintain(now()).unwrap();
    assert!(!left.exists(), "it is swept at the start");
    assert_eq!(engine.verify(false).unwrap(), []);
    let new = leave_orphan(&engine, dir.path(), "1\n00:00 new");
    // Seen half an hour after the start, and removed an hour after that.
    engine.maintain(after(SWEEP_SECONDS)).unwrap();
    engine
        .maintain(after(SWEEP_SECONDS + ORPHAN_SECONDS_MIN - 1))
        .unwrap();
    assert!(new.exists(), "it may be stored just now");
    engine
        .maintain(after(2 * SWEEP_SECONDS + ORPHAN_SECONDS_MIN))
        .unwrap();
    assert!(!new.exists());
    assert!(kept.exists());
}

#[test]
fn an_orphan_that_is_stored_again_stays() {
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path());
    engine.maintain(now()).unwrap();
    let path = leave_orphan(&engine, dir.path(), "1\n00:00");
    engine.maintain(after(SWEEP_SECONDS)).unwrap();
    let file = store(&engine, 2, "1\n00:00");
    engine
        .maintain(after(2 * SWEEP_SECONDS + ORPHAN_SECONDS_MIN))
        .unwrap();
    assert!(path.exists());
    assert!(
        engine
            .files()
            .blob(&file, Variant::Identity)
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_folder_of_files_that_is_away_forgets_and_sweeps_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let engine = open(&data);
    let file = store(&engine, 1, "1\n00:00");
    drop(engine);
    // As if its file system was not mounted.
    let away = dir.path().join("away");
    std::fs::rename(data.join("blobs"), &away).unwrap();
    let engine = open(&data);
    assert!(engine.files().blob(&file, Variant::Identity).is_err());
    let refused = engine.files().forget_content(file.content).unwrap_err();
    assert!(refused.to_string().contains("mounted"), "{refused}");
    assert!(engine.maintain(now()).is_err(), "the sweep says so, too");
    assert!(!engine.verify(false).unwrap().is_empty());
    drop(engine);
    std::fs::remove_dir_all(data.join("blobs")).unwrap();
    std::fs::rename(&away, data.join("blobs")).unwrap();
    let engine = open(&data);
    engine.maintain(now()).unwrap();
    let known = engine.files().cached_file(&release(1)).unwrap();
    assert!(
        engine
            .files()
            .blob(&known, Variant::Identity)
            .unwrap()
            .is_some()
    );
    assert_eq!(engine.verify(false).unwrap(), []);
}

#[test]
fn a_task_that_fails_keeps_no_other_from_running() {
    let dir = tempfile::tempdir().unwrap();
    let faulty = Arc::new(Faulty::new(Fault::NONE));
    let disk = Arc::clone(&faulty) as Arc<dyn Disk>;
    let engine = open_with(dir.path(), disk, StoreKind::Redb).unwrap();
    let orphan = leave_orphan(&engine, dir.path(), "1\n00:00");
    let mut lane = engine.usage().counter_lane().unwrap();
    lane.count(id(1), None, now().day()).unwrap();
    let aggregate = |seconds| engine.run_task(MaintenanceTask::AggregateDownloads, after(seconds));
    aggregate(0).unwrap();
    // The counts cannot be aggregated; sweeping needs no space.
    faulty.set_free_bytes(1 << 20);
    let maintained = engine.maintain(after(AGGREGATE_SECONDS_MAX));
    assert!(
        matches!(maintained, Err(Error::Space { .. })),
        "{maintained:?}"
    );
    assert!(!orphan.exists());
}

fn scrub(engine: &Engine) {
    for _ in 0..100_000 {
        // A step that meets a failing disk goes on with the next one.
        if matches!(engine.run_task(MaintenanceTask::Scrub, now()), Ok(false)) {
            return;
        }
    }
    panic!("a round never ends");
}

#[test]
fn the_scrubber_finds_damage_before_it_is_needed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path();
    let engine = open(data);
    import(&engine, 0..5_000, "Uno").unwrap();
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    let file = store(&engine, 1, "1\n00:00");
    scrub(&engine);
    let stats = engine.stats().unwrap();
    assert_eq!((stats.scrub_rounds, stats.scrub_findings), (1, 0));
    assert_eq!(engine.take_damage(), []);
    // The next round begins a day later.
    assert!(
        !engine
            .run_task(MaintenanceTask::Scrub, after(86_399))
            .unwrap()
    );
    drop(engine);

    std::fs::write(path_of(data, &file), "1\n00:01").unwrap();
    let index = std::fs::read_dir(data.join("index")).unwrap();
    let segment = index.map(|entry| entry.unwrap().path()).next().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    std::fs::write(&segment, bytes).unwrap();
    let engine = open(data);
    scrub(&engine);
    assert_eq!(engine.stats().unwrap().scrub_findings, 2);
    assert_eq!(engine.files().cached_file(&release(1)), None);
    let rebuilt = engine.run_task(MaintenanceTask::RepairIndex, now());
    assert!(rebuilt.unwrap(), "the damaged segment was noticed");
    assert_eq!(title_of(&engine, 4_999).unwrap(), "Uno 4999");
    let outcomes: Vec<&str> = engine
        .take_damage()
        .iter()
        .map(|entry| entry.outcome)
        .collect();
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");
    let found = engine.verify(false).unwrap();
    assert!(
        found.iter().all(|found| found.is_note || found.is_repaired),
        "{found:?}"
    );
}
