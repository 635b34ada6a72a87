//! A damaged segment heals: it is noticed where it is met, the index is rebuilt from the records,
//! and right answers are back. The start never fails for it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use subcat_engine::{DraftValue, Engine, Filters, Query, RecordDraft, RecordId, SearchText};
use subcat_tests::filled::{id, now, open};

const RECORDS: u64 = 2_000;
/// Records changed after the segment was written: they are in the journal.
const CHANGED: u64 = 50;
/// Distance of the damaged bytes, a prime.
const STRIDE: usize = 18_013;
/// Steps of maintenance after which answers must be right.
const STEPS_MAX: usize = 5;

fn import(engine: &Engine, numbers: std::ops::Range<u64>, word: &str) {
    let mut importer = engine.catalog().importer();
    for number in numbers {
        let id = id(number).to_string();
        let title = format!("Película {word} {number}");
        let text = |text| DraftValue::Text(Cow::Borrowed(text));
        let draft = RecordDraft {
            id: text(&id),
            video_type: text("movie"),
            title: text(&title),
            description: text("Castellano, 1080p"),
            posted_at: text("2020-01-02T03:04:05Z"),
            ..RecordDraft::default()
        };
        importer.push(draft).unwrap().unwrap();
    }
    importer.finish(&mut |_| {}).unwrap();
}

/// A data directory with one segment, and a journal if records are `changed` afterwards.
fn prepare(data: &Path, changed: u64) {
    let engine = open(data).unwrap();
    import(&engine, 0..RECORDS, "primera");
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    if 0 < changed {
        import(&engine, 0..changed, "segunda");
    }
    engine.close().unwrap();
}

