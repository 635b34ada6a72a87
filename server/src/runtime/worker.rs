//! One worker: a thread, a runtime, a listener, and its connections.

use std::future::Future;
use std::io::{self, Write};
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Context;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::connection::{ConnectionPhase, ConnectionState, ConnectionTask, Heartbeat};
use super::connection_io::ConnectionIo;
use super::connection_limiter::{ConnectionLimiter, ConnectionPermit};
use super::handler::Handler;
use super::heap;
use super::http_connection::{ConnectionService, HttpConnection};
use super::listener::{ConnectionEnds, Listener};
use super::transport::Transport;
use crate::limits::{
    IDLE_SCAN_MAX, IDLE_TICKS_MIN, PARTIAL_HEAD_BYTES_MAX, PARTIAL_REQUESTS_BYTES_MAX,
    REJECTED_CONNECTIONS_MAX, RELEASES_PER_TICK_MAX, RELEASES_TO_TRIM_MIN,
};

/// Pause of accepting when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Time in which connections of a stopping worker may still send a request. Each gets an answer
/// with `Connection: close`, so that none is closed while its next request is in transit.
const KEEPALIVE_DRAIN: Duration = Duration::from_millis(1000);
/// Poll interval of a stopping worker for the end of its connections.
const STOP_POLL: Duration = Duration::from_millis(10);

/// Command to a running worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerCommand {
    /// Accept and serve connections.
    Serve,
    /// Stop within this grace period.
    Stop(Duration),
}

/// Parts of a worker before its thread runs. The supervisor clones them to restart a worker that
/// failed.
pub(super) struct Worker<H> {
    /// Handler of the worker's requests; only this worker uses it.
    pub(super) handler: Arc<H>,
    /// Limits of connections of all workers, asked for a permit for each new connection.
    pub(super) limiter: Arc<ConnectionLimiter>,
    /// Receives the stop, which ends the accept loop; the supervisor reads it before a restart.
    pub(super) commands: watch::Receiver<WorkerCommand>,
}

impl<H> Clone for Worker<H> {
    fn clone(&self) -> Self {
        Self {
            handler: Arc::clone(&self.handler),
            limiter: Arc::clone(&self.limiter),
            commands: self.commands.clone(),
        }
    }
}

/// State that the tasks of a worker share: the accept loop, the ticker and the connections.
struct WorkerTasks<H> {
    /// Handler of all requests of this worker; shared with the connection tasks.
    handler: Arc<H>,
    /// Gives permits to new connections, and counts those that the sweep or a stop aborts.
    limiter: Arc<ConnectionLimiter>,
    /// All connections. The sweep examines them every second, and a stop until they have ended.
    /// Weak: a connection lives as long as its task.
    connections: Mutex<Vec<Weak<ConnectionState>>>,
    /// Seconds and stop flag of the worker. The ticker and [`Worker::run`] write it, every
    /// connection reads it: so the worker needs no timer for each connection.
    heartbeat: Arc<Heartbeat>,
    /// Permit of rejected connections in lingering close. Each holds a clone, so the reference
    /// count bounds them at [`REJECTED_CONNECTIONS_MAX`].
    rejected: Arc<()>,
    /// Index in `connections` where the next search for an idle one begins, so that each search
    /// examines other connections.
    idle_scan_idx: AtomicUsize,
    /// Connections that have released hyper's buffers since the heap was trimmed last. The sweep
    /// adds to it and decides about the next trim.
    released_count: AtomicUsize,
}

impl<H: Handler> Worker<H> {
    /// Serves until a command to stop. Runs inside a current-thread runtime.
    pub(super) async fn run(mut self, listener: std::net::TcpListener) -> io::Result<()> {
        let listener = Listener::new(listener)?;
        let tasks = Arc::new(WorkerTasks {
            handler: self.handler,
            limiter: self.limiter,
            connections: Mutex::default(),
            heartbeat: Arc::default(),
            rejected: Arc::default(),
            idle_scan_idx: AtomicUsize::new(0),
            released_count: AtomicUsize::new(0),
        });
        let mut ticking = tokio::spawn(tick(Arc::clone(&tasks)));
        let grace = tokio::select! {
            () = accept(&tasks, &listener) => Duration::ZERO,
            // Without the timer no deadline passes.
            ended = &mut ticking => {
                return Err(ended.map_or_else(io::Error::other, |()| {
                    io::Error::other("the worker's timer has ended")
                }));
            }
            grace = stop_command(&mut self.commands) => grace,
        };
        tasks.heartbeat.is_stopping.store(true, Ordering::Relaxed);
        // To their clients, connections in the listener's queue are established: to drop them would
        // reset requests that may have been sent already.
        while let Some(Ok((stream, ends))) = at_once(listener.accept()).await {
            enter(&tasks, stream, ends);
        }
        drop(listener);
        finish(&tasks, grace).await;
        ticking.abort();
        tasks.handler.tick();
        Ok(())
    }
}

