//! The ring: submission, completion, and when the thread enters the kernel.
#![expect(unsafe_code, reason = "memory is lent to the kernel")]

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::task::{Poll, Waker};
use std::time::Duration;

use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use rustix::event::{EventfdFlags, eventfd};
use rustix::net::{Shutdown, shutdown};
use slab::Slab;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::provided_buffers::{BUFFER_GROUP, ProvidedBuffers};
use super::slot::{BufferPool, RingOperation, RingSlot};
use crate::limits::{RING_FAILURES_MAX, RING_QUEUED_MAX, RING_UNREAD_BYTES_MAX};
use crate::runtime::cold_read::worker_runtime;
use crate::runtime::connection::{ConnectionPhase, ConnectionState};

/// Entries of the submission queue; the ring is entered when it is full.
const ENTRIES: u32 = 1024;
/// Pause after a failed `io_uring_enter`.
const FAILURE_PAUSE: Duration = Duration::from_millis(1);
/// Entries of the completion queue. The kernel keeps further completions for later.
const COMPLETIONS: u32 = 4096;

thread_local! {
    static RING: RefCell<Option<Ring>> = const { RefCell::new(None) };
}

/// True if this thread has a ring.
pub(in crate::runtime) fn is_here() -> bool {
    RING.with_borrow(Option::is_some)
}

/// Calls `act` with this thread's ring.
pub(super) fn with_ring<T>(act: impl FnOnce(&mut Ring) -> T) -> T {
    RING.with_borrow_mut(|ring| {
        act(ring
            .as_mut()
            .expect("the ring of a thread outlives its sockets"))
    })
}

/// An io_uring and the connections on it. One worker's thread owns it.
///
/// The life of a ring, driven by [`drive`]:
///
/// ```text
///   new -> Turning: submit what is queued, take completions, wake tasks
///             |  ^
///             |  | a task queued an entry, or the eventfd reported a completion
///             v  |
///          Parked: `parked_driver` is set, the eventfd is armed, the thread waits in epoll
///             |
///   drop -> Draining: sockets are shut down; completions are taken until no slot is in flight
///             |
///             v
///           gone (or, after RING_FAILURES_MAX failed calls, its memory is leaked)
/// ```
///
/// Turning -> Turning: completions woke tasks. They run first, then the ring turns again: what they
/// queue is submitted together, by one system call.
///
/// INVARIANT: memory that an entry in flight refers to stays where it is until the entry's last
/// completion has been taken. Received bytes go into `buffers`, which live as long as the ring;
/// sent bytes are in the `outgoing` of a slot, which is not removed while it is in flight.
pub(in crate::runtime) struct Ring {
    uring: IoUring,
    buffers: ProvidedBuffers,
    slots: Slab<RingSlot>,
    pool: BufferPool,
    /// The kernel signals completions here while the thread waits in epoll.
    completion_eventfd: Arc<OwnedFd>,
    /// Waker of the driving task while it is parked. Queueing an entry wakes it.
    parked_driver: Option<Waker>,
    /// Calls of `io_uring_enter` that failed in a row: the first is logged, and after
    /// [`RING_FAILURES_MAX`] the ring is given up.
    failures_count: usize,
}

impl Ring {
    /// A ring of this thread. Errors: `EINVAL` from kernels before 6.1, `EPERM` or `ENOSYS` from
    /// containers and their system call filters.
    pub(in crate::runtime) fn new() -> io::Result<Self> {
        let uring = IoUring::builder()
            // Completions are processed when this thread asks for them, not in the middle of its
            // work: no interrupts, and one system call brings all of a turn.
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(ENTRIES)?;
        let completion_eventfd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        uring
            .submitter()
            .register_eventfd(completion_eventfd.as_raw_fd())?;
        Ok(Self {
            buffers: ProvidedBuffers::new(&uring)?,
            uring,
            slots: Slab::new(),
            pool: BufferPool::default(),
            completion_eventfd: Arc::new(completion_eventfd),
            parked_driver: None,
            failures_count: 0,
        })
    }

