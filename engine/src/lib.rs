//! The subtitle catalog as a library: records in, searches and files out.
//!
//! The engine is synchronous. It knows no HTTP, no async, no clock and no randomness of its own
//! (they come in as parameters), and it spawns nothing. [`Engine`] is the door.
//!
//! Modules are declared bottom-up; a module imports only from modules above it.
#![deny(unsafe_code)]

pub mod blob;
pub mod codec;
pub mod disk;
mod engine;
pub mod error;
pub mod event;
pub mod index;
pub mod limits;
pub mod model;
pub mod plan;
pub mod query;
pub mod search;
pub mod store;
pub mod text;
pub mod write;

pub use engine::{
    CounterLane, Engine, EngineStats, Finding, ImportSummary, Importer, Options, StoreKind,
};
pub use error::{Error, Result};
