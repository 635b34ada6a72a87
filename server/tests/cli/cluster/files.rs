//! Files: fetched once, the same on every node, and there without the bucket.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, SRT, wait};
use crate::harness::{id, line};

/// Records of which all nodes fetch the file at once.
const RACED: std::ops::Range<u32> = 10..20;
/// Records of which the nodes fetch the file one after the other.
const CALM: std::ops::Range<u32> = 20..24;

/// Time in which a file comes from upstream while the bucket hangs, on a slow machine.
const HANGING_LIMIT: Duration = Duration::from_secs(30);

/// The file of a record, downloaded from a node.
fn download(cluster: &Cluster, number: usize, record: u32) -> String {
    let path = format!("/api/subtitles/{}/download", id(record));
    let answer = cluster.nodes[number]
        .server()
        .get(&path, Some(&cluster.key));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text()
}

fn with_files(log: LogServer, records: std::ops::Range<u32>) -> Cluster {
    let lines = records.map(|number| {
        let release = format!(",\"source_release_id\":\"r{number}\"");
        line(number, "Ronin", &release)
    });
    Cluster::new(log, &lines.collect::<Vec<_>>())
}

/// Waits until a node knows the file of a release that another has fetched.
fn wait_for_file(cluster: &Cluster, number: usize, record: u32) {
    let release = format!("r{record}");
    wait("the file is known", || {
        cluster.nodes[number]
            .run(&["file", "show", &release])
            .status
            == 0
    });
}

/// The upstream answers each time with another content.
fn a_release_has_one_content(log: LogServer, name: &str) {
    let cluster = with_files(log, RACED.start..CALM.end);
    let upstream = &cluster.upstream.state;
    upstream.is_changing.store(true, Ordering::Relaxed);
    let mut differing = 0;
    for record in RACED {
        let texts = std::thread::scope(|scope| {
            let cluster = &cluster;
            let asking =
                [0, 1, 2].map(|number| scope.spawn(move || download(cluster, number, record)));
            asking.map(|it| it.join().unwrap())
        });
        differing += u32::from(texts.iter().any(|text| *text != texts[0]));
    }
    let fetched = upstream.answers_count.load(Ordering::Relaxed);
    println!("{name}: {fetched} fetches of {RACED:?} at once, {differing} with several contents");
    for record in RACED {
        wait("all nodes have one content", || {
            let texts = [0, 1, 2].map(|number| download(&cluster, number, record));
            texts.iter().all(|text| *text == texts[0])
        });
    }

    let before = upstream.answers_count.load(Ordering::Relaxed);
    for record in CALM {
        let text = download(&cluster, record as usize % 3, record);
        for number in 0..3 {
            wait_for_file(&cluster, number, record);
            assert_eq!(download(&cluster, number, record), text);
        }
    }
    let fetched = upstream.answers_count.load(Ordering::Relaxed) - before;
    assert_eq!(fetched, CALM.end - CALM.start, "each is fetched once");
    cluster.same_export();
}

fn files_are_there_without_the_bucket(log: LogServer) {
    let cluster = with_files(log, 1..5);
    let upstream = &cluster.upstream.state;
    // A bucket that accepts everything and answers nothing keeps a client for some seconds.
    cluster.bucket.is_hanging.store(true, Ordering::Relaxed);
    let began = Instant::now();
    assert_eq!(download(&cluster, 2, 4), SRT);
    assert!(began.elapsed() < HANGING_LIMIT, "{:?}", began.elapsed());
    cluster.bucket.is_hanging.store(false, Ordering::Relaxed);
    assert_eq!(download(&cluster, 0, 1), SRT);
    wait("the file is in the bucket", || {
        cluster.bucket.names().len() == 1
    });
    cluster.bucket.is_away.store(true, Ordering::Relaxed);
    assert_eq!(download(&cluster, 0, 1), SRT);
    // From the upstream, by the second node too.
    for number in 1..3 {
        assert_eq!(download(&cluster, number, 2), SRT);
        wait_for_file(&cluster, 3 - number, 2);
    }
    upstream.is_changing.store(true, Ordering::Relaxed);
    let text = download(&cluster, 1, 3);
    assert_ne!(text, SRT);
    cluster.nodes[1].import(&[line(5, "Heat", "")]);
    for number in 0..3 {
        wait("changes go on", || cluster.found(number, "heat") == 1);
    }

    upstream.is_away.store(true, Ordering::Relaxed);
    cluster.bucket.is_away.store(false, Ordering::Relaxed);
    wait("it is uploaded later", || cluster.bucket.names().len() == 2);
    wait_for_file(&cluster, 0, 3);
    assert_eq!(download(&cluster, 0, 3), text, "from the bucket");
}

#[test]
fn a_release_has_one_content_over_nats() {
    if let Some(log) = LogServer::nats() {
        a_release_has_one_content(log, "NATS");
    }
}

#[test]
fn a_release_has_one_content_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        a_release_has_one_content(log, "PostgreSQL");
    }
}

#[test]
fn files_are_there_without_the_bucket_over_nats() {
    if let Some(log) = LogServer::nats() {
        files_are_there_without_the_bucket(log);
    }
}
