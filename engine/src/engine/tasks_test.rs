//! Maintenance: sweeping content that nothing refers to, scrubbing, tasks that fail.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::test_support::{after, id, import, now, open, open_with, title_of, work_dir};
use crate::block_on::block_on;
use crate::disk::{Disk, Fault, Faulty};
use crate::error::Error;
use crate::limits::{
    AGGREGATE_SECONDS_MAX, EVICTION_SECONDS, FILE_ROWS_PAGE, MADE_TEXT_OVERHEAD_BYTES,
    MERGE_SEGMENTS_COUNT, ORPHAN_SECONDS_MIN, SCRUB_ROUND_SECONDS, SERVED_SECONDS_MIN,
    SWEEP_SECONDS,
};
use crate::model::{BroughtFile, CachedFile, ContentHash, FileKind, ReleaseId, Variant};
use crate::state::{ContentWalk, RememberedFile, StateEvent};
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

/// Puts a blob there without a committed row, as a killed process leaves it.
fn leave_orphan(engine: &Engine, data: &Path, content: &str) -> PathBuf {
    let file = store(engine, 99, content);
    let path = path_of(data, &file);
    let bytes = std::fs::read(&path).unwrap();
    block_on(engine.files().forget_content(file.content)).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn content_that_nothing_refers_to_is_a_note_and_is_swept_at_start_and_after_an_hour() {
    let dir = work_dir();
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

/// Verification and backups visit all files: a copy of them would be gigabytes beside millions.
#[test]
fn files_are_visited_a_page_of_rows_at_a_time_and_each_content_once() {
    let dir = work_dir();
    let engine = open(dir.path());
    let stored = store(&engine, 0, "1\n00:00 shared");
    let files_count = 2 * FILE_ROWS_PAGE as u64 + 7;
    // Every other release has the same content: some on each page.
    let remember = |number: u64| {
        let mut content = stored.content;
        if number % 2 == 1 {
            content = ContentHash([7; 32]);
            content.0[..8].copy_from_slice(&number.to_le_bytes());
        }
        StateEvent::RememberFile(RememberedFile {
            release: release(number),
            file: CachedFile {
                content,
                ..stored.clone()
            },
            replaces: None,
        })
    };
    engine
        .apply((1..files_count).map(remember).collect())
        .unwrap();
    let state = &engine.database().state;
    let mut walk = ContentWalk::new(state.store(), state);
    let (mut pages_count, mut found) = (0, Vec::new());
    while let Some(page) = walk.next_page().unwrap() {
        assert!(page.len() <= FILE_ROWS_PAGE, "{}", page.len());
        pages_count += 1;
        found.extend(page.into_iter().map(|file| file.content));
    }
    let distinct: BTreeSet<ContentHash> = found.iter().copied().collect();
    assert_eq!(pages_count, 3);
    assert_eq!(found.len(), distinct.len());
    assert_eq!(distinct.len() as u64, files_count / 2 + 1);
    assert_eq!(state.contents_count(), files_count / 2 + 1);
}

#[test]
fn an_orphan_that_is_stored_again_stays() {
    let dir = work_dir();
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
    let dir = work_dir();
    let data = dir.path().join("data");
    let engine = open(&data);
    let file = store(&engine, 1, "1\n00:00");
    drop(engine);
    // As if its file system was not mounted.
    let away = dir.path().join("away");
    std::fs::rename(data.join("blobs"), &away).unwrap();
    let engine = open(&data);
    assert!(engine.files().blob(&file, Variant::Identity).is_err());
    let refused = block_on(engine.files().forget_content(file.content)).unwrap_err();
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
    let dir = work_dir();
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

/// Runs a round to its end; returns the count of its steps.
fn scrub(engine: &Engine) -> usize {
    for step in 1..100_000 {
        // After a step that meets a failing disk, the next one runs.
        if matches!(engine.run_task(MaintenanceTask::Scrub, now()), Ok(false)) {
            return step;
        }
    }
    panic!("a round never ends");
}

/// A round takes days beside many files. A segment that is merged before its turn must not keep its
/// file on the disk until then.
#[test]
fn the_scrubber_holds_no_segment_that_waits_for_its_turn() {
    let dir = work_dir();
    let engine = open(dir.path());
    for part in 0..MERGE_SEGMENTS_COUNT as u64 {
        import(&engine, part * 10..part * 10 + 10, "Uno").unwrap();
        engine.catalog().request_reindex();
        while engine.run_task(MaintenanceTask::Reindex, now()).unwrap() {}
    }
    let steps_count = scrub(&engine);
    // The last steps are a segment each, and the end: two segments wait.
    let next_round = after(SCRUB_ROUND_SECONDS);
    for _ in 0..steps_count - 3 {
        let goes_on = engine.run_task(MaintenanceTask::Scrub, next_round);
        assert!(goes_on.unwrap());
    }
    let snapshot = engine.catalog().snapshot().clone();
    let parts = snapshot.parts().iter();
    let merged: Vec<_> = parts.map(|(segment, _)| Arc::downgrade(segment)).collect();
    drop(snapshot);
    assert_eq!(merged.len(), MERGE_SEGMENTS_COUNT);
    while engine.run_task(MaintenanceTask::Merge, now()).unwrap() {}
    assert_eq!(engine.stats().unwrap().file_segments, 1);
    assert!(merged.iter().all(|segment| segment.upgrade().is_none()));
    scrub(&engine);
    assert_eq!(engine.stats().unwrap().scrub_rounds, 2);
}

#[test]
fn the_scrubber_finds_damage_before_it_is_needed() {
    let dir = work_dir();
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

/// Eight files of 1,000 bytes, each with a variant of 100 and its footer, served in turn.
fn served_in_turn(engine: &Engine) -> Vec<CachedFile> {
    let mut stored = Vec::new();
    for number in 0..8 {
        let file = store(engine, number, &format!("1\n00:00 {number:0992}"));
        assert_eq!(file.size_bytes, 1000);
        let files = engine.files();
        files
            .store_variant(&file.content, Variant::Gzip, &[0; 84])
            .unwrap();
        let served_at = after(i64::try_from(number).unwrap());
        files.note_served([file.content], served_at).unwrap();
        stored.push(file);
    }
    stored
}

/// The numbers of the files that are there, in the table and on the disk.
fn kept(engine: &Engine, data: &Path, stored: &[CachedFile]) -> Vec<u64> {
    let mut kept = Vec::new();
    for (number, file) in (0..).zip(stored) {
        let is_known = engine.files().cached_file(&release(number)).is_some();
        assert_eq!(engine.files().has_content(file.content), is_known);
        let path = path_of(data, file);
        assert_eq!(path.exists(), is_known);
        assert_eq!(path.with_extension("gz").exists(), is_known);
        kept.extend(is_known.then_some(number));
    }
    kept
}

fn evict(engine: &Engine, seconds: i64) {
    let task = MaintenanceTask::EvictFiles;
    assert!(!engine.run_task(task, after(seconds)).unwrap());
}

#[test]
fn files_beyond_their_limit_leave_in_the_order_of_their_last_service() {
    let dir = work_dir();
    let engine = open(dir.path());
    let stored = served_in_turn(&engine);
    evict(&engine, 1000);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8, "0 keeps all");
    engine.files().limit(8 * 1100);
    evict(&engine, 1000);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8, "they may");
    let first = [stored[0].content];
    engine.files().note_served(first, after(100)).unwrap();
    drop(engine);
    // The order outlives the process.
    let engine = open(dir.path());
    engine.files().limit(6 * 1100 - 1);
    let sending = engine.files().blob(&stored[1], Variant::Identity);
    let sending = sending.unwrap().unwrap();
    let generation = engine.files().generation();
    evict(&engine, 1000);
    // A sixteenth less than the limit: room for five.
    assert_eq!(kept(&engine, dir.path(), &stored), [0, 4, 5, 6, 7]);
    assert_ne!(engine.files().generation(), generation);
    assert_eq!(sending.bytes().len(), 1000, "who has it open reads it all");
    assert!(sending.bytes().ends_with(b"0001"));
    assert_eq!(engine.verify(false).unwrap(), []);
    let stats = engine.stats().unwrap();
    assert_eq!((stats.evicted_files, stats.evicted_bytes), (3, 3300));
    assert_eq!(stats.cached_files, 5);
    // One that upstream gives again is as new.
    assert_eq!(
        store(&engine, 1, &format!("1\n00:00 {:0992}", 1)),
        stored[1]
    );
    let again = engine.files().blob(&stored[1], Variant::Identity);
    assert_eq!(again.unwrap().unwrap().bytes(), sending.bytes());
}

#[test]
fn a_file_that_was_served_within_a_minute_stays() {
    let dir = work_dir();
    let engine = open(dir.path());
    let stored = served_in_turn(&engine);
    engine.files().limit(1);
    // Some were served after this run began.
    evict(&engine, 0);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8);
    evict(&engine, SERVED_SECONDS_MIN - 1);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8);
    // The next look is some seconds later.
    evict(&engine, SERVED_SECONDS_MIN + 1);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8);
    evict(&engine, SERVED_SECONDS_MIN - 1 + EVICTION_SECONDS);
    assert_eq!(kept(&engine, dir.path(), &stored), [] as [u64; 0]);
}

