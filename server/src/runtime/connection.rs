//! One connection: its phase, and the deadline of that phase.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;

use super::outgoing::Outgoing;
use crate::limits::IDLE_TICKS_MIN;

/// Phase of a connection. Each has a deadline of its own.
///
/// ```text
///          first byte            head complete        body complete
///   Idle -------------> Receiving -----------> ReceivingBody -----> Answering
///    ^                      ^  |  no body                         ^     | answer queued,
///    |                      |  +----------------------------------+     | or socket full
///    |                      | client had begun the next request         v
///    +----------------------+-------------------------------------- Sending
///                             client took bytes                         | last answer sent,
///                                                                       v our side shut
///                                                                   Lingering -> closed
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// Waiting for a request.
    Idle = 0,
    /// Reading the head of a request.
    Receiving = 1,
    /// Waiting for the handler.
    Answering = 2,
    /// Waiting for the client to take what was sent.
    Sending = 3,
    /// Our side is shut down; waiting for the client to close its side.
    Lingering = 4,
    /// Reading the body of a request.
    ReceivingBody = 5,
}

impl ConnectionPhase {
    /// Deadline of the phase in seconds without progress (API.md, connections).
    const fn seconds_max(self) -> u32 {
        match self {
            Self::Idle => 75,
            Self::Receiving | Self::ReceivingBody => 10,
            Self::Answering => u32::MAX,
            Self::Sending => 30,
            Self::Lingering => 2,
        }
    }

    const fn of(number: u64) -> Self {
        match number {
            0 => Self::Idle,
            1 => Self::Receiving,
            2 => Self::Answering,
            3 => Self::Sending,
            4 => Self::Lingering,
            _ => Self::ReceivingBody,
        }
    }

    const fn is_receiving(self) -> bool {
        matches!(self, Self::Receiving | Self::ReceivingBody)
    }
}

/// Heartbeat of a worker, read by all of its connections: one counter instead of a timer for each
/// connection.
#[derive(Default)]
pub(super) struct Heartbeat {
    /// Seconds since the worker started.
    pub(super) second: AtomicU32,
    /// True once the worker stops. Written by the worker, read with each response: then the
    /// response closes its connection.
    pub(super) is_stopping: AtomicBool,
}

/// Bytes received after the end of the last head: a body, and the start of the next request.
///
/// An empty line within a body counts as the end of a head, too. Then fewer bytes are known than
/// there are, and the connection gets the longer deadline: never too short a time.
#[derive(Clone, Copy)]
struct Tail {
    bytes_count: u64,
    /// The last three bytes, for line ends that arrive in parts.
    last_three: u64,
}

impl Tail {
    const fn of(word: u64) -> Self {
        Self {
            bytes_count: word >> 24,
            last_three: word & 0xFF_FFFF,
        }
    }

    const fn word(self) -> u64 {
        (self.bytes_count << 24) | self.last_three
    }

    fn after(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            self.last_three = ((self.last_three << 8) | u64::from(*byte)) & 0xFF_FFFF;
            // hyper accepts bare line feeds, so both forms of an empty line end a head.
            let is_head_end = self.last_three == 0x0A_0D0A || self.last_three & 0xFFFF == 0x0A0A;
            self.bytes_count = if is_head_end { 0 } else { self.bytes_count + 1 };
        }
        self
    }

    const fn without(self, bytes_count: u64) -> Self {
        Self {
            bytes_count: self.bytes_count.saturating_sub(bytes_count),
            last_three: self.last_three,
        }
    }
}

/// State of a connection, shared by its socket, its hyper service and the sweep of its worker.
///
/// All of them run on one thread, so nothing here is ever contended. The atomics and locks are
/// there because `tokio::spawn` requires tasks that are `Send`. Relaxed loads and stores of a word
/// are plain moves on x86-64; the locks are taken for raw headers, for files, and by the sweep.
/// `spawn_local` would allow cells instead, but its `LocalSet` alone took 670 more instructions per
/// request (5.7 % of a cached search, `scripts/instructions`).
pub(super) struct ConnectionState {
    /// The phase in the upper half; in the lower one the second of the heartbeat at which it began.
    phase_since: AtomicU64,
    /// The [`Tail`] as a word.
    tail: AtomicU64,
    /// True once the connection is aborted. Its task reads this on every poll, and ends.
    is_over: AtomicBool,
    /// True from a request on until hyper's buffers are released.
    has_buffers: AtomicBool,
    /// True once the sweep has asked for the release of hyper's buffers.
    is_releasing: AtomicBool,
    /// Clock of the worker, for the age of a phase; and its stop, which responses announce.
    heartbeat: Arc<Heartbeat>,
    /// Raw headers, file and close of the response being sent.
    pub(super) outgoing: Outgoing,
    /// Waker of the connection's task, for the sweep that ends it.
    waker: Mutex<Option<Waker>>,
}

