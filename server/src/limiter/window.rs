//! The window of one key, shared by all cores.

use subcat_engine::RateLimit;

use super::atomic::{AtomicU64, Ordering};
use super::word::{AddedRequests, OpenWindow, Quota, added, given_back, look, open, step};
use crate::runtime::Moment;

/// A window that several keys share, and the requests that it allows.
#[derive(Clone, Copy)]
pub struct SharedLimit<'a> {
    /// The window.
    pub window: &'a Window,
    /// Limit of the window.
    pub limit: RateLimit,
}

/// State of the window that decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenQuota {
    /// The key's window, which admitted the request or rejected it.
    OfKey(Quota),
    /// The account's window, which rejected the request.
    OfAccount(Quota),
}

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

    /// Takes one request from this window and from an account's, or from neither: of several keys
    /// of one account each has its own window, and all of them share the account's. Returns the
    /// state of this window, or that of the account's if that one rejects.
    pub fn take_with(&self, limit: RateLimit, account: SharedLimit<'_>, now: Moment) -> TakenQuota {
        let mut word = self.0.load(Ordering::Relaxed);
        let (taken, quota) = loop {
            let (next, quota) = step(word, limit, now);
            let Some(next) = next else {
                return TakenQuota::OfKey(quota);
            };
            let order = Ordering::AcqRel;
            match self
                .0
                .compare_exchange_weak(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => break (next, quota),
                Err(current) => word = current,
            }
        };
        let shared = account.window.take(account.limit, now);
        if shared.retry_after.is_none() {
            return TakenQuota::OfKey(quota);
        }
        self.give_back(taken);
        TakenQuota::OfAccount(shared)
    }

    /// Gives back the request that was taken when the window became `taken`, unless another window
    /// has opened since.
    fn give_back(&self, taken: u64) {
        let mut word = self.0.load(Ordering::Relaxed);
        while let Some(next) = given_back(word, taken) {
            let order = Ordering::AcqRel;
            match self
                .0
                .compare_exchange_weak(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(current) => word = current,
            }
        }
    }

    /// State of the window; takes nothing from it.
    pub fn peek(&self, limit: RateLimit, now: Moment) -> Quota {
        look(self.0.load(Ordering::Relaxed), limit, now)
    }

    /// The window, if it is open.
    pub fn open(&self, limit: RateLimit, now: Moment) -> Option<OpenWindow> {
        open(self.0.load(Ordering::Relaxed), limit, now)
    }

    /// Adds requests that other nodes admitted, even beyond the limit; opens the window if it is
    /// not open.
    pub fn add(&self, limit: RateLimit, count: u32, now: Moment) -> AddedRequests {
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let (next, added) = added(word, limit, count, now);
            let Some(next) = next else {
                return added;
            };
            let order = Ordering::AcqRel;
            match self
                .0
                .compare_exchange_weak(word, next, order, Ordering::Relaxed)
            {
                Ok(_) => return added,
                Err(current) => word = current,
            }
        }
    }
}
