//! The state of a cluster in the view of one node.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use subcat_engine::{Engine, NodeId, NodeStatus, SnapshotSummary};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
use crate::cluster::{SnapshotPlace, SnapshotPlaceError, open_log, truncate_log};
use crate::config::Config;
use crate::runtime::SystemClock;
use crate::service::{ACCEPTS_NOTHING, ClusterNode, ClusterState};

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<ReadCluster>(),
    OperationEntry::of::<WriteSnapshot>(),
    OperationEntry::of::<ForgetNode>(),
];

/// `cluster/status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadCluster {}

/// Answer of [`ReadCluster`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterRead {
    /// Id of this node; none if the data directory is in no cluster.
    pub node: Option<String>,
    /// Epoch of the log.
    pub epoch: u64,
    /// Last entry of the log that is applied here.
    pub applied: u64,
    /// Entries that the log has beyond it, as of the last beat; none unless it is followed.
    pub lag: Option<u64>,
    /// `following`, `degraded` (the log is away, or entries are no longer applied), `stopped` (no
    /// server runs) or `alone`.
    pub state: String,
    /// Reason of a degraded state.
    pub problem: Option<String>,
    /// Copies of each entry that the log keeps, where it tells.
    #[serde(default)]
    pub log_copies: Option<u64>,
    /// Every node that is known, this one included.
    pub nodes: Vec<NodeRead>,
}

/// A node of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRead {
    /// Id of the node.
    pub node: String,
    /// Name of the node.
    pub name: String,
    /// Version of its program; empty if it was not heard since this server started.
    pub version: String,
    /// Last entry that its requests obey; none if it accepts none.
    pub applied: Option<u64>,
    /// Milliseconds since it was heard.
    pub heard_ms: u64,
    /// Sum of the rows.
    pub state_hash: String,
    /// Entry before which the sum was taken.
    pub hashed_at: u64,
    /// True if its rows differ from those of this node.
    pub is_diverged: bool,
}

impl Operation for ReadCluster {
    const NAME: &'static str = "cluster/status";
    type Answer = ClusterRead;

    async fn execute(self, operations: &Operations<'_>) -> Result<ClusterRead, OperationError> {
        let running = operations.service.and_then(|service| service.cluster());
        if let Some(node) = running {
            return Ok(ClusterRead::of(&node.state()));
        }
        Ok(match operations.engine.log_position() {
            Some(position) => ClusterRead {
                node: Some(position.node.to_string()),
                epoch: position.epoch,
                applied: position.seq,
                state: "stopped".into(),
                ..ClusterRead::default()
            },
            None => ClusterRead {
                state: "alone".into(),
                ..ClusterRead::default()
            },
        })
    }
}

/// `cluster/snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteSnapshot {
    /// Folder of snapshots, as an absolute path; none for the bucket of files.
    pub folder: Option<String>,
    /// True to drop the entries of the log that the snapshot before this one covers.
    pub truncate: bool,
    /// Snapshots that stay, the newest ones; none for all.
    pub keep: Option<NonZeroUsize>,
}

/// Answer of [`WriteSnapshot`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotWritten {
    /// Id of the node.
    pub node: String,
    /// Epoch of the log.
    pub epoch: u64,
    /// Last entry of the log that is in it.
    pub entry: u64,
    /// Rows.
    pub rows: u64,
    /// Sum of the rows.
    pub state_hash: String,
    /// Older snapshots that were removed.
    pub removed: u64,
}

impl SnapshotWritten {
    /// A snapshot that a node has written or read.
    pub fn new(node: NodeId, summary: &SnapshotSummary) -> Self {
        Self {
            node: node.to_string(),
            epoch: summary.epoch,
            entry: summary.seq,
            rows: summary.rows,
            state_hash: format!("{:016x}", summary.state_hash),
            removed: 0,
        }
    }
}

impl Operation for WriteSnapshot {
    const NAME: &'static str = "cluster/snapshot";
    type Answer = SnapshotWritten;

    async fn execute(self, operations: &Operations<'_>) -> Result<SnapshotWritten, OperationError> {
        let (engine, config) = (operations.engine, &operations.config);
        let position = engine.log_position();
        let position = position.ok_or(OperationRejection::NotInCluster)?;
        let folder = self.folder.map(PathBuf::from);
        let write = async {
            let place = SnapshotPlace::of(config, folder)?;
            let before = place.entries(position.epoch).await?;
            let summary = place.write(engine, &config.data.join("tmp")).await?;
            Ok::<_, SnapshotPlaceError>((place, before, summary))
        };
        let (place, before, summary) = write.await.map_err(OperationRejection::Snapshot)?;
        let covered = before.into_iter().rfind(|entry| *entry < summary.seq);
        let running = operations.service.and_then(|service| service.cluster());
        // A node that is there and catches up reads on from what it has applied.
        let read_from = running.and_then(|node| node.lowest_applied());
        let covered = covered.map(|entry| entry.min(read_from.unwrap_or(u64::MAX)));
        if self.truncate
            && let Some(covered) = covered
        {
            truncate(config, covered).await?;
        }
        let removed = match self.keep {
            Some(count) => place.keep_newest(position.epoch, count.get()).await,
            None => Ok(0),
        };
        Ok(SnapshotWritten {
            removed: removed.map_err(OperationRejection::Snapshot)?,
            ..SnapshotWritten::new(position.node, &summary)
        })
    }
}

