//! Nodes that are stopped, leave, or do not come back: nobody waits for them.

use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, STALE_SECONDS, lines, wait};

/// Time in which a revocation returns that waits for nobody who is silent.
const AT_ONCE: Duration = Duration::from_secs(30);
/// Time of silence on a node that would wait for longer than that.
const LONG_SECONDS: &str = "90";

/// Names of the nodes that a node lists.
fn names(cluster: &Cluster, number: usize) -> Vec<String> {
    let status = cluster.status(number);
    let nodes = status["nodes"].as_array().unwrap();
    let names = nodes
        .iter()
        .map(|node| node["name"].as_str().unwrap().to_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Starts a node again, with another time after which silent ones are not waited for.
fn restart(cluster: &mut Cluster, number: usize, stale_seconds: &str) {
    assert_eq!(cluster.nodes[number].stop_server(), 0);
    let name = "SUBCAT_CLUSTER_AUTH_MAX_STALE_SECONDS";
    cluster.nodes[number].set(name, stale_seconds);
    cluster.start(number);
    cluster.wait_for_keys(number);
}

fn revoke_a_key(cluster: &Cluster, number: usize) -> Duration {
    let made = cluster.nodes[number].run(&["key", "create", "--json", "--name", "k"]);
    let id = made.json()["id"].to_string();
    let began = Instant::now();
    cluster.nodes[number].run(&["key", "revoke", &id]).ok();
    began.elapsed()
}

fn forget(cluster: &Cluster, number: usize, name: &str) -> crate::harness::Done {
    cluster.nodes[number].run(&["cluster", "forget", name])
}

fn nodes_come_and_go(log: LogServer) {
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    cluster.wait_for_same_rows();
    // Stopped in order, before another one is started again.
    assert_eq!(cluster.nodes[2].stop_server(), 0);
    restart(&mut cluster, 0, LONG_SECONDS);
    assert_eq!(names(&cluster, 0), ["node-0", "node-1", "node-2"]);
    let took = revoke_a_key(&cluster, 0);
    assert!(took < AT_ONCE, "{took:?}");

    let left = cluster.nodes[2].run(&["cluster", "leave"]).ok();
    assert!(left.contains("is in no cluster any more"), "{left}");
    assert!(!left.contains("not told"), "{left}");
    for number in 0..2 {
        wait("it is in the list no more", || {
            names(&cluster, number) == ["node-0", "node-1"]
        });
    }

    let sentence = forget(&cluster, 0, "node-2").fails(1);
    assert!(sentence.contains("no node node-2"), "{sentence}");
    let sentence = forget(&cluster, 0, "node-0").fails(1);
    assert!(sentence.contains("the node itself"), "{sentence}");
    let sentence = forget(&cluster, 0, "node-1").fails(1);
    assert!(sentence.contains("was heard just now"), "{sentence}");

    cluster.nodes[1].kill_server();
    restart(&mut cluster, 0, STALE_SECONDS);
    forget(&cluster, 0, "node-1").ok();
    assert_eq!(names(&cluster, 0), ["node-0"]);
    restart(&mut cluster, 0, LONG_SECONDS);
    assert_eq!(names(&cluster, 0), ["node-0"]);
    let took = revoke_a_key(&cluster, 0);
    assert!(took < AT_ONCE, "{took:?}");
    // It comes back all the same, and is forgotten by its number at a node without a server.
    cluster.start(1);
    cluster.wait_for_keys(1);
    wait("it is there again", || {
        names(&cluster, 0) == ["node-0", "node-1"]
    });
    let node = cluster.status(1)["node"].as_str().unwrap().to_owned();
    cluster.nodes[1].kill_server();
    restart(&mut cluster, 0, STALE_SECONDS);
    assert_eq!(cluster.nodes[0].stop_server(), 0);
    forget(&cluster, 0, &node).ok();
    cluster.start(0);
    cluster.wait_for_keys(0);
    assert_eq!(names(&cluster, 0), ["node-0"]);
    cluster.nodes[0].import(&lines(5..7, "Ronin"));

    assert_eq!(cluster.nodes[0].stop_server(), 0);
    cluster.log.kill();
    let left = cluster.nodes[0].run(&["cluster", "leave"]).ok();
    assert!(left.contains("is in no cluster any more"), "{left}");
    assert!(left.contains("the other nodes were not told"), "{left}");
    assert_eq!(cluster.status(0)["state"], "alone");
    assert_eq!(cluster.nodes[0].export().len(), 5);
}

#[test]
fn nodes_come_and_go_over_nats() {
    if let Some(log) = LogServer::nats() {
        nodes_come_and_go(log);
    }
}

#[test]
fn nodes_come_and_go_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        nodes_come_and_go(log);
    }
}
