//! New settings for a running server.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::config::{Applies, Config, Connections, Effective};
use crate::runtime::{ConnectionLimiter, Descriptors};
use crate::service::{Reloaded, Service};

/// Applies settings to a running server, without ending a connection.
pub struct Reloader {
    service: Arc<Service>,
    limiter: Arc<ConnectionLimiter>,
    /// Held during a reload: two of them must not mix.
    turn: Mutex<()>,
}

impl Reloader {
    pub(super) fn new(service: Arc<Service>, limiter: Arc<ConnectionLimiter>) -> Self {
        Self {
            service,
            limiter,
            turn: Mutex::new(()),
        }
    }

    /// Applies the changes that a running server can apply. Returns the applied ones, and those
    /// that need a restart. `then` is called with the settings in effect, for state outside of the
    /// service.
    pub fn apply(&self, effective: Effective, then: impl FnOnce(&Config)) -> Reloaded {
        let loaded = effective.config;
        let _turn = self.turn.lock();
        let running = Arc::clone(&self.service.config());
        let reloaded = Reloaded {
            applied: running.changes(&loaded, Applies::AtReload),
            needs_restart: running.changes(&loaded, Applies::AtStart),
        };
        let config = loaded.applied_over(&running);
        self.limiter
            .set(connection_caps(&config), config.trusted_proxies.clone());
        then(&config);
        self.service.apply(config);
        self.service.set_origins(&effective.origins);
        reloaded
    }
}

/// The caps on connections, lowered to the number of descriptors that are left for them. Lowering
/// a cap that the operator has set is logged as a warning.
pub(super) fn connection_caps(config: &Config) -> Connections {
    let fetches = config.upstream.concurrency;
    let allowed = Descriptors::of_process().connections_max(config.workers, fetches);
    let mut connections = config.connections;
    if connections.max <= allowed {
        return connections;
    }
    if connections.max == Config::default().connections.max {
        tracing::info!(
            allowed,
            "connections.max is lowered to fit the limit of open files"
        );
    } else {
        tracing::warn!(
            allowed,
            "connections.max = {} is lowered to fit the limit of open files: raise that limit \
             (ulimit -n, LimitNOFILE=)",
            connections.max
        );
    }
    connections.max = allowed;
    connections
}
