//! `subcat serve`: the server.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use clap::Args;
use subcat_engine::StoreKind;

use super::access::open_engine;
use super::context::{Context, Stop, print};
use super::logging;
use crate::admin::{Client, admin_pages, admin_socket};
use crate::config::Config;
use crate::http::{Server, serve};
use crate::ops::Failure;
use crate::runtime::{AdminListener, AdminServer, Control, Descriptors, StopSignals, SystemClock};
use crate::service::Service;

/// Requests under way have so long to finish when the server stops.
const GRACE: Duration = Duration::from_secs(4);
/// Then commands that the server is performing have so long.
const SIDE_GRACE: Duration = Duration::from_millis(300);
/// The process has ended by then, whatever still works in it (API.md 11.4).
const STOP_LIMIT: Duration = Duration::from_millis(4_900);

/// Run the server
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The public address [default: 127.0.0.1:8080]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<String>,
    /// The address of /metrics, /livez and /readyz [default: 127.0.0.1:9090]
    #[arg(long, value_name = "IP:PORT")]
    admin: Option<String>,
}

impl Serve {
    pub(super) fn run(self, context: &Context) -> Result<(), Stop> {
        let flags = [("listen", self.listen), ("admin", self.admin)];
        let config = context.effective(&flags)?.config;
        logging::start(&config.log);
        let mut running = Running::start(config)?;
        // A server serves whether or not anyone reads what it says.
        let _ = print(&running.announcement());
        let signal = running.wait();
        tracing::info!(signal, "stopping");
        running.stop()
    }
}

/// A serving process.
pub(super) struct Running {
    control: Control,
    service: Arc<Service>,
    server: Server,
    admin_address: SocketAddr,
    side_servers: [AdminServer; 2],
    stop_signals: StopSignals,
}

impl Running {
    /// Opens the catalog and listens everywhere.
    ///
    /// Errors: the catalog cannot be opened, an address cannot be had.
    pub(super) fn start(config: Config) -> Result<Self, Stop> {
        if let Some(server) = Client::find(&config.data)? {
            let (path, pid) = (config.data.display(), server.pid());
            let advice = "stop it, or name another data directory with --data";
            let sentence = format!("process {pid} serves {path} already: {advice}");
            return Err(Failure::new(sentence).into());
        }
        if config.store == StoreKind::Memory {
            // The engine needs no directory then, but the admin socket does.
            let mut builder = std::fs::DirBuilder::new();
            let made = builder.recursive(true).mode(0o700).create(&config.data);
            made.map_err(|error| Failure::io(&config.data.display().to_string(), &error))?;
        }
        Descriptors::raise();
        let engine = Arc::new(open_engine(&config, config.workers + 1)?);
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
                "downloads are not counted: a power cut tore their entries, from this byte on"
            );
        }
        let control = Control::start().map_err(Failure::from)?;
        let handle = control.handle();
        // Caught before anyone is told that it runs.
        let stop_signals = StopSignals::catch(&handle).map_err(Failure::from)?;
        let pages = AdminListener::tcp(config.admin, &handle)
            .map_err(|error| Failure::io(&format!("admin = {}", config.admin), &error))?;
        let admin_address = pages.local_addr().unwrap_or(config.admin);
        let socket_path = config.data.join("admin.sock");
        let socket = AdminListener::unix(&socket_path, &handle)
            .map_err(|error| Failure::io(&socket_path.display().to_string(), &error))?;
        let listen = config.listen;
        let service = Service::new(config, engine, handle.clone(), Arc::new(SystemClock::new()));
        let server =
            serve(&service).map_err(|error| Failure::io(&format!("listen = {listen}"), &error))?;
        let side_servers = [
            AdminServer::start(pages, &handle, admin_pages(Arc::clone(&service))),
            AdminServer::start(socket, &handle, admin_socket(Arc::clone(&service))),
        ];
        Ok(Self {
            control,
            service,
            server,
            admin_address,
            side_servers,
            stop_signals,
        })
    }

    /// Where it listens, and what to do first when nobody has an account.
    pub(super) fn announcement(&self) -> String {
        let address = self.server.local_addr();
        let mut lines = format!("listening on http://{address}\n");
        lines.push_str(&format!("admin on http://{}\n", self.admin_address));
        if let Some(path) = self.server.site().setup_path() {
            let base = self.base_url();
            lines.push_str(&format!("make the first account at {base}{path}\n"));
        }
        lines
    }

    /// How users reach it, without a slash at its end.
    pub(super) fn base_url(&self) -> String {
        let public_url = self.service.config.public_url.clone();
        public_url.unwrap_or_else(|| format!("http://{}", self.server.local_addr()))
    }

    /// The service behind it.
    pub(super) fn service(&self) -> &Arc<Service> {
        &self.service
    }

    /// Blocks until the process is asked to stop; the name of the signal.
    pub(super) fn wait(&mut self) -> &'static str {
        self.control.block_on(self.stop_signals.wait())
    }

    /// Finishes what is under way and closes the catalog.
    pub(super) fn stop(self) -> Result<(), Stop> {
        let _stopped = at_last(STOP_LIMIT, || {
            tracing::warn!("closing takes too long: the process leaves as if it were killed");
            // What was acknowledged is durable, and the next start mends the rest.
            std::process::exit(0);
        });
        self.server.stop(GRACE);
        AdminServer::stop(self.side_servers, &self.control, SIDE_GRACE);
        let socket_path = self.service.config.data.join("admin.sock");
        // The next server replaces it anyway.
        let _ = std::fs::remove_file(socket_path);
        self.service.engine.close()?;
        self.control.stop();
        Ok(())
    }
}

/// Calls `leave` after `limit`, unless what is returned was dropped before.
fn at_last(limit: Duration, leave: impl FnOnce() + Send + 'static) -> Sender<()> {
    let (guard, dropped) = channel();
    let watch = move || {
        if dropped.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            leave();
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
        let _guard = at_last(Duration::ZERO, move || sender.send("too long").unwrap());
        let done = at_last(Duration::from_secs(60), move || other.send("done").unwrap());
        drop(done);
        let all: Vec<&str> = left.iter().collect();
        assert_eq!(all, ["too long"]);
    }
}
