//! Administrative operations: each exists once, for the pages, the admin socket and the
//! subcommands.

mod accounts;
mod api_keys;
mod error;
mod execute;
mod import;
mod maintenance;
mod operation;
mod records;

pub use accounts::AccountListed;
pub use api_keys::{DayShown, KeyCreated, KeyListed, KeyShown};
pub use error::Failure;
pub use execute::Operations;
pub use import::{ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import};
pub use maintenance::{BackupMade, FindingShown, Stats};
pub use operation::{NewAccountOrder, NewKeyOrder, Operation};
