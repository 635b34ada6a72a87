//! The ring itself: what is queued, what is done, and when the kernel is asked.
#![expect(
    unsafe_code,
    reason = "the kernel reads and writes the memory of a ring"
)]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{Poll, Waker};

use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{Shutdown, shutdown};
use slab::Slab;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::provided_buffers::{BUFFER_GROUP, ProvidedBuffers};
use super::slot::{BufferPool, RingOperation, RingSlot};
use crate::limits::{RING_FAILURES_MAX, RING_QUEUED_MAX, RING_UNREAD_BYTES_MAX};
use crate::runtime::connection::{ConnectionPhase, ConnectionState};

/// Entries that are queued before the kernel is asked in between.
const ENTRIES: u32 = 1024;
/// Completions that have room; the kernel keeps what is beyond them for later.
const COMPLETIONS: u32 = 4096;

thread_local! {
    static RING: RefCell<Option<Ring>> = const { RefCell::new(None) };
}

/// Whether this thread has a ring.
pub(in crate::runtime) fn is_here() -> bool {
    RING.with_borrow(Option::is_some)
}

/// Calls `act` with this thread's ring.
pub(super) fn with_ring<T>(act: impl FnOnce(&mut Ring) -> T) -> T {
    RING.with_borrow_mut(|ring| act(ring.as_mut().expect("a ring outlives its sockets")))
}

/// An io_uring and the connections on it.
pub(in crate::runtime) struct Ring {
    uring: IoUring,
    buffers: ProvidedBuffers,
    slots: Slab<RingSlot>,
    pool: BufferPool,
    /// Rings when there is something to take while the thread sleeps in epoll.
    bell: Arc<OwnedFd>,
    /// The driving task, while it sleeps.
    sleeper: Option<Waker>,
    /// Whether the kernel refused the last time: said once.
    is_refused: bool,
}

