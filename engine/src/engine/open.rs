//! Opening and closing an engine, and maintenance of its data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::accounts_handle::AccountsHandle;
use super::catalog_handle::CatalogHandle;
use super::files_handle::FilesHandle;
use super::usage_handle::UsageHandle;
use crate::damage::DamageEntry;
use crate::data_dir::SEALING_KEY_BYTES;
use crate::database::{Database, StoreParameters};
use crate::disk::Disk;
use crate::error::Result;
use crate::limits::FREE_BYTES_MIN;
use crate::maintenance::{
    self, BackupSummary, CompactedStore, DatedBackup, EngineStats, Finding, MaintenanceTask, Tasks,
};
use crate::model::{NodeId, Timestamp};
use crate::replication::PendingChange;
use crate::state::{Outcome, StateEvent};

/// Storage engine of the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// Two redb files in the data directory.
    Redb,
    /// Memory only: for tests and trials. Blobs and segments are in a temporary directory.
    Memory,
}

/// Parameters of [`Engine::open`].
pub struct Options {
    /// The file system: real, or simulated with faults.
    pub disk: Arc<dyn Disk>,
    /// The storage engine.
    pub store: StoreKind,
    /// Count of [`CounterLane`](crate::CounterLane)s to hand out: one per worker, and one for the
    /// web pages.
    pub counter_lanes: usize,
    /// Identity of a data directory that has none yet: a random number, which is made up anew for
    /// each call. Those of clusters and of counters tell by it whose is what.
    pub node: NodeId,
}

/// An open data directory: the catalog, its files, its accounts and keys, and their usage.
///
/// Four handles group its methods: [`Engine::catalog`], [`Engine::files`], [`Engine::accounts`]
/// and [`Engine::usage`]. Methods may be called from any thread. A method that changes something
/// returns when the change is durable and visible to readers; concurrent changes of one file share
/// a transaction.
pub struct Engine {
    database: Database,
    tasks: Tasks,
}

impl Engine {
    /// Opens the data directory and publishes the first snapshot. Creates the directory if it does
    /// not exist.
    ///
    /// Errors: the directory is locked, holds something else, has a newer format, or has damage
    /// that cannot be repaired.
    pub fn open(data: &Path, options: Options) -> Result<Self> {
        Self::open_with_caches(data, options, usize::MAX)
    }

    /// Opens the data directory as [`Engine::open`] does, with page caches of up to
    /// `cache_bytes_max` for records and for all else: changes of many rows then read more from the
    /// cache of the kernel.
    pub fn open_with_caches(data: &Path, options: Options, cache_bytes_max: usize) -> Result<Self> {
        let Options {
            disk,
            store,
            counter_lanes,
            node,
        } = options;
        let store = StoreParameters {
            is_kept: store == StoreKind::Redb,
            cache_bytes_max,
        };
        let database = Database::open(data, disk, store, counter_lanes, node)?;
        Ok(Self {
            database,
            tasks: Tasks::default(),
        })
    }

    /// The sealing key of this data directory, if it has one: no backup, snapshot or log has it.
    ///
    /// Errors: its file cannot be read, or is damaged.
    pub fn sealing_key(&self) -> Result<Option<[u8; SEALING_KEY_BYTES]>> {
        self.database.data_dir().sealing_key()
    }

    /// Stores a sealing key in this data directory, durably. Never replaces one.
    ///
    /// Errors: there is one already, or its file cannot be written.
    pub fn keep_sealing_key(&self, key: &[u8; SEALING_KEY_BYTES]) -> Result<()> {
        self.database.data_dir().keep_sealing_key(key)
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// Records: snapshots to search, imports, changes.
    #[inline]
    pub fn catalog(&self) -> CatalogHandle<'_> {
        let database = &self.database;
        CatalogHandle { database }
    }

