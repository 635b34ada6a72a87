//! The maintenance threads.
//!
//! The heartbeat does what must happen every second: it syncs counters and reads the clock. The
//! others do work that must not delay it. One stores usage, and one aggregates counters and drops
//! expired sessions: in a cluster they wait for the log. One has what is done soon: repairing the
//! index, flushing, evicting files. One has what may take minutes, and must not keep damage from
//! being noticed: merging, sweeping, scrubbing. One waits for object storage.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use subcat_engine::{Change, DamageEntry, Engine, MaintenanceTask, Outcome, StateEvent};

use super::Service;
use super::background::BackgroundTask;
use super::credentials::Actor;
use super::periodic::{PeriodicTask, TaskError};
use crate::limits::TASK_SPAN_MS_MIN;
use crate::traces::SpanFacts;

/// Time between two runs of each thread.
const PERIOD: Duration = Duration::from_secs(1);
/// The same, of the threads that take damage out of the way and repair it: requests that meet it
/// fail until then, for less than a second.
const CONTAINMENT_PERIOD: Duration = Duration::from_millis(200);
/// Time limit of the heartbeat's last run, which stores everything counted until the stop.
const HEARTBEAT_STOP_LIMIT: Duration = Duration::from_secs(3);
/// Time limit of maintenance work that cannot be interrupted. After it the work is abandoned, as
/// if the process were killed.
const MAINTENANCE_STOP_LIMIT: Duration = Duration::from_millis(200);

/// Task of the thread for usage, which may wait for the log of a cluster, and for nothing else.
const USAGE_TASKS: [BackgroundTask; 1] = [BackgroundTask::StoreUsage];
/// Tasks of the thread for changes of the state, which may wait for the log of a cluster.
const CHANGE_TASKS: [BackgroundTask; 2] = [
    BackgroundTask::DropSessions,
    BackgroundTask::Engine(MaintenanceTask::AggregateDownloads),
];
/// Tasks of the thread that keeps damage from being met again.
const CONTAINMENT_TASKS: [BackgroundTask; 1] =
    [BackgroundTask::Engine(MaintenanceTask::TakeOutDamaged)];
/// Tasks of the thread that builds segments again.
const REPAIR_TASKS: [BackgroundTask; 1] = [BackgroundTask::Engine(MaintenanceTask::RepairIndex)];
/// Tasks of the thread for what is done soon.
const QUICK_TASKS: [BackgroundTask; 2] = [
    BackgroundTask::Engine(MaintenanceTask::Reindex),
    BackgroundTask::Engine(MaintenanceTask::EvictFiles),
];
/// Tasks of the thread for what may take long.
const SLOW_TASKS: [BackgroundTask; 3] = [
    BackgroundTask::Engine(MaintenanceTask::Merge),
    BackgroundTask::Engine(MaintenanceTask::SweepFiles),
    BackgroundTask::Engine(MaintenanceTask::Scrub),
];

/// Tasks of the thread that waits for other machines.
const REMOTE_TASKS: [BackgroundTask; 1] = [BackgroundTask::Engine(MaintenanceTask::UploadFiles)];

/// The maintenance threads of a serving process.
pub struct Maintenance {
    service: Arc<Service>,
    heartbeat: PeriodicTask,
    /// The threads of usage, of changes, of damage, of quick tasks, of slow ones, and, if there is
    /// object storage, of those that wait for other machines.
    others: Vec<PeriodicTask>,
}

impl Maintenance {
    /// Starts them. Errors: a thread cannot be started.
    pub fn start(service: Arc<Service>) -> std::io::Result<Self> {
        let beating = Arc::clone(&service);
        let run = move |is_last| Ok(beat(&beating, is_last)?);
        let noting = Arc::clone(&service);
        let report = move |outcome| {
            let background = &noting.background;
            background.note(BackgroundTask::Heartbeat, outcome, Instant::now());
        };
        let heartbeat = PeriodicTask::start("heartbeat", PERIOD, run, report)?;
        let mut others = vec![
            start_tasks("usage", &service, &USAGE_TASKS)?,
            start_tasks("accounting", &service, &CHANGE_TASKS)?,
            start_tasks_every(
                CONTAINMENT_PERIOD,
                "containment",
                &service,
                &CONTAINMENT_TASKS,
            )?,
            start_tasks_every(CONTAINMENT_PERIOD, "repair", &service, &REPAIR_TASKS)?,
            start_tasks("maintenance", &service, &QUICK_TASKS)?,
            start_tasks("compaction", &service, &SLOW_TASKS)?,
        ];
        if service.config().files_s3.endpoint.is_some() {
            others.push(start_tasks("uploads", &service, &REMOTE_TASKS)?);
        }
        Ok(Self {
            service,
            heartbeat,
            others,
        })
    }

    /// Starts no more long work, and ends a running merge. Never waits.
    pub fn wind_down(&self) {
        self.service.engine.catalog().stop_merging();
        for thread in &self.others {
            thread.finish();
        }
    }

