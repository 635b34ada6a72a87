//! `subcat backup`: a copy of everything, while the server runs or while it does not.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use subcat_engine::BackupSummary;

use super::access::{Missing, execute_once};
use super::context::Context;
use super::error::{CommandError, say};
use super::subcommand::Subcommand;
use crate::ops::{BackUpCatalog, BackupMade};

/// Copy the whole data directory, consistently, while it is in use
///
/// The copy is a data directory of its own (without the index, which is rebuilt when it is
/// opened), durable and checked. It gets its name when it is complete: an interrupted copy leaves
/// nothing under that name. The cached files that it has copied are kept under another name
/// (DEST.partial), and the next backup to the same place checks them instead of copying them again.
///
/// With --keep N, DEST is a folder of backups that are named after the time, such as
/// 2026-11-23T165801Z. Cached files that the newest one has are checked and linked, not copied, and
/// the oldest backups, all but N, are removed once the new one is complete.
#[derive(Debug, Args)]
pub(super) struct BackupArguments {
    /// The directory to create; a running server writes it itself
    #[arg(value_name = "DEST")]
    destination: PathBuf,
    /// Make a dated backup in the folder DEST and keep the newest N of them
    #[arg(long, value_name = "N")]
    keep: Option<NonZeroUsize>,
}

/// A destination that cannot be sent to the server.
#[derive(Debug, thiserror::Error)]
#[error("{} is not valid UTF-8: name another", .0.display())]
struct DestinationError(PathBuf);

impl Subcommand for BackupArguments {
    const NAME: &'static str = "backup";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let path = std::path::absolute(&self.destination)?;
        let Some(destination) = path.to_str().map(str::to_owned) else {
            return Err(CommandError::usage(DestinationError(path)));
        };
        let keep = self.keep;
        let operation = BackUpCatalog { destination, keep };
        let reply = execute_once(config, Missing::Refuse, operation)?;
        if let Ok(made) = reply.read() {
            for damage in &made.summary.left_out {
                say(&format!("left out: {}: {}", damage.file, damage.problem));
            }
        }
        context.show(&reply, shown)?;
        let made = reply.read()?;
        if let Some(reason) = made.removal_error {
            return Err(RemovalError(reason).into());
        }
        match made.summary.left_out.len() {
            0 => Ok(()),
            count => Err(PartialBackupError(count).into()),
        }
    }
}

/// A backup without everything: the rest of it is whole.
#[derive(Debug, thiserror::Error)]
#[error(
    "the backup is made without {0} damaged things, and replaces no older one: subcat verify says \
     what to do about them"
)]
struct PartialBackupError(usize);

/// A backup that is made, and older ones that could not be removed.
#[derive(Debug, thiserror::Error)]
#[error("the backup is made; the older ones could not be removed: {0}")]
struct RemovalError(String);

fn shown(made: &BackupMade) -> String {
    let BackupSummary {
        records,
        files,
        file_bytes,
        reused_files,
        elsewhere_files,
        ..
    } = made.summary;
    let destination = &made.destination;
    let mut text = format!("{destination}: {records} records, {files} files of {file_bytes} bytes");
    if 0 < reused_files {
        text.push_str(&format!(", {reused_files} of them not copied again"));
    }
    if 0 < elsewhere_files {
        text.push_str(&format!(
            "; {elsewhere_files} more are in object storage only"
        ));
    }
    text.push('\n');
    for removed in &made.removed {
        text.push_str(&format!("removed {removed}\n"));
    }
    text
}
