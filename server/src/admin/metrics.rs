//! All metrics of the service, as OpenMetrics text.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeGaugeValue, EncodeMetric, MetricEncoder, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use subcat_engine::EngineStats;

use crate::service::{
    BackgroundHealth, BackgroundTask, ClusterState, Counter, LATENCY_BUCKETS_US, LimitRejection,
    Metrics, Phase, Route, STATUS_CLASSES, STATUSES, Service, WorkerMetrics,
};
use crate::upstream::FetchOutcome;

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

    /// A counter for each value of a label.
    fn counters<'v>(
        &mut self,
        name: &'static str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let mut family = self.family(name, help, MetricType::Counter)?;
        for (value, count) in values {
            ConstCounter::new(count).encode(family.encode_family(&[(label, value)])?)?;
        }
        Ok(())
    }

    /// A gauge for each value of a label.
    fn gauges<'v, N: EncodeGaugeValue>(
        &mut self,
        name: &'static str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, N)>,
    ) -> fmt::Result {
        let mut family = self.family(name, help, MetricType::Gauge)?;
        for (value, number) in values {
            ConstGauge::new(number).encode(family.encode_family(&[(label, value)])?)?;
        }
        Ok(())
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
    let windows = [
        ("api_key", LimitRejection::ApiKeyWindow),
        ("address", LimitRejection::AddressWindow),
        ("account", LimitRejection::AccountWindow),
    ];
    let refusals = windows.map(|(window, rejection)| {
        let count = metrics.sum(|w| w.limited[rejection as usize].get());
        (window, count)
    });
    let help = "Requests rejected by a rate limit, by window.";
    writer.counters("limiter_refusals", help, "window", refusals)?;
    let sum = |of: fn(&WorkerMetrics) -> &Counter| metrics.sum(|worker| of(worker).get());
    let help = "Searches answered from cached hits.";
    writer.counter("search_cache_hits", help, sum(|w| &w.search_cache_hits))?;
    let help = "Searches that were run.";
    writer.counter("search_cache_misses", help, sum(|w| &w.search_cache_misses))?;
    let help = "Bytes of files in answers.";
    writer.counter("file_bytes", help, sum(|w| &w.file_bytes))?;
    let help = "Downloads that were counted.";
    writer.counter("downloads", help, sum(|w| &w.downloads))?;
    let help = "Requests whose handling panicked.";
    writer.counter("panics", help, sum(|w| &w.panics))?;
    let help = "Bytes of cached hits.";
    writer.gauge("search_cache_bytes", help, sum(|w| &w.search_cache_bytes))
}

fn connections(writer: &mut MetricsWriter<'_>, metrics: &Metrics) -> fmt::Result {
    let counts = &metrics.connections;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    writer.gauge("connections", "Connections open now.", read(&counts.open))?;
    let help = "Connections accepted.";
    writer.counter("connections_accepted", help, read(&counts.accepted))?;
    let help = "Connections rejected because there were too many.";
    writer.counter("connections_refused", help, read(&counts.refused))?;
    let help = "Connections closed because they took too long.";
    writer.counter("connections_cut", help, read(&counts.cut))?;
    let help = "Idle connections closed for new ones.";
    writer.counter("connections_displaced", help, read(&counts.displaced))?;
    let help = "Workers that serve.";
    writer.gauge("workers_running", help, read(&counts.workers_running))
}

/// Pools of blocking work.
fn pools(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let states = service.control.pool_states();
    let pools = || states.iter().map(|state| (state.kind.as_str(), state));
    let help = "Time for which the oldest job of a pool of blocking work has been running.";
    let oldest = pools().map(|(pool, state)| (pool, state.oldest_job.as_secs_f64()));
    writer.gauges("pool_oldest_job_seconds", help, "pool", oldest)?;
    let help = "1 for a pool of blocking work that is full and none of whose jobs ends.";
    let stalled = pools().map(|(pool, state)| (pool, u64::from(state.is_stalled)));
    writer.gauges("pool_stalled", help, "pool", stalled)?;
    let help = "Jobs of a pool of blocking work that run.";
    let running = pools().map(|(pool, state)| (pool, state.running_count as u64));
    writer.gauges("pool_jobs", help, "pool", running)
}

