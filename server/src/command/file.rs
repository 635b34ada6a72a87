//! `subcat file`: stored files.

use std::num::NonZeroU16;

use clap::Args;
use subcat_engine::ReleaseId;

use super::access::run_operation;
use super::context::Context;
use super::error::{ArgumentError, CommandError};
use super::subcommand::Subcommand;
use super::table::{bytes, facts, or_dash, or_never};
use crate::ops::{BucketSwept, FileShown, ForgetFile, ShowFile, SweepBucket};

/// Show and forget stored files, sweep their bucket
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
    /// Count the objects in the bucket of files.s3 that no file refers to, and remove them
    ///
    /// They are left when files are forgotten or replaced, or when two nodes fetch a file at once.
    /// Older backups may refer to them, and so may other services with the same bucket: remove none
    /// that is younger than the oldest backup, and none from a bucket that is shared. One that this
    /// data directory has not kept its files in is left as it is.
    Sweep {
        /// Days for which an object must have been there
        #[arg(long, value_name = "DAYS", default_value = "30")]
        older_than: NonZeroU16,
        /// Remove them
        #[arg(long)]
        remove: bool,
    },
}

fn release(text: &str) -> Result<String, ArgumentError> {
    let release = ReleaseId::parse(text).map(|_| text.to_owned());
    ArgumentError::unless(release, "a release has 1 to 200 of A-Z a-z 0-9 . _ -")
}

impl Subcommand for FileArguments {
    const NAME: &'static str = "file";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        match self.action {
            FileAction::Show { release } => run_operation(context, ShowFile { release }, shown),
            FileAction::Forget { release, force } => {
                run_operation(context, ForgetFile { release, force }, |forgotten| {
                    let release = &forgotten.release;
                    format!("the file of {release} is forgotten: the next download fetches it\n")
                })
            }
            FileAction::Sweep { older_than, remove } => {
                let sweep = SweepBucket {
                    older_than_days: older_than,
                    remove,
                };
                run_operation(context, sweep, swept)
            }
        }
    }
}

fn swept(done: &BucketSwept) -> String {
    let BucketSwept {
        contents, orphans, ..
    } = done;
    let size = bytes(done.orphan_bytes);
    let what = if done.are_removed {
        "were removed"
    } else {
        "can go (--remove)"
    };
    format!("of {contents} contents in the bucket {orphans} ({size}) {what}\n")
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
