//! How does an operator reach a running service? Metrics and health on the admin address; one
//! POST per subcommand on the socket file in the data directory.
//!
//! [`Desk`] performs what a subcommand asks on an open engine. It is the same whether the engine
//! belongs to a running server, which answers over the socket, or was opened by the subcommand.

mod accounts;
mod api_keys;
mod care;
mod client;
mod desk;
mod failure;
mod import;
mod import_frames;
mod metrics;
mod operation;
mod pages;
mod records;
mod socket;
mod stream;

pub use accounts::AccountListed;
pub use api_keys::{DayShown, KeyCreated, KeyListed, KeyShown};
pub use care::{BackupMade, FindingShown, Stats};
pub use client::Client;
pub use desk::Desk;
pub use failure::Failure;
pub use import::{ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, import};
pub use import_frames::FrameWriter;
pub use operation::{NewAccountOrder, NewKeyOrder, Operation};
pub use pages::admin_pages;
pub use socket::admin_socket;
pub use stream::SentBody;
