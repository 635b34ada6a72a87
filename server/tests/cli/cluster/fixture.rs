//! Three nodes, their log, their bucket and their upstream.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use super::log_services::{Nats, Postgres, Service};
use crate::fakes::{Bucket, Upstream};
use crate::harness::{Answer, Done, Place, get, line};

/// Time in which something must have happened on the slowest machine.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Time without news after which the nodes of some tests accept no keys.
pub const STALE_SECONDS: &str = "6";
/// Content of every file of the upstream.
pub const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";

/// The server that holds the log.
pub enum LogServer {
    Nats(Nats),
    Postgres(Postgres),
}

impl LogServer {
    /// One NATS server, if it is installed.
    pub fn nats() -> Option<Self> {
        Nats::start(1).map(Self::Nats)
    }

    /// One server of PostgreSQL, if it is installed.
    pub fn postgres() -> Option<Self> {
        Postgres::start().map(Self::Postgres)
    }

    pub fn address(&self) -> String {
        match self {
            Self::Nats(nats) => nats.address(),
            Self::Postgres(postgres) => postgres.address(),
        }
    }

    /// Deletes the log, as nobody should.
    pub fn delete_log(&self) {
        match self {
            Self::Nats(nats) => {
                let address = nats.address();
                let (_, host) = address.rsplit_once('@').unwrap();
                let mut stream = TcpStream::connect(host).unwrap();
                let words = "CONNECT {\"verbose\":false,\"user\":\"subcat\",\
                             \"pass\":\"hush/ hush\"}\r\n\
                             PUB $JS.API.STREAM.DELETE.subcat 0\r\n\r\nPING\r\n";
                stream.write_all(words.as_bytes()).unwrap();
                let mut said = Vec::new();
                while !said.ends_with(b"PONG\r\n") {
                    let mut bytes = [0; 1024];
                    let count = stream.read(&mut bytes).unwrap();
                    said.extend_from_slice(&bytes[..count]);
                }
            }
            Self::Postgres(postgres) => {
                postgres.run("DROP SCHEMA subcat CASCADE");
            }
        }
    }

    fn service(&mut self) -> &mut dyn Service {
        match self {
            Self::Nats(nats) => nats,
            Self::Postgres(postgres) => postgres,
        }
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        self.service().kill();
    }

    /// Starts it over the data that it had.
    pub fn start(&mut self) {
        self.service().start();
    }
}

/// Nodes with a server each.
pub struct Cluster {
    // Dropped before what they talk to.
    pub nodes: Vec<Place>,
    pub log: LogServer,
    pub upstream: Upstream,
    pub bucket: Arc<Bucket>,
    /// A key for everything.
    pub key: String,
    endpoint: String,
    snapshots: TempDir,
}

impl Cluster {
    /// Three nodes over this log. The first one had `lines` before there was a cluster.
    pub fn new(log: LogServer, lines: &[String]) -> Self {
        let address = log.address();
        let addresses = vec![address; 3];
        Self::at(log, &addresses, lines)
    }

    /// A node for each address of the log.
    pub fn at(log: LogServer, addresses: &[String], lines: &[String]) -> Self {
        let mut cluster = Self::alone(log, lines);
        cluster.nodes[0].set("SUBCAT_CLUSTER_LOG", &addresses[0]);
        cluster.begin();
        for (number, address) in addresses.iter().enumerate().skip(1) {
            cluster.nodes.push(Place::stopped());
            cluster.configure(number);
            cluster.nodes[number].set("SUBCAT_CLUSTER_LOG", address);
            cluster.run(number, "join", &[]).ok();
        }
        for number in 0..addresses.len() {
            cluster.start(number);
        }
        for number in 0..addresses.len() {
            cluster.wait_for_keys(number);
        }
        cluster
    }

    /// A data directory that is in no cluster yet, with these records.
    pub fn alone(log: LogServer, lines: &[String]) -> Self {
        let (bucket, endpoint) = Bucket::start();
        let first = Place::stopped();
        first.import(lines);
        let mut cluster = Self {
            key: first.create_key(&["--limit", "1000000/60"]),
            nodes: vec![first],
            log,
            upstream: Upstream::start(SRT),
            bucket,
            endpoint,
            snapshots: tempfile::tempdir().unwrap(),
        };
        cluster.configure(0);
        cluster
    }