    /// Cached files, by release.
    #[inline]
    pub fn files(&self) -> FilesHandle<'_> {
        let database = &self.database;
        FilesHandle { database }
    }

    /// Accounts, API keys, sessions, audit log.
    #[inline]
    pub fn accounts(&self) -> AccountsHandle<'_> {
        let database = &self.database;
        AccountsHandle { database }
    }

    /// Counts of downloads, usage of keys and days.
    #[inline]
    pub fn usage(&self) -> UsageHandle<'_> {
        let database = &self.database;
        UsageHandle { database }
    }

    /// Refuses changes of records and files while fewer than `bytes` are free on the disk, and in
    /// any case with fewer than [`FREE_BYTES_MIN`](crate::FREE_BYTES_MIN). Accounts, keys and
    /// counts have a smaller reserve, and can be changed for longer.
    pub fn keep_free(&self, bytes: u64) {
        let reserve_bytes = bytes.saturating_sub(FREE_BYTES_MIN);
        self.database.data_dir().reserve(reserve_bytes);
    }

    /// Applies events in order, as one durable transaction, and returns an outcome for each. A
    /// refused event changes nothing; the others stand.
    pub fn apply(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        self.database.change_state(events)
    }

    /// Begins to apply events as [`Engine::apply`] does. A task that awaits the outcomes holds no
    /// thread while a cluster's log is waited for. Outside of a cluster the events are applied when
    /// this returns: it waits for the disk.
    pub fn submit(&self, events: Vec<StateEvent>) -> PendingChange {
        self.database.submit_state(events)
    }

    /// Runs one step of every task in [`MaintenanceTask::ALL`]. Returns true if there is more to do
    /// at once.
    ///
    /// Errors: the first one; the other tasks were run all the same.
    pub fn maintain(&self, now: Timestamp) -> Result<bool> {
        self.tasks.run_all(&self.database, now)
    }

    /// Runs one step of a maintenance task. Returns true if there is more to do at once. Each task
    /// is run by one thread at a time; different ones may run in parallel.
    pub fn run_task(&self, task: MaintenanceTask, now: Timestamp) -> Result<bool> {
        self.tasks.run(&self.database, task, now)
    }

    /// Sizes and counts.
    pub fn stats(&self) -> Result<EngineStats> {
        maintenance::stats(&self.database, &self.tasks)
    }

    /// Checks every file against its checksums and against the other files; repairs derived files
    /// if `is_repairing`.
    pub fn verify(&self, is_repairing: bool) -> Result<Vec<Finding>> {
        maintenance::verify(&self.database, is_repairing)
    }

    /// Measures how much [`Engine::compact`] may free, for [`Engine::stats`]. The scrubber does so
    /// once in a round. Cost: a read of the files.
    pub fn measure_stores(&self) -> Result<()> {
        self.tasks.measure(&self.database)
    }

    /// Returns the free space of the store files to the file system. Readers and writers of rows
    /// wait until it is done; searches and downloads do not.
    pub fn compact(&self) -> Result<Vec<CompactedStore>> {
        let compacted = maintenance::compact(&self.database)?;
        self.measure_stores()?;
        Ok(compacted)
    }

    /// Damage met and contained since the last call, for a log.
    pub fn take_damage(&self) -> Vec<DamageEntry> {
        self.database.damage.take_for_log()
    }

    /// Writes a backup: a data directory of its own at `destination`, which must not exist, with
    /// everything that was acknowledged when it began. Readers and writers continue. If the process
    /// is killed, `destination` does not exist.
    pub fn backup(&self, destination: &Path) -> Result<BackupSummary> {
        maintenance::backup(&self.database, destination)
    }

    /// Writes a backup named after the time into a folder of backups. Blobs that the newest one
    /// there has are checked and linked, not copied.
    pub fn back_up_dated(&self, folder: &Path, now: Timestamp) -> Result<DatedBackup> {
        maintenance::back_up_dated(&self.database, folder, now)
    }

    /// Removes the oldest dated backups of a folder, all but `kept_count`; returns the removed
    /// ones.
    pub fn remove_older_backups(&self, folder: &Path, kept_count: usize) -> Result<Vec<PathBuf>> {
        let disk = self.database.data_dir().disk();
        maintenance::remove_older(disk.as_ref(), folder, kept_count)
    }

    /// Aggregates counters, syncs, closes the stores. Called once, at the end.
    pub fn close(&self) -> Result<()> {
        self.database.close()
    }
}
