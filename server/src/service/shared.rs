//! The running service.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::Guard;
use serde::{Deserialize, Serialize};
use subcat_engine::{Change, Engine, Outcome, StateEvent, Timestamp, error_chain};

use super::background::BackgroundHealth;
use super::cluster_node::{ClusterNode, ClusterThreads};
use super::credentials::{Actor, Credentials};
use super::empty_searches::EmptySearches;
use super::history::{Figures, History};
use super::language_counts::{KeptCounts, LanguageCounts};
use super::metrics::Metrics;
use super::observed_time::ObservedTime;
use super::sealing;
use super::served_files::ServedFiles;
use super::settings::{LiveAccessLog, LiveRateLimits, LiveSettings};
use super::slow_searches::SlowSearches;
use super::usage::UsageQueue;
use crate::auth::{KeyTable, SealingKey};
use crate::config::{Compat, Config, ConfigError, Origin, Origins, Registration, SettingChange};
use crate::limiter::AddressLimiter;
use crate::runtime::{Clock, ControlHandle, Moment};
use crate::traces::Tracer;
use crate::upstream::Upstream;

/// State of the service, as `/api/health` and `/readyz` report it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Not listening yet.
    Starting = 0,
    /// Serving.
    Ready = 1,
    /// Asked to stop: finishing requests in progress.
    Draining = 2,
}

impl Phase {
    /// Name in the answer of `/api/health`: `ok` when ready.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ok",
            Self::Draining => "draining",
        }
    }
}

/// The running service.
pub struct Service {
    /// Default limits in effect.
    pub rate_limits: LiveRateLimits,
    /// The requests that get a line in the log.
    pub access_log: LiveAccessLog,
    /// Compatibility with existing clients; only a start changes it.
    pub compat: Compat,
    /// The catalog.
    pub engine: Arc<Engine>,
    /// Fetches files that are not cached.
    pub upstream: Upstream,
    /// Rate limit windows of clients without a valid key.
    pub addresses: AddressLimiter,
    /// Counters, per worker.
    pub metrics: Metrics,
    /// Maker of the spans of traces.
    pub tracer: Tracer,
    /// The latest slow searches.
    pub slow_searches: SlowSearches,
    /// The latest searches that found nothing.
    pub empty_searches: EmptySearches,
    language_counts: KeptCounts,
    /// Figures of the last minutes and days.
    pub history: History,
    /// State of the background tasks.
    pub background: BackgroundHealth,
    /// Files that were served lately.
    pub served_files: ServedFiles,
    /// Usage of keys that is not stored yet.
    pub usage: UsageQueue,
    /// The clock; tests replace it.
    pub clock: Arc<dyn Clock>,
    /// The runtime of work that may wait or block: fetches, pages, administration.
    pub control: ControlHandle,
    /// A [`Phase`] as its number.
    phase: AtomicU8,
    observed: ObservedTime,
    /// True if the last download could not be counted.
    is_counting_failing: AtomicBool,
    /// True if the last look found the disk nearly full.
    is_disk_full: AtomicBool,
    /// Count of segments too large for a merge that was logged last.
    unmergeable_logged: AtomicU64,
    credentials: Arc<Credentials>,
    /// Opens the secrets of second steps; none on a node of a cluster without a copy of it.
    sealing_key: Option<SealingKey>,
    cluster: OnceLock<Arc<ClusterNode>>,
    settings: LiveSettings,
    process: OnceLock<ProcessHooks>,
}

/// Reads the settings again and applies the changes that a running server can apply.
pub type ReloadFn = Box<dyn Fn() -> Result<Reloaded, ConfigError> + Send + Sync>;

/// Functions of the process that a service runs in. Tests have none.
pub struct ProcessHooks {
    /// Reads the settings again.
    pub reload: ReloadFn,
    /// Reads the count of lines that the log has dropped because its queue was full.
    pub dropped_log_lines: fn() -> u64,
}

/// Result of a reload: the settings that differ from those of before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reloaded {
    /// They are in effect.
    pub applied: Vec<SettingChange>,
    /// They take effect when the server is started again.
    pub needs_restart: Vec<SettingChange>,
}

/// The history with the days of earlier processes.
fn stored_history(engine: &Engine) -> History {
    let stored = engine.usage().figures().unwrap_or_else(|error| {
        let error = error_chain(&error);
        tracing::error!(error, "the figures of earlier days could not be read");
        Vec::new()
    });
    History::of_days(&stored)
}

