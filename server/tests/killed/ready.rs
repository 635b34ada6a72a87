//! Time from a kill under load to the first answer, with many records.

use std::time::Duration;

use crate::http::start_upstream;
use crate::load::line;
use crate::random::Random;
use crate::{Report, Scene, Source, percentile, setting};

/// Number of the first record of many: none of the load has one like it.
const FIRST: u32 = 1_000_000;

/// Bounds of the campaign, for an optimised build with a machine of its own.
const P50_MAX: Duration = Duration::from_millis(150);
const P99_MAX: Duration = Duration::from_millis(500);
/// Bound of any build on any machine.
const ANY_MAX: Duration = Duration::from_secs(20);

/// `scripts/crash --ready` makes it a million records.
#[test]
fn a_killed_server_answers_again_soon() {
    let records = setting("SUBCAT_READY_RECORDS", 0);
    let rounds = setting("SUBCAT_READY_ROUNDS", 3);
    let (url, asked) = start_upstream();
    let source = Source { url, asked };
    let mut scene = Scene::new(9, &source, None);
    // It would read a million records after each kill.
    scene.is_verified = records == 0;
    scene.prepare().unwrap();
    let many = records.max(2_000) as u32;
    let lines: String = (FIRST..FIRST + many)
        .map(|number| line(number, &format!("Muchos {number}"), None))
        .collect();
    assert!(scene.place.run_with(&["import", "-"], &lines));
    drop(lines);
    let mut random = Random::new(setting("SUBCAT_KILL_SEED", 1));
    let mut report = Report::default();
    for round in 0..=rounds {
        scene.round(round, &mut random, &mut report).unwrap();
    }
    // The first start followed no kill.
    let answered_after = &report.answered_after[1..];
    let (p50, p99) = (
        percentile(answered_after, 50),
        percentile(answered_after, 99),
    );
    println!("{many} records, {rounds} kills: answered after p50 {p50:?}, p99 {p99:?}");
    let bounds = if 0 < records {
        (P50_MAX, P99_MAX)
    } else {
        (ANY_MAX, ANY_MAX)
    };
    assert!(p50 <= bounds.0, "{p50:?}");
    assert!(p99 <= bounds.1, "{p99:?}");
}
