//! Open stores, index and counters of one data directory.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};

use crate::blob::{BlobStore, SecondHome};
use crate::catalog::{
    CATALOG_TABLES, Catalog, CatalogEvent, CatalogOutcome, ExternalSorter, SegmentFiles,
};
use crate::counters::{BusiestRecords, Counters, DownloadTable};
use crate::damage::{DamageLog, Treatment};
use crate::data_dir::{DataDir, damaged_name};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::{
    AGGREGATE_BYTES_MAX, AGGREGATE_SECONDS_MAX, CATALOG_CACHE_BYTES, DELTA_SECONDS_MAX,
    FRAME_DOWNLOADS_MAX, FREE_BYTES_MIN, STATE_CACHE_BYTES, STATE_FREE_BYTES_MIN,
};
use crate::log_rows::{LogPosition, read_intended, read_position};
use crate::model::{ContentHash, NodeId, ReleaseId, Timestamp};
use crate::replication::{
    Attachment, CATALOG_SUM, ChangeLog, Followed, Importer, LocalLog, PendingChange, Replica,
    STATE_SUM, SnapshotSummary,
};
use crate::state::{DownloadAggregate, Outcome, STATE_TABLES, State, StateEvent, identify};
use crate::store::{
    MemoryEngine, RedbEngine, RedbPlace, RowBatch, SpaceGuard, Span, Store, StoreEngine, Table,
};

/// Expectation of rows that the nodes of a cluster share.
pub(crate) const SUM_OF_ROWS: &str = "rows with the sum that was kept of them";
/// Sentinel for a time: nothing is pending.
const NEVER: i64 = i64::MAX;

/// Open stores, index, files and counters of one data directory.
pub(crate) struct Database {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) state: Arc<State>,
    pub(crate) blobs: BlobStore,
    /// The second home of blobs.
    pub(crate) second_home: SecondHome,
    /// Held, shared, while a file is stored: its blob is there before the row that refers to it.
    pub(crate) storing: RwLock<()>,
    /// Maximum total size of cached files, in bytes; 0 keeps all.
    pub(crate) files_bytes_max: AtomicU64,
    pub(crate) counters: Arc<Counters>,
    pub(crate) downloads: Arc<DownloadTable>,
    /// Records that were downloaded most since the start.
    pub(crate) busiest: BusiestRecords,
    /// Damage that was met and contained.
    pub(crate) damage: Arc<DamageLog>,
    /// One aggregation of the counters at a time.
    aggregate: Mutex<()>,
    /// The second of the last aggregation for a reader of usage.
    reader_second: AtomicI64,
    imports_count: AtomicU64,
    /// Time when the present delta was first seen, in seconds.
    delta_since: AtomicI64,
    /// Time at which counts that are not aggregated were first seen, in seconds.
    counts_since: AtomicI64,
    /// The node that this data directory is, in a cluster or alone.
    pub(crate) node: NodeId,
    /// Positions of the two files in the log of a cluster; none outside of one.
    positions: Option<[LogPosition; 2]>,
    /// The log of a data directory that is in no cluster.
    alone: Arc<LocalLog>,
    replica: OnceLock<Arc<Replica>>,
    /// True once the directory has entered or left a cluster: it must be opened again.
    pub(crate) has_moved: AtomicBool,
    space: SpaceGuard,
    /// Dropped last: it holds the lock of the directory.
    data_dir: Arc<DataDir>,
}

