//! Every change of state as a value.

mod state;

pub use state::{NewAccount, NewApiKey, Outcome, StateEvent, UsageDelta};