    /// Tries to set up a ring, on a thread of its own: a ring belongs to the thread that made it.
    pub(in crate::runtime) fn probe() -> io::Result<()> {
        let outcome = std::thread::spawn(|| Self::new().map(drop)).join();
        outcome.unwrap_or_else(|_| Err(io::Error::other("setting up a ring panicked")))
    }

    /// Runs a worker's future to its end on this thread, with this ring. Errors: no epoll.
    pub(in crate::runtime) fn run<F>(self, worker: F) -> io::Result<()>
    where
        F: Future<Output = io::Result<()>>,
    {
        let eventfd = Arc::clone(&self.completion_eventfd);
        RING.set(Some(self));
        // Also when the worker panics: what runs on this thread next must not find its ring. The
        // tasks hold the sockets, which need the ring when they are dropped: the runtime, declared
        // later, is dropped first.
        let _taken_at_last = TakeRing;
        let runtime = worker_runtime()?;
        let outcome = runtime.block_on(async {
            // SAFETY: the eventfd stays open as long as the `AsyncFd`, which shares its owner, and
            // the descriptor is not replaced in between.
            let eventfd = unsafe { AsyncFd::register_with_interest(eventfd, Interest::READABLE) }?;
            let mut driving = tokio::spawn(drive(eventfd));
            // If the driver ends, so does the worker: its listener closes, and the kernel gives new
            // connections to the other workers.
            tokio::select! {
                outcome = worker => outcome,
                outcome = &mut driving => Err(outcome.unwrap_or_else(io::Error::other)),
            }
        });
        drop(runtime);
        outcome
    }

    pub(super) fn slot(&mut self, slot_idx: usize) -> &mut RingSlot {
        &mut self.slots[slot_idx]
    }

    pub(super) fn pool(&mut self) -> &mut BufferPool {
        &mut self.pool
    }

    /// Adds a connection and begins to receive. Returns its slot.
    pub(super) fn open(&mut self, socket: Arc<OwnedFd>, state: Arc<ConnectionState>) -> usize {
        let slot_idx = self.slots.insert(RingSlot::new(socket, state));
        self.receive(slot_idx);
        slot_idx
    }

    /// Closes a connection: queued bytes are sent as far as the socket has space, all other
    /// operations in flight are cancelled, and then the slot is removed.
    pub(super) fn close(&mut self, slot_idx: usize) {
        // The last answer may still be queued: without this it would be sent after the shutdown.
        if self.slots[slot_idx].outgoing.is_some() {
            self.enter(0, EnterFlags::GETEVENTS);
        }
        let slot = &mut self.slots[slot_idx];
        slot.is_closed = true;
        if !slot.is_idle() {
            // Operations on a socket that is shut down complete soon, whatever they wait for.
            let _ = shutdown(&slot.socket, Shutdown::Both);
        }
        self.remove_if_idle(slot_idx);
    }

    fn remove_if_idle(&mut self, slot_idx: usize) {
        let slot = &self.slots[slot_idx];
        if slot.is_closed && slot.is_idle() {
            self.slots.remove(slot_idx);
        }
    }

    fn receive(&mut self, slot_idx: usize) {
        let slot = &mut self.slots[slot_idx];
        slot.is_receiving = true;
        let entry = opcode::RecvMulti::new(slot.fd(), BUFFER_GROUP).build();
        // SAFETY: the entry refers to no memory but the provided buffers, which live as long as the
        // ring (its invariant).
        unsafe { self.push(entry, RingOperation::Receive, slot_idx) };
    }

    /// Cancels a receive. Its last completion follows.
    fn pause(&mut self, slot_idx: usize) {
        self.slots[slot_idx].is_pausing = true;
        let entry = opcode::AsyncCancel::new(RingOperation::Receive.user_data(slot_idx)).build();
        // SAFETY: the entry refers to no memory.
        unsafe { self.push(entry, RingOperation::Pause, slot_idx) };
    }

