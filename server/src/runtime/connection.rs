//! One connection: what it is doing, since when, and when that has been too long.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use parking_lot::{Mutex, MutexGuard};

use super::body::Sending;

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
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

impl Doing {
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

/// State of a connection that its socket, its service and its worker's sweep share. All of them
/// are on one thread: the atomics are never contended.
pub(super) struct ConnectionState {
    /// What it does in the upper half, since which second of the worker in the lower.
    doing_since: AtomicU64,
    is_over: AtomicBool,
    second: Arc<AtomicU32>,
    waker: Mutex<Option<Waker>>,
    sending: Mutex<Option<Sending>>,
}

impl ConnectionState {
    /// A new, idle connection of a worker that counts its seconds in `second`.
    pub(super) fn new(second: Arc<AtomicU32>) -> Self {
        let state = Self {
            doing_since: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            second,
            waker: Mutex::new(None),
            sending: Mutex::new(None),
        };
        state.enter(Doing::Idle);
        state
    }

    fn enter(&self, doing: Doing) {
        let second = u64::from(self.second.load(Ordering::Relaxed));
        let word = ((doing as u64) << 32) | second;
        self.doing_since.store(word, Ordering::Relaxed);
    }

    /// What it is doing.
    pub(super) fn doing(&self) -> Doing {
        Doing::of(self.doing_since.load(Ordering::Relaxed) >> 32)
    }

    /// Bytes came: the first of them begin a request.
    pub(super) fn read(&self) {
        if self.doing() == Doing::Idle {
            self.enter(Doing::Receiving);
        }
    }

    /// The head of a request is complete.
    pub(super) fn head_received(&self, has_body: bool) {
        self.enter(if has_body {
            Doing::Receiving
        } else {
            Doing::Answering
        });
    }

    /// The body of a request is complete.
    pub(super) fn body_received(&self) {
        self.enter(Doing::Answering);
    }

    /// The client took bytes.
    pub(super) fn wrote(&self) {
        self.enter(Doing::Idle);
    }

    /// The client takes no bytes at the moment.
    pub(super) fn write_blocked(&self) {
        if self.doing() != Doing::Sending {
            self.enter(Doing::Sending);
        }
    }

    /// We have said all.
    pub(super) fn linger(&self) {
        if self.doing() != Doing::Lingering {
            self.enter(Doing::Lingering);
        }
    }

    /// Whether it has done what it does for too long.
    pub(super) fn is_overdue(&self) -> bool {
        let word = self.doing_since.load(Ordering::Relaxed);
        let since = u32::try_from(word & u64::from(u32::MAX)).expect("32 bits are left");
        let age_seconds = self.second.load(Ordering::Relaxed).wrapping_sub(since);
        Doing::of(word >> 32).seconds_max() < age_seconds
    }

    /// Ends the connection at once.
    pub(super) fn cut(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.lock().take() {
            waker.wake();
        }
    }

    /// From now on the addresses of this file mean its bytes.
    pub(super) fn send(&self, sending: Sending) {
        *self.sending.lock() = Some(sending);
    }

    /// The file that is being sent.
    pub(super) fn sending(&self) -> MutexGuard<'_, Option<Sending>> {
        self.sending.lock()
    }
}

/// A connection's task: ends when the connection does, or when it is cut.
pub(super) struct ConnectionTask<C, P> {
    connection: C,
    state: Arc<ConnectionState>,
    has_waker: bool,
    _pass: P,
}

impl<C, P> ConnectionTask<C, P> {
    /// `pass` is kept as long as the connection.
    pub(super) fn new(connection: C, state: Arc<ConnectionState>, pass: P) -> Self {
        Self {
            connection,
            state,
            has_waker: false,
            _pass: pass,
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
        let second = Arc::new(AtomicU32::new(1000));
        let state = ConnectionState::new(Arc::clone(&second));
        steps(&state);
        second.fetch_add(allowed_seconds, Ordering::Relaxed);
        assert!(!state.is_overdue());
        second.fetch_add(1, Ordering::Relaxed);
        assert!(state.is_overdue());
    }

    #[test]
    fn each_state_has_its_time() {
        check(|_| {}, 75);
        check(ConnectionState::read, 10);
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
        let second = Arc::new(AtomicU32::new(0));
        let state = ConnectionState::new(Arc::clone(&second));
        for _ in 0..11 {
            state.read();
            second.fetch_add(1, Ordering::Relaxed);
        }
        assert!(state.is_overdue(), "a trickling header is cut");

        let state = ConnectionState::new(Arc::clone(&second));
        for _ in 0..100 {
            state.write_blocked();
            second.fetch_add(1, Ordering::Relaxed);
            state.wrote();
        }
        state.write_blocked();
        assert!(!state.is_overdue(), "a slow reader that reads is served");
    }

    #[test]
    fn our_own_work_is_never_overdue() {
        let second = Arc::new(AtomicU32::new(0));
        let state = ConnectionState::new(Arc::clone(&second));
        state.head_received(false);
        second.fetch_add(1_000_000, Ordering::Relaxed);
        assert!(!state.is_overdue());
    }
}
