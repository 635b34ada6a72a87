//! Control runtime, for slow work: fetches, pages, administration, blocking calls.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{EnterGuard, Handle};
use tokio::task::{JoinError, JoinHandle};

use super::priority::Priority;
use super::work_pools::{
    JobOutput, PoolState, STALL_LIMIT, WaitingJob, WorkKind, WorkPools, output, threads_max,
};

/// Handle to the control runtime; clones are cheap.
#[derive(Clone)]
pub struct ControlHandle {
    runtime: Handle,
    pools: Arc<WorkPools>,
}

impl ControlHandle {
    /// Starts a task.
    pub fn spawn<F>(&self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // Tasks of one output have one type: the runtime's code for a task is large.
        let task: Pin<Box<dyn Future<Output = F::Output> + Send>> = Box::pin(task);
        self.runtime.spawn(task)
    }

    /// Enters the context of the runtime, for what registers itself there.
    pub fn enter(&self) -> EnterGuard<'_> {
        self.runtime.enter()
    }

    /// Runs blocking work, once its kind has a place for it. The work runs to its end even if the
    /// caller leaves before.
    ///
    /// Errors: it panicked, or the runtime is ending.
    pub async fn run<T: Send + 'static>(
        &self,
        kind: WorkKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        self.pools.run(&self.runtime, kind, work).await
    }

    /// Runs a job that blocks a thread while it works, and waits for other machines as a task. It
    /// runs to its end even if the caller leaves before.
    ///
    /// Errors: it panicked, or the runtime is ending.
    pub async fn run_waiting<J>(&self, kind: WorkKind, job: J) -> Result<J::Output, JoinError>
    where
        J: Future<Output: Send + 'static> + Send + 'static,
    {
        let (pools, runtime) = (Arc::clone(&self.pools), self.runtime.clone());
        let job: WaitingJob = Box::pin(async { Box::new(job.await) as JobOutput });
        let job = async move { pools.run_waiting(&runtime, kind, job).await };
        Ok(output(self.runtime.spawn(job).await??))
    }

    /// Runs blocking work that no caller waits for.
    pub fn detach(&self, kind: WorkKind, work: impl FnOnce() + Send + 'static) {
        let handle = self.clone();
        self.spawn(async move {
            // A panic is in the log.
            let _ = handle.run(kind, work).await;
        });
    }

    /// Sends a no-op through each pool of blocking work at intervals, from now on.
    pub fn watch_pools(&self) {
        self.pools.watch(&self.runtime);
    }

    /// The state of each pool of blocking work.
    pub fn pool_states(&self) -> Vec<PoolState> {
        self.pools.states(Instant::now())
    }
}

/// Ticks at this interval, on the control runtime. Ticks that were missed are skipped.
pub fn interval(period: Duration) -> tokio::time::Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    interval
}

/// Runtime with threads of its own and bounded pools for blocking calls. Workers hand over
/// whatever would block them or take longer than a request.
pub struct Control {
    runtime: tokio::runtime::Runtime,
    pools: Arc<WorkPools>,
}

/// Threads of the control runtime: its tasks wait far more than they compute.
const CONTROL_THREADS: usize = 2;

impl Control {
    /// Starts the control runtime. Errors: no threads, no epoll.
    pub fn start() -> io::Result<Self> {
        Self::with_stall_limit(STALL_LIMIT)
    }

    /// The same, with another time after which a full pool counts as stalled when none of its jobs
    /// ends.
    pub fn with_stall_limit(stall_limit: Duration) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(CONTROL_THREADS)
            .max_blocking_threads(threads_max())
            .thread_name("control")
            // A failure costs only fairness towards workers.
            .on_thread_start(|| {
                let _ = Priority::Behind.enter();
            })
            .enable_all()
            .build()?;
        let pools = Arc::new(WorkPools::new(stall_limit));
        Ok(Self { runtime, pools })
    }

    /// Handle for spawning tasks from any thread.
    pub fn handle(&self) -> ControlHandle {
        ControlHandle {
            runtime: self.runtime.handle().clone(),
            pools: Arc::clone(&self.pools),
        }
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
