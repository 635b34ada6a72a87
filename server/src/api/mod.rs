//! The four endpoints, one file each; the order of checks stands in one place, `checks`.

mod accounting;
mod checks;
mod connection;
mod download;
mod health;
mod record;
mod request_report;
mod search;
mod variants;
mod worker;

pub use checks::ApiRequest;
pub use connection::{AuthResult, ConnectionMemory};
pub use request_report::RequestReport;
pub use variants::{FileVariants, compress, stored_file};
pub use worker::ApiWorker;
