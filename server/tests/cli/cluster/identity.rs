//! Logs that are not the one that a data directory follows, and commands that would remove one.

use super::fixture::{Cluster, LogServer, lines, wait};
use crate::harness::line;

fn reseed_names_what_is_lost(log: LogServer) {
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.wait_for_same_rows();
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    let applied = cluster.status(0)["applied"].as_u64().unwrap();
    cluster.nodes[1].import(&lines(10..20, "Ronin"));
    let sentence = cluster.run(0, "reseed", &[]).fails(1);
    let wanted = format!("--lose-entries-after {applied}");
    assert!(sentence.contains(&wanted), "{sentence}");
    let lost = format!("entries {} to ", applied + 1);
    assert!(sentence.contains(&lost), "{sentence}");
    let other = (applied + 1).to_string();
    let refused = cluster.run(0, "reseed", &["--lose-entries-after", &other]);
    refused.fails(1);
    // Nothing has changed: the node follows the log, and has what it lacked.
    cluster.start(0);
    cluster.wait_for_keys(0);
    assert_eq!(cluster.same_export().len(), 3 + 10);
    // Whoever names what is lost loses it.
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    let applied = cluster.status(0)["applied"].as_u64().unwrap();
    cluster.nodes[1].import(&lines(20..21, "Lost"));
    let named = ["--lose-entries-after", &applied.to_string()];
    cluster.run(0, "reseed", &named).ok();
    cluster.start(0);
    cluster.wait_for_keys(0);
    assert_eq!(cluster.found(0, "lost"), 0);
    assert_eq!(cluster.found(0, "ronin"), 10);
}

#[test]
fn reseed_over_nats_names_what_is_lost() {
    if let Some(log) = LogServer::nats() {
        reseed_names_what_is_lost(log);
    }
}

#[test]
fn reseed_over_postgres_names_what_is_lost() {
    if let Some(log) = LogServer::postgres() {
        reseed_names_what_is_lost(log);
    }
}

fn a_node_of_another_cluster_follows_nothing(log: LogServer) {
    let mut cluster = Cluster::alone(log, &lines(1..4, "Heat"));
    cluster.configure_log(0);
    cluster.begin();
    // Another catalog, whose log begins at the same moment: both are at entry 0.
    let other = ["--data", "other", "--set", "cluster.stream=other"];
    let place = &cluster.nodes[0];
    place.run_with(
        &["import", "-", "--data", "other"],
        lines(50..60, "Up").join("\n"),
    );
    cluster.run(0, "init", &other).ok();
    let sentence = cluster.run(0, "init", &["--data", "other"]).fails(1);
    assert!(sentence.contains("exists already"), "{sentence}");
    let sentence = cluster.run(0, "reseed", &["--data", "other"]).fails(1);
    assert!(sentence.contains("is of another cluster"), "{sentence}");
    // The other cluster lives: no advice ends it.
    assert!(!sentence.contains("--lose-entries-after"), "{sentence}");
    // Its server follows nothing either, and appends nothing.
    cluster.nodes[0].start_logged_server(&["--data", "other"]);
    wait("it tells the logs apart", || {
        let place = &cluster.nodes[0];
        let status = place.run(&["cluster", "status", "--json", "--data", "other"]);
        let status = status.json();
        let problem = status["problem"].as_str().unwrap_or_default();
        problem.contains("this data directory follows epoch")
    });
    let more = line(90, "Lost", "");
    let import = ["import", "-", "--data", "other"];
    let refused = cluster.nodes[0].run_with(&import, more);
    assert_ne!(refused.status, 0, "{refused:?}");
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    cluster.start(0);
    cluster.wait_for_keys(0);
    assert_eq!(cluster.found(0, "heat"), 3);
    for title in ["up", "lost"] {
        assert_eq!(cluster.found(0, title), 0, "{title}");
    }
}

#[test]
fn a_node_of_another_cluster_follows_nothing_in_nats() {
    if let Some(log) = LogServer::nats() {
        a_node_of_another_cluster_follows_nothing(log);
    }
}

#[test]
fn a_node_of_another_cluster_follows_nothing_in_postgres() {
    if let Some(log) = LogServer::postgres() {
        a_node_of_another_cluster_follows_nothing(log);
    }
}

#[test]
fn a_cluster_that_is_begun_again_has_its_own_snapshots() {
    let Some(log) = LogServer::nats() else { return };
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.nodes[1].import(&lines(10..20, "Ronin"));
    cluster.wait_for_same_rows();
    cluster.run(1, "snapshot", &[]).ok();
    for node in &mut cluster.nodes {
        assert_eq!(node.stop_server(), 0);
    }
    cluster.log.delete_log();
    // The same name, the same folder of snapshots, and another catalog.
    std::fs::remove_dir_all(cluster.nodes[0].path("data")).unwrap();
    cluster.nodes[0].unset("SUBCAT_CLUSTER_LOG");
    cluster.nodes[0].import(&lines(50..52, "Up"));
    cluster.key = cluster.nodes[0].create_key(&["--limit", "1000000/60"]);
    cluster.configure_log(0);
    cluster.run(0, "init", &[]).ok();
    cluster.start(0);
    cluster.wait_for_keys(0);
    cluster.join_again(1);
    cluster.wait_for_keys(1);
    wait("the new catalog is there", || cluster.found(1, "up") == 2);
    assert_eq!(cluster.found(1, "heat"), 0);
    // Only snapshots of this log are removed.
    let count = std::fs::read_dir(cluster.snapshots()).unwrap().count();
    let written = cluster
        .run(0, "snapshot", &["--keep", "1", "--json"])
        .json();
    assert_eq!(written["removed"], 1);
    assert_eq!(
        std::fs::read_dir(cluster.snapshots()).unwrap().count(),
        count
    );
    cluster.join_again(2);
    cluster.wait_for_keys(2);
    assert_eq!(cluster.found(2, "up"), 2);
}

#[test]
fn tables_of_others_in_postgres_stay() {
    let Some(LogServer::Postgres(postgres)) = LogServer::postgres() else {
        return;
    };
    postgres.wait();
    postgres.run("CREATE SCHEMA subcat; CREATE TABLE subcat.log AS SELECT generate_series(1, 50)");
    let log = LogServer::Postgres(postgres);
    let mut cluster = Cluster::alone(log, &lines(1..4, "Heat"));
    cluster.configure_log(0);
    let sentence = cluster.run(0, "init", &[]).fails(1);
    assert!(sentence.contains("not a log of subcat"), "{sentence}");
    let LogServer::Postgres(postgres) = &cluster.log else {
        unreachable!("it is PostgreSQL")
    };
    // Fails if a row is missing.
    postgres.run("SELECT 1 / count(*) FROM subcat.log HAVING count(*) = 50");
}
