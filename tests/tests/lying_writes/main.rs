//! Writes that are lost or go elsewhere while the engine runs, and are reported as done: found by
//! checksums, never believed.
//!
//! A round runs a history in two sessions on a disk that lies about one write, opens what there is,
//! lets the scrubber read it and asks for everything. An answer may be another than the history
//! leads to only if the engine has told of damage; a key that was revoked, or an account that was
//! disabled, is so in any case. `scripts/crash --lies` runs many; `SUBCAT_LIES` and
//! `SUBCAT_LIE_SEED` choose how many and which.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod round;

use std::collections::BTreeMap;
use std::ops::Range;

use round::Prepared;
use subcat_tests::campaign::{run_rounds, setting};

/// Rounds after which a campaign must have come to each of [`ENDS`].
const ROUNDS_OF_ALL: u64 = 200;

/// File and end that a campaign must have met.
const ENDS: [(&str, &str); 7] = [
    ("catalog.redb", "told"),
    ("catalog.redb", "no difference"),
    ("state.redb", "healed"),
    ("state.redb", "no difference"),
    ("index", "told"),
    ("blobs", "told"),
    ("counters", "no difference"),
];

#[test]
fn a_lost_write_is_never_believed() {
    // redb panics on damaged pages, which is caught: hundreds of traces say nothing.
    std::panic::set_hook(Box::new(|_| {}));
    let first = setting("SUBCAT_LIE_SEED", 1);
    let rounds = setting("SUBCAT_LIES", 200);
    let prepared = Prepared::new(None);
    let outcomes = run_rounds(&(first..first + rounds), |seed| prepared.run(seed));
    let _ = std::panic::take_hook();
    let outcomes = outcomes.unwrap_or_else(|failure| panic!("{failure}"));
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for outcome in &outcomes {
        *counts.entry((outcome.file, outcome.end)).or_default() += 1;
    }
    println!("{} lies, by file and end: {counts:?}", outcomes.len());
    if ROUNDS_OF_ALL <= rounds {
        for reached in ENDS {
            assert!(counts.contains_key(&reached), "no lie: {reached:?}");
        }
    }
}

/// Seeds of the canary: few lies are about what only pages tell, and one of these is.
const CANARY_SEEDS: Range<u64> = 901..1_901;

/// The canary: to an engine that takes both files for too large to be checked, some lie is true.
#[test]
fn without_the_check_of_pages_a_lost_write_is_believed() {
    std::panic::set_hook(Box::new(|_| {}));
    let prepared = Prepared::new(Some(1 << 40));
    let outcome = run_rounds(&CANARY_SEEDS, |seed| prepared.run(seed));
    let _ = std::panic::take_hook();
    println!(
        "not checked: {:?}",
        outcome.err().expect("a lie is believed")
    );
}
