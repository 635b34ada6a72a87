//! Spans: a piece of work with its beginning and end.

use std::borrow::Cow;

use crate::runtime::Moment;

/// A span that has begun: its identity, until its facts are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenSpan {
    /// Id of the trace that it belongs to; not 0.
    pub trace_id: u128,
    /// Id of the span; not 0.
    pub span_id: u64,
    /// The span that it is a part of, if any.
    pub parent_id: Option<u64>,
    /// True if the parent is another program's.
    pub is_parent_remote: bool,
}

/// The facts of a span that are known at its end.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanFacts {
    /// Name: few values, so that a collector can group by it.
    pub name: Cow<'static, str>,
    /// Kind of the work.
    pub kind: SpanKind,
    /// Start of the span.
    pub started: Moment,
    /// Microseconds that it took.
    pub took_us: u64,
    /// Further facts, by the names of OpenTelemetry's conventions where there are any.
    pub attributes: Vec<(&'static str, Attribute)>,
    /// True if the server failed.
    pub is_failed: bool,
}

impl SpanFacts {
    /// The facts of a step inside the process that has ended well.
    pub fn of_step(name: &'static str, started: Moment, ended: Moment) -> Self {
        Self {
            name: Cow::Borrowed(name),
            kind: SpanKind::Internal,
            started,
            took_us: ended.monotonic_us.saturating_sub(started.monotonic_us),
            attributes: Vec::new(),
            is_failed: false,
        }
    }
}

/// Kind of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanKind {
    /// A request that was answered.
    Server,
    /// Work inside the process.
    Internal,
}

/// Value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    /// A text.
    Text(Cow<'static, str>),
    /// A number.
    Number(i64),
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSpan {
    /// Identity of the span.
    pub open: OpenSpan,
    /// Everything else.
    pub facts: SpanFacts,
}
