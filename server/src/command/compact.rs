//! `subcat compact`: returns free space of the database files to the file system.

use clap::Args;
use subcat_engine::CompactedStore;

use super::access::{Missing, execute_once};
use super::context::Context;
use super::error::CommandError;
use super::progress::Waiting;
use super::subcommand::Subcommand;
use super::table::bytes;
use crate::ops::CompactStores;

/// Give the free space of the database files back
///
/// Deleted and changed records leave free space in catalog.redb, ended sessions and old usage in
/// state.redb. It is used again by later changes, so this pays after much was deleted: subcat stats
/// shows how much can be reclaimed. If it is interrupted, nothing is lost, and it can be run again.
///
/// A running server still answers searches and downloads of cached files. Imports, sign-ins,
/// changes of keys and first downloads wait until it is done.
#[derive(Debug, Args)]
pub(super) struct CompactArguments {}

impl Subcommand for CompactArguments {
    const NAME: &'static str = "compact";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let waiting = Waiting::start("compacting");
        let reply = execute_once(config, Missing::Refuse, CompactStores {});
        drop(waiting);
        context.show(&reply?, |compacted| shown(compacted))
    }
}

fn shown(compacted: &[CompactedStore]) -> String {
    let mut out = String::new();
    for store in compacted {
        let (before, after) = (bytes(store.bytes_before), bytes(store.bytes_after));
        out.push_str(&format!("{}: {before} before, {after} after\n", store.file));
    }
    out
}
