//! The log of a data directory alone, which is a cluster of one.
//!
//! Frames are handed on as values and applied at once. What makes them durable is the commit of
//! the file that they change: nothing is encoded, and nothing is read back.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::change_log::{ChangeLog, ChangeQueue};
use super::frame::Event;
use super::pending_change::PendingChange;
use super::snapshot::{SnapshotSummary, write_rows};
use super::ticket::{ChangeTicket, EventOutcome, of_state};
use crate::catalog::{
    Catalog, CatalogEvent, CatalogOutcome, ExternalSorter, ImportSummary, import_records,
};
use crate::error::{Error, Result};
use crate::log_rows::{FRAME_VERSION, FrameOrigin};
use crate::model::NodeId;
use crate::state::{Failed, Outcome, State, StateEvent, StateFrame};

/// The log of a data directory alone.
pub(crate) struct LocalLog {
    node: NodeId,
    catalog: Arc<Catalog>,
    state: Arc<State>,
    queue: ChangeQueue,
    /// Held while frames are applied.
    applying: Mutex<()>,
}

impl LocalLog {
    pub(crate) fn new(node: NodeId, catalog: Arc<Catalog>, state: Arc<State>) -> Self {
        Self {
            node,
            catalog,
            state,
            queue: ChangeQueue::default(),
            applying: Mutex::new(()),
        }
    }

    /// Applies the frames of these callers in one transaction.
    fn apply(&self, tickets: &[Arc<ChangeTicket>]) {
        let frames: Vec<_> = tickets.iter().map(|it| self.frame_of(it)).collect();
        match self.commit(&frames) {
            Ok(outcomes) => {
                let mut outcomes = outcomes.into_iter();
                for ticket in tickets {
                    let own = outcomes.by_ref().take(ticket.events_count);
                    ticket.answer(Ok(own.collect()));
                }
            }
            Err(Failed { error, .. }) if tickets.len() == 1 => tickets[0].answer(Err(error)),
            // What may be durable must not be applied again.
            Err(Failed {
                error,
                is_open: true,
            }) => {
                let text = error.to_string();
                for ticket in tickets {
                    ticket.answer(Err(Error::Store {
                        file: "state.redb",
                        action: "tell whether a commit is durable",
                        source: text.clone().into(),
                    }));
                }
            }
            // One caller's fault must not be everyone's.
            Err(_) => {
                for (ticket, frame) in tickets.iter().zip(&frames) {
                    let outcomes = self.commit(std::slice::from_ref(frame));
                    ticket.answer(outcomes.map_err(|failed| failed.error));
                }
            }
        }
    }

    /// The events of a caller. A frame is in this log once: its number tells nothing.
    fn frame_of(&self, ticket: &ChangeTicket) -> StateFrame {
        let events = std::mem::take(&mut *ticket.events.lock());
        let of_state = events.into_iter().filter_map(|event| match event {
            Event::State(event) => Some(event),
            Event::Catalog(_) | Event::Beat(_) | Event::Departure(_) => None,
        });
        StateFrame {
            version: FRAME_VERSION,
            origin: FrameOrigin {
                node: self.node,
                incarnation: 0,
                number: 0,
            },
            events: of_state.collect(),
        }
    }

    fn commit(&self, frames: &[StateFrame]) -> Result<Vec<EventOutcome>, Failed> {
        let committed = self.state.apply(frames, None)?;
        let outcomes = committed.outcomes.into_iter();
        Ok(outcomes.flatten().map(EventOutcome::State).collect())
    }
}

impl ChangeLog for LocalLog {
    fn change_state(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        let events = events.into_iter().map(Event::State).collect();
        let ticket = Arc::new(ChangeTicket::new(events, 0));
        // Group commit: the first caller with the lock applies the events of all that are queued;
        // the others find their answers when they get the lock.
        self.queue.add(&ticket);
        let applying = self.applying.lock();
        if self.queue.has(&ticket) {
            self.apply(&self.queue.take(usize::MAX));
        }
        drop(applying);
        let answer = ticket.take(Duration::ZERO);
        answer
            .expect("every ticket of the queue is answered")
            .map(of_state)
    }

    fn change_each(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        self.change_state(events)
    }

    fn submit_state(&self, events: Vec<StateEvent>) -> PendingChange {
        PendingChange::made(self.change_state(events))
    }

    fn submit_each(&self, events: Vec<StateEvent>) -> Vec<PendingChange> {
        // No events are no transaction.
        if events.is_empty() {
            return Vec::new();
        }
        vec![self.submit_state(events)]
    }

    fn change_catalog(&self, events: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>> {
        self.catalog.commit(events)
    }

    fn submit_catalog(&self, events: Vec<CatalogEvent>) -> PendingChange<CatalogOutcome> {
        PendingChange::made(self.change_catalog(events))
    }

    fn import(
        &self,
        records: ExternalSorter,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportSummary> {
        import_records(&self.catalog, records, progress)
    }

    fn downloads_max(&self) -> u64 {
        u64::MAX
    }

    fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary> {
        self.catalog.store().read(|catalog| {
            self.state
                .store()
                .read(|state| write_rows(catalog, state, out))
        })
    }
}
