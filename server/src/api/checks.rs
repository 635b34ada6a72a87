//! The order of checks, in one place (API.md, order of checks).
//!
//! First the key; without a valid one the window of the address, then 401. With a valid key its
//! window, then the route, the method, the scope. Endpoints check the parameters themselves.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use subcat_engine::RateLimit;

use super::accounting::{RequestContext, RequestRecord};
use super::connection::{AuthResult, ConnectionMemory};
use super::request_report::RequestReport;
use super::worker::ApiWorker;
use super::{download, file_list, health, record, search};
use crate::auth::KnownKey;
use crate::config::ExpiredStatus;
use crate::limiter::{Quota, SharedLimit, TakenQuota};
use crate::request::{ApiPath, HeadRejection, HeaderHints, RouteAccess};
use crate::respond::{ApiError, Surface, error_response, http1_bytes, preflight};
use crate::runtime::{Body, ClientNetwork, HandlerOutcome, Moment};
use crate::service::{LimitRejection, Route};

/// A request with a valid head, before the checks of the API.
///
/// Everything that belongs to one request travels in it: an answer may come after a body was read,
/// when the connection already serves another request.
pub struct ApiRequest<'a> {
    /// The head. The answer takes its fields, for their memory.
    pub head: &'a mut Parts,
    /// Optional fields of the head, found when it was checked.
    pub hints: HeaderHints,
    /// Start of its handling.
    pub now: Moment,
    /// The interface that it is sent to.
    pub surface: Surface,
}

/// A request that is refused before it reaches an endpoint.
pub struct RefusedRequest {
    /// Header fields of the request, for their memory; empty if they are gone.
    pub headers: HeaderMap,
    /// True if its method is `HEAD`.
    pub is_head: bool,
    /// The interface that it was sent to.
    pub surface: Surface,
}

impl ApiRequest<'_> {
    pub(super) fn context(&self, quota: Quota, record: RequestRecord) -> RequestContext {
        RequestContext {
            quota,
            is_head: self.head.method == Method::HEAD,
            hints: self.hints,
            record,
            surface: self.surface,
        }
    }

    pub(super) fn take_headers(&mut self) -> HeaderMap {
        std::mem::take(&mut self.head.headers)
    }
}

impl ApiWorker {
    /// Answers a request under `/api`.
    pub fn handle(
        self: &Arc<Self>,
        connection: &mut ConnectionMemory,
        mut request: ApiRequest<'_>,
        path: ApiPath,
    ) -> HandlerOutcome {
        let now = request.now;
        // Health and preflights need no key and consume nothing.
        let is_unmetered = request.head.method == Method::OPTIONS || path == ApiPath::Health;
        let method = Some(&request.head.method);
        let report = self.report(connection, &request.head.headers, method);
        let mut record = new_record(path, now, report);
        let auth = connection.authenticate(&self.service, &request.head.headers, now);
        let known = match auth {
            AuthResult::Valid(known) => known,
            AuthResult::Expired | AuthResult::Invalid if is_unmetered => {
                let address = connection.client_address(&self.service, &request.head.headers);
                let context = request.context(self.peek_address(address, now), record);
                return HandlerOutcome::Now(self.answer_unmetered(context, request));
            }
            AuthResult::Expired | AuthResult::Invalid => {
                let expired_status = self.service.config().auth_expired_status;
                let error = match (auth, expired_status) {
                    (AuthResult::Expired, ExpiredStatus::Forbidden) => ApiError::Forbidden,
                    _ => ApiError::Unauthorized,
                };
                let address = connection.client_address(&self.service, &request.head.headers);
                let response = self.reject_without_key(address, &mut request, record, error);
                return HandlerOutcome::Now(response);
            }
        };
        let limit = self.limit(known);
        // The key may be revoked by now.
        if !is_unmetered && self.service.is_fenced(now) {
            let context = request.context(known.window.peek(limit, now), record);
            let response = self.fail(context, request.take_headers(), ApiError::Fenced);
            return HandlerOutcome::Now(response);
        }
        if is_unmetered {
            let context = request.context(known.window.peek(limit, now), record);
            return HandlerOutcome::Now(self.answer_unmetered(context, request));
        }
        // The window comes before the route: an unknown path consumes a request, too.
        let taken = self.take(known, limit, now);
        let quota = quota_of(taken);
        let permission = permit(known, &request.head.method, path, quota);
        record.api_key = Some(known.api_key.id);
        record.is_charged = quota.retry_after.is_none();
        let context = request.context(quota, record);
        match permission {
            Ok(()) => self.endpoint(context, request, path),
            Err(error) => {
                if error == ApiError::RateLimited {
                    self.count_rejection(taken);
                }
                HandlerOutcome::Now(self.fail(context, request.take_headers(), error))
            }
        }
    }