impl Database {
    /// Opens a data directory, or, unless it is kept, a temporary one that is removed at the end.
    /// One that has no identity yet becomes the node `offered`.
    pub(crate) fn open(
        data: &Path,
        disk: Arc<dyn Disk>,
        store: StoreParameters,
        lanes_max: usize,
        offered: NodeId,
    ) -> Result<Self> {
        let is_kept = store.is_kept;
        let data_dir = Arc::new(if is_kept {
            DataDir::open(disk, data)?
        } else {
            DataDir::open_temporary(disk)?
        });
        let disk = data_dir.disk();
        let damage = Arc::<DamageLog>::default();
        let (catalog_store, is_catalog_doubtful) =
            open_checked(&data_dir, is_kept, &store.limit(CATALOG_FILE), &damage)?;
        let (state_store, _) = open_checked(&data_dir, is_kept, &store.limit(STATE_FILE), &damage)?;
        data_dir.finish()?;
        let positions = read_positions(&catalog_store, &state_store)?;
        let state = State::new(state_store, Arc::clone(&damage));
        let files = SegmentFiles::new(Arc::clone(&data_dir));
        let catalog = Catalog::new(catalog_store, files, Arc::clone(&damage));
        let downloads = Arc::new(load(&catalog, &state, is_catalog_doubtful)?);
        let offered = positions.map_or(offered, |[_, of_state]| of_state.node);
        let node = identify(state.store(), offered)?;
        let counters = Counters::open(
            Arc::clone(disk),
            data_dir.path("counters"),
            Arc::clone(&downloads),
            lanes_max,
            &state.offsets(node)?,
        )?;
        let blobs = BlobStore::new(
            Arc::clone(disk),
            data_dir.path("blobs"),
            data_dir.path("tmp"),
        );
        blobs.mark_present(0 < state.counts().cached_files);
        let uploads = data_dir.path("uploads");
        let second_home = SecondHome::open(Arc::clone(disk), uploads, positions.is_some())?;
        let (catalog, state) = (Arc::new(catalog), Arc::new(state));
        let alone = LocalLog::new(node, Arc::clone(&catalog), Arc::clone(&state));
        let database = Self {
            catalog,
            state,
            blobs,
            second_home,
            storing: RwLock::new(()),
            files_bytes_max: AtomicU64::new(0),
            counters: Arc::new(counters),
            downloads,
            busiest: BusiestRecords::default(),
            damage,
            aggregate: Mutex::new(()),
            reader_second: AtomicI64::new(NEVER),
            imports_count: AtomicU64::new(0),
            delta_since: AtomicI64::new(NEVER),
            counts_since: AtomicI64::new(NEVER),
            node,
            positions,
            alone: Arc::new(alone),
            replica: OnceLock::new(),
            has_moved: AtomicBool::new(false),
            space: data_dir.space_guard(FREE_BYTES_MIN),
            data_dir,
        };
        database.aggregate_counters(true)?;
        Ok(database)
    }

    /// Attaches to the log that the data directory follows. Called once, before anything is
    /// changed.
    pub(crate) fn follow(&self, attachment: Attachment) -> Result<Arc<Replica>> {
        let Some(positions) = self.positions else {
            let problem = "this data directory is in no cluster: to begin one with it, run \
                           `subcat cluster init`; to join one, put it aside and run `subcat \
                           cluster join`";
            return Err(Error::Cluster {
                problem: problem.into(),
            });
        };
        let followed = Followed {
            catalog: Arc::clone(&self.catalog),
            state: Arc::clone(&self.state),
            downloads: Arc::clone(&self.downloads),
            damage: Arc::clone(&self.damage),
        };
        let replica = Arc::new(Replica::attach(attachment, followed, positions)?);
        let _ = self.replica.set(Arc::clone(&replica));
        Ok(replica)
    }

    /// The log that changes go into: that of the cluster, or, outside of one, its own.
    ///
    /// Errors: the data directory belongs to a cluster, and is not attached to its log.
    fn log(&self) -> Result<Arc<dyn ChangeLog>> {
        match (self.positions, self.replica.get()) {
            (_, Some(replica)) => Ok(Arc::clone(replica) as Arc<dyn ChangeLog>),
            (None, None) => Ok(Arc::clone(&self.alone) as Arc<dyn ChangeLog>),
            (Some(_), None) => Err(Error::Cluster {
                problem: "this data directory belongs to a cluster, whose log is not attached: \
                          start the server with cluster.log, or run `subcat cluster leave`"
                    .into(),
            }),
        }
    }

    /// This node's end of the log of a cluster; none outside of one, and before it is attached.
    pub(crate) fn replica(&self) -> Option<&Arc<Replica>> {
        self.replica.get()
    }

    /// Both files of the truth, with their names.
    pub(crate) fn stores(&self) -> [(&Store, &'static str); 2] {
        [
            (self.catalog.store(), CATALOG_FILE.name),
            (self.state.store(), STATE_FILE.name),
        ]
    }

    /// Position in the log of a cluster; none outside of one.
    pub(crate) fn position(&self) -> Option<LogPosition> {
        self.positions.map(|[_, of_state]| of_state)
    }

    /// Writes a snapshot of the rows that nodes share.
    pub(crate) fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        match self.log() {
            // Nothing is applied while the log of the cluster is not attached.
            Err(_) => self.alone.write_snapshot(out),
            Ok(log) => log.write_snapshot(out),
        }
    }

