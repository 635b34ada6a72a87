//! The window of one key, shared by all cores.

use subcat_engine::RateLimit;

use super::atomic::{AtomicU64, Ordering};
use super::word::{Quota, look, step};
use crate::runtime::Moment;

/// A window of one key. It opens with the first request after the previous window has ended.
///
/// Alone on its cache line: keys that are used on different cores do not slow each other down.
#[derive(Default)]
#[repr(align(64))]
pub struct Window(AtomicU64);

impl Window {
    /// Takes one request from the window, or rejects it. Cost: one compare-and-swap; exact
    /// under contention.
    pub fn take(&self, limit: RateLimit, now: Moment) -> Quota {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (next, quota) = step(word, limit, now);
            let Some(next) = next else {
                return quota;
            };
            let swap =
                self.0
                    .compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Relaxed);
            match swap {
                Ok(_) => return quota,
                Err(current) => word = current,
            }
        }
    }

    /// State of the window; takes nothing from it.
    pub fn peek(&self, limit: RateLimit, now: Moment) -> Quota {
        look(self.0.load(Ordering::Relaxed), limit, now)
    }
}