    /// Ends the threads, after a last heartbeat that syncs and stores everything counted so far.
    /// Cost: a few file syncs; aggregation and flush happen when the engine is closed.
    pub fn stop(self) {
        self.wind_down();
        if !self.heartbeat.stop(HEARTBEAT_STOP_LIMIT) {
            tracing::error!("the last usage was not stored in time: the disk is too slow");
        }
        for thread in self.others {
            if !thread.stop(MAINTENANCE_STOP_LIMIT) {
                tracing::info!("maintenance was interrupted; the next start continues it");
            }
        }
    }
}

/// Starts a thread that runs these tasks every second, each when it is due.
fn start_tasks(
    name: &str,
    service: &Arc<Service>,
    tasks: &'static [BackgroundTask],
) -> std::io::Result<PeriodicTask> {
    start_tasks_every(PERIOD, name, service, tasks)
}

fn start_tasks_every(
    period: Duration,
    name: &str,
    service: &Arc<Service>,
    tasks: &'static [BackgroundTask],
) -> std::io::Result<PeriodicTask> {
    let service = Arc::clone(service);
    let run = move |is_last: bool| {
        if !is_last {
            run_tasks(&service, tasks);
        }
        Ok(())
    };
    // Each task notes its own result.
    PeriodicTask::start(name, period, run, drop)
}

fn run_tasks(service: &Service, tasks: &[BackgroundTask]) {
    for &task in tasks {
        if !service.background.is_due(task, Instant::now()) {
            continue;
        }
        let started = service.clock.now();
        // One that panics must not keep those behind it from running.
        let run = catch_unwind(AssertUnwindSafe(|| run_task(service, task)));
        let mut facts = SpanFacts::of_step(task.name(), started, service.clock.now());
        if TASK_SPAN_MS_MIN * 1000 <= facts.took_us {
            facts.is_failed = !matches!(run, Ok(Ok(())));
            service.tracer.record(facts);
        }
        let outcome = match run {
            Ok(outcome) => outcome.map_err(TaskError::Engine),
            Err(_) => Err(TaskError::Panicked),
        };
        service.background.note(task, outcome, Instant::now());
        log_damage(&service.engine);
    }
}

fn run_task(service: &Service, task: BackgroundTask) -> subcat_engine::Result<()> {
    match task {
        BackgroundTask::Heartbeat => beat(service, false),
        BackgroundTask::StoreUsage => store_usage(service),
        BackgroundTask::DropSessions => drop_expired_sessions(service),
        BackgroundTask::Engine(task @ MaintenanceTask::EvictFiles) => {
            let served = service.served_files.take();
            service.engine.files().note_served(served, service.now())?;
            service.engine.run_task(task, service.now()).map(drop)
        }
        // One step a second: its rate is bounded so.
        BackgroundTask::Engine(task @ MaintenanceTask::Scrub) => {
            service.engine.run_task(task, service.now()).map(drop)
        }
        BackgroundTask::Engine(task) => {
            while service.engine.run_task(task, service.now())? {}
            Ok(())
        }
    }
}

/// The work of every second. Errors: the engine's; the next run tries again.
fn beat(service: &Service, is_last: bool) -> subcat_engine::Result<()> {
    // Before the offset is measured again: if the clock was set back, the later time counts.
    service.note_clock();
    service.clock.resync();
    service.credentials().settle();
    service.note_space();
    service.note_segments();
    // A failure to store it must not keep counters from being synced.
    let noted = service.note_history(is_last);
    service.engine.usage().sync_counters()?;
    noted?;
    if is_last {
        // A batch that the other thread is storing just now is recognised by its number.
        store_usage(service)?;
        // The event also stores the observed time for the next process.
        drop_expired_sessions(service)?;
    }
    Ok(())
}

fn drop_expired_sessions(service: &Service) -> subcat_engine::Result<()> {
    let effective_now = service.effective_now(service.now());
    let confirmed = service.confirmed_second();
    let set_clock =
        confirmed.map(|now| Change::SetClock(now).into_event(Actor::Clock.as_str(), now));
    let mut events: Vec<StateEvent> = set_clock.into_iter().collect();
    events.push(StateEvent::DropExpiredSessions(effective_now));
    let outcomes = service.engine.apply(events)?;
    if outcomes.contains(&Outcome::KeysCorrected) {
        service.credentials().rebuild();
    }
    Ok(())
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

/// Stores the usage of keys, batch by batch. After a failed commit a batch is submitted again in
/// the next run; if it was stored after all, the engine recognises its number and skips it.
fn store_usage(service: &Service) -> subcat_engine::Result<()> {
    // The number of the last batch may still be on its way here.
    if service.cluster().is_some_and(|node| !node.has_caught_up()) {
        return Ok(());
    }
    let mut last_number = service.engine.usage().last_batch()?;
    while let Some(batch) = service.usage.batch(last_number) {
        last_number = batch.number;
        service.engine.apply(vec![StateEvent::AddUsage(batch)])?;
        service.usage.stored();
    }
    Ok(())
}
