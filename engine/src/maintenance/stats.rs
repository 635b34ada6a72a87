//! Sizes and counts.

use serde::{Deserialize, Serialize};

use super::tasks::Tasks;
use crate::database::Database;
use crate::error::Result;

/// Sizes and counts, for `stats` and metrics.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EngineStats {
    pub records: u64,
    pub active_records: u64,
    pub file_segments: u64,
    /// Those that no merge has memory for, though there are many of their size.
    #[serde(default)]
    pub unmergeable_segments: u64,
    pub delta_records: u64,
    pub tombstones: u64,
    pub index_bytes: u64,
    pub document_bytes: u64,
    pub catalog_store_bytes: u64,
    pub state_store_bytes: u64,
    /// Number of bytes that compaction may free; `None` until the scrubber has measured them.
    pub catalog_reclaimable_bytes: Option<u64>,
    pub state_reclaimable_bytes: Option<u64>,
    pub cached_files: u64,
    pub blob_bytes: u64,
    /// Since the start.
    #[serde(default)]
    pub evicted_files: u64,
    #[serde(default)]
    pub evicted_bytes: u64,
    /// Counts of files uploaded to object storage and fetched from it, since the start.
    #[serde(default)]
    pub uploaded_files: u64,
    #[serde(default)]
    pub returned_files: u64,
    /// Count of files queued for upload.
    #[serde(default)]
    pub waiting_uploads: u64,
    pub accounts: u64,
    pub api_keys: u64,
    pub reindex_jobs_done: u64,
    pub merges_done: u64,
    pub damaged_records: u64,
    pub scrub_rounds: u64,
    pub scrub_findings: u64,
}

impl EngineStats {
    /// Total size of stores, index, documents and files, in bytes.
    pub const fn disk_bytes(&self) -> u64 {
        self.catalog_store_bytes
            + self.state_store_bytes
            + self.index_bytes
            + self.document_bytes
            + self.blob_bytes
    }
}

/// Sizes and counts of this moment. Cost: a few look-ups and a visit of each segment, however large
/// the catalog is.
pub(crate) fn stats(database: &Database, tasks: &Tasks) -> Result<EngineStats> {
    let Database { catalog, state, .. } = database;
    let counts = state.counts();
    let (records, active_records) = catalog.counts()?;
    let (scrub_rounds, scrub_findings) = tasks.scrub_figures();
    let (evicted_files, evicted_bytes) = tasks.eviction_figures();
    let [uploaded_files, returned_files, waiting_uploads] = database.second_home.figures();
    let (reindex_jobs_done, merges_done) = catalog.jobs_done();
    let reclaimable = tasks.reclaimable();
    let mut stats = EngineStats {
        records,
        active_records,
        unmergeable_segments: catalog.unmergeable_count(),
        catalog_store_bytes: catalog.store().size_bytes()?,
        state_store_bytes: state.store().size_bytes()?,
        catalog_reclaimable_bytes: reclaimable.map(|bytes| bytes.catalog),
        state_reclaimable_bytes: reclaimable.map(|bytes| bytes.state),
        cached_files: counts.cached_files,
        blob_bytes: counts.blob_bytes,
        evicted_files,
        evicted_bytes,
        uploaded_files,
        returned_files,
        waiting_uploads,
        accounts: counts.accounts,
        api_keys: counts.api_keys,
        reindex_jobs_done,
        merges_done,
        damaged_records: catalog.snapshot().damaged_count(),
        scrub_rounds,
        scrub_findings,
        ..EngineStats::default()
    };
    for (segment, tombstones) in catalog.snapshot().parts() {
        let (segment_bytes, document_bytes) = segment.size_bytes();
        stats.index_bytes += segment_bytes - document_bytes;
        stats.document_bytes += document_bytes;
        if segment.name().starts_with("index/") {
            stats.file_segments += 1;
            stats.tombstones += tombstones.len();
        } else {
            stats.delta_records += u64::from(segment.len()) - tombstones.len();
        }
    }
    Ok(stats)
}
