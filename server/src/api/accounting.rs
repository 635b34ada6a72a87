//! Accounting of answered requests: metrics, usage of keys, slow searches.

use http::{HeaderMap, Response};
use subcat_engine::{ApiKeyId, Usage};

use super::request_report::{RequestOutcome, RequestReport};
use super::worker::ApiWorker;
use crate::limiter::Quota;
use crate::request::{HeaderHints, is_none_match};
use crate::respond::{CommonHeaders, Surface, TaggedBody, json, unchanged_json};
use crate::runtime::{Body, Moment};
use crate::service::{Route, SLOW_SEARCH_US};

/// A request that passed the checks, on its way to its answer.
pub(super) struct RequestContext {
    /// Window that the answer reports.
    pub(super) quota: Quota,
    pub(super) is_head: bool,
    /// Optional fields of the head.
    pub(super) hints: HeaderHints,
    pub(super) record: RequestRecord,
    /// Interface of the answer.
    pub(super) surface: Surface,
}

/// Facts of a request that are counted when it has been answered.
pub(super) struct RequestRecord {
    pub(super) route: Route,
    pub(super) api_key: Option<ApiKeyId>,
    /// True if it consumed a request of a rate limit window.
    pub(super) is_charged: bool,
    /// True if it was counted as a download.
    pub(super) is_download: bool,
    pub(super) started: Moment,
    /// Report of the request, if one is made.
    pub(super) report: Option<Box<RequestReport>>,
}

impl RequestRecord {
    /// A request that is not counted yet.
    pub(super) fn new(route: Route, started: Moment, report: Option<Box<RequestReport>>) -> Self {
        Self {
            route,
            api_key: None,
            is_charged: false,
            is_download: false,
            started,
            report,
        }
    }
}

impl RequestContext {
    /// Splits off the values of the common headers. The response reuses the memory of `recycled`,
    /// the fields of the request.
    pub(super) fn common(self, recycled: HeaderMap) -> (CommonHeaders, RequestRecord) {
        let common = CommonHeaders {
            quota: self.quota,
            is_head: self.is_head,
            recycled,
            surface: self.surface,
        };
        (common, self.record)
    }

    /// The response with a JSON answer: 304 if the client has it (API.md 5 and 6).
    pub(super) fn respond(
        self,
        headers: HeaderMap,
        answer: TaggedBody,
    ) -> (Response<Body>, RequestRecord) {
        let tag = answer.tag.quoted();
        let is_known = self.hints.has_condition && is_none_match(&headers, tag);
        let (common, record) = self.common(headers);
        if is_known {
            (unchanged_json(common, &answer.tag), record)
        } else {
            (json(common, answer), record)
        }
    }
}

impl ApiWorker {
    /// Counts a response and returns it.
    pub(super) fn record(
        &self,
        record: &RequestRecord,
        response: Response<Body>,
    ) -> Response<Body> {
        self.count(record, response.status().as_u16());
        response
    }

    /// Counts the response to a search and returns it. A slow search is kept for administrators.
    pub(super) fn record_search(
        &self,
        record: &RequestRecord,
        query_string: &str,
        response: Response<Body>,
    ) -> Response<Body> {
        let latency_us = self.count(record, response.status().as_u16());
        if SLOW_SEARCH_US < latency_us {
            let at = record.started.timestamp();
            let slow_searches = &self.service.slow_searches;
            slow_searches.note(at, latency_us, query_string, record.api_key);
        }
        response
    }

    /// Counts the response to a request for a page.
    pub fn record_page(&self, status: u16, started: Moment, report: Option<&RequestReport>) {
        let now = self.service.clock.now();
        let latency_us = now.monotonic_us.saturating_sub(started.monotonic_us);
        self.metrics().answered(Route::Page, status, latency_us);
        if let Some(report) = report {
            let outcome = RequestOutcome {
                route: Route::Page,
                status,
                started,
                latency_us,
                api_key: None,
            };
            report.write(&self.service, &outcome);
        }
        // Requests and errors of a day are those of the API: pages have figures of their own.
        if status == 429 {
            let usage = Usage {
                limited: 1,
                ..Usage::default()
            };
            self.state.lock().usage.add(None, now.timestamp(), &usage);
        }
    }

    /// Counts a response; returns the microseconds that it took.
    pub(super) fn count(&self, record: &RequestRecord, status: u16) -> u64 {
        let now = self.service.clock.now();
        let latency_us = now.monotonic_us.saturating_sub(record.started.monotonic_us);
        self.metrics().answered(record.route, status, latency_us);
        if let Some(report) = &record.report {
            let outcome = RequestOutcome {
                route: record.route,
                status,
                started: record.started,
                latency_us,
                api_key: record.api_key,
            };
            report.write(&self.service, &outcome);
        }
        let is_limited = status == 429;
        let usage = Usage {
            requests: u64::from(record.is_charged),
            downloads: u64::from(record.is_download),
            client_errors: u64::from((400..500).contains(&status) && !is_limited),
            limited: u64::from(is_limited),
        };
        // Health and preflights add nothing: no lock, no look-up.
        if usage != Usage::default() {
            let mut state = self.state.lock();
            state.usage.add(record.api_key, now.timestamp(), &usage);
        }
        latency_us
    }
}
