//! Every change of state as a value.

mod catalog;
mod state;

pub(crate) use catalog::{CatalogEvent, CatalogOutcome};
pub use state::{
    By, Change, DownloadFold, FoldedPart, NewAccount, NewApiKey, Outcome, StateEvent, UsageBatch,
    UsageDelta,
};