    /// Answers `OPTIONS *`.
    pub fn preflight(
        &self,
        connection: &ConnectionMemory,
        request: &ApiRequest<'_>,
    ) -> Response<Body> {
        let address = connection.client_address(&self.service, &request.head.headers);
        let quota = self.peek_address(address, request.now);
        let method = Some(&request.head.method);
        let report = self.report(connection, &request.head.headers, method);
        let record = new_record(ApiPath::Unknown, request.now, report);
        self.preflight_answer(request.context(quota, record), HeaderMap::new())
    }

    pub(super) fn preflight_answer(
        &self,
        context: RequestContext,
        recycled: HeaderMap,
    ) -> Response<Body> {
        let (common, record) = context.common(recycled);
        self.record(&record, preflight(common))
    }

    /// Answers a request that breaks HTTP's own rules, or that the router cannot handle. Consumes
    /// nothing and reports the window of the address.
    pub fn reject(
        &self,
        connection: &ConnectionMemory,
        refused: RefusedRequest,
        error: ApiError,
    ) -> Response<Body> {
        let RefusedRequest {
            headers,
            is_head,
            surface,
        } = refused;
        let now = self.service.clock.now();
        let address = connection.client_address(&self.service, &headers);
        let context = RequestContext {
            quota: self.peek_address(address, now),
            is_head,
            hints: HeaderHints::default(),
            surface,
            record: RequestRecord::new(
                Route::Refused,
                now,
                self.report(connection, &headers, None),
            ),
        };
        self.fail(context, headers, error)
    }

    /// The whole response to a connection above the limit of connections, as bytes.
    pub fn reject_connection(&self, peer: IpAddr) -> Bytes {
        let connection = ConnectionMemory::new(peer);
        let error = ApiError::Unavailable;
        let refused = RefusedRequest {
            headers: HeaderMap::new(),
            is_head: false,
            surface: Surface::Api,
        };
        http1_bytes(&self.reject(&connection, refused, error))
    }

    /// Answers with an error.
    pub(super) fn fail(
        &self,
        context: RequestContext,
        recycled: HeaderMap,
        error: ApiError,
    ) -> Response<Body> {
        let (common, record) = context.common(recycled);
        // The status of the error, although an address may answer with another one.
        self.count(&record, error.status());
        error_response(common, error)
    }

    pub(super) fn limit(&self, known: &KnownKey) -> RateLimit {
        self.service.rate_limits.of_key(&known.api_key)
    }

    /// Takes a request from the window of the key, and from that of its account (API.md 8.7).
    pub(super) fn take(&self, known: &KnownKey, limit: RateLimit, now: Moment) -> TakenQuota {
        match (
            &known.account_window,
            self.service.rate_limits.account_factor(),
        ) {
            (Some(window), Some(factor)) => {
                let account = SharedLimit {
                    window,
                    limit: RateLimit {
                        requests: limit.requests.saturating_mul(factor),
                        ..limit
                    },
                };
                known.window.take_with(limit, account, now)
            }
            _ => TakenQuota::OfKey(known.window.take(limit, now)),
        }
    }

    /// Counts a rejection by the window of a key or of its account.
    pub(super) fn count_rejection(&self, taken: TakenQuota) {
        self.metrics().limited(match taken {
            TakenQuota::OfKey(_) => LimitRejection::ApiKeyWindow,
            TakenQuota::OfAccount(_) => LimitRejection::AccountWindow,
        });
    }

