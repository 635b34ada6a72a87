//! What became of fetches, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::health::{AttemptError, Health, HealthReport};

/// How a request for a file that was not cached ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Fetched and stored.
    Stored = 0,
    /// Upstream was unavailable, or had no such file.
    Unavailable = 1,
    /// It came, but is empty, too large or of no known kind.
    Unusable = 2,
    /// It came, but could not be stored.
    NotStored = 3,
    /// Another request's fetch was joined.
    Joined = 4,
    /// A failure was remembered.
    Remembered = 5,
}

impl FetchOutcome {
    /// Every outcome, in the order of its number.
    pub const ALL: [Self; 6] = [
        Self::Stored,
        Self::Unavailable,
        Self::Unusable,
        Self::NotStored,
        Self::Joined,
        Self::Remembered,
    ];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Unavailable => "unavailable",
            Self::Unusable => "unusable",
            Self::NotStored => "not_stored",
            Self::Joined => "joined",
            Self::Remembered => "remembered",
        }
    }
}

/// Counters of one upstream.
#[derive(Default)]
pub struct FetchCounts {
    outcomes: [AtomicU64; FetchOutcome::ALL.len()],
    attempts: AtomicU64,
    bytes: AtomicU64,
    under_way: AtomicU64,
    health: Mutex<Health>,
}

impl FetchCounts {
    /// Requests that ended so.
    pub fn outcome(&self, outcome: FetchOutcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// Requests sent upstream, retries included.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Bytes of content received.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Fetches under way, those that wait for their turn included.
    pub fn under_way(&self) -> u64 {
        self.under_way.load(Ordering::Relaxed)
    }

    pub(super) fn health(&self, resting: usize) -> HealthReport {
        self.health.lock().report(resting, Instant::now())
    }

    /// The request that began then brought a file.
    pub(super) fn answered(&self, began: Instant) {
        let now = Instant::now();
        let time = now.duration_since(began);
        self.health.lock().answered(time, now);
    }

    /// A request was answered, without a file.
    pub(super) fn refused(&self, error: AttemptError) {
        self.health.lock().refused(error, Instant::now());
    }

    /// A request was not answered, or with a failure of upstream's own.
    pub(super) fn silent(&self, error: AttemptError) {
        self.health.lock().silent(error, Instant::now());
    }

    pub(super) fn ended(&self, outcome: FetchOutcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn sent(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn received(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn set_under_way(&self, count: usize) {
        self.under_way.store(count as u64, Ordering::Relaxed);
    }
}
