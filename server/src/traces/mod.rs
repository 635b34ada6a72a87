//! Traces of requests, operations and background tasks, for a collector of OpenTelemetry.
//!
//! Off unless `traces.url` names a collector. A worker only puts a finished span into a queue; a
//! task of the control runtime sends them. Spans that find no place, or that the collector does not
//! take, are dropped and counted. Sending is the cargo feature `otlp`: without it nothing but the
//! exporter is missing, and the setting is refused.

#[cfg(feature = "otlp")]
mod export;
mod queue;
mod span;
mod trace_parent;
mod tracer;

pub use queue::TracerError;
pub use span::{Attribute, OpenSpan, SpanFacts, SpanKind, TraceSpan};
pub use trace_parent::TraceParent;
pub use tracer::Tracer;
