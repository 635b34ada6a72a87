//! One connection: what it is doing, since when, and when that has been too long.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use super::body::Sending;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// Waiting for a request.
    Idle = 0,
    /// Reading a request that has begun.
    Receiving = 1,
    /// Waiting for our answer.
    Answering = 2,
    /// Waiting until the client takes what we send.
    Sending = 3,
    /// Over; waiting for the client's end of it.
    Lingering = 4,
}

impl ConnectionPhase {
    /// Seconds for which it may do that without progress (API.md, connections).
    const fn seconds_max(self) -> u32 {
        match self {
            Self::Idle => 75,
            Self::Receiving => 10,
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
            _ => Self::Lingering,
        }
    }
}

/// What the connections of a worker read.
#[derive(Default)]
pub(super) struct Heartbeat {
    /// Seconds of the worker.
    pub(super) second: AtomicU32,
    /// Whether it was told to stop.
    pub(super) is_stopping: AtomicBool,
}

/// What came behind the end of a head: a body, and the beginning of the next request. An end that
/// stands within a body counts too: then fewer bytes are known, and the longer time holds.
#[derive(Clone, Copy)]
struct Tail {
    bytes_count: u64,
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

/// State of a connection that its socket, its service and its worker's sweep share. All of them
/// are on one thread: the atomics are never contended.
pub(super) struct ConnectionState {
    /// What it does in the upper half, since which second of the worker in the lower.
    phase_since: AtomicU64,
    /// The bytes read since the last head ended, and the last three of them.
    tail: AtomicU64,
    is_over: AtomicBool,
    /// Whether `sending` is to be looked at: no lock is taken for answers from memory.
    is_sending_file: AtomicBool,
    /// Whether there are `lines`.
    has_raw_headers: AtomicBool,
    /// Whether hyper may leave without waiting for what it wrote.
    may_leave: AtomicBool,
    heartbeat: Arc<Heartbeat>,
    raw_headers: Mutex<Bytes>,
    waker: Mutex<Option<Waker>>,
    sending: Mutex<Option<Sending>>,
}

impl ConnectionState {
    /// A new, idle connection of a worker with this heartbeat.
    pub(super) fn new(heartbeat: Arc<Heartbeat>) -> Self {
        let state = Self {
            phase_since: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            is_sending_file: AtomicBool::new(false),
            has_raw_headers: AtomicBool::new(false),
            may_leave: AtomicBool::new(false),
            heartbeat,
            raw_headers: Mutex::new(Bytes::new()),
            waker: Mutex::new(None),
            sending: Mutex::new(None),
        };
        state.enter(ConnectionPhase::Idle);
        state
    }

    fn enter(&self, phase: ConnectionPhase) {
        let second = u64::from(self.heartbeat.second.load(Ordering::Relaxed));
        let word = ((phase as u64) << 32) | second;
        self.phase_since.store(word, Ordering::Relaxed);
    }

    /// Whether its worker was told to stop.
    pub(super) fn is_stopping(&self) -> bool {
        self.heartbeat.is_stopping.load(Ordering::Relaxed)
    }

    /// What it is doing.
    pub(super) fn phase(&self) -> ConnectionPhase {
        ConnectionPhase::of(self.phase_since.load(Ordering::Relaxed) >> 32)
    }

    /// Bytes came: the first of them begin a request. Cost: most reads end with a head, which is
    /// told by their last bytes.
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

    /// The head of a request is complete.
    pub(super) fn head_received(&self, has_body: bool) {
        self.enter(if has_body {
            ConnectionPhase::Receiving
        } else {
            ConnectionPhase::Answering
        });
    }

    /// The body of a request, of so many bytes, is complete.
    pub(super) fn body_received(&self, body_bytes: u64) {
        let tail = Tail::of(self.tail.load(Ordering::Relaxed)).without(body_bytes);
        self.tail.store(tail.word(), Ordering::Relaxed);
        self.enter(ConnectionPhase::Answering);
    }

    /// The client took bytes: it waits for nothing more, or has begun the next request already.
    /// Who was told to go on with a body has taken no answer yet.
    pub(super) fn wrote(&self) {
        if self.phase() == ConnectionPhase::Receiving {
            return;
        }
        let is_next_begun = Tail::of(self.tail.load(Ordering::Relaxed)).bytes_count != 0;
        self.enter(if is_next_begun {
            ConnectionPhase::Receiving
        } else {
            ConnectionPhase::Idle
        });
    }

