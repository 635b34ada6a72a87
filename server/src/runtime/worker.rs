//! One worker: a thread, a runtime, a listener, and its connections.

use std::cell::RefCell;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::upgrade::OnUpgrade;
use parking_lot::Mutex;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::body::{OutgoingBody, RequestBody};
use super::connection::{ConnectionPhase, ConnectionState, ConnectionTask, Heartbeat};
use super::connection_io::ConnectionIo;
use super::connection_limiter::{ConnectionLimiter, ConnectionPermit};
use super::handler::{Handler, HandlerOutcome};
use super::transport::Transport;
use crate::limits::{CONNECTION_BUFFER_BYTES_MAX, REJECTED_CONNECTIONS_MAX};

/// How long accepting pauses when there are no file descriptors left.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(50);
/// How long connections may use their keep-alive after the worker was asked to stop: each gets an
/// answer that says `Connection: close`, so that none is closed while a request is on its way.
const KEEPALIVE_DRAIN: Duration = Duration::from_millis(1000);
/// How often a stopping worker looks whether its connections are done.
const STOP_POLL: Duration = Duration::from_millis(10);

/// What a worker is told while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WorkerCommand {
    /// Serve.
    Serve,
    /// Stop within this time.
    Stop(Duration),
}

/// What makes up one worker.
pub(super) struct Worker<H> {
    pub(super) handler: Arc<H>,
    pub(super) limiter: Arc<ConnectionLimiter>,
    pub(super) commands: watch::Receiver<WorkerCommand>,
}

/// What the tasks of a worker share.
struct Shared<H> {
    handler: Arc<H>,
    limiter: Arc<ConnectionLimiter>,
    connections: Mutex<Vec<Weak<ConnectionState>>>,
    heartbeat: Arc<Heartbeat>,
    /// Held by those who were turned away and are being seen off.
    rejected: Arc<()>,
}

impl<H: Handler> Worker<H> {
    /// Serves until it is told to stop. Runs inside a current-thread runtime.
    pub(super) async fn run(mut self, listener: std::net::TcpListener) -> io::Result<()> {
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(Shared {
            handler: self.handler,
            limiter: self.limiter,
            connections: Mutex::default(),
            heartbeat: Arc::default(),
            rejected: Arc::default(),
        });
        let ticking = tokio::spawn(tick(Arc::clone(&shared)));
        let grace = tokio::select! {
            () = accept(&shared, &listener) => Duration::ZERO,
            grace = stop_command(&mut self.commands) => grace,
        };
        shared.heartbeat.is_stopping.store(true, Ordering::Relaxed);
        // Who stands in the queue of the listener has a connection already.
        while let Some(Ok((stream, peer))) = at_once(listener.accept()).await {
            enter(&shared, stream, peer);
        }
        drop(listener);
        finish(&shared, grace).await;
        ticking.abort();
        shared.handler.tick();
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

/// The future's result if it has one without waiting.
async fn at_once<F: Future>(future: F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = std::future::ready(()) => None,
    }
}

async fn accept<H: Handler>(shared: &Arc<Shared<H>>, listener: &TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => enter(shared, stream, peer),
            Err(error) if is_of_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept connections: trying again shortly");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}

/// Whether an error of `accept` is that of a connection that is gone already.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}

fn enter<H: Handler>(shared: &Arc<Shared<H>>, stream: TcpStream, peer: SocketAddr) {
    let state = Arc::new(ConnectionState::new(Arc::clone(&shared.heartbeat)));
    shared.connections.lock().push(Arc::downgrade(&state));
    let Some(permit) = shared.limiter.admit(peer.ip()) else {
        let words = shared.handler.reject(peer);
        // The words fit into any send buffer; who does not take them at once goes without.
        let is_told = stream.try_write(&words).is_ok();
        let place = Arc::clone(&shared.rejected);
        if is_told && Arc::strong_count(&place) <= REJECTED_CONNECTIONS_MAX {
            let lingering = Box::pin(linger_close(stream, Arc::clone(&state)));
            tokio::spawn(ConnectionTask::new(lingering, state, place));
        }
        return;
    };
    let transport = match Transport::new(stream, &state) {
        Ok(transport) => transport,
        Err(error) => {
            tracing::warn!(%error, "a connection has no transport");
            return;
        }
    };
    let service = ConnectionService {
        memory: RefCell::new(shared.handler.connect(peer)),
        handler: Arc::clone(&shared.handler),
        state: Arc::clone(&state),
    };
    let connection = http1::Builder::new()
        .half_close(true)
        .max_buf_size(CONNECTION_BUFFER_BYTES_MAX)
        .header_read_timeout(None)
        .serve_connection(ConnectionIo::new(transport, Arc::clone(&state)), service);
    tokio::spawn(ConnectionTask::<_, ConnectionPermit>::new(
        connection, state, permit,
    ));
}

/// Waits until the client has seen our last words.
async fn linger_close(stream: TcpStream, state: Arc<ConnectionState>) {
    let mut socket = ConnectionIo::new(Transport::Readiness(stream), state);
    let shut_down =
        |context: &mut Context<'_>| hyper::rt::Write::poll_shutdown(Pin::new(&mut socket), context);
    drop(std::future::poll_fn(shut_down).await);
}

async fn tick<H: Handler>(shared: Arc<Shared<H>>) {
    let mut interval = tokio::time::interval(Duration::from_secs(1));
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        shared.heartbeat.second.fetch_add(1, Ordering::Relaxed);
        shared.sweep();
        shared.handler.tick();
    }
}

impl<H> Shared<H> {
    /// Forgets connections that ended and cuts those that take too long.
    fn sweep(&self) {
        let mut cut_count = 0;
        self.connections.lock().retain(|connection| {
            let Some(state) = connection.upgrade() else {
                return false;
            };
            let is_overdue = state.is_overdue();
            if is_overdue {
                state.abort();
                cut_count += 1;
            }
            !is_overdue
        });
        self.limiter.count_cut(cut_count);
    }