/// Runs and services by a clock that was a year ahead keep nothing waiting for that year.
#[test]
fn a_clock_that_was_ahead_keeps_no_task_waiting() {
    const YEAR: i64 = 365 * 86_400;
    let dir = work_dir();
    let engine = open(dir.path());
    engine.maintain(now()).unwrap();
    let stored = served_in_turn(&engine);
    engine.files().limit(6 * 1100 - 1);
    engine.maintain(after(YEAR)).unwrap();
    assert_eq!(kept(&engine, dir.path(), &stored), [3, 4, 5, 6, 7]);
    let served = [stored[7].content];
    engine.files().note_served(served, after(YEAR)).unwrap();
    engine.files().limit(1);
    evict(&engine, 1000);
    assert_eq!(kept(&engine, dir.path(), &stored), [] as [u64; 0]);
    let left = leave_orphan(&engine, dir.path(), "1\n00:00 left");
    for seconds in [1000, 1000 + ORPHAN_SECONDS_MIN] {
        assert!(left.exists(), "{seconds}");
        engine.maintain(after(seconds)).unwrap();
    }
    assert!(!left.exists());
}

#[test]
fn made_texts_have_a_limit_of_their_own_and_leave_before_files() {
    let dir = work_dir();
    let engine = open(dir.path());
    let source = store(&engine, 1, "1\n00:00 source");
    let made = |number: u64| {
        let how = format!("{number}.utf-8.es.srt");
        ReleaseId::of_made_text(source.content, &how).unwrap()
    };
    let files = engine.files();
    for number in 0..8 {
        let content = format!("1\n00:00 {number:0992}");
        let stored = files.store_file(&made(number), content.as_bytes(), FileKind::Srt, None);
        let served_at = after(i64::try_from(number).unwrap());
        let stored = stored.unwrap();
        files.note_served([stored.content], served_at).unwrap();
    }
    // One of them is what a file is, too.
    let shared = files.store_file(&made(8), b"1\n00:00 source", FileKind::Srt, None);
    assert_eq!(shared.unwrap().content, source.content);
    evict(&engine, 1);
    let known = || (0..9).filter(|number| files.cached_file(&made(*number)).is_some());
    assert_eq!(known().count(), 9, "they may");
    // Half of it is theirs: seven texts, and a sixteenth less is six.
    let cost = 1000 + MADE_TEXT_OVERHEAD_BYTES;
    engine.files().limit(2 * 7 * cost);
    evict(&engine, 1);
    assert_eq!(known().collect::<Vec<_>>(), [3, 4, 5, 6, 7, 8]);
    assert_eq!(files.cached_file(&release(1)), Some(source));
    assert_eq!(engine.verify(false).unwrap(), []);
}

