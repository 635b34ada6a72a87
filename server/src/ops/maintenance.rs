//! Operations on the catalog as a whole: sizes, checks, copies, and how a search is answered.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use subcat_engine::{BackupSummary, CompactedStore, EngineStats, Finding, error_chain};

use super::api_keys::DayShown;
use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
use crate::request::search_request;
use crate::service::{Reloaded, Service};

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ExplainSearch>(),
    OperationEntry::of::<ReadStats>(),
    OperationEntry::of::<VerifyCatalog>(),
    OperationEntry::of::<BackUpCatalog>(),
    OperationEntry::of::<CompactStores>(),
    OperationEntry::of::<ReloadSettings>(),
];

/// `stats`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadStats {}

/// Answer of [`ReadStats`]; sizes are in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatsRead {
    /// Sizes and counts of the engine.
    #[serde(flatten)]
    pub engine: EngineStats,
    /// Index and documents together, divided by the active records.
    pub index_bytes_per_record: f64,
    /// True if a server is running on the data directory.
    pub is_running: bool,
    /// The cache of search answers; `null` without a server.
    pub search_cache: Option<SearchCacheRead>,
    /// Usage of the whole service on the last days.
    pub days: Vec<DayShown>,
}

/// The cache of search answers since the server started.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SearchCacheRead {
    /// Searches answered from it.
    pub hits: u64,
    /// Searches that were run.
    pub misses: u64,
    /// Size of the cache.
    pub bytes: u64,
    /// Maximum size of the cache.
    pub bytes_max: u64,
}

impl SearchCacheRead {
    fn of(service: &Service) -> Self {
        let metrics = &service.metrics;
        Self {
            hits: metrics.sum(|worker| worker.search_cache_hits.get()),
            misses: metrics.sum(|worker| worker.search_cache_misses.get()),
            bytes: metrics.sum(|worker| worker.search_cache_bytes.get()),
            bytes_max: service.config().cache_search_bytes as u64,
        }
    }
}

impl Operation for ReadStats {
    const NAME: &'static str = "stats";
    type Answer = StatsRead;

    async fn execute(self, operations: &Operations<'_>) -> Result<StatsRead, OperationError> {
        if !operations.is_running() {
            // Reading the files delays no client here; in a server the scrubber measures them.
            operations.engine.measure_stores()?;
        }
        let stats = operations.engine.stats()?;
        let (from, today) = operations.usage_days();
        operations
            .engine
            .usage()
            .aggregate_downloads(operations.now);
        let days = operations.engine.usage().per_day(from, today)?;
        Ok(StatsRead {
            index_bytes_per_record: bytes_per_record(&stats),
            engine: stats,
            is_running: operations.is_running(),
            search_cache: operations.service.map(SearchCacheRead::of),
            days: DayShown::list(&days),
        })
    }
}

/// Bytes of index and documents for each active record, rounded to a tenth.
#[expect(clippy::cast_precision_loss, reason = "a rounded figure for people")]
fn bytes_per_record(stats: &EngineStats) -> f64 {
    if stats.active_records == 0 {
        return 0.0;
    }
    let indexed_bytes = stats.index_bytes + stats.document_bytes;
    (indexed_bytes as f64 / stats.active_records as f64 * 10.0).round() / 10.0
}

/// `verify`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VerifyCatalog {
    /// True to repair what can be repaired.
    pub is_repairing: bool,
}

impl Operation for VerifyCatalog {
    const NAME: &'static str = "verify";
    /// All problems found, repaired or not.
    type Answer = Vec<Finding>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Vec<Finding>, OperationError> {
        if self.is_repairing && operations.is_running() {
            return Err(OperationRejection::RepairWhileRunning.into());
        }
        Ok(operations.engine.verify(self.is_repairing)?)
    }
}

/// `backup DEST`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackUpCatalog {
    /// Absolute path of the directory to create; with `keep`, of the folder of dated ones.
    pub destination: String,
    /// Dated backups to keep in the folder.
    pub keep: Option<NonZeroUsize>,
}

