//! Nodes that are killed: they come back with everything that was acknowledged.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use super::fixture::{Cluster, LogServer, lines, wait};
use crate::harness::id;

/// Records of one import while a node is killed.
const BATCH: u32 = 2_000;
/// Imports, of which one third each is before the kill, while the node is away, and after.
const BATCHES: u32 = 12;
/// Acknowledged writes of each writer before all nodes are killed, at least.
const WRITES: u32 = 4;

fn ids(exported: &[Value]) -> HashSet<&str> {
    let ids = exported.iter().map(|record| record["id"].as_str().unwrap());
    ids.collect()
}

fn a_killed_node_catches_up(log: LogServer, name: &str) {
    let mut cluster = Cluster::new(log, &lines(1..2, "Heat"));
    let import = |cluster: &Cluster, batches: std::ops::Range<u32>| {
        for batch in batches {
            let from = 100 + batch * BATCH;
            let imported = cluster.nodes[0].import(&lines(from..from + BATCH, "Ronin"));
            assert_eq!(imported["inserted"], BATCH);
        }
    };
    // It is killed in the middle of what it applies.
    std::thread::scope(|scope| {
        let importing = scope.spawn(|| import(&cluster, 0..BATCHES / 3));
        wait("it applies", || cluster.found(1, "ronin") != 0);
        cluster.nodes[1].server().signal(Signal::KILL);
        importing.join().unwrap();
    });
    cluster.nodes[1].kill_server();
    import(&cluster, BATCHES / 3..2 * BATCHES / 3);
    let began = Instant::now();
    std::thread::scope(|scope| {
        // Started in the midst of more.
        let [first, second, _] = &mut cluster.nodes[..] else {
            unreachable!("there are three");
        };
        let first = &*first;
        let importing = scope.spawn(move || {
            for batch in 2 * BATCHES / 3..BATCHES {
                let from = 100 + batch * BATCH;
                first.import(&lines(from..from + BATCH, "Ronin"));
            }
        });
        second.start_logged_server(&[]);
        println!("{name}: a killed node serves after {:?}", began.elapsed());
        importing.join().unwrap();
    });
    let all = u64::from(BATCHES * BATCH);
    for number in 0..3 {
        cluster.wait_for_keys(number);
        wait("it finds all", || cluster.found(number, "ronin") == all);
    }
    let missed = BATCHES * BATCH * 2 / 3;
    let rate = f64::from(missed) / began.elapsed().as_secs_f64();
    println!("{name}: it has caught up with {missed} records, {rate:.0} a second");
    let exported = cluster.same_export();
    assert_eq!(exported.len() as u64, all + 1);
}

/// Every node writes; all are killed at once; whatever a command has said to be done is done.
fn all_killed_at_once_lose_nothing(log: LogServer, name: &str) {
    let mut cluster = Cluster::new(log, &lines(1..2, "Heat"));
    let written = [const { AtomicU32::new(0) }; 3];
    let acknowledged: Vec<u32> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3u32)
            .map(|writer| {
                let (node, written) = (&cluster.nodes[writer as usize], &written[writer as usize]);
                scope.spawn(move || {
                    let mut acknowledged = Vec::new();
                    for round in 0.. {
                        let from = (writer + 1) * 1_000_000 + round * 5;
                        let text = lines(from..from + 5, "Ronin").join("\n");
                        let done = node.run_with(&["import", "-"], text);
                        if done.status != 0 {
                            break;
                        }
                        acknowledged.extend(from..from + 5);
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                    acknowledged
                })
            })
            .collect();
        wait("each has written", || {
            written
                .iter()
                .all(|count| WRITES <= count.load(Ordering::Relaxed))
        });
        for node in &cluster.nodes {
            node.server().signal(Signal::KILL);
        }
        let joined = writers.into_iter().map(|writer| writer.join().unwrap());
        joined.flatten().collect()
    });
    for number in 0..3 {
        cluster.nodes[number].kill_server();
    }
    for number in 0..3 {
        cluster.start(number);
    }
    println!("{name}: {} records were acknowledged", acknowledged.len());
    let exported = cluster.same_export();
    let there = ids(&exported);
    for number in acknowledged {
        assert!(there.contains(id(number).as_str()), "{number} is lost");
    }
}

#[test]
fn a_killed_node_catches_up_over_nats() {
    if let Some(log) = LogServer::nats() {
        a_killed_node_catches_up(log, "NATS");
    }
}

#[test]
fn a_killed_node_catches_up_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        a_killed_node_catches_up(log, "PostgreSQL");
    }
}

#[test]
fn all_killed_at_once_lose_nothing_over_nats() {
    if let Some(log) = LogServer::nats() {
        all_killed_at_once_lose_nothing(log, "NATS");
    }
}

#[test]
fn all_killed_at_once_lose_nothing_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        all_killed_at_once_lose_nothing(log, "PostgreSQL");
    }
}
