//! Three nodes write while the leader of the log is killed twice, and a node between: everything
//! that was acknowledged is there, once.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::fixture::{Cluster, LogServer, PATIENCE, lines, wait};
use super::log_services::Nats;
use crate::harness::{Place, get, id, line};

/// Records that are acknowledged, together; `scripts/cluster-faults` sets more.
const RECORDS: u32 = 3_000;
/// Records of one import.
const BATCH: u32 = 100;
/// Imports of a writer between two keys that it makes and revokes.
const IMPORTS_PER_KEY: u32 = 8;
/// Time for which a killed leader is away.
const AWAY: Duration = Duration::from_secs(2);
/// Record that is downloaded.
const DOWNLOADED: u32 = 1;
/// Numbers of records of one writer.
const NUMBERS: u32 = 10_000_000;

/// Work of one writer that was acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// Imports.
    batches: u32,
    downloads: u64,
    /// Names of keys that were made.
    names: Vec<String>,
    /// Texts of keys that were revoked.
    revoked: Vec<String>,
    /// The longest time between two imports that were acknowledged.
    pause: Duration,
}

/// A writer at its node.
struct Writer<'w> {
    number: u32,
    node: &'w Place,
    key: &'w str,
    /// Records that all writers have written.
    written: &'w AtomicU32,
    done: &'w mut Acknowledged,
}

impl Writer<'_> {
    /// Works until all writers together have written so much.
    fn work(&mut self, until: u32) {
        while self.written.load(Ordering::Relaxed) < until {
            self.import();
            self.download();
            if self.done.batches.is_multiple_of(IMPORTS_PER_KEY) {
                self.make_and_revoke();
            }
        }
    }

    fn import(&mut self) {
        let from = (self.number + 1) * NUMBERS + self.done.batches * BATCH;
        let text = lines(from..from + BATCH, "Ronin").join("\n");
        // What was not acknowledged is imported again, as an operator does.
        let began = Instant::now();
        let mut done = self.node.run_with(&["import", "-"], &text);
        while done.status != 0 {
            let log = || std::fs::read_to_string(self.node.path("log"));
            assert!(began.elapsed() < PATIENCE, "{done:?}\n{}", log().unwrap());
            done = self.node.run_with(&["import", "-"], &text);
        }
        let took = began.elapsed();
        self.done.pause = self.done.pause.max(took);
        self.done.batches += 1;
        self.written.fetch_add(BATCH, Ordering::Relaxed);
    }

    fn download(&mut self) {
        let path = format!("/api/subtitles/{}/download", id(DOWNLOADED));
        // Without news of the log the node accepts no keys for a while.
        let answer = get(&self.node.server().address, &path, Some(self.key));
        assert!(answer.status == 200 || answer.status == 503, "{answer:?}");
        self.done.downloads += u64::from(answer.status == 200);
    }

    /// A key of a failed command may be there or not, and is left alone.
    fn make_and_revoke(&mut self) {
        let name = format!("w{}-{}", self.number, self.done.batches);
        let make = ["key", "create", "--json", "--name", &name];
        let made = self.node.run(&make);
        if made.status != 0 {
            return;
        }
        self.done.names.push(name);
        let made = made.json();
        let revoke = ["key", "revoke", &made["id"].to_string()];
        if self.node.run(&revoke).status == 0 {
            let key = made["key"].as_str().unwrap();
            self.done.revoked.push(key.to_owned());
        }
    }
}

/// The work of three writers.
struct Work {
    cluster: Cluster,
    written: AtomicU32,
    done: [Acknowledged; 3],
}

impl Work {
    /// The writers of these nodes write so much more, while something is done to the log.
    fn go_on(&mut self, nodes: usize, records: u32, disturb: impl FnOnce(&mut LogServer)) {
        let Self {
            cluster,
            written,
            done,
        } = self;
        let until = written.load(Ordering::Relaxed) + records;
        let Cluster {
            nodes: places,
            log,
            key,
            ..
        } = cluster;
        let (written, key) = (&*written, key.as_str());
        std::thread::scope(|scope| {
            for ((number, node), done) in (0..).zip(&places[..nodes]).zip(done) {
                let mut writer = Writer {
                    number,
                    node,
                    key,
                    written,
                    done,
                };
                scope.spawn(move || writer.work(until));
            }
            wait("some is written", || {
                until - records / 2 < written.load(Ordering::Relaxed)
            });
            disturb(log);
        });
    }

