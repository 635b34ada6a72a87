//! The tasks of maintenance. They are independent: a failing one keeps no other from running.

use super::compact::ReclaimableBytes;
use super::eviction::Eviction;
use super::orphans::OrphanSweep;
use super::scrub::Scrub;
use super::uploads::UploadQueue;
use crate::database::Database;
use crate::error::Result;
use crate::model::Timestamp;

/// A task of maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceTask {
    /// Aggregates the download counters if they have waited for
    /// [`AGGREGATE_SECONDS_MAX`](crate::AGGREGATE_SECONDS_MAX) or are many.
    AggregateDownloads,
    /// Takes segments out of searches that are damaged.
    TakeOutDamaged,
    /// The same, and builds successors of them. Takes long.
    RepairIndex,
    /// Flushes the delta to a segment file if that was requested, or if it is old.
    Reindex,
    /// Merges a tier of segments. Takes long.
    Merge,
    /// Removes cached files that were served least recently, if all of them take more than
    /// [`FilesHandle::limit`](crate::FilesHandle::limit) allows.
    EvictFiles,
    /// Uploads a few files to their second home
    /// ([`FilesHandle::attach`](crate::FilesHandle::attach)).
    UploadFiles,
    /// Removes orphans, an hour after they were first seen, and at the start.
    SweepFiles,
    /// Reads a little of everything again, to find damage. Not part of [`crate::Engine::maintain`]:
    /// the caller decides when to run a step.
    Scrub,
}

impl MaintenanceTask {
    /// The tasks of [`crate::Engine::maintain`], in its order.
    pub const ALL: [Self; 8] = [
        Self::AggregateDownloads,
        Self::TakeOutDamaged,
        Self::RepairIndex,
        Self::Reindex,
        Self::Merge,
        Self::EvictFiles,
        Self::UploadFiles,
        Self::SweepFiles,
    ];

    /// Name of the task in logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AggregateDownloads => "aggregate",
            Self::TakeOutDamaged => "containment",
            Self::RepairIndex => "repair",
            Self::Reindex => "reindex",
            Self::Merge => "merge",
            Self::EvictFiles => "evict",
            Self::UploadFiles => "upload",
            Self::SweepFiles => "sweep",
            Self::Scrub => "scrub",
        }
    }
}

/// State of tasks that take more than one call.
#[derive(Default)]
pub(crate) struct Tasks {
    eviction: Eviction,
    uploads: UploadQueue,
    sweep: OrphanSweep,
    scrub: Scrub,
}

impl Tasks {
    /// Runs one step of a task. Returns true if there is more to do at once.
    pub(crate) fn run(
        &self,
        database: &Database,
        task: MaintenanceTask,
        now: Timestamp,
    ) -> Result<bool> {
        match task {
            MaintenanceTask::AggregateDownloads => database.aggregate_when_due(now).map(|()| false),
            MaintenanceTask::TakeOutDamaged => database.catalog.take_out_damaged().map(|_| false),
            MaintenanceTask::RepairIndex => database.catalog.repair_index(),
            MaintenanceTask::Reindex => {
                database.request_reindex_when_due(now);
                database.catalog.run_reindex()
            }
            MaintenanceTask::Merge => database.catalog.run_merge(),
            MaintenanceTask::EvictFiles => self.eviction.run(database, now).map(|()| false),
            MaintenanceTask::UploadFiles => self.uploads.run(database),
            MaintenanceTask::SweepFiles => self.sweep.run(database, now).map(|()| false),
            MaintenanceTask::Scrub => self.scrub.step(database, now),
        }
    }

    /// Runs one step of every task but the scrubber. Returns true if there is more to do at once.
    ///
    /// Errors: the first one; the other tasks were run all the same.
    pub(crate) fn run_all(&self, database: &Database, now: Timestamp) -> Result<bool> {
        let mut has_more = false;
        let mut failed = Ok(());
        for task in MaintenanceTask::ALL {
            match self.run(database, task, now) {
                Ok(more) => has_more |= more,
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed.map(|()| has_more)
    }

    /// Counts of blobs evicted since the start, and of their bytes.
    pub(crate) fn eviction_figures(&self) -> (u64, u64) {
        self.eviction.figures()
    }

    /// Counts of the scrubber's rounds, and of the damage that it found.
    pub(crate) fn scrub_figures(&self) -> (u64, u64) {
        self.scrub.figures()
    }

    /// Number of bytes that compaction may free, if they were measured.
    pub(crate) fn reclaimable(&self) -> Option<ReclaimableBytes> {
        self.scrub.reclaimable()
    }

    /// Measures how much compaction may free.
    pub(crate) fn measure(&self, database: &Database) -> Result<()> {
        self.scrub.measure(database)
    }
}
