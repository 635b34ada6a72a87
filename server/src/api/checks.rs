//! The order of checks, in one place (API.md, order of checks).
//!
//! The key; without a valid one the window of the address, then 401; the window of the key; the
//! route; the scope. Parameters and the work are the endpoints'.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response};
use subcat_engine::model::Scopes;

use super::desk::{ApiWorker, Caller, Tally, Visit, Visitor};
use super::{download, health, record, search};
use crate::auth::KnownKey;
use crate::config::ExpiredStatus;
use crate::limiter::{ClientAddress, Quota};
use crate::request::{ApiPath, HeadRejection};
use crate::respond::{ApiError, error_response, preflight, reject};
use crate::runtime::{Body, HandlerOutcome, Moment};
use crate::service::{Refusal, Route};

impl ApiWorker {
    /// Answers a request under `/api` whose head is in order.
    pub fn handle(
        self: &Arc<Self>,
        caller: &mut Caller,
        head: &mut Parts,
        path: ApiPath,
        now: Moment,
    ) -> HandlerOutcome {
        let is_head = head.method == Method::HEAD;
        let is_free = head.method == Method::OPTIONS || path == ApiPath::Health;
        let mut tally = tally(path, now);
        let known = match caller.identify(&self.service, &head.headers, now) {
            Visitor::Known(known) => known,
            visitor if !is_free => {
                let is_expired = matches!(visitor, Visitor::Expired);
                return HandlerOutcome::Now(self.strange(caller, head, is_expired, tally));
            }
            Visitor::Expired | Visitor::Nobody => {
                let address = caller.address(&self.service, &head.headers);
                let visit = caller.visit(self.peek_address(address, now), is_head, tally);
                return HandlerOutcome::Now(self.free(visit, head));
            }
        };
        let limit = self.limit(known);
        if is_free {
            let quota = known.window.peek(limit, now);
            let visit = caller.visit(quota, is_head, tally);
            return HandlerOutcome::Now(self.free(visit, head));
        }
        let quota = known.window.take(limit, now);
        let permission = permit(known, &head.method, path, quota);
        tally.api_key = Some(known.api_key.id);
        tally.is_charged = quota.retry_after.is_none();
        let visit = caller.visit(quota, is_head, tally);
        match permission {
            Ok(()) => self.endpoint(visit, head, path),
            Err(refusal) => {
                if refusal == ApiError::RateLimited {
                    self.metrics().refused(Refusal::ApiKeyWindow);
                }
                HandlerOutcome::Now(self.fail(visit, std::mem::take(&mut head.headers), refusal))
            }
        }
    }

    /// Answers `OPTIONS *`.
    pub fn preflight(&self, caller: &mut Caller, head: &Parts, now: Moment) -> Response<Body> {
        let address = caller.address(&self.service, &head.headers);
        let quota = self.peek_address(address, now);
        let visit = caller.visit(quota, false, tally(ApiPath::Unknown, now));
        let (common, tally) = visit.common(HeaderMap::new());
        self.settle(&tally, preflight(common))
    }

    /// Answers a request that HTTP's own rules refuse, or the router itself cannot handle. Consumes
    /// nothing and carries the window of the address.
    pub fn refuse(
        &self,
        caller: &mut Caller,
        headers: HeaderMap,
        is_head: bool,
        refusal: ApiError,
    ) -> Response<Body> {
        let now = self.service.clock.now();
        let address = caller.address(&self.service, &headers);
        let tally = Tally {
            route: Route::Refused,
            api_key: None,
            is_charged: false,
            started: now,
        };
        let visit = caller.visit(self.peek_address(address, now), is_head, tally);
        self.fail(visit, headers, refusal)
    }

    /// The whole answer for a client for whom there is no room.
    pub fn reject(&self, peer: IpAddr) -> Bytes {
        let mut caller = Caller::new(peer);
        let refusal = ApiError::Unavailable;
        reject(&self.refuse(&mut caller, HeaderMap::new(), false, refusal))
    }

    pub(super) fn fail(
        &self,
        visit: Visit,
        recycled: HeaderMap,
        refusal: ApiError,
    ) -> Response<Body> {
        let (common, tally) = visit.common(recycled);
        self.settle(&tally, error_response(common, refusal))
    }