impl ConnectionState {
    /// State of a new, idle connection of the worker with this heartbeat.
    pub(super) fn new(heartbeat: Arc<Heartbeat>) -> Self {
        let state = Self {
            phase_since: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            has_buffers: AtomicBool::new(false),
            is_releasing: AtomicBool::new(false),
            heartbeat,
            outgoing: Outgoing::default(),
            waker: Mutex::new(None),
        };
        state.enter(ConnectionPhase::Idle);
        state
    }

    fn enter(&self, phase: ConnectionPhase) {
        let second = u64::from(self.heartbeat.second.load(Ordering::Relaxed));
        let word = ((phase as u64) << 32) | second;
        self.phase_since.store(word, Ordering::Relaxed);
    }

    /// True once the worker stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.heartbeat.is_stopping.load(Ordering::Relaxed)
    }

    /// The current phase.
    pub(super) fn phase(&self) -> ConnectionPhase {
        ConnectionPhase::of(self.phase_since.load(Ordering::Relaxed) >> 32)
    }

    /// Records that bytes were received. The first of them begin a request; later ones do not
    /// extend its deadline, or a client could send a byte at a time.
    ///
    /// Cost: a comparison of the last bytes for the usual read, which ends with a head.
    pub(super) fn read(&self, bytes: &[u8]) {
        if let [.., b'\n', b'\r', b'\n'] | [.., b'\n', b'\n'] = bytes {
            self.tail.store(0, Ordering::Relaxed);
        } else {
            let tail = Tail::of(self.tail.load(Ordering::Relaxed)).after(bytes);
            self.tail.store(tail.word(), Ordering::Relaxed);
        }
        if self.phase() == ConnectionPhase::Idle {
            self.enter(ConnectionPhase::Receiving);
        }
    }

    /// Records that the head of a request is complete.
    pub(super) fn head_received(&self, has_body: bool) {
        self.has_buffers.store(true, Ordering::Relaxed);
        self.enter(if has_body {
            ConnectionPhase::ReceivingBody
        } else {
            ConnectionPhase::Answering
        });
    }

    /// Records that the body of a request is complete.
    pub(super) fn body_received(&self, body_bytes: u64) {
        let tail = Tail::of(self.tail.load(Ordering::Relaxed)).without(body_bytes);
        self.tail.store(tail.word(), Ordering::Relaxed);
        self.enter(ConnectionPhase::Answering);
    }

    /// Records that the client took bytes: it now waits for nothing, or has begun the next request.
    pub(super) fn wrote(&self) {
        // A `100 Continue` is not the response: the client still sends its body.
        if self.phase().is_receiving() {
            return;
        }
        let is_next_begun = Tail::of(self.tail.load(Ordering::Relaxed)).bytes_count != 0;
        self.enter(if is_next_begun {
            ConnectionPhase::Receiving
        } else {
            ConnectionPhase::Idle
        });
    }

    /// Records that an answer is queued for the client (not a `100 Continue`, see
    /// [`ConnectionState::wrote`]).
    pub(super) fn answer_queued(&self) {
        if !self.phase().is_receiving() {
            self.enter(ConnectionPhase::Sending);
        }
    }

    /// Records that the socket's send buffer is full.
    pub(super) fn write_blocked(&self) {
        // Entered once: a client that takes no byte gets no new deadline.
        if self.phase() != ConnectionPhase::Sending {
            self.enter(ConnectionPhase::Sending);
        }
    }

    /// Records that our side has been shut down.
    pub(super) fn linger(&self) {
        if self.phase() != ConnectionPhase::Lingering {
            self.enter(ConnectionPhase::Lingering);
        }
    }

    /// True if the deadline of the current phase has passed.
    pub(super) fn is_overdue(&self) -> bool {
        let (phase, age_seconds) = self.phase_and_age();
        phase.seconds_max() < age_seconds
    }

    /// Seconds for which the connection has been waiting for a request; `None` if it is not, or
    /// has been aborted.
    pub(super) fn idle_for(&self) -> Option<u32> {
        let (phase, age_seconds) = self.phase_and_age();
        let is_idle = phase == ConnectionPhase::Idle && !self.is_over.load(Ordering::Relaxed);
        is_idle.then_some(age_seconds)
    }

    /// True if nothing is being answered or sent, and no body is being received: hyper has nothing
    /// but, perhaps, the beginning of a head.
    pub(super) fn is_between_requests(&self) -> bool {
        matches!(
            self.phase(),
            ConnectionPhase::Idle | ConnectionPhase::Receiving
        )
    }

    /// Asks a connection that has been between two requests for some ticks to release hyper's
    /// buffers. Returns false if it has none, or is in use.
    pub(super) fn release_buffers(&self) -> bool {
        let is_unused = self.is_between_requests() && IDLE_TICKS_MIN <= self.phase_and_age().1;
        let is_asked = is_unused && self.has_buffers.load(Ordering::Relaxed);
        if is_asked && let Some(waker) = &*self.waker.lock() {
            self.is_releasing.store(true, Ordering::Relaxed);
            waker.wake_by_ref();
        }
        is_asked
    }

    /// True if the connection was asked to release hyper's buffers.
    pub(super) fn is_releasing(&self) -> bool {
        self.is_releasing.load(Ordering::Relaxed)
    }

    /// Records that hyper's buffers have been released, or are needed.
    pub(super) fn buffers_released(&self) {
        self.is_releasing.store(false, Ordering::Relaxed);
        self.has_buffers.store(false, Ordering::Relaxed);
    }

    /// Bytes of a request that is not complete.
    pub(super) fn partial_bytes(&self) -> u64 {
        if self.phase().is_receiving() {
            Tail::of(self.tail.load(Ordering::Relaxed)).bytes_count
        } else {
            0
        }
    }

    fn phase_and_age(&self) -> (ConnectionPhase, u32) {
        let word = self.phase_since.load(Ordering::Relaxed);
        let since = u32::try_from(word & u64::from(u32::MAX)).expect("32 bits are left");
        let second = self.heartbeat.second.load(Ordering::Relaxed);
        (ConnectionPhase::of(word >> 32), second.wrapping_sub(since))
    }

    /// Closes the connection at once, whatever it is doing.
    pub(super) fn abort(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }
}

