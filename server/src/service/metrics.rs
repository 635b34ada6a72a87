//! What workers count: plain numbers, each written by one worker and read by anyone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::runtime::ConnectionCounts;

/// What a request asked for.
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
    /// Refused by the HTTP layer, whatever the path.
    Refused = 6,
}

impl Route {
    /// Every route, in the order of its number.
    pub const ALL: [Self; 7] = [
        Self::Health,
        Self::Search,
        Self::Record,
        Self::Download,
        Self::Other,
        Self::Page,
        Self::Refused,
    ];

    /// Its name in metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Search => "search",
            Self::Record => "record",
            Self::Download => "download",
            Self::Other => "other",
            Self::Page => "page",
            Self::Refused => "refused",
        }
    }
}

/// Why someone was turned away by a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The window of a key was full.
    ApiKeyWindow = 0,
    /// The window of an address was full.
    AddressWindow = 1,
}

/// The statuses that are counted by themselves; any other counts as the last.
pub const STATUSES: [u16; 21] = [
    200, 204, 206, 303, 304, 400, 401, 403, 404, 405, 411, 413, 414, 416, 422, 429, 431, 500, 502,
    503, 0,
];

/// Upper ends of the latency buckets, in microseconds; the last bucket has none.
pub const LATENCY_BUCKETS_US: [u64; 16] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000,
    1_000_000, 5_000_000,
];

/// A number that one worker adds to.
#[derive(Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds. Cost: a load and a store; only the worker that owns the counter may call it.
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

/// What one route was used for.
#[derive(Default)]
pub struct RouteMetrics {
    /// Answers by status, in the order of [`STATUSES`].
    pub answers: [Counter; STATUSES.len()],
    /// Answers by time, in the order of [`LATENCY_BUCKETS_US`] and one for what took longer.
    pub latency: [Counter; LATENCY_BUCKETS_US.len() + 1],
    /// Microseconds of all answers together.
    pub latency_us_sum: Counter,
}

/// What one worker counts, on cache lines of its own: two of them, as processors fetch pairs.
#[derive(Default)]
#[repr(align(128))]
pub struct WorkerMetrics {
    /// By route, in the order of [`Route::ALL`].
    pub routes: [RouteMetrics; Route::ALL.len()],
    /// By reason, in the order of [`Refusal`].
    pub refusals: [Counter; 2],
    /// Searches answered from remembered hits.
    pub search_cache_hits: Counter,
    /// Searches that had to be run.
    pub search_cache_misses: Counter,
    /// Bytes that the remembered hits take now.
    pub search_cache_bytes: Counter,
    /// Bytes of file content in answers.
    pub file_bytes: Counter,
    /// Downloads that count.
    pub downloads: Counter,
    /// Requests whose handling panicked.
    pub panics: Counter,
}

impl WorkerMetrics {
    /// Counts one answer.
    pub fn answered(&self, route: Route, status: u16, latency_us: u64) {
        let of_route = &self.routes[route as usize];
        of_route.answers[status_idx(status)].add(1);
        of_route.latency[bucket_idx(latency_us)].add(1);
        of_route.latency_us_sum.add(latency_us);
    }

    /// Counts one refusal by a limit.
    pub fn refused(&self, refusal: Refusal) {
        self.refusals[refusal as usize].add(1);
    }
}

fn status_idx(status: u16) -> usize {
    let is_known = |known: &u16| *known == status;
    let last_idx = STATUSES.len() - 1;
    STATUSES.iter().position(is_known).unwrap_or(last_idx)
}

fn bucket_idx(latency_us: u64) -> usize {
    let is_above = |end_us: &u64| latency_us <= *end_us;
    LATENCY_BUCKETS_US
        .iter()
        .position(is_above)
        .unwrap_or(LATENCY_BUCKETS_US.len())
}

/// Everything that is counted.
pub struct Metrics {
    /// By worker.
    pub workers: Box<[WorkerMetrics]>,
    /// What became of connections.
    pub connections: Arc<ConnectionCounts>,
}

impl Metrics {
    /// Zeroes for so many workers.
    pub fn new(workers_count: usize) -> Self {
        let workers = (0..workers_count).map(|_| WorkerMetrics::default());
        Self {
            workers: workers.collect(),
            connections: Arc::default(),
        }
    }

    /// The sum of a number over all workers.
    pub fn sum(&self, number: impl Fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(number).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_fall_into_their_places() {
        let metrics = Metrics::new(2);
        metrics.workers[0].answered(Route::Search, 200, 10);
        metrics.workers[1].answered(Route::Search, 200, 11);
        metrics.workers[1].answered(Route::Search, 418, u64::MAX);
        let search = Route::Search as usize;
        let answers = |idx: usize| metrics.sum(|worker| worker.routes[search].answers[idx].get());
        let latency = |idx: usize| metrics.sum(|worker| worker.routes[search].latency[idx].get());
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
