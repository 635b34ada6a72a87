//! The serving process: start and stop of workers and maintenance.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::reload::{Reloader, connection_caps};
use super::router::Router;
use crate::api::{ApiWorker, FileVariants, SharedFiles, TextFiles};
use crate::config::{Io, ListenAddress};
use crate::runtime::{Descriptors, ListenSettings, PublicListeners, Workers};
use crate::service::{Maintenance, Phase, Service};
use crate::web::Site;

/// A server that listens.
pub struct Server {
    service: Arc<Service>,
    site: Arc<Site>,
    workers: Workers,
    maintenance: Maintenance,
}

/// Starts workers and maintenance. When it returns, the service is ready and listens on
/// `config.listen` (port 0 becomes a free one, see [`Server::local_addr`]).
///
/// Errors: the address is in use or not a local one, no threads, no counter lanes (one per worker
/// is taken from the engine).
pub fn serve(service: &Arc<Service>) -> io::Result<Server> {
    let config = service.config();
    let listeners = PublicListeners::bind(&config.listen, config.workers)?;
    serve_on(service, listeners)
}

/// As [`serve`], on sockets that listen already.
pub fn serve_on(service: &Arc<Service>, listeners: PublicListeners) -> io::Result<Server> {
    let engine = Arc::clone(&service.engine);
    engine
        .files()
        .keep_open(Descriptors::of_process().blobs_max());
    let files = SharedFiles {
        variants: Arc::new(FileVariants::new(
            Arc::clone(&engine),
            service.control.clone(),
        )),
        texts: Arc::new(TextFiles::new(engine, service.control.clone())),
    };
    let site = Arc::new(Site::new(Arc::clone(service), files.clone())?);
    let config = service.config();
    let mut routers = Vec::new();
    for worker_idx in 0..config.workers {
        let lane = service
            .engine
            .usage()
            .counter_lane()
            .map_err(io::Error::other)?;
        let (service, files) = (Arc::clone(service), files.clone());
        let api = Arc::new(ApiWorker::new(service, files, lane, worker_idx));
        routers.push(Router::new(api, Arc::clone(&site)));
    }
    let settings = ListenSettings {
        listen: config.listen.clone(),
        io: config.io,
        connections: connection_caps(&config),
        proxies: config.trusted_proxies.clone(),
        counts: Arc::clone(&service.metrics.connections),
    };
    let workers = Workers::start_on(listeners, settings, routers)?;
    let maintenance = Maintenance::start(Arc::clone(service))?;
    service.set_phase(Phase::Ready);
    Ok(Server {
        service: Arc::clone(service),
        site,
        workers,
        maintenance,
    })
}

impl Server {
    /// Address of the listeners.
    pub fn address(&self) -> &ListenAddress {
        self.workers.listen_address()
    }

    /// TCP address of the listeners; on a Unix socket, the address that stands for all peers.
    pub fn local_addr(&self) -> SocketAddr {
        self.workers.address()
    }

    /// I/O backend of the workers, never [`Io::Auto`].
    pub fn io(&self) -> Io {
        self.workers.io()
    }

    /// Applies settings to the running server.
    pub fn reloader(&self) -> Reloader {
        let limiter = Arc::clone(self.workers.connection_limiter());
        Reloader::new(Arc::clone(&self.service), limiter)
    }

    /// The pages that it serves.
    pub fn site(&self) -> &Arc<Site> {
        &self.site
    }

    /// Stops: no new connections, `/api/health` answers draining, requests in progress get `grace`
    /// to finish, usage is stored, merges end. Blocks until it is done. The engine stays open.
    /// Returns the number of connections that were closed before their answer was sent.
    pub fn stop(self, grace: Duration) -> u64 {
        self.service.set_phase(Phase::Draining);
        self.maintenance.wind_down();
        self.workers.stop(grace);
        self.maintenance.stop();
        let counts = &self.service.metrics.connections;
        counts.unfinished.load(Ordering::Relaxed)
    }
}
