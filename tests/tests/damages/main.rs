//! Damage to any file while the server is stopped: it is noticed and never believed.
//!
//! A round damages one place of one file of a prepared data directory, opens it and asks for
//! everything. No answer may be another than before: it may be an error, or missing where the
//! damage was told. What is derived is right again after maintenance. A start that is refused says
//! so by an error, and after `salvage` it opens or refuses again. `scripts/crash --damages` runs
//! many; `SUBCAT_DAMAGES`, `SUBCAT_DAMAGE_SEED` choose how many and which.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod damage;
mod round;

use std::collections::BTreeMap;
use std::time::Instant;

use damage::{Damage, KINDS};
use round::{Prepared, run};
use subcat_tests::campaign::{run_rounds, setting, work_dir};
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
        // redb panics on damaged pages, which is caught: thousands of traces say nothing.
        std::panic::set_hook(Box::new(|_| {}));
    }
    let prepared = prepare();
    let began = Instant::now();
    let outcomes = run_rounds(&(first..first + rounds), |seed| run(&prepared, seed));
    let _ = std::panic::take_hook();
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
    std::panic::set_hook(Box::new(|_| {}));
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
    let _ = std::panic::take_hook();
}
