//! Accounts, API keys, sessions, usage and cached files: events, their tables, and the tables in
//! memory.
//!
//! [`State::apply`] is the one way to change them: frames of events become one durable transaction,
//! and only then readers see it.

mod event;
mod tables;
mod apply;
mod audit_rows;
mod key_rows;
mod clock_rows;
mod session_rows;
mod sign_in_rows;
mod file_table;
mod repair;
mod audit_witness;
mod touched;
mod node_rows;
mod view;
mod store;
mod path_rows;
mod file_rows;
mod content_walk;
mod memory_witness;

pub(crate) use apply::StateFrame;
pub(crate) use content_walk::{ContentWalk, files_from, key_after};
pub use event::{
    AggregatedPart, By, Change, DownloadAggregate, KeyBound, KeyRenewal, KeyRoll, NewAccount,
    NewApiKey, Outcome, RememberedFile, StateEvent, UsageBatch, UsageDelta,
};
pub(crate) use node_rows::{forget_others, identify, mark_aggregated};
pub(crate) use repair::scrub_rows;
pub(crate) use store::State;
pub(crate) use tables::{FILES, NODE, OFFSETS, OWN_STATE_ROWS, SHARED_STATE_TABLES, STATE_TABLES};
pub use touched::TouchedCredentials;