impl Ring {
    /// A ring of this thread. Errors: kernels before 6.1, and containers and their filters, refuse
    /// with `EINVAL`, `EPERM` or `ENOSYS`.
    pub(in crate::runtime) fn new() -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        uring.submitter().register_eventfd(bell.as_raw_fd())?;
        Ok(Self {
            buffers: ProvidedBuffers::new(&uring)?,
            uring,
            slots: Slab::new(),
            pool: BufferPool::default(),
            bell: Arc::new(bell),
            sleeper: None,
            is_refused: false,
        })
    }

    /// Whether there can be one; tried on a thread of its own.
    pub(in crate::runtime) fn probe() -> io::Result<()> {
        let outcome = std::thread::spawn(|| Self::new().map(drop)).join();
        outcome.unwrap_or_else(|_| Err(io::Error::other("setting up a ring panicked")))
    }

    /// Runs a worker's future to its end on this thread, with this ring. Errors: no epoll.
    pub(in crate::runtime) fn run<F>(self, worker: F) -> io::Result<()>
    where
        F: Future<Output = io::Result<()>>,
    {
        let bell = Arc::clone(&self.bell);
        RING.set(Some(self));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let outcome = runtime.block_on(async {
            // SAFETY: the descriptor is shared with this future, and nobody replaces it.
            let bell = unsafe { AsyncFd::register_with_interest(bell, Interest::READABLE) }?;
            let mut driving = tokio::spawn(drive(bell));
            // A worker whose ring stands still gives its port to the others.
            tokio::select! {
                outcome = worker => outcome,
                outcome = &mut driving => Err(outcome.unwrap_or_else(io::Error::other)),
            }
        });
        // Its tasks hold the sockets.
        drop(runtime);
        drop(RING.take());
        outcome
    }

    pub(super) fn slot(&mut self, slot_idx: usize) -> &mut RingSlot {
        &mut self.slots[slot_idx]
    }

    pub(super) fn pool(&mut self) -> &mut BufferPool {
        &mut self.pool
    }

    /// Takes a connection in and begins to receive; its slot.
    pub(super) fn open(&mut self, socket: Arc<OwnedFd>, state: Arc<ConnectionState>) -> usize {
        let slot_idx = self.slots.insert(RingSlot::new(socket, state));
        self.receive(slot_idx);
        slot_idx
    }

    /// The connection is gone: what it said last goes out as far as its socket has room, what is
    /// in flight beside that ends, and then it is forgotten.
    pub(super) fn leave(&mut self, slot_idx: usize) {
        if self.slots[slot_idx].outgoing.is_some() {
            self.enter(0, EnterFlags::GETEVENTS);
        }
        let slot = &mut self.slots[slot_idx];
        slot.is_left = true;
        if !slot.is_at_rest() {
            // A socket that is no longer connected has nothing in flight for long either.
            let _ = shutdown(&slot.socket, Shutdown::Both);
        }
        self.forget_if_over(slot_idx);
    }

    fn forget_if_over(&mut self, slot_idx: usize) {
        let slot = &self.slots[slot_idx];
        if slot.is_left && slot.is_at_rest() {
            self.slots.remove(slot_idx);
        }
    }

    fn receive(&mut self, slot_idx: usize) {
        let slot = &mut self.slots[slot_idx];
        slot.is_receiving = true;
        let entry = opcode::RecvMulti::new(slot.fd(), BUFFER_GROUP).build();
        // SAFETY: bytes arrive in pieces, which stay as long as the ring.
        unsafe { self.push(entry, RingOperation::Receive, slot_idx) };
    }

    /// Tells a receive to end: its last completion says so.
    fn pause(&mut self, slot_idx: usize) {
        self.slots[slot_idx].is_pausing = true;
        let entry = opcode::AsyncCancel::new(RingOperation::Receive.user_data(slot_idx)).build();
        // SAFETY: it points to nothing.
        unsafe { self.push(entry, RingOperation::Pause, slot_idx) };
    }

    /// So many bytes of those that came were read.
    pub(super) fn was_read(&mut self, slot_idx: usize, bytes_count: usize) {
        let slot = &mut self.slots[slot_idx];
        slot.received.read(bytes_count, &mut self.pool);
        if slot.received.unread().is_empty() && !slot.is_receiving && slot.end.is_none() {
            self.receive(slot_idx);
        }
    }

    /// Sends all of these bytes, at the latest when the ring turns next.
    pub(super) fn send(&mut self, slot_idx: usize, bytes: Vec<u8>) {
        let slot = &mut self.slots[slot_idx];
        assert!(slot.outgoing.is_none(), "one answer at a time is sent");
        let bytes_count = u32::try_from(bytes.len()).expect("an answer in one piece is small");
        let entry = opcode::Send::new(slot.fd(), bytes.as_ptr(), bytes_count)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build();
        slot.outgoing = Some(bytes);
        // SAFETY: `outgoing`, which was empty, is touched again when the completion is there, and
        // its slot stays until then.
        unsafe { self.push(entry, RingOperation::Send, slot_idx) };
        if RING_QUEUED_MAX <= self.uring.submission().len() {
            self.enter(0, EnterFlags::empty());
        }
    }

    /// Has the connection woken when its socket takes bytes.
    pub(super) fn await_room(&mut self, slot_idx: usize) {
        let slot = &mut self.slots[slot_idx];
        if !slot.is_awaiting_room {
            slot.is_awaiting_room = true;
            let entry = opcode::PollAdd::new(slot.fd(), libc::POLLOUT as u32).build();
            // SAFETY: it points to nothing.
            unsafe { self.push(entry, RingOperation::AwaitRoom, slot_idx) };
        }
    }

    /// Queues an entry.
    ///
    /// # Safety
    /// What it points to stays until its last completion has been seen.
    unsafe fn push(&mut self, entry: squeue::Entry, operation: RingOperation, slot_idx: usize) {
        let entry = entry.user_data(operation.user_data(slot_idx));
        // SAFETY: the caller's promise.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.enter(0, EnterFlags::GETEVENTS);
        }
        if let Some(sleeper) = self.sleeper.take() {
            sleeper.wake();
        }
    }

    /// Lets the bell ring, for the driving task sleeps from now on; whether there is nothing to
    /// stay awake for.
    fn sleep(&mut self, driving: &Waker) -> bool {
        self.uring.completion().enable_eventfd();
        // The kernel says that there is work before it looks at the bell: one of both sees the
        // other.
        fence(Ordering::SeqCst);
        let is_idle = !self.has_work() && self.uring.completion().is_empty();
        if is_idle {
            self.sleeper = Some(driving.clone());
        } else {
            self.wake();
        }
        is_idle
    }

    /// Keeps the bell still while the driving task looks by itself: each stroke would cost the
    /// worker a look at epoll. Only where the kernel's own order of both is that of the processor:
    /// it has no barrier between them.
    fn wake(&mut self) {
        let completions = self.uring.completion();
        if cfg!(target_arch = "x86_64") && !completions.eventfd_disabled() {
            completions.disable_eventfd();
        }
    }

    /// Hands over what is queued and takes what is done; whether there was any or is more to do.
    fn turn(&mut self) -> bool {
        if self.has_work() {
            self.enter(0, EnterFlags::GETEVENTS);
        }
        let mut is_any = false;
        while let Some(completion) = self.next_completion() {
            is_any = true;
            self.complete(&completion);
        }
        // What the kernel began and did not end rings no bell.
        is_any || self.has_work()
    }

    /// Whether the kernel is to be asked.
    fn has_work(&mut self) -> bool {
        let queue = self.uring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// Hands over what is queued, and waits for so many completions; with `GETEVENTS` it brings
    /// what has come. Whether the kernel listened: what it did not take stays queued.
    fn enter(&mut self, wanted: u32, flags: EnterFlags) -> bool {
        let queued = self.uring.submission().len();
        let queued = u32::try_from(queued).expect("a queue has 1024 entries");
        let submitter = self.uring.submitter();
        // SAFETY: no argument is given.
        let outcome =
            unsafe { submitter.enter::<libc::sigset_t>(queued, wanted, flags.bits(), None) };
        let was_refused = self.is_refused;
        self.is_refused = match outcome {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => false,
            Err(error) => {
                if !was_refused {
                    tracing::warn!(%error, "a ring is refused: trying again until it is not");
                }
                true
            }
        };
        !self.is_refused
    }

    fn next_completion(&mut self) -> Option<cqueue::Entry> {
        self.uring.completion().next()
    }

    fn complete(&mut self, completion: &cqueue::Entry) {
        let (operation, slot_idx) = RingOperation::of(completion.user_data());
        match operation {
            RingOperation::Receive => self.received(slot_idx, completion),
            RingOperation::Send => self.sent(slot_idx, completion.result()),
            RingOperation::AwaitRoom => {
                let slot = &mut self.slots[slot_idx];
                slot.is_awaiting_room = false;
                slot.wake();
            }
            // The slot may be gone: what counts is the end of its receive.
            RingOperation::Pause => return,
        }
        self.forget_if_over(slot_idx);
    }

    fn received(&mut self, slot_idx: usize, completion: &cqueue::Entry) {
        let slot = &mut self.slots[slot_idx];
        let result = completion.result();
        if let Some(buffer_idx) = cqueue::buffer_select(completion.flags()) {
            if let (Ok(bytes_count), false) = (usize::try_from(result), slot.is_left) {
                let bytes = self.buffers.read(buffer_idx, bytes_count);
                slot.received.add(bytes, &mut self.pool);
            }
            self.buffers.give(buffer_idx);
        }
        match -result {
            0 => slot.end = Some(0),
            // ProvidedBuffers are there again after every turn; what was paused goes on when it is read.
            libc::ENOBUFS | libc::ECANCELED => {}
            errno if errno > 0 => slot.end = Some(errno),
            _ => {}
        }
        slot.wake();
        slot.is_receiving = cqueue::more(completion.flags());
        slot.is_pausing &= slot.is_receiving;
        let is_full = slot.received.unread().len() >= RING_UNREAD_BYTES_MAX;
        match slot.is_receiving {
            true if is_full && !slot.is_pausing => self.pause(slot_idx),
            false if !is_full && slot.end.is_none() && !slot.is_left => self.receive(slot_idx),
            _ => {}
        }
    }

    fn sent(&mut self, slot_idx: usize, result: i32) {
        let slot = &mut self.slots[slot_idx];
        let Some(bytes) = slot.outgoing.take() else {
            return;
        };
        if usize::try_from(result) != Ok(bytes.len()) {
            slot.send_error = Some(if result < 0 { -result } else { libc::EPIPE });
            // Who waits for a request rather than for this learns from it that it is over.
            let _ = shutdown(&slot.socket, Shutdown::Both);
        } else if slot.state.phase() == ConnectionPhase::Sending {
            slot.state.wrote();
        }
        if slot.is_awaiting_sent {
            slot.is_awaiting_sent = false;
            // More is to be sent.
            slot.state.write_blocked();
            slot.wake();
        }
        self.pool.keep(bytes);
    }
}

