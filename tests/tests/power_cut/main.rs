//! Power cuts: whatever the disk had not synced is dropped, torn or reordered, and everything that
//! was acknowledged is still there.
//!
//! A round runs a history of changes on a simulated disk, cuts the power at one of its operations,
//! opens what is left (at times with a second cut while it recovers) and compares with a model of
//! what was acknowledged. `scripts/crash --power-cuts` runs many; `SUBCAT_CUT_ROUNDS` and
//! `SUBCAT_CUT_SEED` choose how many and which.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod history;
mod model;
mod round;

use std::collections::BTreeMap;

use round::{Outcome, Round, STEPS, run};
use subcat_engine::internals::IgnoredSyncs;
use subcat_tests::campaign::{run_rounds, setting};

/// Runs rounds; the outcome of each that ended well, or a failure.
fn campaign(
    seeds: std::ops::Range<u64>,
    ignored: Option<IgnoredSyncs>,
) -> Result<Vec<Outcome>, String> {
    run_rounds(&seeds, |seed| run(&Round { seed, ignored }))
}

#[test]
fn what_was_acknowledged_survives_a_power_cut() {
    let first = setting("SUBCAT_CUT_SEED", 1);
    let rounds = setting("SUBCAT_CUT_ROUNDS", 2_000);
    let outcomes =
        campaign(first..first + rounds, None).unwrap_or_else(|failure| panic!("{failure}"));
    let mut steps: BTreeMap<&str, u64> = BTreeMap::new();
    let mut places: BTreeMap<&str, u64> = BTreeMap::new();
    let mut second_places: BTreeMap<&str, u64> = BTreeMap::new();
    for outcome in &outcomes {
        *steps.entry(outcome.cut_in).or_default() += 1;
        *places.entry(place_of(&outcome.cut_path)).or_default() += 1;
        if let Some(path) = &outcome.second_path {
            *second_places.entry(place_of(path)).or_default() += 1;
        }
    }
    println!(
        "{} rounds, cut by step: {steps:?}, by place: {places:?}, again in the recovery: \
         {second_places:?}",
        outcomes.len()
    );
    // A campaign that never cut the rare steps and places shows nothing about them.
    if ROUNDS_OF_ALL_STEPS <= rounds {
        for step in STEPS {
            assert!(steps.contains_key(step), "no cut fell into {step}");
        }
    }
    if ROUNDS_OF_ALL_PLACES <= rounds {
        for (place, _) in PLACES {
            assert!(places.contains_key(place), "no cut fell into {place}");
        }
        for place in SECOND_PLACES {
            assert!(second_places.contains_key(place), "no second cut: {place}");
        }
    }
}

/// Rounds after which a campaign must have cut every step: of 44,000 rounds, one in a thousand fell
/// into the rarest.
const ROUNDS_OF_ALL_STEPS: u64 = 10_000;
/// Rounds after which a campaign must have cut every place.
const ROUNDS_OF_ALL_PLACES: u64 = 2_000;

/// Places that an operation may concern, the first that fits.
const PLACES: &[(&str, IgnoredSyncs)] = &[
    ("a backup", is_of_backup),
    ("the directory of backups", str::is_empty),
    ("the format file", |path| path.ends_with("format")),
    ("a new store", |path| {
        path.starts_with("data/tmp/") && path.ends_with(".redb")
    }),
    ("catalog.redb", |path| path == "data/catalog.redb"),
    ("state.redb", |path| path == "data/state.redb"),
    ("a new segment", |path| {
        path.starts_with("data/tmp/") && path.ends_with(".seg")
    }),
    ("the index", |path| path.starts_with("data/index")),
    ("a new blob", |path| path.starts_with("data/tmp/blob-")),
    ("the blobs", |path| path.starts_with("data/blobs")),
    ("the counters", |path| path.starts_with("data/counters")),
    ("the data directory", |path| path == "data"),
];
/// Places that a recovery must have been cut in.
const SECOND_PLACES: &[&str] = &["catalog.redb", "state.redb", "the counters"];

fn place_of(path: &str) -> &'static str {
    let mut places = PLACES.iter();
    let found = places.find(|(_, is_there)| is_there(path));
    found.map_or("elsewhere", |(name, _)| name)
}

/// A sync that the program needs, and a disk that leaves it out.
struct Needed {
    name: &'static str,
    ignored: IgnoredSyncs,
}

/// Every kind of sync, but that of a new blob directory's name: `Disk::create_dir` is durable.
const NEEDED: &[Needed] = &[
    needed("content of the format file", |path| {
        path == "data/tmp/format"
    }),
    needed("content of a new store", |path| {
        path.starts_with("data/tmp/") && path.ends_with(".redb")
    }),
    needed("names in the data directory", |path| path == "data"),
    needed("content of catalog.redb", |path| {
        path == "data/catalog.redb"
    }),
    needed("content of state.redb", |path| path == "data/state.redb"),
    needed("content of a new segment", |path| {
        path.starts_with("data/tmp/") && path.ends_with(".seg")
    }),
    needed("name of a new segment", |path| path == "data/index"),
    needed("content of a new blob", |path| {
        path.starts_with("data/tmp/blob-")
    }),
    needed("name of a new blob", |path| path.starts_with("data/blobs/")),
    needed("content of counters", |path| {
        path.starts_with("data/counters/")
    }),
    needed("name of a counter file", |path| path == "data/counters"),
    needed("content of a backup's stores", |path| {
        is_of_backup(path) && path.ends_with(".redb")
    }),
    needed("content of a backup's blobs", |path| {
        is_of_backup(path) && path.contains("/tmp/blob-")
    }),
    needed("names of a backup's blobs", |path| {
        is_of_backup(path) && path.contains("/blobs/")
    }),
    needed("names in a backup", |path| {
        is_of_backup(path) && !path.contains('/')
    }),
    needed("name of a backup", str::is_empty),
];

const fn needed(name: &'static str, ignored: IgnoredSyncs) -> Needed {
    Needed { name, ignored }
}

fn is_of_backup(path: &str) -> bool {
    path.starts_with("backup-")
}

#[test]
fn each_sync_is_needed() {
    let rounds = setting("SUBCAT_CUT_ROUNDS", 400);
    let mut unnoticed = Vec::new();
    for needed in NEEDED {
        match campaign(1..1 + rounds, Some(needed.ignored)) {
            Ok(_) => unnoticed.push(needed.name),
            Err(failure) => println!("not synced: {}: {failure}", needed.name),
        }
    }
    assert!(
        unnoticed.is_empty(),
        "in {rounds} rounds nothing was lost without: {unnoticed:?}"
    );
}
