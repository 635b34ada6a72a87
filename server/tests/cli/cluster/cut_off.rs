//! A node that alone cannot reach the log: a key that was revoked elsewhere does not live on there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::described::{FoundAnswer, check_answer};
use super::fixture::{Cluster, LogServer, PATIENCE, lines, wait};
use super::proxy::{Cut, Proxy};
use crate::harness::{Answer, id};

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

fn check(document: &Value, path: &str, answer: &Answer) {
    let field = |name: &str| {
        let head = answer.head.to_ascii_lowercase();
        let line = head
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{name}: ")));
        line.map(str::to_owned)
    };
    let found = FoundAnswer {
        status: answer.status,
        field: &field,
        body: &answer.text(),
    };
    check_answer(document, path, &found);
}

/// Asserts that the OpenAPI document describes the answers of a node that is fenced, and those of
/// one that is not.
fn answers_are_described(cluster: &Cluster) {
    let document = cluster.nodes[2].server().get("/openapi.json", None).json();
    let record = "/api/subtitles/{subtitle_id}";
    let path = record.replace("{subtitle_id}", &id(1));
    for (described, path) in [
        ("/api/subtitles/search", "/api/subtitles/search?title=heat"),
        (record, &path),
        (&format!("{record}/download"), &format!("{path}/download")),
        ("/api/health", "/api/health"),
    ] {
        let (is_health, key) = (path == "/api/health", Some(&*cluster.key));
        let fenced = cluster.nodes[2].server().get(path, key);
        assert_eq!(
            fenced.status,
            if is_health { 200 } else { 503 },
            "{fenced:?}"
        );
        let others = cluster.nodes[0].server().get(path, key);
        for answer in [fenced, others] {
            // The record has no file.
            if answer.status != 400 {
                check(&document, described, &answer);
            }
        }
    }
    let of = |number| cluster.health(number).json();
    assert_eq!(
        (&of(2)["state"], &of(2)["lag"]),
        (&"degraded".into(), &Value::Null)
    );
    assert_eq!(of(0)["state"], "following");
    assert!(of(0)["lag"].is_u64(), "{}", of(0));
    // The command says the same.
    let status = cluster.status(2);
    assert_eq!(
        (&status["state"], &status["lag"]),
        (&"degraded".into(), &Value::Null)
    );
    assert!(cluster.status(0)["lag"].is_u64());
    let shown = cluster.nodes[2].run(&["cluster", "status"]).ok();
    assert!(
        shown
            .lines()
            .any(|line| line.split_whitespace().eq(["lag", "-"])),
        "{shown}"
    );
    let metrics = cluster.metrics(2);
    assert!(!metrics.contains("\nsubcat_cluster_lag"), "{metrics}");
    assert!(cluster.metrics(0).contains("\nsubcat_cluster_lag"));
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
    answers_are_described(&cluster);
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
