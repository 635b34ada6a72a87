//! Clocks that tests set, stop or break.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use subcat_engine::Timestamp;
use subcat_server::runtime::{Clock, Moment, SystemClock};

/// A clock that stands still until a test sets it.
pub struct SettableClock(AtomicI64);

impl SettableClock {
    /// A clock that stands at a second of UTC, such as `2026-05-03T09:00:00Z`.
    pub fn at(moment: &str) -> Self {
        let moment = Timestamp::parse(moment).expect("a time");
        Self(AtomicI64::new(moment.seconds()))
    }

    /// Advances the clock, or sets it back.
    pub fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

impl Clock for SettableClock {
    fn now(&self) -> Moment {
        let seconds = self.0.load(Ordering::SeqCst);
        Moment {
            monotonic_us: seconds.cast_unsigned() * 1_000_000,
            unix_ms: seconds * 1000,
        }
    }
}

/// The system's clock, one reading of which panics: a defect in the middle of a request.
#[derive(Default)]
pub struct PanickingClock {
    clock: SystemClock,
    planned: Mutex<Option<PlannedPanic>>,
}

struct PlannedPanic {
    thread: &'static str,
    readings_left: usize,
}

impl PanickingClock {
    /// Plans a panic in the reading after `readings_count` more of the threads whose name begins
    /// with `thread`.
    pub fn panic_after(&self, readings_count: usize, thread: &'static str) {
        let planned = PlannedPanic {
            thread,
            readings_left: readings_count,
        };
        *self.planned.lock().expect("panics come unlocked") = Some(planned);
    }

    /// True once the planned panic has happened.
    pub fn has_panicked(&self) -> bool {
        self.planned.lock().expect("panics come unlocked").is_none()
    }

    /// True in the reading that shall panic.
    fn is_due(&self) -> bool {
        let mut planned = self.planned.lock().expect("panics come unlocked");
        let Some(plan) = planned.as_mut() else {
            return false;
        };
        let current = std::thread::current();
        if !current.name().unwrap_or_default().starts_with(plan.thread) {
            return false;
        }
        let is_due = plan.readings_left == 0;
        if is_due {
            *planned = None;
        } else {
            plan.readings_left -= 1;
        }
        is_due
    }
}

impl Clock for PanickingClock {
    fn now(&self) -> Moment {
        let is_due = self.is_due();
        assert!(!is_due, "the panic that a test planned");
        self.clock.now()
    }
}
