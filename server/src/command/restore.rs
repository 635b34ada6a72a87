//! `subcat restore`: a backup in place of the data directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::{Deserialize, Serialize};
use subcat_engine::disk::{Disk, Real};
use subcat_engine::restore;

use super::context::{Context, Stop};
use crate::ops::Failure;

/// Put a backup in place of the data directory; wants the server stopped
///
/// The backup is copied beside the data directory, opened and checked whole before it takes its
/// place in one step. What was there is kept under another name.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// A backup, or a copy of a data directory whose server was stopped
    #[arg(value_name = "SRC")]
    source: PathBuf,
}

/// What `restore --json` answers.
#[derive(Debug, Serialize, Deserialize)]
struct RestoreDone {
    data: String,
    records: u64,
    files: u64,
    replaced: Option<String>,
}

impl Restore {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        let data = real_path(&config.data)?;
        let disk: Arc<dyn Disk> = Arc::new(Real);
        let restored = restore(&disk, &self.source, &data)?;
        let done = RestoreDone {
            data: data.display().to_string(),
            records: restored.records,
            files: restored.files,
            replaced: restored.replaced.map(|path| path.display().to_string()),
        };
        let answer =
            serde_json::to_string(&done).map_err(|error| Failure::new(error.to_string()))?;
        context.show(&answer, shown)
    }
}

/// The directory itself when the data directory is a link to it: it is renamed, not the link.
fn real_path(data: &Path) -> Result<PathBuf, Failure> {
    match data.canonicalize() {
        Ok(path) => Ok(path),
        Err(_) => Ok(std::path::absolute(data)?),
    }
}

fn shown(done: &RestoreDone) -> String {
    let mut text = format!(
        "{}: {} records, {} files\n",
        done.data, done.records, done.files
    );
    if let Some(replaced) = &done.replaced {
        text.push_str(&format!(
            "what was there is in {replaced}: remove it when you need it no more\n"
        ));
    }
    text
}
