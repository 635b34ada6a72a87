//! What the pages share.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use subcat_engine::{CounterLane, EngineStats};

use super::group_commit::GroupCommit;
use super::hashing::HashingPool;
use super::session::{self, SIGN_INS_PAUSE, SignIn, SignInOutcome};
use super::setup::Setup;
use super::throttle::Throttle;
use crate::service::Service;

/// Microseconds for which figures of the catalog are not asked for again: they stand on the
/// front page, which anyone may load.
const STATS_AGE_US: u64 = 1_000_000;

/// The web interface of a service. One per process, shared by all requests.
pub struct Site {
    pub(crate) service: Arc<Service>,
    pub(crate) setup: Setup,
    pub(crate) throttle: Throttle,
    /// Apart from the other: nobody's tries at a sign-in may fill it.
    pub(crate) catalog_throttle: Throttle,
    pub(crate) hashing: HashingPool,
    /// Those who know their password; whether each has its session, or why it cannot be stored.
    pub(crate) sign_ins: Arc<GroupCommit<SignIn, SignInOutcome>>,
    pub(crate) counter_lane: Mutex<CounterLane>,
    stats: Mutex<Option<(u64, EngineStats)>>,
}

impl Site {
    /// The pages of `service`. Takes one of the engine's counter lanes and starts the threads
    /// that hash passwords.
    ///
    /// Errors: the lane's file cannot be opened, no threads.
    pub fn new(service: Arc<Service>) -> io::Result<Self> {
        let counter_lane = service.engine.counter_lane().map_err(io::Error::other)?;
        let engine = Arc::clone(&service.engine);
        let store = move |sign_ins: &[SignIn]| session::store_sign_ins(&engine, sign_ins);
        Ok(Self {
            service,
            setup: Setup::new(),
            throttle: Throttle::default(),
            catalog_throttle: Throttle::default(),
            hashing: HashingPool::start()?,
            sign_ins: Arc::new(GroupCommit::new(SIGN_INS_PAUSE, store)),
            counter_lane: Mutex::new(counter_lane),
            stats: Mutex::new(None),
        })
    }

    /// Path and query of the one-time link that makes the first account (an admin), as long as
    /// there is no account. `serve` prints it after the address.
    pub fn setup_path(&self) -> Option<String> {
        self.is_first_start().then(|| self.setup.path())
    }

    /// Whether nobody has an account yet.
    pub(crate) fn is_first_start(&self) -> bool {
        self.service.engine.accounts().is_empty()
    }

    /// Figures of the catalog, at most a second old.
    pub(crate) fn stats(&self) -> subcat_engine::Result<EngineStats> {
        let now_us = self.service.clock.now().monotonic_us;
        let mut known = self.stats.lock();
        if let Some((read_us, stats)) = &*known
            && now_us < read_us + STATS_AGE_US
        {
            return Ok(stats.clone());
        }
        let stats = self.service.engine.stats()?;
        *known = Some((now_us, stats.clone()));
        Ok(stats)
    }
}
