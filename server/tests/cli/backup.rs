//! `backup` and `restore`.

use serde_json::json;

use crate::harness::{Place, line};

#[test]
fn a_backup_is_made_with_a_server_and_without_and_restored_without() {
    for is_serving in [false, true] {
        let mut place = if is_serving {
            Place::serving()
        } else {
            Place::stopped()
        };
        place.import(&[line(1, "Heat", ""), line(2, "Ronin", "")]);
        place.create_key(&[]);
        let copy = place.path("copies/monday").display().to_string();
        let made = place.run(&["backup", &copy, "--json"]).json();
        assert_eq!(made["records"], 2, "{made}");
        assert_eq!(made["left_out"], json!([]));
        let again = place.run(&["backup", &copy]).fails(1);
        assert!(again.contains("exists already"), "{again}");
        let sound = place.run(&["verify", "--data", &copy]).ok();
        assert_eq!(sound, "everything is as it should be\n");
        place.import(&[line(3, "Thief", "")]);
        if is_serving {
            let refused = place.run(&["restore", &copy]).fails(1);
            assert!(refused.contains("in use by process"), "{refused}");
            place.stop_server();
        }
        let done = place.run(&["restore", &copy, "--json"]).json();
        assert_eq!(done["records"], 2, "{done}");
        let stats = place.run(&["stats", "--json"]).json();
        assert_eq!(stats["records"], 2);
        assert_eq!(stats["api_keys"], 1);
        let replaced = done["replaced"].as_str().expect("it is kept").to_owned();
        let stats = place.run(&["stats", "--json", "--data", &replaced]).json();
        assert_eq!(stats["records"], 3);
        place.start_server(&[]);
        assert_eq!(place.stop_server(), 0);
    }
}

#[test]
fn a_backup_needs_a_catalog_and_a_restore_a_backup() {
    let place = Place::stopped();
    let copy = place.path("copy").display().to_string();
    let sentence = place.run(&["backup", &copy]).fails(1);
    assert!(sentence.contains("there is no catalog"), "{sentence}");
    let sentence = place.run(&["restore", &copy]).fails(1);
    assert!(sentence.contains("is not a finished backup"), "{sentence}");
    assert!(!place.path("data").exists());
    assert_eq!(place.run(&["backup"]).status, 2);
}

/// As root only: another user cannot give files away.
#[test]
fn a_restore_keeps_the_owner_of_what_was_there() {
    use std::os::unix::fs::{MetadataExt, chown};
    let place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let backup = place.path("backup").display().to_string();
    place.run(&["backup", &backup]).ok();
    let data = place.path("data");
    if chown(&data, Some(1234), Some(1235)).is_err() {
        eprintln!("skipped: not root");
        return;
    }
    place.run(&["restore", &backup]).ok();
    for name in ["", "catalog.redb", "index"] {
        let restored = std::fs::metadata(data.join(name)).unwrap();
        assert_eq!((restored.uid(), restored.gid()), (1234, 1235), "{name}");
    }
    let new = place.run(&["restore", &backup, "--data", "new"]);
    assert_eq!(new.status, 0, "{new:?}");
    assert!(new.stderr.contains("was not there before"), "{new:?}");
}
