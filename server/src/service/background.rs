//! The health of background tasks: which of them fail, since when they wait, why.
//!
//! Each task has a back-off of its own, so that a failing one starves no other. None of them makes
//! the service unready: reads are still answered.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use subcat_engine::{MaintenanceTask, error_chain};

use super::periodic::TaskError;
use crate::limits::{MERGE_PAUSE_MAX, TASK_PAUSE_MAX};

/// Time from one search for expired sessions to the next.
const SESSIONS_PERIOD: Duration = Duration::from_secs(600);

/// A background task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackgroundTask {
    /// Syncs counters, reads the clock.
    Heartbeat,
    /// Stores usage.
    StoreUsage,
    /// Drops expired sessions.
    DropSessions,
    /// A task of the engine.
    Engine(MaintenanceTask),
}

impl BackgroundTask {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Heartbeat,
        Self::StoreUsage,
        Self::DropSessions,
        Self::Engine(MaintenanceTask::AggregateDownloads),
        Self::Engine(MaintenanceTask::TakeOutDamaged),
        Self::Engine(MaintenanceTask::RepairIndex),
        Self::Engine(MaintenanceTask::Reindex),
        Self::Engine(MaintenanceTask::Merge),
        Self::Engine(MaintenanceTask::EvictFiles),
        Self::Engine(MaintenanceTask::UploadFiles),
        Self::Engine(MaintenanceTask::SweepFiles),
        Self::Engine(MaintenanceTask::Scrub),
    ];

    /// Name of the task in logs, metrics and on the admin page.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heartbeat => "heartbeat",
            Self::StoreUsage => "usage",
            Self::DropSessions => "sessions",
            Self::Engine(task) => task.name(),
        }
    }

    /// Pause after a success.
    const fn period(self) -> Duration {
        match self {
            Self::DropSessions => SESSIONS_PERIOD,
            Self::Heartbeat | Self::StoreUsage | Self::Engine(_) => Duration::ZERO,
        }
    }

    /// Pause after this number of failures in a row.
    fn pause(self, failures_in_row: u32) -> Duration {
        let pause_max = match self {
            Self::Engine(MaintenanceTask::Merge) => MERGE_PAUSE_MAX,
            _ => TASK_PAUSE_MAX,
        };
        let doublings = failures_in_row.saturating_sub(1).min(16);
        Duration::from_secs(1 << doublings).min(pause_max)
    }
}

/// A task that failed in its last run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailingTask {
    /// The task.
    pub task: BackgroundTask,
    /// Last error of the task, in one line.
    pub error: String,
}

/// The state of every background task.
pub struct BackgroundHealth {
    states: [Mutex<TaskState>; BackgroundTask::ALL.len()],
}

#[derive(Default)]
struct TaskState {
    failures_count: u64,
    failures_in_row: u32,
    /// Not run before; `None` before its first run.
    next_at: Option<Instant>,
    /// Of the last run, if it failed.
    error: Option<String>,
}

impl Default for BackgroundHealth {
    fn default() -> Self {
        Self {
            states: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl BackgroundHealth {
    /// Returns true if a task is to be run now.
    pub(super) fn is_due(&self, task: BackgroundTask, now: Instant) -> bool {
        let next_at = self.state(task).lock().next_at;
        next_at.is_none_or(|next_at| next_at <= now)
    }

    /// Notes the result of a run. Logs when a task begins to fail and when it works again.
    pub(super) fn note(&self, task: BackgroundTask, outcome: Result<(), TaskError>, now: Instant) {
        let mut state = self.state(task).lock();
        let name = task.name();
        match outcome {
            Ok(()) => {
                if state.error.take().is_some() {
                    tracing::info!(task = name, "a background task works again");
                }
                state.failures_in_row = 0;
                state.next_at = Some(now + task.period());
            }
            Err(error) => {
                let error = error_chain(&error);
                if state.error.is_some() {
                    tracing::debug!(task = name, error, "a background task still fails");
                } else {
                    tracing::error!(
                        task = name,
                        error,
                        "a background task failed; it is retried"
                    );
                }
                state.error = Some(error);
                state.failures_count += 1;
                state.failures_in_row += 1;
                state.next_at = Some(now + task.pause(state.failures_in_row));
            }
        }
    }

    /// The tasks that failed in their last run.
    pub fn failing(&self) -> Vec<FailingTask> {
        let failing = |task: BackgroundTask| {
            let error = self.state(task).lock().error.clone()?;
            Some(FailingTask { task, error })
        };
        BackgroundTask::ALL
            .into_iter()
            .filter_map(failing)
            .collect()
    }

    /// Failed runs of a task.
    pub fn failures_count(&self, task: BackgroundTask) -> u64 {
        self.state(task).lock().failures_count
    }

    fn state(&self, task: BackgroundTask) -> &Mutex<TaskState> {
        let task_idx = BackgroundTask::ALL.iter().position(|known| *known == task);
        &self.states[task_idx.expect("every task is in the list")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MERGE: BackgroundTask = BackgroundTask::Engine(MaintenanceTask::Merge);
    const REPAIR: BackgroundTask = BackgroundTask::Engine(MaintenanceTask::RepairIndex);

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_task_that_fails_waits_longer_and_no_other_does() {
        let health = BackgroundHealth::default();
        let start = Instant::now();
        let mut at = start;
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(health.is_due(MERGE, at));
            health.note(MERGE, Err(TaskError::Panicked), at);
            assert!(!health.is_due(MERGE, at + seconds(pause) - Duration::from_millis(1)));
            at += seconds(pause);
            assert!(health.is_due(REPAIR, start));
        }
        assert_eq!(health.failures_count(MERGE), 8);
        let failing = health.failing();
        assert_eq!(failing.len(), 1);
        assert_eq!(failing[0].task, MERGE);
        assert!(failing[0].error.contains("panicked"), "{failing:?}");
        health.note(MERGE, Ok(()), at);
        assert_eq!(health.failing(), []);
        assert!(health.is_due(MERGE, at));
        health.note(MERGE, Err(TaskError::Panicked), at);
        assert!(health.is_due(MERGE, at + seconds(1)), "it begins anew");
    }

    #[test]
    fn every_other_task_is_tried_again_within_five_seconds() {
        for task in BackgroundTask::ALL {
            assert_eq!(task == MERGE, seconds(5) < task.pause(100), "{task:?}");
        }
    }
}
