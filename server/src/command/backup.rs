//! `subcat backup`: a copy of everything, while the server runs or while it does not.

use std::path::PathBuf;

use clap::Args;

use super::access::{Missing, perform_once};
use super::context::{Context, Stop, say};
use crate::ops::{BackupMade, Failure, Operation};

/// Copy the whole data directory, consistently, while it is in use
///
/// The copy is a data directory of its own (without the index, which is built anew when it is
/// opened), durable and checked. It gets its name when it is complete: what was interrupted is
/// not there.
#[derive(Debug, Args)]
pub(super) struct Backup {
    /// A directory to be made; the server writes it, when one runs
    #[arg(value_name = "DEST")]
    destination: PathBuf,
}

impl Backup {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let config = context.effective(&[])?.config;
        let path = std::path::absolute(&self.destination).map_err(Failure::from)?;
        let Some(destination) = path.to_str().map(str::to_owned) else {
            let sentence = format!("{} is no UTF-8: name another", path.display());
            return Err(Stop::Usage(sentence));
        };
        let answer = perform_once(config, Missing::Refuse, Operation::Backup { destination })?;
        let made: Option<BackupMade> = serde_json::from_str(&answer).ok();
        for file in made.iter().flat_map(|made| &made.left_out) {
            let advice = "left out, it is fetched again when it is asked for";
            say(&format!("{}: {}: {advice}", file.file, file.problem));
        }
        context.show(&answer, shown)
    }
}

fn shown(made: &BackupMade) -> String {
    format!(
        "{}: {} records, {} files of {} bytes\n",
        made.destination, made.records, made.files, made.file_bytes
    )
}