/// The tracer that the settings want. Without its collector everything else works.
fn tracer(config: &Config, control: &ControlHandle) -> Tracer {
    Tracer::start(&config.traces, control).unwrap_or_else(|error| {
        let error = error_chain(&error);
        tracing::error!(error, "nothing is traced");
        Tracer::off()
    })
}

/// The setting that administrators may choose on a page.
pub const REGISTRATION_SETTING: &str = "accounts.registration";

/// Seconds that the wall clock may lag the latest observed time without a warning.
const CLOCK_LAG_SECONDS: i64 = 60;

impl Service {
    /// A service over an open engine, with the keys of the engine. It does not listen until
    /// [`crate::http::serve`]. The engine must have `config.workers + 1` counter lanes.
    pub fn new(
        config: Config,
        engine: Arc<Engine>,
        control: ControlHandle,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        let upstream = Upstream::new(
            &config.upstream,
            Arc::clone(&engine),
            control.clone(),
            Arc::clone(&clock),
        );
        let latest = engine.usage().latest_moment().unwrap_or_else(|error| {
            tracing::error!(%error, "the latest observed time could not be read; using the clock");
            clock.now().timestamp()
        });
        let behind_seconds = latest.seconds() - clock.now().timestamp().seconds();
        if CLOCK_LAG_SECONDS < behind_seconds {
            tracing::warn!(
                %latest,
                behind_seconds,
                "the clock lags the latest observed time: expired keys and sessions stay expired \
                 (subcat clock show)"
            );
        }
        let service = Self {
            observed: ObservedTime::new(latest),
            credentials: Arc::new(Credentials::new(Arc::clone(&engine))),
            sealing_key: sealing::key_of(&engine),
            cluster: OnceLock::new(),
            upstream,
            addresses: AddressLimiter::new(),
            metrics: Metrics::new(config.workers),
            tracer: tracer(&config, &control),
            slow_searches: SlowSearches::default(),
            empty_searches: EmptySearches::default(),
            language_counts: KeptCounts::default(),
            history: stored_history(&engine),
            background: BackgroundHealth::default(),
            served_files: ServedFiles::default(),
            usage: UsageQueue::default(),
            rate_limits: LiveRateLimits::new(&config.rate_limit),
            access_log: LiveAccessLog::new(config.log.access),
            compat: config.compat,
            settings: LiveSettings::new(config),
            process: OnceLock::new(),
            engine,
            clock,
            control,
            phase: AtomicU8::new(Phase::Starting as u8),
            is_counting_failing: AtomicBool::new(false),
            is_disk_full: AtomicBool::new(false),
            unmergeable_logged: AtomicU64::new(0),
        };
        service.bound_files(&service.config());
        Arc::new(service)
    }

    /// The key that opens secrets of second steps and proves known browsers, if there is one.
    pub fn sealing_key(&self) -> Option<&SealingKey> {
        self.sealing_key.as_ref()
    }

    /// Bounds what files take on the disk.
    fn bound_files(&self, config: &Config) {
        let bytes_max = if config.files_can_come_back() {
            config.files_cache_bytes
        } else {
            0
        };
        self.engine.files().limit(bytes_max as u64);
        self.served_files.set_wanted(bytes_max != 0);
        self.engine.keep_free(config.disk_reserve_bytes as u64);
    }

    /// Settings in effect. A reload replaces them: hold the guard no longer than a request.
    pub fn config(&self) -> Guard<Arc<Config>> {
        self.settings.current()
    }

    /// Replaces the settings that the service itself reads. The caller keeps those that only a
    /// start applies.
    pub fn apply(&self, config: Config) {
        if self.config().upstream != config.upstream {
            self.upstream.set(&config.upstream);
        }
        self.rate_limits.set(&config.rate_limit);
        self.bound_files(&config);
        self.access_log.set(config.log.access);
        self.settings.replace(config);
    }

    /// Origins of the settings in effect; `None` if there are no sources, as in tests.
    pub fn origins(&self) -> Option<Arc<Origins>> {
        self.settings.origins()
    }

    /// Notes where settings come from: at the start of all, later of those that a reload applies.
    pub fn set_origins(&self, loaded: &Origins) {
        self.settings.set_origins(loaded);
    }

