//! An engine as a node of a cluster.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::open::Engine;
use crate::error::{Error, Result};
use crate::log_rows::LogPosition;
use crate::model::NodeId;
use crate::replication::{
    self, Attachment, FrameVersions, Log, MonotonicClock, Replica, SnapshotSummary,
};

impl Engine {
    /// Position in the log of a cluster, as it was when the engine was opened; `None` if the data
    /// directory is in no cluster.
    pub fn log_position(&self) -> Option<LogPosition> {
        self.database().position()
    }

    /// Attaches to the log of the cluster that the data directory is in. Called once, before
    /// anything is changed; from then on changes go through the log. `incarnation` is larger than
    /// at every earlier start of this node, as the time in microseconds is.
    ///
    /// Someone must call [`Replica::step`] whenever [`Replica::wait`] returns, and
    /// [`Replica::beat`] every other second.
    ///
    /// Errors: the data directory is in no cluster.
    pub fn follow(
        &self,
        log: Arc<dyn Log>,
        clock: MonotonicClock,
        incarnation: u64,
    ) -> Result<Arc<Replica>> {
        self.database().follow(Attachment {
            log,
            clock,
            incarnation,
            versions: FrameVersions::OF_THIS_PROGRAM,
        })
    }

    /// Identity of this data directory, in a cluster or alone.
    pub fn node(&self) -> NodeId {
        self.database().node
    }

    /// Makes this data directory the beginning of a log with this epoch, which must be empty. The
    /// engine must be opened again.
    pub fn enter_cluster(&self, epoch: u64) -> Result<()> {
        let position = LogPosition {
            node: self.node(),
            epoch,
            seq: 0,
            digest: 0,
        };
        let database = self.database();
        let (catalog, state) = (database.catalog.store(), database.state.store());
        database.has_moved.store(true, Ordering::Release);
        replication::enter(catalog, state, &position)
    }

    /// Makes this data directory one alone again, with everything that it has. The engine must be
    /// opened again.
    ///
    /// Errors: it is in no cluster.
    pub fn leave_cluster(&self) -> Result<()> {
        let database = self.database();
        let Some(position) = database.position() else {
            let problem = "this data directory is in no cluster";
            return Err(Error::Cluster {
                problem: problem.into(),
            });
        };
        let (catalog, state) = (database.catalog.store(), database.state.store());
        database.has_moved.store(true, Ordering::Release);
        replication::leave(catalog, state, &position)
    }

    /// Writes a snapshot of everything that nodes share: [`Engine::load_snapshot`] makes another
    /// node of it.
    pub fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        self.database().write_snapshot(out)
    }

    /// Loads a snapshot into this data directory, which must be new, checks it, and builds the
    /// index. The engine must be opened again.
    ///
    /// Errors: the snapshot is damaged: the data directory is of no use then.
    pub fn load_snapshot(&self, from: &mut dyn Read) -> Result<SnapshotSummary> {
        let database = self.database();
        let (catalog, state) = (database.catalog.store(), database.state.store());
        database.has_moved.store(true, Ordering::Release);
        let summary = replication::load_rows(from, catalog, state, database.node)?;
        database.catalog.rebuild_index()?;
        Ok(summary)
    }
}