    /// Answers a health check or a preflight: it needs no key and consumes nothing.
    fn answer_unmetered(
        &self,
        context: RequestContext,
        mut request: ApiRequest<'_>,
    ) -> Response<Body> {
        let headers = request.take_headers();
        if request.head.method == Method::OPTIONS {
            return self.preflight_answer(context, headers);
        }
        let rule = ApiPath::Health.rule();
        if !rule.is_some_and(|rule| rule.is_served(&request.head.method)) {
            return self.fail(context, headers, ApiError::MethodNotAllowed);
        }
        health::answer(self, context, headers)
    }

    /// Answers a request without a valid key: 429 if the window of its address is full, else with
    /// this error.
    pub(super) fn reject_without_key(
        &self,
        address: IpAddr,
        request: &mut ApiRequest<'_>,
        mut record: RequestRecord,
        error: ApiError,
    ) -> Response<Body> {
        let network = ClientNetwork::of(address);
        let limit = self.address_limit();
        let quota = self.service.addresses.take(network, limit, request.now);
        let is_limited = quota.retry_after.is_some();
        let error = if is_limited {
            self.metrics().limited(LimitRejection::AddressWindow);
            ApiError::RateLimited
        } else {
            error
        };
        record.is_charged = !is_limited;
        let context = request.context(quota, record);
        self.fail(context, request.take_headers(), error)
    }

    fn endpoint(
        self: &Arc<Self>,
        context: RequestContext,
        mut request: ApiRequest<'_>,
        path: ApiPath,
    ) -> HandlerOutcome {
        let headers = request.take_headers();
        let uri = &request.head.uri;
        match path {
            ApiPath::Search => HandlerOutcome::Now(search::answer(self, context, headers, uri)),
            ApiPath::Record(id) => HandlerOutcome::Now(record::answer(self, context, headers, id)),
            ApiPath::Download(id) => download::answer(self, context, headers, id, uri.query()),
            ApiPath::Files(id) => file_list::answer(self, context, headers, id),
            ApiPath::Health | ApiPath::Unknown => {
                HandlerOutcome::Now(self.fail(context, headers, ApiError::NotFound))
            }
        }
    }
}

/// State of the window that decided.
pub(super) fn quota_of(taken: TakenQuota) -> Quota {
    match taken {
        TakenQuota::OfKey(quota) | TakenQuota::OfAccount(quota) => quota,
    }
}

/// The checks after a valid key: its window, the route, the method, the scope.
fn permit(known: &KnownKey, method: &Method, path: ApiPath, quota: Quota) -> Result<(), ApiError> {
    if quota.retry_after.is_some() {
        return Err(ApiError::RateLimited);
    }
    // Health is answered before; its path needs no key.
    let rule = path.rule().ok_or(ApiError::NotFound)?;
    let RouteAccess::ApiKey(scope) = rule.access else {
        return Err(ApiError::NotFound);
    };
    if !rule.is_served(method) {
        return Err(ApiError::MethodNotAllowed);
    }
    if !known.api_key.scopes.contains(scope) {
        return Err(ApiError::Forbidden);
    }
    Ok(())
}

fn new_record(path: ApiPath, started: Moment, report: Option<Box<RequestReport>>) -> RequestRecord {
    let route = match path {
        ApiPath::Health => Route::Health,
        ApiPath::Search => Route::Search,
        ApiPath::Record(_) => Route::Record,
        ApiPath::Download(_) => Route::Download,
        ApiPath::Files(_) => Route::Files,
        ApiPath::Unknown => Route::Other,
    };
    RequestRecord::new(route, started, report)
}

impl From<HeadRejection> for ApiError {
    fn from(rejection: HeadRejection) -> Self {
        match rejection {
            HeadRejection::BadRequest => Self::BadRequest,
            HeadRejection::LengthRequired => Self::LengthRequired,
            HeadRejection::ContentTooLarge => Self::ContentTooLarge,
            HeadRejection::UriTooLong => Self::UriTooLong,
            HeadRejection::FieldsTooLarge => Self::FieldsTooLarge,
        }
    }
}
