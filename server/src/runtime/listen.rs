//! All workers together: how they start and how they end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use ipnet::IpNet;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use tokio::sync::watch;

use super::connection_limiter::{ConnectionCounts, ConnectionLimiter};
use super::handler::Handler;
use super::io_backend::IoBackend;
use super::priority::Priority;
use super::worker::{Worker, WorkerCommand};
use crate::config::{Connections, Io};

/// Connections that may wait to be accepted, per worker.
const BACKLOG: i32 = 4096;

/// How to listen.
pub struct ListenSettings {
    /// Where. Port 0 is any free one.
    pub listen: SocketAddr,
    /// How sockets are driven.
    pub io: Io,
    /// Caps.
    pub connections: Connections,
    /// Networks to which the cap per address does not apply.
    pub proxies: Vec<IpNet>,
    /// Where connections are counted.
    pub counts: Arc<ConnectionCounts>,
}

/// Workers that serve.
pub struct Workers {
    address: SocketAddr,
    io: Io,
    commands: watch::Sender<WorkerCommand>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts one worker per handler. When it returns, all of them listen.
    ///
    /// Errors: the address is taken or not ours; no threads.
    pub fn start<H: Handler>(settings: ListenSettings, handlers: Vec<H>) -> io::Result<Self> {
        let listeners = bind(settings.listen, handlers.len())?;
        let address = match listeners.first() {
            Some(listener) => listener.local_addr()?,
            None => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let limiter = Arc::new(ConnectionLimiter::new(
            settings.connections.max,
            settings.connections.max_per_address,
            settings.proxies,
            settings.counts,
        ));
        let backend = IoBackend::of(settings.io);
        let (commands, _) = watch::channel(WorkerCommand::Serve);
        let mut threads = Vec::new();
        for (worker_idx, (listener, handler)) in listeners.into_iter().zip(handlers).enumerate() {
            let worker = Worker {
                handler: Arc::new(handler),
                limiter: Arc::clone(&limiter),
                commands: commands.subscribe(),
            };
            threads.push(start_thread(worker_idx, backend, worker, listener)?);
        }
        Ok(Self {
            address,
            io: backend.setting(),
            commands,
            threads,
        })
    }

    /// Where they listen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How sockets are driven: never [`Io::Auto`]. A worker for which no ring was left says so in
    /// the log.
    pub fn io(&self) -> Io {
        self.io
    }

    /// Tells all to stop within `grace` and waits for them.
    pub fn stop(self, grace: Duration) {
        self.commands.send_replace(WorkerCommand::Stop(grace));
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker had panicked");
            }
        }
    }
}

fn start_thread<H: Handler>(
    worker_idx: usize,
    backend: IoBackend,
    worker: Worker<H>,
    listener: std::net::TcpListener,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("worker-{worker_idx}"))
        .spawn(move || {
            // A refusal costs only promptness.
            let _ = Priority::Prompt.enter();
            if let Err(error) = backend.run(worker.run(listener)) {
                tracing::error!(%error, "a worker cannot listen");
            }
        })
}

/// One listener per worker on one address.
fn bind(address: SocketAddr, listeners_count: usize) -> io::Result<Vec<std::net::TcpListener>> {
    if address.port() != 0 {
        // SO_REUSEPORT would let a second server share the port without a word: ask first.
        let probe = socket(address)?;
        probe.bind(&SockAddr::from(address))?;
    }
    let mut listeners: Vec<std::net::TcpListener> = Vec::new();
    for _ in 0..listeners_count {
        let bound = listeners.first().map(std::net::TcpListener::local_addr);
        let address = bound.unwrap_or(Ok(address))?;
        let socket = socket(address)?;
        socket.set_reuse_port(true)?;
        // Accepted sockets inherit it.
        socket.set_tcp_nodelay(true)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::from(address))?;
        socket.listen(BACKLOG)?;
        listeners.push(socket.into());
    }
    Ok(listeners)
}

fn socket(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    Ok(socket)
}