    /// Records that the connection read bytes. A paused receive starts again once all are read.
    pub(super) fn was_read(&mut self, slot_idx: usize, bytes_count: usize) {
        let slot = &mut self.slots[slot_idx];
        slot.received.read(bytes_count, &mut self.pool);
        if slot.received.unread().is_empty() && !slot.is_receiving && slot.end.is_none() {
            self.receive(slot_idx);
        }
    }

    /// Queues bytes to be sent, in full, by the next turn of the ring or before.
    pub(super) fn send(&mut self, slot_idx: usize, bytes: Vec<u8>) {
        let slot = &mut self.slots[slot_idx];
        assert!(slot.outgoing.is_none(), "one answer is sent at a time");
        let bytes_count = u32::try_from(bytes.len()).expect("a joined answer is small");
        let entry = opcode::Send::new(slot.fd(), bytes.as_ptr(), bytes_count)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build();
        slot.outgoing = Some(bytes);
        // SAFETY: the bytes are in `outgoing`, which is not touched before the completion is taken,
        // and the slot is not removed before that (the ring's invariant).
        unsafe { self.push(entry, RingOperation::Send, slot_idx) };
        if RING_QUEUED_MAX <= self.uring.submission().len() {
            self.enter(0, EnterFlags::empty());
        }
    }

    /// Wakes the connection once its socket has room for bytes.
    pub(super) fn await_room(&mut self, slot_idx: usize) {
        let slot = &mut self.slots[slot_idx];
        if !slot.is_awaiting_room {
            slot.is_awaiting_room = true;
            let entry = opcode::PollAdd::new(slot.fd(), libc::POLLOUT as u32).build();
            // SAFETY: the entry refers to no memory.
            unsafe { self.push(entry, RingOperation::AwaitRoom, slot_idx) };
        }
    }

