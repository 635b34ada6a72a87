//! Pools of blocking work: each kind has permits of its own, so that none takes the threads of
//! another.
//!
//! A job waits for a permit of its kind as a task, and then has a thread at once: the runtime has
//! as many blocking threads as there are permits. A job that waits for other machines is a future:
//! it has a permit and a thread while it works, and neither while it waits.
//!
//! A no-op runs through each pool at intervals. If
//! it does not return, and no other job of the pool ends either, the pool is stalled.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time;

use crate::limits::{
    ADMINISTRATION_JOBS_MAX, CHANGE_JOBS_MAX, DECODING_JOBS_MAX, METRICS_JOBS_MAX,
    OPENING_JOBS_MAX, PAGE_JOBS_MAX, STORING_JOBS_MAX, TRANSFER_JOBS_MAX,
};

/// Time between two no-ops of a pool.
const PROBE_PERIOD: Duration = Duration::from_secs(1);
/// Time in which some job of a pool must end while a no-op waits. No job of prompt work takes as
/// long: they wait for the disk only, and decoders have limits of their own.
pub(super) const STALL_LIMIT: Duration = Duration::from_secs(90);

/// A kind of blocking work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// Reading the data of a page.
    Pages,
    /// Changes that pages make.
    Changes,
    /// Compression of files, and looks into them.
    Decoding,
    /// Opening of stored files.
    Opening,
    /// Storing of files that were just fetched.
    Storing,
    /// Operations of the admin socket.
    Administration,
    /// Imports and exports of the admin socket. Each keeps its thread until it ends, also while it
    /// waits for its client or for the log of a cluster.
    Transfers,
    /// The text of `/metrics`.
    Metrics,
}

impl WorkKind {
    /// Every kind, in the order of the pools.
    pub const ALL: [Self; 8] = [
        Self::Pages,
        Self::Changes,
        Self::Decoding,
        Self::Opening,
        Self::Storing,
        Self::Administration,
        Self::Transfers,
        Self::Metrics,
    ];

    /// Name in metrics and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pages => "pages",
            Self::Changes => "changes",
            Self::Decoding => "decoding",
            Self::Opening => "opening",
            Self::Storing => "storing",
            Self::Administration => "administration",
            Self::Transfers => "transfers",
            Self::Metrics => "metrics",
        }
    }

    /// Maximum of jobs that run at once.
    pub const fn jobs_max(self) -> usize {
        match self {
            Self::Pages => PAGE_JOBS_MAX,
            Self::Changes => CHANGE_JOBS_MAX,
            Self::Decoding => DECODING_JOBS_MAX,
            Self::Opening => OPENING_JOBS_MAX,
            Self::Storing => STORING_JOBS_MAX,
            Self::Administration => ADMINISTRATION_JOBS_MAX,
            Self::Transfers => TRANSFER_JOBS_MAX,
            Self::Metrics => METRICS_JOBS_MAX,
        }
    }

    /// True if every job ends by itself within a minute. The others wait for clients, for all of
    /// the data or, imports, for other machines: a pool of these that is full is not at fault.
    pub const fn is_prompt(self) -> bool {
        match self {
            Self::Pages | Self::Decoding | Self::Opening | Self::Storing | Self::Metrics => true,
            Self::Changes | Self::Administration | Self::Transfers => false,
        }
    }
}

/// Blocking threads of the control runtime: one for each permit, and some for the runtime's own.
pub(super) fn threads_max() -> usize {
    const OF_RUNTIME: usize = 4;
    let permits = WorkKind::ALL.iter().map(|kind| kind.jobs_max());
    permits.sum::<usize>() + OF_RUNTIME
}

/// State of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolState {
    /// Kind of work of the pool.
    pub kind: WorkKind,
    /// Running time of its oldest job.
    pub oldest_job: Duration,
    /// Jobs that run.
    pub running_count: usize,
    /// True if a no-op does not return and no job ends.
    pub is_stalled: bool,
}

impl PoolState {
    /// True if prompt work does not end: a fault of the process.
    pub fn is_fault(&self) -> bool {
        self.is_stalled && self.kind.is_prompt()
    }
}

/// All pools.
pub(super) struct WorkPools {
    /// Time in which some job of a pool must end while a no-op waits.
    stall_limit: Duration,
    /// In the order of [`WorkKind::ALL`].
    pools: [WorkPool; WorkKind::ALL.len()],
}

/// Output of a job, in a box: jobs have one type, so that what runs them is compiled once and not
/// for each of them.
pub(super) type JobOutput = Box<dyn Any + Send>;
type BlockingJob = Box<dyn FnOnce() -> JobOutput + Send>;
/// A job that waits now and then.
pub(super) type WaitingJob = Pin<Box<dyn Future<Output = JobOutput> + Send>>;

/// The output of a job that returns a `T`.
pub(super) fn output<T: 'static>(output: JobOutput) -> T {
    *output.downcast().expect("the job returns this type")
}

struct WorkPool {
    permits: Arc<Semaphore>,
    jobs: Mutex<PoolJobs>,
}

