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
use super::ticket::{ChangeTicket, EventOutcome, of_catalog, of_state};
use crate::catalog::{
    Catalog, CatalogApplier, CatalogEvent, CatalogFrame, CatalogOutcome, ExternalSorter,
    ImportSummary, each_group,
};
use crate::error::{Error, Failed, Result};
use crate::limits::COMMIT_BYTES_MAX;
use crate::log_rows::{FRAME_VERSION, FrameOrigin};
use crate::model::NodeId;
use crate::state::{Outcome, State, StateEvent, StateFrame};

/// The log of a data directory alone.
pub(crate) struct LocalLog {
    node: NodeId,
    catalog: Arc<Catalog>,
    state: Arc<State>,
    catalog_lane: ChangeLane,
    state_lane: ChangeLane,
}

/// Changes of one file that wait for their turn. The files commit beside each other.
struct ChangeLane {
    /// The file, in errors.
    file: &'static str,
    queue: ChangeQueue,
    /// Held while frames are applied.
    applying: Mutex<()>,
}

impl ChangeLane {
    fn new(file: &'static str) -> Self {
        Self {
            file,
            queue: ChangeQueue::default(),
            applying: Mutex::new(()),
        }
    }

    /// Group commit: the first caller with the lock applies the events of all that are queued; the
    /// others find their answers when they get the lock.
    fn change<F>(
        &self,
        events: Vec<Event>,
        frame_of: impl Fn(Vec<Event>) -> F,
        commit: impl Fn(&[F]) -> Result<Vec<EventOutcome>, Failed>,
    ) -> Result<Vec<EventOutcome>> {
        let ticket = Arc::new(ChangeTicket::new(events, 0));
        self.queue.add(&ticket);
        let applying = self.applying.lock();
        if self.queue.has(&ticket) {
            let tickets = self.queue.take(usize::MAX);
            let events = tickets
                .iter()
                .map(|it| std::mem::take(&mut *it.events.lock()));
            let frames: Vec<_> = events.map(frame_of).collect();
            self.apply(&tickets, &frames, commit);
        }
        drop(applying);
        let answer = ticket.take(Duration::ZERO);
        answer.expect("every ticket of the queue is answered")
    }

    /// Applies the frames of these callers in one transaction.
    fn apply<F>(
        &self,
        tickets: &[Arc<ChangeTicket>],
        frames: &[F],
        commit: impl Fn(&[F]) -> Result<Vec<EventOutcome>, Failed>,
    ) {
        match commit(frames) {
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
                        file: self.file,
                        action: "tell whether a commit is durable",
                        source: text.clone().into(),
                    }));
                }
            }
            // One caller's fault must not be everyone's.
            Err(_) => {
                for (ticket, frame) in tickets.iter().zip(frames) {
                    let outcomes = commit(std::slice::from_ref(frame));
                    ticket.answer(outcomes.map_err(|failed| failed.error));
                }
            }
        }
    }
}

impl LocalLog {
    pub(crate) fn new(node: NodeId, catalog: Arc<Catalog>, state: Arc<State>) -> Self {
        Self {
            node,
            catalog,
            state,
            catalog_lane: ChangeLane::new("catalog.redb"),
            state_lane: ChangeLane::new("state.redb"),
        }
    }

    /// A frame is in this log once: its number tells nothing.
    fn origin(&self) -> FrameOrigin {
        FrameOrigin {
            node: self.node,
            incarnation: 0,
            number: 0,
        }
    }

    fn state_frame(&self, events: Vec<Event>) -> StateFrame {
        let of_state = events.into_iter().filter_map(|event| match event {
            Event::State(event) => Some(event),
            Event::Catalog(_) | Event::Beat(_) | Event::Departure(_) => None,
        });
        StateFrame {
            version: FRAME_VERSION,
            origin: self.origin(),
            events: of_state.collect(),
        }
    }

    fn catalog_frame(&self, events: Vec<CatalogEvent>) -> CatalogFrame {
        CatalogFrame {
            version: FRAME_VERSION,
            origin: self.origin(),
            events,
        }
    }

    fn commit_state(&self, frames: &[StateFrame]) -> Result<Vec<EventOutcome>, Failed> {
        let committed = self.state.apply(frames, None)?;
        let outcomes = committed.outcomes.into_iter();
        Ok(outcomes.flatten().map(EventOutcome::State).collect())
    }

    fn commit_catalog(&self, frames: &[CatalogFrame]) -> Result<Vec<EventOutcome>, Failed> {
        let mut applier = CatalogApplier::new(Arc::clone(&self.catalog));
        let outcomes = applier.commit_and_show(frames.to_vec())?;
        let outcomes = outcomes.into_iter();
        Ok(outcomes.flatten().map(EventOutcome::Catalog).collect())
    }
}