    /// Changes the state durably, for all nodes.
    pub(crate) fn change_state(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        // Figures of days are a node's own.
        let is_own = |event: &StateEvent| matches!(event, StateEvent::KeepFigures(..));
        if events.iter().all(is_own) {
            return self.alone.change_state(events);
        }
        self.log()?.change_state(events)
    }

    /// Changes the state durably, for all nodes, by any number of events that stand by themselves.
    /// After an error, some of them may be made.
    pub(crate) fn change_each(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        self.log()?.change_each(events)
    }

    /// Begins a change of the state, durably, for all nodes.
    pub(crate) fn submit_state(&self, events: Vec<StateEvent>) -> PendingChange {
        match self.log() {
            Ok(log) => log.submit_state(events),
            Err(error) => PendingChange::made(Err(error)),
        }
    }

    /// The same of events that stand by themselves, in as many frames as they need.
    pub(crate) fn submit_each(&self, events: Vec<StateEvent>) -> Result<Vec<PendingChange>> {
        Ok(self.log()?.submit_each(events))
    }

    /// Deletes the entry of every file with this content, which is lost: it will be fetched again.
    pub(crate) fn forget_content(&self, content: ContentHash) -> Result<()> {
        self.forget_with(content, |events| self.change_each(events).map(drop))
    }

    /// Begins to delete the entry of every file with this content.
    pub(crate) fn submit_loss(&self, content: ContentHash) -> Result<Vec<PendingChange>> {
        self.forget_with(content, |events| self.submit_each(events))
    }

    /// Changes the state by the events that forget the files with a content. Cost: reads the rows
    /// of all files, before the lock of writers is taken.
    fn forget_with<T: Default>(
        &self,
        content: ContentHash,
        change: impl FnOnce(Vec<StateEvent>) -> Result<T>,
    ) -> Result<T> {
        let mut releases = self.state.releases_with(content)?;
        // No store may be between the second look and the change.
        let _no_store = self.storing.write();
        let has_it = |release: &ReleaseId| {
            let file = self.state.cached_file(release);
            file.is_some_and(|file| file.content == content)
        };
        releases.retain(has_it);
        if releases.is_empty() {
            return Ok(T::default());
        }
        change(releases.into_iter().map(StateEvent::ForgetFile).collect())
    }

