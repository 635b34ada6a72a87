//! The five endpoints, one file each. `checks` alone defines the order of checks, and
//! `address_checks` that below an address.

mod accounting;
mod address_answers;
mod address_checks;
mod checks;
mod connection;
mod download;
mod file_list;
mod health;
mod page_files;
mod record;
mod request_report;
mod search;
mod text_files;
mod variants;
mod worker;

pub(crate) use address_answers::SnapshotHits;
pub(crate) use address_checks::{AddressTarget, Admitted};
pub use checks::{ApiRequest, RefusedRequest};
pub use connection::{AuthResult, ConnectionMemory};
pub use page_files::{PageDownload, PageFileRejection, open_file};
pub use request_report::RequestReport;
pub use text_files::TextFiles;
pub use variants::{FileVariants, compress};
pub(crate) use worker::failed;
pub use worker::{ApiWorker, SharedFiles};
