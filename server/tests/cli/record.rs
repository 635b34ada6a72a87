//! `record`: single records.

use crate::harness::{Place, id, line};

#[test]
fn a_record_is_switched_shown_and_deleted() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", r#","year":1995"#), line(2, "Ronin", "")]);
        let shown = place.run(&["record", "show", &id(1), "--json"]).json();
        assert_eq!(shown["title"], "Heat");
        assert_eq!(shown["is_active"], true);
        assert_eq!(shown["own_downloads"], 0);
        let text = place.run(&["record", "show", &id(1)]).ok();
        assert!(text.contains("title          Heat"), "{text}");
        let text = place
            .run(&["record", "set", &id(1), "--active", "false"])
            .ok();
        assert_eq!(text, format!("{} is inactive\n", id(1)));
        let shown = place.run(&["record", "show", &id(1), "--json"]).json();
        assert_eq!(shown["is_active"], false);
        assert_eq!(shown["year"], 1995);
        place
            .run(&["record", "set", &id(1), "--active", "true"])
            .ok();
        let deleted = place
            .run(&["record", "delete", &id(1), &id(2), "--json"])
            .json();
        assert_eq!(deleted["deleted"], 2);
        assert!(place.export().is_empty());
    });
}

#[test]
fn an_unknown_record_is_status_1_and_nothing_changes() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", "")]);
        for arguments in [
            &["record", "show", &id(9)][..],
            &["record", "set", &id(9), "--active", "true"],
            &["record", "delete", &id(1), &id(9)],
        ] {
            let sentence = place.run(arguments).fails(1);
            assert!(sentence.contains(&id(9)), "{sentence}");
            assert!(!sentence.contains(&id(1)), "{sentence}");
        }
        assert_eq!(place.export().len(), 1);
    });
}

#[test]
fn a_record_that_is_named_twice_is_deleted_once() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", ""), line(2, "Ronin", ""), line(3, "Up", "")]);
        let plain = id(1).replace('-', "");
        let text = place
            .run(&["record", "delete", &id(1), &id(2), &plain, &id(1)])
            .ok();
        assert_eq!(text, "2 deleted\n");
        assert_eq!(place.export().len(), 1);
    });
}

#[test]
fn an_inactive_record_is_not_served_from_the_moment_on() {
    let place = Place::serving();
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", "")]);
    let path = format!("/api/subtitles/{}", id(1));
    let status = || place.server().get(&path, Some(&key)).status;
    assert_eq!(status(), 200);
    place
        .run(&["record", "set", &id(1), "--active", "false"])
        .ok();
    assert_eq!(status(), 404);
    place
        .run(&["record", "set", &id(1), "--active", "true"])
        .ok();
    assert_eq!(status(), 200);
    place.run(&["record", "delete", &id(1)]).ok();
    assert_eq!(status(), 404);
}
