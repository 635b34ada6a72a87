//! Every change of state as a value.

mod state;

pub use state::{DownloadFold, NewAccount, NewApiKey, Outcome, StateEvent, UsageDelta};
