//! The interface between connections and the service that answers their requests.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::request::Parts;

use super::body::{Body, RequestBody};
use super::listener::ConnectionEnds;

/// A response that takes a while. `Send`, because it runs in the connection's task; it is polled
/// on its worker's thread only.
pub type LaterResponse = Pin<Box<dyn Future<Output = http::Response<Body>> + Send>>;

/// Outcome of handling a request.
pub enum HandlerOutcome {
    /// The response: nothing was waited for, and no future was allocated.
    Now(http::Response<Body>),
    /// A response that waits for something else: a body, a file, the control runtime.
    Later(LaterResponse),
}

/// Handler of the requests of one worker. Must not block, and must not panic.
pub trait Handler: Send + Sync + 'static {
    /// Memory of one connection.
    type Connection: Send + Unpin + 'static;

    /// Memory of a connection that has just been accepted.
    fn connect(&self, ends: ConnectionEnds) -> Self::Connection;

    /// Answers a request. May take parts of the head for their memory.
    fn handle(
        &self,
        connection: &mut Self::Connection,
        head: &mut Parts,
        body: RequestBody,
    ) -> HandlerOutcome;

    /// The whole response, head included, to a connection above the limit of connections.
    fn reject(&self, peer: SocketAddr) -> Bytes;

    /// Called once a second, and when the worker ends.
    fn tick(&self);
}
