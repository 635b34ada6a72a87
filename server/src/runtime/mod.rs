//! Workers, connections, deadlines and bodies: requests come in and bytes go out here.
//!
//! The module starts every runtime, task and HTTP connection, and knows nothing of the API: the
//! handler of requests is a parameter. Each worker is one thread with a runtime, a listener and
//! connections of its own; slow work runs on the control runtime, which has its own threads.

mod admin_listener;
mod body;
mod client_network;
mod clock;
mod cold_read;
mod connection;
mod connection_io;
mod connection_limiter;
mod control;
mod descriptors;
mod file_body;
mod handler;
mod heap;
mod http_connection;
mod io_backend;
mod listen;
mod listener;
mod outgoing;
mod partial_head;
mod piece_reader;
mod priority;
mod process_signals;
mod public_listeners;
mod ring;
mod service_manager;
mod task_signal;
mod single_flight;
mod transport;
mod work_pools;
mod worker;

pub use admin_listener::{AdminListener, AdminServer, ask_socket};
pub use body::{Body, BodyRejection, Content, RequestBody};
pub use client_network::ClientNetwork;
pub use clock::{Clock, Moment, SystemClock};
pub use connection_limiter::{ConnectionCounts, ConnectionLimiter};
pub use control::{Control, ControlHandle, interval};
pub use descriptors::Descriptors;
pub use file_body::StoredBytes;
pub use handler::{Handler, HandlerOutcome, LaterResponse};
pub use heap::share_one_arena;
pub use io_backend::RingRefusedError;
pub use listen::{ListenSettings, Workers};
pub use listener::ConnectionEnds;
pub use piece_reader::PieceReader;
pub use priority::Priority;
pub use process_signals::{ServerSignal, ServerSignals, StopSignals};
pub use public_listeners::{LOCAL_PEER, PublicListeners, is_local_peer};
pub use service_manager::{InheritedSockets, ServiceManager};
pub(crate) use single_flight::{Joined, SingleFlight, result_of};
pub use task_signal::TaskSignal;
pub use work_pools::{PoolState, WorkKind};
