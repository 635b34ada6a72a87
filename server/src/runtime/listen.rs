//! All workers together: listening, starting, stopping.

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

/// Connections of one worker that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// Settings of the listeners.
pub struct ListenSettings {
    /// Address. Port 0 is any free one.
    pub listen: SocketAddr,
    /// I/O backend.
    pub io: Io,
    /// Limits of connections.
    pub connections: Connections,
    /// Networks to which the limit per address does not apply.
    pub proxies: Vec<IpNet>,
    /// Counters of connections.
    pub counts: Arc<ConnectionCounts>,
}

/// Running workers.
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

    /// Address on which they listen.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// I/O backend, never [`Io::Auto`]. A worker that got no ring says so in the log.
    pub fn io(&self) -> Io {
        self.io
    }

    /// Stops all workers within `grace`. Blocks until they have ended.
    pub fn stop(self, grace: Duration) {
        self.commands.send_replace(WorkerCommand::Stop(grace));
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker panicked");
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
            // A failure costs only latency.
            let _ = Priority::Prompt.enter();
            if let Err(error) = backend.run(worker.run(listener)) {
                tracing::error!(%error, "a worker cannot listen");
            }
        })
}

/// One listener per worker on one address: the kernel spreads connections over them by a hash, and
/// no worker waits for another in `accept`.
fn bind(address: SocketAddr, listeners_count: usize) -> io::Result<Vec<std::net::TcpListener>> {
    if address.port() != 0 {
        // With SO_REUSEPORT a second server of the same user could share the port silently. A
        // socket without that option finds out.
        let probe = socket(address)?;
        probe.bind(&SockAddr::from(address))?;
    }
    let mut listeners: Vec<std::net::TcpListener> = Vec::new();
    for _ in 0..listeners_count {
        let bound = listeners.first().map(std::net::TcpListener::local_addr);
        let address = bound.unwrap_or(Ok(address))?;
        let socket = socket(address)?;
        socket.set_reuse_port(true)?;
        // Inherited by accepted sockets: saves a system call for each.
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
