//! Looking after the catalog: sizes, checks, and why a search answers as it does.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use subcat_engine::Finding;
use subcat_engine::model::Day;

use super::api_keys::{DayShown, USAGE_DAYS};
use super::error::Failure;
use super::execute::{Operations, answer};
use crate::request::{SearchRejection, search_request};

/// What `stats` answers; sizes are in bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names are those of EngineStats")]
pub struct Stats {
    pub records: u64,
    pub active_records: u64,
    pub file_segments: u64,
    pub delta_records: u64,
    pub tombstones: u64,
    pub index_bytes: u64,
    pub document_bytes: u64,
    /// Index and documents together, divided by the active records.
    pub index_bytes_per_record: f64,
    pub catalog_store_bytes: u64,
    pub state_store_bytes: u64,
    pub cached_files: u64,
    pub blob_bytes: u64,
    pub accounts: u64,
    pub api_keys: u64,
    pub reindex_jobs_done: u64,
    pub merges_done: u64,
    /// Whether a server is running on the data directory.
    pub is_running: bool,
    /// What the whole service was used for on the last days.
    pub days: Vec<DayShown>,
}

/// One thing that `verify` found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingShown {
    /// File or table below the data directory.
    pub file: String,
    /// Byte, or null when it cannot be told.
    pub offset: Option<u64>,
    /// What is wrong.
    pub problem: String,
    /// Whether it has been mended.
    pub is_repaired: bool,
}

impl FindingShown {
    fn new(finding: Finding) -> Self {
        Self {
            file: finding.file,
            offset: finding.offset,
            problem: finding.problem,
            is_repaired: finding.is_repaired,
        }
    }
}

/// What `backup` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupMade {
    /// The directory that was made.
    pub destination: String,
    /// Records, active or not.
    pub records: u64,
    /// Contents of cached files.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Cached files that are missing or damaged, which are not in it.
    pub left_out: Vec<FindingShown>,
}

impl Operations<'_> {
    pub(super) fn stats(&self) -> Result<String, Failure> {
        let stats = self.engine.stats()?;
        let today = self.now.day();
        let from = Day(today.0.saturating_sub(USAGE_DAYS - 1));
        self.engine.usage().aggregate_downloads(self.now);
        let days = self.engine.usage().per_day(from, today)?;
        let indexed_bytes = stats.index_bytes + stats.document_bytes;
        #[expect(clippy::cast_precision_loss, reason = "a rounded figure for people")]
        let per_record = match stats.active_records {
            0 => 0.0,
            count => (indexed_bytes as f64 / count as f64 * 10.0).round() / 10.0,
        };
        answer(&Stats {
            records: stats.records,
            active_records: stats.active_records,
            file_segments: stats.file_segments,
            delta_records: stats.delta_records,
            tombstones: stats.tombstones,
            index_bytes: stats.index_bytes,
            document_bytes: stats.document_bytes,
            index_bytes_per_record: per_record,
            catalog_store_bytes: stats.catalog_store_bytes,
            state_store_bytes: stats.state_store_bytes,
            cached_files: stats.cached_files,
            blob_bytes: stats.blob_bytes,
            accounts: stats.accounts,
            api_keys: stats.api_keys,
            reindex_jobs_done: stats.reindex_jobs_done,
            merges_done: stats.merges_done,
            is_running: self.is_running,
            days: days.into_iter().map(DayShown::new).collect(),
        })
    }

    pub(super) fn verify(&self, is_repairing: bool) -> Result<String, Failure> {
        if is_repairing && self.is_running {
            let sentence = "a server is running on this data directory: stop it to repair";
            return Err(Failure::new(sentence));
        }
        let findings = self.engine.verify(is_repairing)?;
        let shown = findings.into_iter().map(FindingShown::new);
        answer(&shown.collect::<Vec<_>>())
    }

    pub(super) fn backup(&self, destination: String) -> Result<String, Failure> {
        let made = self.engine.backup(Path::new(&destination))?;
        answer(&BackupMade {
            destination,
            records: made.records,
            files: made.files,
            file_bytes: made.file_bytes,
            left_out: made.left_out.into_iter().map(FindingShown::new).collect(),
        })
    }

    pub(super) fn explain(&self, query_string: &str) -> Result<String, Failure> {
        let has_imdb_id = self.config.compat.imdb_id_alias;
        let request = search_request(query_string, has_imdb_id).map_err(refused)?;
        let started = Instant::now();
        let clock = || u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let text = self
            .engine
            .catalog()
            .snapshot()
            .explain(&request.query, &clock)?;
        answer(&text)
    }
}

/// The refusal of a search in the words of the command line.
fn refused(refusal: SearchRejection) -> Failure {
    match refusal {
        SearchRejection::Parameters(faults) => {
            let sentence = |fault: &crate::request::ParameterRejection| {
                format!("--{}: {}", fault.parameter.replace('_', "-"), fault.message)
            };
            let sentences: Vec<String> = faults.iter().map(sentence).collect();
            Failure::new(sentences.join("; "))
        }
        SearchRejection::NoCriterion => Failure::new(
            "nothing to search for: give --query, --title, --catalog-id or --public-id",
        ),
        SearchRejection::SeasonWithoutEpisodes => {
            Failure::new("--season and --episode need --video-type episode")
        }
    }
}
