//! The command line: one file per subcommand.
//!
//! [`main`] reads the arguments, runs the subcommand and turns the outcome into an exit status: 0
//! done, 1 failed (one line on stderr with the error, its place and a remedy), 2 wrong usage.

mod access;
mod account;
mod backup;
mod check;
mod clock;
mod cluster;
mod compact;
#[cfg(feature = "packaging")]
mod completions;
mod context;
pub mod demo;
mod error;
mod explain;
mod export;
mod file;
mod file_store;
mod folder;
mod folder_arguments;
mod follow;
mod growing_file;
mod health;
mod import;
mod interrupt;
mod key;
mod line_batches;
mod logging;
#[cfg(feature = "packaging")]
mod man;
mod named_files;
mod output;
mod output_file;
mod ownership;
mod printable;
mod program;
mod progress;
mod record;
mod reload;
mod reloading;
mod restore;
mod serve;
mod stats;
mod subcommand;
mod table;
mod table_arguments;
mod top;
mod verify;
mod version;
mod watchdog;

pub use program::main;
