//! A node's end of the log: appends the changes of this node, applies those of all nodes.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::change_log::ChangeQueue;
use super::follower::Follower;
use super::frame::{Beat, BeatPromise, Departure, Event, FrameVersions, LogFrame};
use super::log::AppendError;
use super::node_status::NodeStatus;
use super::pending_change::PendingChange;
use super::shared::{
    APPLY_LIMIT, Attachment, Followed, PendingFrame, ReplicaProgress, ReplicaShared, ReplicaStatus,
    must_join_again, unavailable,
};
use super::snapshot::{SnapshotSummary, write_rows};
use super::ticket::{ChangeTicket, EventOutcome, bytes_of, of_state, repeat};
use crate::error::{Error, Result};
use crate::limits::{ANNOUNCED_FILES_MAX, FRAME_BYTES_MAX, UNANNOUNCED_FILES_MAX};
use crate::log_rows::{
    FrameOrigin, LogPosition, last_beats, last_start, note_start, read_doubt, read_intended,
    read_start,
};
use crate::model::NodeId;
use crate::state::{StateEvent, TouchedCredentials};

/// Time for which bytes in an unknown state are appended again.
const RETRY_LIMIT: Duration = Duration::from_secs(10);
/// Pause before they are.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// A node's end of the log.
pub struct Replica {
    shared: ReplicaShared,
    queue: ChangeQueue,
    /// Number of the last own frame; held while one is appended.
    appending: Mutex<u64>,
    follower: Mutex<Follower>,
    fresh_as_of: Mutex<Option<Duration>>,
    /// True once the number of this start is stored.
    is_start_noted: AtomicBool,
    /// Files that were stored while the log was unavailable.
    unannounced: Mutex<Vec<StateEvent>>,
}

impl Replica {
    /// Attaches to a log. The incarnation is a time, so that it is larger than at every earlier
    /// start of this node. The first read of the log checks that it is the right one.
    pub(crate) fn attach(
        attachment: Attachment,
        followed: Followed,
        positions: [LogPosition; 2],
    ) -> Result<Self> {
        // Any entry before may have changed keys.
        let position_max = positions[0].seq.max(positions[1].seq);
        let follower = Follower::new(&followed, positions);
        let position = follower.position();
        let (catalog, state) = (followed.catalog.store(), followed.state.store());
        let heard_at = (attachment.clock)();
        let mut nodes = BTreeMap::new();
        for (node, stored) in state.read(last_beats)? {
            nodes.insert(node, NodeStatus::from_row(node, &stored, heard_at)?);
        }
        let doubt = catalog.read(read_doubt)?.or(state.read(read_doubt)?);
        let intended_epoch = state.read(read_intended)?;
        // The clock may have been set back: frames of a smaller incarnation would be skipped.
        let start_before = state.read(read_start)?;
        let own_starts = [
            start_before,
            catalog.read(|rows| last_start(rows, position.node))?,
            state.read(|rows| last_start(rows, position.node))?,
            nodes.get(&position.node).map(|it| it.origin.incarnation),
        ];
        let last_start = own_starts.into_iter().flatten().max();
        let incarnation = attachment.incarnation;
        let incarnation = incarnation.max(last_start.map_or(0, |last| last + 1));
        Ok(Self {
            shared: ReplicaShared {
                log: attachment.log,
                clock: attachment.clock,
                followed,
                node: position.node,
                epoch: position.epoch,
                incarnation,
                start_before,
                intended_epoch,
                versions: attachment.versions,
                pending: Mutex::default(),
                applied: AtomicU64::new(position.seq),
                obeyed: AtomicU64::new(position.seq),
                can_apply: AtomicBool::new(true),
                nodes: Mutex::new(nodes),
                stopped: Mutex::new(doubt.map(|reason| must_join_again(&reason))),
                touched: Mutex::default(),
                keys_changed_at: AtomicU64::new(position_max),
                is_beat_wanted: AtomicBool::new(false),
            },
            queue: ChangeQueue::default(),
            appending: Mutex::new(0),
            follower: Mutex::new(follower),
            fresh_as_of: Mutex::new(None),
            is_start_noted: AtomicBool::new(false),
            unannounced: Mutex::default(),
        })
    }