    /// Begins the cluster. A log that has just been started is waited for.
    pub fn begin(&self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let done = self.run(0, "init", &[]);
            if done.status == 0 {
                return;
            }
            assert!(Instant::now() < until, "{done:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Tells a node the address of the log.
    pub fn configure_log(&mut self, number: usize) {
        let address = self.log.address();
        self.nodes[number].set("SUBCAT_CLUSTER_LOG", &address);
    }

    fn configure(&mut self, number: usize) {
        let url = format!("http://{}/{{source_release_id}}", self.upstream.address);
        let node = &mut self.nodes[number];
        node.set("SUBCAT_CLUSTER_NODE", &format!("node-{number}"));
        node.set("SUBCAT_CLUSTER_AUTH_MAX_STALE_SECONDS", STALE_SECONDS);
        node.set("SUBCAT_FILES_S3_ENDPOINT", &self.endpoint);
        node.set("SUBCAT_FILES_S3_BUCKET", "files");
        node.set("SUBCAT_UPSTREAM_URL", &url);
        node.set("SUBCAT_UPSTREAM_FAILURE_TTL_SECONDS", "0");
        // Refused keys are tried again and again.
        node.set("SUBCAT_RATE_LIMIT_ANONYMOUS_REQUESTS", "1000000");
    }

    /// Lets nodes accept keys for ever without news, instead of some seconds.
    pub fn never_fence(&mut self) {
        self.fence_after("0");
    }

    /// Sets the time without news after which nodes accept no keys, and starts them again.
    pub fn fence_after(&mut self, seconds: &str) {
        for number in 0..self.nodes.len() {
            self.nodes[number].stop_server();
            self.nodes[number].set("SUBCAT_CLUSTER_AUTH_MAX_STALE_SECONDS", seconds);
            self.start(number);
        }
    }

    /// `subcat cluster` at a node, with the folder of snapshots.
    pub fn run(&self, number: usize, verb: &str, more: &[&str]) -> Done {
        let mut arguments = vec!["cluster", verb, "--snapshots"];
        let folder = self.snapshots.path().display().to_string();
        arguments.push(&folder);
        arguments.extend(more);
        self.nodes[number].run(&arguments)
    }

    /// The folder of snapshots.
    pub fn snapshots(&self) -> &Path {
        self.snapshots.path()
    }

    pub fn start(&mut self, number: usize) {
        self.nodes[number].start_logged_server(&[]);
    }

    /// Waits until a node accepts keys: one that was started has to hear of revocations first.
    pub fn wait_for_keys(&self, number: usize) {
        wait(&format!("node {number} accepts keys"), || {
            let answer = self.try_key(number, &self.key);
            assert!(answer.status == 200 || answer.status == 503, "{answer:?}");
            answer.status == 200
        });
    }

    /// Takes a stopped node's data away and lets it join.
    pub fn join_again(&mut self, number: usize) {
        std::fs::remove_dir_all(self.nodes[number].path("data")).unwrap();
        self.run(number, "join", &[]).ok();
        self.start(number);
    }

    pub fn status(&self, number: usize) -> Value {
        self.nodes[number]
            .run(&["cluster", "status", "--json"])
            .json()
    }

    /// The answer of a node to a search for a title.
    pub fn search(&self, number: usize, title: &str, key: &str) -> Answer {
        let path = format!("/api/subtitles/search?title={title}");
        self.nodes[number].server().get(&path, Some(key))
    }

    /// Records that a node finds under a title.
    pub fn found(&self, number: usize, title: &str) -> u64 {
        let answer = self.search(number, title, &self.key);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["total"].as_u64().unwrap()
    }

    /// The answer to a request that does nothing, with this key.
    pub fn try_key(&self, number: usize, key: &str) -> Answer {
        self.search(number, "nothing", key)
    }

    /// The metrics of a node.
    pub fn metrics(&self, number: usize) -> String {
        get(&self.nodes[number].server().admin, "/metrics", None).text()
    }

    pub fn health(&self, number: usize) -> Answer {
        self.nodes[number].server().get("/api/health", None)
    }

    /// Waits until every node follows the log, and until all have been seen to have the same rows
    /// after all that was written before this call. Returns the number of their last entry.
    pub fn wait_for_same_rows(&self) -> u64 {
        let all = 0..self.nodes.len();
        let written = all.clone().map(|number| self.status(number));
        let written = written.map(|status| status["applied"].as_u64().unwrap());
        let written = written.max().unwrap();
        for number in all {
            wait(&format!("node {number} has compared its rows"), || {
                let status = self.status(number);
                let nodes = status["nodes"].as_array().unwrap();
                assert!(
                    nodes.iter().all(|node| node["is_diverged"] == false),
                    "{status}"
                );
                let is_compared = |node: &Value| written < node["hashed_at"].as_u64().unwrap();
                let count = nodes.iter().filter(|node| is_compared(node)).count();
                status["state"] == "following" && self.nodes.len() <= count
            });
        }
        written
    }

    /// Asserts that `verify` finds nothing on any node, and that all export the same records;
    /// returns these.
    pub fn same_export(&self) -> Vec<Value> {
        self.wait_for_same_rows();
        let first = self.nodes[0].export();
        for node in &self.nodes {
            let found = node.run(&["verify", "--json"]).json();
            assert_eq!(found, serde_json::json!([]));
            assert!(node.export() == first, "the records are the same");
        }
        first
    }
}

/// Waits until something is so.
#[track_caller]
pub fn wait(what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(
            began.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

/// Lines of records with one title.
pub fn lines(numbers: std::ops::Range<u32>, title: &str) -> Vec<String> {
    numbers.map(|number| line(number, title, "")).collect()
}
