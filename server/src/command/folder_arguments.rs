//! Options of `subcat import` for a folder.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::folder::PruneMode;

/// Options for a folder.
#[derive(Debug, Args)]
pub(super) struct FolderArguments {
    /// Delete the records of deleted files of DIR, unless that is most of them; with =all in any
    /// case
    #[arg(
        long,
        value_enum,
        value_name = "all",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "gone",
        hide_possible_values = true
    )]
    pub(super) prune: Option<PruneName>,
    /// Table of corrections for DIR: a column file, and fields that go before what is read
    /// [default: DIR/subcat.csv]
    #[arg(long, value_name = "FILE")]
    pub(super) fix: Option<PathBuf>,
    /// Write a table of all files of DIR, their fields and the reasons, to be corrected
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    pub(super) to: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PruneName {
    /// The deletions of an ordinary change
    Gone,
    /// All of them
    All,
}

impl From<PruneName> for PruneMode {
    fn from(name: PruneName) -> Self {
        match name {
            PruneName::Gone => Self::Ordinary,
            PruneName::All => Self::All,
        }
    }
}
