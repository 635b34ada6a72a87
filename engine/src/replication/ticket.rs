//! Changes of one caller that go through the log.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::frame::Event;
use crate::catalog::{CatalogEvent, CatalogOutcome};
use crate::codec::{Codec, Encoder};
use crate::error::{Error, Result};
use crate::log_rows::FRAME_VERSION;
use crate::state::Outcome;

/// Result of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventOutcome {
    Catalog(CatalogOutcome),
    State(Outcome),
}

/// Changes of one caller. They are in one frame.
pub(crate) struct ChangeTicket {
    pub(super) events: Mutex<Vec<Event>>,
    pub(super) events_count: usize,
    /// Size of the changes in a frame, in bytes; 0 in a log without encoded frames.
    pub(super) bytes: usize,
    answer: Mutex<Answer>,
    answered: Condvar,
}

enum Answer {
    /// With the task that waits for it, if one does.
    Waiting(Option<Waker>),
    Given(Result<Vec<EventOutcome>>),
    Taken,
}

impl ChangeTicket {
    pub(super) fn new(events: Vec<Event>, bytes: usize) -> Self {
        Self {
            events_count: events.len(),
            events: Mutex::new(events),
            bytes,
            answer: Mutex::new(Answer::Waiting(None)),
            answered: Condvar::new(),
        }
    }

    /// Gives the answer, unless there is one already.
    pub(super) fn answer(&self, given: Result<Vec<EventOutcome>>) {
        let mut answer = self.answer.lock();
        let Answer::Waiting(task) = &mut *answer else {
            return;
        };
        let task = task.take();
        *answer = Answer::Given(given);
        drop(answer);
        self.answered.notify_all();
        if let Some(task) = task {
            task.wake();
        }
    }

    /// Gives an error as the answer if a task waits for one. A thread that waits has a limit of its
    /// own.
    pub(super) fn give_up(&self, reason: &str) {
        let has_task = matches!(*self.answer.lock(), Answer::Waiting(Some(_)));
        if has_task {
            let reason = reason.to_owned();
            self.answer(Err(Error::LogUnanswered { reason }));
        }
    }

    /// Takes the answer, or lets the task be woken when there is one.
    pub(super) fn poll(&self, task: &Context<'_>) -> Poll<Result<Vec<EventOutcome>>> {
        let mut answer = self.answer.lock();
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Given(given) => Poll::Ready(given),
            Answer::Waiting(_) => {
                *answer = Answer::Waiting(Some(task.waker().clone()));
                Poll::Pending
            }
            Answer::Taken => unreachable!("an answer is taken once"),
        }
    }

    /// Waits for the answer and takes it; `None` if none arrives within that time.
    pub(super) fn take(&self, at_most: Duration) -> Option<Result<Vec<EventOutcome>>> {
        let mut answer = self.answer.lock();
        // A spurious wake-up only makes the caller return early.
        if matches!(*answer, Answer::Waiting(_)) {
            self.answered.wait_for(&mut answer, at_most);
        }
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Given(given) => Some(given),
            Answer::Waiting(task) => {
                *answer = Answer::Waiting(task);
                None
            }
            Answer::Taken => unreachable!("an answer is taken once"),
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        !matches!(*self.answer.lock(), Answer::Waiting(_))
    }
}

/// Outcomes of changes of the state.
pub(super) fn of_state(outcomes: Vec<EventOutcome>) -> Vec<Outcome> {
    let outcomes = outcomes.into_iter();
    let of_state = outcomes.filter_map(|outcome| match outcome {
        EventOutcome::State(outcome) => Some(outcome),
        EventOutcome::Catalog(_) => None,
    });
    of_state.collect()
}

/// Outcomes of changes of records.
pub(super) fn of_catalog(outcomes: Vec<EventOutcome>) -> Vec<CatalogOutcome> {
    let outcomes = outcomes.into_iter();
    let of_catalog = outcomes.filter_map(|outcome| match outcome {
        EventOutcome::Catalog(outcome) => Some(outcome),
        EventOutcome::State(_) => None,
    });
    of_catalog.collect()
}

/// Size of an event in a frame, in bytes; never too small.
pub(super) fn bytes_of(event: &Event) -> usize {
    const ID_BYTES: usize = 24;
    match event {
        // Not encoded a second time: an import puts millions.
        Event::Catalog(CatalogEvent::PutRecord(_, stored)) => ID_BYTES + stored.len(),
        Event::Catalog(_) => ID_BYTES,
        Event::State(_) | Event::Beat(_) | Event::Departure(_) => {
            let mut out = Encoder::new(FRAME_VERSION);
            event.put(&mut out);
            out.finish().len()
        }
    }
}

/// An error of a frame, for each of its callers.
pub(super) fn repeat(error: &Error) -> Error {
    match error {
        Error::LogUnavailable { reason } => Error::LogUnavailable {
            reason: reason.clone(),
        },
        Error::LogUnanswered { reason } => Error::LogUnanswered {
            reason: reason.clone(),
        },
        other => Error::Cluster {
            problem: other.to_string(),
        },
    }
}
