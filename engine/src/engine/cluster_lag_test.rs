//! Servers of the log that lag behind others: what one has answered the next one may not have yet.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::cluster_test::{Node, attach_with, three};
use super::test_support::{import, open};
use crate::error::Error;
use crate::replication::{
    AppendError, Attachment, BeatPromise, FrameVersions, Log, LogEntry, LogState, MemoryLog,
    ReadError,
};

/// A log of several servers.
struct Servers {
    all: Arc<MemoryLog>,
    /// The last entry that the server has which reads from now on.
    read_end: AtomicU64,
    /// The last entry that the leader has applied.
    leader_end: AtomicU64,
    /// True while there is no leader.
    is_away: AtomicBool,
}

impl Servers {
    fn over(all: &Arc<MemoryLog>) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::clone(all),
            read_end: AtomicU64::new(u64::MAX),
            leader_end: AtomicU64::new(u64::MAX),
            is_away: AtomicBool::new(false),
        })
    }
}

impl Log for Servers {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        self.all.create(epoch)
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        self.all.reset(epoch)
    }

    fn state(&self) -> Result<LogState, ReadError> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(ReadError::Unavailable("there is no leader".into()));
        }
        let mut state = self.all.state()?;
        state.last = state.last.min(self.leader_end.load(Ordering::Relaxed));
        Ok(state)
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        self.all.append(epoch, body)
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        let mut entries = self.all.read(after, bytes_max)?;
        let end = self.read_end.load(Ordering::Relaxed);
        entries.retain(|entry| entry.seq <= end);
        Ok(entries)
    }

    fn wait(&self, after: u64, at_most: Duration) {
        self.all.wait(after, at_most);
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        self.all.truncate(through)
    }
}

/// Time of the clock of the node.
static NOW_SECONDS: AtomicU64 = AtomicU64::new(0);

fn start(path: &Path, servers: &Arc<Servers>) -> Node {
    let attachment = Attachment {
        log: Arc::clone(servers) as Arc<dyn Log>,
        clock: Arc::new(|| Duration::from_secs(NOW_SECONDS.load(Ordering::Relaxed))),
        incarnation: 1_000_000,
        versions: FrameVersions::OF_THIS_PROGRAM,
    };
    attach_with(open(path), path, attachment)
}

fn refusal(node: &Node) -> String {
    let refused = node
        .replica
        .beat("b", "1", 0, BeatPromise::default())
        .unwrap_err();
    assert!(matches!(refused, Error::LogUnavailable { .. }), "{refused}");
    assert_eq!(node.replica.status().stopped, None);
    refused.to_string()
}

#[test]
fn a_server_that_lags_stops_nobody() {
    let (_dir, log, [a, b, _]) = three();
    let servers = Servers::over(&log);
    let path = b.kill();
    import(&a.engine, 1..=3, "one").unwrap();
    let b = start(&path, &servers);
    b.catch_up();
    let last = log.state().unwrap().last;
    // The server that is asked next has not got the last entry.
    servers.read_end.store(last - 1, Ordering::Relaxed);
    let text = refusal(&b);
    assert!(text.contains("is not there yet"), "{text}");
    servers.read_end.store(u64::MAX, Ordering::Relaxed);
    b.beat();

    // A new leader knows of it, and has not applied it.
    let last = log.state().unwrap().last;
    servers.leader_end.store(last - 1, Ordering::Relaxed);
    for _ in 0..3 {
        let text = refusal(&b);
        assert!(text.contains("this node has applied"), "{text}");
        NOW_SECONDS.fetch_add(3, Ordering::Relaxed);
    }
    // It is away for a while: its state during that time is unknown.
    servers.is_away.store(true, Ordering::Relaxed);
    refusal(&b);
    NOW_SECONDS.fetch_add(60, Ordering::Relaxed);
    servers.is_away.store(false, Ordering::Relaxed);
    refusal(&b);
    servers.leader_end.store(u64::MAX, Ordering::Relaxed);
    b.beat();
    // One that never has it is another matter.
    let last = log.state().unwrap().last;
    servers.leader_end.store(last - 1, Ordering::Relaxed);
    refusal(&b);
    NOW_SECONDS.fetch_add(10, Ordering::Relaxed);
    let stopped = b
        .replica
        .beat("b", "1", 0, BeatPromise::default())
        .unwrap_err();
    assert!(matches!(stopped, Error::Cluster { .. }), "{stopped}");
    assert!(b.replica.status().stopped.is_some());
}
