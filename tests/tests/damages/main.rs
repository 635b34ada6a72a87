//! Damage to any file while the server is stopped: it is noticed and never believed.
//!
//! A round damages one place of one file of a prepared data directory, opens it and asks for
//! everything. No answer may be another than before: it may be an error, or missing where the
//! damage was told. What is derived is right again after maintenance. A start that is refused says
//! so by an error, and after `salvage` it opens or refuses again. `scripts/crash --damages` runs
//! many; `SUBCAT_DAMAGES`, `SUBCAT_DAMAGE_SEED` choose how many and which.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod large_files;
mod older_pages;
mod round;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use damage::{Damage, KINDS};
use older_pages::{fill_in_steps, older_pages};
use round::{Prepared, run};
use subcat_tests::campaign::{run_rounds, setting, silence_workers, work_dir};
use subcat_tests::filled::fill;

fn prepare() -> Prepared {
    let dir = work_dir();
    let data = dir.path().join("data");
    fill(&data).unwrap();
    Prepared::read(&data)
}

/// Rounds after which each kind of damage must have met each kind of file and each outcome.
const ROUNDS_OF_ALL: u64 = 600;

#[test]
fn damage_is_never_believed() {
    let first = setting("SUBCAT_DAMAGE_SEED", 1);
    let rounds = setting("SUBCAT_DAMAGES", 600);
    if 1 < rounds {
        silence_workers();
    }
    let prepared = prepare();
    let began = Instant::now();
    let outcomes = run_rounds(&(first..first + rounds), |seed| run(&prepared, seed));
    let outcomes = outcomes.unwrap_or_else(|failure| panic!("{failure}"));
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for outcome in &outcomes {
        *counts.entry((outcome.file, outcome.end)).or_default() += 1;
    }
    println!(
        "{} damages in {} s, by file and end: {counts:?}",
        outcomes.len(),
        began.elapsed().as_secs()
    );
    if ROUNDS_OF_ALL <= rounds {
        for kind in KINDS {
            let met = outcomes.iter().any(|outcome| outcome.kind == kind);
            assert!(met, "no damage was of the kind {kind}");
        }
        // A campaign that never reached one of these shows nothing about it.
        for reached in [
            ("catalog.redb", "refused"),
            ("catalog.redb", "contained"),
            ("catalog.redb", "not used"),
            ("catalog.redb", "salvaged"),
            ("state.redb", "contained"),
            ("index", "healed"),
            ("blobs", "contained"),
            ("counters", "healed"),
            ("format", "salvaged"),
        ] {
            assert!(counts.contains_key(&reached), "no damage: {reached:?}");
        }
    }
}

/// Planted defects: each answer differs from what is expected in one respect.
#[test]
fn a_wrong_answer_is_noticed() {
    silence_workers();
    let mut prepared = prepare();
    let dir = work_dir();
    let unused = Damage::nothing();
    assert!(prepared.check(dir.path(), &unused).is_ok());
    for (name, planted) in prepared.planted() {
        let expected = std::mem::replace(&mut prepared.expected, planted);
        let noticed = prepared.check(dir.path(), &unused);
        assert!(noticed.is_err(), "{name} is not noticed");
        prepared.expected = expected;
    }
}

/// A directory, and each page of a file of the truth as it was after an earlier step.
fn prepare_older_pages(file: &str) -> (Prepared, Vec<Damage>) {
    let dir = work_dir();
    let data = dir.path().join("data");
    let contents = fill_in_steps(&data, file).unwrap();
    let prepared = Prepared::read(&data);
    // As it is now: opening it above has changed it.
    let now = &prepared.files[file];
    let mut damages: Vec<Damage> = Vec::new();
    for before in &contents {
        damages.extend(older_pages(file, before, now));
    }
    (prepared, damages)
}

fn check_older_pages(file: &str) -> (BTreeMap<&'static str, u64>, Vec<String>) {
    silence_workers();
    let (prepared, damages) = prepare_older_pages(file);
    let damages_count = damages.len() as u64;
    let outcomes = run_rounds(&(0..damages_count), |idx| {
        let damage = &damages[idx as usize];
        let work = work_dir();
        let ran = catch_unwind(AssertUnwindSafe(|| prepared.check(work.path(), damage)));
        let outcome = ran.unwrap_or_else(|_| Err("it panicked".to_owned()));
        Ok(outcome.map_err(|failure| format!("{damage:?}: {failure}")))
    });
    let mut ends: BTreeMap<&str, u64> = BTreeMap::new();
    let mut failures = Vec::new();
    for outcome in outcomes.unwrap() {
        match outcome {
            Ok(end) => *ends.entry(end).or_default() += 1,
            Err(failure) => failures.push(failure),
        }
    }
    println!("{damages_count} older pages of {file}: {ends:?}");
    (ends, failures)
}

#[test]
fn an_older_page_of_the_catalog_is_never_believed() {
    let (ends, failures) = check_older_pages("catalog.redb");
    assert_eq!(failures, [""; 0]);
    assert!(ends.contains_key("contained"), "{ends:?}");
}

#[test]
fn an_older_page_of_the_state_is_never_believed() {
    let (ends, failures) = check_older_pages("state.redb");
    assert_eq!(failures, [""; 0]);
    assert!(ends.contains_key("contained"), "{ends:?}");
}

/// Ends of a large file with an older page.
#[test]
fn an_older_page_of_a_large_file_ends_no_process_and_loses_nothing_silently() {
    silence_workers();
    for file in ["catalog.redb", "state.redb"] {
        let (prepared, damages) = prepare_older_pages(file);
        let ends = run_rounds(&(0..damages.len() as u64), |idx| {
            let work = work_dir();
            let damage = &damages[idx as usize];
            let ran = large_files::run(&prepared, work.path(), damage);
            ran.map_err(|failure| format!("{damage:?}: {failure}"))
        });
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for end in ends.unwrap() {
            *counts.entry(end).or_default() += 1;
        }
        println!("older pages of a large {file}: {counts:?}");
        for reached in ["failed", "no difference", "refused", "told"] {
            assert!(counts.contains_key(reached), "{file}: none is {reached}");
        }
    }
}
