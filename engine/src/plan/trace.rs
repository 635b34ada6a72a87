//! Steps of a search in the order of their execution, for `explain`.

use std::cell::{Cell, RefCell};

use super::subject::Subject;

/// Notes of the steps of one search, each with its time.
pub(crate) struct Trace<'c> {
    clock: &'c dyn Fn() -> u64,
    last_noted: Cell<u64>,
    steps: RefCell<Vec<TraceStep>>,
}

/// A step that was taken.
#[derive(Debug, Clone)]
pub(crate) struct TraceStep {
    /// Action of the step.
    pub(crate) action: String,
    /// Part of the request that the step was about.
    pub(crate) subject: Option<Subject>,
    /// Documents after it.
    pub(crate) docs_count: u64,
    /// Nanoseconds since the step before.
    pub(crate) nanoseconds: u64,
}

impl<'c> Trace<'c> {
    /// A trace without steps; `clock` gives nanoseconds.
    pub(crate) fn new(clock: &'c dyn Fn() -> u64) -> Self {
        Self {
            clock,
            last_noted: Cell::new(clock()),
            steps: RefCell::default(),
        }
    }

    /// Nanoseconds since the last note, as of now.
    pub(super) fn elapsed(&self) -> u64 {
        (self.clock)() - self.last_noted.get()
    }

    /// Notes a step.
    pub(super) fn note(&self, step: TraceStep) {
        self.steps.borrow_mut().push(step);
        // Counting documents for the note, and writing it, do not count for the next step.
        self.last_noted.set((self.clock)());
    }

    /// The steps since the last call; the time of the next one begins now.
    pub(crate) fn take(&self) -> Vec<TraceStep> {
        self.last_noted.set((self.clock)());
        self.steps.take()
    }
}
