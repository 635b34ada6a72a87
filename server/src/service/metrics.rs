//! Counters of the workers: plain numbers, each written by one worker and read by any thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::runtime::{ConnectionCounts, Moment};

/// The kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `/api/health`.
    Health = 0,
    /// `/api/subtitles/search`.
    Search = 1,
    /// `/api/subtitles/{subtitle_id}`.
    Record = 2,
    /// `/api/subtitles/{subtitle_id}/download`.
    Download = 3,
    /// Anything else under `/api`, preflights included.
    Other = 4,
    /// The web interface.
    Page = 5,
    /// Rejected by the HTTP layer, with any path.
    Refused = 6,
    /// Below an address. The path is never shown.
    Address = 7,
    /// `/api/subtitles/{subtitle_id}/files`.
    Files = 8,
}

impl Route {
    /// Every route, in the order of its number.
    pub const ALL: [Self; 9] = [
        Self::Health,
        Self::Search,
        Self::Record,
        Self::Download,
        Self::Other,
        Self::Page,
        Self::Refused,
        Self::Address,
        Self::Files,
    ];

    /// Name of the route in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Search => "search",
            Self::Record => "record",
            Self::Download => "download",
            Self::Other => "other",
            Self::Page => "page",
            Self::Refused => "refused",
            Self::Address => "address",
            Self::Files => "files",
        }
    }

    /// The displayed path of its requests; `None` if they have several.
    pub const fn path(self) -> Option<&'static str> {
        match self {
            Self::Health => Some("/api/health"),
            Self::Search => Some("/api/subtitles/search"),
            Self::Record => Some("/api/subtitles/{subtitle_id}"),
            Self::Download => Some("/api/subtitles/{subtitle_id}/download"),
            Self::Files => Some("/api/subtitles/{subtitle_id}/files"),
            Self::Address => Some("/a/…"),
            Self::Other | Self::Page | Self::Refused => None,
        }
    }
}

/// The rate limit that rejected a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitRejection {
    /// The window of a key was full.
    ApiKeyWindow = 0,
    /// The window of an address was full.
    AddressWindow = 1,
    /// The window that the keys of an account share was full.
    AccountWindow = 2,
}

/// The statuses with a counter of their own; any other counts as the last.
pub const STATUSES: [u16; 22] = [
    200, 204, 206, 303, 304, 400, 401, 403, 404, 405, 411, 412, 413, 414, 416, 422, 429, 431, 500,
    502, 503, 0,
];

/// Upper ends of the latency buckets, in microseconds; the last bucket has none.
pub const LATENCY_BUCKETS_US: [u64; 16] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000,
    1_000_000, 5_000_000,
];

/// Answers by time, in the order of [`LATENCY_BUCKETS_US`] and one for any that took longer.
pub type LatencyCounts = [u64; LATENCY_BUCKETS_US.len() + 1];

/// A number that one worker adds to.
///
/// INVARIANT: only one thread calls [`Counter::add`], so a load and a store are enough where a
/// shared counter would need a locked instruction.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `count`. Cost: a load and a store. Only the worker that owns the counter may call it.
    pub fn add(&self, count: u64) {
        let sum = self.0.load(Ordering::Relaxed).wrapping_add(count);
        self.0.store(sum, Ordering::Relaxed);
    }

    /// Sets a gauge.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of one route.
#[derive(Default)]
pub struct RouteMetrics {
    /// Answers by status, in the order of [`STATUSES`].
    pub answers: [Counter; STATUSES.len()],
    /// Answers by the class of their status, in the order of [`STATUS_CLASSES`].
    pub latencies: [LatencyMetrics; STATUS_CLASSES.len()],
}

impl RouteMetrics {
    /// Answers with the statuses that `is_meant` accepts. Statuses without a counter of their own
    /// are 0.
    pub fn answers_count(&self, is_meant: impl Fn(u16) -> bool) -> u64 {
        let meant = STATUSES.iter().zip(&self.answers);
        let meant = meant.filter(|(status, _)| is_meant(**status));
        meant.map(|(_, answers)| answers.get()).sum()
    }

    /// Answers of any status in this bucket.
    pub fn latency_count(&self, bucket_idx: usize) -> u64 {
        let of_class = |latency: &LatencyMetrics| latency.buckets[bucket_idx].get();
        self.latencies.iter().map(of_class).sum()
    }
}

/// Times of the answers of one route and one class of statuses.
#[derive(Default)]
pub struct LatencyMetrics {
    /// Answers by time, in the order of [`LATENCY_BUCKETS_US`] and one for any that took longer.
    pub buckets: [Counter; LATENCY_BUCKETS_US.len() + 1],
    /// Microseconds of all answers together.
    pub us_sum: Counter,
}

