//! Routes each request of a worker to the API or to the web pages.

use std::future::ready;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};

use super::web_bridge;
use crate::address::{self, AddressPlace};
use crate::api::{ApiRequest, ApiWorker, ConnectionMemory, RefusedRequest, RequestReport};
use crate::limits::{BODY_BYTES_MAX, FORM_BYTES_MAX};
use crate::request::{
    ApiPath, HeadRejection, api_path, check_head, is_below_address, without_base,
};
use crate::respond::{ApiError, Surface};
use crate::runtime::{
    Body, BodyRejection, ConnectionEnds, Handler, HandlerOutcome, LaterResponse, Moment,
    RequestBody,
};
use crate::web::Site;

/// A request's destination in the API, or below an address.
#[derive(Clone, Copy)]
enum ApiCall {
    Preflight,
    Path(ApiPath),
    Address(AddressPlace),
}

impl ApiCall {
    fn perform(
        self,
        api: &Arc<ApiWorker>,
        connection: &mut ConnectionMemory,
        request: ApiRequest<'_>,
    ) -> HandlerOutcome {
        match self {
            Self::Preflight => HandlerOutcome::Now(api.preflight(connection, &request)),
            Self::Path(path) => api.handle(connection, request, path),
            Self::Address(place) => address::answer(api, connection, request, place),
        }
    }

    /// The destination of a path; `None` for that of a page.
    fn of(path: &str) -> Option<Self> {
        if path == "*" {
            // `OPTIONS *` asks about the whole server.
            return Some(Self::Preflight);
        }
        if path.starts_with("/a/") {
            // The usual form of a path below an address is not taken apart as one of the API.
            return Some(Self::Address(AddressPlace::Root));
        }
        match api_path(path) {
            Some(path) => Some(Self::Path(path)),
            None if is_below_address(path) => Some(Self::Address(AddressPlace::Root)),
            None => None,
        }
    }

    /// The interface of its answers.
    const fn surface(self) -> Surface {
        match self {
            Self::Preflight | Self::Path(_) => Surface::Api,
            Self::Address(_) => Surface::Address,
        }
    }
}

/// Takes the head for an answer that outlives its turn on the connection; leaves an empty one.
fn take_head(head: &mut Parts) -> Parts {
    let (empty, ()) = Request::new(()).into_parts();
    std::mem::replace(head, empty)
}

/// The rejection of a head that is like that of a body.
const fn head_rejection(rejection: &BodyRejection) -> HeadRejection {
    match rejection {
        BodyRejection::TooLarge => HeadRejection::ContentTooLarge,
        BodyRejection::Broken => HeadRejection::BadRequest,
    }
}

/// Counts the response to a request for a page, which has none if it panicked.
fn recorded(
    api: &ApiWorker,
    page: Option<Response<Body>>,
    started: Moment,
    report: Option<&RequestReport>,
) -> Response<Body> {
    let response = page.unwrap_or_else(|| {
        api.metrics().panics.add(1);
        web_bridge::internal_error()
    });
    api.record_page(response.status().as_u16(), started, report);
    response
}

/// Handler of all requests of one worker.
pub(super) struct Router {
    api: Arc<ApiWorker>,
    site: Arc<Site>,
}

impl Router {
    pub(super) fn new(api: Arc<ApiWorker>, site: Arc<Site>) -> Self {
        Self { api, site }
    }

    /// The destination of a request in the API or below an address, at the root of the host or
    /// below the base path, which the target then loses; `None` for a page.
    fn call_of(&self, head: &mut Parts) -> Option<ApiCall> {
        let path = head.uri.path();
        if let Some(call) = ApiCall::of(path) {
            return Some(call);
        }
        let config = self.api.service().config();
        let rest = without_base(path, config.base_path());
        if rest.len() == path.len() {
            return None;
        }
        let call = match ApiCall::of(rest)? {
            ApiCall::Address(_) => ApiCall::Address(AddressPlace::Base),
            call => call,
        };
        let target = match head.uri.query() {
            Some(query) => format!("{rest}?{query}"),
            None => rest.to_owned(),
        };
        head.uri = target.parse().ok()?;
        Some(call)
    }

    /// Dispatches a request with a valid head. The body, if there is one, is read first.
    fn dispatch(
        &self,
        connection: &mut ConnectionMemory,
        request: ApiRequest<'_>,
        call: Option<ApiCall>,
        body: RequestBody,
    ) -> HandlerOutcome {
        let Some(call) = call else {
            let head = take_head(request.head);
            return self.page(connection, head, body, request.now);
        };
        if body.is_empty() {
            return call.perform(&self.api, connection, request);
        }
        self.after_body(connection, request, body, call)
    }

    /// Handles a request after its body has been read and ignored. A request with a truncated body
    /// is not handled and consumes nothing.
    fn after_body(
        &self,
        connection: &ConnectionMemory,
        request: ApiRequest<'_>,
        body: RequestBody,
        call: ApiCall,
    ) -> HandlerOutcome {
        let headers = request.head.headers.clone();
        let reject = self.body_rejection(connection, headers, call.surface());
        let api = Arc::clone(&self.api);
        let mut connection = connection.detached();
        let ApiRequest { head, hints, .. } = request;
        let mut head = take_head(head);
        HandlerOutcome::Later(Box::pin(async move {
            if let Err(rejection) = body.discard(BODY_BYTES_MAX).await {
                return reject(rejection);
            }
            let request = ApiRequest {
                head: &mut head,
                hints,
                // Windows and latency count from the end of the body.
                now: api.service().clock.now(),
                surface: call.surface(),
            };
            match call.perform(&api, &mut connection, request) {
                HandlerOutcome::Now(response) => response,
                HandlerOutcome::Later(later) => later.await,
            }
        }))
    }