#[test]
fn releases_with_one_content_leave_together_and_orphans_are_not_evicted() {
    let dir = work_dir();
    let engine = open(dir.path());
    engine.maintain(now()).unwrap();
    let shared = store(&engine, 1, "1\n00:00 shared");
    assert_eq!(store(&engine, 2, "1\n00:00 shared"), shared);
    let orphan = leave_orphan(&engine, dir.path(), "1\n00:00 orphan");
    engine.files().note_served([shared.content], now()).unwrap();
    engine.files().limit(1);
    evict(&engine, SERVED_SECONDS_MIN);
    for number in [1, 2] {
        assert_eq!(engine.files().cached_file(&release(number)), None);
    }
    assert!(!path_of(dir.path(), &shared).exists());
    assert!(orphan.exists(), "it may be stored just now");
}

#[test]
fn what_an_import_brought_is_neither_evicted_nor_counted() {
    let dir = work_dir();
    let engine = open(dir.path());
    let stored = served_in_turn(&engine);
    let contents: Vec<String> = (0..40).map(|it| format!("1\n00:00 b{it:0990}")).collect();
    let releases: Vec<ReleaseId> = (100..140).map(release).collect();
    let files: Vec<BroughtFile<'_>> = releases
        .iter()
        .zip(&contents)
        .map(|(release, content)| BroughtFile {
            release,
            content: content.as_bytes(),
            kind: FileKind::Srt,
        })
        .collect();
    block_on(engine.files().bring(&files)).unwrap();
    let is_kept = || {
        releases.iter().zip(&contents).all(|(release, content)| {
            let file = engine.files().cached_file(release).unwrap();
            let blob = engine.files().blob(&file, Variant::Identity).unwrap();
            file.is_brought && blob.unwrap().bytes() == content.as_bytes()
        })
    };
    // There is room for what was fetched, whatever was brought.
    engine.files().limit(8 * 1100);
    evict(&engine, 1000);
    assert_eq!(kept(&engine, dir.path(), &stored).len(), 8);
    engine.files().limit(1);
    evict(&engine, 2000);
    assert_eq!(kept(&engine, dir.path(), &stored), [] as [u64; 0]);
    assert!(is_kept());
}
