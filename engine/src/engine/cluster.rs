//! An engine as a node of a cluster.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::open::Engine;
use crate::error::{Error, Result};
use crate::log_rows::{LogPosition, note_intended, read_intended};
use crate::model::NodeId;
use crate::replication::{
    self, Attachment, FrameVersions, Log, MonotonicClock, Replica, SnapshotSummary,
};

impl Engine {
    /// Position in the log of a cluster when the engine was opened; `None` if the data directory is
    /// in no cluster.
    pub fn log_position(&self) -> Option<LogPosition> {
        self.database().position()
    }

    /// Attaches to the log of the data directory's cluster. Called once, before the first change;
    /// from then on changes go through the log. `incarnation` must be larger than at every earlier
    /// start of this node, as a time in microseconds is.
    ///
    /// The caller must call [`Replica::step`] whenever [`Replica::wait`] returns, and
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

    /// Remembers the epoch of the log that is about to be made anew, until
    /// [`Engine::enter_cluster`]: a process that is killed in between has made the log and not
    /// entered it.
    pub fn intend_epoch(&self, epoch: u64) -> Result<()> {
        let state = self.database().state.store();
        state.write(|rows| note_intended(rows, epoch))
    }

    /// The epoch of a log that was about to be made, and was not entered.
    pub fn intended_epoch(&self) -> Result<Option<u64>> {
        self.database().state.store().read(read_intended)
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

    /// Takes this data directory out of its cluster, with all its data. The engine must be opened
    /// again.
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

    /// Writes a snapshot of the rows that nodes share: [`Engine::load_snapshot`] makes another node
    /// of it.
    pub fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        self.database().write_snapshot(out)
    }

    /// Loads a snapshot into this data directory, which must be new, checks it, and builds the
    /// index. The engine must be opened again.
    ///
    /// Errors: the snapshot is damaged: the data directory is unusable then.
    pub fn load_snapshot(&self, from: &mut dyn Read) -> Result<SnapshotSummary> {
        let database = self.database();
        let (catalog, state) = (database.catalog.store(), database.state.store());
        database.has_moved.store(true, Ordering::Release);
        let summary = replication::load_rows(from, catalog, state, database.node)?;
        database.catalog.rebuild_index()?;
        Ok(summary)
    }
}
