//! Logs that the nodes of a cluster share: [`Log`](subcat_engine::Log) over NATS JetStream and over
//! PostgreSQL, [`Exchange`] for messages that may be lost, and places of snapshots.
//!
//! Both are clients that block, with a runtime of their own, and reconnect by themselves. No call
//! takes much longer than its limit. [`open_log`] turns a setting into one of them.

mod address;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod blocking;
mod exchange;
#[cfg(any(feature = "nats", feature = "postgres"))]
mod mailbox;
#[cfg(feature = "nats")]
mod nats_exchange;
#[cfg(feature = "nats")]
mod nats_log;
mod open_log_error;
#[cfg(feature = "postgres")]
mod postgres_exchange;
#[cfg(feature = "postgres")]
mod postgres_log;
mod snapshot_place;
mod truncation;

pub use address::{LogAddress, open_exchange, open_log};
pub use exchange::{Exchange, MessageKind};
pub use open_log_error::OpenLogError;
pub use snapshot_place::{SnapshotPlace, SnapshotPlaceError};
pub use truncation::truncate_log;
