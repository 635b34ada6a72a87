//! A worker's listening socket.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::public_listeners::LOCAL_PEER;

/// A listening socket that hands over accepted sockets unregistered. tokio's own listener registers
/// each with epoll, and a connection that a ring serves had to be taken out again.
pub(super) struct Listener {
    socket: AsyncFd<std::net::TcpListener>,
    /// Address on which it listens; none of a Unix socket, whose peers have none either.
    address: Option<SocketAddr>,
}

/// The two ends of a connection.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionEnds {
    /// Address of the client, [`LOCAL_PEER`] on a Unix socket.
    pub peer: SocketAddr,
    /// Address that the client has reached; none on a Unix socket.
    pub reached: Option<SocketAddr>,
}

impl Listener {
    /// A listener on this socket, which does not block.
    #[expect(
        deprecated,
        reason = "its successor is unsafe code, for sockets that change their descriptor: this one \
                  keeps it"
    )]
    pub(super) fn new(socket: std::net::TcpListener) -> io::Result<Self> {
        let address = SockRef::from(&socket).local_addr()?.as_socket();
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        Ok(Self { socket, address })
    }

    /// The next connection, as a socket that does not block.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, ConnectionEnds)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accept = |socket: &std::net::TcpListener| Ok(acceptfrom_with(socket, flags)?);
        let accepted = self.socket.async_io(Interest::READABLE, accept).await;
        let (socket, peer) = accepted?;
        let stream = TcpStream::from(socket);
        let Some(address) = self.address else {
            let ends = ConnectionEnds {
                peer: LOCAL_PEER,
                reached: None,
            };
            return Ok((stream, ends));
        };
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        // The peer of a connection that is gone already has no address.
        let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
        // Only a listener on all addresses must be asked for the one that was meant.
        let reached = if address.ip().is_unspecified() {
            stream.local_addr().unwrap_or(address)
        } else {
            address
        };
        let reached = Some(reached);
        Ok((stream, ConnectionEnds { peer, reached }))
    }
}