/// Answer of [`BackUpCatalog`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BackupMade {
    /// The directory that was created.
    pub destination: String,
    /// Counts of its content.
    #[serde(flatten)]
    pub summary: BackupSummary,
    /// Older backups that were removed.
    pub removed: Vec<String>,
    /// The reason why older backups could not be removed.
    pub removal_error: Option<String>,
}

impl BackupMade {
    fn of(destination: String, summary: BackupSummary) -> Self {
        Self {
            destination,
            summary,
            removed: Vec::new(),
            removal_error: None,
        }
    }
}

impl Operation for BackUpCatalog {
    const NAME: &'static str = "backup";
    type Answer = BackupMade;

    async fn execute(self, operations: &Operations<'_>) -> Result<BackupMade, OperationError> {
        let engine = operations.engine;
        let destination = Path::new(&self.destination);
        ensure_outside(destination, &operations.config.data)?;
        let Some(keep) = self.keep else {
            let summary = engine.backup(destination)?;
            return Ok(BackupMade::of(self.destination, summary));
        };
        let dated = engine.back_up_dated(destination, operations.now)?;
        let mut made = BackupMade::of(dated.path.display().to_string(), dated.summary);
        // One that lacks something displaces none that may have it.
        if made.summary.left_out.is_empty() {
            match engine.remove_older_backups(destination, keep.get()) {
                Ok(removed) => {
                    let names = removed.iter().map(|path| path.display().to_string());
                    made.removed = names.collect();
                }
                Err(error) => made.removal_error = Some(error_chain(&error)),
            }
        }
        Ok(made)
    }
}

/// Errors: a backup would lie in its own data directory. There it would be lost with the original,
/// and be in the way of other files.
fn ensure_outside(destination: &Path, data: &Path) -> Result<(), OperationRejection> {
    let Ok(data) = data.canonicalize() else {
        // In memory.
        return Ok(());
    };
    if existing_part(destination).starts_with(&data) {
        return Err(OperationRejection::BackupInside(data));
    }
    Ok(())
}

/// The nearest folder of a path that exists, without links.
fn existing_part(path: &Path) -> PathBuf {
    let mut folders = path.ancestors();
    let found = folders.find_map(|folder| folder.canonicalize().ok());
    found.unwrap_or_else(|| path.to_path_buf())
}

/// `compact`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompactStores {}

impl Operation for CompactStores {
    const NAME: &'static str = "compact";
    type Answer = Vec<CompactedStore>;

    async fn execute(
        self,
        operations: &Operations<'_>,
    ) -> Result<Vec<CompactedStore>, OperationError> {
        Ok(operations.engine.compact()?)
    }
}

/// `explain`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainSearch {
    /// Parameters of the search, as the query string of a request.
    pub query_string: String,
}

impl Operation for ExplainSearch {
    const NAME: &'static str = "explain";
    /// The steps of the search, in several lines of text.
    type Answer = String;

    async fn execute(self, operations: &Operations<'_>) -> Result<String, OperationError> {
        let has_imdb_id = operations.config.compat.imdb_id_alias;
        let request = search_request(&self.query_string, has_imdb_id)
            .map_err(OperationRejection::InvalidSearch)?;
        let started = Instant::now();
        let clock = || u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let snapshot = operations.engine.catalog().snapshot();
        Ok(snapshot.explain(&request.query, &clock)?)
    }
}

/// `reload`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReloadSettings {}

impl Operation for ReloadSettings {
    const NAME: &'static str = "reload";
    type Answer = Reloaded;

    async fn execute(self, operations: &Operations<'_>) -> Result<Reloaded, OperationError> {
        let reloaded = operations.service.and_then(Service::reload);
        let reloaded = reloaded.ok_or(OperationRejection::NotRunning)?;
        Ok(reloaded.map_err(OperationRejection::InvalidSettings)?)
    }
}
