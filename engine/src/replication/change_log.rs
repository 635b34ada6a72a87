//! The way of every change: submitted, framed, applied, shown.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::pending_change::PendingChange;
use super::snapshot::SnapshotSummary;
use super::ticket::ChangeTicket;
use crate::catalog::{CatalogEvent, CatalogOutcome, ExternalSorter, ImportSummary};
use crate::error::Result;
use crate::state::{Outcome, StateEvent};

/// The log that changes of a data directory go into: its own ([`LocalLog`](super::LocalLog)), or
/// one that is shared ([`Replica`](super::Replica)).
///
/// A method that changes something returns when the change is durable and readers here see it.
/// Methods may be called from any thread; callers that come together share a frame.
pub(crate) trait ChangeLog: Send + Sync {
    /// Changes the state; returns an outcome for each event.
    fn change_state(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>>;

    /// Changes the state by events that stand by themselves, in as many frames as they need. After
    /// an error, some of them may be made.
    fn change_each(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>>;

    /// Begins a change of the state. Waits for the own disk, and for no other machine.
    fn submit_state(&self, events: Vec<StateEvent>) -> PendingChange;

    /// Begins a change of the state by events that stand by themselves, in as many frames as they
    /// need.
    fn submit_each(&self, events: Vec<StateEvent>) -> Vec<PendingChange>;

    /// Changes records; returns an outcome for each event.
    fn change_catalog(&self, events: Vec<CatalogEvent>) -> Result<Vec<CatalogOutcome>>;

    /// Begins a change of records, as [`ChangeLog::submit_state`] does.
    fn submit_catalog(&self, events: Vec<CatalogEvent>) -> PendingChange<CatalogOutcome>;

    /// Puts many records, each once; calls `progress` with the number of those that are durable.
    fn import(
        &self,
        records: ExternalSorter,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportSummary>;

    /// Number of downloads that one change of the state may hold.
    fn downloads_max(&self) -> u64;

    /// Writes a snapshot of the rows that nodes share; changes are applied at the same time.
    fn write_snapshot(&self, out: &mut dyn Write) -> Result<SnapshotSummary>;
}

/// Changes of callers that wait for a frame, the oldest first.
#[derive(Default)]
pub(super) struct ChangeQueue {
    tickets: Mutex<Vec<Arc<ChangeTicket>>>,
    added: Condvar,
}

impl ChangeQueue {
    pub(super) fn add(&self, ticket: &Arc<ChangeTicket>) {
        self.tickets.lock().push(Arc::clone(ticket));
        self.added.notify_one();
    }

    /// Waits until there is a ticket, or for that time.
    pub(super) fn wait(&self, at_most: Duration) {
        let mut tickets = self.tickets.lock();
        if tickets.is_empty() {
            self.added.wait_for(&mut tickets, at_most);
        }
    }

    /// Returns true until the ticket is taken.
    pub(super) fn has(&self, ticket: &Arc<ChangeTicket>) -> bool {
        let tickets = self.tickets.lock();
        tickets.iter().any(|it| Arc::ptr_eq(it, ticket))
    }

    /// Takes the oldest that fit one frame of this size: at least one, if there is one.
    pub(super) fn take(&self, bytes_max: usize) -> Vec<Arc<ChangeTicket>> {
        let mut queue = self.tickets.lock();
        let mut bytes = 0;
        let fit = queue.iter().take_while(|ticket| {
            bytes += ticket.bytes;
            bytes <= bytes_max
        });
        let count = fit.count().max(1).min(queue.len());
        queue.drain(..count).collect()
    }
}