impl Drop for Ring {
    /// Waits until the kernel is done with all memory that it was given: what is in flight on a
    /// socket that was shut down ends at once.
    fn drop(&mut self) {
        for (_, slot) in &mut self.slots {
            slot.is_left = true;
            let _ = shutdown(&slot.socket, Shutdown::Both);
        }
        self.slots.retain(|_, slot| !slot.is_at_rest());
        let mut refusals_count = 0;
        while !self.slots.is_empty() && refusals_count < RING_FAILURES_MAX {
            refusals_count = if self.enter(1, EnterFlags::GETEVENTS) {
                0
            } else {
                refusals_count + 1
            };
            while let Some(completion) = self.next_completion() {
                self.complete(&completion);
            }
        }
        if !self.slots.is_empty() {
            tracing::error!("a ring ends with bytes in flight: their memory is given up");
            std::mem::forget(std::mem::take(&mut self.slots));
            self.buffers.give_up();
        }
    }
}

/// Turns this thread's ring after the tasks that the turn before has woken; sleeps until the bell
/// rings when there was nothing.
async fn drive(bell: AsyncFd<Arc<OwnedFd>>) -> io::Error {
    poll_fn(|context| {
        with_ring(Ring::wake);
        loop {
            if with_ring(Ring::turn) {
                // Into the queue behind those tasks. `yield_now` would look at epoll first.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match bell.poll_read_ready(context) {
                // The bell is never read: each stroke is an edge of its own.
                Poll::Ready(Ok(mut stroke)) => stroke.clear_ready(),
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Pending if with_ring(|ring| ring.sleep(context.waker())) => {
                    return Poll::Pending;
                }
                // Something came in between.
                Poll::Pending => {}
            }
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::runtime::connection::Heartbeat;

    /// The first of many answers do not wait for the work on the others.
    #[test]
    fn many_answers_go_out_before_the_turn_ends() {
        let Ok(mut ring) = Ring::new() else {
            return;
        };
        let mut peers = Vec::new();
        for _ in 0..RING_QUEUED_MAX {
            let (socket, peer) = UnixStream::pair().unwrap();
            peer.set_nonblocking(true).unwrap();
            let state = Arc::new(ConnectionState::new(Arc::new(Heartbeat::default())));
            peers.push((ring.open(Arc::new(OwnedFd::from(socket)), state), peer));
        }
        ring.turn();
        for (slot_idx, _) in &peers {
            ring.send(*slot_idx, b"answer".to_vec());
        }
        for (_, peer) in &mut peers {
            let mut bytes = [0; 6];
            peer.read_exact(&mut bytes).unwrap();
            assert_eq!(&bytes, b"answer");
        }
    }

    /// More entries than the queue holds go to the kernel in between, and none is lost.
    #[test]
    fn a_full_queue_is_handed_over() {
        let Ok(mut ring) = Ring::new() else {
            return;
        };
        let (socket, _peer) = UnixStream::pair().unwrap();
        let socket = Arc::new(OwnedFd::from(socket));
        let slots: Vec<usize> = (0..ENTRIES as usize + 500)
            .map(|_| {
                let state = Arc::new(ConnectionState::new(Arc::new(Heartbeat::default())));
                let slot_idx = ring.open(Arc::clone(&socket), state);
                ring.await_room(slot_idx);
                slot_idx
            })
            .collect();
        while slots
            .iter()
            .any(|slot_idx| ring.slot(*slot_idx).is_awaiting_room)
        {
            assert!(ring.turn() || ring.enter(1, EnterFlags::GETEVENTS));
        }
        assert!(
            slots
                .iter()
                .all(|slot_idx| ring.slot(*slot_idx).is_receiving)
        );
    }
}
