//! Requests that race a revocation: none is accepted after it has returned, on any node.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::fixture::{Cluster, LogServer, lines, wait};

/// Requests that race, together; `scripts/cluster-faults` sets more.
const REQUESTS: u64 = 1_000;
/// Requests of each node that begin after the revocation of a key has returned.
const REQUESTS_AFTER: u64 = 100;
/// A search that finds nothing: the cheapest one that a key is needed for.
const SEARCH: &str = "/api/subtitles/search?title=nothing";
/// Order of what the threads tell each other: as it happened.
const ORDER: Ordering = Ordering::SeqCst;

/// A connection that stays open.
struct Connection {
    stream: TcpStream,
    request: String,
}

impl Connection {
    fn open(address: &str, key: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let request =
            format!("GET {SEARCH} HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer {key}\r\n\r\n");
        Self { stream, request }
    }

    /// Status of a search.
    fn ask(&mut self) -> u16 {
        self.stream.write_all(self.request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        loop {
            let mut bytes = [0; 4096];
            let count = self.stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0, "the node has closed the connection");
            answer.extend_from_slice(&bytes[..count]);
            if let Some(status) = status_of(&answer) {
                return status;
            }
        }
    }
}

/// Status of an answer, if all of it is there.
fn status_of(answer: &[u8]) -> Option<u16> {
    let answer = std::str::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let head = head.to_ascii_lowercase();
    let (_, length) = head.split_once("content-length: ").unwrap();
    let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
    (length <= body.len()).then(|| head[9..12].parse().unwrap())
}

/// A key that is used at all nodes, and its revocation.
struct Race<'c> {
    cluster: &'c Cluster,
    key: &'c str,
    is_revoked: AtomicBool,
    accepted: AtomicU64,
}

impl Race<'_> {
    /// Sends requests to a node until some have begun after the revocation; returns how many.
    fn ask(&self, number: usize) -> u64 {
        let address = &self.cluster.nodes[number].server().address;
        let mut connection = Connection::open(address, self.key);
        let (mut sent, mut after) = (0, 0);
        while after < REQUESTS_AFTER {
            let was_revoked = self.is_revoked.load(ORDER);
            let status = connection.ask();
            sent += 1;
            // 503: on an overloaded machine a node may be without news for too long.
            assert!([200, 401, 503].contains(&status), "node {number}: {status}");
            if was_revoked {
                assert_ne!(status, 200, "node {number}");
                after += 1;
            }
            self.accepted.fetch_add(u64::from(status == 200), ORDER);
        }
        sent
    }
}

fn no_racing_request_is_accepted(log: LogServer, name: &str) {
    let wanted = std::env::var("SUBCAT_CLUSTER_REQUESTS");
    let wanted = wanted.map_or(REQUESTS, |text| text.parse().unwrap());
    let cluster = Cluster::new(log, &lines(1..2, "Heat"));
    let (mut sent, mut accepted, mut keys) = (0, 0, 0);
    while sent < wanted {
        let (maker, revoker) = (keys % 3, (keys / 3 + 1) % 3);
        let make = [
            "key",
            "create",
            "--json",
            "--name",
            "k",
            "--limit",
            "1000000/60",
        ];
        let made = cluster.nodes[maker].run(&make).json();
        let key = made["key"].as_str().unwrap();
        for number in 0..3 {
            wait("the key works", || {
                cluster.try_key(number, key).status == 200
            });
        }
        let race = Race {
            cluster: &cluster,
            key,
            is_revoked: AtomicBool::new(false),
            accepted: AtomicU64::new(0),
        };
        sent += std::thread::scope(|scope| {
            let asking = [0, 1, 2].map(|number| {
                scope.spawn({
                    let race = &race;
                    move || race.ask(number)
                })
            });
            // Everybody is at it when the key goes.
            wait("the key is used", || 3 <= race.accepted.load(ORDER));
            let revoke = ["key", "revoke", &made["id"].to_string()];
            cluster.nodes[revoker].run(&revoke).ok();
            race.is_revoked.store(true, ORDER);
            asking.map(|it| it.join().unwrap()).iter().sum::<u64>()
        });
        accepted += race.accepted.load(ORDER);
        keys += 1;
    }
    println!(
        "{name}: {sent} requests, {accepted} of them accepted before the revocations of {keys} keys"
    );
    cluster.wait_for_same_rows();
}

#[test]
fn no_racing_request_is_accepted_over_nats() {
    if let Some(log) = LogServer::nats() {
        no_racing_request_is_accepted(log, "NATS");
    }
}

#[test]
fn no_racing_request_is_accepted_over_postgres() {
    if let Some(log) = LogServer::postgres() {
        no_racing_request_is_accepted(log, "PostgreSQL");
    }
}
