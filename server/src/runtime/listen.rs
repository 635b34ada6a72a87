//! All workers together: listening, starting, stopping.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use tokio::sync::watch;

use super::connection_limiter::{ConnectionCounts, ConnectionLimiter};
use super::handler::Handler;
use super::io_backend::IoBackend;
use super::priority::Priority;
use super::public_listeners::{AddressClaim, LOCAL_PEER, PublicListeners};
use super::worker::{Worker, WorkerCommand};
use crate::config::{Connections, Io, ListenAddress};
use crate::limits::WORKER_FAILURES_MAX;

/// Running time of a worker that resets its count of failures.
const WORKER_STEADY: Duration = Duration::from_secs(60);
/// Time for the log to be written before the process ends by itself.
const LOG_PAUSE: Duration = Duration::from_millis(200);

/// Settings of the listeners.
pub struct ListenSettings {
    /// Address. Port 0 is any free one.
    pub listen: ListenAddress,
    /// I/O backend.
    pub io: Io,
    /// Limits of connections.
    pub connections: Connections,
    /// Networks without a limit per address.
    pub proxies: Vec<IpNet>,
    /// Counters of connections.
    pub counts: Arc<ConnectionCounts>,
}

/// Running workers.
pub struct Workers {
    address: ListenAddress,
    /// Held as long as they listen.
    _claim: AddressClaim,
    /// Shared with every worker; a reload sets its limits through [`Workers::connection_limiter`].
    limiter: Arc<ConnectionLimiter>,
    io: Io,
    /// Sends the stop to all workers. Dropping it stops them without grace.
    commands: watch::Sender<WorkerCommand>,
    /// Threads of the workers, joined by [`Workers::stop`].
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts one worker per handler. When it returns, all of them listen.
    ///
    /// Errors: the address is taken or not ours; no threads.
    pub fn start<H: Handler>(settings: ListenSettings, handlers: Vec<H>) -> io::Result<Self> {
        let listeners = PublicListeners::bind(&settings.listen, handlers.len())?;
        Self::start_on(listeners, settings, handlers)
    }

    /// Starts one worker per handler on sockets that listen already; `settings.listen` has no
    /// effect.
    ///
    /// Errors: no threads.
    pub fn start_on<H: Handler>(
        listeners: PublicListeners,
        settings: ListenSettings,
        handlers: Vec<H>,
    ) -> io::Result<Self> {
        let (address, listeners, claim) = listeners.into_parts();
        let limiter = Arc::new(ConnectionLimiter::new(
            settings.connections,
            settings.proxies,
            Arc::clone(&settings.counts),
        ));
        let backend = IoBackend::of(settings.io)?;
        let (commands, _) = watch::channel(WorkerCommand::Serve);
        let mut threads = Vec::new();
        for (worker_idx, (listener, handler)) in listeners.into_iter().zip(handlers).enumerate() {
            let worker = Worker {
                handler: Arc::new(handler),
                limiter: Arc::clone(&limiter),
                commands: commands.subscribe(),
            };
            let supervised = Supervised {
                worker,
                listener,
                counts: Arc::clone(&settings.counts),
            };
            threads.push(start_thread(worker_idx, backend, supervised)?);
        }
        Ok(Self {
            address,
            _claim: claim,
            limiter,
            io: backend.setting(),
            commands,
            threads,
        })
    }

    /// TCP address on which they listen; that of all peers on a Unix socket.
    pub fn address(&self) -> SocketAddr {
        self.address.tcp().unwrap_or(LOCAL_PEER)
    }

    /// Address of the listeners.
    pub fn listen_address(&self) -> &ListenAddress {
        &self.address
    }

    /// The limiter of their connections. Its limits may change while they serve.
    pub fn connection_limiter(&self) -> &Arc<ConnectionLimiter> {
        &self.limiter
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

/// The end of a worker that was not asked to stop.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    /// The listener or the I/O backend failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The worker panicked.
    #[error("it panicked: earlier lines of the log say where")]
    Panicked,
}

/// A worker, with its parts for a restart.
struct Supervised<H> {
    /// Template of the worker: each run gets a clone.
    worker: Worker<H>,
    /// The listening socket, kept open between two runs, so that clients wait in its queue.
    listener: std::net::TcpListener,
    /// Counts the running workers, for the health check and the metrics.
    counts: Arc<ConnectionCounts>,
}

impl<H: Handler> Supervised<H> {
    /// Runs the worker until it is asked to stop. If it ends before, by an error or a panic, it is
    /// restarted without a ring: its own connections are lost, and new ones are served. After too
    /// many restarts the process ends, and an outside supervisor starts it anew.
    fn run(&self, mut backend: IoBackend) {
        let mut failures_count = 0;
        loop {
            let started = Instant::now();
            let Err(error) = self.run_once(backend) else {
                return;
            };
            if *self.worker.commands.borrow() != WorkerCommand::Serve {
                return;
            }
            if WORKER_STEADY < started.elapsed() {
                failures_count = 0;
            }
            failures_count += 1;
            if WORKER_FAILURES_MAX < failures_count {
                tracing::error!(%error, "a worker ends again and again: ending the process");
                // Another thread writes the log.
                std::thread::sleep(LOG_PAUSE);
                std::process::exit(1);
            }
            tracing::error!(%error, "a worker has ended: starting it again, with epoll");
            backend = IoBackend::Epoll;
        }
    }

