//! `stats`, `verify`, `explain`.

use crate::harness::{Place, id, line};
use serde_json::json;

#[test]
fn stats_count_what_is_there() {
    Place::in_both_modes(|place| {
        place.import(&[
            line(1, "Heat", ""),
            line(2, "Ronin", r#","is_active":false"#),
        ]);
        place.create_key(&[]);
        let stats = place.run(&["stats", "--json"]).json();
        assert_eq!(stats["records"], 2);
        assert_eq!(stats["active_records"], 1);
        assert_eq!(stats["api_keys"], 1);
        assert_eq!(stats["is_running"], place.is_serving());
        assert!(
            stats["index_bytes_per_record"].as_f64().unwrap() > 0.0,
            "{stats}"
        );
        let text = place.run(&["stats"]).ok();
        assert!(text.contains("records               2\n"), "{text}");
    });
}

#[test]
fn compact_gives_free_space_back() {
    Place::in_both_modes(|place| {
        let long = format!(r#","description":"{}""#, "palabra ".repeat(120));
        let records: Vec<String> = (1..=3_000)
            .map(|number| line(number, "Heat", &long))
            .collect();
        place.import(&records);
        let text = place.run(&["compact"]).ok();
        assert!(text.contains("catalog.redb: "), "{text}");
        let size = || {
            std::fs::metadata(place.path("data/catalog.redb"))
                .unwrap()
                .len()
        };
        let before = size();
        for numbers in (1..=2_900).collect::<Vec<u32>>().chunks(290) {
            let ids: Vec<String> = numbers.iter().map(|number| id(*number)).collect();
            let mut arguments = vec!["record", "delete"];
            arguments.extend(ids.iter().map(String::as_str));
            place.run(&arguments).ok();
        }
        // A server measures it once a round of the scrubber, and after each compaction.
        let measured = |stats: &serde_json::Value| stats["catalog_reclaimable_bytes"].as_u64();
        let reclaimable = measured(&place.run(&["stats", "--json"]).json()).unwrap();
        let compacted = place.run(&["compact", "--json"]).json();
        assert_eq!(compacted[0]["file"], "catalog.redb");
        let given_back = compacted[0]["bytes_before"].as_u64().unwrap()
            - compacted[0]["bytes_after"].as_u64().unwrap();
        assert!(
            before / 2 < given_back,
            "{given_back} of {before}: {compacted}"
        );
        if !place.is_serving() {
            assert!(given_back <= reclaimable, "{given_back} of {reclaimable}");
        }
        assert!(size() < before / 2, "{} of {before}", size());
        let stats = place.run(&["stats", "--json"]).json();
        let rest = measured(&stats).unwrap();
        assert!(rest < given_back / 4, "{rest} of {given_back}");
        assert_eq!(stats["records"], 100);
        assert_eq!(place.export().len(), 100);
        assert_eq!(place.run(&["verify", "--json"]).json(), json!([]));
    });
}

#[test]
fn verify_finds_nothing_wrong_in_a_good_directory() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", "")]);
        assert_eq!(
            place.run(&["verify"]).ok(),
            "everything is as it should be\n"
        );
        assert_eq!(place.run(&["verify", "--json"]).json(), json!([]));
        let repair = place.run(&["verify", "--repair"]);
        if place.is_serving() {
            assert!(repair.fails(1).contains("stop it to repair"));
        } else {
            repair.ok();
        }
    });
}

#[test]
fn verify_says_what_is_wrong_and_fails_with_one_line() {
    let place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    std::fs::write(place.path("data/blobs/stray"), "x").unwrap();
    let done = place.run(&["verify"]);
    assert!(done.stdout.contains("stray"), "{done:?}");
    let sentence = done.fails(1);
    assert!(sentence.contains("1 problem found"), "{sentence}");
    assert!(sentence.contains("verify --repair"), "{sentence}");
    let text = place.run(&["verify", "--repair"]).ok();
    assert!(text.contains("(repaired)"), "{text}");
}

#[test]
fn explain_shows_the_plan_of_a_search() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", r#","year":1995"#)]);
        let text = place
            .run(&["explain", "--query", "heat 1995", "--limit", "5"])
            .ok();
        assert!(text.contains("heat"), "{text}");
        assert!(text.contains("1995"), "{text}");
        let sentence = place.run(&["explain"]).fails(1);
        assert!(sentence.contains("--query"), "{sentence}");
        let sentence = place
            .run(&["explain", "--title", "x", "--year", "20"])
            .fails(1);
        assert!(sentence.contains("--year: Input should be"), "{sentence}");
        let sentence = place
            .run(&["explain", "--title", "x", "--season", "1"])
            .fails(1);
        assert!(sentence.contains("--video-type episode"), "{sentence}");
    });
}
