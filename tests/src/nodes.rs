//! Nodes of a cluster in this process, each with a line of its own to a log in memory.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use subcat_engine::internals::MemoryLog;
use subcat_engine::{
    AppendError, Engine, Log, LogEntry, LogState, NodeId, Options, ReadError, Real, StoreKind,
};
use subcat_server::config::ClusterSettings;
use subcat_server::runtime::SystemClock;
use subcat_server::service::{ClusterNode, ClusterThreads, Service};

/// Epoch of the log.
const EPOCH: u64 = 1;

/// A line from a node to the log.
pub struct LogLine {
    log: Arc<MemoryLog>,
    state: Mutex<LineState>,
    changed: Condvar,
}

/// State of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    /// Everything passes.
    Whole,
    /// The log does not answer appends: they wait. Entries are read.
    Held,
    /// The log takes entries, and gives none.
    Deaf,
    /// The log cannot be reached.
    Cut,
}

impl LogLine {
    fn to(log: &Arc<MemoryLog>) -> Arc<Self> {
        Arc::new(Self {
            log: Arc::clone(log),
            state: Mutex::new(LineState::Whole),
            changed: Condvar::new(),
        })
    }

    /// Breaks the line, or repairs it.
    pub fn set(&self, state: LineState) {
        *self.state.lock().expect("no holder panics") = state;
        self.changed.notify_all();
    }

    /// Lets a call pass. The line does not break while it does.
    ///
    /// Errors: nothing passes in this direction.
    fn pass<R>(&self, is_reading: bool, call: impl FnOnce(&MemoryLog) -> R) -> Result<R, String> {
        let state = self.state.lock().expect("no holder panics");
        match *state {
            LineState::Whole | LineState::Held => Ok(call(&self.log)),
            LineState::Deaf if !is_reading => Ok(call(&self.log)),
            LineState::Deaf | LineState::Cut => Err("the line is broken".to_owned()),
        }
    }
}

impl Log for LogLine {
    fn create(&self, epoch: u64) -> Result<(), ReadError> {
        self.log.create(epoch)
    }

    fn reset(&self, epoch: u64) -> Result<(), ReadError> {
        self.log.reset(epoch)
    }

    fn state(&self) -> Result<LogState, ReadError> {
        let passed = self.pass(true, Log::state);
        passed.map_err(ReadError::Unavailable)?
    }

    fn append(&self, epoch: u64, body: &[u8]) -> Result<u64, AppendError> {
        let state = self.state.lock().expect("no holder panics");
        let is_held = |state: &mut LineState| *state == LineState::Held;
        let waited = self.changed.wait_while(state, is_held);
        drop(waited.expect("no holder panics"));
        let passed = self.pass(false, |log| log.append(epoch, body));
        passed.map_err(AppendError::Unavailable)?
    }

    fn read(&self, after: u64, bytes_max: usize) -> Result<Vec<LogEntry>, ReadError> {
        let passed = self.pass(true, |log| log.read(after, bytes_max));
        passed.map_err(ReadError::Unavailable)?
    }

    fn wait(&self, after: u64, at_most: Duration) {
        self.log.wait(after, at_most);
    }

    fn truncate(&self, through: u64) -> Result<(), ReadError> {
        self.log.truncate(through)
    }
}

/// A log in memory that nodes of this process share.
pub struct SharedLog(Arc<MemoryLog>);

impl SharedLog {
    /// An empty log, and the data directory of its first node.
    pub fn begun_by(data: &Path) -> Self {
        let engine = open(data, 1);
        engine.enter_cluster(EPOCH).expect("the disk works");
        engine.close().expect("the disk works");
        let log = MemoryLog::default();
        log.create(EPOCH).expect("it is new");
        Self(Arc::new(log))
    }

    /// Makes a data directory that is a copy of a running node's rows.
    pub fn joined_by(&self, data: &Path, number: u64, of: &Engine) {
        let mut snapshot = Vec::new();
        of.write_snapshot(&mut snapshot).expect("the disk works");
        let engine = open(data, number);
        let loaded = engine.load_snapshot(&mut snapshot.as_slice());
        loaded.expect("the snapshot is sound");
        engine.close().expect("the disk works");
    }

    /// Makes a service with such a data directory a running node.
    pub fn run(&self, service: &Arc<Service>, name: &str, stale_seconds: u32) -> RunningNode {
        self.run_over(LineState::Whole, service, name, stale_seconds)
    }

    /// The same over a line in this state.
    pub fn run_over(
        &self,
        state: LineState,
        service: &Arc<Service>,
        name: &str,
        stale_seconds: u32,
    ) -> RunningNode {
        let line = LogLine::to(&self.0);
        line.set(state);
        let settings = ClusterSettings {
            node: Some(name.to_owned()),
            auth_max_stale_seconds: stale_seconds,
            ..ClusterSettings::default()
        };
        let log = Arc::clone(&line) as Arc<dyn Log>;
        let clock = Arc::new(SystemClock::new());
        let node = ClusterNode::attach(&service.engine, log, &settings, clock);
        let node = node.expect("the directory is a node's");
        node.catch_up();
        let threads = service.join_cluster(Arc::clone(&node));
        RunningNode {
            line,
            node,
            threads: Some(threads.expect("threads start")),
        }
    }
}

fn open(data: &Path, number: u64) -> Engine {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 0,
        node: NodeId(number),
    };
    Engine::open(data, options).expect("a directory that opens")
}

/// A service that is a node. Its threads end with the value.
pub struct RunningNode {
    /// Its line to the log.
    pub line: Arc<LogLine>,
    /// The node.
    pub node: Arc<ClusterNode>,
    threads: Option<ClusterThreads>,
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.line.set(LineState::Whole);
        if let Some(threads) = self.threads.take() {
            threads.stop();
        }
    }
}
