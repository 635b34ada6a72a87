//! `subcat serve`: the server.

use std::io::{self, IsTerminal};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use clap::Args;
use subcat_engine::{Engine, StoreKind};

use super::access::{ensure_of_cluster, ensure_unserved, open_engine_within};
use super::context::Context;
use super::error::{CommandError, SubjectError};
use super::logging;
use super::output::print;
use super::reloading;
use super::subcommand::Subcommand;
use super::watchdog;
use crate::admin::{SOCKET_NAME, admin_pages, admin_socket, starting_pages};
use crate::cluster::{open_exchange, open_log};
use crate::config::{Config, Effective, ListenAddress};
use crate::http::{Server, serve_on};
use crate::runtime::{
    AdminListener, AdminServer, Clock, Control, ControlHandle, Descriptors, InheritedSockets,
    PublicListeners, RingRefusedError, ServerSignal, ServerSignals, ServiceManager, SystemClock,
};
use crate::service::{ClusterNode, ClusterThreads, ProcessHooks, Service, log_damage};
#[cfg(feature = "s3")]
use crate::upstream::ObjectStorage;

/// Time limit for requests in progress when the server stops.
const GRACE: Duration = Duration::from_secs(4);
/// Maximum wait of a start for another command to close the data directory.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);
/// Time limit for operations still in progress after that.
const ADMIN_GRACE: Duration = Duration::from_millis(300);
/// Time limit of sending the last spans of traces.
const TRACE_GRACE: Duration = Duration::from_millis(300);
/// Time limit of a stop: then the process ends with its work unfinished (API.md 11.4).
const STOP_LIMIT: Duration = Duration::from_millis(4_900);

/// Run the server
#[derive(Debug, Args)]
pub(super) struct ServeArguments {
    /// The public address, IP:PORT or unix:PATH [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// The address of /metrics, /livez and /readyz [default: 127.0.0.1:9464]
    #[arg(long, value_name = "IP:PORT")]
    admin: Option<String>,
}

impl Subcommand for ServeArguments {
    const NAME: &'static str = "serve";

    fn run(self, context: &Context) -> Result<(), CommandError> {
        let flags = [("listen", self.listen), ("admin", self.admin)];
        let effective = context.effective(&flags)?;
        logging::start(&effective.config.log);
        let mut running = Running::start(effective)?;
        // A server serves even if its announcement cannot be printed.
        let _ = print(&running.announcement());
        running.wait();
        running.stop()
    }
}

/// Answers that a stop did not wait for.
#[derive(Debug, thiserror::Error)]
#[error(
    "stopped, and everything is stored, but {unfinished_count} connections were closed before the \
     end of their answer: their clients took longer than {} s",
    GRACE.as_secs()
)]
struct UnfinishedError {
    unfinished_count: u64,
}

/// A serving process.
pub(super) struct Running {
    control: Control,
    service: Arc<Service>,
    server: Server,
    cluster: Option<ClusterThreads>,
    admin_address: SocketAddr,
    admin_servers: [AdminServer; 2],
    signals: ServerSignals,
    /// True if a terminal started the process: SIGHUP then means that the terminal was closed.
    is_of_terminal: bool,
}

