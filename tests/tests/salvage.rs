//! A file of the truth with a damaged page: what can be read of it is kept.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use subcat_engine::{AccountId, Disk, Engine, Real, StepSecret, salvage};
use subcat_tests::filled::{fill, import_films, now, open};

const RECORDS: u64 = 4_000;
const PAGE_BYTES: usize = 4_096;
/// Distance of the damaged pages, a prime.
const STRIDE: usize = 13;

fn import(engine: &Engine, numbers: std::ops::Range<u64>) {
    import_films(engine, numbers, |number| format!("Película {number}")).unwrap();
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

/// Number of records that can be exported, each as it was imported.
fn exported(engine: &Engine) -> u64 {
    let mut count = 0;
    let export = engine.catalog().export(&mut |record| {
        assert!(record.title.starts_with("Película "), "{record:?}");
        count += 1;
        Ok(())
    });
    export.unwrap();
    count
}

#[test]
fn a_damaged_page_costs_the_rows_in_it() {
    check_damaged_pages(false);
}

/// The same with all records in a segment file, of which the journal says nothing any more.
#[test]
fn the_index_names_the_records_of_a_damaged_page() {
    check_damaged_pages(true);
}

/// Damages one page of a catalog after the other: every record is as it was, or named as damaged.
fn check_damaged_pages(is_flushed: bool) {
    let dir = tempfile::tempdir().unwrap();
    let prepared = dir.path().join("prepared");
    let engine = open(&prepared).unwrap();
    import(&engine, 0..RECORDS);
    if is_flushed {
        engine.catalog().request_reindex();
        while engine.maintain(now()).unwrap() {}
    }
    engine.close().unwrap();
    drop(engine);
    let file = prepared.join("catalog.redb");
    let disk: Arc<dyn Disk> = Arc::new(Real);
    assert_eq!(salvage(&disk, &prepared).unwrap(), [], "nothing is wrong");
    // Opening the file may have shortened it.
    let pages_count = fs::metadata(&file).unwrap().len() as usize / PAGE_BYTES;
    let mut salvaged_count = 0;
    // The first page is the header: without it nothing can be read.
    for page in (1..pages_count).step_by(STRIDE) {
        let data = dir.path().join("data");
        copy_dir(&prepared, &data);
        let mut bytes = fs::read(data.join("catalog.redb")).unwrap();
        bytes[page * PAGE_BYTES..(page + 1) * PAGE_BYTES].fill(0xa5);
        fs::write(data.join("catalog.redb"), bytes).unwrap();
        let findings = salvage(&disk, &data).unwrap();
        if findings.iter().all(|finding| finding.is_repaired) {
            let engine = open(&data).unwrap_or_else(|error| panic!("page {page}: {error}"));
            let found = exported(&engine);
            if found < RECORDS {
                salvaged_count += 1;
                assert!(!findings.is_empty(), "page {page}: a silent loss");
                assert!(data.join("catalog.redb.damaged-1").exists());
            }
            assert_eq!(engine.stats().unwrap().records, RECORDS, "page {page}");
            import(&engine, 0..10);
            let lost_count = RECORDS - exported(&engine);
            assert_eq!(damaged_records(&engine), lost_count, "page {page}");
            assert!(RECORDS / 2 < found, "page {page}: only {found} are left");
            import(&engine, 0..RECORDS);
            assert_eq!(damaged_records(&engine), 0, "page {page}");
            assert_eq!(exported(&engine), RECORDS, "page {page}");
        } else {
            assert!(open(&data).is_err(), "page {page}: {findings:?}");
        }
        fs::remove_dir_all(&data).unwrap();
    }
    assert!(0 < salvaged_count, "no damaged page held records");
}

/// Number of damaged records; nothing else is damaged.
fn damaged_records(engine: &Engine) -> u64 {
    let findings = engine.verify(false).unwrap();
    let damage = findings.iter().filter(|finding| !finding.is_note);
    let mut count = 0;
    for finding in damage {
        assert!(
            finding.file.starts_with("catalog.redb, record "),
            "{finding:?}"
        );
        count += 1;
    }
    count
}

#[test]
fn a_damaged_format_line_is_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let engine = open(&data).unwrap();
    import(&engine, 0..10);
    engine.close().unwrap();
    drop(engine);
    fs::write(data.join("format"), "subcat data directory, fxrmat 1").unwrap();
    assert!(open(&data).is_err());
    let disk: Arc<dyn Disk> = Arc::new(Real);
    let findings = salvage(&disk, &data).unwrap();
    assert!(
        findings.iter().all(|finding| finding.is_repaired),
        "{findings:?}"
    );
    assert_eq!(exported(&open(&data).unwrap()), 10);
}

/// A second step that cannot be read is one that no code passes, not one that is gone.
#[test]
fn a_damaged_second_step_still_asks() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    fill(&data).unwrap();
    let owner = AccountId(2);
    let engine = open(&data).unwrap();
    let secret = engine.accounts().second_step(owner).unwrap().secret;
    let stored = match &secret {
        StepSecret::Plain(bytes) => &bytes[..],
        StepSecret::Sealed(bytes) => bytes,
    };
    engine.close().unwrap();
    drop(engine);
    let file = data.join("state.redb");
    let mut bytes = fs::read(&file).unwrap();
    let mut found_count = 0;
    for at in 0..bytes.len() - stored.len() {
        if bytes[at..].starts_with(stored) {
            bytes[at] ^= 1;
            found_count += 1;
        }
    }
    assert!(0 < found_count);
    fs::write(&file, bytes).unwrap();
    let disk: Arc<dyn Disk> = Arc::new(Real);
    assert_ne!(salvage(&disk, &data).unwrap(), [], "the page is damaged");
    let engine = open(&data).unwrap();
    let step = engine.accounts().second_step(owner).unwrap();
    assert_ne!(step.secret, secret);
    assert!(step.recovery_digests.is_empty());
}
