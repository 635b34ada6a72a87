//! A node that alone cannot reach the log: a key that was revoked elsewhere does not live on there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, PATIENCE, lines, wait};
use super::proxy::{Cut, Proxy};

/// Time in which a revocation returns, on a machine that is not overloaded about 8 s.
const REVOKED_WITHIN: Duration = Duration::from_secs(40);
/// Time for which everybody is asked after the node is back.
const WATCHED: Duration = Duration::from_secs(3);

/// Tries a key on the node that is cut off until it accepts none and another node has revoked the
/// key. Returns the time that the revocation took.
fn revoke_while_cut_off(cluster: &Cluster, id: &str, key: &str) -> Duration {
    let is_revoked = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let revoking = scope.spawn(|| {
            let began = Instant::now();
            let done = cluster.nodes[0].run(&["key", "revoke", id]);
            is_revoked.store(true, Ordering::SeqCst);
            done.ok();
            began.elapsed()
        });
        let began = Instant::now();
        loop {
            let was_revoked = is_revoked.load(Ordering::SeqCst);
            let answer = cluster.try_key(2, key);
            assert!(
                !was_revoked || answer.status != 200,
                "a revoked key was accepted"
            );
            assert!(answer.status == 200 || answer.status == 503, "{answer:?}");
            if was_revoked {
                assert!(answer.head.to_ascii_lowercase().contains("retry-after: "));
                break;
            }
            assert!(began.elapsed() < PATIENCE, "the revocation does not return");
            std::thread::sleep(Duration::from_millis(5));
        }
        revoking.join().unwrap()
    })
}

fn a_node_that_is_cut_off_accepts_no_keys(log: LogServer, cut: Cut, name: &str) {
    let direct = log.address();
    let (before, after) = direct.split_once("127.0.0.1:").unwrap();
    let port_end = after.find('/').unwrap_or(after.len());
    let proxy = Proxy::to(format!("127.0.0.1:{}", &after[..port_end]));
    let through = format!("{before}{}{}", proxy.address(), &after[port_end..]);
    let addresses = [direct.clone(), direct.clone(), through];
    let cluster = Cluster::at(log, &addresses, &lines(1..4, "Heat"));
    let made = cluster.nodes[1].run(&[
        "key",
        "create",
        "--json",
        "--name",
        "k",
        "--limit",
        "1000000/60",
    ]);
    let made = made.json();
    let (id, key) = (made["id"].to_string(), made["key"].as_str().unwrap());
    for number in 0..3 {
        wait("the key works", || {
            cluster.try_key(number, key).status == 200
        });
    }
    cluster.wait_for_same_rows();
    proxy.cut(cut);
    let took = revoke_while_cut_off(&cluster, &id, key);
    println!("{name}, {cut:?}: a revocation takes {took:?} when a node is cut off");
    assert!(took < REVOKED_WITHIN, "{took:?}");
    assert!(Duration::from_secs(1) < took, "{took:?}: it has not waited");
    for number in 0..2 {
        assert_eq!(cluster.try_key(number, key).status, 401, "node {number}");
        assert_eq!(
            cluster.try_key(number, &cluster.key).status,
            200,
            "node {number}"
        );
    }
    assert_eq!(cluster.try_key(2, &cluster.key).status, 503);
    wait("the node says that it hears nothing", || {
        let health = cluster.health(2);
        assert_eq!(health.status, 200, "{health:?}");
        health.json()["state"] == "degraded"
    });
    proxy.repair();
    let back = wait("the node is back", || {
        let answer = cluster.try_key(2, key);
        assert!(answer.status == 401 || answer.status == 503, "{answer:?}");
        answer.status == 401 && cluster.try_key(2, &cluster.key).status == 200
    });
    println!("{name}, {cut:?}: the node accepts keys {back:?} after its network is back");
    let watched = Instant::now();
    while watched.elapsed() < WATCHED {
        for number in 0..3 {
            assert_eq!(cluster.try_key(number, key).status, 401, "node {number}");
        }
    }
    cluster.same_export();
}

#[test]
fn a_node_that_is_cut_off_from_nats_accepts_no_keys() {
    if let Some(log) = LogServer::nats() {
        a_node_that_is_cut_off_accepts_no_keys(log, Cut::Closed, "NATS");
    }
}

#[test]
fn a_node_that_hears_nothing_from_nats_accepts_no_keys() {
    if let Some(log) = LogServer::nats() {
        a_node_that_is_cut_off_accepts_no_keys(log, Cut::Silent, "NATS");
    }
}

#[test]
fn a_node_that_is_cut_off_from_postgres_accepts_no_keys() {
    if let Some(log) = LogServer::postgres() {
        a_node_that_is_cut_off_accepts_no_keys(log, Cut::Closed, "PostgreSQL");
    }
}

#[test]
fn a_node_that_hears_nothing_from_postgres_accepts_no_keys() {
    if let Some(log) = LogServer::postgres() {
        a_node_that_is_cut_off_accepts_no_keys(log, Cut::Silent, "PostgreSQL");
    }
}
