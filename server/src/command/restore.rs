//! `subcat restore`: a backup in place of the data directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use subcat_engine::{Disk, Real, newest_backup, restore};

use super::access::new_node;
use super::context::Context;
use super::error::CommandError;
use super::output::Reply;
use super::ownership::keep_owner;
use super::subcommand::Subcommand;

/// Put a backup in place of the data directory; the server must be stopped
///
/// The backup is copied beside the data directory, opened and checked whole before it takes its
/// place in one step. The old data directory is kept under another name.
#[derive(Debug, Args)]
pub(super) struct RestoreArguments {
    /// A backup, or a copy of a data directory made while its server was stopped
    #[arg(value_name = "SRC")]
    source: PathBuf,
}

/// Answer of `restore --json`.
#[derive(Debug, Serialize, Deserialize)]
struct RestoreDone {
    data: String,
    records: u64,
    files: u64,
    replaced: Option<String>,
}

/// A folder of backups in the place of one of them.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} is a folder of backups: name one of them, such as the newest, {}",
    folder.display(),
    newest.display()
)]
struct SeriesError {
    folder: PathBuf,
    newest: PathBuf,
}

impl Subcommand for RestoreArguments {
    const NAME: &'static str = "restore";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        let data = real_path(&config.data)?;
        let disk: Arc<dyn Disk> = Arc::new(Real);
        if let Some(newest) = newest_backup(disk.as_ref(), &self.source)? {
            let folder = self.source;
            return Err(SeriesError { folder, newest }.into());
        }
        let old = std::fs::metadata(&data).ok();
        let restored = restore(&disk, &self.source, &data, new_node())?;
        keep_owner(&data, old.as_ref())?;
        let done = RestoreDone {
            data: data.display().to_string(),
            records: restored.records,
            files: restored.files,
            replaced: restored.replaced.map(|path| path.display().to_string()),
        };
        context.show(&Reply::of(&done), shown)
    }
}

/// The directory itself when the data directory is a link to it: it is renamed, not the link.
fn real_path(data: &Path) -> io::Result<PathBuf> {
    match data.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => std::path::absolute(data),
    }
}

fn shown(done: &RestoreDone) -> String {
    let mut text = format!(
        "{}: {} records, {} files\n",
        done.data, done.records, done.files
    );
    if let Some(replaced) = &done.replaced {
        text.push_str(&format!(
            "the old data directory is now {replaced}: remove it when you no longer need it\n"
        ));
    }
    text
}
