//! A worker's listening socket.

use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::net::{SocketFlags, acceptfrom_with};
use socket2::SockRef;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::public_listeners::LOCAL_PEER;

/// A listening socket that hands over accepted sockets as they are. tokio's own listener registers
/// each with epoll, and a connection that a ring serves had to be taken out again.
pub(super) struct Listener {
    socket: AsyncFd<std::net::TcpListener>,
    /// True for a Unix socket, whose peers have no address.
    is_local: bool,
}

impl Listener {
    /// A listener on this socket, which does not block.
    #[expect(
        deprecated,
        reason = "its successor is unsafe code, for sockets that change their descriptor: this one \
                  keeps it"
    )]
    pub(super) fn new(socket: std::net::TcpListener) -> io::Result<Self> {
        let is_local = SockRef::from(&socket).local_addr()?.is_unix();
        let socket = AsyncFd::with_interest(socket, Interest::READABLE)?;
        Ok(Self { socket, is_local })
    }

    /// The next connection, whose socket does not block.
    pub(super) async fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let accept = |socket: &std::net::TcpListener| Ok(acceptfrom_with(socket, flags)?);
        let accepted = self.socket.async_io(Interest::READABLE, accept).await;
        let (socket, peer) = accepted?;
        if self.is_local {
            return Ok((TcpStream::from(socket), LOCAL_PEER));
        }
        let peer = peer.and_then(|peer| SocketAddr::try_from(peer).ok());
        // The peer of a connection that is gone already has no address.
        let peer = peer.ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok((TcpStream::from(socket), peer))
    }
}