    /// Runs the worker once. Errors: why it ended, though it was not asked to stop.
    fn run_once(&self, backend: IoBackend) -> Result<(), WorkerError> {
        let running = &self.counts.workers_running;
        running.fetch_add(1, Ordering::Relaxed);
        // Shared state (caches, counters) consists of whole values, also after a panic.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let listener = self.listener.try_clone()?;
            backend.run(self.worker.clone().run(listener))
        }));
        running.fetch_sub(1, Ordering::Relaxed);
        match outcome {
            Ok(run) => Ok(run?),
            Err(_) => Err(WorkerError::Panicked),
        }
    }
}

fn start_thread<H: Handler>(
    worker_idx: usize,
    backend: IoBackend,
    supervised: Supervised<H>,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name(format!("worker-{worker_idx}"))
        .spawn(move || {
            // A failure costs only latency.
            let _ = Priority::Prompt.enter();
            supervised.run(backend);
        })
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::atomic::AtomicI32;

    use bytes::Bytes;
    use http::Response;
    use http::request::Parts;

    use super::*;
    use crate::runtime::{Body, ConnectionEnds, Content, HandlerOutcome, RequestBody};

    /// A handler with defects: each hits the worker, not a request.
    #[derive(Default)]
    struct Fragile {
        panics_of_connect: AtomicI32,
        panics_of_tick: Arc<AtomicI32>,
    }

    impl Handler for Fragile {
        type Connection = ();

        fn connect(&self, _: ConnectionEnds) {
            let left = self.panics_of_connect.fetch_sub(1, Ordering::SeqCst);
            assert!(left <= 0, "a planted defect");
        }

        fn handle(&self, (): &mut (), _: &mut Parts, _: RequestBody) -> HandlerOutcome {
            HandlerOutcome::Now(Response::new(Body::from(Content::Empty)))
        }

        fn reject(&self, _: SocketAddr) -> Bytes {
            Bytes::new()
        }

        fn tick(&self) {
            let left = self.panics_of_tick.fetch_sub(1, Ordering::SeqCst);
            assert!(left <= 0, "a planted defect");
        }
    }

    /// The first line of an answer; empty if the connection was closed instead.
    fn ask(address: SocketAddr) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut answer = Vec::new();
        // A worker that ends may reset the connection.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }

    fn start(io: Io, handler: Fragile) -> (Workers, Arc<ConnectionCounts>) {
        let counts = Arc::<ConnectionCounts>::default();
        let settings = ListenSettings {
            listen: "127.0.0.1:0".parse().unwrap(),
            io,
            connections: Connections {
                max: 10,
                max_per_address: 10,
            },
            proxies: Vec::new(),
            counts: Arc::clone(&counts),
        };
        (Workers::start(settings, vec![handler]).unwrap(), counts)
    }

    #[test]
    fn a_worker_that_panics_is_started_again() {
        for io in [Io::Auto, Io::Epoll] {
            let handler = Fragile {
                panics_of_connect: AtomicI32::new(2),
                ..Fragile::default()
            };
            let (workers, counts) = start(io, handler);
            let lines = [(); 4].map(|()| ask(workers.address()));
            assert_eq!(lines[..2], ["", ""]);
            assert_eq!(lines[2..], ["HTTP/1.1 200 OK", "HTTP/1.1 200 OK"]);
            assert_eq!(counts.workers_running.load(Ordering::Relaxed), 1);
            workers.stop(Duration::from_secs(1));
            assert_eq!(counts.open.load(Ordering::Relaxed), 0);
            assert_eq!(counts.workers_running.load(Ordering::Relaxed), 0);
        }
    }

    /// Without its timer no deadline would pass, silently.
    #[test]
    fn a_worker_whose_timer_ends_is_started_again() {
        let panics_left = Arc::new(AtomicI32::new(2));
        let handler = Fragile {
            panics_of_tick: Arc::clone(&panics_left),
            ..Fragile::default()
        };
        let (workers, _) = start(Io::Auto, handler);
        // The first ticks come at the start, and the third one has to be waited for. An answer may
        // come from a worker just before its timer ends.
        let until = Instant::now() + Duration::from_secs(30);
        while 0 <= panics_left.load(Ordering::SeqCst) && Instant::now() < until {
            ask(workers.address());
        }
        assert!(panics_left.load(Ordering::SeqCst) < 0, "no timer goes on");
        assert_eq!(ask(workers.address()), "HTTP/1.1 200 OK");
        workers.stop(Duration::from_secs(1));
    }
}
