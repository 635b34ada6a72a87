//! `subcat stats`: sizes, counts, usage.

use clap::Args;

use super::access::{Missing, perform_once};
use super::context::{Context, Stop};
use super::table::{facts, table};
use crate::ops::{DayShown, Operation, Stats as Answer};

/// Show sizes, counts and usage per day
#[derive(Debug, Args)]
pub(super) struct Stats {}

impl Stats {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        let answer = perform_once(config, Missing::Refuse, Operation::Stats {})?;
        context.show(&answer, shown)
    }
}

fn shown(stats: &Answer) -> String {
    let server = if stats.is_running {
        "running"
    } else {
        "not running"
    };
    let about = facts(&[
        ("server", server.into()),
        ("records", stats.records.to_string()),
        ("active records", stats.active_records.to_string()),
        ("segment files", stats.file_segments.to_string()),
        ("records in the delta", stats.delta_records.to_string()),
        ("tombstones", stats.tombstones.to_string()),
        ("index", size(stats.index_bytes)),
        ("documents", size(stats.document_bytes)),
        (
            "bytes per record",
            format!("{:.1}", stats.index_bytes_per_record),
        ),
        ("catalog.redb", size(stats.catalog_store_bytes)),
        ("state.redb", size(stats.state_store_bytes)),
        ("cached files", stats.cached_files.to_string()),
        ("blobs", size(stats.blob_bytes)),
        ("accounts", stats.accounts.to_string()),
        ("API keys", stats.api_keys.to_string()),
        ("reindex jobs", stats.reindex_jobs_done.to_string()),
        ("merges", stats.merges_done.to_string()),
    ]);
    format!("{about}\n{}", usage_table(&stats.days))
}

/// Bytes in the unit that keeps the number short.
fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    for (unit, unit_bytes) in UNITS {
        if unit_bytes <= bytes {
            let tenths = u128::from(bytes) * 10 / u128::from(unit_bytes);
            return format!("{}.{} {unit}", tenths / 10, tenths % 10);
        }
    }
    format!("{bytes} B")
}

/// Usage per day.
pub(super) fn usage_table(days: &[DayShown]) -> String {
    if days.is_empty() {
        return "not used in the last 30 days\n".into();
    }
    let row = |day: &DayShown| {
        vec![
            day.day.clone(),
            day.requests.to_string(),
            day.downloads.to_string(),
            day.client_errors.to_string(),
            day.limited.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = days.iter().map(row).collect();
    table(&["DAY", "REQUESTS", "DOWNLOADS", "4XX", "429"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(64 << 20), "64.0 MiB");
        assert_eq!(size(u64::MAX), "17179869183.9 GiB");
    }
}
