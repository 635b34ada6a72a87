//! The threads that keep house. What must happen every second has one of its own, so that nothing
//! large delays it: counters are synced, usage is stored, the clock is looked at. The other one
//! aggregates counters, repairs the index, flushes and merges segments, and drops old sessions.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use subcat_engine::StateEvent;

use super::rounds::{Rounds, Trouble};
use super::{Phase, Service};

/// How often the threads look after things.
const PERIOD: Duration = Duration::from_secs(1);
/// Sessions that have expired are dropped every so many rounds.
const SESSION_ROUNDS: u64 = 600;
/// The last syncing and storing may take so long. It is waited for: it is what a stop is for.
const PULSE_LIMIT: Duration = Duration::from_secs(3);
/// What cannot be interrupted may take so long; then it is left, as a killed process leaves it.
const KEEPING_LIMIT: Duration = Duration::from_millis(200);

/// The maintenance threads of a serving process.
pub struct Maintenance {
    service: Arc<Service>,
    pulse: Rounds,
    keeping: Rounds,
}

impl Maintenance {
    /// Starts them. Errors: no thread can be made.
    pub fn start(service: Arc<Service>) -> std::io::Result<Self> {
        let reporter = Arc::new(Reporter {
            service: Arc::clone(&service),
            troubled: Mutex::new([false; 2]),
        });
        let beating = Arc::clone(&service);
        let work = move |is_last| beat(&beating, is_last).map_err(|error| with_cause(&error));
        let pulse = Rounds::start("pulse", PERIOD, work, Reporter::of(&reporter, 0))?;
        let keeper = Arc::clone(&service);
        let mut round = 0_u64;
        let work = move |is_last| {
            if is_last {
                return Ok(());
            }
            let is_dropping_sessions = round.is_multiple_of(SESSION_ROUNDS);
            round += 1;
            keep(&keeper, is_dropping_sessions).map_err(|error| with_cause(&error))
        };
        let keeping = Rounds::start("maintenance", PERIOD, work, Reporter::of(&reporter, 1))?;
        Ok(Self {
            service,
            pulse,
            keeping,
        })
    }

    /// Begins nothing large any more, and ends a merge that is under way. Never waits.
    pub fn wind_down(&self) {
        self.service.engine.catalog().stop_merging();
        self.keeping.finish();
    }

    /// Syncs and stores what was counted until now. Takes a few syncs of files; what is aggregated
    /// and flushed is for closing the engine.
    pub fn stop(self) {
        self.wind_down();
        if !self.pulse.stop(PULSE_LIMIT) {
            tracing::error!("the last usage is not stored: the disk takes too long");
        }
        if !self.keeping.stop(KEEPING_LIMIT) {
            tracing::info!("maintenance is left unfinished; the next start goes on with it");
        }
    }
}

/// One second. Errors: the engine's; the next round tries again.
fn beat(service: &Service, is_last: bool) -> subcat_engine::Result<()> {
    // Before the clock may be set back.
    service.see(service.now());
    service.clock.resync();
    service.engine.usage().sync_counters()?;
    store_usage(service)?;
    if is_last {
        // This also stores what time it was.
        drop_expired_sessions(service)?;
    }
    Ok(())
}

fn drop_expired_sessions(service: &Service) -> subcat_engine::Result<()> {
    let judged_at = service.judged_at(service.now());
    let drop_expired = vec![StateEvent::DropExpiredSessions(judged_at)];
    service.engine.apply(drop_expired)?;
    Ok(())
}

/// One round of what may take its time. Errors: the engine's; the next round tries again.
fn keep(service: &Service, is_dropping_sessions: bool) -> subcat_engine::Result<()> {
    if is_dropping_sessions {
        drop_expired_sessions(service)?;
    }
    while service.engine.maintain(service.now())? {}
    Ok(())
}

/// Stores what keys were used for. What cannot be stored is tried again in the next round; when it
/// was stored all the same, the engine refuses it then.
fn store_usage(service: &Service) -> subcat_engine::Result<()> {
    let last_number = service.engine.usage().last_batch()?;
    if let Some(batch) = service.usage.batch(last_number) {
        service.engine.apply(vec![StateEvent::AddUsage(batch)])?;
        service.usage.stored();
    }
    Ok(())
}

fn with_cause(error: &subcat_engine::Error) -> Trouble {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

/// Says when maintenance begins to fail and when it works again, not every second in between.
struct Reporter {
    service: Arc<Service>,
    /// Whether the last round of each thread failed.
    troubled: Mutex<[bool; 2]>,
}

impl Reporter {
    /// What one of the threads tells.
    fn of(reporter: &Arc<Self>, thread_idx: usize) -> impl Fn(Result<(), Trouble>) + use<> {
        let reporter = Arc::clone(reporter);
        move |outcome| reporter.report(thread_idx, outcome)
    }

    fn report(&self, thread_idx: usize, outcome: Result<(), Trouble>) {
        let mut troubled = self.troubled.lock();
        let was_failing = troubled.contains(&true);
        troubled[thread_idx] = outcome.is_err();
        match outcome {
            Ok(()) if was_failing && !troubled.contains(&true) => {
                tracing::info!("maintenance works again");
                self.service.set_phase(Phase::Ready);
            }
            Ok(()) => {}
            Err(error) if was_failing => tracing::debug!(error, "maintenance still fails"),
            Err(error) => {
                tracing::error!(error, "maintenance failed; it is tried every second");
                self.service.set_phase(Phase::Failing);
            }
        }
    }
}
