//! State that the pages share.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use subcat_engine::EngineStats;

use super::form_tokens::FormTokens;
use super::group_commit::{GroupCommit, StoredGroup};
use super::hashing::HashingPool;
use super::packed::PackedPages;
use super::session::{self, SIGN_INS_PAUSE, SignIn, SignInOutcome};
use super::setup::Setup;
use super::throttle::Throttle;
use crate::api::SharedFiles;
use crate::service::Service;

/// Maximum age of reused statistics: pages of administrators show them. They cost a pass over the
/// segments.
const STATS_REUSED_US: u64 = 1_000_000;

/// The web interface of a service: one per process, shared by all requests.
pub struct Site {
    pub(crate) service: Arc<Service>,
    pub(crate) setup: Setup,
    pub(crate) throttle: Throttle,
    /// Apart from `throttle`, so that a flood of sign-ins cannot fill it.
    pub(crate) catalog_throttle: Throttle,
    pub(crate) hashing: HashingPool,
    /// Pages that were compressed lately.
    pub(crate) packed_pages: PackedPages,
    /// One-time values of the forms of new keys.
    pub(crate) form_tokens: FormTokens,
    /// Sign-ins with the right password, stored in groups.
    pub(crate) sign_ins: Arc<GroupCommit<SignIn, SignInOutcome>>,
    /// Stored files.
    pub(crate) files: SharedFiles,
    /// Latest statistics, and the time of reading them.
    stats: Mutex<Option<(u64, EngineStats)>>,
}

impl Site {
    /// The pages of `service`. Starts the threads that hash passwords.
    ///
    /// Errors: a thread cannot be started.
    pub fn new(service: Arc<Service>, files: SharedFiles) -> io::Result<Self> {
        let engine = Arc::clone(&service.engine);
        let store = move |sign_ins: Vec<SignIn>| -> StoredGroup<SignInOutcome> {
            let engine = Arc::clone(&engine);
            Box::pin(async move { session::store_sign_ins(&engine, &sign_ins).await })
        };
        Ok(Self {
            service,
            setup: Setup::new(),
            throttle: Throttle::default(),
            catalog_throttle: Throttle::default(),
            hashing: HashingPool::start()?,
            packed_pages: PackedPages::default(),
            form_tokens: FormTokens::new(),
            sign_ins: Arc::new(GroupCommit::new(SIGN_INS_PAUSE, store)),
            files,
            stats: Mutex::new(None),
        })
    }

    /// Path and query of the one-time link that creates the first administrator; `None` once there
    /// is one. `serve` prints it after the address.
    pub fn setup_path(&self) -> Option<String> {
        if self.is_first_start() {
            Some(self.setup.path())
        } else {
            None
        }
    }

    /// True if there is no administrator yet. Accounts of others do not count: the first sign-up
    /// must not take the link away from the operator.
    pub(crate) fn is_first_start(&self) -> bool {
        !self.service.engine.accounts().has_administrator()
    }

    /// Statistics of the engine, up to a second old.
    pub(crate) fn stats(&self) -> subcat_engine::Result<EngineStats> {
        let now_us = self.service.clock.now().monotonic_us;
        if let Some((read_us, stats)) = &*self.stats.lock()
            && now_us < read_us + STATS_REUSED_US
        {
            return Ok(stats.clone());
        }
        // The lock is not held while reading: other callers would wait on one of the few blocking
        // threads. That two read at once does no harm.
        let stats = self.service.engine.stats()?;
        *self.stats.lock() = Some((now_us, stats.clone()));
        Ok(stats)
    }
}
