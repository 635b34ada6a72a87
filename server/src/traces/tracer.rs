//! Beginning and end of spans, and the queue behind them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time;

use super::queue::{Queued, SpanCounts, SpanQueue, TracerError};
use super::span::{OpenSpan, SpanFacts, TraceSpan};
use super::trace_parent::TraceParent;
use crate::config::TraceSettings;
use crate::limits::SPANS_QUEUED_MAX;
use crate::runtime::ControlHandle;

/// Maker of spans.
pub struct Tracer {
    /// One request of this number is traced, unless its caller decides; 0 if nothing is traced.
    every: u64,
    queue: Option<mpsc::Sender<Queued>>,
    counts: Arc<SpanCounts>,
    exporting: Mutex<Option<JoinHandle<()>>>,
}

impl Tracer {
    /// A tracer that traces nothing.
    pub fn off() -> Self {
        Self {
            every: 0,
            queue: None,
            counts: Arc::default(),
            exporting: Mutex::default(),
        }
    }

    /// Starts a tracer with these settings, and the task that sends its spans to the collector.
    ///
    /// Errors: the collector's host cannot be looked up, or there is no TLS.
    pub fn start(settings: &TraceSettings, control: &ControlHandle) -> Result<Self, TracerError> {
        let Some(url) = &settings.url else {
            return Ok(Self::off());
        };
        let (tracer, queue) = Self::with_queue(settings.every);
        *tracer.exporting.lock() = start_exporter(url, queue, control)?;
        Ok(tracer)
    }

    /// A tracer, and the queue of its spans.
    fn with_queue(every: u32) -> (Self, SpanQueue) {
        let (queue, entries) = mpsc::channel(SPANS_QUEUED_MAX);
        let tracer = Self {
            every: every.into(),
            queue: Some(queue),
            ..Self::off()
        };
        let queue = SpanQueue {
            entries,
            counts: Arc::clone(&tracer.counts),
        };
        (tracer, queue)
    }

    /// True if nothing is traced.
    pub fn is_off(&self) -> bool {
        self.every == 0
    }

    /// The span of the request of this number, if it is traced: its caller decides, else one of
    /// `traces.every` is.
    pub fn begin_request(&self, number: u64, parent: Option<TraceParent>) -> Option<OpenSpan> {
        if self.is_off() {
            return None;
        }
        match parent {
            Some(parent) if parent.is_sampled => Some(OpenSpan {
                trace_id: parent.trace_id,
                span_id: new_id(),
                parent_id: Some(parent.span_id),
                is_parent_remote: true,
            }),
            Some(_) => None,
            None if number.is_multiple_of(self.every) => self.begin(),
            None => None,
        }
    }

    /// A span that is part of nothing; `None` if nothing is traced.
    pub fn begin(&self) -> Option<OpenSpan> {
        (!self.is_off()).then(|| OpenSpan {
            trace_id: u128::from(new_id()) << 64 | u128::from(new_id()),
            span_id: new_id(),
            parent_id: None,
            is_parent_remote: false,
        })
    }

    /// A span inside another one.
    pub fn begin_part(&self, whole: &OpenSpan) -> OpenSpan {
        OpenSpan {
            trace_id: whole.trace_id,
            span_id: new_id(),
            parent_id: Some(whole.span_id),
            is_parent_remote: false,
        }
    }

    /// Ends a span. Never waits: a span that finds no place in the queue is dropped and counted.
    pub fn end(&self, open: OpenSpan, facts: SpanFacts) {
        let Some(queue) = &self.queue else {
            return;
        };
        let span = TraceSpan { open, facts };
        if queue.try_send(Queued::Span(span)).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Records a piece of work that is part of nothing and has ended.
    pub fn record(&self, facts: SpanFacts) {
        if let Some(open) = self.begin() {
            self.end(open, facts);
        }
    }

    /// Spans that the collector has accepted.
    pub fn sent_count(&self) -> u64 {
        self.counts.sent.load(Ordering::Relaxed)
    }

    /// Spans that were dropped: the queue was full, or the collector did not accept them.
    pub fn dropped_count(&self) -> u64 {
        self.counts.dropped.load(Ordering::Relaxed)
    }

    /// Sends what is queued, for up to `limit`. Called before the process ends.
    pub async fn finish(&self, limit: Duration) {
        let exporting = self.exporting.lock().take();
        let (Some(queue), Some(exporting)) = (&self.queue, exporting) else {
            return;
        };
        let sending = async {
            // Both fail only if the exporter has ended.
            let _ = queue.send(Queued::End).await;
            let _ = exporting.await;
        };
        if time::timeout(limit, sending).await.is_err() {
            tracing::warn!("the last spans were not sent: the collector is too slow");
        }
    }
}

#[cfg(feature = "otlp")]
fn start_exporter(
    url: &str,
    queue: SpanQueue,
    control: &ControlHandle,
) -> Result<Option<JoinHandle<()>>, TracerError> {
    super::export::start(url, queue, control).map(Some)
}

/// Without an exporter the queue ends at once. The setting is refused before it comes to this.
#[cfg(not(feature = "otlp"))]
fn start_exporter(
    _: &str,
    _: SpanQueue,
    _: &ControlHandle,
) -> Result<Option<JoinHandle<()>>, TracerError> {
    Ok(None)
}

/// A number for a span, or for half of a trace: random, so that those of several servers differ.
fn new_id() -> u64 {
    // 0 does not count as one.
    getrandom::u64().unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Moment;

    fn facts() -> SpanFacts {
        let at = |monotonic_us| Moment {
            monotonic_us,
            unix_ms: 0,
        };
        SpanFacts::of_step("step", at(1), at(2))
    }

    #[test]
    fn one_request_of_many_is_traced_unless_its_caller_decides() {
        let (tracer, _queue) = Tracer::with_queue(100);
        let traced = |parent| {
            let begun = (0..1000).filter_map(|number| tracer.begin_request(number, parent));
            begun.count()
        };
        assert_eq!(traced(None), 10);
        let mut parent = TraceParent {
            trace_id: 7,
            span_id: 8,
            is_sampled: false,
        };
        assert_eq!(traced(Some(parent)), 0);
        parent.is_sampled = true;
        assert_eq!(traced(Some(parent)), 1000);
        let span = tracer.begin_request(1, Some(parent)).unwrap();
        assert_eq!((span.trace_id, span.parent_id), (7, Some(8)));
        assert!(span.is_parent_remote);
        let part = tracer.begin_part(&span);
        assert_eq!((part.trace_id, part.parent_id), (7, Some(span.span_id)));
        assert_ne!(part.span_id, span.span_id);
        assert!(Tracer::off().begin_request(0, Some(parent)).is_none());
        assert!(Tracer::off().begin().is_none());
    }

    /// A slow or missing collector must neither stop a worker nor fill its memory.
    #[test]
    fn spans_that_find_no_place_are_dropped_and_counted() {
        let (tracer, mut queue) = Tracer::with_queue(1);
        let span = tracer.begin().unwrap();
        for _ in 0..SPANS_QUEUED_MAX + 7 {
            tracer.end(span, facts());
        }
        assert_eq!(tracer.dropped_count(), 7);
        assert!(queue.entries.try_recv().is_ok());
        tracer.end(span, facts());
        assert_eq!(tracer.dropped_count(), 7);
        drop(queue);
        tracer.end(span, facts());
        assert_eq!(tracer.dropped_count(), 8);
    }
}
