//! Counters of fetches, for metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use subcat_engine::ReleaseId;

use super::breaker::{Breaker, FetchPass};
use super::health::{AttemptError, Health, HealthReport, Outage};

/// Outcome of a request for a file that was not cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchOutcome {
    /// Fetched and stored.
    Stored = 0,
    /// Upstream did not answer, or had no such file.
    Unavailable = 1,
    /// Fetched, but empty, too large or of no known kind.
    Unusable = 2,
    /// Fetched, but not stored.
    NotStored = 3,
    /// Waited for a fetch that another request had started.
    Joined = 4,
    /// Failed at once, because an earlier failure was remembered.
    Remembered = 5,
    /// Gave up waiting for other fetches to end.
    Busy = 6,
    /// Not sent, because upstream does not answer or asked for a pause.
    Suspended = 7,
}

impl FetchOutcome {
    /// Every outcome, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Stored,
        Self::Unavailable,
        Self::Unusable,
        Self::NotStored,
        Self::Joined,
        Self::Remembered,
        Self::Busy,
        Self::Suspended,
    ];

    /// Value of the label `outcome` in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Unavailable => "unavailable",
            Self::Unusable => "unusable",
            Self::NotStored => "not_stored",
            Self::Joined => "joined",
            Self::Remembered => "remembered",
            Self::Busy => "busy",
            Self::Suspended => "suspended",
        }
    }
}

/// Counters and health of upstream, for metrics and the administration page.
///
/// Shared by all fetches; each counter is independent, so relaxed ordering suffices.
#[derive(Default)]
pub struct FetchCounts {
    outcomes: [AtomicU64; FetchOutcome::ALL.len()],
    attempts: AtomicU64,
    bytes: AtomicU64,
    in_flight: AtomicU64,
    health: Mutex<Health>,
    pub(super) breaker: Breaker,
}

impl FetchCounts {
    /// Requests with this outcome.
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

    /// Fetches in flight, including those that wait for a permit.
    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn health(&self, remembered_failures: usize) -> HealthReport {
        let now = Instant::now();
        self.health.lock().report(remembered_failures, now)
    }

    /// The permission to send the fetch of a release now; `None` if upstream is not to be asked.
    pub(super) fn pass(&self, release: &ReleaseId) -> Option<FetchPass<'_>> {
        self.breaker.pass(self.outage(release), Instant::now())
    }

    /// Returns true if the fetch of a release that came now would not be sent.
    pub(super) fn refuses(&self, release: &ReleaseId) -> bool {
        self.breaker.refuses(self.outage(release), Instant::now())
    }

    fn outage(&self, release: &ReleaseId) -> Outage {
        self.health.lock().outage(release)
    }

    /// Forgets the known health of upstream, and keeps the counters.
    pub(super) fn forget_health(&self) {
        *self.health.lock() = Health::default();
        self.breaker.close();
    }

    /// Records that the request sent at `began` brought a file.
    pub(super) fn record_success(&self, began: Instant) {
        let now = Instant::now();
        let time = now.duration_since(began);
        self.health.lock().record_success(time, now);
    }

    /// Records an answer without a file.
    pub(super) fn record_rejection(&self, error: AttemptError) {
        let now = Instant::now();
        self.health.lock().record_rejection(error, now);
    }

    /// Records a request for a release without an answer, or with a 5xx.
    pub(super) fn record_no_answer(&self, error: AttemptError, release: &ReleaseId) {
        let now = Instant::now();
        self.health.lock().record_no_answer(error, release, now);
    }

    pub(super) fn record_outcome(&self, outcome: FetchOutcome) {
        self.outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn record_attempt(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn record_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(super) fn set_in_flight(&self, count: usize) {
        self.in_flight.store(count as u64, Ordering::Relaxed);
    }
}
