//! `backup` and `restore`.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::harness::{Place, Server, line};

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
        let inside = place.path("data/monday").display().to_string();
        let refused = place.run(&["backup", &inside]).fails(1);
        assert!(refused.contains("would be lost with it"), "{refused}");
        assert!(!place.path("data/monday").exists());
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

/// Names of the dated backups in a folder, oldest first.
fn dated(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn dated_backups_are_kept_to_a_number() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", "")]);
        let folder = place.path("backups");
        let name = folder.display().to_string();
        // Two that are older than all.
        for year in ["2001", "2002"] {
            let old = folder.join(format!("{year}-01-01T000000Z"));
            place.run(&["backup", &old.display().to_string()]).ok();
        }
        std::fs::write(folder.join("notes.txt"), "").unwrap();
        let made = place
            .run(&["backup", "--keep", "2", &name, "--json"])
            .json();
        let newest = made["destination"].as_str().unwrap();
        assert!(newest.starts_with(&format!("{name}/20")), "{made}");
        let oldest = format!("{name}/2001-01-01T000000Z");
        assert_eq!(made["removed"], json!([oldest]), "{made}");
        let left = dated(&folder);
        assert_eq!(left.len(), 3, "{left:?}");
        assert_eq!(left[0], "2002-01-01T000000Z");
        assert_eq!(left[2], "notes.txt");
        assert_eq!(place.run(&["backup", "--keep", "0", &name]).status, 2);
        let other = place.path("other").display().to_string();
        let refused = place.run(&["restore", &name, "--data", &other]).fails(1);
        assert!(refused.contains("is a folder of backups"), "{refused}");
        assert!(refused.contains(newest), "{refused}");
        place.run(&["restore", newest, "--data", &other]).ok();
    });
}

#[test]
fn backups_that_follow_each_other_at_once_have_their_own_names() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", "")]);
        let folder = place.path("backups");
        let name = folder.display().to_string();
        for _ in 0..4 {
            place.run(&["backup", "--keep", "9", &name]).ok();
        }
        assert_eq!(dated(&folder).len(), 4, "{:?}", dated(&folder));
    });
}

/// A damaged cached file: it is taken from the backup before. Where that is damaged, too, the new
/// one lacks it, says so, and removes no older one.
#[test]
fn a_backup_that_lacks_something_removes_none() {
    let place = with_one_file();
    let folder = place.path("backups");
    let name = folder.display().to_string();
    let first = folder.join("2001-01-01T000000Z");
    place.run(&["backup", &first.display().to_string()]).ok();
    damage_a_blob(&place.path("data"));
    let made = place
        .run(&["backup", "--keep", "2", &name, "--json"])
        .json();
    assert_eq!(made["reused_files"], 1, "{made}");
    std::fs::remove_dir_all(made["destination"].as_str().unwrap()).unwrap();
    damage_a_blob(&first);
    let made = place.run(&["backup", "--keep", "1", &name]);
    assert_eq!(made.status, 1, "{made:?}");
    assert!(made.stderr.contains("replaces no older one"), "{made:?}");
    assert_eq!(dated(&folder).len(), 2);
}

/// A copy by `rsync` or `cp` on another machine has other owners, times and no links.
#[test]
fn a_backup_is_restored_on_another_machine() {
    let place = with_one_file();
    let folder = place.path("backups").display().to_string();
    place
        .run(&["backup", &format!("{folder}/2001-01-01T000000Z")])
        .ok();
    let made = place
        .run(&["backup", "--keep", "2", &folder, "--json"])
        .json();
    assert_eq!(made["reused_files"], 1, "{made}");
    let newest = made["destination"].as_str().unwrap();
    let there = place.path("there");
    let copied = Command::new("cp").args(["-r", newest]).arg(&there).status();
    assert!(copied.unwrap().success());
    let data = place.path("restored").display().to_string();
    let source = there.display().to_string();
    let done = place
        .run(&["restore", &source, "--data", &data, "--json"])
        .json();
    assert_eq!(done["files"], 1, "{done}");
    assert_eq!(done["records"], made["records"], "{done}");
    let sound = place.run(&["verify", "--data", &data]).ok();
    assert_eq!(sound, "everything is as it should be\n");
    damage_a_blob(&there);
    let again = place.path("again").display().to_string();
    let refused = place.run(&["restore", &source, "--data", &again]).fails(1);
    assert!(refused.contains("is damaged in 1 places"), "{refused}");
    assert!(!Path::new(&again).exists());
}

/// A place with the demo's records, and one cached file.
fn with_one_file() -> Place {
    let place = Place::stopped();
    let mut command = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
    command.arg("--data").arg(place.path("data"));
    let (server, sheet) = Server::start_demo(command);
    let line = sheet["curl"][2].as_str().unwrap();
    let path = line.split(&server.address).nth(1).unwrap();
    let path = path.trim_end_matches('\'');
    let file = server.get(path, sheet["key"].as_str());
    assert_eq!(file.status, 200, "{file:?}");
    assert_eq!(server.stop(), 0);
    place
}

/// Changes a byte of the one cached file of a data directory.
fn damage_a_blob(data: &Path) {
    let mut changed_count = 0;
    for folder in std::fs::read_dir(data.join("blobs")).unwrap() {
        let folder = folder.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        for blob in std::fs::read_dir(folder).unwrap() {
            let path = blob.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            bytes[0] ^= 1;
            // Another file under the name: others may share its content.
            std::fs::remove_file(&path).unwrap();
            std::fs::write(&path, bytes).unwrap();
            changed_count += 1;
        }
    }
    assert_eq!(changed_count, 1);
}
