//! The one way of change: events go into a log as frames, and are applied in its order.
//!
//! A data directory alone has a log of its own, whose frames are values ([`LocalLog`]). Nodes of a
//! cluster share one: each appends what it changes, and everybody, the node itself too, applies
//! what the log says ([`Replica`]). Conflicts are decided when a frame is applied, and so the same
//! everywhere.
//!
//! # Stages of an entry
//!
//! ```text
//!           read          apply_records          finish_run         show
//!    (log) -----> Received ------------> unfinished --------> held -----> SHOWN
//!                                                              |            ^
//!                                                              | build      | note_built, show
//!                                                              +-> building +
//! ```
//!
//! | stage | durable | kept in | after a failure or a kill |
//! |---|---|---|---|
//! | read | nothing | `ahead`, then a run | it is read again, from `last` |
//! | records applied | its records | `unfinished` | the rest is applied first, or read again |
//! | applied | all of it | `held`, if this node's | a recovery shows the records |
//! | building | all of it | `building` | a recovery shows the records |
//! | shown | all of it | nothing | |
//!
//! The two files commit one after the other, so a power cut may leave `catalog` ahead of `state`:
//! entries up to each file's own position are skipped when that file gets them again. `last` is the
//! position up to which both are done. `ReplicaShared::applied`, which others see, follows only
//! when the records are shown.
//!
//! Example: this node imports three records, and its frame becomes entry 812. `step` reads entries
//! 810 to 812 as one run. A transaction of `catalog.redb` stores their records with the position
//! 812, then one of `state.redb` their other changes. `last` becomes 812, and the import's answer
//! is `held`. The run was the end of the log, so `show` publishes the records, gives the answer and
//! raises `applied` to 812. In a long catch-up the answer would wait in `building` until a thread
//! has written the segment.

mod log;
#[cfg(feature = "testing")]
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
mod pending_change;
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
#[cfg(feature = "testing")]
pub use memory_log::{LogFault, MemoryLog};
pub use node_status::NodeStatus;
pub use pending_change::PendingChange;
pub use replica::Replica;
pub(crate) use shared::{Attachment, Followed};
pub use shared::{MonotonicClock, ReplicaProgress, ReplicaStatus};
pub use snapshot::SnapshotSummary;
pub(crate) use snapshot::load_rows;
