//! Sharing: whatever is changed through one node is there on all others.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, SRT, lines, wait};
use crate::harness::{id, line};

/// Rounds of a key that is made, used and revoked.
const KEYS: usize = 30;
/// Imports of which the time to the other nodes is taken.
const IMPORTS: u32 = 11;

fn everything_is_shared(log: LogServer, name: &str) {
    let mut first = lines(1..4, "Heat");
    for number in 4..6 {
        let release = format!(",\"source_release_id\":\"r{number}\"");
        first.push(line(number, "Ronin", &release));
    }
    let cluster = Cluster::new(log, &first);
    for number in 0..3 {
        assert_eq!(cluster.found(number, "heat"), 3, "node {number}");
    }
    records_are_shared(&cluster, name);
    keys_are_shared(&cluster, name);
    accounts_are_shared(&cluster);
    files_are_shared(&cluster);
    downloads_add_up(&cluster, name);
    cluster.same_export();
}

fn records_are_shared(cluster: &Cluster, name: &str) {
    let mut delays = Vec::new();
    for import in 0..IMPORTS {
        let writer = import as usize % 3;
        let title = format!("Shared{import}");
        let from = 1_000 + import * 10;
        let imported = cluster.nodes[writer].import(&lines(from..from + 10, &title));
        assert_eq!(imported["inserted"], 10);
        assert_eq!(cluster.found(writer, &title), 10, "its own, at once");
        delays.push(wait("the others find them", || {
            (0..3).all(|number| cluster.found(number, &title) == 10)
        }));
    }
    delays.sort();
    println!("{name}: records are everywhere after {delays:?}");
    let median = delays[delays.len() / 2];
    assert!(median < Duration::from_secs(1), "{delays:?}");
}

fn keys_are_shared(cluster: &Cluster, name: &str) {
    let mut delays = Vec::new();
    for round in 0..KEYS {
        let (maker, revoker) = (round % 3, (round / 3 + 1) % 3);
        let made = cluster.nodes[maker].run(&["key", "create", "--json", "--name", "k"]);
        let made = made.json();
        let key = made["key"].as_str().unwrap();
        for number in 0..3 {
            wait("the key works", || {
                cluster.try_key(number, key).status == 200
            });
        }
        let began = Instant::now();
        let revoke = ["key", "revoke", &made["id"].to_string()];
        cluster.nodes[revoker].run(&revoke).ok();
        delays.push(began.elapsed());
        for number in 0..3 {
            let status = cluster.try_key(number, key).status;
            assert_eq!(status, 401, "round {round}, node {number}");
        }
    }
    delays.sort();
    println!("{name}: a revocation takes {delays:?}");
}

fn accounts_are_shared(cluster: &Cluster) {
    let create = ["account", "create", "ana@example.org", "--password-stdin"];
    cluster.nodes[0].run_with(&create, "correct horse\n").ok();
    wait("the account is known", || {
        let listed = cluster.nodes[1].run(&["account", "list", "--json"]).json();
        listed[0]["email"] == "ana@example.org"
    });
    let again = cluster.nodes[1]
        .run_with(&create, "another horse\n")
        .fails(1);
    assert!(again.contains("already"), "{again}");
    let key = cluster.nodes[1].create_key(&["--account", "ana@example.org"]);
    for number in 0..3 {
        wait("its key works", || {
            cluster.try_key(number, &key).status == 200
        });
    }
    cluster.nodes[2]
        .run(&["account", "disable", "ana@example.org"])
        .ok();
    for number in 0..3 {
        assert_eq!(cluster.try_key(number, &key).status, 401, "node {number}");
    }
}

fn download(cluster: &Cluster, number: usize, record: u32) -> (u16, String) {
    let path = format!("/api/subtitles/{}/download", id(record));
    let answer = cluster.nodes[number]
        .server()
        .get(&path, Some(&cluster.key));
    (answer.status, answer.text())
}

fn downloads_of(cluster: &Cluster, number: usize) -> u64 {
    let shown = cluster.nodes[number].run(&["record", "show", &id(4), "--json"]);
    shown.json()["own_downloads"].as_u64().unwrap()
}

fn downloads_add_up(cluster: &Cluster, name: &str) {
    const COUNTS: [u64; 3] = [5, 7, 9];
    for (number, count) in COUNTS.into_iter().enumerate() {
        for _ in 0..count {
            assert_eq!(download(cluster, number, 4), (200, SRT.to_owned()));
        }
        assert!(count <= downloads_of(cluster, number), "its own, at once");
    }
    let all = COUNTS.iter().sum();
    let delay = wait("the counts add up", || {
        let counts = [0, 1, 2].map(|number| downloads_of(cluster, number));
        assert!(counts.iter().all(|count| *count <= all), "{counts:?}");
        counts == [all; 3]
    });
    println!("{name}: downloads add up after {delay:?}");
    // Each node has downloaded the other record once.
    let of_key = all + 3;
    for number in 0..3 {
        wait("the usage of the key adds up", || {
            let shown = cluster.nodes[number].run(&["key", "show", "1", "--json"]);
            let downloads = shown.json()["downloads"].as_u64().unwrap();
            assert!(downloads <= of_key, "{downloads}");
            downloads == of_key
        });
        assert_eq!(downloads_of(cluster, number), all);
    }
}

/// A file that one node has fetched is had by the others when the upstream is away.
fn files_are_shared(cluster: &Cluster) {
    assert_eq!(download(cluster, 0, 5), (200, SRT.to_owned()));
    wait("the file is in the bucket", || {
        !cluster.bucket.names().is_empty()
    });
    for number in 1..3 {
        wait("the file is known", || {
            let shown = cluster.nodes[number].run(&["file", "show", "r5"]);
            shown.status == 0
        });
    }
    cluster
        .upstream
        .state
        .is_away
        .store(true, Ordering::Relaxed);
    for number in 1..3 {
        wait("the file comes from the bucket", || {
            download(cluster, number, 5).0 == 200
        });
    }
    cluster
        .upstream
        .state
        .is_away
        .store(false, Ordering::Relaxed);
}

#[test]
fn everything_is_shared_over_nats() {
    if let Some(log) = LogServer::nats() {
        everything_is_shared(log, "NATS");
    }
}

#[test]
fn everything_is_shared_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        everything_is_shared(log, "PostgreSQL");
    }
}
