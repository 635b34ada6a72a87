//! Changes of one caller that go through the log.

use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::frame::Event;
use crate::catalog::{CatalogEvent, CatalogOutcome};
use crate::error::{Error, Result};
use crate::state::{Outcome, StateEvent};

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
    /// Approximate size of the changes in a frame, in bytes.
    pub(super) bytes: usize,
    answer: Mutex<Answer>,
    answered: Condvar,
}

enum Answer {
    Waiting,
    Given(Result<Vec<EventOutcome>>),
    Taken,
}

impl ChangeTicket {
    pub(super) fn new(events: Vec<Event>) -> Self {
        let bytes = events.iter().map(bytes_of).sum();
        Self {
            events_count: events.len(),
            events: Mutex::new(events),
            bytes,
            answer: Mutex::new(Answer::Waiting),
            answered: Condvar::new(),
        }
    }

    /// Gives the answer, unless there is one already.
    pub(super) fn answer(&self, given: Result<Vec<EventOutcome>>) {
        let mut answer = self.answer.lock();
        if matches!(*answer, Answer::Waiting) {
            *answer = Answer::Given(given);
            self.answered.notify_all();
        }
    }

    /// Waits for the answer and takes it; `None` if none arrives within that time.
    pub(super) fn take(&self, at_most: Duration) -> Option<Result<Vec<EventOutcome>>> {
        let mut answer = self.answer.lock();
        // A spurious wake-up only makes the caller return early.
        if matches!(*answer, Answer::Waiting) {
            self.answered.wait_for(&mut answer, at_most);
        }
        match std::mem::replace(&mut *answer, Answer::Taken) {
            Answer::Given(given) => Some(given),
            Answer::Waiting => {
                *answer = Answer::Waiting;
                None
            }
            Answer::Taken => unreachable!("an answer is taken once"),
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        !matches!(*self.answer.lock(), Answer::Waiting)
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

/// Approximate size of an event in a frame, in bytes; never too small.
fn bytes_of(event: &Event) -> usize {
    const ID_BYTES: usize = 24;
    const ROW_BYTES: usize = 48;
    match event {
        Event::Catalog(CatalogEvent::PutRecord(_, stored)) => ID_BYTES + stored.len(),
        Event::Catalog(_) => ID_BYTES,
        Event::State(StateEvent::AggregateDownloads(aggregate)) => {
            let rows = aggregate.records.len() + aggregate.usage.len();
            (rows + aggregate.parts.len() + aggregate.forgotten.len()) * ROW_BYTES
        }
        Event::State(StateEvent::AddUsage(batch)) => batch.deltas.len() * ROW_BYTES,
        // Texts of accounts and keys are bounded.
        Event::State(_) | Event::Beat(_) | Event::Departure(_) => 1024,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{FRAME_BYTES_MAX, USAGE_DELTAS_MAX};
    use crate::model::{ApiKeyId, Day, Timestamp, Usage};
    use crate::state::{UsageBatch, UsageDelta};

    #[test]
    fn the_largest_batch_of_usage_fits_a_frame() {
        let largest = UsageDelta {
            api_key: Some(ApiKeyId(u64::MAX)),
            day: Day(20_000),
            usage: Usage {
                requests: u64::MAX,
                ..Usage::default()
            },
            last_used_at: Timestamp::from_seconds(1_700_000_000),
        };
        let batch = UsageBatch {
            number: u64::MAX,
            deltas: vec![largest; USAGE_DELTAS_MAX],
        };
        let event = Event::State(StateEvent::AddUsage(batch));
        assert!(bytes_of(&event) <= FRAME_BYTES_MAX / 2);
    }
}