/// The classes of statuses that times are counted by.
pub const STATUS_CLASSES: [&str; 4] = ["2xx", "3xx", "4xx", "5xx"];

/// Counters of one worker, on cache lines of its own: 128 bytes, because processors fetch lines in
/// pairs, and a line shared with another worker would move between the two cores at each request.
#[derive(Default)]
#[repr(align(128))]
pub struct WorkerMetrics {
    /// By route, in the order of [`Route::ALL`].
    pub routes: [RouteMetrics; Route::ALL.len()],
    /// Requests rejected by a limit, in the order of [`LimitRejection`].
    pub limited: [Counter; 3],
    /// Searches answered from cached hits.
    pub search_cache_hits: Counter,
    /// Searches that had to be run.
    pub search_cache_misses: Counter,
    /// Bytes that the cached hits take now.
    pub search_cache_bytes: Counter,
    /// Bytes of file content in answers.
    pub file_bytes: Counter,
    /// Downloads that were counted.
    pub downloads: Counter,
    /// Requests that ended in a panic of their handler.
    pub panics: Counter,
    /// Requests counted for access log and traces, while there is one of them.
    pub reported_requests: Counter,
    /// Monotonic microsecond of the last tick (one per second); 0 before the first.
    pub ticked_us: Counter,
}

impl WorkerMetrics {
    /// Counts one answer.
    pub fn answered(&self, route: Route, status: u16, latency_us: u64) {
        let of_route = &self.routes[route as usize];
        of_route.answers[status_idx(status)].add(1);
        let of_class = &of_route.latencies[class_idx(status)];
        of_class.buckets[bucket_idx(latency_us)].add(1);
        of_class.us_sum.add(latency_us);
    }

    /// Counts one request that a limit rejected.
    pub fn limited(&self, rejection: LimitRejection) {
        self.limited[rejection as usize].add(1);
    }
}

fn status_idx(status: u16) -> usize {
    let is_known = |known: &u16| *known == status;
    let last_idx = STATUSES.len() - 1;
    STATUSES.iter().position(is_known).unwrap_or(last_idx)
}

fn class_idx(status: u16) -> usize {
    match status {
        0..300 => 0,
        300..400 => 1,
        400..500 => 2,
        500.. => 3,
    }
}

fn bucket_idx(latency_us: u64) -> usize {
    let is_above = |end_us: &u64| latency_us <= *end_us;
    LATENCY_BUCKETS_US
        .iter()
        .position(is_above)
        .unwrap_or(LATENCY_BUCKETS_US.len())
}

/// All counters of the service.
pub struct Metrics {
    /// By worker.
    pub workers: Box<[WorkerMetrics]>,
    /// Connections by outcome.
    pub connections: Arc<ConnectionCounts>,
}

impl Metrics {
    /// Counters of this number of workers, all at zero.
    pub fn new(workers_count: usize) -> Self {
        let workers = (0..workers_count).map(|_| WorkerMetrics::default());
        Self {
            workers: workers.collect(),
            connections: Arc::default(),
        }
    }

    /// Time since the last tick of the worker that has not ticked for longest.
    pub fn oldest_tick(&self, now: Moment) -> Duration {
        let ticks_us = self.workers.iter().map(|worker| worker.ticked_us.get());
        let oldest_us = ticks_us.min().unwrap_or(now.monotonic_us);
        Duration::from_micros(now.monotonic_us.saturating_sub(oldest_us))
    }

    /// Answers of a route by time.
    pub fn latency_counts(&self, route: Route) -> LatencyCounts {
        let of = |w: &WorkerMetrics, idx| w.routes[route as usize].latency_count(idx);
        std::array::from_fn(|bucket_idx| self.sum(|w| of(w, bucket_idx)))
    }

    /// The sum of `number` over all workers.
    pub fn sum(&self, number: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(number).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_status_and_latency() {
        let metrics = Metrics::new(2);
        metrics.workers[0].answered(Route::Search, 200, 10);
        metrics.workers[1].answered(Route::Search, 200, 11);
        metrics.workers[1].answered(Route::Search, 418, u64::MAX);
        let search = Route::Search as usize;
        let answers = |idx: usize| metrics.sum(|worker| worker.routes[search].answers[idx].get());
        let latency = |idx: usize| metrics.latency_counts(Route::Search)[idx];
        assert_eq!(answers(0), 2);
        assert_eq!(answers(STATUSES.len() - 1), 1);
        assert_eq!(latency(0), 1);
        assert_eq!(latency(1), 1);
        assert_eq!(latency(LATENCY_BUCKETS_US.len()), 1);
    }

    #[test]
    fn routes_stand_at_their_numbers() {
        for (idx, route) in Route::ALL.into_iter().enumerate() {
            assert_eq!(route as usize, idx);
        }
    }
}