/// Jobs of a pool that have a permit.
struct PoolJobs {
    /// Start of each, in no order.
    started: Vec<Instant>,
    /// Start of the running no-op.
    probe_since: Option<Instant>,
    last_end: Instant,
}

impl WorkPools {
    pub(super) fn new(stall_limit: Duration) -> Self {
        let pool = |kind: WorkKind| WorkPool {
            permits: Arc::new(Semaphore::new(kind.jobs_max())),
            jobs: Mutex::new(PoolJobs {
                started: Vec::with_capacity(kind.jobs_max()),
                probe_since: None,
                last_end: Instant::now(),
            }),
        };
        Self {
            stall_limit,
            pools: WorkKind::ALL.map(pool),
        }
    }

    fn pool(&self, kind: WorkKind) -> &WorkPool {
        &self.pools[kind as usize]
    }

    /// Runs a job on a blocking thread, once its kind has a permit for it. The job runs to its end
    /// even if the caller leaves before.
    ///
    /// Errors: it panicked, or the runtime is ending.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        runtime: &Handle,
        kind: WorkKind,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let job: BlockingJob = Box::new(|| Box::new(work()));
        Ok(output(self.run_job(runtime, kind, job).await?))
    }

    async fn run_job(
        self: &Arc<Self>,
        runtime: &Handle,
        kind: WorkKind,
        job: BlockingJob,
    ) -> Result<JobOutput, JoinError> {
        let permits = Arc::clone(&self.pool(kind).permits);
        let permit = permits.acquire_owned().await;
        let permit = permit.expect("the permits are never closed");
        let pools = Arc::clone(self);
        let job = move || {
            let _running = RunningJob::start(pools, kind, permit);
            job()
        };
        runtime.spawn_blocking(job).await
    }

    /// Runs a job that waits now and then. It is polled on a blocking thread, once its kind has a
    /// permit for it; while it waits it has neither. It runs to its end only if the caller does not
    /// leave before.
    ///
    /// Errors: it panicked, or the runtime is ending.
    pub(super) async fn run_waiting(
        self: &Arc<Self>,
        runtime: &Handle,
        kind: WorkKind,
        mut job: WaitingJob,
    ) -> Result<JobOutput, JoinError> {
        let woken = Arc::new(WokenJob::default());
        loop {
            let waker = Waker::from(Arc::clone(&woken));
            let poll = move || {
                let polled = job.as_mut().poll(&mut Context::from_waker(&waker));
                (job, polled)
            };
            match self.run(runtime, kind, poll).await? {
                (_, Poll::Ready(output)) => return Ok(output),
                (waiting, Poll::Pending) => job = waiting,
            }
            woken.0.notified().await;
        }
    }

    /// Sends a no-op through each pool, again and again. Ends with the runtime.
    pub(super) fn watch(self: &Arc<Self>, runtime: &Handle) {
        for kind in WorkKind::ALL {
            let (pools, handle) = (Arc::clone(self), runtime.clone());
            runtime.spawn(async move {
                loop {
                    pools.pool(kind).jobs.lock().probe_since = Some(Instant::now());
                    let probed = pools.run(&handle, kind, || ()).await;
                    pools.pool(kind).jobs.lock().probe_since = None;
                    if probed.is_err() {
                        return;
                    }
                    time::sleep(PROBE_PERIOD).await;
                }
            });
        }
    }

    /// The state of each pool.
    pub(super) fn states(&self, now: Instant) -> Vec<PoolState> {
        let state = |kind: WorkKind| {
            let jobs = self.pool(kind).jobs.lock();
            jobs.state(kind, now, self.stall_limit)
        };
        WorkKind::ALL.map(state).to_vec()
    }
}

impl PoolJobs {
    fn state(&self, kind: WorkKind, now: Instant, stall_limit: Duration) -> PoolState {
        let since = |then: Instant| now.saturating_duration_since(then);
        let oldest = self.started.iter().min();
        let waits = self.probe_since.map_or(Duration::ZERO, since);
        PoolState {
            kind,
            oldest_job: oldest.map_or(Duration::ZERO, |started| since(*started)),
            running_count: self.started.len(),
            is_stalled: stall_limit <= waits && stall_limit <= since(self.last_end),
        }
    }
}

/// The wake-up of a job that waits; one that comes before the wait is not lost.
#[derive(Default)]
struct WokenJob(Notify);