    /// Queues an entry; wakes the driving task if it is parked.
    ///
    /// # Safety
    ///
    /// Memory that the entry refers to must stay valid and unmoved until the entry's last
    /// completion has been taken (the ring's invariant).
    unsafe fn push(&mut self, entry: squeue::Entry, operation: RingOperation, slot_idx: usize) {
        let entry = entry.user_data(operation.user_data(slot_idx));
        // SAFETY: the caller keeps the memory of the entry valid until its last completion, as
        // `SubmissionQueue::push` demands.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.enter(0, EnterFlags::GETEVENTS);
            // Ends this connection. The driver ends the ring, and the worker falls back to epoll.
            assert!(!self.is_given_up(), "the kernel refuses the ring");
        }
        if let Some(parked_driver) = self.parked_driver.take() {
            parked_driver.wake();
        }
    }

    /// Arms the completion eventfd before parking. Returns true if the ring is idle; then the
    /// driving task may park.
    ///
    /// The order matters: arm, then look for work. A completion that arrives after the look signals
    /// the eventfd; one that arrives before it is seen by the look.
    fn arm_before_parking(&mut self, driving: &Waker) -> bool {
        self.uring.completion().enable_eventfd();
        // The kernel publishes work before it reads the flag of the eventfd; we write the flag
        // before we look for work. With a full barrier between both, one of the two sees the other.
        fence(Ordering::SeqCst);
        let is_idle = !self.has_work() && self.uring.completion().is_empty();
        if is_idle {
            self.parked_driver = Some(driving.clone());
        } else {
            self.disarm();
        }
        is_idle
    }

    /// Disarms the completion eventfd while the driving task turns the ring by itself: each signal
    /// would cost the worker a pass through epoll.
    ///
    /// Only on x86-64. The kernel has no barrier between its publishing of work and its reading of
    /// the flag; there the processor keeps that order by itself.
    fn disarm(&mut self) {
        let completions = self.uring.completion();
        if cfg!(target_arch = "x86_64") && !completions.eventfd_disabled() {
            completions.disable_eventfd();
        }
    }

    /// Submits queued entries and takes completions. Returns true if there were any, or if there is
    /// more to do.
    fn turn(&mut self) -> bool {
        if self.has_work() {
            self.enter(0, EnterFlags::GETEVENTS);
        }
        let mut is_any = false;
        while let Some(completion) = self.next_completion() {
            is_any = true;
            self.complete(&completion);
        }
        // Deferred work that the kernel began and did not finish signals no eventfd: turn again.
        is_any || self.has_work()
    }

    /// True if a system call would do something: submit, process deferred work, or flush an
    /// overflown completion queue.
    fn has_work(&mut self) -> bool {
        let queue = self.uring.submission();
        !queue.is_empty() || queue.taskrun() || queue.cq_overflow()
    }

    /// Submits queued entries and waits for `wanted` completions; with `GETEVENTS` deferred work is
    /// processed, too. Returns false if the call failed: then the entries stay queued.
    fn enter(&mut self, wanted: u32, flags: EnterFlags) -> bool {
        let queued = self.uring.submission().len();
        let queued = u32::try_from(queued).expect("a queue has 1024 entries");
        let submitter = self.uring.submitter();
        // SAFETY: the kernel reads no memory but that of the queued entries, which stays valid (the
        // ring's invariant): no signal mask is passed.
        let outcome =
            unsafe { submitter.enter::<libc::sigset_t>(queued, wanted, flags.bits(), None) };
        match outcome {
            Ok(_) => self.failures_count = 0,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.failures_count = 0,
            Err(error) => {
                if self.failures_count == 0 {
                    tracing::warn!(%error, "io_uring_enter failed; retrying");
                }
                self.failures_count += 1;
                // The kernel is short of something. Asking again at once would only take the
                // processor from the tasks that could free it.
                std::thread::sleep(FAILURE_PAUSE);
            }
        }
        self.failures_count == 0
    }

    /// True if the kernel has refused so often that the worker is better off with epoll.
    fn is_given_up(&self) -> bool {
        RING_FAILURES_MAX <= self.failures_count
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
            // The cancelled receive reports its end itself; the slot may be gone by now.
            RingOperation::Pause => return,
        }
        self.remove_if_idle(slot_idx);
    }

    fn received(&mut self, slot_idx: usize, completion: &cqueue::Entry) {
        let slot = &mut self.slots[slot_idx];
        let result = completion.result();
        if let Some(buffer_idx) = cqueue::buffer_select(completion.flags()) {
            if let (Ok(bytes_count), false) = (usize::try_from(result), slot.is_closed) {
                let bytes = self.buffers.read(buffer_idx, bytes_count);
                slot.received.add(bytes, &mut self.pool);
            }
            self.buffers.give(buffer_idx);
        }
        match -result {
            0 => slot.end = Some(0),
            // Neither ends the connection: buffers are free again after the turn, and a receive
            // that was paused starts again when its bytes have been read.
            libc::ENOBUFS | libc::ECANCELED => {}
            errno if errno > 0 => slot.end = Some(errno),
            _ => {}
        }
        slot.wake();
        slot.is_receiving = cqueue::more(completion.flags());
        slot.is_pausing &= slot.is_receiving;
        let is_full = slot.received.unread().len() >= RING_UNREAD_BYTES_MAX;
        if slot.is_receiving {
            if is_full && !slot.is_pausing {
                self.pause(slot_idx);
            }
        } else if !is_full && slot.end.is_none() && !slot.is_closed {
            self.receive(slot_idx);
        }
    }

    fn sent(&mut self, slot_idx: usize, result: i32) {
        let slot = &mut self.slots[slot_idx];
        let Some(bytes) = slot.outgoing.take() else {
            return;
        };
        if usize::try_from(result) != Ok(bytes.len()) {
            slot.send_error = Some(if result < 0 { -result } else { libc::EPIPE });
            // A connection that waits for its next request, not for this, learns of the failure by
            // the end of its receive.
            let _ = shutdown(&slot.socket, Shutdown::Both);
        } else if slot.state.phase() == ConnectionPhase::Sending {
            slot.state.wrote();
        }
        if slot.is_awaiting_sent {
            slot.is_awaiting_sent = false;
            // The task waited in order to send more: the client is not idle yet.
            slot.state.write_blocked();
            slot.wake();
        }
        self.pool.put_back(bytes);
    }
}