    /// True if anybody may create an account: by the settings if they are given, else by the choice
    /// of an administrator, else by default.
    pub fn is_registration_open(&self) -> bool {
        let chosen = self.engine.accounts().registration();
        let is_set = self.config().accounts.registration == Registration::Open;
        match chosen {
            Some(is_open) if !self.is_registration_set() => is_open,
            _ => is_set,
        }
    }

    /// True if a file, a variable or a flag sets whether registration is open: then the choice of
    /// administrators does not count.
    pub fn is_registration_set(&self) -> bool {
        let origins = self.origins();
        let origin = origins.as_ref().and_then(|it| it.of(REGISTRATION_SETTING));
        origin.is_some_and(|origin| *origin != Origin::Default)
    }

    /// Attaches the process that the service runs in. Only the first call has an effect.
    pub fn attach(&self, process: ProcessHooks) {
        let _ = self.process.set(process);
    }

    /// Lines that the log has dropped.
    pub fn dropped_log_lines(&self) -> u64 {
        let process = self.process.get();
        process.map_or(0, |process| (process.dropped_log_lines)())
    }

    /// Reads the settings again and applies the changes that can be applied; `None` without a
    /// source. Errors: everything that is wrong with them; then nothing is changed.
    pub fn reload(&self) -> Option<Result<Reloaded, ConfigError>> {
        let process = self.process.get()?;
        Some((process.reload)())
    }

    /// Logs when a download could not be counted, and when they are counted again: a line for each
    /// would fill the log while the disk is full. Returns true if it was counted.
    pub fn note_counted(&self, counted: &subcat_engine::Result<()>) -> bool {
        let was_failing = self.is_counting_failing.load(Ordering::Relaxed);
        if counted.is_err() != was_failing {
            self.is_counting_failing
                .store(counted.is_err(), Ordering::Relaxed);
            match counted {
                Ok(()) => tracing::info!("downloads are counted again"),
                Err(error) => {
                    let error = error_chain(error);
                    tracing::error!(error, "downloads cannot be counted; files are served");
                }
            }
        }
        counted.is_ok()
    }

    /// Looks at the free space, and logs when it has become too little, and when it is enough.
    pub(super) fn note_space(&self) {
        let space = self.engine.files().check_space();
        let was_full = self.is_disk_full.swap(space.is_err(), Ordering::Relaxed);
        match space {
            Err(error) if !was_full => {
                let error = error_chain(&error);
                tracing::error!(
                    error,
                    "the disk is nearly full: records and files are read-only"
                );
            }
            Ok(()) if was_full => tracing::info!("there is room on the disk again"),
            Ok(()) | Err(_) => {}
        }
    }

    /// Logs segments that no merge has memory for, and again when they have doubled.
    pub(super) fn note_segments(&self) {
        let count = self.engine.catalog().unmergeable_segments();
        let logged = self.unmergeable_logged.load(Ordering::Relaxed);
        if 2 * logged <= count && 0 < count {
            self.unmergeable_logged.store(count, Ordering::Relaxed);
            tracing::warn!(
                count,
                "no merge has memory for these segments: searches take longer with each of them"
            );
        }
    }

    /// Keeps the figures of the minute that has just ended, and at the end of the process those of
    /// the minute that has begun. Called once a second. Errors: the engine's; the next minute
    /// stores the same day.
    pub fn note_history(&self, is_last: bool) -> subcat_engine::Result<()> {
        let read = || {
            let figures = Figures::read(&self.metrics, self.upstream.counts());
            // Without statistics the size is not known. A failing disk is reported elsewhere.
            let stats = self.engine.stats().unwrap_or_default();
            (figures, stats.disk_bytes())
        };
        let changed_day = if is_last {
            self.history.note_last(self.now(), read)
        } else {
            self.history.note(self.now(), read)
        };
        if let Some(event) = changed_day {
            self.engine.apply(vec![event])?;
        }
        Ok(())
    }

    /// Changes accounts or API keys, now, as [`Credentials::change`] does.
    ///
    /// Errors: the engine's; nothing is known to be changed then.
    pub async fn change(&self, change: Change, actor: Actor<'_>) -> subcat_engine::Result<Outcome> {
        let changed = self.credentials.change(change, actor, self.now());
        changed.await
    }

