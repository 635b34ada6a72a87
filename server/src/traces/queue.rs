//! The queue between the tracer and the exporter.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::sync::mpsc;

use super::span::TraceSpan;

/// Counts of spans since the process started.
#[derive(Debug, Default)]
pub(super) struct SpanCounts {
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
}

/// An entry of the queue.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "otlp"),
    expect(dead_code, reason = "the exporter is what the feature adds")
)]
pub(super) enum Queued {
    /// A span to send.
    Span(TraceSpan),
    /// The process ends: no span that matters comes after it.
    End,
}

/// The end of the queue that an exporter reads.
#[cfg_attr(
    not(feature = "otlp"),
    expect(dead_code, reason = "the exporter is what the feature adds")
)]
pub(super) struct SpanQueue {
    pub(super) entries: mpsc::Receiver<Queued>,
    pub(super) counts: Arc<SpanCounts>,
}

/// The client of the collector cannot be set up, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("the client of the collector cannot be set up")]
pub struct TracerError(#[source] pub(super) Box<dyn std::error::Error + Send + Sync>);
