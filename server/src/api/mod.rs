//! The four endpoints, one file each; the order of checks stands in one place, `checks`.

mod access_log;
mod accounting;
mod checks;
mod connection;
mod download;
mod health;
mod record;
mod search;
mod variants;
mod worker;

pub use access_log::AccessLine;
pub use checks::ApiRequest;
pub use connection::{AuthResult, ConnectionMemory};
pub use variants::{FileVariants, compress, stored_file};
pub use worker::ApiWorker;