fn upstream(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let counts = service.upstream.counts();
    let help = "Requests for files that were not cached, by outcome.";
    let outcomes = FetchOutcome::ALL.map(|it| (it.as_str(), counts.outcome(it)));
    writer.counters("upstream_fetches", help, "outcome", outcomes)?;
    let help = "Requests sent upstream, retries included.";
    writer.counter("upstream_attempts", help, counts.attempts())?;
    let help = "Bytes received from upstream.";
    writer.counter("upstream_bytes", help, counts.bytes())?;
    let help = "Fetches under way, waiting ones included.";
    writer.gauge("upstream_under_way", help, counts.in_flight())?;
    let help = "0 if upstream accepts no connection, or fails or rejects the last files.";
    let is_failing = service.upstream.health().state.is_failing();
    writer.gauge("upstream_up", help, u64::from(!is_failing))
}

fn engine(writer: &mut MetricsWriter<'_>, stats: &EngineStats) -> fmt::Result {
    writer.gauge("records", "Records of the catalog.", stats.records)?;
    let help = "Records that can be found.";
    writer.gauge("records_active", help, stats.active_records)?;
    let help = "Records that cannot be read and are left out.";
    writer.gauge("records_damaged", help, stats.damaged_records)?;
    writer.gauge("segments", "Segment files.", stats.file_segments)?;
    let help = "Segment files that no merge has memory for.";
    writer.gauge("segments_unmergeable", help, stats.unmergeable_segments)?;
    let help = "Records not yet in a segment file.";
    writer.gauge("delta_records", help, stats.delta_records)?;
    let help = "Replaced records still in segments.";
    writer.gauge("tombstones", help, stats.tombstones)?;
    let help = "Bytes of dictionaries and postings.";
    writer.gauge("index_bytes", help, stats.index_bytes)?;
    writer.gauge(
        "document_bytes",
        "Bytes of documents.",
        stats.document_bytes,
    )?;
    let help = "Bytes of catalog.redb.";
    writer.gauge("catalog_store_bytes", help, stats.catalog_store_bytes)?;
    let help = "Bytes of state.redb.";
    writer.gauge("state_store_bytes", help, stats.state_store_bytes)?;
    let help = "Releases whose file is cached.";
    writer.gauge("cached_files", help, stats.cached_files)?;
    writer.gauge("blob_bytes", "Bytes of cached files.", stats.blob_bytes)?;
    let help = "Cached files that object storage does not have yet.";
    writer.gauge("waiting_uploads", help, stats.waiting_uploads)?;
    writer.gauge("accounts", "Accounts.", stats.accounts)?;
    writer.gauge("api_keys", "API keys of any state.", stats.api_keys)?;
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
    let is_following = u64::from(state.problem.is_none());
    writer.gauge("cluster_following", help, is_following)?;
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
    let is_failing = |task| failing.iter().any(|failing| failing.task == task);
    let help = "1 if the last run of a background task failed.";
    let tasks = BackgroundTask::ALL.map(|task| (task.name(), u64::from(is_failing(task))));
    writer.gauges("task_failing", help, "task", tasks)?;
    let help = "Runs of background tasks that failed.";
    let tasks = BackgroundTask::ALL.map(|task| (task.name(), background.failures_count(task)));
    writer.counters("task_failures", help, "task", tasks)
}

fn process(writer: &mut MetricsWriter<'_>, service: &Service) -> fmt::Result {
    let is_ready = u64::from(service.phase() == Phase::Ready);
    writer.gauge("ready", "1 if the service answers reads.", is_ready)?;
    let is_full = u64::from(service.engine.files().check_space().is_err());
    let help = "1 if there is too little free space for changes.";
    writer.gauge("disk_full", help, is_full)?;
    background(writer, &service.background)?;
    let help = "The running program: 1, with its version.";
    let version = [(env!("CARGO_PKG_VERSION"), 1_u64)];
    writer.gauges("build_info", help, "version", version)?;
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