fn copy_dir(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn segment_of(data: &Path) -> PathBuf {
    let mut segments: Vec<PathBuf> = fs::read_dir(data.join("index"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(segments.len(), 1);
    segments.pop().unwrap()
}

fn largest_segment(data: &Path) -> PathBuf {
    let files = fs::read_dir(data.join("index")).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    paths
        .max_by_key(|path| fs::metadata(path).unwrap().len())
        .unwrap()
}

fn damage_byte(path: &Path, at: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// The first wrong answer, or the error that took its place.
fn find_fault(engine: &Engine) -> Result<(), String> {
    let snapshot = engine.catalog().snapshot();
    let total = |word: &str| {
        let text = SearchText::query(word).unwrap();
        let query = Query::new(Filters::default(), 200).with_query(text);
        let hits = snapshot.search(&query).map_err(|error| error.to_string())?;
        for place in 0..hits.len() {
            snapshot
                .hit_doc(&hits, place)
                .map_err(|error| error.to_string())?;
        }
        snapshot
            .ensure_not_truncated()
            .map_err(|error| error.to_string())?;
        Ok::<u64, String>(hits.total())
    };
    for (word, expected) in [
        ("película", RECORDS),
        ("primera", RECORDS - CHANGED),
        ("segunda", CHANGED),
        ("castellano", RECORDS),
    ] {
        let found = total(word)?;
        assert_eq!(found, expected, "a wrong answer to {word}");
    }
    for number in 0..RECORDS {
        let doc = snapshot
            .doc(id(number))
            .map_err(|error| error.to_string())?;
        let doc = doc.unwrap_or_else(|| panic!("record {number} is not found"));
        let word = if number < CHANGED {
            "segunda"
        } else {
            "primera"
        };
        let expected = format!("Película {word} {number}\"");
        let fragment = String::from_utf8_lossy(doc.fragment()).into_owned();
        assert!(fragment.contains(&expected), "{fragment}");
    }
    Ok(())
}

/// Maintains until answers are right.
fn heal(engine: &Engine, damage: &str) {
    let mut fault = find_fault(engine);
    for _ in 0..STEPS_MAX {
        if fault.is_ok() {
            return;
        }
        // A step that meets the damage may fail: the next one repairs it.
        let _ = engine.maintain(now());
        fault = find_fault(engine);
    }
    panic!("{damage}: still {fault:?} after {STEPS_MAX} steps");
}

#[test]
fn a_changed_byte_of_a_segment_heals_at_the_start_or_where_it_is_met() {
    let dir = tempfile::tempdir().unwrap();
    let prepared = dir.path().join("prepared");
    prepare(&prepared, CHANGED);
    let size = fs::metadata(segment_of(&prepared)).unwrap().len() as usize;
    for at in (0..size).step_by(STRIDE) {
        let data = dir.path().join(format!("at-{at}"));
        copy_dir(&prepared, &data);
        damage_byte(&segment_of(&data), at);
        let damage = format!("byte {at} of {size}");
        let engine = open(&data).unwrap_or_else(|error| panic!("{damage}: {error}"));
        heal(&engine, &damage);
        // It takes changes, and they are found: nothing is stuck.
        import(&engine, 0..3, "segunda");
        heal(&engine, &damage);
        engine.close().unwrap();
        drop(engine);
        let engine = open(&data).unwrap();
        find_fault(&engine).unwrap();
        fs::remove_dir_all(&data).unwrap();
    }
}

#[test]
fn changes_that_meet_damage_first_do_not_get_stuck() {
    let dir = tempfile::tempdir().unwrap();
    let prepared = dir.path().join("prepared");
    prepare(&prepared, 0);
    let size = fs::metadata(segment_of(&prepared)).unwrap().len() as usize;
    for at in (0..size).step_by(STRIDE * 3) {
        let data = dir.path().join(format!("at-{at}"));
        copy_dir(&prepared, &data);
        damage_byte(&segment_of(&data), at);
        let damage = format!("byte {at} of {size}");
        let engine = open(&data).unwrap_or_else(|error| panic!("{damage}: {error}"));
        let ids: Vec<RecordId> = (0..CHANGED).map(id).collect();
        // The commit is durable though it may report the damage: repeated, it is accepted.
        let mut outcome = engine.catalog().delete_records(&ids);
        for _ in 0..STEPS_MAX {
            if outcome.is_ok() {
                break;
            }
            outcome = engine.catalog().delete_records(&ids);
        }
        assert!(outcome.is_ok(), "{damage}: {outcome:?}");
        import(&engine, 0..CHANGED, "segunda");
        heal(&engine, &damage);
        engine.close().unwrap();
        drop(engine);
        fs::remove_dir_all(&data).unwrap();
    }
}

#[test]
fn a_merge_that_meets_damage_ends() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    prepare(&data, CHANGED);
    let segment = segment_of(&data);
    // The documents come first: a merge copies every one of them.
    damage_byte(&segment, 9_000);
    let engine = open(&data).unwrap();
    let mut failed_steps = 0;
    for _ in 0..50 {
        import(&engine, 0..1, "segunda");
        engine.catalog().request_reindex();
        failed_steps += u32::from(engine.maintain(now()).is_err());
    }
    assert!(
        failed_steps <= 1,
        "{failed_steps} steps of maintenance failed"
    );
    find_fault(&engine).unwrap();
}

/// Time in which answers must be right again, for each 100,000 records.
const HEALING_MAX: Duration = Duration::from_secs(10);

/// Seconds from the start of an engine with a damaged segment to right answers; records by
/// `SUBCAT_HEAL_RECORDS` (`scripts/crash --healing`). While the index is built anew, each answer is
/// right or an error.
#[test]
fn answers_are_right_within_seconds() {
    let records = std::env::var("SUBCAT_HEAL_RECORDS").map_or(RECORDS, |it| it.parse().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let engine = open(dir.path()).unwrap();
    import(&engine, 0..records, "primera");
    engine.catalog().request_reindex();
    while engine.maintain(now()).unwrap() {}
    engine.close().unwrap();
    drop(engine);
    // A byte of the documents, and two of what is behind them.
    for eighth in [1, 4, 7] {
        let segment = largest_segment(dir.path());
        let size = fs::metadata(&segment).unwrap().len() as usize;
        let at = size / 8 * eighth;
        damage_byte(&segment, at);
        let began = Instant::now();
        let engine = open(dir.path()).unwrap();
        let (mut wrong, mut answered) = (0, 0);
        let healed = std::thread::scope(|scope| {
            let healing = scope.spawn(|| {
                while find_total(&engine, "película") != Ok(records)
                    || !is_each_found(&engine, records)
                {
                    let _ = engine.maintain(now());
                }
                began.elapsed()
            });
            while !healing.is_finished() {
                match find_total(&engine, "primera") {
                    Ok(total) if total == records => answered += 1,
                    Ok(_) => wrong += 1,
                    Err(_) => {}
                }
            }
            healing.join().unwrap()
        });
        println!(
            "{records} records, byte {at} of {size}: right after {healed:?}, {answered} answers"
        );
        assert_eq!(wrong, 0, "an answer with another total");
        let times = records.div_ceil(100_000) as u32;
        assert!(healed <= HEALING_MAX * times, "{healed:?}");
        engine.close().unwrap();
    }
}

fn find_total(engine: &Engine, word: &str) -> Result<u64, String> {
    let snapshot = engine.catalog().snapshot();
    let text = SearchText::query(word).unwrap();
    let query = Query::new(Filters::default(), 200).with_query(text);
    let hits = snapshot.search(&query).map_err(|error| error.to_string())?;
    let checked = snapshot.ensure_not_truncated();
    checked.map_err(|error| error.to_string())?;
    Ok(hits.total())
}

fn is_each_found(engine: &Engine, records: u64) -> bool {
    let snapshot = engine.catalog().snapshot();
    (0..records).all(|number| matches!(snapshot.doc(id(number)), Ok(Some(_))))
}
