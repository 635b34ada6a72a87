//! The latest second: shown, and taken back after a clock was far ahead.

use std::sync::Arc;

use subcat_engine::{Change, Engine, NodeId, Options, Real, StoreKind, Timestamp};

use crate::harness::{Place, line};

const SEARCH: &str = "/api/subtitles/search?title=heat";

fn now() -> Timestamp {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    Timestamp::from_seconds(now as i64).unwrap()
}

/// Leaves the data directory as a server with a clock that was ten years ahead for hours.
fn store_wrong_clock(place: &Place) {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(1),
    };
    let engine = Engine::open(&place.path("data"), options).unwrap();
    let wrong = now().plus_seconds(3_650 * 86_400);
    let set = Change::SetClock(wrong).into_event("clock", wrong);
    engine.apply(vec![set]).unwrap();
    engine.close().unwrap();
}

#[test]
fn a_wrong_clock_is_taken_back_and_what_it_revives_is_listed() {
    for is_serving in [false, true] {
        let mut place = Place::stopped();
        place.import(&[line(1, "Heat", "")]);
        let expiring = place.create_key(&["--expires", "30d"]);
        let lasting = place.create_key(&[]);
        store_wrong_clock(&place);
        if is_serving {
            place.start_server(&[]);
            let statuses =
                [&expiring, &lasting].map(|key| place.server().get(SEARCH, Some(key)).status);
            assert_eq!(statuses, [401, 200]);
        }
        let refused = place
            .run(&["key", "create", "--name", "x", "--expires", "2030-01-01"])
            .fails(1);
        assert!(refused.contains("past"), "{refused}");
        let shown = place.run(&["clock", "show", "--json"]).json();
        assert!(
            shown["ahead_seconds"].as_i64().unwrap() > 3_600 * 86_400,
            "{shown}"
        );
        assert_eq!(shown["revived"][0]["id"], 1, "{shown}");
        let said = place.run(&["clock", "reset"]).ok();
        assert!(said.contains("these keys are valid again"), "{said}");
        if is_serving {
            let statuses =
                [&expiring, &lasting].map(|key| place.server().get(SEARCH, Some(key)).status);
            assert_eq!(statuses, [200, 200]);
        }
        let shown = place.run(&["clock", "show", "--json"]).json();
        assert!(shown["ahead_seconds"].as_i64().unwrap() <= 0, "{shown}");
        assert_eq!(shown["revived"], serde_json::json!([]));
        place
            .run(&["key", "create", "--name", "x", "--expires", "2030-01-01"])
            .ok();
    }
}
