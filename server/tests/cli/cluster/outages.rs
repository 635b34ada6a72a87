//! Outages of the log: reads go on, nothing is half done, nothing acknowledged is lost.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, SRT, lines, wait};
use super::log_services::Nats;
use crate::harness::{Answer, get, id, line};

/// Time in which a change is refused, on a machine that is not overloaded about 2 s.
const REFUSAL_LIMIT: Duration = Duration::from_secs(30);
/// Time for which nodes are watched that accept nothing.
const WATCHED: Duration = Duration::from_secs(3);

fn has_retry_after(answer: &Answer) -> bool {
    answer
        .head
        .to_ascii_lowercase()
        .contains("\r\nretry-after: ")
}

fn is_degraded(answer: &Answer) -> bool {
    assert_eq!(answer.status, 200, "{answer:?}");
    let health = answer.json();
    health["state"] == "degraded" && health["lag"].is_null()
}

fn reads_go_on_and_changes_are_refused(log: LogServer, name: &str) {
    let mut first = lines(1..4, "Heat");
    first.push(line(4, "Ronin", ",\"source_release_id\":\"r4\""));
    let mut cluster = Cluster::new(log, &first);
    cluster.never_fence();
    cluster.wait_for_same_rows();
    cluster.log.kill();
    for number in 0..3 {
        wait("the node notices", || is_degraded(&cluster.health(number)));
        wait("its own page says so, too", || {
            let ready = get(&cluster.nodes[number].server().admin, "/readyz", None);
            assert_eq!(ready.status, 200, "{ready:?}");
            ready.text().contains("\nthe log is not followed: ")
        });
        assert_eq!(cluster.found(number, "heat"), 3);
        let path = format!("/api/subtitles/{}/download", id(4));
        let answer = cluster.nodes[number]
            .server()
            .get(&path, Some(&cluster.key));
        assert_eq!((answer.status, answer.text().as_str()), (200, SRT));
    }
    let hide = ["record", "set", &id(1), "--active", "false"];
    for arguments in [
        &hide[..],
        &["key", "create", "--name", "k"],
        &["key", "revoke", "1"],
    ] {
        let began = Instant::now();
        let sentence = cluster.nodes[0].run(arguments).fails(1);
        let refused_after = began.elapsed();
        println!("{name}: {arguments:?} is refused after {refused_after:?}");
        assert!(sentence.contains("nothing was changed"), "{sentence}");
        assert!(refused_after < REFUSAL_LIMIT, "{refused_after:?}");
    }
    let done = cluster.nodes[1].run_with(&["import", "-"], line(9, "Up", ""));
    assert_ne!(done.status, 0, "{done:?}");
    for number in 0..3 {
        assert_eq!(
            (cluster.found(number, "heat"), cluster.found(number, "up")),
            (3, 0)
        );
    }
    cluster.log.start();
    let back = wait("a change is made again", || {
        cluster.nodes[0].run(&hide).status == 0
    });
    println!("{name}: changes work {back:?} after the log is back");
    for number in 0..3 {
        wait("it is everywhere", || cluster.found(number, "heat") == 2);
        wait("downloads of the outage are counted", || {
            let shown = cluster.nodes[number].run(&["record", "show", &id(4), "--json"]);
            shown.json()["own_downloads"] == 3
        });
        // With its next beat.
        wait("the node follows again", || {
            !is_degraded(&cluster.health(number))
        });
    }
    assert_eq!(cluster.same_export().len(), 4);
}

fn keys_are_refused_without_news(log: LogServer, name: &str) {
    let mut cluster = Cluster::new(log, &lines(1..4, "Heat"));
    for number in 0..3 {
        cluster.wait_for_keys(number);
    }
    cluster.log.kill();
    let began = Instant::now();
    for number in 0..3 {
        wait("the node accepts no keys", || {
            let answer = cluster.try_key(number, &cluster.key);
            assert!(answer.status == 200 || answer.status == 503, "{answer:?}");
            assert!(
                answer.status == 200 || has_retry_after(&answer),
                "{answer:?}"
            );
            answer.status == 503
        });
    }
    println!(
        "{name}: no node accepts keys {:?} after the log is gone",
        began.elapsed()
    );
    let watched = Instant::now();
    while watched.elapsed() < WATCHED {
        for number in 0..3 {
            assert_eq!(cluster.try_key(number, &cluster.key).status, 503);
            assert!(is_degraded(&cluster.health(number)));
        }
    }
    cluster.log.start();
    for number in 0..3 {
        let back = wait("the node accepts keys again", || {
            cluster.try_key(number, &cluster.key).status == 200
        });
        println!("{name}: node {number} accepts keys again after {back:?}");
    }
    cluster.same_export();
}

#[test]
fn reads_go_on_without_nats() {
    if let Some(log) = LogServer::nats() {
        reads_go_on_and_changes_are_refused(log, "NATS");
    }
}

#[test]
fn reads_go_on_without_postgres() {
    if let Some(log) = LogServer::postgres() {
        reads_go_on_and_changes_are_refused(log, "PostgreSQL");
    }
}

#[test]
fn keys_are_refused_without_news_of_nats() {
    if let Some(log) = LogServer::nats() {
        keys_are_refused_without_news(log, "NATS");
    }
}

#[test]
fn keys_are_refused_without_news_of_postgres() {
    if let Some(log) = LogServer::postgres() {
        keys_are_refused_without_news(log, "PostgreSQL");
    }
}

/// Imports until it is acknowledged; returns the longest time that one record took.
fn write(cluster: &Cluster, numbers: std::ops::Range<u32>) -> Duration {
    let write_one = |number| {
        let arguments = ["import", "-"];
        wait("a record is written", || {
            let record = line(number, "Ronin", "");
            cluster.nodes[1].run_with(&arguments, record).status == 0
        })
    };
    numbers.map(write_one).max().unwrap()
}

/// Of three servers the one that leads is killed: writes stand still for some seconds.
#[test]
fn a_killed_leader_of_nats_costs_some_seconds() {
    let Some(nats) = Nats::start(3) else { return };
    let mut cluster = Cluster::new(LogServer::Nats(nats), &lines(1..2, "Heat"));
    let usual = write(&cluster, 100..110);
    let LogServer::Nats(nats) = &mut cluster.log else {
        unreachable!("it was made above");
    };
    let leader = nats.leader();
    nats.kill_one(leader);
    let longest = write(&cluster, 110..130);
    println!("a write takes {usual:?}, and {longest:?} at most after a leader was killed");
    let LogServer::Nats(nats) = &mut cluster.log else {
        unreachable!("it was made above");
    };
    nats.start_one(leader);
    write(&cluster, 130..140);
    let exported = cluster.same_export();
    let there: HashSet<&str> = exported
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert!((100..140).all(|number| there.contains(id(number).as_str())));
    for number in 0..3 {
        cluster.wait_for_keys(number);
    }
}
