//! Damage of the truth: a record that cannot be read costs that record.

use std::path::Path;

use serde_json::Value;

use crate::harness::{Place, Server, id, line};

/// Changes a byte of a text where the file has it.
fn damage_text(path: &Path, text: &str) {
    let mut bytes = std::fs::read(path).unwrap();
    let at = bytes
        .windows(text.len())
        .position(|found| found == text.as_bytes());
    bytes[at.unwrap()] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

/// A place with three records, of which the second cannot be read.
fn damaged_place(is_serving: bool) -> Place {
    let mut place = Place::stopped();
    place.import(&[
        line(1, "Heat", r#","source_release_id":"1""#),
        line(2, "Ronin", r#","source_release_id":"2""#),
        line(3, "Thief", r#","source_release_id":"3""#),
    ]);
    damage_text(&place.path("data/catalog.redb"), "Ronin");
    if is_serving {
        place.start_server(&[]);
    }
    place
}

#[test]
fn a_damaged_record_answers_500_and_is_left_out_of_searches() {
    let place = damaged_place(true);
    let api_key = place.create_key(&[]);
    let get = |path: &str| place.server().get(path, Some(&api_key));
    let found = get("/api/subtitles/search?title=heat").json();
    assert_eq!(found["total"], 1);
    let found = get("/api/subtitles/search?title=ronin").json();
    assert_eq!(found["total"], 0);
    let path = format!("/api/subtitles/{}", id(2));
    assert_eq!(get(&path).status, 500);
    assert_eq!(get(&format!("{path}/download")).status, 500);
    assert_eq!(get(&format!("/api/subtitles/{}", id(3))).status, 200);
    place.import(&[line(2, "Ronin", "")]);
    assert_eq!(get(&path).status, 200);
    let found = get("/api/subtitles/search?title=ronin").json();
    assert_eq!(found["total"], 1);
}

#[test]
fn a_damaged_record_is_named_left_out_and_replaced() {
    for is_serving in [false, true] {
        let place = damaged_place(is_serving);
        let done = place.run(&["verify"]);
        assert_eq!(done.status, 1, "{done:?}");
        assert!(done.stdout.contains(&id(2)), "{done:?}");
        assert!(done.stdout.contains("record delete"), "{done:?}");
        let done = place.run(&["export", &place.path("all.jsonl").display().to_string()]);
        assert_eq!(done.status, 1, "{done:?}");
        assert!(
            done.stderr.contains(&format!("record {}", id(2))),
            "{done:?}"
        );
        let exported = std::fs::read_to_string(place.path("all.jsonl")).unwrap();
        assert_eq!(exported.lines().count(), 2);
        assert!(exported.ends_with("}\n"), "{exported}");
        let copy = place.path("copy").display().to_string();
        let done = place.run(&["backup", &copy, "--json"]);
        assert_eq!(done.status, 1, "{done:?}");
        assert!(done.stderr.contains(&id(2)), "{done:?}");
        let stats = place.run(&["stats", "--json", "--data", &copy]).json();
        assert_eq!(stats["active_records"], 2);
        let summary = place.import(&[line(2, "Ronin", "")]);
        assert_eq!(summary["updated"], 1, "it counts as being there");
        ensure_only_notes(&place);
        assert_eq!(place.export().len(), 3);
    }
}

/// Finds nothing but that the file with the damage was replaced, and is kept.
fn ensure_only_notes(place: &Place) {
    let findings = place.run(&["verify", "--json"]).json();
    let kept = findings.as_array().unwrap();
    let is_kept = |finding: &Value| finding["is_note"] == true || finding["is_repaired"] == true;
    assert!(kept.iter().all(is_kept), "{findings}");
}

#[test]
fn a_damaged_record_can_be_deleted() {
    for is_serving in [false, true] {
        let place = damaged_place(is_serving);
        let shown = place.run(&["record", "show", &id(2)]);
        assert_eq!(shown.status, 1, "{shown:?}");
        assert!(shown.stderr.contains(&id(2)), "{shown:?}");
        let deleted = place.run(&["record", "delete", &id(2), "--json"]).json();
        assert_eq!(deleted["deleted"], 1);
        ensure_only_notes(&place);
        assert_eq!(place.export().len(), 2);
    }
}

/// Also where the damaged page makes the whole file be copied.
#[test]
fn repairing_names_a_damaged_record_and_keeps_it() {
    let place = damaged_place(false);
    let repaired = place.run(&["verify", "--repair"]);
    assert_eq!(repaired.status, 1, "{repaired:?}");
    assert!(repaired.stdout.contains(&id(2)), "{repaired:?}");
    let again = place.run(&["verify"]);
    assert_eq!(again.status, 1, "{again:?}");
    assert!(again.stdout.contains(&id(2)), "{again:?}");
    place.import(&[line(2, "Ronin", "")]);
    place.run(&["verify"]).ok();
    assert_eq!(place.export().len(), 3);
}

/// A file with a damaged page that it needs: each command says what to do in one line, and either
/// the repair works or its answer is to restore a backup.
#[test]
fn a_start_that_refuses_says_what_to_do() {
    const PAGE_BYTES: usize = 4_096;
    let place = Place::stopped();
    let lines: Vec<String> = (0..200).map(|number| line(number, "Heat", "")).collect();
    place.import(&lines);
    let file = place.path("data/catalog.redb");
    let whole = std::fs::read(&file).unwrap();
    let (mut repaired_count, mut lost_count) = (0, 0);
    for page in 0..whole.len() / PAGE_BYTES {
        let range = page * PAGE_BYTES..(page + 1) * PAGE_BYTES;
        if whole[range.clone()].iter().all(|byte| *byte == 0) {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[range].fill(0xa5);
        std::fs::write(&file, bytes).unwrap();
        let started = place.run(&["stats"]);
        if started.status == 0 {
            continue;
        }
        let sentence = started.fails(1);
        assert!(sentence.contains("subcat verify --repair"), "{sentence}");
        assert!(sentence.contains("subcat restore"), "{sentence}");
        let repaired = place.run(&["verify", "--repair"]);
        if place.run(&["stats"]).status == 0 {
            repaired_count += 1;
        } else {
            assert_eq!(repaired.status, 1, "{repaired:?}");
            assert!(repaired.stdout.contains("restore a backup"), "{repaired:?}");
            lost_count += 1;
        }
    }
    assert!(0 < repaired_count, "no damage was repaired");
    assert!(0 < lost_count, "no damage was final");
}

#[test]
fn a_damaged_record_is_named_in_the_log() {
    let place = damaged_place(false);
    let log_path = place.path("log");
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0"]);
    command.stderr(std::fs::File::create(&log_path).unwrap());
    let server = Server::start(command);
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(&log_path).unwrap();
    let named = log.lines().find(|line| line.contains(&id(2)));
    let named = named.unwrap_or_else(|| panic!("{log}"));
    assert!(named.contains("damage was contained"), "{named}");
    assert!(named.contains("subcat record delete"), "{named}");
}
