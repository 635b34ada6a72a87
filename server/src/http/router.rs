//! Takes each request of a worker in: refuses it, or hands it to the API or to the pages.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};

use super::web_bridge;
use crate::api::{ApiWorker, Caller};
use crate::limits::BODY_BYTES_MAX;
use crate::request::{ApiPath, api_path, check_head};
use crate::respond::ApiError;
use crate::runtime::{
    Body, BodyRejection, Handler, HandlerOutcome, LaterResponse, Moment, RequestBody,
};
use crate::web::Site;

/// What the API is asked for.
#[derive(Clone, Copy)]
enum ApiCall {
    Preflight,
    Path(ApiPath),
}

impl ApiCall {
    fn perform(
        self,
        api: &Arc<ApiWorker>,
        caller: &mut Caller,
        head: &mut Parts,
        now: Moment,
    ) -> HandlerOutcome {
        match self {
            Self::Preflight => HandlerOutcome::Now(api.preflight(caller, head, now)),
            Self::Path(path) => api.handle(caller, head, path, now),
        }
    }
}

/// The head, for an answer that outlives its request; an empty one stays.
fn taken(head: &mut Parts) -> Parts {
    let (empty, ()) = Request::new(()).into_parts();
    std::mem::replace(head, empty)
}

/// What answers the requests of one worker.
pub(super) struct Router {
    api: Arc<ApiWorker>,
    site: Arc<Site>,
}

impl Router {
    pub(super) fn new(api: Arc<ApiWorker>, site: Arc<Site>) -> Self {
        Self { api, site }
    }

    /// Hands the request on; both ways have the body, if any, read first.
    fn direct(
        &self,
        caller: &mut Caller,
        head: &mut Parts,
        body: RequestBody,
        now: Moment,
    ) -> HandlerOutcome {
        let path = head.uri.path();
        let call = if path == "*" {
            // `OPTIONS *` asks about the whole server.
            ApiCall::Preflight
        } else {
            match api_path(path) {
                Some(path) => ApiCall::Path(path),
                None => return self.page(caller, taken(head), body, now),
            }
        };
        if body.is_empty() {
            return call.perform(&self.api, caller, head, now);
        }
        self.after_body(caller, taken(head), body, call)
    }

    /// Handles a request when its body, which says nothing, has been read: what breaks off consumes
    /// nothing and is not counted.
    fn after_body(
        &self,
        caller: &mut Caller,
        mut head: Parts,
        body: RequestBody,
        call: ApiCall,
    ) -> HandlerOutcome {
        let refused = self.refused(caller, head.headers.clone());
        let api = Arc::clone(&self.api);
        let mut caller = caller.stand_in();
        HandlerOutcome::Later(Box::pin(async move {
            if let Err(failure) = body.collect(BODY_BYTES_MAX).await {
                return refused(failure);
            }
            let now = api.service().clock.now();
            match call.perform(&api, &mut caller, &mut head, now) {
                HandlerOutcome::Now(response) => response,
                HandlerOutcome::Later(later) => later.await,
            }
        }))
    }

    /// What answers a body that cannot be read.
    fn refused(
        &self,
        caller: &mut Caller,
        headers: HeaderMap,
    ) -> impl FnOnce(BodyRejection) -> Response<Body> + Send + use<> {
        let api = Arc::clone(&self.api);
        let mut caller = caller.stand_in();
        move |failure| {
            let refusal = match failure {
                BodyRejection::TooLarge => ApiError::ContentTooLarge,
                BodyRejection::Broken => ApiError::BadRequest,
            };
            api.refuse(&mut caller, headers, false, refusal)
        }
    }

    fn page(
        &self,
        caller: &mut Caller,
        head: Parts,
        body: RequestBody,
        now: Moment,
    ) -> HandlerOutcome {
        let refused = self.refused(caller, head.headers.clone());
        let visitor = web_bridge::PageVisitor::of(self.api.service(), caller, &head.headers);
        let api = Arc::clone(&self.api);
        let site = Arc::clone(&self.site);
        HandlerOutcome::Later(Box::pin(async move {
            let body = match body.collect(BODY_BYTES_MAX).await {
                Ok(body) => body,
                Err(failure) => return refused(failure),
            };
            let request = Request::from_parts(head, body);
            match web_bridge::answer(api.service(), site, request, visitor).await {
                Some(response) => {
                    api.settle_page(response.status().as_u16(), now);
                    response
                }
                None => {
                    api.metrics().panics.add(1);
                    api.settle_page(500, now);
                    web_bridge::internal_error()
                }
            }
        }))
    }

    /// The answer to a request whose handling panicked.
    fn panicked(&self, caller: &mut Caller, is_head: bool) -> Response<Body> {
        self.api.metrics().panics.add(1);
        let refusal = ApiError::Internal;
        self.api.refuse(caller, HeaderMap::new(), is_head, refusal)
    }
}

impl Handler for Router {
    type Connection = Caller;

    fn connect(&self, peer: SocketAddr) -> Caller {
        Caller::new(peer.ip())
    }

    fn handle(&self, caller: &mut Caller, head: &mut Parts, body: RequestBody) -> HandlerOutcome {
        let now = self.api.service().clock.now();
        let is_head = head.method == Method::HEAD;
        match check_head(head, caller.known_host()) {
            Ok(hints) => caller.hints(hints),
            Err(fault) => {
                let refusal = ApiError::from(fault);
                let headers = std::mem::take(&mut head.headers);
                let response = self.api.refuse(caller, headers, is_head, refusal);
                return HandlerOutcome::Now(response);
            }
        }
        // One request that hits a defect must not take its worker along.
        let direct = AssertUnwindSafe(|| self.direct(caller, head, body, now));
        match catch_unwind(direct) {
            Ok(answer @ HandlerOutcome::Now(_)) => answer,
            Ok(HandlerOutcome::Later(later)) => {
                let api = Arc::clone(&self.api);
                let caller = caller.stand_in();
                HandlerOutcome::Later(Box::pin(Guarded {
                    later,
                    api,
                    caller,
                    is_head,
                }))
            }
            Err(_) => HandlerOutcome::Now(self.panicked(caller, is_head)),
        }
    }

    fn reject(&self, peer: SocketAddr) -> Bytes {
        self.api.reject(peer.ip())
    }

    fn tick(&self) {
        self.api.tick();
    }
}

/// An answer that takes a while; when it panics it is a 500.
struct Guarded {
    later: LaterResponse,
    api: Arc<ApiWorker>,
    caller: Caller,
    is_head: bool,
}

impl Future for Guarded {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let poll = AssertUnwindSafe(|| this.later.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(outcome) => outcome,
            Err(_) => {
                this.api.metrics().panics.add(1);
                let (headers, refusal) = (HeaderMap::new(), ApiError::Internal);
                let is_head = this.is_head;
                Poll::Ready(this.api.refuse(&mut this.caller, headers, is_head, refusal))
            }
        }
    }
}
