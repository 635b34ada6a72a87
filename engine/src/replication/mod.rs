//! Many machines: changes as frames in a log that all nodes read and apply.
//!
//! A node appends what it changes, and everybody, the node itself too, applies what the log says,
//! in its order. Conflicts are decided when a frame is applied, and so the same everywhere.

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
mod replica;
mod follower;

pub use frame::Beat;
pub(crate) use frame::FrameVersions;
pub use log::{AppendError, Log, LogEntry, LogState, ReadError, next_epoch};
pub(crate) use membership::{CATALOG_SUM, STATE_SUM, enter, leave};
pub use memory_log::{LogFault, MemoryLog};
pub use node_status::NodeStatus;
pub use replica::Replica;
pub(crate) use shared::{Attachment, Followed};
pub use shared::{MonotonicClock, ReplicaProgress, ReplicaStatus};
pub use snapshot::SnapshotSummary;
pub(crate) use snapshot::{load_rows, write_rows};
