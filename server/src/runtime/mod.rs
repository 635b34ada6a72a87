//! How does a request reach us, and how do bytes leave? Workers, connections, timers, file bodies.
//!
//! The only module that names tokio. It knows nothing of the API: what answers a request is a
//! parameter. Each worker is one thread with a runtime, a listener and connections of its own;
//! slow things run on the control runtime, which has threads of its own.

mod body;
mod client_network;
mod clock;
mod connection;
mod control;
mod descriptors;
mod io_backend;
mod connection_limiter;
mod file_body;
mod handler;
mod listen;
mod outgoing;
mod priority;
mod ring;
mod admin_listener;
mod single_flight;
mod connection_io;
mod transport;
mod worker;

pub use admin_listener::{AdminListener, AdminServer, StopSignals, ask_socket};
pub use body::{Body, BodyRejection, Content, RequestBody};
pub use client_network::ClientNetwork;
pub use clock::{Clock, Moment, SystemClock};
pub use connection_limiter::ConnectionCounts;
pub use control::{Control, ControlHandle};
pub use descriptors::Descriptors;
pub use file_body::StoredBytes;
pub use handler::{Handler, HandlerOutcome, LaterResponse};
pub use hyper::body::Incoming;
pub use hyper::ext::ReasonPhrase;
pub use listen::{ListenSettings, Workers};
pub use priority::Priority;
pub(crate) use single_flight::{Joined, SingleFlight, result_of};
pub use tokio::{sync, time};
