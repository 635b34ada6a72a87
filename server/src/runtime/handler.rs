//! What a worker asks: the seam between connections and the service.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;

use bytes::Bytes;
use http::request::Parts;

use super::body::{Body, RequestBody};

/// An answer that takes a while.
pub type LaterResponse = Pin<Box<dyn Future<Output = http::Response<Body>> + Send>>;

/// What becomes of a request.
pub enum HandlerOutcome {
    /// It is answered.
    Now(http::Response<Body>),
    /// Someone is at work on it.
    Later(LaterResponse),
}

/// Answers the requests of one worker. Must not block, and must not panic.
pub trait Handler: Send + Sync + 'static {
    /// What is remembered of one connection.
    type Connection: Send + 'static;

    /// A client has connected.
    fn connect(&self, peer: SocketAddr) -> Self::Connection;

    /// Answers a request. What it needs of the head it may take.
    fn handle(
        &self,
        connection: &mut Self::Connection,
        head: &mut Parts,
        body: RequestBody,
    ) -> HandlerOutcome;

    /// The whole answer, head included, for a client for whom there is no room.
    fn reject(&self, peer: SocketAddr) -> Bytes;

    /// A second has passed, or the worker ends.
    fn tick(&self);
}