impl Running {
    /// Opens the catalog and listens everywhere.
    ///
    /// Errors: the catalog cannot be opened, an address is not available.
    pub(super) fn start(effective: Effective) -> Result<Self, CommandError> {
        let Effective {
            config,
            origins,
            sources,
            ..
        } = effective;
        let inherited = InheritedSockets::take()
            .map_err(|error| SubjectError::new("a socket of the service manager", error))?;
        ensure_unserved(&config.data)?;
        ensure_of_cluster(&config)?;
        make_directory(&config)?;
        Descriptors::raise();
        let control = Control::start()?;
        let handle = control.handle();
        handle.watch_pools();
        let pages = match inherited.admin {
            Some(listener) => AdminListener::inherited(listener, &handle),
            None => AdminListener::tcp(config.admin, &handle),
        };
        let admin = config.admin.into();
        let pages = pages.map_err(|error| address_error("admin", &admin, error))?;
        let admin_address = pages.local_addr().unwrap_or(config.admin);
        let served = Arc::new(OnceLock::new());
        let pages = AdminServer::start(pages, &handle, admin_pages(Arc::clone(&served)));
        let public = Public::listen(&config, inherited.public, &handle)?;
        let lanes = config.workers;
        let engine = Arc::new(open_engine_within(&config, lanes, LOCK_PATIENCE)?);
        use_object_storage(&config, &engine)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let node = cluster_node(&config, &engine, &clock)?;
        log_damage(&engine);
        log_lost_downloads(&engine);
        // Caught before the announcement: its reader may send a signal at once.
        let signals = ServerSignals::catch(&handle)?;
        let socket_path = config.data.join(SOCKET_NAME);
        let socket = AdminListener::unix(&socket_path, &handle)
            .map_err(|error| SubjectError::new(socket_path.display().to_string(), error))?;
        let listen = config.listen.clone();
        let service = Service::new(config, engine, handle.clone(), clock);
        let cluster = node.map(|node| service.join_cluster(node)).transpose()?;
        let server = serve_on(&service, public.hand_over())
            .map_err(|error| address_error("listen", &listen, error))?;
        service.set_origins(&origins);
        service.attach(ProcessHooks {
            reload: reloading::reload_fn(sources, server.reloader()),
            dropped_log_lines: logging::dropped_lines,
        });
        watchdog::start(&service, &handle);
        let socket = AdminServer::start(socket, &handle, admin_socket(Arc::clone(&service)));
        let admin_servers = [pages, socket];
        // The only place that sets it.
        let _ = served.set(Arc::clone(&service));
        Ok(Self {
            control,
            service,
            server,
            cluster,
            admin_address,
            admin_servers,
            signals,
            is_of_terminal: io::stderr().is_terminal(),
        })
    }

    /// The addresses that it listens on, and the link to the first account while there is none.
    pub(super) fn announcement(&self) -> String {
        let mut lines = match self.server.address() {
            ListenAddress::Tcp(address) => format!("listening on http://{address}\n"),
            socket @ ListenAddress::Unix(_) => format!("listening on {socket}\n"),
        };
        lines.push_str(&format!("admin on http://{}\n", self.admin_address));
        if let Some(path) = self.server.site().setup_path() {
            let base = self.base_url();
            lines.push_str(&format!("make the first account at {base}{path}\n"));
        }
        lines
    }

    /// The address for users, without a slash at its end.
    pub(super) fn base_url(&self) -> String {
        let public_url = self.service.config().public_url.clone();
        public_url.unwrap_or_else(|| local_url(self.server.address()))
    }

    /// The service behind it.
    pub(super) fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Blocks until the process is asked to stop. Reads the settings again when asked to.
    pub(super) fn wait(&mut self) {
        ServiceManager::ready();
        loop {
            match self.control.block_on(self.signals.wait()) {
                ServerSignal::Reload if !self.is_of_terminal => {
                    // The service logs the outcome for every caller.
                    let _ = self.service.reload();
                }
                ServerSignal::Reload => {
                    tracing::info!("stopping: the terminal is gone");
                    return;
                }
                ServerSignal::Stop(signal) => {
                    tracing::info!(signal, "stopping");
                    return;
                }
            }
        }
    }

