//! Logs that are made anew, or cut short: a node that they have left behind says what to do.

use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, PATIENCE, lines, wait};
use crate::harness::line;

/// Waits until a node applies nothing any more; returns its reason.
fn problem(cluster: &Cluster, number: usize) -> String {
    let until = Instant::now() + PATIENCE;
    loop {
        let status = cluster.status(number);
        let problem = status["problem"].as_str().unwrap_or_default();
        if status["state"] == "degraded" && problem.contains("run `subcat cluster ") {
            return problem.to_owned();
        }
        assert!(Instant::now() < until, "node {number} follows: {status}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn stop_all(cluster: &mut Cluster) {
    for node in &mut cluster.nodes {
        assert_eq!(node.stop_server(), 0);
    }
}

fn a_log_is_made_anew(log: LogServer) {
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.nodes[1].import(&lines(10..20, "Ronin"));
    cluster.wait_for_same_rows();
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    cluster.log.delete_log();
    let before = cluster.status(0)["epoch"].as_u64().unwrap();
    let made = cluster.run(0, "reseed", &["--json"]).json();
    assert!(before < made["epoch"].as_u64().unwrap(), "{made}");
    // It may not have noticed yet: what it appends to the new log changes nothing.
    let late = cluster.nodes[1].run_with(&["import", "-"], line(91, "Lost", ""));
    assert_ne!(late.status, 0, "{late:?}");
    cluster.start(0);
    cluster.wait_for_keys(0);
    cluster.nodes[0].import(&lines(20..25, "Up"));
    for number in 1..3 {
        let sentence = problem(&cluster, number);
        let followed = format!("follows epoch {before}");
        assert!(sentence.contains(&followed), "{sentence}");
        assert!(sentence.contains("subcat cluster join"), "{sentence}");
        let refused = cluster.nodes[number].run_with(&["import", "-"], line(90, "Lost", ""));
        assert_ne!(refused.status, 0, "{refused:?}");
        assert_eq!(cluster.health(number).json()["state"], "degraded");
    }
    // It says the same when it is started again, and goes on serving what it has.
    assert_eq!(cluster.nodes[1].stop_server(), 0);
    cluster.start(1);
    let sentence = problem(&cluster, 1);
    assert!(sentence.contains("subcat cluster join"), "{sentence}");
    for number in 1..3 {
        assert_eq!(cluster.nodes[number].stop_server(), 0);
        cluster.join_again(number);
    }
    cluster.nodes[1].import(&lines(25..27, "Up"));
    for number in 0..3 {
        cluster.wait_for_keys(number);
        wait("all is there", || cluster.found(number, "up") == 7);
        assert_eq!(cluster.found(number, "ronin"), 10);
        assert_eq!(cluster.found(number, "lost"), 0);
    }
    assert_eq!(cluster.same_export().len(), 3 + 10 + 7);
}

/// Asserts that no metric of a node has two values, though two numbers have the name of the node
/// that has joined again.
fn series_are_unique(cluster: &Cluster) {
    for number in 0..2 {
        wait("both numbers are known", || {
            let metrics = cluster.metrics(number);
            let series = metrics.lines().filter(|line| !line.starts_with('#'));
            let series = series.filter_map(|line| Some(line.rsplit_once(' ')?.0));
            let mut all: Vec<_> = series.collect();
            all.sort_unstable();
            assert!(all.windows(2).all(|two| two[0] != two[1]), "{metrics}");
            let of_name = "subcat_cluster_silent_seconds{node=\"node-2\",";
            all.iter().filter(|name| name.starts_with(of_name)).count() == 2
        });
    }
}

fn a_node_was_away_for_too_long(log: LogServer) {
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.wait_for_same_rows();
    assert_eq!(cluster.nodes[2].stop_server(), 0);
    for round in 0..2 {
        cluster.nodes[1].import(&lines(10 + round * 10..20 + round * 10, "Ronin"));
        wait("it is applied", || {
            cluster.found(0, "ronin") == u64::from(round + 1) * 10
        });
        // With its server running, and stopped.
        if round == 0 {
            cluster.run(0, "snapshot", &[]).ok();
        } else {
            assert_eq!(cluster.nodes[0].stop_server(), 0);
            let arguments = ["--truncate", "--keep", "2", "--json"];
            let written = cluster.run(0, "snapshot", &arguments).json();
            // That of the beginning.
            assert_eq!(written["removed"], 1);
            assert_eq!(std::fs::read_dir(cluster.snapshots()).unwrap().count(), 2);
            cluster.start(0);
        }
        cluster.wait_for_keys(0);
    }
    cluster.start(2);
    let sentence = problem(&cluster, 2);
    assert!(sentence.contains("away for too long"), "{sentence}");
    assert!(sentence.contains("subcat cluster join"), "{sentence}");
    assert_eq!(cluster.nodes[2].stop_server(), 0);
    cluster.join_again(2);
    cluster.wait_for_keys(2);
    assert_eq!(cluster.found(2, "ronin"), 20);
    series_are_unique(&cluster);
    assert_eq!(cluster.same_export().len(), 3 + 20);
    // Whoever is there goes on as before.
    stop_all(&mut cluster);
    for number in 0..3 {
        cluster.start(number);
    }
    cluster.nodes[2].import(&lines(90..91, "Up"));
    assert_eq!(cluster.same_export().len(), 3 + 20 + 1);
}

#[test]
fn a_log_in_nats_is_made_anew() {
    if let Some(log) = LogServer::nats() {
        a_log_is_made_anew(log);
    }
}

#[test]
fn a_log_in_postgres_is_made_anew() {
    if let Some(log) = LogServer::postgres() {
        a_log_is_made_anew(log);
    }
}

#[test]
fn a_node_was_away_for_too_long_from_nats() {
    if let Some(log) = LogServer::nats() {
        a_node_was_away_for_too_long(log);
    }
}

#[test]
fn a_node_was_away_for_too_long_from_postgres() {
    if let Some(log) = LogServer::postgres() {
        a_node_was_away_for_too_long(log);
    }
}
