//! `subcat stats`: sizes, counts, usage.

use clap::Args;

use super::access::{Missing, execute_once};
use super::context::Context;
use super::error::CommandError;
use super::subcommand::Subcommand;
use super::table::{facts, usage_table};
use crate::ops::{ReadStats, StatsRead};

/// Show sizes, counts and usage per day
#[derive(Debug, Args)]
pub(super) struct StatsArguments {}

impl Subcommand for StatsArguments {
    const NAME: &'static str = "stats";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let reply = execute_once(config, Missing::Refuse, ReadStats {})?;
        context.show(&reply, shown)
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
        ("segment files", stats.file_segments.to_string()),
        ("records in the delta", stats.delta_records.to_string()),
        ("tombstones", stats.tombstones.to_string()),
        ("index", size(stats.index_bytes)),
        ("documents", size(stats.document_bytes)),
        (
            "bytes per record",
            format!("{:.1}", read.index_bytes_per_record),
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
    format!("{about}\n{}", usage_table(&read.days))
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