    /// Finishes work in progress and closes the catalog. A second signal ends the process at once.
    ///
    /// Errors: answers had to be cut, or the catalog could not be closed.
    pub(super) fn stop(self) -> Result<(), CommandError> {
        ServiceManager::stopping();
        let mut signals = self.signals;
        self.control.handle().spawn(async move {
            let signal = signals.wait_for_stop().await;
            tracing::warn!(
                signal,
                "asked again to stop: ending the process as if it were killed"
            );
            logging::finish();
            std::process::exit(1);
        });
        let _stopped = end_after(STOP_LIMIT, || {
            tracing::warn!("closing takes too long: ending the process as if it were killed");
            // Acknowledged changes are durable, and the next start repairs the rest. A status other
            // than 0 informs the supervisor that the catalog was not closed.
            logging::finish();
            std::process::exit(1);
        });
        let unfinished_count = self.server.stop(GRACE);
        AdminServer::stop(self.admin_servers, &self.control, ADMIN_GRACE);
        let socket_path = self.service.config().data.join(SOCKET_NAME);
        // The next server replaces it anyway.
        let _ = std::fs::remove_file(socket_path);
        if let Some(cluster) = self.cluster {
            cluster.stop();
        }
        self.service.engine.close()?;
        self.control
            .block_on(self.service.tracer.finish(TRACE_GRACE));
        self.control.stop();
        if unfinished_count != 0 {
            return Err(UnfinishedError { unfinished_count }.into());
        }
        Ok(())
    }
}

/// Makes the directory of the admin socket. The engine makes its own.
fn make_directory(config: &Config) -> Result<(), CommandError> {
    if config.store == StoreKind::Memory {
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&config.data);
        made.map_err(|error| SubjectError::new(config.data.display().to_string(), error))?;
    }
    Ok(())
}

/// Lets the engine keep files in object storage, too, if the settings name any.
///
/// Errors: the settings make no client; the folder of uploads cannot be made.
fn use_object_storage(config: &Config, engine: &Engine) -> Result<(), CommandError> {
    #[cfg(feature = "s3")]
    {
        let storage = ObjectStorage::new(&config.files_s3)
            .map_err(|error| SubjectError::new("files.s3", error))?;
        if let Some(storage) = storage {
            return Ok(engine.files().attach(Arc::new(storage))?);
        }
    }
    #[cfg(not(feature = "s3"))]
    let _ = config;
    if engine.files().has_second_home() {
        tracing::warn!(
            "files.s3 is not set any more: files that are only there are fetched from upstream \
             while it is not, and new ones wait for their upload"
        );
    }
    Ok(())
}

/// The node of a cluster that the settings and the data directory make; none if neither does.
/// Applies what happened while it was away.
///
/// Errors: the data directory is in a cluster and no log is set, or the other way round.
fn cluster_node(
    config: &Config,
    engine: &Engine,
    clock: &Arc<dyn Clock>,
) -> Result<Option<Arc<ClusterNode>>, CommandError> {
    let Some(address) = &config.cluster.log else {
        return match engine.log_position() {
            Some(_) => Err(NoLogError(config.data.clone()).into()),
            None => Ok(None),
        };
    };
    let invalid = |error| SubjectError::new("cluster.log", io::Error::other(error));
    let stream = &config.cluster.stream;
    let log = open_log(address, stream).map_err(invalid)?;
    let node = ClusterNode::attach(engine, log, &config.cluster, Arc::clone(clock))?;
    node.share_limits(open_exchange(address, stream).map_err(invalid)?);
    node.catch_up();
    Ok(Some(node))
}

/// A data directory of a cluster without its log.
#[derive(Debug, thiserror::Error)]
#[error(
    "{} belongs to a cluster: set cluster.log, or make it one alone again with subcat cluster \
     leave",
    .0.display()
)]
struct NoLogError(PathBuf);

/// Names the downloads that a power cut took.
fn log_lost_downloads(engine: &Engine) {
    for entries in engine
        .usage()
        .passed_over()
        .chunk_by(|one, next| one.0 == next.0)
    {
        let (file, offset) = &entries[0];
        tracing::warn!(
            file,
            offset,
            entries = entries.len(),
            "some downloads are lost: a power cut damaged their entries from this byte on"
        );
    }
}

