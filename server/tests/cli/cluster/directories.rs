//! Data directories that enter a cluster, join one, and leave it.

use super::fixture::{Cluster, LogServer, SRT, lines, wait};
use crate::harness::{Place, exists, id, line};

fn download(place: &Place, key: &str, number: u32) {
    let path = format!("/api/subtitles/{}/download", id(number));
    wait("a file is downloaded", || {
        let answer = place.server().get(&path, Some(key));
        assert!(answer.status == 200 || answer.status == 503, "{answer:?}");
        (answer.status, answer.text()) == (200, SRT.to_owned())
    });
}

fn downloads_of(place: &Place, number: u32) -> u64 {
    let shown = place.run(&["record", "show", &id(number), "--json"]).json();
    shown["own_downloads"].as_u64().unwrap()
}

/// A data directory of its own with one downloaded record, then the only node of a cluster, then
/// on its own again: what it had it keeps.
#[test]
fn a_data_directory_enters_a_cluster_and_leaves_it() {
    let Some(log) = LogServer::nats() else { return };
    let mut cluster = Cluster::alone(log, &[line(1, "Heat", ",\"source_release_id\":\"r1\"")]);
    let key = cluster.key.clone();
    cluster.nodes[0].start_logged_server(&[]);
    for _ in 0..3 {
        download(&cluster.nodes[0], &key, 1);
    }
    let revoked = cluster.nodes[0].create_key(&[]);
    cluster.nodes[0].run(&["key", "revoke", "2"]).ok();
    assert_eq!(cluster.nodes[0].stop_server(), 0);

    cluster.configure_log(0);
    cluster.run(0, "init", &[]).ok();
    cluster.start(0);
    for _ in 0..2 {
        download(&cluster.nodes[0], &key, 1);
    }
    let made = cluster.nodes[0].create_key(&[]);
    cluster.wait_for_keys(0);
    cluster.nodes[0].import(&lines(2..5, "Ronin"));
    assert_eq!(cluster.try_key(0, &revoked).status, 401);
    assert_eq!(downloads_of(&cluster.nodes[0], 1), 5);
    cluster.wait_for_same_rows();
    for arguments in [
        ["cluster", "init"],
        ["cluster", "reseed"],
        ["cluster", "leave"],
    ] {
        let refused = cluster.nodes[0].run(&arguments).fails(1);
        assert!(refused.contains("already serves"), "{refused}");
    }
    assert_eq!(cluster.nodes[0].stop_server(), 0);

    let left = cluster.nodes[0].run(&["cluster", "leave"]).ok();
    assert!(left.contains("is in no cluster any more"), "{left}");
    cluster.nodes[0].unset("SUBCAT_CLUSTER_LOG");
    cluster.nodes[0].start_logged_server(&[]);
    let place = &cluster.nodes[0];
    assert_eq!(
        (cluster.found(0, "heat"), cluster.found(0, "ronin")),
        (1, 3)
    );
    assert_eq!(downloads_of(place, 1), 5);
    assert_eq!(cluster.try_key(0, &made).status, 200);
    assert_eq!(cluster.try_key(0, &revoked).status, 401);
    download(place, &key, 1);
    assert_eq!(downloads_of(place, 1), 6);
    assert!(place.create_key(&[]).starts_with("sct_"));
    place.import(&lines(5..6, "Up"));
    assert_eq!(place.export().len(), 5);
    assert_eq!(
        place.run(&["verify", "--json"]).json(),
        serde_json::json!([])
    );
    let keys = place.run(&["key", "list", "--json"]).json();
    assert_eq!(keys.as_array().unwrap().len(), 4);
    assert_eq!(cluster.status(0)["state"], "alone");
}

#[test]
fn what_makes_no_cluster_is_refused() {
    let Some(log) = LogServer::nats() else { return };
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.nodes[1].import(&lines(4..5, "Ronin"));
    cluster.wait_for_same_rows();
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    let sentence = cluster.run(0, "init", &[]).fails(1);
    assert!(
        sentence.contains("the log subcat exists already"),
        "{sentence}"
    );
    let other = ["--set", "cluster.stream=other"];
    let sentence = cluster.run(0, "init", &other).fails(1);
    assert!(sentence.contains("is in a cluster already"), "{sentence}");
    let sentence = cluster.run(0, "join", &[]).fails(1);
    assert!(sentence.contains("exists already"), "{sentence}");
    let fresh = ["--data", "fresh", "--set", "cluster.stream=other"];
    let sentence = cluster.run(0, "join", &fresh).fails(1);
    assert!(sentence.contains("there is no log other"), "{sentence}");
    // A stopped node is read, and not changed: nobody would hear of it.
    let place = &cluster.nodes[0];
    let hide = ["record", "set", &id(1), "--active", "false"];
    for arguments in [
        &hide[..],
        &["key", "create", "--name", "k"],
        &["key", "revoke", "1"],
    ] {
        let sentence = place.run(arguments).fails(1);
        assert!(sentence.contains("belongs to a cluster"), "{sentence}");
    }
    let refused = place.run_with(&["import", "-"], line(9, "Up", ""));
    assert!(
        refused.stderr.contains("belongs to a cluster"),
        "{refused:?}"
    );
    assert_eq!(place.export().len(), 4);
    assert_eq!(cluster.status(0)["state"], "stopped");

    cluster.nodes[0].unset("SUBCAT_CLUSTER_LOG");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let sentence = cluster.nodes[0].run(&arguments).fails(1);
    assert!(sentence.contains("belongs to a cluster"), "{sentence}");
    assert!(sentence.contains("subcat cluster leave"), "{sentence}");
    cluster.configure_log(0);
    cluster.start(0);
    cluster.same_export();
}