    /// Changes records durably, for all nodes.
    pub(crate) fn change_catalog(&self, events: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>> {
        self.log()?.change_catalog(events)
    }

    /// Begins a change of records, durably, for all nodes.
    pub(crate) fn submit_catalog(
        &self,
        events: Vec<CatalogEvent>,
    ) -> PendingChange<CatalogOutcome> {
        match self.log() {
            Ok(log) => log.submit_catalog(events),
            Err(error) => PendingChange::made(Err(error)),
        }
    }

    /// Begins an import.
    pub(crate) fn importer(&self) -> Importer {
        let number = self.imports_count.fetch_add(1, Ordering::Relaxed);
        let sorter = ExternalSorter::new(
            Arc::clone(&self.data_dir),
            format!("import-{number}"),
            Arc::clone(&self.catalog.import_memory),
        );
        Importer::new(Arc::clone(&self.catalog), self.log(), sorter)
    }

    /// Requests a reindex job when the delta is old.
    pub(crate) fn request_reindex_when_due(&self, now: Timestamp) {
        if !self.catalog.has_delta() {
            self.delta_since.store(NEVER, Ordering::Relaxed);
        } else if DELTA_SECONDS_MAX <= waited_seconds(&self.delta_since, now) {
            self.catalog.request_reindex();
        }
    }

    /// Aggregates counted downloads when they are old or many. Not every time: an aggregation is a
    /// durable transaction, which takes time from the threads that answer requests.
    pub(crate) fn aggregate_when_due(&self, now: Timestamp) -> Result<()> {
        let Some(waiting_bytes) = self.counters.waiting_bytes() else {
            self.counts_since.store(NEVER, Ordering::Relaxed);
            return Ok(());
        };
        let is_old = AGGREGATE_SECONDS_MAX <= waited_seconds(&self.counts_since, now);
        if is_old || AGGREGATE_BYTES_MAX <= waiting_bytes {
            self.aggregate_counters(false)?;
        }
        Ok(())
    }

    /// Aggregates downloads before usage is read: once in a second, and without waiting for another
    /// aggregation. Downloads that cannot be aggregated now are shown later; maintenance tries
    /// again. In a cluster it alone does so: who reads must not wait for the log.
    pub(crate) fn aggregate_for_reader(&self, now: Timestamp) {
        if self.positions.is_some() {
            return;
        }
        let second = now.seconds();
        if self.reader_second.swap(second, Ordering::Relaxed) == second {
            return;
        }
        if let Some(_only_one) = self.aggregate.try_lock() {
            let _ = self.aggregate_locked(false);
        }
    }

    /// Aggregates the downloads counted since the last time into the state.
    pub(crate) fn aggregate_counters(&self, is_first: bool) -> Result<()> {
        let _only_one = self.aggregate.lock();
        self.aggregate_locked(is_first)
    }

    /// The same, with the lock `aggregate` held.
    fn aggregate_locked(&self, is_first: bool) -> Result<()> {
        // At the start of a node the log is not attached: the counts are in memory, and wait.
        if is_first && self.positions.is_some() {
            self.counters.read_aggregate(true, u64::MAX)?;
            return Ok(());
        }
        let log = self.log();
        let count_max = log.map_or(FRAME_DOWNLOADS_MAX, |log| log.downloads_max());
        // Entries counted from now on wait: on a busy service there would be no end.
        let mut bytes_left = self.counters.waiting_bytes().unwrap_or(0);
        loop {
            let Some(aggregate) = self.counters.read_aggregate(is_first, count_max)? else {
                return Ok(());
            };
            let parts = aggregate.parts.iter();
            let bytes: u64 = parts.map(|part| part.to - part.from).sum();
            self.add_aggregate(&aggregate, is_first)?;
            bytes_left = bytes_left.saturating_sub(bytes);
            if bytes_left == 0 || count_max == u64::MAX {
                return Ok(());
            }
        }
    }

    fn add_aggregate(&self, aggregate: &DownloadAggregate, is_first: bool) -> Result<()> {
        let event = StateEvent::AggregateDownloads(aggregate.clone());
        let outcomes = match self.change_state(vec![event]) {
            // The entries are in memory and in their files: maintenance tries again, and reports
            // it.
            Err(_) if is_first => return Ok(()),
            applied => applied?,
        };
        if outcomes == [Outcome::Stale] {
            self.counters.reconcile(&self.state.offsets(self.node)?);
            return Ok(());
        }
        self.counts_since.store(NEVER, Ordering::Relaxed);
        self.busiest.add(&aggregate.records);
        self.counters.mark_aggregated(aggregate)
    }

    /// Errors: `blobs/` is not the folder in which blobs were stored.
    pub(crate) fn ensure_blobs_present(&self) -> Result<()> {
        let has_files = 0 < self.state.counts().cached_files;
        self.blobs.ensure_present(has_files)
    }

    /// Errors: there is too little space for another file.
    pub(crate) fn check_space(&self) -> Result<()> {
        self.space.check()
    }

    /// Aggregates and syncs pending counts, and closes the stores.
    pub(crate) fn close(&self) -> Result<()> {
        self.counters.sync()?;
        let aggregated = match self.replica.get() {
            _ if self.has_moved.load(Ordering::Acquire) => Ok(()),
            // The log may be away: counts wait in their files.
            Some(replica) => replica.close(),
            None if self.positions.is_some() => Ok(()),
            None => self.aggregate_counters(false),
        };
        self.state.store().close()?;
        self.catalog.store().close()?;
        match aggregated {
            // The counts are durable in their files: the next start aggregates them.
            Err(Error::Space { .. }) => Ok(()),
            aggregated => aggregated,
        }
    }

    pub(crate) fn data_dir(&self) -> &DataDir {
        &self.data_dir
    }
}

/// Reads both files into memory; returns the counts of downloads. Two threads: of a service with a
/// past, the counts take as long as all the rest.
fn load(catalog: &Catalog, state: &State, is_catalog_doubtful: bool) -> Result<DownloadTable> {
    let (opened, downloads) = std::thread::scope(|scope| {
        let downloads = scope.spawn(|| {
            DownloadTable::load(state.downloads_count()?, |add| state.each_download(add))
        });
        let opened = state.open().and_then(|()| {
            catalog.open()?;
            if is_catalog_doubtful {
                catalog.contain_all_contradicted()?;
            }
            Ok(())
        });
        (opened, downloads.join())
    });
    opened?;
    downloads.expect("reading counts does not panic")
}

/// Positions of the two files in the log of a cluster.
///
/// Errors: only one has a position, or they are not of one node.
fn read_positions(catalog: &Store, state: &Store) -> Result<Option<[LogPosition; 2]>> {
    let read = |store: &Store| match store.read(read_position) {
        Err(Error::Corrupt { file, .. }) => Err(Error::Cluster {
            problem: format!(
                "{file}, the position in the log of the cluster, is damaged: run `subcat cluster \
                 join` with an empty data directory"
            ),
        }),
        position => position,
    };
    let positions = (read(catalog)?, read(state)?);
    let of_both = match positions {
        // The position enters the state last, and leaves it first: without it, the directory is in
        // no cluster.
        (_, None) => return Ok(None),
        (Some(of_catalog), Some(of_state)) => Some([
            match state.read(read_intended)? {
                // Killed between the two files. The log before is gone; if it came back, its frames
                // that were applied would be skipped one by one.
                Some(intended) if intended == of_catalog.epoch => LogPosition {
                    epoch: of_state.epoch,
                    ..of_catalog
                },
                _ => of_catalog,
            },
            of_state,
        ]),
        (None, Some(_)) => None,
    };
    let of_one_node = of_both.filter(|[a, b]| (a.node, a.epoch) == (b.node, b.epoch));
    let Some(positions) = of_one_node else {
        let problem = "catalog.redb and state.redb are not of the same node and epoch: run \
                       `subcat cluster join` with an empty data directory";
        return Err(Error::Cluster {
            problem: problem.into(),
        });
    };
    catalog.keep_sum(CATALOG_SUM);
    state.keep_sum(STATE_SUM);
    Ok(Some(positions))
}

/// Notes it if a page of a file differs from the one written last, and returns true then. The rows
/// of the file are used all the same: a damaged row costs what it holds, and this one may hold
/// nothing that is needed.
pub(crate) fn check_pages(store: &Store, damage: &DamageLog) -> bool {
    let checked = store.check_when_small();
    if let Err(error) = &checked {
        damage.note(error, Treatment::Unverified);
    }
    checked.is_err()
}

/// Seconds since `since`, which becomes `now` if it is later.
fn waited_seconds(since: &AtomicI64, now: Timestamp) -> i64 {
    let now = now.seconds();
    now - since.fetch_min(now, Ordering::Relaxed).min(now)
}

/// Parameters of the two store files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreParameters {
    /// False for memory.
    pub(crate) is_kept: bool,
    /// Maximum size of the page cache of each, in bytes.
    pub(crate) cache_bytes_max: usize,
}

