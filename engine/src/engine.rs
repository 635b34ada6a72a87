//! The door of the engine.
//!
//! Every method that changes something returns when the change is durable and visible to the
//! matching readers. Methods may be called from any thread; concurrent changes of one file share
//! a transaction.

use std::path::Path;
use std::sync::Arc;

use crate::blob::Blob;
use crate::disk::Disk;
use crate::error::Result;
use crate::event::{Outcome, StateEvent};
use crate::model::{
    Account, AccountId, ApiKey, ApiKeyId, AuditEntry, CachedFile, ContentHash, Day, Email,
    FieldFault, FileKind, FileName, Record, RecordDraft, RecordId, ReleaseId, Session, Timestamp,
    Usage, Variant,
};
use crate::search::Snapshot;

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
pub struct Engine {}

/// What an import did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ImportSummary {
    /// Records that were new.
    pub inserted: u64,
    /// Records that replaced another one.
    pub updated: u64,
    /// Records equal to the stored ones.
    pub unchanged: u64,
}

/// An import in progress. Dropped without [`Importer::finish`], nothing more is loaded.
pub struct Importer {}

impl Importer {
    /// Judges one draft and takes it in. It is loaded at the latest by [`Importer::finish`]; of
    /// two drafts with one id the later counts.
    ///
    /// Errors: the outer one is the disk failing; the inner one is the draft's fault, and the
    /// import goes on.
    pub fn push(&mut self, _draft: RecordDraft<'_>) -> Result<Result<(), FieldFault>> {
        todo!()
    }

    /// Sorts by id and commits in groups; calls `progress` with the number of records that are
    /// durable after each. Returns when all are searchable.
    pub fn finish(self, _progress: &mut dyn FnMut(u64)) -> Result<ImportSummary> {
        todo!()
    }
}

/// One worker's download counter: an append-only file that outlives a killed process.
pub struct CounterLane {}

impl CounterLane {
    /// Counts one download that is being answered. Cost: one write of a few bytes, no sync.
    pub fn count(
        &mut self,
        _record: RecordId,
        _api_key: Option<ApiKeyId>,
        _day: Day,
    ) -> Result<()> {
        todo!()
    }
}

/// Sizes and counts, for `stats` and metrics.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EngineStats {
    pub records: u64,
    pub active_records: u64,
    pub file_segments: u64,
    pub delta_records: u64,
    pub tombstones: u64,
    pub index_bytes: u64,
    pub document_bytes: u64,
    pub catalog_store_bytes: u64,
    pub state_store_bytes: u64,
    pub cached_files: u64,
    pub blob_bytes: u64,
    pub accounts: u64,
    pub api_keys: u64,
    pub reindex_jobs_done: u64,
    pub merges_done: u64,
}

/// What [`Engine::verify`] found wrong in one place.
#[derive(Debug, Clone)]
pub struct Finding {
    /// File (or table) below the data directory.
    pub file: String,
    /// Byte, where it can be told.
    pub offset: Option<u64>,
    /// What is wrong.
    pub problem: String,
    /// Whether `--repair` has mended it.
    pub is_repaired: bool,
}

impl Engine {
    /// Opens the data directory, creating it when it is not there, and publishes the first
    /// snapshot. Errors: locked, newer format, damage that cannot be mended.
    pub fn open(_data: &Path, _options: Options, _now: Timestamp) -> Result<Self> {
        todo!()
    }

    // ---- reading the catalog

