//! Engine and oracle agree: random catalogs, random histories, random requests.
//!
//! `MODEL_REQUESTS` is the number of requests to compare (default: 20,000), `MODEL_SEED` the first
//! seed. A disagreement names its seed; `scripts/model` compares a million.

use std::env;

use proptest::prelude::*;
use subcat_engine::StoreKind;
use subcat_fuzz::choices::Choices;
use subcat_fuzz::differ::{history, large, names, segments};

/// One in this many requests is sent to a whole engine.
const HISTORY_SHARE: usize = 8;
/// One in this many requests is a name alone.
const NAMES_SHARE: usize = 2;

fn setting(name: &str, default: usize) -> usize {
    match env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number, not {text}")),
        Err(_) => default,
    }
}

/// Prints its seed when a comparison panics.
struct Seed(u64);

impl Drop for Seed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!(
                "seed {}: MODEL_SEED={} MODEL_REQUESTS=1 runs it again",
                self.0, self.0
            );
        }
    }
}

/// Runs seeds until enough requests were compared.
fn compare(requests_min: usize, mut run: impl FnMut(&mut Choices<'_>) -> usize) {
    let mut seed = setting("MODEL_SEED", 0) as u64;
    let mut requests_count = 0;
    while requests_count < requests_min {
        let named = Seed(seed);
        requests_count += run(&mut Choices::seeded(seed));
        drop(named);
        seed += 1;
    }
    println!("{requests_count} requests compared");
}

#[test]
fn segments_answer_like_the_oracle() {
    let requests = setting("MODEL_REQUESTS", 20_000);
    compare(requests, |choices| segments(choices, 20));
}

#[test]
fn engines_in_memory_answer_like_the_oracle() {
    let requests = setting("MODEL_REQUESTS", 20_000) / HISTORY_SHARE;
    compare(requests, |choices| {
        let data = tempfile::tempdir().expect("a temporary folder");
        history(choices, data.path(), StoreKind::Memory, 20)
    });
}

#[test]
fn engines_on_disk_answer_like_the_oracle() {
    let requests = setting("MODEL_REQUESTS", 20_000) / HISTORY_SHARE;
    compare(requests, |choices| {
        let data = tempfile::tempdir().expect("a temporary folder");
        history(choices, data.path(), StoreKind::Redb, 20)
    });
}

/// Names of files and releases, in every form that the rules know.
#[test]
fn names_are_looked_up_like_the_oracle_does() {
    let requests = setting("MODEL_REQUESTS", 20_000) / NAMES_SHARE;
    compare(requests, |choices| names(choices, 40));
}

/// More documents than one posting chunk holds, so that postings have dense and sparse chunks.
#[test]
fn a_large_catalog_answers_like_the_oracle() {
    let requests_count = setting("MODEL_REQUESTS", 20_000).div_ceil(1000).min(400);
    let seed = setting("MODEL_SEED", 0) as u64;
    large(&mut Choices::seeded(seed), 75_000, requests_count);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The same from arbitrary bytes, which shrink to the smallest catalog that disagrees.
    #[test]
    fn segments_answer_like_the_oracle_from_bytes(
        bytes in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        segments(&mut Choices::from_bytes(&bytes), 4);
    }
}