/// Ends this thread's ring when it is dropped.
struct TakeRing;

impl Drop for TakeRing {
    fn drop(&mut self) {
        drop(RING.take());
    }
}

impl Drop for Ring {
    /// Waits until the kernel is done with all memory that it was given. Operations on sockets that
    /// are shut down complete at once. If the kernel does not answer, the memory is leaked: after a
    /// free the kernel could still read or write it.
    fn drop(&mut self) {
        for (_, slot) in &mut self.slots {
            slot.is_closed = true;
            let _ = shutdown(&slot.socket, Shutdown::Both);
        }
        self.slots.retain(|_, slot| !slot.is_idle());
        let mut failures_count = 0;
        while !self.slots.is_empty() && failures_count < RING_FAILURES_MAX {
            failures_count = if self.enter(1, EnterFlags::GETEVENTS) {
                0
            } else {
                failures_count + 1
            };
            while let Some(completion) = self.next_completion() {
                self.complete(&completion);
            }
        }
        if !self.slots.is_empty() {
            tracing::error!("a ring ends with operations in flight; leaking their memory");
            std::mem::forget(std::mem::take(&mut self.slots));
            self.buffers.leak();
        }
    }
}

/// Drives this thread's ring: turns it after the tasks that the turn before has woken, and parks
/// when it is idle.
async fn drive(eventfd: AsyncFd<Arc<OwnedFd>>) -> io::Error {
    poll_fn(|context| {
        with_ring(Ring::disarm);
        loop {
            let is_busy = with_ring(Ring::turn);
            if with_ring(|ring| ring.is_given_up()) {
                return Poll::Ready(io::Error::other("the kernel refuses the ring"));
            }
            if is_busy {
                // To the end of the run queue, behind the tasks just woken. `yield_now` would pass
                // through epoll first.
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match eventfd.poll_read_ready(context) {
                // The eventfd is never read: registered edge-triggered, it reports each signal.
                Poll::Ready(Ok(mut signal)) => signal.clear_ready(),
                Poll::Ready(Err(error)) => return Poll::Ready(error),
                Poll::Pending if with_ring(|ring| ring.arm_before_parking(context.waker())) => {
                    return Poll::Pending;
                }
                // A completion arrived in between: turn again.
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

    /// A ring with a kernel that refuses for good neither takes the processor nor lasts for ever.
    #[test]
    fn a_ring_that_the_kernel_refuses_is_given_up() {
        let Ok(mut ring) = Ring::new() else {
            return;
        };
        let (socket, _peer) = UnixStream::pair().unwrap();
        let state = Arc::new(ConnectionState::new(Arc::new(Heartbeat::default())));
        ring.open(Arc::new(OwnedFd::from(socket)), state);
        // Every call fails from now on: the descriptor of the ring is another file's.
        let other = std::fs::File::open("/dev/null").unwrap();
        // SAFETY: both descriptors are open, and the ring stays the owner of its own.
        let replaced = unsafe { libc::dup2(other.as_raw_fd(), ring.uring.as_raw_fd()) };
        assert_ne!(replaced, -1);
        let ended = ring.run(std::future::pending::<io::Result<()>>());
        assert!(ended.unwrap_err().to_string().contains("refuses"));
        assert!(!is_here());
    }

    /// More entries than the queue holds are submitted in between, and none is lost.
    #[test]
    fn a_full_queue_is_submitted() {
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
