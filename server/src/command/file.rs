//! `subcat file`: stored files.

use clap::Args;
use subcat_engine::ReleaseId;

use super::access::{Missing, execute_once};
use super::context::Context;
use super::error::{ArgumentError, CommandError};
use super::subcommand::Subcommand;
use super::table::{facts, or_dash, or_never};
use crate::ops::{FileShown, ForgetFile, ShowFile};

/// Show and forget stored files
#[derive(Debug, Args)]
pub(super) struct FileArguments {
    #[command(subcommand)]
    action: FileAction,
}

#[derive(Debug, clap::Subcommand)]
enum FileAction {
    /// Show the stored file of a release
    Show {
        /// The upstream's name of the file: source_release_id of its records
        #[arg(value_parser = release)]
        release: String,
    },
    /// Forget the stored file of a release: the next download fetches it anew
    Forget {
        /// The upstream's name of the file: source_release_id of its records
        #[arg(value_parser = release)]
        release: String,
        /// Forget it though an import brought it, and no upstream has it
        #[arg(long)]
        force: bool,
    },
}

fn release(text: &str) -> Result<String, ArgumentError> {
    let release = ReleaseId::parse(text).map(|_| text.to_owned());
    ArgumentError::unless(release, "a release has 1 to 200 of A-Z a-z 0-9 . _ -")
}

impl Subcommand for FileArguments {
    const NAME: &'static str = "file";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let config = context.effective_of_existing()?;
        match self.action {
            FileAction::Show { release } => {
                let reply = execute_once(config, Missing::Refuse, ShowFile { release })?;
                context.show(&reply, shown)
            }
            FileAction::Forget { release, force } => {
                let reply = execute_once(config, Missing::Refuse, ForgetFile { release, force })?;
                context.show(&reply, |forgotten| {
                    let release = &forgotten.release;
                    format!("the file of {release} is forgotten: the next download fetches it\n")
                })
            }
        }
    }
}

fn shown(file: &FileShown) -> String {
    facts(&[
        ("release", file.release.clone()),
        ("kind", file.kind.clone()),
        ("bytes", file.size_bytes.to_string()),
        ("name", or_dash(file.upstream_name.as_ref())),
        ("fetched again", or_never(file.refetch_at.as_ref())),
        ("sha256", file.sha256.clone()),
        ("stored as", file.path.clone()),
    ])
}
