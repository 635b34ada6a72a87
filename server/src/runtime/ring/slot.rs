//! What a ring knows of one connection, and what its entries are about.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Waker};

use io_uring::types::Fd;

use crate::limits::{POOLED_BUFFER_BYTES_MAX, POOLED_BUFFERS_MAX};
use crate::runtime::connection::ConnectionState;

/// What an entry is about. Its user data is that in the two lower bits, and above them its slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RingOperation {
    /// Bytes that come, as often as they do.
    Receive = 0,
    /// One answer, all of it.
    Send = 1,
    /// Wait until the socket takes bytes.
    AwaitRoom = 2,
    /// End a receive.
    Pause = 3,
}

impl RingOperation {
    pub(super) const fn user_data(self, slot_idx: usize) -> u64 {
        ((slot_idx as u64) << 2) | self as u64
    }

    pub(super) const fn of(user_data: u64) -> (Self, usize) {
        let operation = match user_data & 3 {
            0 => Self::Receive,
            1 => Self::Send,
            2 => Self::AwaitRoom,
            _ => Self::Pause,
        };
        (operation, (user_data >> 2) as usize)
    }
}

/// A connection as its ring knows it.
pub(super) struct RingSlot {
    pub(super) socket: Arc<OwnedFd>,
    pub(super) state: Arc<ConnectionState>,
    /// The connection's task, once it has waited.
    waker: Option<Waker>,
    /// What came and was not read yet.
    pub(super) received: UnreadBytes,
    /// Whether a receive is in flight, and whether it was told to end.
    pub(super) is_receiving: bool,
    pub(super) is_pausing: bool,
    /// Why nothing more comes: 0 for the end, or an error of the socket.
    pub(super) end: Option<i32>,
    /// What the kernel is sending.
    pub(super) outgoing: Option<Vec<u8>>,
    /// Why it could not send all.
    pub(super) send_error: Option<i32>,
    pub(super) is_awaiting_room: bool,
    /// Whether the connection's task waits until all is sent.
    pub(super) is_awaiting_sent: bool,
    /// Whether the connection is gone: the slot waits for the kernel.
    pub(super) is_left: bool,
}

impl RingSlot {
    pub(super) fn new(socket: Arc<OwnedFd>, state: Arc<ConnectionState>) -> Self {
        Self {
            socket,
            state,
            waker: None,
            received: UnreadBytes::default(),
            is_receiving: false,
            is_pausing: false,
            end: None,
            outgoing: None,
            send_error: None,
            is_awaiting_room: false,
            is_awaiting_sent: false,
            is_left: false,
        }
    }

    pub(super) fn fd(&self) -> Fd {
        Fd(self.socket.as_raw_fd())
    }

    /// Whether the kernel has nothing to do for it.
    pub(super) fn is_at_rest(&self) -> bool {
        !self.is_receiving && self.outgoing.is_none() && !self.is_awaiting_room
    }

    /// The task of this context is the one to wake.
    pub(super) fn remember(&mut self, context: &Context<'_>) {
        match &self.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => self.waker = Some(context.waker().clone()),
        }
    }

    pub(super) fn wake(&self) {
        if let (Some(waker), false) = (&self.waker, self.is_left) {
            waker.wake_by_ref();
        }
    }
}

/// Bytes that came and were not read yet.
#[derive(Default)]
pub(super) struct UnreadBytes {
    bytes: Vec<u8>,
    read_count: usize,
}

impl UnreadBytes {
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.read_count..]
    }

    /// Adds bytes; the first come into a vector of `pool`.
    pub(super) fn add(&mut self, bytes: &[u8], pool: &mut BufferPool) {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        // Not more room than twice what is unread, whatever pieces it is read in.
        if self.bytes.len() / 2 < self.read_count {
            self.bytes.drain(..self.read_count);
            self.read_count = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// So many bytes more were read; the vector goes when all of them were.
    pub(super) fn read(&mut self, bytes_count: usize, pool: &mut BufferPool) {
        self.read_count += bytes_count;
        if self.read_count == self.bytes.len() {
            self.read_count = 0;
            pool.keep(std::mem::take(&mut self.bytes));
        }
    }
}

/// Vectors for the next bytes: an idle connection holds none.
#[derive(Default)]
pub(super) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    /// An empty vector.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Takes a vector back.
    pub(super) fn keep(&mut self, mut bytes: Vec<u8>) {
        if self.0.len() < POOLED_BUFFERS_MAX && bytes.capacity() <= POOLED_BUFFER_BYTES_MAX {
            bytes.clear();
            self.0.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_data_names_operation_and_slot() {
        use RingOperation::{AwaitRoom, Pause, Receive, Send};
        for operation in [Receive, Send, AwaitRoom, Pause] {
            for slot_idx in [0, 1, 30_000] {
                let user_data = operation.user_data(slot_idx);
                assert_eq!(RingOperation::of(user_data), (operation, slot_idx));
            }
        }
    }

    #[test]
    fn what_arrived_is_read_in_any_pieces() {
        let mut pool = BufferPool::default();
        let mut received = UnreadBytes::default();
        let mut read = Vec::new();
        for round in 0..1000 {
            received.add(&[round as u8; 100], &mut pool);
            let bytes_count = if round % 50 == 49 { 2600 } else { 50 };
            let part = received.unread()[..bytes_count.min(received.unread().len())].to_vec();
            received.read(part.len(), &mut pool);
            read.extend(part);
            assert!(received.bytes.len() <= 2 * received.unread().len() + 100);
        }
        read.extend(received.unread());
        let sent: Vec<u8> = (0..1000).flat_map(|round| [round as u8; 100]).collect();
        assert!(read == sent);
    }

    #[test]
    fn an_idle_connection_holds_no_vector() {
        let mut pool = BufferPool::default();
        let mut received = UnreadBytes::default();
        received.add(b"abc", &mut pool);
        received.read(3, &mut pool);
        assert_eq!(received.bytes.capacity(), 0);
        assert_eq!(pool.0.len(), 1);
        pool.keep(vec![0; POOLED_BUFFER_BYTES_MAX + 1]);
        assert_eq!(pool.0.len(), 1, "a long one is not kept");
        assert!(pool.take().is_empty());
    }
}
