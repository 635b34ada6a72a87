//! The serving process: workers, maintenance, and how they end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::config::Io;
use crate::service::Service;

/// A server that listens.
pub struct Server {
    address: SocketAddr,
    io: Io,
}

/// Starts workers and maintenance. When it returns, the service is ready and listens on
/// `config.listen` (port 0 becomes a free one, see [`Server::local_addr`]).
///
/// Errors: the address cannot be had, no threads, no lanes.
pub fn serve(_service: &Arc<Service>) -> io::Result<Server> {
    todo!()
}

impl Server {
    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// How sockets are driven: never [`Io::Auto`].
    pub fn io(&self) -> Io {
        self.io
    }

    /// Stops: no new connections, `/api/health` says draining, what is under way is finished
    /// within `grace`, usage is stored. Blocks until it is done. The engine stays open.
    pub fn stop(self, _grace: Duration) {
        todo!()
    }
}
