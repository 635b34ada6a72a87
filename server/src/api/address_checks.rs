//! The order of checks below an address (API.md 20.4): that under `/api`, but that a key that is
//! not one of an address is 404.

use std::sync::Arc;

use http::{HeaderMap, Method, Response};

use super::accounting::{RequestContext, RequestRecord};
use super::checks::{ApiRequest, quota_of};
use super::connection::ConnectionMemory;
use super::worker::ApiWorker;
use crate::request::RouteRule;
use crate::respond::ApiError;
use crate::runtime::Body;
use crate::service::Route;

/// Key of a request below an address, and the route of the rest of its path.
pub(crate) struct AddressTarget<'a> {
    /// The text in the place of the key.
    pub(crate) key: &'a str,
    /// Rules of the endpoint that the rest of the path names.
    pub(crate) rule: Option<&'static RouteRule>,
}

/// A request below an address that has passed the checks.
pub(crate) struct Admitted {
    pub(super) context: RequestContext,
    /// Fields of the request.
    pub(crate) headers: HeaderMap,
}

impl ApiWorker {
    /// Checks a request below an address. The error is its answer.
    #[expect(clippy::result_large_err, reason = "it is handed on once")]
    pub(crate) fn admit(
        self: &Arc<Self>,
        connection: &mut ConnectionMemory,
        request: &mut ApiRequest<'_>,
        target: &AddressTarget<'_>,
    ) -> Result<Admitted, Response<Body>> {
        let now = request.now;
        let method = request.head.method.clone();
        let is_preflight = method == Method::OPTIONS;
        let report = self.report(connection, &request.head.headers, Some(&method));
        let mut record = RequestRecord::new(Route::Address, now, report);
        let Some(known) = connection.authenticate_address(&self.service, target.key, now) else {
            return Err(self.refuse_address(connection, request, is_preflight, record));
        };
        let limit = self.limit(known);
        let is_fenced = self.service.is_fenced(now);
        if is_preflight || is_fenced {
            let context = request.context(known.window.peek(limit, now), record);
            let headers = request.take_headers();
            return Err(if is_preflight {
                self.preflight_answer(context, headers)
            } else {
                self.fail(context, headers, ApiError::Fenced)
            });
        }
        let taken = self.take(known, limit, now);
        let quota = quota_of(taken);
        record.api_key = Some(known.api_key.id);
        record.is_charged = quota.retry_after.is_none();
        let context = request.context(quota, record);
        let headers = request.take_headers();
        let error = if quota.retry_after.is_some() {
            self.count_rejection(taken);
            ApiError::RateLimited
        } else {
            match target.rule {
                None => ApiError::NotFound,
                Some(rule) if rule.is_served(&method) => return Ok(Admitted { context, headers }),
                Some(_) => ApiError::MethodNotAllowed,
            }
        };
        Err(self.fail(context, headers, error))
    }

    /// Answers a request without a key of an address: 404 and no word about why.
    fn refuse_address(
        &self,
        connection: &ConnectionMemory,
        request: &mut ApiRequest<'_>,
        is_preflight: bool,
        record: RequestRecord,
    ) -> Response<Body> {
        let address = connection.client_address(&self.service, &request.head.headers);
        if is_preflight {
            let context = request.context(self.peek_address(address, request.now), record);
            return self.preflight_answer(context, request.take_headers());
        }
        self.reject_without_key(address, request, record, ApiError::NotFound)
    }
}
