//! The maintenance threads. What must happen every second has one of its own, so that nothing
//! large delays it: counters are synced, usage is stored, the clock is read. The other one
//! aggregates counters, repairs the index, flushes and merges segments, and drops old sessions.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use subcat_engine::{StateEvent, error_chain};

use super::periodic::{PeriodicTask, TaskError};
use super::{Phase, Service};

/// Time between two runs of each thread.
const PERIOD: Duration = Duration::from_secs(1);
/// Runs of maintenance between two in which expired sessions are dropped.
const SESSION_RUNS: u64 = 600;
/// Time that the last run of the heartbeat gets: it stores what was counted until the stop.
const HEARTBEAT_STOP_LIMIT: Duration = Duration::from_secs(3);
/// Time that maintenance gets for what cannot be interrupted. After it the work is abandoned, as in
/// a killed process.
const MAINTENANCE_STOP_LIMIT: Duration = Duration::from_millis(200);

/// The maintenance threads of a serving process.
pub struct Maintenance {
    service: Arc<Service>,
    heartbeat: PeriodicTask,
    maintenance: PeriodicTask,
}

impl Maintenance {
    /// Starts them. Errors: a thread cannot be started.
    pub fn start(service: Arc<Service>) -> std::io::Result<Self> {
        let reporter = Arc::new(Reporter {
            service: Arc::clone(&service),
            is_failing: Mutex::new([false; 2]),
        });
        let beating = Arc::clone(&service);
        let run = move |is_last| Ok(beat(&beating, is_last)?);
        let heartbeat =
            PeriodicTask::start("heartbeat", PERIOD, run, Reporter::of_task(&reporter, 0))?;
        let maintained = Arc::clone(&service);
        let mut run_number = 0_u64;
        let run = move |is_last| {
            if is_last {
                return Ok(());
            }
            let is_dropping_sessions = run_number.is_multiple_of(SESSION_RUNS);
            run_number += 1;
            Ok(maintain(&maintained, is_dropping_sessions)?)
        };
        let maintenance =
            PeriodicTask::start("maintenance", PERIOD, run, Reporter::of_task(&reporter, 1))?;
        Ok(Self {
            service,
            heartbeat,
            maintenance,
        })
    }

    /// Starts nothing large any more, and ends a merge that is under way. Never waits.
    pub fn wind_down(&self) {
        self.service.engine.catalog().stop_merging();
        self.maintenance.finish();
    }

    /// Syncs and stores what was counted until now. Cost: a few syncs of files; aggregation and
    /// flush are left to the closing of the engine.
    pub fn stop(self) {
        self.wind_down();
        if !self.heartbeat.stop(HEARTBEAT_STOP_LIMIT) {
            tracing::error!("the last usage is not stored: the disk takes too long");
        }
        if !self.maintenance.stop(MAINTENANCE_STOP_LIMIT) {
            tracing::info!("maintenance is unfinished; the next start continues it");
        }
    }
}

/// The work of every second. Errors: the engine's; the next run tries again.
fn beat(service: &Service, is_last: bool) -> subcat_engine::Result<()> {
    // Before the offset is measured again: if the clock was set back, the later time counts.
    service.observe_time(service.now());
    service.clock.resync();
    service.engine.usage().sync_counters()?;
    store_usage(service)?;
    if is_last {
        // The event also stores the observed time, so that the next process knows it.
        drop_expired_sessions(service)?;
    }
    Ok(())
}

fn drop_expired_sessions(service: &Service) -> subcat_engine::Result<()> {
    let effective_now = service.effective_now(service.now());
    let drop_expired = vec![StateEvent::DropExpiredSessions(effective_now)];
    service.engine.apply(drop_expired)?;
    Ok(())
}

/// A run of the work that may take long. Errors: the engine's; the next run tries again.
fn maintain(service: &Service, is_dropping_sessions: bool) -> subcat_engine::Result<()> {
    if is_dropping_sessions {
        drop_expired_sessions(service)?;
    }
    while service.engine.maintain(service.now())? {}
    Ok(())
}

/// Stores the usage of keys. A batch that could not be stored is tried again in the next run; if it
/// was stored all the same, the engine refuses it by its number.
fn store_usage(service: &Service) -> subcat_engine::Result<()> {
    let last_number = service.engine.usage().last_batch()?;
    if let Some(batch) = service.usage.batch(last_number) {
        service.engine.apply(vec![StateEvent::AddUsage(batch)])?;
        service.usage.stored();
    }
    Ok(())
}

/// Logs when maintenance begins to fail and when it works again, not every second in between.
struct Reporter {
    service: Arc<Service>,
    /// True for each thread whose last run failed.
    is_failing: Mutex<[bool; 2]>,
}

impl Reporter {
    /// The function to which one of the threads reports.
    fn of_task(reporter: &Arc<Self>, task_idx: usize) -> impl Fn(Result<(), TaskError>) + use<> {
        let reporter = Arc::clone(reporter);
        move |outcome| reporter.report(task_idx, outcome)
    }

    fn report(&self, task_idx: usize, outcome: Result<(), TaskError>) {
        let mut is_failing = self.is_failing.lock();
        let was_failing = is_failing.contains(&true);
        is_failing[task_idx] = outcome.is_err();
        match outcome {
            // The phase is shared: it is ready again only when the other thread works, too.
            Ok(()) if was_failing && !is_failing.contains(&true) => {
                tracing::info!("maintenance works again");
                self.service.set_phase(Phase::Ready);
            }
            Ok(()) => {}
            Err(error) if was_failing => {
                tracing::debug!(error = error_chain(&error), "maintenance still fails");
            }
            Err(error) => {
                let error = error_chain(&error);
                tracing::error!(error, "maintenance failed; it is tried every second");
                self.service.set_phase(Phase::Failing);
            }
        }
    }
}
