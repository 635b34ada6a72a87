//! A runtime for a client that blocks, and the limits of its calls.

use std::future::Future;
use std::io;
use std::time::Duration;

use crate::runtime::{Control, ControlHandle};

/// Time for a connection: some round trips, of a second each over a slow link.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(4);
/// Time for an entry to become durable, the connection included.
pub(super) const APPEND_LIMIT: Duration = Duration::from_secs(8);
/// Time for the state of a log to be read, the connection included.
pub(super) const READ_LIMIT: Duration = Duration::from_secs(8);
/// Time for entries to be read, the connection included: one of the largest over a link of 1 Mbit/s
/// takes half of it.
pub(super) const ENTRIES_LIMIT: Duration = Duration::from_secs(12);
/// Time for a log to be made anew: an administrator waits.
pub(super) const RESET_LIMIT: Duration = Duration::from_secs(10);

/// Threads of one client. They are its own, since its callers block threads of the control runtime.
pub(super) struct Blocking {
    runtime: Option<Control>,
}

impl Blocking {
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Some(Control::start()?);
        Ok(Self { runtime })
    }

    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime().block_on(future)
    }

    /// Handle for tasks that outlive a call.
    pub(super) fn handle(&self) -> ControlHandle {
        self.runtime().handle()
    }

    fn runtime(&self) -> &Control {
        let runtime = self.runtime.as_ref();
        runtime.expect("it is there until the end")
    }
}

impl Drop for Blocking {
    fn drop(&mut self) {
        // A runtime that is just dropped waits for its threads, which not every thread may do.
        if let Some(runtime) = self.runtime.take() {
            runtime.stop();
        }
    }
}