impl ChangeLog for LocalLog {
    fn change_state(&self, events: Vec<StateEvent>) -> Result<Vec<Outcome>> {
        let events = events.into_iter().map(Event::State).collect();
        let outcomes = self.state_lane.change(
            events,
            |events| self.state_frame(events),
            |frames| self.commit_state(frames),
        );
        outcomes.map(of_state)
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
        let events = events.into_iter().map(Event::Catalog).collect();
        let outcomes = self.catalog_lane.change(
            events,
            |events| self.catalog_frame(of_records(events)),
            |frames| self.commit_catalog(frames),
        );
        outcomes.map(of_catalog)
    }

    fn submit_catalog(&self, events: Vec<CatalogEvent>) -> PendingChange<CatalogOutcome> {
        PendingChange::made(self.change_catalog(events))
    }

    /// Groups are frames, committed on this thread while the next one is read on another, and
    /// segments of those before are built on more.
    fn import(
        &self,
        records: ExternalSorter,
        progress: &mut dyn FnMut(u64),
    ) -> Result<ImportSummary> {
        let mut summary = ImportSummary::default();
        let mut applier = CatalogApplier::new(Arc::clone(&self.catalog));
        let loaded = each_group(records, COMMIT_BYTES_MAX, &mut |group| {
            let committed = applier.commit(vec![self.catalog_frame(group)], None);
            let outcomes = committed.map_err(|failed| failed.error)?;
            summary.count(outcomes.into_iter().flatten());
            progress(summary.records());
            if applier.is_full() {
                // What cannot be built is recovered, with the next chunk at the latest.
                let _ = applier.build();
            }
            Ok(())
        });
        // Committed groups are durable, also if a later one has failed.
        applier.show_or_later();
        loaded.map(|()| summary)
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

/// Changes of records.
fn of_records(events: Vec<Event>) -> Vec<CatalogEvent> {
    let events = events.into_iter();
    let of_records = events.filter_map(|event| match event {
        Event::Catalog(event) => Some(event),
        Event::State(_) | Event::Beat(_) | Event::Departure(_) => None,
    });
    of_records.collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::model::RecordId;

    /// Events that tell a caller from another by their number.
    fn events(count: usize) -> Vec<Event> {
        let event = CatalogEvent::DeleteRecord(RecordId::from_bytes([1; 16]));
        vec![Event::Catalog(event); count]
    }

    fn changed(count: usize) -> Vec<EventOutcome> {
        vec![EventOutcome::Catalog(CatalogOutcome::Changed); count]
    }

    /// One caller with 3 events, while others with 1 and 2 wait; `commit` gets the numbers of the
    /// events of its frames. Returns the answers of the callers with 1, 2 and 3, and the commits.
    fn change(
        commit: impl Fn(&[usize]) -> Result<Vec<EventOutcome>, Failed>,
    ) -> (Vec<Result<Vec<EventOutcome>>>, Vec<Vec<usize>>) {
        let lane = ChangeLane::new("catalog.redb");
        let waiting = [1, 2].map(|count| Arc::new(ChangeTicket::new(events(count), 0)));
        for ticket in &waiting {
            lane.queue.add(ticket);
        }
        let commits = RefCell::new(Vec::new());
        let own = lane.change(
            events(3),
            |events| events.len(),
            |frames| {
                commits.borrow_mut().push(frames.to_vec());
                commit(frames)
            },
        );
        let others = waiting.iter().map(|ticket| ticket.take(Duration::ZERO));
        let mut answers: Vec<_> = others.map(Option::unwrap).collect();
        answers.push(own);
        (answers, commits.into_inner())
    }

    #[test]
    fn callers_that_wait_share_a_transaction() {
        let (answers, commits) = change(|frames| Ok(changed(frames.iter().sum())));
        assert_eq!(commits, [[1, 2, 3]]);
        let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, [1, 2, 3].map(changed));
    }

    #[test]
    fn the_fault_of_a_caller_fails_no_other() {
        let (answers, commits) = change(|frames| {
            if frames.contains(&2) {
                return Err(Error::corrupt("here", 0, "better").into());
            }
            Ok(changed(frames.iter().sum()))
        });
        assert_eq!(commits, [vec![1, 2, 3], vec![1], vec![2], vec![3]]);
        let [Ok(first), Err(Error::Corrupt { .. }), Ok(last)] = &answers[..] else {
            panic!("{answers:?}");
        };
        assert_eq!([first.len(), last.len()], [1, 3]);
    }

    #[test]
    fn what_may_be_durable_is_not_applied_again() {
        let (answers, commits) = change(|_| {
            let error = Error::corrupt("here", 0, "better");
            Err(Failed {
                error,
                is_open: true,
            })
        });
        assert_eq!(commits, [[1, 2, 3]]);
        for answer in answers {
            let error = answer.unwrap_err();
            assert!(matches!(error, Error::Store { .. }), "{error}");
        }
    }
}
