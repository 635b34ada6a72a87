//! The runtime of slow things: fetches, pages, administration, blocking work.

use std::future::Future;
use std::io;

use super::priority::Priority;
use crate::limits::BLOCKING_THREADS_MAX;

/// A handle to the control runtime, to be cloned and kept.
pub type ControlHandle = tokio::runtime::Handle;

/// Threads that never serve a request's fast path, and a bounded pool for what blocks.
pub struct Control {
    runtime: tokio::runtime::Runtime,
}

/// Threads of the control runtime: what runs there waits far more than it computes.
const CONTROL_THREADS: usize = 2;

impl Control {
    /// Starts the control runtime. Errors: no threads, no epoll.
    pub fn start() -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(CONTROL_THREADS)
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .thread_name("control")
            // A refusal costs only fairness.
            .on_thread_start(|| {
                let _ = Priority::Behind.enter();
            })
            .enable_all()
            .build()?;
        Ok(Self { runtime })
    }

    /// A handle for spawning on it from any thread.
    pub fn handle(&self) -> ControlHandle {
        self.runtime.handle().clone()
    }

    /// Runs a future to its end on the calling thread, with this runtime around it.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.block_on(future)
    }

    /// Stops without waiting for what still blocks.
    pub fn stop(self) {
        self.runtime.shutdown_background();
    }
}
