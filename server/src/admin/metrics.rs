//! All metrics of the service, as OpenMetrics text.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use subcat_engine::EngineStats;

use crate::service::{
    BackgroundHealth, BackgroundTask, ClusterState, LATENCY_BUCKETS_US, LimitRejection, Metrics,
    Phase, Route, STATUS_CLASSES, STATUSES, Service, WorkerMetrics,
};
use crate::upstream::{FetchOutcome, UpstreamState};

/// The answer of `/metrics`. Cost: one pass over all counters and [`subcat_engine::Engine::stats`];
/// blocks.
pub(super) fn metrics_text(service: Arc<Service>) -> Result<String, MetricsError> {
    let stats = service.engine.stats()?;
    let mut registry = Registry::with_prefix("subcat");
    registry.register_collector(Box::new(Scrape { service, stats }));
    let mut out = String::new();
    text::encode(&mut out, &registry)?;
    Ok(out)
}

/// Metrics that could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum MetricsError {
    /// The sizes of the engine could not be read.
    #[error(transparent)]
    Engine(#[from] subcat_engine::Error),
    /// A value could not be encoded.
    #[error("metrics could not be written as text")]
    Encode(#[from] fmt::Error),
}

/// All metrics, read once.
struct Scrape {
    service: Arc<Service>,
    stats: EngineStats,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scrape")
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut writer = MetricsWriter { encoder };
        let metrics = &self.service.metrics;
        requests(&mut writer, metrics)?;
        latencies(&mut writer, metrics)?;
        workers(&mut writer, metrics)?;
        connections(&mut writer, metrics)?;
        pools(&mut writer, &self.service)?;
        upstream(&mut writer, &self.service)?;
        engine(&mut writer, &self.stats)?;
        if let Some(node) = self.service.cluster() {
            cluster(&mut writer, &node.state())?;
        }
        process(&mut writer, &self.service)
    }
}

/// Writer of metrics, one family after the other.
struct MetricsWriter<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl MetricsWriter<'_> {
    fn family(
        &mut self,
        name: &'static str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'_>, fmt::Error> {
        self.encoder.encode_descriptor(name, help, None, kind)
    }

    fn counter(&mut self, name: &'static str, help: &str, value: u64) -> fmt::Result {
        ConstCounter::new(value).encode(self.family(name, help, MetricType::Counter)?)
    }

    fn gauge(&mut self, name: &'static str, help: &str, value: u64) -> fmt::Result {
        ConstGauge::new(value).encode(self.family(name, help, MetricType::Gauge)?)
    }
}

