//! A connection of a ring, and the operations that the ring submits for it.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Waker};

use io_uring::types::Fd;

use crate::limits::{POOLED_BUFFER_BYTES_MAX, POOLED_BUFFERS_MAX};
use crate::runtime::connection::ConnectionState;

/// Operation of an entry. The user data of an entry is its operation in the two lower bits, and its
/// slot above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RingOperation {
    /// Multishot receive: completes whenever bytes arrive.
    Receive = 0,
    /// Send of one whole answer.
    Send = 1,
    /// Poll for room in the send buffer.
    AwaitRoom = 2,
    /// Cancellation of a receive.
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

/// State of a connection in its ring.
///
/// Receiving, sending and waiting for room are independent of each other. The receive:
///
/// ```text
///              bytes arrive (more follow)           unread bytes >= RING_UNREAD_BYTES_MAX
///                 +--------+                     +---------------------> Pausing
///                 v        |                     |                          | cancelled
///   open ----> Receiving --+---------------------+                          v
///                 ^  |   last completion (no buffers free): at once      Stopped
///                 +--+                                                      |
///                 +---------------------------------------------------------+ all bytes read
///   Receiving -> Ended: end of the stream, or an error (`end`)
/// ```
///
/// A send: none -> `outgoing` (queued or in flight) -> none, or `send_error`. A closed slot is
/// removed as soon as no operation of it is in flight.
pub(super) struct RingSlot {
    /// The socket. The slot keeps it open until the kernel has finished with it.
    pub(super) socket: Arc<OwnedFd>,
    /// State that the ring updates with the progress of sends.
    pub(super) state: Arc<ConnectionState>,
    /// Waker of the connection's task, once it has waited.
    waker: Option<Waker>,
    /// Received bytes that the connection has not read.
    pub(super) received: UnreadBytes,
    /// True while a receive is in flight.
    pub(super) is_receiving: bool,
    /// True while its cancellation is in flight.
    pub(super) is_pausing: bool,
    /// End of the stream: 0, or the error number of the socket.
    pub(super) end: Option<i32>,
    /// Bytes that the kernel is sending. Not touched while they are in flight.
    pub(super) outgoing: Option<Vec<u8>>,
    /// Error number of a send that failed.
    pub(super) send_error: Option<i32>,
    /// True while a poll for room is in flight.
    pub(super) is_awaiting_room: bool,
    /// True if the task waits for the end of the send.
    pub(super) is_awaiting_sent: bool,
    /// True if the connection is closed, and the slot waits for the kernel.
    pub(super) is_closed: bool,
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
            is_closed: false,
        }
    }

    pub(super) fn fd(&self) -> Fd {
        Fd(self.socket.as_raw_fd())
    }

    /// True if no operation of it is in flight. A cancellation may be: it refers to no memory.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_receiving && self.outgoing.is_none() && !self.is_awaiting_room
    }

    /// Registers the task of this context to be woken.
    pub(super) fn register(&mut self, context: &Context<'_>) {
        // A task keeps its waker: the clone is made once per connection.
        match &self.waker {
            Some(waker) if waker.will_wake(context.waker()) => {}
            _ => self.waker = Some(context.waker().clone()),
        }
    }

    pub(super) fn wake(&self) {
        if let (Some(waker), false) = (&self.waker, self.is_closed) {
            waker.wake_by_ref();
        }
    }
}

/// Received bytes that have not been read.
#[derive(Default)]
pub(super) struct UnreadBytes {
    bytes: Vec<u8>,
    read_count: usize,
}

impl UnreadBytes {
    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.read_count..]
    }

    /// Appends bytes. An empty one takes a buffer from the pool.
    pub(super) fn add(&mut self, bytes: &[u8], pool: &mut BufferPool) {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take();
        }
        // Memory stays below twice the unread bytes, however they are read, and each byte is moved
        // at most once on average.
        if self.bytes.len() / 2 < self.read_count {
            self.bytes.drain(..self.read_count);
            self.read_count = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Removes bytes that have been read. The buffer returns to the pool with the last of them.
    pub(super) fn read(&mut self, bytes_count: usize, pool: &mut BufferPool) {
        self.read_count += bytes_count;
        if self.read_count == self.bytes.len() {
            self.read_count = 0;
            pool.put_back(std::mem::take(&mut self.bytes));
        }
    }
}

/// Buffer pool of a ring: an idle connection holds no buffer.
#[derive(Default)]
pub(super) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    /// An empty buffer.
    pub(super) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Returns a buffer to the pool; frees it if it is large or the pool is full.
    pub(super) fn put_back(&mut self, mut bytes: Vec<u8>) {
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
    fn received_bytes_are_read_in_parts_of_any_size() {
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
    fn an_idle_connection_holds_no_buffer() {
        let mut pool = BufferPool::default();
        let mut received = UnreadBytes::default();
        received.add(b"abc", &mut pool);
        received.read(3, &mut pool);
        assert_eq!(received.bytes.capacity(), 0);
        assert_eq!(pool.0.len(), 1);
        pool.put_back(vec![0; POOLED_BUFFER_BYTES_MAX + 1]);
        assert_eq!(pool.0.len(), 1, "a large one is freed");
        assert!(pool.take().is_empty());
    }
}