    /// Asserts that everything is there, once, on every node.
    fn check(&self, name: &str) {
        let cluster = &self.cluster;
        for number in 0..3 {
            cluster.wait_for_keys(number);
        }
        let exported = cluster.same_export();
        let there = exported.iter().map(|it| it["id"].as_str().unwrap());
        let there: HashSet<&str> = there.collect();
        assert_eq!(there.len(), exported.len());
        for (writer, done) in (1..).zip(&self.done) {
            let numbers = writer * NUMBERS..writer * NUMBERS + done.batches * BATCH;
            let lost = numbers.filter(|number| !there.contains(id(*number).as_str()));
            assert_eq!(lost.count(), 0, "writer {writer}");
        }
        self.check_keys(name);
        let all: u64 = self.done.iter().map(|it| it.downloads).sum();
        for node in &cluster.nodes {
            wait("the downloads add up", || {
                let shown = node.run(&["record", "show", &id(DOWNLOADED), "--json"]);
                let counted = shown.json()["own_downloads"].as_u64().unwrap();
                assert!(counted <= all, "{counted} of {all}");
                counted == all
            });
        }
        println!("{name}: {all} downloads are counted, each once, on every node");
    }

    fn check_keys(&self, name: &str) {
        let listed = self.cluster.nodes[0].run(&["key", "list", "--json"]);
        let mut counts = BTreeMap::new();
        for key in listed.json().as_array().unwrap() {
            *counts
                .entry(key["name"].as_str().unwrap().to_owned())
                .or_insert(0) += 1;
        }
        let names: Vec<_> = self.done.iter().flat_map(|it| &it.names).collect();
        for made in &names {
            assert_eq!(counts.get(*made), Some(&1), "{made}");
        }
        let revoked: Vec<_> = self.done.iter().flat_map(|it| &it.revoked).collect();
        for key in &revoked {
            for number in 0..3 {
                assert_eq!(self.cluster.try_key(number, key).status, 401);
            }
        }
        println!(
            "{name}: {} keys were made, {} revoked, on every node",
            names.len(),
            revoked.len()
        );
    }
}

/// Kills the leader, and starts it again after a while.
fn kill_the_leader(log: &mut LogServer) {
    match log {
        LogServer::Nats(nats) => {
            let leader = nats.leader();
            nats.kill_one(leader);
            std::thread::sleep(AWAY);
            nats.start_one(leader);
        }
        LogServer::Postgres(_) => {
            log.kill();
            std::thread::sleep(AWAY);
            log.start();
        }
    }
}

fn writers_lose_nothing(log: LogServer, name: &str) {
    let wanted = std::env::var("SUBCAT_CLUSTER_RECORDS");
    let wanted: u32 = wanted.map_or(RECORDS, |text| text.parse().unwrap());
    let release = ",\"source_release_id\":\"r1\"";
    let cluster = Cluster::new(log, &[line(DOWNLOADED, "Heat", release)]);
    let mut work = Work {
        cluster,
        written: AtomicU32::new(0),
        done: Default::default(),
    };
    let began = Instant::now();
    work.go_on(3, wanted / 3, kill_the_leader);
    work.cluster.nodes[2].kill_server();
    work.go_on(2, wanted / 3, |_| ());
    work.cluster.start(2);
    work.go_on(3, wanted - wanted / 3 * 2, kill_the_leader);
    let pauses = work.done.iter().map(|it| it.pause);
    println!(
        "{name}: {} records were acknowledged in {:?}, the longest import took {:?}",
        work.written.load(Ordering::Relaxed),
        began.elapsed(),
        pauses.max().unwrap()
    );
    work.check(name);
    // The same after a start of all.
    for number in 0..3 {
        assert_eq!(work.cluster.nodes[number].stop_server(), 0);
    }
    for number in 0..3 {
        work.cluster.start(number);
    }
    work.check(name);
}

#[test]
fn writers_lose_nothing_over_nats() {
    if let Some(nats) = Nats::start(3) {
        writers_lose_nothing(LogServer::Nats(nats), "NATS");
    }
}

#[test]
fn writers_lose_nothing_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        writers_lose_nothing(log, "PostgreSQL");
    }
}