impl StoreParameters {
    /// The files of a data directory, with the usual caches.
    pub(crate) const KEPT: Self = Self {
        is_kept: true,
        cache_bytes_max: usize::MAX,
    };

    fn limit(self, file: StoreFile) -> StoreFile {
        StoreFile {
            cache_bytes: file.cache_bytes.min(self.cache_bytes_max),
            ..file
        }
    }
}

/// One of the two store files.
#[derive(Clone, Copy)]
pub(crate) struct StoreFile {
    pub(crate) name: &'static str,
    pub(crate) tables: &'static [Table],
    cache_bytes: usize,
    free_bytes_min: u64,
    may_use_reserve: bool,
}

impl StoreFile {
    fn guard(&self, data_dir: &DataDir) -> SpaceGuard {
        if self.may_use_reserve {
            data_dir.last_space_guard(self.free_bytes_min)
        } else {
            data_dir.space_guard(self.free_bytes_min)
        }
    }
}

pub(crate) const CATALOG_FILE: StoreFile = StoreFile {
    name: "catalog.redb",
    tables: CATALOG_TABLES,
    cache_bytes: CATALOG_CACHE_BYTES,
    free_bytes_min: FREE_BYTES_MIN,
    may_use_reserve: false,
};

pub(crate) const STATE_FILE: StoreFile = StoreFile {
    name: "state.redb",
    tables: STATE_TABLES,
    cache_bytes: STATE_CACHE_BYTES,
    free_bytes_min: STATE_FREE_BYTES_MIN,
    may_use_reserve: true,
};

