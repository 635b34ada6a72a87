//! The running service.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use parking_lot::Mutex;
use subcat_engine::Engine;
use subcat_engine::model::Timestamp;

use super::metrics::Metrics;
use super::usage::UsageQueue;
use crate::auth::KeyTable;
use crate::config::Config;
use crate::limiter::AddressLimiter;
use crate::runtime::{Clock, ControlHandle};
use crate::upstream::Upstream;

/// What the service is doing, as `/api/health` and `/readyz` say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not listening yet.
    Starting = 0,
    /// Serving.
    Ready = 1,
    /// Asked to stop: finishing what is under way.
    Draining = 2,
    /// A background step failed and will be tried again: reads are served.
    Failing = 3,
}

impl Phase {
    /// Its name in the answer of `/api/health`: `ok` when ready.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ok",
            Self::Draining => "draining",
            Self::Failing => "failing",
        }
    }
}

/// The running service.
pub struct Service {
    /// Its settings.
    pub config: Config,
    /// The catalog.
    pub engine: Arc<Engine>,
    /// Who may ask.
    pub api_keys: KeyTable,
    /// Where files come from.
    pub upstream: Upstream,
    /// Windows of clients without a valid key.
    pub addresses: AddressLimiter,
    /// What was counted, per worker.
    pub metrics: Metrics,
    /// What keys were used for and is not stored yet.
    pub usage: UsageQueue,
    /// Where time comes from.
    pub clock: Arc<dyn Clock>,
    /// Where slow things run.
    pub control: ControlHandle,
    phase: AtomicU8,
    reloading: Mutex<()>,
}

impl Service {
    /// A service over an open engine, with the keys that the engine knows; it listens nowhere
    /// until [`crate::door::serve`]. The engine must have `config.workers + 1` counter lanes.
    pub fn new(
        config: Config,
        engine: Arc<Engine>,
        control: ControlHandle,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let upstream = Upstream::new(&config.upstream, Arc::clone(&engine), control.clone());
        let service = Self {
            api_keys: KeyTable::new(Vec::new()),
            upstream,
            addresses: AddressLimiter::new(),
            metrics: Metrics::new(config.workers),
            usage: UsageQueue::default(),
            config,
            engine,
            clock,
            control,
            phase: AtomicU8::new(Phase::Starting as u8),
            reloading: Mutex::new(()),
        };
        service.reload_api_keys();
        Arc::new(service)
    }

    /// Reads keys and accounts again and swaps the key table: called after every change of one,
    /// before that change is acknowledged.
    pub fn reload_api_keys(&self) {
        // Two reloads at once must not put the older list over the newer one.
        let _order = self.reloading.lock();
        let mut api_keys = self.engine.api_keys();
        let accounts = self.engine.accounts();
        let is_disabled = |id| {
            let account = accounts.iter().find(|account| account.id == id);
            account.is_none_or(|account| account.disabled_at.is_some())
        };
        api_keys.retain(|api_key| !api_key.account.is_some_and(is_disabled));
        self.api_keys.replace(api_keys);
    }

    /// The current second.
    pub fn now(&self) -> Timestamp {
        self.clock.now().timestamp()
    }

    /// What the service is doing.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Ready,
            2 => Phase::Draining,
            _ => Phase::Failing,
        }
    }

    /// Says what the service is doing from now on. Draining is final.
    pub fn set_phase(&self, phase: Phase) {
        let keep_draining = |old: u8| (old != Phase::Draining as u8).then_some(phase as u8);
        let order = Ordering::AcqRel;
        let outcome = self
            .phase
            .fetch_update(order, Ordering::Acquire, keep_draining);
        if outcome.is_err() {
            tracing::debug!(?phase, "the service is draining and stays so");
        }
    }
}
