//! The HTTP side of one connection: hyper, its settings, and the handler as its service.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

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

/// A connection that has hyper's buffers only while they are of use.
///
/// ```text
///   Waiting: socket and service, and the beginning of a head if there is one
///      |  ^
///      |  | between two requests for some ticks: the sweep asks, hyper gives its I/O back
///      v  |
///   Serving: hyper
/// ```
///
/// hyper holds 16 KiB from its first byte to its end. A client that waits between two requests, or
/// sends a head byte by byte, holds what it has sent, and 20,000 of them hold little more.
pub(super) struct HttpConnection<H: Handler> {
    /// Owner of the I/O: hyper while it serves, else this.
    stage: ConnectionStage<H>,
    /// State that the sweep reads, and that asks for the release of hyper's buffers.
    state: Arc<ConnectionState>,
}

type HyperConnection<H> = http1::Connection<ConnectionIo, ConnectionService<H>>;

enum ConnectionStage<H: Handler> {
    Waiting(ConnectionIo, ConnectionService<H>),
    Serving(Box<HyperConnection<H>>),
    Ended,
}

impl<H: Handler> HttpConnection<H> {
    /// A connection that waits for its first request.
    pub(super) fn new(io: ConnectionIo, service: ConnectionService<H>) -> Self {
        let state = Arc::clone(&service.state);
        Self {
            stage: ConnectionStage::Waiting(io, service),
            state,
        }
    }

    /// Hands the connection to hyper.
    fn serve(&mut self) {
        let stage = std::mem::replace(&mut self.stage, ConnectionStage::Ended);
        if let ConnectionStage::Waiting(io, service) = stage {
            let connection = http1::Builder::new()
                // A client may shut down its side after its last request and still read answers.
                .half_close(true)
                .max_buf_size(CONNECTION_BUFFER_BYTES_MAX)
                // Deadlines are those of `ConnectionPhase`: hyper's timer runs on idle connections.
                .header_read_timeout(None)
                .serve_connection(io, service);
            self.stage = ConnectionStage::Serving(Box::new(connection));
        }
    }

    /// Takes the connection back from hyper, if it is still between two requests.
    ///
    /// hyper is done at once with an idle connection that shall close, and then gives its I/O back.
    /// If it is not done, it closes the connection after the next answer, as HTTP allows.
    fn release(&mut self, context: &mut Context<'_>) {
        self.state.buffers_released();
        let ConnectionStage::Serving(connection) = &mut self.stage else {
            return;
        };
        if !self.state.is_between_requests() {
            return;
        }
        Pin::new(&mut **connection).graceful_shutdown();
        let Poll::Ready(outcome) = connection.poll_without_shutdown(context) else {
            return;
        };
        let stage = std::mem::replace(&mut self.stage, ConnectionStage::Ended);
        if let (Ok(()), ConnectionStage::Serving(connection)) = (outcome, stage) {
            let parts = connection.into_parts();
            let mut io = parts.io;
            let is_partial = io.put_back(&parts.read_buf);
            self.stage = ConnectionStage::Waiting(io, parts.service);
            if !is_partial {
                self.serve();
            }
        }
    }
}

impl<H: Handler> Future for HttpConnection<H> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.state.is_releasing() {
            self.release(context);
        }
        loop {
            match &mut self.stage {
                ConnectionStage::Serving(connection) => {
                    return Pin::new(&mut **connection).poll(context).map(drop);
                }
                ConnectionStage::Waiting(io, _) => {
                    if !ready!(io.poll_head_received(context)) {
                        return Poll::Ready(());
                    }
                    self.serve();
                }
                ConnectionStage::Ended => return Poll::Ready(()),
            }
        }
    }
}

/// hyper's service for one connection.
pub(super) struct ConnectionService<H: Handler> {
    /// Handler of the worker, called for each request.
    handler: Arc<H>,
    /// The handler's memory of the connection. Borrowed only during `handle`, never across an
    /// await.
    memory: RefCell<H::Connection>,
    /// State of the connection, passed on to the bodies of its requests and responses.
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
