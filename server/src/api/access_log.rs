//! The access log: a line for each request, or for some of them.

use std::net::IpAddr;

use http::HeaderMap;
use subcat_engine::ApiKeyId;

use super::connection::ConnectionMemory;
use super::worker::ApiWorker;
use crate::limits::REQUEST_ID_BYTES_MAX;
use crate::service::Route;

/// The part of a request's line that is known before its answer.
///
/// Neither the path nor a header field is logged as a whole: a query may hold what people search
/// for, and `Authorization` a key.
#[derive(Debug)]
pub struct AccessLine {
    /// The client's or proxy's name of the request (`X-Request-Id`), else a number of the worker's.
    id: String,
    /// Address of the client, behind trusted proxies.
    address: IpAddr,
}

/// The part of a request's line that is known with its answer.
pub(super) struct AccessOutcome {
    pub(super) route: Route,
    pub(super) status: u16,
    pub(super) latency_us: u64,
    pub(super) api_key: Option<ApiKeyId>,
}

impl ApiWorker {
    /// The line of a request that begins; `None` if it gets none. Cost without an access log: one
    /// load and one branch.
    pub fn access_line(
        &self,
        connection: &ConnectionMemory,
        headers: &HeaderMap,
    ) -> Option<Box<AccessLine>> {
        let service = self.service();
        if service.access_log.is_off() {
            return None;
        }
        let requests = &self.metrics().access_requests;
        requests.add(1);
        let number = requests.get();
        service.access_log.wants(number).then(|| {
            Box::new(AccessLine {
                id: given_id(headers).unwrap_or_else(|| format!("{}-{number}", self.worker_idx())),
                address: connection.client_address(service, headers),
            })
        })
    }
}

impl AccessLine {
    /// Writes the line. The log's queue is bounded: a worker never waits.
    pub(super) fn write(&self, outcome: &AccessOutcome) {
        tracing::info!(
            request = self.id,
            route = outcome.route.as_str(),
            status = outcome.status,
            us = outcome.latency_us,
            key = outcome.api_key.map(|id| id.0),
            address = %self.address.to_canonical(),
            "access"
        );
    }
}

/// The name that a client or proxy gave the request, if it is short and printable.
fn given_id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get("x-request-id")?.to_str().ok()?;
    let is_plain = id.len() <= REQUEST_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic());
    (is_plain && !id.is_empty()).then(|| id.to_owned())
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
