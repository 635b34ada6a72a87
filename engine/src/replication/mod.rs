//! The one way of change: events go into a log as frames, and are applied in its order.
//!
//! A data directory alone has a log of its own, whose frames are values ([`LocalLog`]). Nodes of a
//! cluster share one: each appends what it changes, and everybody, the node itself too, applies
//! what the log says ([`Replica`]). Conflicts are decided when a frame is applied, and so the same
//! everywhere.

mod log;
mod memory_log;
mod frame;
#[cfg(test)]
mod frame_test;
mod node_status;
mod read_ahead;
mod ticket;
mod membership;
mod snapshot;
mod shared;
mod change_log;
mod local_log;
mod importer;
mod replica;
mod follower;
mod shared_log;

pub(crate) use change_log::ChangeLog;
pub(crate) use frame::FrameVersions;
pub use frame::{Beat, BeatPromise};
pub use importer::Importer;
pub(crate) use local_log::LocalLog;
pub use log::{AppendError, Log, LogEntry, LogState, ReadError, next_epoch};
pub(crate) use membership::{CATALOG_SUM, STATE_SUM, enter, leave};
pub use memory_log::{LogFault, MemoryLog};
pub use node_status::NodeStatus;
pub use replica::Replica;
pub(crate) use shared::{Attachment, Followed};
pub use shared::{MonotonicClock, ReplicaProgress, ReplicaStatus};
pub use snapshot::SnapshotSummary;
pub(crate) use snapshot::load_rows;
