//! How the bytes of one connection come and go: the seam between a socket and its backend.
//!
//! It makes its own system calls where tokio would call the C library: there `recv` and `send` are
//! places where a thread may be cancelled, which took 1.4 % of the time of a cached search.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustix::net::{RecvFlags, SendFlags, Shutdown};
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::connection::ConnectionState;
use super::ring::{self, RingSocket};
use crate::limits::RECEIVE_BYTES_MAX;

thread_local! {
    /// Where bytes arrive: a request is small, and to copy it costs less than to be careful with
    /// memory that nothing was written to.
    static ARRIVED: RefCell<[u8; RECEIVE_BYTES_MAX]> = const { RefCell::new([0; RECEIVE_BYTES_MAX]) };
}

/// A connection's socket.
pub(super) enum Transport {
    /// System calls when epoll says that they will find something.
    Readiness(TcpStream),
    /// Completions of the worker's ring.
    Ring(RingSocket),
}

impl Transport {
    /// The transport of this worker's backend.
    pub(super) fn new(stream: TcpStream, state: &Arc<ConnectionState>) -> io::Result<Self> {
        Ok(match ring::is_here() {
            true => Self::Ring(RingSocket::new(stream.into_std()?, Arc::clone(state))),
            false => Self::Readiness(stream),
        })
    }

    /// The socket itself, which does not block.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Readiness(stream) => stream.as_fd(),
            Self::Ring(socket) => socket.as_fd(),
        }
    }

    /// Hands what has come to `take`, at most so many bytes; 0 bytes are the end.
    pub(super) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        bytes_max: usize,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Readiness(stream) => ARRIVED.with_borrow_mut(|arrived| {
                let room = bytes_max.min(arrived.len());
                let count = ready!(receive(stream, context, &mut arrived[..room]))?;
                take(&arrived[..count]);
                Poll::Ready(Ok(count))
            }),
            Self::Ring(socket) => socket.poll_receive(context, bytes_max, take),
        }
    }

    /// Sends bytes at once; the number of those that went.
    pub(super) fn poll_send(
        &self,
        context: &mut Context<'_>,
        bytes: &[u8],
        flags: SendFlags,
    ) -> Poll<io::Result<usize>> {
        let flags = flags | SendFlags::NOSIGNAL;
        self.poll_call(context, |socket| {
            Ok(rustix::net::send(socket, bytes, flags)?)
        })
    }

    /// Tries a system call that sends until it does not find the socket full.
    pub(super) fn poll_call(
        &self,
        context: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let outcome = match self {
                Self::Readiness(stream) => {
                    stream.try_io(Interest::WRITABLE, || call(stream.as_fd()))
                }
                Self::Ring(socket) => call(socket.as_fd()),
            };
            match (outcome, self) {
                (Err(error), Self::Readiness(stream))
                    if error.kind() == io::ErrorKind::WouldBlock =>
                {
                    ready!(stream.poll_write_ready(context))?;
                }
                (Err(error), Self::Ring(socket)) if error.kind() == io::ErrorKind::WouldBlock => {
                    socket.await_room(context);
                    return Poll::Pending;
                }
                (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => {}
                (outcome, _) => return Poll::Ready(outcome),
            }
        }
    }

    /// The same, as long as it is this task's turn: a reader as fast as its file does not keep the
    /// worker.
    pub(super) fn poll_turn(
        &self,
        context: &mut Context<'_>,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(tokio::task::coop::consume_budget()).poll(context));
        self.poll_call(context, call)
    }

    /// Lets the ring send what `fill` puts into its buffer, all of it; false where there is none.
    pub(super) fn send_later(&self, fill: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self {
            Self::Readiness(_) => false,
            Self::Ring(socket) => {
                socket.send(fill);
                true
            }
        }
    }

    /// Is ready when the ring is sending nothing.
    pub(super) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Readiness(_) => Poll::Ready(Ok(())),
            Self::Ring(socket) => socket.poll_sent(context),
        }
    }

    /// Ends our side. Of a client that is gone already, the next receive tells.
    pub(super) fn shut_down(&self) {
        let _ = rustix::net::shutdown(self.as_fd(), Shutdown::Write);
    }
}

fn receive(
    stream: &TcpStream,
    context: &mut Context<'_>,
    buffer: &mut [u8],
) -> Poll<io::Result<usize>> {
    loop {
        let mut received_count = None;
        let outcome = stream.try_io(Interest::READABLE, || {
            let (_, count) = rustix::net::recv(stream, &mut *buffer, RecvFlags::empty())?;
            received_count = Some(count);
            // Less than there is room for is all there was: saying so here spares the call
            // that would find nothing. The kernel tells when more comes (epoll(7), question 9).
            match (1..buffer.len()).contains(&count) {
                true => Err(io::ErrorKind::WouldBlock.into()),
                false => Ok(()),
            }
        });
        match (received_count, outcome) {
            (Some(count), _) => return Poll::Ready(Ok(count)),
            (None, Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                ready!(stream.poll_read_ready(context))?;
            }
            (None, Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            (None, outcome) => return Poll::Ready(outcome.map(|()| 0)),
        }
    }
}
