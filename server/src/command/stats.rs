//! `subcat stats`: sizes, counts, usage.

use clap::Args;
use subcat_engine::EngineStats;

use super::access::run_operation;
use super::context::Context;
use super::error::CommandError;
use super::subcommand::Subcommand;
use super::table::{bytes as size, facts, usage_table};
use crate::limits::COMPACTION_BYTES_MIN;
use crate::ops::{ReadStats, SearchCacheRead, StatsRead};

/// Show sizes, counts and usage per day
#[derive(Debug, Args)]
pub(super) struct StatsArguments {}

impl Subcommand for StatsArguments {
    const NAME: &'static str = "stats";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        run_operation(context, ReadStats {}, shown)
    }
}

fn shown(read: &StatsRead) -> String {
    let server = if read.is_running {
        "running"
    } else {
        "not running"
    };
    let stats = &read.engine;
    let about = facts(&[
        ("server", server.into()),
        ("records", stats.records.to_string()),
        ("active records", stats.active_records.to_string()),
        ("segment files", segment_files(stats)),
        ("records in the delta", stats.delta_records.to_string()),
        ("tombstones", stats.tombstones.to_string()),
        ("index", size(stats.index_bytes)),
        ("documents", size(stats.document_bytes)),
        (
            "bytes per record",
            format!("{:.1}", read.index_bytes_per_record),
        ),
        ("catalog.redb", size(stats.catalog_store_bytes)),
        (
            "catalog.redb: free",
            reclaimable(stats.catalog_reclaimable_bytes, stats.catalog_store_bytes),
        ),
        ("state.redb", size(stats.state_store_bytes)),
        (
            "state.redb: free",
            reclaimable(stats.state_reclaimable_bytes, stats.state_store_bytes),
        ),
        ("cached files", stats.cached_files.to_string()),
        ("blobs", size(stats.blob_bytes)),
        ("evicted files", stats.evicted_files.to_string()),
        ("uploaded files", stats.uploaded_files.to_string()),
        ("waiting uploads", stats.waiting_uploads.to_string()),
        ("accounts", stats.accounts.to_string()),
        ("API keys", stats.api_keys.to_string()),
        ("reindex jobs", stats.reindex_jobs_done.to_string()),
        ("merges", stats.merges_done.to_string()),
    ]);
    let cache = read
        .search_cache
        .as_ref()
        .map_or(String::new(), cache_facts);
    format!("{about}{cache}\n{}", usage_table(&read.days))
}

fn cache_facts(cache: &SearchCacheRead) -> String {
    let percent = (cache.hits * 100).checked_div(cache.hits + cache.misses);
    let percent = percent.map_or("-".into(), |percent| format!("{percent} %"));
    let (used, all) = (size(cache.bytes), size(cache.bytes_max));
    facts(&[
        ("search cache", format!("{used} of {all}")),
        ("searches cached", percent),
        ("searches run", cache.misses.to_string()),
    ])
}

fn segment_files(stats: &EngineStats) -> String {
    match (stats.file_segments, stats.unmergeable_segments) {
        (all, 0) => all.to_string(),
        (all, large) => format!("{all} ({large} too large to be merged)"),
    }
}

/// Bytes that `subcat compact` may reclaim. It pays when they are a quarter or more of a large
/// file.
fn reclaimable(bytes: Option<u64>, store_bytes: u64) -> String {
    let Some(bytes) = bytes else {
        return "not measured yet".to_owned();
    };
    if COMPACTION_BYTES_MIN <= bytes && store_bytes / 4 <= bytes {
        return format!("{} (run subcat compact)", size(bytes));
    }
    size(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_that_no_merge_takes_are_told() {
        let mut stats = EngineStats {
            file_segments: 9,
            ..EngineStats::default()
        };
        assert_eq!(segment_files(&stats), "9");
        stats.unmergeable_segments = 8;
        assert_eq!(segment_files(&stats), "9 (8 too large to be merged)");
    }

    #[test]
    fn compaction_is_proposed_where_it_pays() {
        assert_eq!(reclaimable(None, 0), "not measured yet");
        assert_eq!(reclaimable(Some(15 << 20), 20 << 20), "15.0 MiB");
        assert_eq!(reclaimable(Some(20 << 20), 100 << 20), "20.0 MiB");
        let proposed = "25.0 MiB (run subcat compact)";
        assert_eq!(reclaimable(Some(25 << 20), 100 << 20), proposed);
    }
}
