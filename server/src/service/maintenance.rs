//! The two maintenance threads.
//!
//! The heartbeat does what must happen every second: it syncs counters, stores usage and reads the
//! clock. The other thread does the work that may take long, which must not delay the heartbeat:
//! it aggregates counters, repairs the index, flushes and merges segments, and drops expired
//! sessions.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use subcat_engine::{DamageEntry, Engine, MaintenanceTask, StateEvent, error_chain};

use super::periodic::{PeriodicTask, TaskError};
use super::{Phase, Service};

/// Time between two runs of each thread.
const PERIOD: Duration = Duration::from_secs(1);
/// Number of maintenance runs from one that drops expired sessions to the next.
const SESSION_RUNS: u64 = 600;
/// Time limit of the heartbeat's last run, which stores everything counted until the stop.
const HEARTBEAT_STOP_LIMIT: Duration = Duration::from_secs(3);
/// Time limit of maintenance work that cannot be interrupted. After it the work is abandoned, as
/// if the process were killed.
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

    /// Starts no further work that may take long, and ends a merge that is under way. Never waits.
    pub fn wind_down(&self) {
        self.service.engine.catalog().stop_merging();
        self.maintenance.finish();
    }

    /// Ends both threads, after a last heartbeat that syncs and stores everything counted so far.
    /// Cost: a few file syncs; aggregation and flush happen when the engine is closed.
    pub fn stop(self) {
        self.wind_down();
        if !self.heartbeat.stop(HEARTBEAT_STOP_LIMIT) {
            tracing::error!("the last usage was not stored in time: the disk is too slow");
        }
        if !self.maintenance.stop(MAINTENANCE_STOP_LIMIT) {
            tracing::info!("maintenance was interrupted; the next start continues it");
        }
    }
}

/// The work of every second. Errors: the engine's; the next run tries again.
fn beat(service: &Service, is_last: bool) -> subcat_engine::Result<()> {
    // Before the offset is measured again: if the clock was set back, the later time counts.
    service.observe_time(service.now());
    service.clock.resync();
    service.credentials().settle();
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

/// One run of the work that may take long. Errors: the engine's; the next run tries again.
fn maintain(service: &Service, is_dropping_sessions: bool) -> subcat_engine::Result<()> {
    log_damage(&service.engine);
    if is_dropping_sessions {
        drop_expired_sessions(service)?;
    }
    while service.engine.maintain(service.now())? {}
    // One step a second: its rate is bounded so.
    let scrub = MaintenanceTask::Scrub;
    service.engine.run_task(scrub, service.now()).map(drop)
}

/// Logs the damage that the engine has met and contained since the last call.
pub fn log_damage(engine: &Engine) {
    for entry in engine.take_damage() {
        let DamageEntry {
            place,
            offset,
            problem,
            outcome,
            is_repaired,
        } = entry;
        if is_repaired {
            tracing::warn!(place, offset, problem, outcome, "damage was repaired");
        } else {
            tracing::error!(place, offset, problem, outcome, "damage was contained");
        }
    }
}

/// Stores the usage of keys. A batch whose commit failed is submitted again in the next run; if it
/// was stored after all, the engine recognises its number and skips it.
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
    /// True for each thread whose last run failed: the heartbeat, then the other one.
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
                tracing::error!(error, "maintenance failed; retrying every second");
                self.service.set_phase(Phase::Failing);
            }
        }
    }
}
