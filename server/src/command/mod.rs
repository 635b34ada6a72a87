//! The command line: one file per subcommand.
//!
//! [`main`] reads the arguments, runs what they name and turns the outcome into an exit status:
//! 0 done, 1 failed (one line on stderr says what, where, and what to do), 2 wrong usage.

mod access;
mod account;
mod arguments;
mod backup;
mod check;
mod completions;
mod context;
pub mod demo;
mod explain;
mod export;
mod follow;
mod import;
mod interrupt;
mod key;
mod logging;
mod man;
mod output_file;
mod progress;
mod record;
mod restore;
mod serve;
mod stats;
mod table;
mod verify;
mod version;

pub use arguments::main;