/// The error of a server that cannot listen on the address of a setting.
fn address_error(setting: &str, address: &ListenAddress, error: io::Error) -> SubjectError {
    if let Some(cause) = error.get_ref()
        && cause.is::<RingRefusedError>()
    {
        return SubjectError::new("io = io_uring", error);
    }
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            ", which another program uses: end it, or choose another address"
        }
        io::ErrorKind::AddrNotAvailable => {
            ", which this machine does not have: choose one of its own"
        }
        io::ErrorKind::AlreadyExists => {
            ", which is a file and not a socket: remove it, or choose another path"
        }
        io::ErrorKind::PermissionDenied if address.tcp().is_none() => {
            ", which may not be made here: choose a folder that belongs to this user"
        }
        io::ErrorKind::PermissionDenied => {
            ", which needs a privilege: choose a port from 1024 on, or set CAP_NET_BIND_SERVICE"
        }
        _ => "",
    };
    SubjectError::new(format!("{setting} = {address}{advice}"), error)
}

/// The public address while the catalog is opened.
struct Public {
    listeners: PublicListeners,
    /// Answer that the service is starting.
    starting: Vec<AdminServer>,
}

impl Public {
    /// Listens from now on. On a socket of the service manager clients wait in its queue; on any
    /// other one they get the answer that the service is starting.
    fn listen(
        config: &Config,
        inherited: Option<TcpListener>,
        handle: &ControlHandle,
    ) -> Result<Self, CommandError> {
        let is_inherited = inherited.is_some();
        let listeners = match inherited {
            Some(socket) => PublicListeners::inherited(socket, config.workers),
            None => PublicListeners::bind(&config.listen, config.workers),
        };
        let failed = |error| address_error("listen", &config.listen, error);
        let listeners = listeners.map_err(failed)?;
        // A free port is not known to clients before it is announced.
        let starting = if is_inherited || config.listen.is_any_port() {
            Vec::new()
        } else {
            let answering = listeners.answer_with(handle, &starting_pages());
            answering.map_err(failed)?
        };
        Ok(Self {
            listeners,
            starting,
        })
    }

    /// The sockets, for the workers. From now on clients that connect wait in their queues.
    fn hand_over(self) -> PublicListeners {
        for server in self.starting {
            server.leave();
        }
        self.listeners
    }
}

/// A URL of the server for this machine, without a slash at its end.
fn local_url(address: &ListenAddress) -> String {
    match address {
        // No browser opens the address of all interfaces.
        ListenAddress::Tcp(tcp) if tcp.ip().is_unspecified() => {
            format!("http://localhost:{}", tcp.port())
        }
        ListenAddress::Tcp(tcp) => format!("http://{tcp}"),
        // Through the proxy that connects there.
        ListenAddress::Unix(_) => "http://localhost".to_owned(),
    }
}

/// Calls `end` after `limit`, unless the returned guard is dropped before.
fn end_after(limit: Duration, end: impl FnOnce() + Send + 'static) -> Sender<()> {
    let (guard, dropped) = channel();
    let watch = move || {
        if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            end();
        }
    };
    // Without a thread there is no limit, and nothing else is lost.
    drop(std::thread::Builder::new().name("stop".into()).spawn(watch));
    guard
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_left_and_what_is_done_is_not() {
        let (sender, left) = channel();
        let other = sender.clone();
        let _guard = end_after(Duration::ZERO, move || sender.send("too long").unwrap());
        let done = end_after(Duration::from_secs(60), move || other.send("done").unwrap());
        drop(done);
        let all: Vec<&str> = left.iter().collect();
        assert_eq!(all, ["too long"]);
    }

    #[test]
    fn links_lead_to_an_address_that_browsers_open() {
        for (listen, expected) in [
            ("0.0.0.0:8080", "http://localhost:8080"),
            ("[::]:8080", "http://localhost:8080"),
            ("192.0.2.1:80", "http://192.0.2.1:80"),
            ("[::1]:8080", "http://[::1]:8080"),
            ("unix:/run/subcat/subcat.sock", "http://localhost"),
        ] {
            assert_eq!(local_url(&listen.parse().unwrap()), expected);
        }
    }
}