    pub(super) fn change(&self, events: Vec<Event>) -> Result<Vec<EventOutcome>> {
        let ticket = self.submit(events);
        self.wait_for(&ticket)
    }

    /// Appends changes, in one frame.
    pub(super) fn submit(&self, events: Vec<Event>) -> Arc<ChangeTicket> {
        let ticket = self.enqueue(events);
        // One append at a time: the next caller takes everything queued by then.
        let mut number = self.appending.lock();
        while self.queue.has(&ticket) {
            *number += 1;
            self.append(*number, self.queue.take(FRAME_BYTES_MAX));
        }
        ticket
    }

    /// Queues changes, which the next append takes. Their ticket has its answer already if they
    /// are not possible here.
    pub(super) fn enqueue(&self, events: Vec<Event>) -> Arc<ChangeTicket> {
        let bytes = events.iter().map(bytes_of).sum();
        let ticket = Arc::new(ChangeTicket::new(events, bytes));
        match self.check_possible(&ticket) {
            Ok(()) => self.queue.add(&ticket),
            Err(error) => ticket.answer(Err(error)),
        }
        ticket
    }

    /// Appends the changes that callers have queued, once there are any, in one frame. Called in a
    /// loop by a thread of its own; waits up to `at_most` for the first one.
    pub fn append_queued(&self, at_most: Duration) {
        self.queue.wait(at_most);
        let mut number = self.appending.lock();
        let tickets = self.queue.take(FRAME_BYTES_MAX);
        // Another caller may have taken them.
        if !tickets.is_empty() {
            *number += 1;
            self.append(*number, tickets);
        }
    }

    /// Errors: the changes cannot be in one frame, or this node could not apply them.
    fn check_possible(&self, ticket: &ChangeTicket) -> Result<()> {
        if FRAME_BYTES_MAX < ticket.bytes {
            let problem = format!("a change takes more than {FRAME_BYTES_MAX} bytes of the log");
            return Err(Error::Cluster { problem });
        }
        self.note_start()?;
        self.check_space(ticket)
    }

