//! Reading the next entries while earlier ones are applied.

use std::sync::Arc;
use std::thread::JoinHandle;

use super::log::{Log, LogEntry, ReadError};

/// A read of the log on a thread of its own. Dropped, the read finishes, and its result is
/// discarded.
pub(super) struct ReadAhead {
    after: u64,
    thread: JoinHandle<Result<Vec<LogEntry>, ReadError>>,
}

impl ReadAhead {
    /// Begins to read the entries after `after`, of about `bytes_max` bytes; `None` if there can be
    /// no thread.
    pub(super) fn start(log: Arc<dyn Log>, after: u64, bytes_max: usize) -> Option<Self> {
        let builder = std::thread::Builder::new().name("log ahead".into());
        let thread = builder.spawn(move || log.read(after, bytes_max));
        let thread = thread.ok()?;
        Some(Self { after, thread })
    }

    /// Sequence number of the entry before.
    pub(super) fn after(&self) -> u64 {
        self.after
    }

    /// Waits for the entries.
    pub(super) fn wait(self) -> Result<Vec<LogEntry>, ReadError> {
        self.thread.join().expect("reading the log does not panic")
    }
}
