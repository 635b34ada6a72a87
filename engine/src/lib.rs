//! The subtitle catalog as a library: records in, searches and files out.
//!
//! The engine is synchronous. It knows no HTTP, no async, no clock and no randomness of its own
//! (they come in as parameters), and it spawns nothing. [`Engine`] is the door.
//!
//! Modules are declared bottom-up; a module imports only from modules above it.
#![deny(unsafe_code)]

pub mod limits;
pub mod error;
pub mod disk;
pub mod model;
pub mod text;
pub mod codec;
pub mod query;
pub mod blob;
pub mod store;
mod data_dir;
mod state;
mod counters;
pub mod index;
pub mod plan;
pub mod search;
mod catalog;
mod database;
mod maintenance;
mod engine;

pub use catalog::{ImportSummary, Importer};
pub use counters::CounterLane;
pub use engine::{
    AccountsHandle, CatalogHandle, Engine, FilesHandle, Options, StoreKind, UsageHandle,
};
pub use error::{Error, Result, error_chain};
pub use maintenance::{BackupSummary, EngineStats, Finding, Restored, restore};
pub use state::{
    AggregatedPart, By, Change, DownloadAggregate, NewAccount, NewApiKey, Outcome, StateEvent,
    UsageBatch, UsageDelta,
};