    fn limit(&self, known: &KnownKey) -> subcat_engine::model::RateLimit {
        let default = self.service.config.rate_limit.api_key;
        known.api_key.limit.unwrap_or(default)
    }

    /// Health and preflights: no key is needed and nothing is consumed.
    fn free(&self, visit: Visit, head: &mut Parts) -> Response<Body> {
        let headers = std::mem::take(&mut head.headers);
        if head.method == Method::OPTIONS {
            let (common, tally) = visit.common(headers);
            return self.settle(&tally, preflight(common));
        }
        if !is_served(&head.method) {
            return self.fail(visit, headers, ApiError::MethodNotAllowed);
        }
        health::answer(self, visit, headers)
    }

    /// A request without a valid key.
    fn strange(
        &self,
        caller: &mut Caller,
        head: &mut Parts,
        is_expired: bool,
        mut tally: Tally,
    ) -> Response<Body> {
        let now = tally.started;
        let owner = ClientAddress::of(caller.address(&self.service, &head.headers));
        let quota = self
            .service
            .addresses
            .take(owner, self.address_limit(), now);
        let is_limited = quota.retry_after.is_some();
        let expired_status = self.service.config.auth_expired_status;
        let refusal = if is_limited {
            self.metrics().refused(Refusal::AddressWindow);
            ApiError::RateLimited
        } else if is_expired && expired_status == ExpiredStatus::Forbidden {
            ApiError::Forbidden
        } else {
            ApiError::Unauthorized
        };
        tally.is_charged = !is_limited;
        let visit = caller.visit(quota, head.method == Method::HEAD, tally);
        self.fail(visit, std::mem::take(&mut head.headers), refusal)
    }

    fn endpoint(self: &Arc<Self>, visit: Visit, head: &mut Parts, path: ApiPath) -> HandlerOutcome {
        let headers = std::mem::take(&mut head.headers);
        match path {
            ApiPath::Search => HandlerOutcome::Now(search::answer(self, visit, headers, &head.uri)),
            ApiPath::Record(id) => HandlerOutcome::Now(record::answer(self, visit, headers, id)),
            ApiPath::Download(id) => download::answer(self, visit, headers, id),
            ApiPath::Health | ApiPath::Unknown => {
                HandlerOutcome::Now(self.fail(visit, headers, ApiError::NotFound))
            }
        }
    }
}

/// The checks behind a valid key: its window, the route, the method, the scope.
fn permit(known: &KnownKey, method: &Method, path: ApiPath, quota: Quota) -> Result<(), ApiError> {
    if quota.retry_after.is_some() {
        return Err(ApiError::RateLimited);
    }
    let scope = match path {
        ApiPath::Search => Scopes::SEARCH,
        ApiPath::Record(_) => Scopes::READ,
        ApiPath::Download(_) => Scopes::DOWNLOAD,
        ApiPath::Health | ApiPath::Unknown => return Err(ApiError::NotFound),
    };
    if !is_served(method) {
        return Err(ApiError::MethodNotAllowed);
    }
    if !known.api_key.scopes.contains(scope) {
        return Err(ApiError::Forbidden);
    }
    Ok(())
}

fn is_served(method: &Method) -> bool {
    *method == Method::GET || *method == Method::HEAD
}

fn tally(path: ApiPath, started: Moment) -> Tally {
    let route = match path {
        ApiPath::Health => Route::Health,
        ApiPath::Search => Route::Search,
        ApiPath::Record(_) => Route::Record,
        ApiPath::Download(_) => Route::Download,
        ApiPath::Unknown => Route::Other,
    };
    Tally {
        route,
        api_key: None,
        is_charged: false,
        started,
    }
}

impl From<HeadRejection> for ApiError {
    fn from(fault: HeadRejection) -> Self {
        match fault {
            HeadRejection::BadRequest => Self::BadRequest,
            HeadRejection::LengthRequired => Self::LengthRequired,
            HeadRejection::ContentTooLarge => Self::ContentTooLarge,
            HeadRejection::UriTooLong => Self::UriTooLong,
            HeadRejection::FieldsTooLarge => Self::FieldsTooLarge,
        }
    }
}