    /// Answers a request with an unreadable body.
    fn body_rejection(
        &self,
        connection: &ConnectionMemory,
        headers: HeaderMap,
        surface: Surface,
    ) -> impl FnOnce(BodyRejection) -> Response<Body> + Send + use<> {
        let api = Arc::clone(&self.api);
        let connection = connection.detached();
        move |rejection| {
            let error = ApiError::from(head_rejection(&rejection));
            let refused = RefusedRequest {
                headers,
                is_head: false,
                surface,
            };
            api.reject(&connection, refused, error)
        }
    }

    fn page(
        &self,
        connection: &ConnectionMemory,
        head: Parts,
        body: RequestBody,
        now: Moment,
    ) -> HandlerOutcome {
        let is_form = head.method == Method::POST;
        self.page_after(connection, head, now, async move {
            // Only a form is read. Whatever else comes with a request takes no memory.
            let form = if is_form {
                body.collect(FORM_BYTES_MAX).await
            } else {
                body.discard(BODY_BYTES_MAX).await.map(|()| Bytes::new())
            };
            form.map_err(|rejection| head_rejection(&rejection))
        })
    }

    /// Answers a request for a page once its form is there, or is refused.
    fn page_after(
        &self,
        connection: &ConnectionMemory,
        head: Parts,
        started: Moment,
        form: impl Future<Output = Result<Bytes, HeadRejection>> + Send + 'static,
    ) -> HandlerOutcome {
        let report = self
            .api
            .report(connection, &head.headers, Some(&head.method));
        let client = web_bridge::PageClient::of(self.api.service(), connection, &head.headers);
        let api = Arc::clone(&self.api);
        let site = Arc::clone(&self.site);
        HandlerOutcome::Later(Box::pin(async move {
            let page = match form.await {
                Ok(form) => {
                    let request = Request::from_parts(head, form);
                    web_bridge::answer(&api, site, request, client).await
                }
                Err(rejection) => {
                    web_bridge::refusal(api.service(), site, rejection, head, client).await
                }
            };
            recorded(&api, page, started, report.as_deref())
        }))
    }

    /// Answers a request that HTTP's own rules refuse: with a page where there are pages.
    fn refuse(
        &self,
        connection: &ConnectionMemory,
        head: &mut Parts,
        rejection: HeadRejection,
        now: Moment,
    ) -> HandlerOutcome {
        let is_head = head.method == Method::HEAD;
        let is_path = head.uri.path().starts_with('/');
        let call = self.call_of(head);
        if !is_path || call.is_some() {
            let error = ApiError::from(rejection);
            let refused = RefusedRequest {
                headers: std::mem::take(&mut head.headers),
                is_head,
                surface: call.map_or(Surface::Api, ApiCall::surface),
            };
            return HandlerOutcome::Now(self.api.reject(connection, refused, error));
        }
        self.page_after(connection, take_head(head), now, ready(Err(rejection)))
    }

    /// Answers a request after its handler panicked.
    fn panicked(&self, connection: &ConnectionMemory, refused: RefusedRequest) -> Response<Body> {
        self.api.metrics().panics.add(1);
        self.api.reject(connection, refused, ApiError::Internal)
    }
}

impl Handler for Router {
    type Connection = ConnectionMemory;

    fn connect(&self, ends: ConnectionEnds) -> ConnectionMemory {
        ConnectionMemory::new(ends.peer.ip()).reached_at(ends.reached)
    }

    fn handle(
        &self,
        connection: &mut ConnectionMemory,
        head: &mut Parts,
        body: RequestBody,
    ) -> HandlerOutcome {
        let now = self.api.service().clock.now();
        let is_head = head.method == Method::HEAD;
        let hints = match check_head(head, connection.known_host()) {
            Ok(hints) => hints,
            Err(rejection) => return self.refuse(connection, head, rejection, now),
        };
        let call = self.call_of(head);
        let surface = call.map_or(Surface::Api, ApiCall::surface);
        // A request that hits a defect must not end its worker with all of its connections.
        // Unfinished work is safe: caches hold whole values, and the buffer is cleared first.
        let dispatch = AssertUnwindSafe(|| {
            let request = ApiRequest {
                head,
                hints,
                now,
                surface,
            };
            self.dispatch(connection, request, call, body)
        });
        match catch_unwind(dispatch) {
            Ok(outcome @ HandlerOutcome::Now(_)) => outcome,
            Ok(HandlerOutcome::Later(later)) => {
                let api = Arc::clone(&self.api);
                let connection = connection.detached();
                HandlerOutcome::Later(Box::pin(PanicGuard {
                    later,
                    api,
                    connection,
                    is_head,
                    surface,
                }))
            }
            Err(_) => HandlerOutcome::Now(self.panicked(
                connection,
                RefusedRequest {
                    headers: HeaderMap::new(),
                    is_head,
                    surface,
                },
            )),
        }
    }

    fn reject(&self, peer: SocketAddr) -> Bytes {
        self.api.reject_connection(peer.ip())
    }

    fn tick(&self) {
        self.api.tick();
    }
}

/// A later response; a panic in it is answered with 500.
struct PanicGuard {
    later: LaterResponse,
    api: Arc<ApiWorker>,
    connection: ConnectionMemory,
    is_head: bool,
    surface: Surface,
}

impl Future for PanicGuard {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let poll = AssertUnwindSafe(|| this.later.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(outcome) => outcome,
            Err(_) => {
                this.api.metrics().panics.add(1);
                let refused = RefusedRequest {
                    headers: HeaderMap::new(),
                    is_head: this.is_head,
                    surface: this.surface,
                };
                let error = ApiError::Internal;
                Poll::Ready(this.api.reject(&this.connection, refused, error))
            }
        }
    }
}
