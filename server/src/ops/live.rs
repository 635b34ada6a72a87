//! Counters of a running server, for watching it.

use serde::{Deserialize, Serialize};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
use crate::service::{Counter, Route, Service};

pub(super) const OPERATIONS: &[OperationEntry] = &[OperationEntry::of::<ReadLive>()];

/// `live`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadLive {}

/// Answer of [`ReadLive`]: counters since the server started, and gauges.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LiveRead {
    /// Microseconds since the server started.
    pub monotonic_us: u64,
    /// `ok`, `starting` or `draining`.
    pub phase: String,
    /// By route.
    pub routes: Vec<LiveRoute>,
    /// Connections open now.
    pub connections: u64,
    /// Workers that run.
    pub workers: u64,
    /// Searches answered from cached hits.
    pub search_cache_hits: u64,
    /// Searches that were run.
    pub search_cache_misses: u64,
    /// Requests that a rate limit rejected.
    pub limited: u64,
    /// Bytes of files in answers.
    pub file_bytes: u64,
    /// Requests sent upstream.
    pub upstream_attempts: u64,
    /// Fetches in flight.
    pub upstream_under_way: u64,
    /// False if upstream does not answer, or rejects everything.
    pub is_upstream_up: bool,
    /// Background tasks that failed in their last run, and why.
    pub failing: Vec<String>,
    /// True if there is too little free space for changes.
    pub is_disk_full: bool,
}

/// Counters of one route.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LiveRoute {
    /// Name of the endpoint.
    pub name: String,
    /// Answers of any status.
    pub answers: u64,
    /// Answers with a status from 500 on.
    pub errors: u64,
    /// Answers by time; the ends of the buckets are
    /// [`LATENCY_BUCKETS_US`](crate::service::LATENCY_BUCKETS_US).
    pub latency: Vec<u64>,
}

impl Operation for ReadLive {
    const NAME: &'static str = "live";
    type Answer = LiveRead;

    async fn execute(self, operations: &Operations<'_>) -> Result<LiveRead, OperationError> {
        let service = operations.service.ok_or(OperationRejection::NoServer)?;
        Ok(LiveRead::of(service))
    }
}

impl LiveRead {
    fn of(service: &Service) -> Self {
        let metrics = &service.metrics;
        let connections = &metrics.connections;
        let counts = service.upstream.counts();
        let failing = service.background.failing();
        let read = |counter: &std::sync::atomic::AtomicU64| {
            counter.load(std::sync::atomic::Ordering::Relaxed)
        };
        Self {
            monotonic_us: service.clock.now().monotonic_us,
            phase: service.phase().as_str().to_owned(),
            routes: Route::ALL.map(|route| LiveRoute::of(service, route)).into(),
            connections: read(&connections.open),
            workers: read(&connections.workers_running),
            search_cache_hits: metrics.sum(|w| w.search_cache_hits.get()),
            search_cache_misses: metrics.sum(|w| w.search_cache_misses.get()),
            limited: metrics.sum(|w| w.limited.iter().map(Counter::get).sum()),
            file_bytes: metrics.sum(|w| w.file_bytes.get()),
            upstream_attempts: counts.attempts(),
            upstream_under_way: counts.in_flight(),
            is_upstream_up: !service.upstream.health().state.is_failing(),
            failing: failing
                .iter()
                .map(|failing| format!("{}: {}", failing.task.name(), failing.error))
                .collect(),
            is_disk_full: service.engine.files().check_space().is_err(),
        }
    }
}

impl LiveRoute {
    fn of(service: &Service, route: Route) -> Self {
        let metrics = &service.metrics;
        let idx = route as usize;
        let latency = metrics.latency_counts(route);
        Self {
            name: route.as_str().to_owned(),
            answers: latency.iter().sum(),
            errors: metrics.sum(|w| {
                let of_server = w.routes[idx].latencies.last();
                of_server.map_or(0, |times| times.buckets.iter().map(Counter::get).sum())
            }),
            latency: latency.to_vec(),
        }
    }
}
