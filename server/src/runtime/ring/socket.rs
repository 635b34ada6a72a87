//! A socket that is driven by the ring of its thread.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Poll};

use super::driver::with_ring;
use crate::runtime::connection::ConnectionState;

/// A connection's handle to its slot. Used and dropped on the thread of its ring, before the ring.
pub(in crate::runtime) struct RingSocket {
    socket: Arc<OwnedFd>,
    slot_idx: usize,
}

impl RingSocket {
    /// Adds a socket to this thread's ring, which begins to receive.
    pub(in crate::runtime) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        let socket = Arc::new(OwnedFd::from(stream));
        let slot_idx = with_ring(|ring| ring.open(Arc::clone(&socket), state));
        Self { socket, slot_idx }
    }

    /// The socket itself, which does not block.
    pub(in crate::runtime) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Passes up to `bytes_max` received bytes to `take`. Returns their number; 0 is the end.
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
                    slot.register(context);
                    Poll::Pending
                }
                Some(0) => Poll::Ready(Ok(0)),
                Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(errno))),
            }
        })
    }

    /// Queues the bytes that `fill` writes into an empty buffer to be sent in full. No other send
    /// may be in flight (see [`RingSocket::poll_sent`]).
    pub(in crate::runtime) fn send(&self, fill: impl FnOnce(&mut Vec<u8>)) {
        with_ring(|ring| {
            let mut bytes = ring.pool().take();
            fill(&mut bytes);
            ring.send(self.slot_idx, bytes);
        });
    }

    /// Ready once no send is in flight. Errors: the last answer was not sent in full.
    pub(in crate::runtime) fn poll_sent(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        with_ring(|ring| {
            let slot = ring.slot(self.slot_idx);
            if slot.outgoing.is_some() {
                slot.is_awaiting_sent = true;
                slot.register(context);
                return Poll::Pending;
            }
            match slot.send_error {
                None => Poll::Ready(Ok(())),
                Some(errno) => Poll::Ready(Err(io::Error::from_raw_os_error(errno))),
            }
        })
    }

    /// Wakes the task once the socket has room for bytes.
    pub(in crate::runtime) fn await_room(&self, context: &mut Context<'_>) {
        with_ring(|ring| {
            ring.slot(self.slot_idx).register(context);
            ring.await_room(self.slot_idx);
        });
    }
}

impl Drop for RingSocket {
    fn drop(&mut self) {
        with_ring(|ring| ring.close(self.slot_idx));
    }
}
