//! A worker's listening socket.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A listening socket that hands over accepted sockets as they are. tokio's own listener registers
/// each with epoll, and a connection that a ring serves had to be taken out again.
pub(super) struct Listener(AsyncFd<std::net::TcpListener>);

impl Listener {
    /// A listener on this socket, which does not block.
    #[expect(
        deprecated,
        reason = "its successor is unsafe code, for sockets that change their descriptor: this one \
                  keeps it"
    )]
    pub(super) fn new(socket: std::net::TcpListener) -> io::Result<Self> {
        Ok(Self(AsyncFd::with_interest(socket, Interest::READABLE)?))
    }

    /// The next connection, whose socket does not block.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accept = |socket: &std::net::TcpListener| Ok(acceptfrom_with(socket, flags)?);
        let (socket, peer) = self.0.async_io(Interest::READABLE, accept).await?;
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        // The peer of a connection that is gone already has no address.
        let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok((TcpStream::from(socket), peer))
    }
}
