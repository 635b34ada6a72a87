//! The HTTP side of one connection: hyper, its settings, and the handler as its service.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::header::CONNECTION;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::upgrade::OnUpgrade;

use super::body::{Body, OutgoingBody, RequestBody};
use super::connection::ConnectionState;
use super::connection_io::ConnectionIo;
use super::handler::{Handler, HandlerOutcome};
use crate::limits::CONNECTION_BUFFER_BYTES_MAX;

/// hyper's connection on this I/O.
pub(super) fn http_connection<H: Handler>(
    io: ConnectionIo,
    service: ConnectionService<H>,
) -> http1::Connection<ConnectionIo, ConnectionService<H>> {
    http1::Builder::new()
        // A client may shut down its side after its last request and still read the answers.
        .half_close(true)
        .max_buf_size(CONNECTION_BUFFER_BYTES_MAX)
        // Deadlines are those of `ConnectionPhase`: hyper's timer also runs on idle connections.
        .header_read_timeout(None)
        .serve_connection(io, service)
}

/// hyper's service for one connection.
pub(super) struct ConnectionService<H: Handler> {
    handler: Arc<H>,
    /// The handler's memory of the connection. Borrowed only during `handle`, never across an
    /// await.
    memory: RefCell<H::Connection>,
    state: Arc<ConnectionState>,
}

impl<H: Handler> ConnectionService<H> {
    /// The service of a connection with this memory.
    pub(super) fn new(
        memory: H::Connection,
        handler: &Arc<H>,
        state: &Arc<ConnectionState>,
    ) -> Self {
        Self {
            handler: Arc::clone(handler),
            memory: RefCell::new(memory),
            state: Arc::clone(state),
        }
    }
}

impl<H: Handler> hyper::service::Service<Request<Incoming>> for ConnectionService<H> {
    type Response = Response<OutgoingBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<Incoming>) -> ResponseFuture {
        let (mut head, body) = request.into_parts();
        if head.extensions.get::<OnUpgrade>().is_some() {
            self.state.outgoing.allow_close();
        }
        let body = RequestBody::new(body, &self.state);
        let mut memory = self.memory.borrow_mut();
        let outcome = self.handler.handle(&mut memory, &mut head, body);
        ResponseFuture {
            outcome: Some(outcome),
            state: Some(Arc::clone(&self.state)),
        }
    }
}

/// Future of a response, for hyper.
pub(super) struct ResponseFuture {
    outcome: Option<HandlerOutcome>,
    /// Handed to the body once the response is there.
    state: Option<Arc<ConnectionState>>,
}

impl ResponseFuture {
    fn poll_outcome(&mut self, context: &mut Context<'_>) -> Poll<Response<Body>> {
        match self.outcome.take() {
            Some(HandlerOutcome::Now(response)) => Poll::Ready(response),
            Some(HandlerOutcome::Later(mut later)) => {
                let response = later.as_mut().poll(context);
                self.outcome = Some(HandlerOutcome::Later(later));
                response
            }
            None => Poll::Pending,
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<OutgoingBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready(mut response) = self.poll_outcome(context) else {
            return Poll::Pending;
        };
        let Some(state) = self.state.take() else {
            return Poll::Pending;
        };
        if state.is_stopping() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        Poll::Ready(Ok(response.map(|body| OutgoingBody::new(body, state))))
    }
}
