//! The door of the engine.
//!
//! Every method that changes something returns when the change is durable and visible to the
//! matching readers. Methods may be called from any thread; concurrent changes of one file share
//! a transaction.

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use crate::blob::Blob;
use crate::catalog::{CatalogEvent, CatalogOutcome, Importer};
use crate::counters::CounterLane;
use crate::database::Database;
use crate::disk::Disk;
use crate::error::Result;
use crate::maintenance::{self, BackupSummary, EngineStats, Finding};
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email,
    FileKind, FileName, Record, RecordId, ReleaseId, Session, Timestamp, Usage, Variant,
};
use crate::search::Snapshot;
use crate::state::{Outcome, StateEvent};

/// Which storage engine keeps the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// Two redb files in the data directory.
    Redb,
    /// Nothing is kept: for tests and trials. Blobs and segments live in a temporary directory.
    Memory,
}

/// How to open an engine.
pub struct Options {
    /// The file system: real, or simulated with faults.
    pub disk: Arc<dyn Disk>,
    /// Which storage engine.
    pub store: StoreKind,
    /// How many [`CounterLane`]s there are to hand out: one per worker and one for the pages.
    pub counter_lanes: usize,
}

/// The catalog, its files, its accounts and keys.
pub struct Engine {
    database: Database,
}

impl Engine {
    /// Opens the data directory, creating it when it is not there, and publishes the first
    /// snapshot. Errors: locked, newer format, damage that cannot be repaired.
    pub fn open(data: &Path, options: Options, _now: Timestamp) -> Result<Self> {
        let Options {
            disk,
            store,
            counter_lanes,
        } = options;
        let database = Database::open(data, disk, store == StoreKind::Redb, counter_lanes)?;
        Ok(Self { database })
    }

    // ---- reading the catalog

    /// The current snapshot, to be let go soon. Cost: two atomics that no other core writes: a
    /// reference count would go from core to core with every request. Clone it to keep it.
    pub fn snapshot(&self) -> impl Deref<Target = Arc<Snapshot>> + use<> {
        self.database.catalog.snapshot()
    }

    /// Our own count of downloads of a record. Cost: one look-up in memory.
    pub fn downloads(&self, id: RecordId) -> u64 {
        self.database.downloads.get(id)
    }

    /// The record as stored, active or not. Reads the store: not for the serving path.
    pub fn stored_record(&self, id: RecordId) -> Result<Option<Record>> {
        self.database.catalog.stored_record(id)
    }

    /// Calls `each` with every stored record, ordered by id. `each` may take its time: nothing
    /// waits for it. Of what is committed meanwhile some may be seen.
    pub fn export(&self, each: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        self.database.catalog.each_record(each)
    }

    // ---- changing the catalog

    /// Begins an import.
    pub fn importer(&self) -> Result<Importer> {
        Ok(self.database.importer())
    }

    /// Sets `is_active`. False when there is no such record.
    pub fn set_active(&self, id: RecordId, is_active: bool) -> Result<bool> {
        let event = CatalogEvent::SetActive(id, is_active);
        let outcomes = self.database.catalog.commit(vec![event])?;
        Ok(outcomes != [CatalogOutcome::Unknown])
    }

    /// Deletes records in one transaction; returns those that were not there.
    pub fn delete_records(&self, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let frame = ids.iter().map(|id| CatalogEvent::DeleteRecord(*id));
        let outcomes = self.database.catalog.commit(frame.collect())?;
        let unknown = |(id, outcome): (&RecordId, CatalogOutcome)| {
            (outcome == CatalogOutcome::Unknown).then_some(*id)
        };
        Ok(ids.iter().zip(outcomes).filter_map(unknown).collect())
    }

    /// Asks for a reindex job when there is content that lives only in the delta. Coalesced;
    /// never waits. Cost: an atomic or two.
    pub fn request_reindex(&self) {
        self.database.catalog.request_reindex();
    }

    /// One step of maintenance: flush the delta, merge a tier, aggregate the download counters when
    /// they have waited for [`AGGREGATE_SECONDS_MAX`](crate::limits::AGGREGATE_SECONDS_MAX) or are
    /// many. True when there is more to do at once. Called by one thread only.
    pub fn maintain(&self, now: Timestamp) -> Result<bool> {
        self.database.maintain(now)
    }

    /// Ends the merge that runs, if any, and lets none begin: what comes next is
    /// [`Engine::close`]. Never waits.
    pub fn stop_merging(&self) {
        self.database.catalog.stop_merging();
    }

    // ---- files

    /// The file of a release, when it was fetched before. Cost: one look-up in memory.
    pub fn cached_file(&self, release: &ReleaseId) -> Option<CachedFile> {
        self.database.state.cached_file(release)
    }

    /// Stores the content of a release durably and remembers it. Identical contents share one
    /// blob.
    pub fn store_file(
        &self,
        release: &ReleaseId,
        content: &[u8],
        kind: FileKind,
        upstream_name: Option<&FileName>,
    ) -> Result<CachedFile> {
        self.database.check_space()?;
        let (hash, checksum) = self.database.blobs.put(content)?;
        let file = CachedFile {
            content: hash,
            size_bytes: content.len() as u64,
            checksum,
            kind,
            upstream_name: upstream_name.cloned(),
        };
        let event = StateEvent::RememberFile(release.clone(), file.clone());
        self.database.state.apply(vec![event])?;
        Ok(file)
    }

    /// Errors: [`crate::Error::Space`] when [`Engine::store_file`] would be refused for want of it.
    pub fn check_space(&self) -> Result<()> {
        self.database.check_space()
    }

    /// Forgets every file of a content that is lost or damaged: the next download fetches it.
    pub fn forget_content(&self, content: ContentHash) -> Result<()> {
        self.apply(vec![StateEvent::ForgetContent(content)])?;
        Ok(())
    }

