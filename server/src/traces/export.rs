//! Sending of spans to a collector, by OTLP over HTTP.

use std::sync::atomic::Ordering;
use std::time::{Duration, UNIX_EPOCH};

use opentelemetry::trace::{
    SpanContext, SpanId, SpanKind as OtlpKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use reqwest::redirect::Policy;
use tokio::task::JoinHandle;
use tokio::time;

use super::queue::{Queued, SpanQueue, TracerError};
use super::span::{Attribute, SpanKind, TraceSpan};
use crate::limits::SPANS_SENT_AT_ONCE;
use crate::runtime::ControlHandle;
use crate::upstream::client_builder;

/// Maximum time that a span waits for others to be sent with it.
const BATCH_PAUSE: Duration = Duration::from_secs(1);
/// Time limit for sending a batch to the collector, retries included.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Starts the task that sends the spans of the queue to the collector at `url`.
///
/// Errors: its host cannot be looked up, or there is no TLS.
pub(super) fn start(
    url: &str,
    queue: SpanQueue,
    control: &ControlHandle,
) -> Result<JoinHandle<()>, TracerError> {
    let http = client_builder("traces.url", url)
        .map_err(|error| TracerError(error.into()))?
        .timeout(EXPORT_TIMEOUT)
        .redirect(Policy::none())
        .build()
        .map_err(|error| TracerError(error.into()))?;
    let mut exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(http)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{url}/v1/traces"))
        .with_timeout(EXPORT_TIMEOUT)
        .build()
        .map_err(|error| TracerError(error.into()))?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder_empty()
        .with_service_name("subcat")
        .with_attribute(version)
        .build();
    exporter.set_resource(&resource);
    Ok(control.spawn(export(exporter, queue)))
}

/// Sends spans until the process ends.
async fn export(exporter: SpanExporter, mut queue: SpanQueue) {
    let scope = InstrumentationScope::builder("subcat").build();
    let mut is_failing = false;
    loop {
        let (spans, is_over) = gather(&mut queue).await;
        if !spans.is_empty() {
            let count = spans.len() as u64;
            let batch = spans.into_iter().map(|span| data(span, &scope)).collect();
            let sent = exporter.export(batch).await;
            note(&queue, &sent, count, is_failing);
            is_failing = sent.is_err();
        }
        if is_over {
            return;
        }
    }
}

/// Counts sent and failed spans, and logs when the collector begins to fail or to work.
fn note(queue: &SpanQueue, sent: &OTelSdkResult, count: u64, was_failing: bool) {
    let counter = match sent {
        Ok(()) => &queue.counts.sent,
        Err(_) => &queue.counts.dropped,
    };
    counter.fetch_add(count, Ordering::Relaxed);
    match sent {
        Err(error) if !was_failing => {
            tracing::warn!(%error, "the collector takes no spans: they are dropped");
        }
        Ok(()) if was_failing => tracing::info!("the collector takes spans again"),
        Ok(()) | Err(_) => {}
    }
}

/// Spans to be sent together: the next one, and those that come within a pause. True if they are
/// the last ones.
async fn gather(queue: &mut SpanQueue) -> (Vec<TraceSpan>, bool) {
    let mut spans = Vec::new();
    let mut until = None;
    while spans.len() < SPANS_SENT_AT_ONCE {
        let next = queue.entries.recv();
        let next = match until {
            None => next.await,
            Some(until) => match time::timeout_at(until, next).await {
                Ok(next) => next,
                Err(_) => return (spans, false),
            },
        };
        match next {
            Some(Queued::Span(span)) => spans.push(span),
            Some(Queued::End) | None => return (spans, true),
        }
        until.get_or_insert_with(|| time::Instant::now() + BATCH_PAUSE);
    }
    (spans, false)
}

/// A span as the exporter takes it.
fn data(span: TraceSpan, scope: &InstrumentationScope) -> SpanData {
    let TraceSpan { open, facts } = span;
    let context = SpanContext::new(
        TraceId::from(open.trace_id),
        SpanId::from(open.span_id),
        TraceFlags::SAMPLED,
        false,
        TraceState::NONE,
    );
    let attributes = facts
        .attributes
        .into_iter()
        .map(|(name, value)| match value {
            Attribute::Text(text) => KeyValue::new(name, text),
            Attribute::Number(number) => KeyValue::new(name, number),
        });
    let started_ms = u64::try_from(facts.started.unix_ms).unwrap_or(0);
    let start_time = UNIX_EPOCH + Duration::from_millis(started_ms);
    SpanData {
        span_context: context,
        parent_span_id: open.parent_id.map_or(SpanId::INVALID, SpanId::from),
        parent_span_is_remote: open.is_parent_remote,
        span_kind: match facts.kind {
            SpanKind::Server => OtlpKind::Server,
            SpanKind::Internal => OtlpKind::Internal,
        },
        name: facts.name,
        start_time,
        end_time: start_time + Duration::from_micros(facts.took_us),
        attributes: attributes.collect(),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: SpanLinks::default(),
        status: if facts.is_failed {
            Status::error("")
        } else {
            Status::Unset
        },
        instrumentation_scope: scope.clone(),
    }
}
