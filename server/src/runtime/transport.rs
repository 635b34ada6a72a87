//! Transport of one connection's bytes: epoll or a ring, behind one interface.
//!
//! It makes its own system calls where tokio would call the C library: there `recv` and `send` are
//! cancellation points, which took 1.4 % of the time of a cached search.

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
    /// Buffer of `recv`. A request is small: copying it costs less than zeroing, or tracking the
    /// initialized part of, hyper's own buffer.
    static RECEIVED: RefCell<[u8; RECEIVE_BYTES_MAX]> =
        const { RefCell::new([0; RECEIVE_BYTES_MAX]) };
}

/// A connection's socket.
pub(super) enum Transport {
    /// System calls once epoll reports that they will not block.
    Readiness(TcpStream),
    /// Completions of the worker's ring.
    Ring(RingSocket),
}

impl Transport {
    /// A transport of this worker's I/O backend.
    pub(super) fn new(
        stream: std::net::TcpStream,
        state: &Arc<ConnectionState>,
    ) -> io::Result<Self> {
        if ring::is_here() {
            return Ok(Self::Ring(RingSocket::new(stream, Arc::clone(state))));
        }
        Ok(Self::Readiness(TcpStream::from_std(stream)?))
    }

    /// The socket itself, which does not block.
    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Readiness(stream) => stream.as_fd(),
            Self::Ring(socket) => socket.as_fd(),
        }
    }

    /// Passes up to `bytes_max` received bytes to `take`. Returns their number; 0 is the end.
    pub(super) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        bytes_max: usize,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        match self {
            Self::Readiness(stream) => RECEIVED.with_borrow_mut(|received| {
                let room = bytes_max.min(received.len());
                let count = ready!(receive(stream, context, &mut received[..room]))?;
                take(&received[..count]);
                Poll::Ready(Ok(count))
            }),
            Self::Ring(socket) => socket.poll_receive(context, bytes_max, take),
        }
    }

    /// Sends bytes now. Returns the number of bytes that the socket took.
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

    /// Calls `call`, which sends, until it does not report a full socket.
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
                    // The ring has no readiness to clear: it polls the socket once.
                    socket.await_room(context);
                    return Poll::Pending;
                }
                (Err(error), _) if error.kind() == io::ErrorKind::Interrupted => {}
                (outcome, _) => return Poll::Ready(outcome),
            }
        }
    }

    /// Like [`Transport::poll_call`], within the task's budget: a client that reads as fast as its
    /// file is read must not occupy the worker.
    pub(super) fn poll_turn(
        &self,
        context: &mut Context<'_>,
        call: impl FnMut(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        ready!(pin!(tokio::task::coop::consume_budget()).poll(context));
        self.poll_call(context, call)
    }

    /// Queues the bytes that `fill` writes to be sent by the ring, in full. Returns false, without
    /// calling `fill`, if there is no ring.
    pub(super) fn send_later(&self, fill: impl FnOnce(&mut Vec<u8>)) -> bool {
        match self {
            Self::Readiness(_) => false,
            Self::Ring(socket) => {
                socket.send(fill);
                true
            }
        }
    }

    /// Ready once the ring has sent everything that was queued.
    pub(super) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Readiness(_) => Poll::Ready(Ok(())),
            Self::Ring(socket) => socket.poll_sent(context),
        }
    }

    /// Shuts our side down. An error means that the client has left, which the next receive
    /// reports.
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
            // Fewer bytes than fit are all there were. To report that the call would block, here,
            // clears tokio's readiness and saves the next call, which would find nothing. The
            // kernel reports an edge when more bytes come (epoll(7), question 9).
            if (1..buffer.len()).contains(&count) {
                Err(io::ErrorKind::WouldBlock.into())
            } else {
                Ok(())
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