/// `cluster/forget`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetNode {
    /// Name or number of a node that does not come back.
    pub node: String,
}

/// Answer of [`ForgetNode`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeForgotten {
    /// Id of the node.
    pub node: String,
    /// Name of the node.
    pub name: String,
}

impl Operation for ForgetNode {
    const NAME: &'static str = "cluster/forget";
    type Answer = NodeForgotten;

    async fn execute(self, operations: &Operations<'_>) -> Result<NodeForgotten, OperationError> {
        let running = operations.service.and_then(|service| service.cluster());
        let own = match running {
            Some(node) => Arc::clone(node),
            None => attach(operations.engine, &operations.config)?,
        };
        let is_running = running.is_some();
        let state = own.state().replica;
        let is_meant =
            |it: &&NodeStatus| it.node.to_string() == self.node || it.beat.name == self.node;
        let meant: Vec<&NodeStatus> = state.nodes.iter().filter(is_meant).collect();
        let rejection = match meant[..] {
            [it] if it.node == state.node => OperationRejection::OwnNode,
            [it] => {
                let (node, name) = (it.node.to_string(), it.beat.name.clone());
                let is_forgotten = if is_running {
                    own.forget(it.node).await?
                } else {
                    own.forget_alone(it.node)?
                };
                if is_forgotten {
                    return Ok(NodeForgotten { node, name });
                }
                OperationRejection::NodeHeard(self.node)
            }
            [] => OperationRejection::UnknownNode(self.node),
            _ => OperationRejection::AmbiguousNode(self.node),
        };
        Err(rejection.into())
    }
}

/// Attaches a data directory without a server to its log.
fn attach(engine: &Engine, config: &Config) -> Result<Arc<ClusterNode>, OperationError> {
    engine
        .log_position()
        .ok_or(OperationRejection::NotInCluster)?;
    let not_opened = OperationRejection::LogNotOpened;
    let address = config.cluster.log.as_ref();
    let address = address.ok_or_else(|| not_opened("it is not set".into()))?;
    let log = open_log(address, &config.cluster.stream);
    let log = log.map_err(|error| not_opened(error.to_string()))?;
    let clock = Arc::new(SystemClock::new());
    let node = ClusterNode::attach(engine, log, &config.cluster, clock)?;
    node.catch_up();
    Ok(node)
}

/// Drops entries of the log.
async fn truncate(config: &Config, through: u64) -> Result<(), OperationRejection> {
    let address = config.cluster.log.clone();
    let address = address.ok_or(OperationRejection::NotInCluster)?;
    let truncated = truncate_log(address, config.cluster.stream.clone(), through).await;
    truncated.map_err(|error| OperationRejection::NotTruncated(error.to_string()))
}

impl ClusterRead {
    /// The state as commands and pages show it.
    pub fn of(state: &ClusterState) -> Self {
        let nodes = state.replica.nodes.iter().map(|status| {
            let heard = state.now.saturating_sub(status.heard_at);
            let beat = &status.beat;
            NodeRead {
                node: status.node.to_string(),
                name: beat.name.clone(),
                version: beat.version.clone(),
                applied: (beat.applied != ACCEPTS_NOTHING).then_some(beat.applied),
                heard_ms: u64::try_from(heard.as_millis()).unwrap_or(u64::MAX),
                state_hash: format!("{:016x}", beat.state_hash),
                hashed_at: beat.hashed_at,
                is_diverged: status.is_diverged,
            }
        });
        let is_following = state.problem.is_none();
        Self {
            node: Some(state.replica.node.to_string()),
            epoch: state.replica.epoch,
            applied: state.replica.applied,
            lag: state.lag,
            state: if is_following {
                "following"
            } else {
                "degraded"
            }
            .into(),
            problem: state.problem.clone(),
            log_copies: state.replica.log_copies,
            nodes: nodes.collect(),
        }
    }
}

impl Operations<'_> {
    /// Nodes of the cluster that have not confirmed the last change of keys, a sentence each.
    pub(super) fn unconfirmed(&self) -> Vec<String> {
        let node = self.service.and_then(|service| service.cluster());
        node.map(|node| node.unconfirmed()).unwrap_or_default()
    }
}
