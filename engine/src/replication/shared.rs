//! State that a node's two ends of the log share: the one that appends, the one that applies.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::frame::FrameVersions;
use super::log::{Log, ReadError};
use super::node_status::NodeStatus;
use super::ticket::ChangeTicket;
use crate::catalog::Catalog;
use crate::counters::DownloadTable;
use crate::damage::DamageLog;
use crate::error::{Error, Result};
use crate::log_rows::note_doubt;
use crate::model::NodeId;
use crate::state::{State, TouchedCredentials};

/// Time limit for applying a change of the log here; then its caller learns that it is not applied.
pub(super) const APPLY_LIMIT: Duration = Duration::from_secs(10);

/// A clock that is never set back: the time since a fixed moment.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// Parts of a database that follow the log.
pub(crate) struct Followed {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) state: Arc<State>,
    pub(crate) downloads: Arc<DownloadTable>,
    /// Damage that was met in both files.
    pub(crate) damage: Arc<DamageLog>,
}

/// A log to attach to, and the parameters.
pub(crate) struct Attachment {
    pub(crate) log: Arc<dyn Log>,
    pub(crate) clock: MonotonicClock,
    /// Incarnation: a number that is larger at each start of the node.
    pub(crate) incarnation: u64,
    pub(crate) versions: FrameVersions,
}

/// State of this node.
#[derive(Debug, Clone)]
pub struct ReplicaStatus {
    /// Id of this node.
    pub node: NodeId,
    /// Epoch of the log.
    pub epoch: u64,
    /// Copies of each entry that the log keeps, where it tells.
    pub log_copies: Option<u64>,
    /// Number of the last entry that was applied.
    pub applied: u64,
    /// Nodes that have given a beat and have not left, this one included.
    pub nodes: Vec<NodeStatus>,
    /// Reason for which applying has stopped, until the process is started again.
    pub stopped: Option<String>,
    /// Time of the clock up to which every acknowledged change is known to be applied here; none
    /// before the first beat of this process came back.
    pub fresh_as_of: Option<Duration>,
}

/// The part of [`ReplicaStatus`] for health checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplicaProgress {
    /// Number of the last entry that was applied.
    pub applied: u64,
    /// True once applying has stopped, until the process is started again.
    pub is_stopped: bool,
    /// As [`ReplicaStatus::fresh_as_of`].
    pub fresh_as_of: Option<Duration>,
}

/// An own frame that is not applied yet.
pub(super) struct PendingFrame {
    /// Changes in it.
    pub(super) tickets: Vec<Arc<ChangeTicket>>,
    /// Time at which it was known to be in the log.
    pub(super) appended_at: Option<Duration>,
}

/// State of both ends.
pub(super) struct ReplicaShared {
    pub(super) log: Arc<dyn Log>,
    pub(super) clock: MonotonicClock,
    pub(super) followed: Followed,
    pub(super) node: NodeId,
    pub(super) epoch: u64,
    /// Incarnation of this start.
    pub(super) incarnation: u64,
    /// The last start before this one that has appended, as this data directory knows it.
    pub(super) start_before: Option<u64>,
    /// Epoch of a log that this node was about to make, and has not entered.
    pub(super) intended_epoch: Option<u64>,
    /// Own frames that are in the log, or may be, by their number.
    pub(super) pending: Mutex<HashMap<u64, PendingFrame>>,
    /// Number of the last entry that was applied and is shown.
    pub(super) applied: AtomicU64,
    /// Number of the last entry with its state applied: while there is no space for records
    /// it is ahead.
    pub(super) obeyed: AtomicU64,
    /// False after entries could not be applied.
    pub(super) can_apply: AtomicBool,
    pub(super) versions: FrameVersions,
    /// Nodes that have given a beat and have not left.
    pub(super) nodes: Mutex<BTreeMap<NodeId, NodeStatus>>,
    pub(super) stopped: Mutex<Option<String>>,
    pub(super) touched: Mutex<TouchedCredentials>,
    /// Log position up to which changes of accounts and keys are applied, or a later one.
    pub(super) keys_changed_at: AtomicU64,
    /// True if a beat is due at once: keys have changed.
    pub(super) is_beat_wanted: AtomicBool,
}

impl ReplicaShared {
    /// The problem that the log has another epoch, 0 for none at all.
    pub(super) fn another_epoch(&self, epoch: u64) -> String {
        let followed = self.epoch;
        if epoch == 0 {
            return format!(
                "there is no log of this name, this data directory follows epoch {followed}: check \
                 cluster.log and cluster.stream; if the log is lost, run `subcat cluster reseed` \
                 on the node with the highest number, and `subcat cluster join` with an empty data \
                 directory on the others"
            );
        }
        if self.intended_epoch == Some(epoch) {
            return "this node has made the log anew, and was interrupted before it entered it: \
                    stop its server, and run `subcat cluster reseed` again"
                .to_owned();
        }
        format!(
            "the log has epoch {epoch}, this data directory follows epoch {followed}: check \
             cluster.log and cluster.stream; if the log was made anew, run `subcat cluster join` \
             with an empty data directory"
        )
    }

    /// Stops the replica and fails all waiting callers with `problem`.
    pub(super) fn stop(&self, problem: String) -> Error {
        self.stopped.lock().get_or_insert_with(|| problem.clone());
        for (_, frame) in self.pending.lock().drain() {
            for ticket in frame.tickets {
                let reason = problem.clone();
                ticket.answer(Err(Error::LogUnanswered { reason }));
            }
        }
        Error::Cluster { problem }
    }

    /// Tells tasks that wait for frames of the log for too long that these are not applied yet.
    pub(super) fn give_up_late(&self, reason: &str) {
        let now = (self.clock)();
        for frame in self.pending.lock().values() {
            if frame.appended_at.is_some_and(|at| at + APPLY_LIMIT <= now) {
                frame.tickets.iter().for_each(|it| it.give_up(reason));
            }
        }
    }

    /// Errors: rows of this node may be lost, or older than they were. Nothing is applied or
    /// appended, and not after a start either.
    pub(super) fn ensure_believed(&self) -> Result<()> {
        let Some(reason) = self.followed.damage.doubt() else {
            return Ok(());
        };
        let state = self.followed.state.store();
        // If it cannot be stored the next start, or its scrubber, meets the damage again.
        let _ = state.write(|rows| note_doubt(rows, &reason));
        Err(self.stop(must_join_again(&reason)))
    }

    /// Number of the last entry that was applied and is shown.
    pub(super) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }
}

/// The problem of a node whose rows may not be those of the others.
pub(super) fn must_join_again(reason: &str) -> String {
    format!(
        "{reason}: rows that this node shares with others may be lost or older than they were; run \
         `subcat cluster join` with an empty data directory"
    )
}

pub(super) fn unavailable(error: &ReadError) -> Error {
    Error::LogUnavailable {
        reason: error.reason(),
    }
}