    /// The current snapshot. Cost: one atomic load and a reference count; no lock.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        todo!()
    }

    /// Our own count of downloads of a record. Cost: one look-up in memory.
    pub fn downloads(&self, _id: RecordId) -> u64 {
        todo!()
    }

    /// The record as stored, active or not. Reads the store: not for the serving path.
    pub fn stored_record(&self, _id: RecordId) -> Result<Option<Record>> {
        todo!()
    }

    /// Calls `each` with every stored record, ordered by id.
    pub fn export(&self, _each: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        todo!()
    }

    // ---- changing the catalog

    /// Begins an import.
    pub fn importer(&self) -> Result<Importer> {
        todo!()
    }

    /// Sets `is_active`. False when there is no such record.
    pub fn set_active(&self, _id: RecordId, _is_active: bool) -> Result<bool> {
        todo!()
    }

    /// Deletes records in one transaction; returns those that were not there.
    pub fn delete_records(&self, _ids: &[RecordId]) -> Result<Vec<RecordId>> {
        todo!()
    }

    /// Asks for a reindex job when there is content that lives only in the delta. Coalesced;
    /// never waits. Cost: an atomic or two.
    pub fn request_reindex(&self) {
        todo!()
    }

    /// One step of maintenance: flush the delta, merge a tier, fold the download counters. True
    /// when there is more to do at once. Called by one thread only.
    pub fn maintain(&self, _now: Timestamp) -> Result<bool> {
        todo!()
    }

    // ---- files

    /// The file of a release, when it was fetched before. Cost: one look-up in memory.
    pub fn cached_file(&self, _release: &ReleaseId) -> Option<CachedFile> {
        todo!()
    }

    /// Stores the content of a release durably and remembers it. Identical contents share one
    /// blob.
    pub fn store_file(
        &self,
        _release: &ReleaseId,
        _content: &[u8],
        _kind: FileKind,
        _upstream_name: Option<&FileName>,
    ) -> Result<CachedFile> {
        todo!()
    }

    /// Opens stored bytes, mapped; the handle is shared while anyone holds it. `None` when the
    /// variant has not been made. Errors: the blob is missing or damaged.
    pub fn blob(&self, _file: &CachedFile, _variant: Variant) -> Result<Option<Arc<Blob>>> {
        todo!()
    }

    /// Keeps a compressed variant beside its content.
    pub fn store_variant(
        &self,
        _content: &ContentHash,
        _variant: Variant,
        _bytes: &[u8],
    ) -> Result<Arc<Blob>> {
        todo!()
    }

    // ---- counters

    /// Hands out a lane; panics when more are asked for than [`Options::counter_lanes`].
    pub fn counter_lane(&self) -> Result<CounterLane> {
        todo!()
    }

    /// Syncs all lanes (once a second).
    pub fn sync_counters(&self) -> Result<()> {
        todo!()
    }

    // ---- state

    /// Applies events in order, as one durable transaction, and returns an outcome for each. An
    /// event that is refused changes nothing; the others stand.
    pub fn apply(&self, _events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        todo!()
    }

    /// All accounts, by id.
    pub fn accounts(&self) -> Vec<Account> {
        todo!()
    }

    /// The account with this id.
    pub fn account(&self, _id: AccountId) -> Option<Account> {
        todo!()
    }

    /// The account with this address.
    pub fn account_by_email(&self, _email: &Email) -> Option<Account> {
        todo!()
    }

    /// All API keys, by id.
    pub fn api_keys(&self) -> Vec<ApiKey> {
        todo!()
    }

    /// The session whose cookie has this digest, expired or not.
    pub fn session(&self, _digest: &[u8; 32]) -> Option<Session> {
        todo!()
    }

    /// What a key was used for in all, and when last.
    pub fn api_key_totals(&self, _id: ApiKeyId) -> Result<(Usage, Option<Timestamp>)> {
        todo!()
    }

    /// What a key was used for, per day from `from` to `to`, both included; days without use are
    /// left out.
    pub fn api_key_usage(&self, _id: ApiKeyId, _from: Day, _to: Day) -> Result<Vec<(Day, Usage)>> {
        todo!()
    }

    /// What the whole service was used for, per day.
    pub fn usage(&self, _from: Day, _to: Day) -> Result<Vec<(Day, Usage)>> {
        todo!()
    }

    /// The newest entries of the audit log, newest first.
    pub fn audit_log(&self, _count_max: usize) -> Result<Vec<AuditEntry>> {
        todo!()
    }

    // ---- care

    /// Sizes and counts.
    pub fn stats(&self) -> Result<EngineStats> {
        todo!()
    }

    /// Checks every file against its checksums and against the others; mends what can be mended
    /// when `is_repairing`.
    pub fn verify(&self, _is_repairing: bool) -> Result<Vec<Finding>> {
        todo!()
    }

    /// Folds counters, syncs, closes the stores. Called once, at the end.
    pub fn close(&self, _now: Timestamp) -> Result<()> {
        todo!()
    }
}
