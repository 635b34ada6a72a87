//! `subcat backup`: a copy of everything, while the server runs or while it does not.

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
/// nothing under that name.
#[derive(Debug, Args)]
pub(super) struct BackupArguments {
    /// The directory to create; a running server writes it itself
    #[arg(value_name = "DEST")]
    destination: PathBuf,
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
        let reply = execute_once(config, Missing::Refuse, BackUpCatalog { destination })?;
        if let Ok(made) = reply.read() {
            for damage in &made.summary.left_out {
                say(&format!("left out: {}: {}", damage.file, damage.problem));
            }
        }
        context.show(&reply, shown)?;
        match reply.read()?.summary.left_out.len() {
            0 => Ok(()),
            count => Err(PartialBackupError(count).into()),
        }
    }
}

/// A backup without everything: the rest of it is whole.
#[derive(Debug, thiserror::Error)]
#[error("the backup is made without {0} damaged things: subcat verify says what to do about them")]
struct PartialBackupError(usize);

fn shown(made: &BackupMade) -> String {
    let BackupSummary {
        records,
        files,
        file_bytes,
        ..
    } = made.summary;
    let destination = &made.destination;
    format!("{destination}: {records} records, {files} files of {file_bytes} bytes\n")
}