pub(crate) fn open_store(data_dir: &DataDir, is_kept: bool, file: &StoreFile) -> Result<Store> {
    if is_kept {
        let path = data_dir.path(file.name);
        return open_store_at(data_dir, file, path, data_dir.is_new());
    }
    let guard = file.guard(data_dir);
    Ok(Store::new(Box::<MemoryEngine>::default(), file.name, guard))
}

/// Opens a store file, and checks its pages. Returns true if one differs from the one written last.
///
/// Nothing is written to such a file: redb's record of the pages in use may be an older page, which
/// lists pages as free that are in use by now. All rows are copied into a new file, which takes its
/// place. If not all can be read, the file is used unchanged.
fn open_checked(
    data_dir: &DataDir,
    is_kept: bool,
    file: &StoreFile,
    damage: &DamageLog,
) -> Result<(Store, bool)> {
    let store = open_store(data_dir, is_kept, file)?;
    let Err(error) = store.check_when_small() else {
        return Ok((store, false));
    };
    if !is_page_damage(&error) {
        damage.note(&error, Treatment::Unverified);
        return Ok((store, true));
    }
    match copy_rows(data_dir, file, &store) {
        Ok(copied) => {
            drop(store);
            replace_file(data_dir, file, &copied)?;
            damage.note(&error, Treatment::Copied);
            Ok((open_store(data_dir, is_kept, file)?, true))
        }
        Err(_) => {
            damage.note(&error, Treatment::Unverified);
            Ok((store, true))
        }
    }
}

/// Returns true if a check failed because of the file's content, and not while reading it.
fn is_page_damage(error: &Error) -> bool {
    match error {
        Error::Corrupt { .. } => true,
        // A panic of redb.
        Error::Store { source, .. } => source.downcast_ref::<Error>().is_some_and(is_page_damage),
        _ => false,
    }
}

/// Copies all rows into a new file below `tmp/`; returns its path. A damaged value stays damaged.
fn copy_rows(data_dir: &DataDir, file: &StoreFile, from: &Store) -> Result<PathBuf> {
    let path = data_dir.temporary(&format!("copied-{}", file.name));
    data_dir.disk().remove(&path)?;
    let to = open_store_at(data_dir, file, path.clone(), true)?;
    from.read(|rows| {
        for &table in file.tables {
            let mut batch = RowBatch::new(&to, table);
            rows.inspect(table, Span::ALL, &mut |row_key, value| {
                batch.add(row_key, value.ok())?;
                Ok(ControlFlow::Continue(()))
            })?;
            batch.put()?;
        }
        Ok(())
    })?;
    to.close()?;
    Ok(path)
}

/// Puts a new file in the place of a damaged one, which is kept under the returned name. A file
/// with the original name exists at every moment.
pub(crate) fn replace_file(data_dir: &DataDir, file: &StoreFile, new: &Path) -> Result<String> {
    let disk = data_dir.disk();
    let path = data_dir.path(file.name);
    let mut number = 1;
    let kept = loop {
        let kept = damaged_name(file.name, number);
        if disk.size_bytes(&data_dir.path(&kept))?.is_none() {
            break kept;
        }
        number += 1;
    };
    let kept_path = data_dir.path(&kept);
    if disk.link(&path, &kept_path).is_err() {
        // A file system without second names.
        disk.rename(&path, &kept_path)?;
    }
    disk.rename(new, &path)?;
    disk.sync_dir(data_dir.root())?;
    Ok(kept)
}

/// Opens a store file of this name; creates it if `may_create`.
pub(crate) fn open_store_at(
    data_dir: &DataDir,
    file: &StoreFile,
    path: PathBuf,
    may_create: bool,
) -> Result<Store> {
    let engine: Box<dyn StoreEngine> = Box::new(RedbEngine::open(RedbPlace {
        disk: Arc::clone(data_dir.disk()),
        path,
        temporary: data_dir.temporary(file.name),
        file: file.name,
        tables: file.tables,
        cache_bytes: file.cache_bytes,
        may_create,
    })?);
    let guard = file.guard(data_dir);
    Ok(Store::new(engine, file.name, guard))
}
