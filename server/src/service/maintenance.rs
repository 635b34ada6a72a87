//! The thread that keeps house: folds counters, flushes and merges segments, stores usage.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use subcat_engine::event::StateEvent;

use super::{Phase, Service};

/// How often the thread looks after things.
const PERIOD: Duration = Duration::from_secs(1);
/// Sessions that have expired are dropped every so many rounds.
const SESSION_ROUNDS: u64 = 600;

/// The maintenance thread of a serving process.
pub struct Maintenance {
    is_stopping: Arc<(Mutex<bool>, Condvar)>,
    thread: JoinHandle<()>,
}

impl Maintenance {
    /// Starts it. Errors: no thread can be made.
    pub fn start(service: Arc<Service>) -> std::io::Result<Self> {
        let is_stopping = Arc::new((Mutex::new(false), Condvar::new()));
        let signal = Arc::clone(&is_stopping);
        let thread = std::thread::Builder::new()
            .name("maintenance".to_owned())
            .spawn(move || run(&service, &signal))?;
        Ok(Self {
            is_stopping,
            thread,
        })
    }

    /// Lets it finish its round and one more, so that nothing counted is left behind.
    pub fn stop(self) {
        let (flag, wake) = &*self.is_stopping;
        *flag.lock() = true;
        wake.notify_all();
        if self.thread.join().is_err() {
            tracing::error!("the maintenance thread had panicked");
        }
    }
}

fn run(service: &Service, signal: &(Mutex<bool>, Condvar)) {
    let (flag, wake) = signal;
    let mut round = 0_u64;
    loop {
        let is_last = {
            let mut is_stopping = flag.lock();
            if !*is_stopping {
                wake.wait_for(&mut is_stopping, PERIOD);
            }
            *is_stopping
        };
        let is_dropping_sessions = round.is_multiple_of(SESSION_ROUNDS);
        report(service, one_round(service, is_dropping_sessions));
        if is_last {
            return;
        }
        round += 1;
    }
}

/// One round. Errors: the engine's; the next round tries again.
fn one_round(service: &Service, is_dropping_sessions: bool) -> subcat_engine::Result<()> {
    service.clock.resync();
    let now = service.now();
    service.engine.sync_counters()?;
    store_usage(service)?;
    if is_dropping_sessions {
        let drop_expired = vec![StateEvent::DropExpiredSessions(now)];
        service.engine.apply(drop_expired)?;
    }
    while service.engine.maintain(now)? {}
    Ok(())
}

/// Stores what keys were used for. What cannot be stored is kept for the next round.
fn store_usage(service: &Service) -> subcat_engine::Result<()> {
    let usage = service.usage.take();
    if usage.is_empty() {
        return Ok(());
    }
    let outcome = service
        .engine
        .apply(vec![StateEvent::AddUsage(usage.clone())]);
    outcome
        .map(drop)
        .inspect_err(|_| service.usage.put_back(usage))
}

/// Says when maintenance begins to fail and when it works again, not every second in between.
fn report(service: &Service, outcome: subcat_engine::Result<()>) {
    let was_failing = service.phase() == Phase::Failing;
    match outcome {
        Ok(()) if was_failing => {
            tracing::info!("maintenance works again");
            service.set_phase(Phase::Ready);
        }
        Ok(()) => {}
        Err(error) => {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            if was_failing {
                tracing::debug!(%error, cause, "maintenance still fails");
            } else {
                tracing::error!(%error, cause, "maintenance failed; it is tried every second");
            }
            service.set_phase(Phase::Failing);
        }
    }
}