/// Requests by route and status. Pairs that have not occurred are left out: most never do.
fn requests(writer: &mut MetricsWriter<'_>, metrics: &Metrics) -> fmt::Result {
    let help = "Answers by route and status.";
    let mut family = writer.family("requests", help, MetricType::Counter)?;
    for (route_idx, route) in Route::ALL.into_iter().enumerate() {
        for (status_idx, status) in STATUSES.into_iter().enumerate() {
            let of_worker = |w: &WorkerMetrics| w.routes[route_idx].answers[status_idx].get();
            let count = metrics.sum(of_worker);
            if count == 0 {
                continue;
            }
            let status = match status {
                0 => "other".to_owned(),
                known => known.to_string(),
            };
            let labels = [("route", route.as_str()), ("status", status.as_str())];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of years fit")]
fn latencies(writer: &mut MetricsWriter<'_>, metrics: &Metrics) -> fmt::Result {
    let help = "Time from a request's head to its answer's, by route and class of status.";
    let name = "request_duration_seconds";
    let mut family = writer.family(name, help, MetricType::Histogram)?;
    for (route_idx, route) in Route::ALL.into_iter().enumerate() {
        for (class_idx, class) in STATUS_CLASSES.into_iter().enumerate() {
            let of = |w: &WorkerMetrics, bucket_idx: usize| {
                w.routes[route_idx].latencies[class_idx].buckets[bucket_idx].get()
            };
            let mut buckets = Vec::with_capacity(LATENCY_BUCKETS_US.len() + 1);
            for bucket_idx in 0..=LATENCY_BUCKETS_US.len() {
                let end = LATENCY_BUCKETS_US.get(bucket_idx);
                let end_seconds = end.map_or(f64::INFINITY, |end_us| *end_us as f64 / 1e6);
                buckets.push((end_seconds, metrics.sum(|w| of(w, bucket_idx))));
            }
            let count: u64 = buckets.iter().map(|(_, count)| count).sum();
            if count == 0 && class != STATUS_CLASSES[0] {
                // Most pairs never occur.
                continue;
            }
            let sum_us = metrics.sum(|w| w.routes[route_idx].latencies[class_idx].us_sum.get());
            let labels = [("route", route.as_str()), ("status", class)];
            let mut encoder = family.encode_family(&labels)?;
            encoder.encode_histogram::<NoLabels>(sum_us as f64 / 1e6, count, &buckets, None)?;
        }
    }
    Ok(())
}

/// The empty label set of exemplars.
type NoLabels = [(&'static str, &'static str); 0];

fn workers(writer: &mut MetricsWriter<'_>, metrics: &Metrics) -> fmt::Result {
    let help = "Requests rejected by a rate limit, by window.";
    let mut family = writer.family("limiter_refusals", help, MetricType::Counter)?;
    for (window, rejection) in [
        ("api_key", LimitRejection::ApiKeyWindow),
        ("address", LimitRejection::AddressWindow),
        ("account", LimitRejection::AccountWindow),
    ] {
        let count = metrics.sum(|w| w.limited[rejection as usize].get());
        ConstCounter::new(count).encode(family.encode_family(&[("window", window)])?)?;
    }
    let counters: [(&'static str, &str, u64); 5] = [
        (
            "search_cache_hits",
            "Searches answered from cached hits.",
            metrics.sum(|w| w.search_cache_hits.get()),
        ),
        (
            "search_cache_misses",
            "Searches that were run.",
            metrics.sum(|w| w.search_cache_misses.get()),
        ),
        (
            "file_bytes",
            "Bytes of files in answers.",
            metrics.sum(|w| w.file_bytes.get()),
        ),
        (
            "downloads",
            "Downloads that were counted.",
            metrics.sum(|w| w.downloads.get()),
        ),
        (
            "panics",
            "Requests whose handling panicked.",
            metrics.sum(|w| w.panics.get()),
        ),
    ];
    for (name, help, value) in counters {
        writer.counter(name, help, value)?;
    }
    let bytes = metrics.sum(|w| w.search_cache_bytes.get());
    writer.gauge("search_cache_bytes", "Bytes of cached hits.", bytes)
}

fn connections(writer: &mut MetricsWriter<'_>, metrics: &Metrics) -> fmt::Result {
    let counts = &metrics.connections;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    writer.gauge("connections", "Connections open now.", read(&counts.open))?;
    let accepted = read(&counts.accepted);
    writer.counter("connections_accepted", "Connections accepted.", accepted)?;
    let refused = read(&counts.refused);
    writer.counter(
        "connections_refused",
        "Connections rejected because there were too many.",
        refused,
    )?;
    let cut = read(&counts.cut);
    writer.counter(
        "connections_cut",
        "Connections closed because they took too long.",
        cut,
    )?;
    let displaced = read(&counts.displaced);
    let help = "Idle connections closed for new ones.";
    writer.counter("connections_displaced", help, displaced)?;
    let running = read(&counts.workers_running);
    writer.gauge("workers_running", "Workers that serve.", running)
}

/// Pools of blocking work.
fn pools(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let states = service.control.pool_states();
    let help = "Time for which the oldest job of a pool of blocking work has been running.";
    let mut family = writer.family("pool_oldest_job_seconds", help, MetricType::Gauge)?;
    for state in &states {
        let gauge = ConstGauge::new(state.oldest_job.as_secs_f64());
        gauge.encode(family.encode_family(&[("pool", state.kind.as_str())])?)?;
    }
    let help = "1 for a pool of blocking work that is full and none of whose jobs ends.";
    let mut family = writer.family("pool_stalled", help, MetricType::Gauge)?;
    for state in &states {
        let gauge = ConstGauge::new(u64::from(state.is_stalled));
        gauge.encode(family.encode_family(&[("pool", state.kind.as_str())])?)?;
    }
    let help = "Jobs of a pool of blocking work that run.";
    let mut family = writer.family("pool_jobs", help, MetricType::Gauge)?;
    for state in &states {
        let gauge = ConstGauge::new(state.running_count as u64);
        gauge.encode(family.encode_family(&[("pool", state.kind.as_str())])?)?;
    }
    Ok(())
}

fn upstream(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let counts = service.upstream.counts();
    let help = "Requests for files that were not cached, by outcome.";
    let mut family = writer.family("upstream_fetches", help, MetricType::Counter)?;
    for outcome in FetchOutcome::ALL {
        let labels = [("outcome", outcome.as_str())];
        let counter = ConstCounter::new(counts.outcome(outcome));
        counter.encode(family.encode_family(&labels)?)?;
    }
    let help = "Requests sent upstream, retries included.";
    writer.counter("upstream_attempts", help, counts.attempts())?;
    writer.counter(
        "upstream_bytes",
        "Bytes received from upstream.",
        counts.bytes(),
    )?;
    let help = "Fetches under way, waiting ones included.";
    writer.gauge("upstream_under_way", help, counts.in_flight())?;
    let help = "0 if upstream accepts no connection, or fails or rejects the last files.";
    let state = service.upstream.health().state;
    let is_down = matches!(state, UpstreamState::Down | UpstreamState::Rejecting);
    writer.gauge("upstream_up", help, u64::from(!is_down))
}

fn engine(writer: &mut MetricsWriter<'_>, stats: &EngineStats) -> fmt::Result {
    let gauges: [(&'static str, &str, u64); 16] = [
        ("records", "Records of the catalog.", stats.records),
        (
            "records_active",
            "Records that can be found.",
            stats.active_records,
        ),
        (
            "records_damaged",
            "Records that cannot be read and are left out.",
            stats.damaged_records,
        ),
        ("segments", "Segment files.", stats.file_segments),
        (
            "segments_unmergeable",
            "Segment files that no merge has memory for.",
            stats.unmergeable_segments,
        ),
        (
            "delta_records",
            "Records not yet in a segment file.",
            stats.delta_records,
        ),
        (
            "tombstones",
            "Replaced records still in segments.",
            stats.tombstones,
        ),
        (
            "index_bytes",
            "Bytes of dictionaries and postings.",
            stats.index_bytes,
        ),
        (
            "document_bytes",
            "Bytes of documents.",
            stats.document_bytes,
        ),
        (
            "catalog_store_bytes",
            "Bytes of catalog.redb.",
            stats.catalog_store_bytes,
        ),
        (
            "state_store_bytes",
            "Bytes of state.redb.",
            stats.state_store_bytes,
        ),
        (
            "cached_files",
            "Releases whose file is cached.",
            stats.cached_files,
        ),
        ("blob_bytes", "Bytes of cached files.", stats.blob_bytes),
        (
            "waiting_uploads",
            "Cached files that object storage does not have yet.",
            stats.waiting_uploads,
        ),
        ("accounts", "Accounts.", stats.accounts),
        ("api_keys", "API keys of any state.", stats.api_keys),
    ];
    for (name, help, value) in gauges {
        writer.gauge(name, help, value)?;
    }
    cached_files(writer, stats)?;
    maintenance(writer, stats)
}

/// Work of the background tasks since the start.
fn maintenance(writer: &mut MetricsWriter<'_>, stats: &EngineStats) -> fmt::Result {
    let help = "Reindex jobs that flushed the delta to a segment file.";
    writer.counter("reindex_jobs", help, stats.reindex_jobs_done)?;
    let help = "Times that the scrubber has read everything.";
    writer.counter("scrub_rounds", help, stats.scrub_rounds)?;
    let help = "Damage that the scrubber has found.";
    writer.counter("scrub_findings", help, stats.scrub_findings)?;
    writer.counter("merges", "Merges of segment files.", stats.merges_done)
}

/// This node of a cluster, and its view of the others.
fn cluster(writer: &mut MetricsWriter<'_>, state: &ClusterState) -> fmt::Result {
    let replica = &state.replica;
    let help = "Number of the log of the cluster.";
    writer.gauge("cluster_epoch", help, replica.epoch)?;
    let help = "Last entry of the log that is applied.";
    writer.gauge("cluster_applied", help, replica.applied)?;
    if let Some(lag) = state.lag {
        let help = "Entries of the log that are not applied yet; absent while it is not followed.";
        writer.gauge("cluster_lag", help, lag)?;
    }
    let help = "0 if the log cannot be reached, or nothing of it is applied any more.";
    writer.gauge(
        "cluster_following",
        help,
        u64::from(state.problem.is_none()),
    )?;
    let help = "Nodes whose rows are not those of this node.";
    let diverged = replica.nodes.iter().filter(|node| node.is_diverged);
    writer.gauge("cluster_diverged_nodes", help, diverged.count() as u64)?;
    let help = "Seconds since a node was heard.";
    let mut family = writer.family("cluster_silent_seconds", help, MetricType::Gauge)?;
    for node in &replica.nodes {
        // A node that joins again keeps its name and gets another number.
        let number = node.node.to_string();
        let labels = [("node", node.beat.name.as_str()), ("number", &number)];
        let silent_for = state.now.saturating_sub(node.heard_at);
        let gauge = ConstGauge::new(silent_for.as_secs_f64());
        gauge.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

/// Comings and goings of cached files since the start.
fn cached_files(writer: &mut MetricsWriter<'_>, stats: &EngineStats) -> fmt::Result {
    let help = "Cached files that were removed because all together took too much.";
    writer.counter("evicted_files", help, stats.evicted_files)?;
    let help = "Bytes of those files.";
    writer.counter("evicted_bytes", help, stats.evicted_bytes)?;
    let help = "Cached files that went to object storage.";
    writer.counter("uploaded_files", help, stats.uploaded_files)?;
    let help = "Cached files that came back from object storage.";
    writer.counter("returned_files", help, stats.returned_files)
}

/// Background tasks: which of them fail now, and how often they have failed.
fn background(writer: &mut MetricsWriter<'_>, background: &BackgroundHealth) -> fmt::Result {
    let failing = background.failing();
    let help = "1 if the last run of a background task failed.";
    let mut family = writer.family("task_failing", help, MetricType::Gauge)?;
    for task in BackgroundTask::ALL {
        let is_failing = failing.iter().any(|failing| failing.task == task);
        let labels = [("task", task.name())];
        ConstGauge::new(u64::from(is_failing)).encode(family.encode_family(&labels)?)?;
    }
    let help = "Runs of background tasks that failed.";
    let mut family = writer.family("task_failures", help, MetricType::Counter)?;
    for task in BackgroundTask::ALL {
        let labels = [("task", task.name())];
        let counter = ConstCounter::new(background.failures_count(task));
        counter.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}

fn process(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let is_ready = u64::from(service.phase() == Phase::Ready);
    writer.gauge("ready", "1 if the service answers reads.", is_ready)?;
    let is_full = u64::from(service.engine.files().check_space().is_err());
    let help = "1 if there is too little free space for changes.";
    writer.gauge("disk_full", help, is_full)?;
    background(writer, &service.background)?;
    let help = "The running program: 1, with its version.";
    let mut family = writer.family("build_info", help, MetricType::Gauge)?;
    let labels = [("version", env!("CARGO_PKG_VERSION"))];
    ConstGauge::new(1_u64).encode(family.encode_family(&labels)?)?;
    let help = "Seconds since the last tick, one a second, of the worker that waits longest.";
    let tick_age = service.metrics.oldest_tick(service.clock.now());
    writer.gauge("worker_tick_age_seconds", help, tick_age.as_secs())?;
    let help = "Lines of the log that were dropped because nobody took them.";
    writer.counter("log_lines_dropped", help, service.dropped_log_lines())?;
    let tracer = &service.tracer;
    let help = "Spans of traces that the collector has taken.";
    writer.counter("trace_spans_sent", help, tracer.sent_count())?;
    let help = "Spans that were dropped: the queue was full, or the collector did not take them.";
    writer.counter("trace_spans_dropped", help, tracer.dropped_count())?;
    let Some(usage) = ProcessUsage::read() else {
        return Ok(());
    };
    let help = "Resident memory, mapped files included.";
    writer.gauge("process_resident_bytes", help, usage.resident_bytes)?;
    writer.gauge("process_open_files", "Open descriptors.", usage.files_count)?;
    let help = "Processor time, user and system.";
    let family = writer.family("process_cpu_seconds", help, MetricType::Counter)?;
    ConstCounter::new(usage.cpu_seconds).encode(family)
}

/// Resources of this process, as the kernel reports them.
struct ProcessUsage {
    resident_bytes: u64,
    files_count: u64,
    cpu_seconds: f64,
}

impl ProcessUsage {
    /// Reads `/proc`; `None` on a system without it.
    fn read() -> Option<Self> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let resident = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        let resident_kib: u64 = resident.trim().strip_suffix(" kB")?.parse().ok()?;
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        #[expect(clippy::cast_precision_loss, reason = "seconds of years fit")]
        let cpu_seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        Some(Self {
            resident_bytes: resident_kib * 1024,
            files_count: std::fs::read_dir("/proc/self/fd").ok()?.count() as u64,
            cpu_seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Part;

    impl Collector for Part {
        fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
            let metrics = Metrics::new(2);
            metrics.workers[0].answered(Route::Search, 200, 20);
            metrics.workers[1].answered(Route::Search, 200, 7_000_000);
            metrics.workers[1].answered(Route::Download, 418, 1);
            metrics.workers[0].limited(LimitRejection::AddressWindow);
            let mut writer = MetricsWriter { encoder };
            requests(&mut writer, &metrics)?;
            latencies(&mut writer, &metrics)?;
            workers(&mut writer, &metrics)?;
            connections(&mut writer, &metrics)
        }
    }

    #[test]
    fn counters_of_workers_are_summed_and_labelled() {
        let mut registry = Registry::with_prefix("subcat");
        registry.register_collector(Box::new(Part));
        let mut out = String::new();
        text::encode(&mut out, &registry).unwrap();
        for line in [
            "subcat_requests_total{route=\"search\",status=\"200\"} 2",
            "subcat_requests_total{route=\"download\",status=\"other\"} 1",
            "subcat_request_duration_seconds_bucket\
             {le=\"0.000025\",route=\"search\",status=\"2xx\"} 1",
            "subcat_request_duration_seconds_bucket{le=\"+Inf\",route=\"search\",status=\"2xx\"} 2",
            "subcat_request_duration_seconds_count{route=\"search\",status=\"2xx\"} 2",
            "subcat_limiter_refusals_total{window=\"address\"} 1",
            "subcat_limiter_refusals_total{window=\"api_key\"} 0",
            "# TYPE subcat_search_cache_hits counter",
            "subcat_connections 0",
            "# EOF",
        ] {
            assert!(out.lines().any(|l| l == line), "{line} is not in\n{out}");
        }
    }

    #[test]
    fn the_kernel_knows_this_process() {
        let usage = ProcessUsage::read().unwrap();
        assert!(0 < usage.resident_bytes);
        assert!(3 <= usage.files_count);
    }
}
