//! Every change of state as a value.

mod catalog;
mod state;

pub(crate) use catalog::{CatalogEvent, CatalogOutcome};
pub use state::{DownloadFold, NewAccount, NewApiKey, Outcome, StateEvent, UsageDelta};
