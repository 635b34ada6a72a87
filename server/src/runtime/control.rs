//! Control runtime, for slow work: fetches, pages, administration, blocking calls.

use std::future::Future;
use std::io;
use std::time::Duration;

use super::priority::Priority;
use crate::limits::BLOCKING_THREADS_MAX;

/// Handle to the control runtime; clones are cheap.
pub type ControlHandle = tokio::runtime::Handle;

/// Ticks at this interval, on the control runtime. Ticks that were missed are skipped.
pub fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    interval
}

/// Runtime with threads of its own and a bounded pool for blocking calls. Workers hand over
/// whatever would block them or take longer than a request.
pub struct Control {
    runtime: tokio::runtime::Runtime,
}

/// Threads of the control runtime: its tasks wait far more than they compute.
const CONTROL_THREADS: usize = 2;

impl Control {
    /// Starts the control runtime. Errors: no threads, no epoll.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(CONTROL_THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("control")
            // A failure costs only fairness towards workers.
            .on_thread_start(|| {
                let _ = Priority::Behind.enter();
            })
            .enable_all()
            .build()?;
        Ok(Self { runtime })
    }

    /// Handle for spawning tasks from any thread.
    pub fn handle(&self) -> ControlHandle {
        self.runtime.handle().clone()
    }

    /// Runs a future to completion on the calling thread, in the context of this runtime.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Stops without waiting for blocking calls.
    pub fn stop(self) {
        self.runtime.shutdown_background();
    }
}
