//! A socket whose bytes come and go by the ring of its thread.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::driver::with_ring;
use crate::runtime::connection::ConnectionState;

/// A connection's end of its slot. Lives and dies on the thread of its ring, before it.
pub(in crate::runtime) struct RingSocket {
    socket: Arc<OwnedFd>,
    slot_idx: usize,
}

impl RingSocket {
    /// Hands a socket to this thread's ring, which receives from now on.
    pub(in crate::runtime) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        let socket = Arc::new(OwnedFd::from(stream));
        let slot_idx = with_ring(|ring| ring.open(Arc::clone(&socket), state));
        Self { socket, slot_idx }
    }

    /// The socket itself, which does not block.
    pub(in crate::runtime) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Hands what has come to `take`, at most so many bytes; 0 bytes are the end.
    pub(in crate::runtime) fn poll_receive(
        &self,
        context: &mut Context<'_>,
        bytes_max: usize,
        take: impl FnOnce(&[u8]),
    ) -> Poll<io::Result<usize>> {
        with_ring(|ring| {
            let slot = ring.slot(self.slot_idx);
            let unread = slot.received.unread();
            if !unread.is_empty() {
                let taken_count = unread.len().min(bytes_max);
                take(&unread[..taken_count]);
                ring.was_read(self.slot_idx, taken_count);
                return Poll::Ready(Ok(taken_count));
            }
            match slot.end {
                None => {
                    slot.remember(context);
                    Poll::Pending
                }
                Some(0) => Poll::Ready(Ok(0)),
                Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(errno))),
            }
        })
    }

    /// Sends what `fill` puts into an empty vector, all of it, before the ring turns next. Nothing
    /// may be under way (`poll_sent`).
    pub(in crate::runtime) fn send(&self, fill: impl FnOnce(&mut Vec<u8>)) {
        with_ring(|ring| {
            let mut bytes = ring.pool().take();
            fill(&mut bytes);
            ring.send(self.slot_idx, bytes);
        });
    }

    /// Waits until nothing is under way. Errors: the last answer did not go out.
    pub(in crate::runtime) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_ring(|ring| {
            let slot = ring.slot(self.slot_idx);
            if slot.outgoing.is_some() {
                slot.is_awaiting_sent = true;
                slot.remember(context);
                return Poll::Pending;
            }
            match slot.send_error {
                None => Poll::Ready(Ok(())),
                Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(errno))),
            }
        })
    }

    /// Has the task woken when the socket takes bytes.
    pub(in crate::runtime) fn await_room(&self, context: &mut Context<'_>) {
        with_ring(|ring| {
            ring.slot(self.slot_idx).remember(context);
            ring.await_room(self.slot_idx);
        });
    }
}

impl Drop for RingSocket {
    fn drop(&mut self) {
        with_ring(|ring| ring.leave(self.slot_idx));
    }
}