    /// An answer is on its way to the client. Who was told to go on with a body goes on with it.
    pub(super) fn answer_queued(&self) {
        if self.phase() != ConnectionPhase::Receiving {
            self.enter(ConnectionPhase::Sending);
        }
    }

    /// The client takes no bytes at the moment.
    pub(super) fn write_blocked(&self) {
        if self.phase() != ConnectionPhase::Sending {
            self.enter(ConnectionPhase::Sending);
        }
    }

    /// We have said all.
    pub(super) fn linger(&self) {
        if self.phase() != ConnectionPhase::Lingering {
            self.enter(ConnectionPhase::Lingering);
        }
    }

    /// Whether it has done what it does for too long.
    pub(super) fn is_overdue(&self) -> bool {
        let word = self.phase_since.load(Ordering::Relaxed);
        let since = u32::try_from(word & u64::from(u32::MAX)).expect("32 bits are left");
        let age_seconds = self
            .heartbeat
            .second
            .load(Ordering::Relaxed)
            .wrapping_sub(since);
        ConnectionPhase::of(word >> 32).seconds_max() < age_seconds
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }

    /// The client asked for another protocol: hyper leaves such a connection without shutting it
    /// down.
    pub(super) fn upgrade_asked(&self) {
        self.may_leave.store(true, Ordering::Relaxed);
    }

    /// Whether hyper may leave as soon as everything is flushed.
    pub(super) fn may_leave(&self) -> bool {
        self.may_leave.load(Ordering::Relaxed)
    }

    /// These lines belong to the head that is written next.
    pub(super) fn put_raw_headers(&self, raw_headers: Bytes) {
        *self.raw_headers.lock() = raw_headers;
        self.has_raw_headers.store(true, Ordering::Relaxed);
    }

    /// The lines of the head that is written now, once.
    pub(super) fn take_raw_headers(&self) -> Option<Bytes> {
        if !self.has_raw_headers.load(Ordering::Relaxed) {
            return None;
        }
        self.has_raw_headers.store(false, Ordering::Relaxed);
        Some(std::mem::take(&mut *self.raw_headers.lock()))
    }

    /// From now on the addresses of this file mean its bytes.
    pub(super) fn send(&self, sending: Sending) {
        *self.sending.lock() = Some(sending);
        self.is_sending_file.store(true, Ordering::Relaxed);
    }

    /// What is sent from now on is in memory.
    pub(super) fn send_memory(&self) {
        if self.is_sending_file.load(Ordering::Relaxed) {
            self.is_sending_file.store(false, Ordering::Relaxed);
            *self.sending.lock() = None;
        }
    }

    /// Whether what is sent now is a file.
    pub(super) fn is_sending_file(&self) -> bool {
        self.is_sending_file.load(Ordering::Relaxed)
    }

    /// The file that is being sent.
    pub(super) fn sending(&self) -> Option<MutexGuard<'_, Option<Sending>>> {
        self.is_sending_file().then(|| self.sending.lock())
    }
}

/// A connection's task: ends when the connection does, or when it is cut.
pub(super) struct ConnectionTask<C, P> {
    connection: C,
    state: Arc<ConnectionState>,
    has_waker: bool,
    _permit: P,
}

impl<C, P> ConnectionTask<C, P> {
    /// `permit` is kept as long as the connection.
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
            // A task keeps its waker for life.
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
    fn each_state_has_its_time() {
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
        assert!(state.is_overdue(), "a trickling header is cut");

        let state = ConnectionState::new(Arc::clone(&heartbeat));
        for _ in 0..100 {
            state.write_blocked();
            heartbeat.second.fetch_add(1, Ordering::Relaxed);
            state.wrote();
        }
        state.write_blocked();
        assert!(!state.is_overdue(), "a slow reader that reads is served");
    }

    /// Reads, then answers a request with a body of so many bytes.
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
    fn who_is_told_to_go_on_has_the_time_of_a_header() {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        state.read(b"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n");
        state.head_received(true);
        heartbeat.second.fetch_add(6, Ordering::Relaxed);
        state.wrote();
        assert_eq!(state.phase(), ConnectionPhase::Receiving);
        heartbeat.second.fetch_add(5, Ordering::Relaxed);
        assert!(state.is_overdue());
    }

    #[test]
    fn our_own_work_is_never_overdue() {
        let heartbeat = Arc::new(Heartbeat::default());
        let state = ConnectionState::new(Arc::clone(&heartbeat));
        state.head_received(false);
        heartbeat.second.fetch_add(1_000_000, Ordering::Relaxed);
        assert!(!state.is_overdue());
    }
}