impl Wake for WokenJob {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// A job with a permit. Its end returns the permit, also by a panic.
struct RunningJob {
    pools: Arc<WorkPools>,
    kind: WorkKind,
    started: Instant,
    _permit: OwnedSemaphorePermit,
}

impl RunningJob {
    fn start(pools: Arc<WorkPools>, kind: WorkKind, permit: OwnedSemaphorePermit) -> Self {
        let started = Instant::now();
        pools.pool(kind).jobs.lock().started.push(started);
        Self {
            pools,
            kind,
            started,
            _permit: permit,
        }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        let mut jobs = self.pools.pool(self.kind).jobs.lock();
        jobs.last_end = Instant::now();
        // Of two that started at the same moment either may be removed.
        if let Some(idx) = jobs.started.iter().position(|at| *at == self.started) {
            jobs.started.swap_remove(idx);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::runtime::Control;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// Fills a pool until the returned sender is dropped.
    fn fill(control: &Control, kind: WorkKind) -> mpsc::Sender<()> {
        let (go, gone) = mpsc::channel::<()>();
        let gone = Arc::new(Mutex::new(gone));
        let (begin, begun) = mpsc::channel();
        // Further ones wait for a permit, and take no thread.
        for _ in 0..kind.jobs_max() + 100 {
            let (gone, begin) = (Arc::clone(&gone), begin.clone());
            control.handle().detach(kind, move || {
                let _ = begin.send(());
                let _ = gone.lock().recv();
            });
        }
        for _ in 0..kind.jobs_max() {
            begun.recv_timeout(PATIENCE).unwrap();
        }
        go
    }

    #[test]
    fn a_pool_that_is_full_holds_up_no_other() {
        for full in WorkKind::ALL {
            let control = Control::start().unwrap();
            let held = fill(&control, full);
            for other in WorkKind::ALL.into_iter().filter(|kind| *kind != full) {
                let handle = control.handle();
                let job = handle.run(other, || 7);
                let ran = control.block_on(async { time::timeout(PATIENCE, job).await });
                assert_eq!(ran.unwrap().unwrap(), 7, "{full:?} holds up {other:?}");
            }
            let states = control.handle().pool_states();
            for state in states {
                let expected = if state.kind == full {
                    full.jobs_max()
                } else {
                    0
                };
                assert_eq!(state.running_count, expected, "{state:?}");
                assert_eq!(state.oldest_job != Duration::ZERO, state.kind == full);
            }
            drop(held);
        }
    }

    /// Far more jobs than the pool has threads wait for one event; each works before and after.
    #[test]
    fn jobs_that_wait_hold_no_thread() {
        let control = Control::start().unwrap();
        let kind = WorkKind::Changes;
        let (go, gone) = tokio::sync::watch::channel(false);
        let (begin, begun) = mpsc::channel();
        let waiting: Vec<_> = (0..kind.jobs_max() * 20)
            .map(|number| {
                let (mut gone, begin) = (gone.clone(), begin.clone());
                let handle = control.handle();
                control.handle().spawn(async move {
                    let job = async move {
                        begin.send(()).unwrap();
                        gone.wait_for(|is_gone| *is_gone).await.unwrap();
                        number
                    };
                    handle.run_waiting(kind, job).await.unwrap()
                })
            })
            .collect();
        for _ in &waiting {
            begun.recv_timeout(PATIENCE).unwrap();
        }
        let handle = control.handle();
        let job = handle.run(kind, || 7);
        let ran = control.block_on(async { time::timeout(PATIENCE, job).await });
        assert_eq!(ran.unwrap().unwrap(), 7);
        go.send(true).unwrap();
        for (number, job) in waiting.into_iter().enumerate() {
            assert_eq!(control.block_on(job).unwrap(), number);
        }
    }

    #[test]
    fn a_job_that_panics_after_a_wait_is_an_error() {
        let control = Control::start().unwrap();
        let handle = control.handle();
        let job = handle.run_waiting(WorkKind::Changes, async {
            time::sleep(Duration::from_millis(1)).await;
            panic!("a planted defect");
        });
        let ended: Result<(), _> = control.block_on(job);
        assert!(ended.is_err());
    }

    #[test]
    fn a_job_that_panics_gives_its_place_back() {
        let control = Control::start().unwrap();
        for _ in 0..2 * METRICS_JOBS_MAX {
            let handle = control.handle();
            let job = handle.run(WorkKind::Metrics, || panic!("a planted defect"));
            assert!(control.block_on(job).is_err());
        }
        let state = control.handle().pool_states()[WorkKind::Metrics as usize];
        assert_eq!(state.running_count, 0);
    }

    #[test]
    fn a_pool_stalls_when_no_job_ends_and_a_no_op_waits() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut jobs = PoolJobs {
            started: vec![at(1), at(0)],
            probe_since: Some(at(2)),
            last_end: at(1),
        };
        let state = |jobs: &PoolJobs, now| jobs.state(WorkKind::Pages, now, STALL_LIMIT);
        let early = state(&jobs, at(91));
        assert!(!early.is_stalled);
        assert_eq!(early.oldest_job, Duration::from_secs(91));
        assert!(state(&jobs, at(92)).is_stalled);
        // A long queue that moves is not a stall.
        jobs.last_end = at(20);
        assert!(!state(&jobs, at(109)).is_stalled);
        assert!(state(&jobs, at(110)).is_stalled);
        jobs.probe_since = None;
        assert!(!state(&jobs, at(500)).is_stalled);
    }

    #[test]
    fn no_ops_pass_through_every_pool() {
        let control = Control::start().unwrap();
        control.handle().watch_pools();
        let until = Instant::now() + PATIENCE;
        let pools = control.handle();
        while pools.pool_states().iter().any(|state| state.is_stalled) {
            assert!(Instant::now() < until);
        }
    }
}