    /// Cuts the connections that do one of these things; says whether any are left.
    fn cut(&self, is_cut: impl Fn(ConnectionPhase) -> bool) -> bool {
        let mut connections = self.connections.lock();
        connections.retain(|connection| {
            let Some(state) = connection.upgrade() else {
                return false;
            };
            if is_cut(state.phase()) {
                state.abort();
            }
            true
        });
        !connections.is_empty()
    }
}

async fn finish<H>(shared: &Shared<H>, grace: Duration) {
    let started = tokio::time::Instant::now();
    while shared.cut(|_| false) && started.elapsed() < KEEPALIVE_DRAIN.min(grace) {
        tokio::time::sleep(STOP_POLL).await;
    }
    let is_silent = |phase| matches!(phase, ConnectionPhase::Idle | ConnectionPhase::Lingering);
    while shared.cut(is_silent) && started.elapsed() < grace {
        tokio::time::sleep(STOP_POLL).await;
    }
    shared.cut(|_| true);
}

/// hyper's service of one connection.
struct ConnectionService<H: Handler> {
    handler: Arc<H>,
    memory: RefCell<H::Connection>,
    state: Arc<ConnectionState>,
}

impl<H: Handler> hyper::service::Service<Request<Incoming>> for ConnectionService<H> {
    type Response = Response<OutgoingBody>;
    type Error = Infallible;
    type Future = ResponseFuture;

    fn call(&self, request: Request<Incoming>) -> ResponseFuture {
        let (mut head, body) = request.into_parts();
        if head.extensions.get::<OnUpgrade>().is_some() {
            self.state.outgoing.allow_close();
        }
        let body = RequestBody::new(body, &self.state);
        let mut memory = self.memory.borrow_mut();
        let answer = self.handler.handle(&mut memory, &mut head, body);
        ResponseFuture {
            answer: Some(answer),
            state: Some(Arc::clone(&self.state)),
        }
    }
}

/// An answer on its way to hyper.
struct ResponseFuture {
    answer: Option<HandlerOutcome>,
    /// Goes to the body when the answer is there.
    state: Option<Arc<ConnectionState>>,
}

impl ResponseFuture {
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Response<super::Body>> {
        match self.answer.take() {
            Some(HandlerOutcome::Now(response)) => Poll::Ready(response),
            Some(HandlerOutcome::Later(mut later)) => {
                let outcome = later.as_mut().poll(context);
                self.answer = Some(HandlerOutcome::Later(later));
                outcome
            }
            None => Poll::Pending,
        }
    }
}

impl Future for ResponseFuture {
    type Output = Result<Response<OutgoingBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Poll::Ready(mut response) = self.poll_answer(context) else {
            return Poll::Pending;
        };
        let Some(state) = self.state.take() else {
            return Poll::Pending;
        };
        if state.is_stopping() {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(CONNECTION, close);
        }
        Poll::Ready(Ok(response.map(|body| OutgoingBody::new(body, state))))
    }
}