/// Task of a connection. Ends when the connection does, or when it is aborted.
pub(super) struct ConnectionTask<C, P> {
    /// The future that serves the connection.
    connection: C,
    state: Arc<ConnectionState>,
    /// True once `state` has the waker of this task, which stays the same.
    has_waker: bool,
    /// Held for its `Drop`: it gives the connection's share of the limits back.
    _permit: P,
}

impl<C, P> ConnectionTask<C, P> {
    /// A task that keeps `permit` until the connection is closed.
    pub(super) fn new(connection: C, state: Arc<ConnectionState>, permit: P) -> Self {
        Self {
            connection,
            state,
            has_waker: false,
            _permit: permit,
        }
    }
}

impl<C: Future + Unpin, P: Unpin> Future for ConnectionTask<C, P> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.state.is_over.load(Ordering::Relaxed) {
            return Poll::Ready(());
        }
        if !self.has_waker {
            // Once is enough: a task keeps its waker for life.
            *self.state.waker.lock() = Some(context.waker().clone());
            self.has_waker = true;
        }
        Pin::new(&mut self.connection).poll(context).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(steps: impl Fn(&ConnectionState), allowed_seconds: u32) {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        steps(&state);
        heartbeat
            .second
            .fetch_add(allowed_seconds, Ordering::Relaxed);
        assert!(!state.is_overdue());
        heartbeat.second.fetch_add(1, Ordering::Relaxed);
        assert!(state.is_overdue());
    }

    #[test]
    fn each_phase_has_its_deadline() {
        check(|_| {}, 75);
        check(|state| state.read(b"G"), 10);
        check(|state| state.head_received(true), 10);
        check(ConnectionState::write_blocked, 30);
        check(ConnectionState::linger, 2);
        check(
            |state| {
                state.head_received(false);
                state.wrote();
            },
            75,
        );
    }

    #[test]
    fn time_runs_from_the_first_byte_and_from_the_last_progress() {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        for _ in 0..11 {
            state.read(b"x");
            heartbeat.second.fetch_add(1, Ordering::Relaxed);
        }
        assert!(state.is_overdue(), "a header that trickles in is too late");

        let state = ConnectionState::new(Arc::clone(&heartbeat));
        for _ in 0..100 {
            state.write_blocked();
            heartbeat.second.fetch_add(1, Ordering::Relaxed);
            state.wrote();
        }
        state.write_blocked();
        assert!(!state.is_overdue(), "a slow reader that reads is served");
    }

    /// Receives `reads`, then answers a request with a body of `body_bytes`.
    fn exchange(state: &ConnectionState, reads: &[&str], body_bytes: u64) {
        for bytes in reads {
            state.read(bytes.as_bytes());
        }
        state.head_received(body_bytes != 0);
        if body_bytes != 0 {
            state.body_received(body_bytes);
        }
        state.wrote();
    }

    #[test]
    fn a_request_that_came_in_part_with_the_one_before_has_begun() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
        let complete: [(&[&str], u64); 8] = [
            (&[get], 0),
            (&[get, get], 0),
            (&["GET / HTTP/1.1\nHost: a\n\n"], 0),
            (&["GET / HTTP/1.1\r\n", "Host: a\r\n", "\r\n"], 0),
            (&["GET / HTTP/1.1\r\nHost: a\r\n\r", "\n"], 0),
            (&[post, "abc"], 3),
            (&[post, "a", "bc"], 3),
            (&[&[post, "abc"].concat()], 3),
        ];
        for (reads, body_bytes) in complete {
            check(|state| exchange(state, reads, body_bytes), 75);
            let more = [reads, &["GET /"]].concat();
            check(|state| exchange(state, &more, body_bytes), 10);
            let joined = more.concat();
            check(|state| exchange(state, &[&joined], body_bytes), 10);
            let next = [reads, &["GET / HT", "TP/1.1\r\nHost: a\r\n\r\n"]].concat();
            check(
                |state| {
                    exchange(state, &more, body_bytes);
                    exchange(state, &next, body_bytes);
                },
                75,
            );
        }
    }

    #[test]
    fn a_client_that_may_continue_keeps_the_deadline_of_its_request() {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        state.read(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n");
        state.head_received(true);
        heartbeat.second.fetch_add(6, Ordering::Relaxed);
        state.wrote();
        assert_eq!(state.phase(), ConnectionPhase::ReceivingBody);
        heartbeat.second.fetch_add(5, Ordering::Relaxed);
        assert!(state.is_overdue());
    }

    #[test]
    fn the_handler_has_no_deadline() {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        state.head_received(false);
        heartbeat.second.fetch_add(1_000_000, Ordering::Relaxed);
        assert!(!state.is_overdue());
    }

    #[test]
    fn buffers_are_asked_for_once_a_connection_is_between_two_requests() {
        let asked = |steps: &[&dyn Fn(&ConnectionState)], ticks: u32| {
            let heartbeat = Arc::new(Heartbeat::default());
            let state = ConnectionState::new(Arc::clone(&heartbeat));
            steps.iter().for_each(|step| step(&state));
            heartbeat.second.fetch_add(ticks, Ordering::Relaxed);
            state.release_buffers()
        };
        let get = |state: &ConnectionState| state.head_received(false);
        let post = |state: &ConnectionState| state.head_received(true);
        let wrote = ConnectionState::wrote;
        let begun = |state: &ConnectionState| state.read(b"GET /");
        assert!(asked(&[&get, &wrote], IDLE_TICKS_MIN));
        assert!(asked(&[&get, &wrote, &begun], IDLE_TICKS_MIN));
        assert!(!asked(&[&get, &wrote], IDLE_TICKS_MIN - 1), "it is in use");
        assert!(!asked(&[&get], 9), "the handler answers");
        assert!(!asked(&[&post], 9), "hyper reads a body");
        let blocked = ConnectionState::write_blocked;
        assert!(!asked(&[&get, &blocked], 9), "hyper has an answer");
        assert!(!asked(&[], 9), "it has none");
        let released = ConnectionState::buffers_released;
        assert!(!asked(&[&get, &wrote, &released], 9), "it has none");
    }
}