    /// Changes accounts or API keys, now, as [`Credentials::change_with_session`] does.
    ///
    /// Errors: the engine's; nothing is known to be changed then.
    pub async fn change_with_session(
        &self,
        change: Change,
        session: StateEvent,
        actor: Actor<'_>,
    ) -> subcat_engine::Result<Outcome> {
        let credentials = &self.credentials;
        let changed = credentials.change_with_session(change, session, actor, self.now());
        changed.await
    }

    /// Makes the service a node of a cluster, and starts its threads. Called once, before it
    /// listens. Errors: a thread cannot be started.
    pub fn join_cluster(
        self: &Arc<Self>,
        node: Arc<ClusterNode>,
    ) -> std::io::Result<ClusterThreads> {
        let service = Arc::downgrade(self);
        let default_limits = Box::new(move || {
            let service = service.upgrade()?;
            Some(service.rate_limits.defaults())
        });
        let threads = node.start(&self.credentials, default_limits)?;
        let confirming = Arc::clone(&node);
        self.credentials.confirm_with(Box::new(move || {
            let node = Arc::clone(&confirming);
            Box::pin(async move { node.wait_for_all().await })
        }));
        let _ = self.cluster.set(node);
        Ok(threads)
    }

    /// The node of a cluster that this service is, if it is one.
    pub fn cluster(&self) -> Option<&Arc<ClusterNode>> {
        self.cluster.get()
    }

    /// Returns true if this node of a cluster may accept no keys, as it has heard nothing from the
    /// log. Cost: two loads.
    #[inline]
    pub fn is_fenced(&self, now: Moment) -> bool {
        let cluster = self.cluster.get();
        cluster.is_some_and(|node| node.is_fenced(now))
    }

    /// The accounts and keys, which nothing else changes.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// The keys that requests may carry.
    pub fn api_keys(&self) -> &KeyTable {
        self.credentials.key_table()
    }

    /// The current second.
    pub fn now(&self) -> Timestamp {
        self.clock.now().timestamp()
    }

    /// Active records by language; of a large catalog up to 15 minutes old.
    pub fn language_counts(&self) -> subcat_engine::Result<LanguageCounts> {
        let snapshot = self.engine.catalog().snapshot();
        self.language_counts.of(&snapshot, self.clock.now())
    }

    /// The second that decides about expiry: `now`, or the latest observed one if the clock was set
    /// back since, so that nothing that has expired becomes valid again. Cost: one relaxed load.
    pub fn effective_now(&self, now: Timestamp) -> Timestamp {
        self.observed.effective(now)
    }

    /// The latest second.
    pub fn latest_second(&self) -> Timestamp {
        self.observed.latest()
    }

    /// Follows a latest second that an operator has set.
    pub fn follow_clock(&self, set: Timestamp) {
        self.observed.set(set);
    }

    /// Compares the clock with the stored second, and tells the log when it is far ahead.
    pub(super) fn note_clock(&self) {
        let now = self.clock.now();
        // A store that cannot be read is told elsewhere.
        let Ok(stored) = self.engine.usage().latest_moment() else {
            return;
        };
        if let Some(ahead_seconds) = self.observed.look(now, stored) {
            tracing::warn!(
                clock = %now.timestamp(),
                latest = %stored,
                ahead_seconds,
                "the clock is far ahead of the latest observed time: it is believed after six \
                 hours, or after subcat clock reset"
            );
        }
    }

    /// The current second, if it is to be stored though it is far ahead of the stored one.
    pub(super) fn confirmed_second(&self) -> Option<Timestamp> {
        self.observed.is_confirmed().then(|| self.now())
    }

    /// Notes an observed second, unless it is far ahead. Called once a second, and whenever a key
    /// or a session is found to have expired, so that a clock that is set back does not revive it.
    pub fn observe_time(&self, moment: Timestamp) {
        self.observed.observe(moment);
    }

    /// State of the service.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::Starting,
            1 => Phase::Ready,
            _ => Phase::Draining,
        }
    }

    /// Changes the state of the service. Draining is final.
    pub fn set_phase(&self, phase: Phase) {
        let keep_draining = |old: u8| {
            if old == Phase::Draining as u8 {
                None
            } else {
                Some(phase as u8)
            }
        };
        let order = Ordering::AcqRel;
        let outcome = self
            .phase
            .fetch_update(order, Ordering::Acquire, keep_draining);
        if outcome.is_err() {
            tracing::debug!(?phase, "the service is draining and keeps draining");
        }
    }
}