    /// Stores the number of this start before anything is appended: a data directory that is set
    /// back to an older copy meets frames of starts that it knows nothing of.
    fn note_start(&self) -> Result<()> {
        if !self.is_start_noted.load(Ordering::Acquire) {
            let number = self.shared.incarnation;
            let state = self.shared.followed.state.store();
            state.write(|rows| note_start(rows, number))?;
            self.is_start_noted.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Errors: this node could not apply the events. Others could, and it would fall behind.
    fn check_space(&self, ticket: &ChangeTicket) -> Result<()> {
        let events = ticket.events.lock();
        let followed = &self.shared.followed;
        if events.iter().any(|it| matches!(it, Event::Catalog(_))) {
            followed.catalog.store().check_space()?;
        }
        if events.iter().any(|it| matches!(it, Event::State(_))) {
            followed.state.store().check_space()?;
        }
        Ok(())
    }

    fn append(&self, number: u64, tickets: Vec<Arc<ChangeTicket>>) {
        if let Some(problem) = self.shared.stopped.lock().clone() {
            for ticket in tickets {
                let problem = problem.clone();
                ticket.answer(Err(Error::Cluster { problem }));
            }
            return;
        }
        let mut events = Vec::new();
        for ticket in &tickets {
            events.append(&mut ticket.events.lock());
        }
        let origin = FrameOrigin {
            node: self.shared.node,
            incarnation: self.shared.incarnation,
            number,
        };
        let frame = LogFrame {
            version: self.version_to_write(),
            epoch: self.shared.epoch,
            origin,
            events,
        };
        // Before the append: another thread may apply it before this one learns of its success.
        let pending = PendingFrame {
            tickets,
            appended_at: None,
        };
        self.shared.pending.lock().insert(number, pending);
        let applied = self.shared.applied();
        let failed = match self.append_body(&frame.encode()) {
            Ok(seq) if applied < seq => {
                if let Some(frame) = self.shared.pending.lock().get_mut(&number) {
                    frame.appended_at = Some((self.shared.clock)());
                }
                return;
            }
            Ok(seq) => FailedAppend::lost_entries(seq, applied),
            Err(failed) => failed,
        };
        let pending = self.shared.pending.lock().remove(&number);
        for ticket in pending.into_iter().flat_map(|frame| frame.tickets) {
            ticket.answer(Err(repeat(&failed.error)));
        }
        // Last: frames before this one may be in the log, and their callers get that answer.
        if let Some(problem) = failed.problem {
            self.shared.stop(problem);
        }
    }

    /// The newest version of frames that all nodes read. Stopped and silent nodes count: they may
    /// come back with their old program.
    fn version_to_write(&self) -> u8 {
        let FrameVersions { oldest, newest } = self.shared.versions;
        // Until a beat has come back there may be nodes with beats that this one has not read.
        if self.fresh_as_of.lock().is_none() {
            return oldest;
        }
        let nodes = self.shared.nodes.lock();
        let others = nodes.values().filter(|it| it.node != self.shared.node);
        let lowest = others.map(|it| it.beat.reads).min();
        lowest.unwrap_or(newest).clamp(oldest, newest)
    }

    /// Appends the same bytes until it is known if they are in the log.
    fn append_body(&self, body: &[u8]) -> Result<u64, FailedAppend> {
        let end = (self.shared.clock)() + RETRY_LIMIT;
        let mut is_open = false;
        loop {
            match self.shared.log.append(self.shared.epoch, body) {
                Ok(seq) => return Ok(seq),
                Err(AppendError::OtherEpoch { epoch }) => {
                    let problem = self.shared.another_epoch(epoch);
                    return Err(FailedAppend::stopping(problem, is_open));
                }
                Err(AppendError::Unavailable(reason)) if !is_open => {
                    return Err(Error::LogUnavailable { reason }.into());
                }
                Err(error @ AppendError::NoLog) if !is_open => {
                    let reason = error.to_string();
                    return Err(Error::LogUnavailable { reason }.into());
                }
                Err(error) if end <= (self.shared.clock)() => {
                    let reason = error.reason();
                    return Err(Error::LogUnanswered { reason }.into());
                }
                Err(_) => is_open = true,
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    /// Waits for an answer. The waiting thread applies the log, unless another one does.
    pub(super) fn wait_for(&self, ticket: &ChangeTicket) -> Result<Vec<EventOutcome>> {
        let end = (self.shared.clock)() + APPLY_LIMIT;
        loop {
            let applied = match self.follower.try_lock() {
                Some(mut follower) if !ticket.is_answered() => follower.step(&self.shared),
                // Another thread applies the waiting entries.
                _ => Ok(false),
            };
            let pause = if applied.is_ok() {
                Duration::from_millis(1)
            } else {
                RETRY_PAUSE
            };
            if let Some(answer) = ticket.take(pause) {
                return answer;
            }
            if end <= (self.shared.clock)() {
                let reason = reason_of_delay(&applied);
                return Err(Error::LogUnanswered { reason });
            }
        }
    }

    /// Reads a part of the log and applies it. Returns true if there is more.
    ///
    /// Errors: the log or a file cannot be read: the next call tries again, unless
    /// [`ReplicaStatus::stopped`] is set.
    pub fn step(&self) -> Result<bool> {
        if let Some(problem) = self.shared.stopped.lock().clone() {
            return Err(Error::Cluster { problem });
        }
        let applied = self.follower.lock().step(&self.shared);
        self.shared.give_up_late(&reason_of_delay(&applied));
        applied
    }

    /// Waits until the log has unapplied entries, or for that time.
    pub fn wait(&self, at_most: Duration) {
        self.shared.log.wait(self.shared.applied(), at_most);
    }

    /// Appends a sign of life, and waits until it has come back. Called every other second, and
    /// when [`Replica::is_beat_wanted`]. Requests here obey everything up to `visible`, and keys
    /// are accepted for as long as `promise` says, whatever comes back.
    pub fn beat(
        &self,
        name: &str,
        version: &str,
        visible: u64,
        promise: BeatPromise,
    ) -> Result<()> {
        let (hashed_at, state_hash) = {
            let mut follower = self.follower.lock();
            follower.check_log(&self.shared)?;
            follower.last_hash()
        };
        let beat = Beat {
            name: name.to_owned(),
            version: version.to_owned(),
            applied: visible,
            hashed_at,
            state_hash,
            reads: self.shared.versions.newest,
            promise,
            can_apply: self.shared.can_apply.load(Ordering::Acquire),
            free_bytes: self.shared.followed.state.store().free_bytes().unwrap_or(0),
        };
        let began = (self.shared.clock)();
        let ticket = self.submit(vec![Event::Beat(beat)]);
        self.wait_for(&ticket)?;
        let mut fresh_as_of = self.fresh_as_of.lock();
        *fresh_as_of = (*fresh_as_of).max(Some(began));
        Ok(())
    }

    /// Announces to all nodes that one has left for good: they stop waiting for it. Returns false
    /// if it has given a beat after the entry `as_of`, or does so later: it is there then.
    pub fn dismiss(&self, node: NodeId, as_of: u64) -> Result<bool> {
        let departure = Departure { node, as_of };
        self.change(vec![Event::Departure(departure)])?;
        Ok(!self.knows(node))
    }

    /// Begins what [`Replica::dismiss`] does, without outcomes: [`Replica::knows`] tells then.
    pub fn submit_dismissal(&self, node: NodeId, as_of: u64) -> PendingChange {
        let departure = Departure { node, as_of };
        PendingChange::logged(self.enqueue(vec![Event::Departure(departure)]), of_state)
    }

    /// Returns true if a node has given a beat and has not left.
    pub fn knows(&self, node: NodeId) -> bool {
        self.shared.nodes.lock().contains_key(&node)
    }

    /// Announces to the other nodes that this one, which accepts nothing, leaves. Does not wait
    /// until the announcement is applied here.
    pub fn depart(&self) -> Result<()> {
        let departure = Departure {
            node: self.shared.node,
            as_of: self.last_entry()?,
        };
        let ticket = self.submit(vec![Event::Departure(departure)]);
        // What failed has its answer.
        ticket
            .take(Duration::ZERO)
            .map_or(Ok(()), |it| it.map(drop))
    }

    /// Keeps events that no other node waits for, until the log is available again. When the
    /// process ends they are lost: the files are fetched again.
    pub(crate) fn announce_later(&self, events: Vec<StateEvent>) {
        let mut unannounced = self.unannounced.lock();
        if unannounced.len() < UNANNOUNCED_FILES_MAX {
            unannounced.extend(events);
        }
    }

    /// Appends the events kept while the log was unavailable. Called now and then.
    pub fn announce(&self) -> Result<()> {
        let mut unannounced = std::mem::take(&mut *self.unannounced.lock());
        while !unannounced.is_empty() {
            let count = unannounced.len().min(ANNOUNCED_FILES_MAX);
            let part: Vec<StateEvent> = unannounced.drain(..count).collect();
            let events = part.iter().cloned().map(Event::State);
            if let Err(error) = self.change(events.collect()) {
                // Announced twice, a file is the same.
                unannounced.extend(part);
                self.announce_later(unannounced);
                return Err(error);
            }
        }
        Ok(())
    }

    /// Returns true if other nodes wait for what this one has applied: once for each reason.
    pub fn is_beat_wanted(&self) -> bool {
        self.shared.is_beat_wanted.swap(false, Ordering::AcqRel)
    }

    /// Sequence number of the last entry that was applied and is shown. Cost: one load of an
    /// atomic.
    pub fn applied(&self) -> u64 {
        self.shared.applied()
    }

    /// Number of the last entry that accounts and keys here obey: while there is no space for
    /// records, they are ahead of what is applied. Cost: two loads of atomics.
    pub fn obeyed(&self) -> u64 {
        let obeyed = self.shared.obeyed.load(Ordering::Acquire);
        self.shared.applied().max(obeyed)
    }

    /// Log position up to which changes of accounts and keys are applied; it may be that of a later
    /// entry. Beats, which come all the time, do not raise it. Cost: one load of an atomic.
    pub fn keys_changed_at(&self) -> u64 {
        self.shared.keys_changed_at.load(Ordering::Acquire)
    }

    /// Accounts and keys that were touched since the last call, by this node or another.
    pub fn take_touched(&self) -> TouchedCredentials {
        std::mem::take(&mut *self.shared.touched.lock())
    }

    /// Id of this node.
    pub fn node(&self) -> NodeId {
        self.shared.node
    }

    /// Progress of this node in the log. Cost: two locks that are held for a moment, for any number
    /// of nodes.
    pub fn progress(&self) -> ReplicaProgress {
        ReplicaProgress {
            applied: self.shared.applied(),
            is_stopped: self.shared.stopped.lock().is_some(),
            fresh_as_of: *self.fresh_as_of.lock(),
        }
    }

    /// State of this node, and of the others as known to it. Cost: a copy of their list.
    pub fn status(&self) -> ReplicaStatus {
        ReplicaStatus {
            node: self.shared.node,
            epoch: self.shared.epoch,
            log_copies: self.shared.log.copies(),
            applied: self.shared.applied(),
            nodes: self.shared.nodes.lock().values().cloned().collect(),
            stopped: self.shared.stopped.lock().clone(),
            fresh_as_of: *self.fresh_as_of.lock(),
        }
    }

    /// Sequence number of the last entry of the log. Asks the log.
    pub fn last_entry(&self) -> Result<u64> {
        let state = self
            .shared
            .log
            .state()
            .map_err(|error| unavailable(&error))?;
        Ok(state.last)
    }

    /// Writes a snapshot of the present moment, while further changes are applied.
    pub(crate) fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        let mut follower = self.follower.lock();
        // Both files have the same position then.
        follower.store_position(&self.shared)?;
        let mut follower = Some(follower);
        let (catalog, state) = (
            self.shared.followed.catalog.store(),
            self.shared.followed.state.store(),
        );
        catalog.read(|catalog| {
            state.read(|state| {
                // Both files are read at this moment: later changes are not seen.
                drop(follower.take());
                write_rows(catalog, state, out)
            })
        })
    }

    /// Stores the position of both files in the log. Called now and then: entries without changes
    /// do not store it.
    pub fn store_position(&self) -> Result<()> {
        self.follower.lock().store_position(&self.shared)
    }

    /// Waits for threads that work on the files, and stores the position. Called before the files
    /// are closed.
    pub(crate) fn close(&self) -> Result<()> {
        let mut follower = self.follower.lock();
        follower.finish_building(&self.shared)?;
        follower.store_position(&self.shared)
    }
}

/// The reason why a change that is in the log, or may be, is not applied here after such a step.
fn reason_of_delay(applied: &Result<bool>) -> String {
    match applied {
        // Its own words say that nothing was changed, which is unknown.
        Err(Error::LogUnavailable { reason }) => reason.clone(),
        Err(error) => error.to_string(),
        Ok(_) => "the change is in the log, and not applied here yet".into(),
    }
}

/// A failed append: its entry may be in the log or not.
struct FailedAppend {
    /// Answer for the callers with changes in it.
    error: Error,
    /// Reason for which appending and applying have stopped.
    problem: Option<String>,
}

impl From<Error> for FailedAppend {
    fn from(error: Error) -> Self {
        Self {
            error,
            problem: None,
        }
    }
}

impl FailedAppend {
    /// `is_open`: an earlier try may be in the log that this node follows.
    fn stopping(problem: String, is_open: bool) -> Self {
        let reason = problem.clone();
        let error = if is_open {
            Error::LogUnanswered { reason }
        } else {
            Error::LogUnavailable { reason }
        };
        Self {
            error,
            problem: Some(problem),
        }
    }

    /// The log has given an entry a number that was applied already.
    fn lost_entries(seq: u64, applied: u64) -> Self {
        let problem = format!(
            "entry {seq} was appended to the log, and this node has applied {applied}: the log has \
             lost entries; run `subcat cluster reseed` on the node with the highest number"
        );
        Self::stopping(problem, true)
    }
}
