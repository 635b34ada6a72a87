//! Reading of files that are not in memory, off the worker.
//!
//! `sendfile` reads what is not in the page cache from the disk and blocks meanwhile, on any
//! socket, and with it every connection of the worker. So a part of a file is looked up in the page
//! cache first, and what is not there is read by another thread, for the page cache only.

use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::file_body::StoredBytes;
use super::priority::Priority;
use crate::limits::COLD_READERS_MAX;

/// The runtime of one worker, whose blocking threads read files. Errors: no epoll.
pub(super) fn worker_runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(COLD_READERS_MAX)
        // Those threads only: this one is the worker's. A failure costs only fairness.
        .on_thread_start(|| {
            let _ = Priority::Behind.enter();
        })
        .build()
}

/// The part of a file that a connection waits for.
#[derive(Default)]
pub(super) struct ColdRead {
    reading: Option<JoinHandle<()>>,
}

impl ColdRead {
    /// Ready with the number of bytes from the start of `range` that can be sent now, at least one.
    ///
    /// After a part was read it is not looked up again: on a machine that is short of memory it may
    /// be gone already, and what is asked for must be sent some time.
    pub(super) fn poll_resident(
        &mut self,
        context: &mut Context<'_>,
        stored: &Arc<dyn StoredBytes>,
        range: Range<usize>,
    ) -> Poll<usize> {
        if self.reading.is_none() {
            let resident_bytes = stored.resident_bytes(range.clone());
            if resident_bytes != 0 {
                return Poll::Ready(resident_bytes);
            }
            let (stored, range) = (Arc::clone(stored), range.clone());
            let read_in = move || stored.read_in(range);
            self.reading = Some(tokio::task::spawn_blocking(read_in));
        }
        if let Some(reading) = &mut self.reading {
            // A reader that panicked has read nothing; then `sendfile` does.
            let _ = ready!(Pin::new(reading).poll(context));
            self.reading = None;
        }
        Poll::Ready(range.len())
    }
}