    /// Opens stored bytes, mapped; the handle is shared while anyone holds it. `None` when the
    /// variant has not been made. Errors: the blob is missing or damaged.
    pub fn blob(&self, file: &CachedFile, variant: Variant) -> Result<Option<Arc<Blob>>> {
        self.database.blobs.open(file, variant)
    }

    /// Keeps at most so many blobs open, or [`crate::limits::OPEN_BLOBS_MAX`] if that is fewer:
    /// each takes a descriptor of the process.
    pub fn keep_open(&self, blobs_max: usize) {
        self.database.blobs.keep_open(blobs_max);
    }

    /// Keeps a compressed variant beside its content.
    pub fn store_variant(
        &self,
        content: &ContentHash,
        variant: Variant,
        bytes: &[u8],
    ) -> Result<Arc<Blob>> {
        self.database.check_space()?;
        self.database.blobs.put_variant(content, variant, bytes)
    }

    // ---- counters

    /// Hands out a lane; panics when more are asked for than [`Options::counter_lanes`].
    pub fn counter_lane(&self) -> Result<CounterLane> {
        self.database.counters.lane()
    }

    /// Syncs all lanes (once a second).
    pub fn sync_counters(&self) -> Result<()> {
        self.database.counters.sync()
    }

    /// Entries of counter files that did not match their checksum when they were aggregated, and so
    /// were not counted: file below the data directory, and byte.
    pub fn passed_over(&self) -> Vec<(String, u64)> {
        self.database.counters.passed_over()
    }

    // ---- state

    /// Applies events in order, as one durable transaction, and returns an outcome for each. An
    /// event that is refused changes nothing; the others stand.
    pub fn apply(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        self.database.state.apply(events)
    }

    /// All accounts, by id.
    pub fn accounts(&self) -> Vec<Account> {
        self.database.state.accounts()
    }

    /// The account with this id.
    pub fn account(&self, id: AccountId) -> Option<Account> {
        self.database.state.account(id)
    }

    /// The account with this address.
    pub fn account_by_email(&self, email: &Email) -> Option<Account> {
        self.database.state.account_by_email(email)
    }

    /// All API keys, by id.
    pub fn api_keys(&self) -> Vec<ApiKey> {
        self.database.state.api_keys()
    }

    /// The API key with this number.
    pub fn api_key(&self, id: ApiKeyId) -> Option<ApiKey> {
        self.database.state.api_key(id)
    }

    /// The API keys of an account in any state, by id. Cost: a walk over those alone.
    pub fn api_keys_of(&self, account: AccountId) -> Vec<ApiKey> {
        self.database.state.api_keys_of(account)
    }

    /// The sessions of an account, expired or not, oldest first. Cost: a walk over those alone.
    pub fn sessions_of(&self, account: AccountId) -> Vec<Session> {
        self.database.state.sessions_of(account)
    }

    /// The session whose cookie has this digest, expired or not.
    pub fn session(&self, digest: &[u8; 32]) -> Option<Session> {
        self.database.state.session(digest)
    }

    /// Lets usage, which is read next, hold the downloads counted until now. Called again within
    /// the same second, while others aggregate or while the disk refuses it does nothing: what is
    /// missing was counted less than some seconds ago. Cost: a durable transaction.
    pub fn aggregate_downloads(&self, now: Timestamp) {
        self.database.aggregate_for_reader(now);
    }

    /// What a key was used for in all, and when last. Downloads are there after an aggregation.
    pub fn api_key_totals(&self, id: ApiKeyId) -> Result<(Usage, Option<Timestamp>)> {
        self.database.state.api_key_totals(id)
    }

    /// What a key was used for, per day from `from` to `to`, both included; days without use are
    /// left out.
    pub fn api_key_usage(&self, id: ApiKeyId, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        self.database.state.api_key_usage(id, from, to)
    }

    /// Number of the last [`crate::UsageBatch`] that was added; 0 before the first.
    pub fn last_usage(&self) -> Result<u64> {
        self.database.state.last_usage()
    }

    /// The latest moment that usage was ever of: whoever judges by time and does not trust a clock
    /// that may be set back takes the later of the two. 1970 before the first.
    pub fn latest_moment(&self) -> Result<Timestamp> {
        self.database.state.latest_moment()
    }

    /// What the whole service was used for, per day.
    pub fn usage(&self, from: Day, to: Day) -> Result<Vec<(Day, Usage)>> {
        self.database.state.usage(from, to)
    }

    /// Entries of the audit log with their numbers, newest first: the newest ones, or those
    /// `before` an entry. Numbers grow by one and are never used twice.
    pub fn audit_log(
        &self,
        before: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<(u64, AuditEntry)>> {
        self.database.state.audit_log(before, count_max)
    }

    // ---- care

    /// Sizes and counts.
    pub fn stats(&self) -> Result<EngineStats> {
        maintenance::stats(&self.database)
    }

    /// Checks every file against its checksums and against the others; repairs what can be repaired
    /// when `is_repairing`.
    pub fn verify(&self, is_repairing: bool) -> Result<Vec<Finding>> {
        maintenance::verify(&self.database, is_repairing)
    }

    /// Writes a backup: a data directory of its own at `destination`, which must not exist, with
    /// everything that was acknowledged when it began. Nobody waits for it; killed, it leaves
    /// `destination` unmade.
    pub fn backup(&self, destination: &Path) -> Result<BackupSummary> {
        maintenance::backup(&self.database, destination)
    }

    /// Aggregates counters, syncs, closes the stores. Called once, at the end.
    pub fn close(&self, _now: Timestamp) -> Result<()> {
        self.database.close()
    }
}
