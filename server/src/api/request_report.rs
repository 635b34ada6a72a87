//! Reports of requests: a line in the access log, a span of a trace, or both.

use std::borrow::Cow;
use std::future::Future;
use std::net::IpAddr;

use http::{HeaderMap, Method};
use subcat_engine::ApiKeyId;

use super::connection::ConnectionMemory;
use super::worker::ApiWorker;
use crate::limits::REQUEST_ID_BYTES_MAX;
use crate::runtime::Moment;
use crate::service::{Route, Service};
use crate::traces::{Attribute, OpenSpan, SpanFacts, SpanKind, TraceParent};

/// The part of a request's report that is known before its answer.
///
/// Neither the path nor a header field is reported as a whole: a query may hold what people search
/// for, and `Authorization` a key.
#[derive(Debug)]
pub struct RequestReport {
    /// Name of the request: that of a trusted proxy (`X-Request-Id`), else one of our own.
    id: String,
    /// Address of the client, behind trusted proxies.
    address: IpAddr,
    method: Option<Method>,
    /// True if it gets a line in the access log.
    is_logged: bool,
    /// Span of the request, if it is traced.
    span: Option<OpenSpan>,
}

/// The part of a request's report that is known with its answer.
pub(super) struct RequestOutcome {
    pub(super) route: Route,
    pub(super) status: u16,
    pub(super) started: Moment,
    pub(super) latency_us: u64,
    pub(super) api_key: Option<ApiKeyId>,
}

impl ApiWorker {
    /// The report of a request that begins; `None` if it is not reported. `method` is `None` if the
    /// request has no valid one. Cost without access log and traces: two loads and a branch.
    pub fn report(
        &self,
        connection: &ConnectionMemory,
        headers: &HeaderMap,
        method: Option<&Method>,
    ) -> Option<Box<RequestReport>> {
        let service = self.service();
        let (log, tracer) = (&service.access_log, &service.tracer);
        if log.is_off() && tracer.is_off() {
            return None;
        }
        let requests = &self.metrics().reported_requests;
        requests.add(1);
        let number = requests.get();
        let is_logged = log.wants(number);
        // Any client could send the trace parent of another request, and have all of its own
        // traced.
        let is_proxied = connection.is_proxied(service);
        let parent = given_parent(headers).filter(|_| is_proxied);
        let span = tracer.begin_request(number, parent);
        if !is_logged && span.is_none() {
            return None;
        }
        let given = given_id(headers).filter(|_| is_proxied);
        let own = || log.request_id(self.worker_idx(), number);
        Some(Box::new(RequestReport {
            id: given.unwrap_or_else(own),
            address: connection.client_address(service, headers),
            method: method.cloned(),
            is_logged,
            span,
        }))
    }

    /// Waits for a step of a request; if the request is traced, with a span of its own.
    pub(super) async fn traced<T>(
        &self,
        report: Option<&RequestReport>,
        name: &'static str,
        step: impl Future<Output = T>,
    ) -> T {
        let whole = report.and_then(|report| report.span.as_ref());
        let Some(span) = whole.map(|whole| self.service.tracer.begin_part(whole)) else {
            return step.await;
        };
        let started = self.service.clock.now();
        let done = step.await;
        let facts = SpanFacts::of_step(name, started, self.service.clock.now());
        self.service.tracer.end(span, facts);
        done
    }
}

impl RequestReport {
    /// Writes the report. The queues of log and spans are bounded: a worker never waits.
    pub(super) fn write(&self, service: &Service, outcome: &RequestOutcome) {
        if self.is_logged {
            tracing::info!(
                request = self.id,
                trace = self.span.map(|span| format!("{:032x}", span.trace_id)),
                route = outcome.route.as_str(),
                status = outcome.status,
                us = outcome.latency_us,
                key = outcome.api_key.map(|id| id.0),
                address = %self.address.to_canonical(),
                "access"
            );
        }
        if let Some(span) = self.span {
            service.tracer.end(span, self.facts(outcome));
        }
    }

    /// The facts of its span. The client's address stays here: spans leave the machine.
    fn facts(&self, outcome: &RequestOutcome) -> SpanFacts {
        let target = outcome.route.path();
        let shown = target.unwrap_or(outcome.route.as_str());
        let method = self.method.as_ref().map(Method::as_str);
        let name = match method {
            Some(method) => Cow::Owned(format!("{method} {shown}")),
            None => Cow::Borrowed(shown),
        };
        let text = |text: &str| Attribute::Text(Cow::Owned(text.to_owned()));
        let mut attributes = vec![
            ("subcat.request_id", text(&self.id)),
            (
                "http.response.status_code",
                Attribute::Number(outcome.status.into()),
            ),
        ];
        attributes.extend(method.map(|method| ("http.request.method", text(method))));
        attributes.extend(target.map(|path| ("http.route", Attribute::Text(path.into()))));
        let api_key = outcome
            .api_key
            .map(|id| Attribute::Number(id.0.cast_signed()));
        attributes.extend(api_key.map(|id| ("subcat.key_id", id)));
        SpanFacts {
            name,
            kind: SpanKind::Server,
            started: outcome.started,
            took_us: outcome.latency_us,
            attributes,
            is_failed: 500 <= outcome.status,
        }
    }
}

/// The name that a proxy gave the request, if it is short and printable.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    let is_plain = id.len() <= REQUEST_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic());
    (is_plain && !id.is_empty()).then(|| id.to_owned())
}

/// The span of a proxy that the request is a part of.
fn given_parent(headers: &HeaderMap) -> Option<TraceParent> {
    TraceParent::parse(headers.get("traceparent")?.to_str().ok()?)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_given_id_is_short_and_printable() {
        let mut headers = HeaderMap::new();
        assert_eq!(given_id(&headers), None);
        let long = "x".repeat(REQUEST_ID_BYTES_MAX + 1);
        for (value, expected) in [
            ("f3a-1", Some("f3a-1")),
            ("", None),
            ("two words", None),
            (&long, None),
        ] {
            headers.insert("x-request-id", HeaderValue::from_str(value).unwrap());
            assert_eq!(given_id(&headers).as_deref(), expected);
        }
    }
}