async fn stop_command(commands: &mut watch::Receiver<WorkerCommand>) -> Duration {
    let is_stop = |command: &WorkerCommand| matches!(command, WorkerCommand::Stop(_));
    match commands.wait_for(is_stop).await.as_deref() {
        Ok(WorkerCommand::Stop(grace)) => *grace,
        Ok(WorkerCommand::Serve) | Err(_) => Duration::ZERO,
    }
}

/// Polls a future once; returns its result if it is ready.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = std::future::ready(()) => None,
    }
}

async fn accept<H: Handler>(tasks: &Arc<WorkerTasks<H>>, listener: &Listener) {
    loop {
        match listener.accept().await {
            Ok((stream, ends)) => enter(tasks, stream, ends),
            Err(error) if is_connection_error(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections; trying again shortly");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// True if an error of `accept` concerns one connection, which is gone already.
fn is_connection_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn enter<H: Handler>(tasks: &Arc<WorkerTasks<H>>, stream: TcpStream, ends: ConnectionEnds) {
    let make_room = || tasks.end_idle();
    let Some(permit) = tasks.limiter.admit(ends.peer.ip(), make_room) else {
        let response = tasks.handler.reject(ends.peer);
        // The response fits into the send buffer of a new socket. hyper never sees this connection:
        // a flood of them must cost little.
        let is_sent = (&stream).write(&response).is_ok();
        let permit = Arc::clone(&tasks.rejected);
        if is_sent
            && Arc::strong_count(&permit) <= REJECTED_CONNECTIONS_MAX
            && let Ok(stream) = tokio::net::TcpStream::from_std(stream)
        {
            let state = tasks.new_state();
            let closing = Box::pin(linger_close(stream, Arc::clone(&state)));
            tokio::spawn(ConnectionTask::new(closing, state, permit));
        }
        return;
    };
    let state = tasks.new_state();
    let transport = match Transport::new(stream, &state) {
        Ok(transport) => transport,
        Err(error) => {
            tracing::warn!(%error, "a connection could not be registered with the event loop");
            return;
        }
    };
    let service = ConnectionService::new(tasks.handler.connect(ends), &tasks.handler, &state);
    let io = ConnectionIo::new(transport, Arc::clone(&state));
    tokio::spawn(ConnectionTask::<_, ConnectionPermit>::new(
        HttpConnection::new(io, service),
        state,
        permit,
    ));
}

/// Lingering close of a rejected connection.
async fn linger_close(stream: tokio::net::TcpStream, state: Arc<ConnectionState>) {
    let mut socket = ConnectionIo::new(Transport::Readiness(stream), state);
    let shut_down =
        |context: &mut Context<'_>| hyper::rt::Write::poll_shutdown(Pin::new(&mut socket), context);
    drop(std::future::poll_fn(shut_down).await);
}

async fn tick<H: Handler>(tasks: Arc<WorkerTasks<H>>) {
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    // After a stall each second is counted by itself: deadlines must not pass in a burst.
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        tasks.heartbeat.second.fetch_add(1, Ordering::Relaxed);
        tasks.sweep();
        tasks.handler.tick();
    }
}

impl<H> WorkerTasks<H> {
    /// State of a new connection, which the sweep follows from now on.
    fn new_state(&self) -> Arc<ConnectionState> {
        let state = Arc::new(ConnectionState::new(Arc::clone(&self.heartbeat)));
        self.connections.lock().push(Arc::downgrade(&state));
        state
    }

    /// Ends the connection that has been idle for longest, among up to [`IDLE_SCAN_MAX`] of this
    /// worker. Returns false if none is idle. Clients expect this: a connection may end between two
    /// requests at any time. A connection in use is idle for a moment, too, and stays.
    fn end_idle(&self) -> bool {
        let connections = self.connections.lock();
        let from = self.idle_scan_idx.load(Ordering::Relaxed) % connections.len().max(1);
        let in_turn = connections[from..].iter().chain(&connections[..from]);
        let mut oldest: Option<Arc<ConnectionState>> = None;
        for connection in in_turn.take(IDLE_SCAN_MAX) {
            let Some(state) = connection.upgrade() else {
                continue;
            };
            let is_older = |oldest: &Arc<ConnectionState>| oldest.idle_for() < state.idle_for();
            let is_unused = state
                .idle_for()
                .is_some_and(|ticks| IDLE_TICKS_MIN <= ticks);
            if is_unused && oldest.as_ref().is_none_or(is_older) {
                oldest = Some(state);
            }
        }
        let next = from + connections.len().min(IDLE_SCAN_MAX);
        self.idle_scan_idx.store(next, Ordering::Relaxed);
        if let Some(state) = &oldest {
            state.abort();
        }
        oldest.is_some()
    }

    /// Forgets connections that have ended, aborts those past their deadline, and has others
    /// release memory that they do not use.
    ///
    /// Cost: one pass a second over all connections of the worker, a few nanoseconds each; a timer
    /// per connection would be reset on every read and write.
    fn sweep(&self) {
        let (mut aborted_count, mut released_count, mut partial_bytes) = (0, 0, 0);
        let mut connections = self.connections.lock();
        connections.retain(|connection| {
            let Some(state) = connection.upgrade() else {
                return false;
            };
            let is_overdue = state.is_overdue();
            if is_overdue {
                state.abort();
                aborted_count += 1;
            } else if released_count < RELEASES_PER_TICK_MAX && state.release_buffers() {
                released_count += 1;
            }
            partial_bytes += state.partial_bytes();
            !is_overdue
        });
        if PARTIAL_REQUESTS_BYTES_MAX < partial_bytes {
            aborted_count += abort_large(&connections);
        }
        drop(connections);
        self.limiter.count_aborted(aborted_count);
        self.trim_after(released_count);
    }

    /// Gives free memory back to the system, by another thread, once many connections have released
    /// theirs and no more do. Otherwise the allocator would keep it, because it lies between blocks
    /// in use.
    fn trim_after(&self, released_now: usize) {
        let released_count = self.released_count.load(Ordering::Relaxed) + released_now;
        let is_due = released_now == 0 && RELEASES_TO_TRIM_MIN <= released_count;
        let left_count = if is_due { 0 } else { released_count };
        self.released_count.store(left_count, Ordering::Relaxed);
        if is_due {
            tokio::task::spawn_blocking(heap::trim);
        }
    }

    /// Connections with a request that is not completely answered.
    fn unfinished_count(&self) -> u64 {
        let connections = self.connections.lock();
        let phases = connections
            .iter()
            .filter_map(|c| Some(c.upgrade()?.phase()));
        let is_unfinished =
            |phase| matches!(phase, ConnectionPhase::Answering | ConnectionPhase::Sending);
        phases.filter(|phase| is_unfinished(*phase)).count() as u64
    }

    /// Aborts connections in certain phases. Returns true if any connections are left.
    fn abort(&self, is_aborted: impl Fn(ConnectionPhase) -> bool) -> bool {
        let mut connections = self.connections.lock();
        connections.retain(|connection| {
            let Some(state) = connection.upgrade() else {
                return false;
            };
            if is_aborted(state.phase()) {
                state.abort();
            }
            true
        });
        !connections.is_empty()
    }
}

/// Aborts connections with much of a request that is not complete. Returns their number.
fn abort_large(connections: &[Weak<ConnectionState>]) -> u64 {
    let mut aborted_count = 0;
    for state in connections.iter().filter_map(Weak::upgrade) {
        if PARTIAL_HEAD_BYTES_MAX as u64 <= state.partial_bytes() {
            state.abort();
            aborted_count += 1;
        }
    }
    aborted_count
}

/// Ends the connections of a stopping worker, in three steps: at first each ends with its next
/// answer; then those that wait for nothing are closed; after the grace period, all.
async fn finish<H>(tasks: &WorkerTasks<H>, grace: Duration) {
    let started = tokio::time::Instant::now();
    while tasks.abort(|_| false) && started.elapsed() < KEEPALIVE_DRAIN.min(grace) {
        tokio::time::sleep(STOP_POLL).await;
    }
    // In any other phase the client waits for the answer to a request.
    let is_silent = |phase| matches!(phase, ConnectionPhase::Idle | ConnectionPhase::Lingering);
    while tasks.abort(is_silent) && started.elapsed() < grace {
        tokio::time::sleep(STOP_POLL).await;
    }
    tasks.limiter.count_unfinished(tasks.unfinished_count());
    tasks.abort(|_| true);
}

#[cfg(test)]
mod tests {
    use super::super::connection_limiter::ConnectionCounts;
    use super::*;
    use crate::config::Connections;

    fn tasks(counts: &Arc<ConnectionCounts>) -> WorkerTasks<()> {
        let limits = Connections {
            max: 1000,
            max_per_address: 1000,
        };
        WorkerTasks {
            handler: Arc::new(()),
            limiter: Arc::new(ConnectionLimiter::new(
                limits,
                Vec::new(),
                Arc::clone(counts),
            )),
            connections: Mutex::default(),
            heartbeat: Arc::default(),
            rejected: Arc::default(),
            idle_scan_idx: AtomicUsize::new(0),
            released_count: AtomicUsize::new(0),
        }
    }

    #[test]
    fn large_requests_end_when_those_that_are_not_complete_take_too_much() {
        const LARGE: usize = 64 << 10;
        let many_count = usize::try_from(PARTIAL_REQUESTS_BYTES_MAX).unwrap() / LARGE;
        for (large_count, aborted_count) in [(many_count - 1, 0), (many_count, many_count)] {
            let counts = Arc::default();
            let tasks = tasks(&counts);
            let receiving = |bytes_count: usize| {
                let state = tasks.new_state();
                state.read(&vec![b'x'; bytes_count]);
                state
            };
            let _small = receiving(PARTIAL_HEAD_BYTES_MAX - 1);
            let _large: Vec<_> = (0..large_count).map(|_| receiving(LARGE)).collect();
            // A complete request is answered.
            let answered = receiving(LARGE);
            answered.head_received(false);
            tasks.sweep();
            let cut_count = counts.cut.load(Ordering::Relaxed);
            assert_eq!(cut_count, aborted_count as u64);
        }
    }
}