/// A catalog that a start makes is in no cluster, and no `join` replaces it.
#[test]
fn a_start_before_the_cluster_makes_no_catalog() {
    let mut place = Place::stopped();
    for (name, value) in [
        ("SUBCAT_CLUSTER_LOG", "nats://127.0.0.1:1"),
        ("SUBCAT_FILES_S3_ENDPOINT", "http://127.0.0.1:1"),
        ("SUBCAT_FILES_S3_BUCKET", "files"),
    ] {
        place.set(name, value);
    }
    let serve = ["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let refused = |place: &Place| {
        let sentence = place.run(&serve).fails(1);
        assert!(sentence.contains("there is no catalog in"), "{sentence}");
        assert!(sentence.contains("subcat cluster join"), "{sentence}");
        assert!(sentence.contains("subcat cluster init"), "{sentence}");
    };
    refused(&place);
    assert!(!exists(&place.path("data")));
    std::fs::create_dir(place.path("data")).unwrap();
    refused(&place);
    assert_eq!(std::fs::read_dir(place.path("data")).unwrap().count(), 0);
    // One that was made before the settings named a log is told apart.
    let log = "SUBCAT_CLUSTER_LOG";
    place.unset(log);
    place.import(&lines(1..2, "Heat"));
    place.set(log, "nats://127.0.0.1:1");
    let sentence = place.run(&serve).fails(1);
    assert!(sentence.contains("is in no cluster"), "{sentence}");
    assert!(sentence.contains("put it aside"), "{sentence}");
}

/// As root only: another user cannot give files away.
#[test]
fn a_node_that_joins_keeps_the_owner_of_the_empty_directory() {
    use std::os::unix::fs::{MetadataExt, chown};
    let Some(log) = LogServer::nats() else { return };
    let mut cluster = Cluster::alone(log, &lines(1..4, "Heat"));
    cluster.configure_log(0);
    cluster.begin();
    let empty = cluster.nodes[0].path("empty");
    std::fs::create_dir(&empty).unwrap();
    if chown(&empty, Some(54_321), Some(54_322)).is_err() {
        eprintln!("SKIPPED: only root can give a directory to another user");
        return;
    }
    cluster.run(0, "join", &["--data", "empty"]).ok();
    for name in ["", "catalog.redb", "index"] {
        let joined = std::fs::metadata(empty.join(name)).unwrap();
        assert_eq!((joined.uid(), joined.gid()), (54_321, 54_322), "{name}");
    }
    let new = cluster.run(0, "join", &["--data", "new"]);
    assert_eq!(new.status, 0, "{new:?}");
    assert!(new.stderr.contains("was not there before"), "{new:?}");
}

/// Names beside the data directory of a node.
fn names_beside(cluster: &Cluster, number: usize) -> Vec<String> {
    let entries = std::fs::read_dir(cluster.nodes[number].path("")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name != "log").collect();
    names.sort();
    names
}

#[test]
fn a_damaged_snapshot_is_refused_and_leaves_nothing() {
    let Some(log) = LogServer::nats() else { return };
    let mut cluster = Cluster::new(log, &lines(1..400, "Heat"));
    assert_eq!(cluster.nodes[2].stop_server(), 0);
    std::fs::remove_dir_all(cluster.nodes[2].path("data")).unwrap();
    let mut entries = std::fs::read_dir(cluster.snapshots()).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none(), "there is one snapshot");
    let whole = std::fs::read(&path).unwrap();
    let before = names_beside(&cluster, 2);
    for place in 0..=8 {
        let position = (whole.len() - 1) * place / 8;
        let mut damaged = whole.clone();
        damaged[position] ^= 1;
        let short = whole[..position].to_vec();
        for content in [damaged, short] {
            std::fs::write(&path, content).unwrap();
            let done = cluster.run(2, "join", &[]);
            assert_eq!(done.status, 1, "byte {position}: {done:?}");
            assert!(done.stderr.contains("subcat: "), "{done:?}");
            assert_eq!(names_beside(&cluster, 2), before, "byte {position}");
        }
    }
    assert!(!exists(&cluster.nodes[2].path("data")));
    std::fs::write(&path, whole).unwrap();
    cluster.run(2, "join", &[]).ok();
    cluster.start(2);
    assert_eq!(cluster.same_export().len(), 399);
}
