//! This process as a node of a cluster: four threads, one that applies the log, one that appends
//! what callers have queued, one that sends heartbeats, one that exchanges the counts of rate
//! limits; and their interface to the rest of the service.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use subcat_engine::{
    Beat, BeatPromise, Engine, Error, Log, NodeId, NodeStatus, Replica, ReplicaStatus, error_chain,
};

use super::credentials::Credentials;
use super::shared_counts::SharedCounts;
use crate::auth::DefaultLimits;
use crate::cluster::Exchange;
use crate::config::ClusterSettings;
use crate::limits::{BEAT_SECONDS, CONFIRM_WAITERS_MAX, NODE_SILENT_SECONDS};
use crate::runtime::{Clock, Moment, TaskSignal};
use tokio::sync::Semaphore;

/// Time for which the follower waits for a new entry before it looks whether it is to stop.
const WAIT_LIMIT: Duration = Duration::from_millis(200);
/// Pause after a panic.
const PANIC_PAUSE: Duration = Duration::from_secs(1);
/// Pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_millis(200);
/// Time between signs of life.
const BEAT_PERIOD: Duration = Duration::from_secs(BEAT_SECONDS);
/// Missed heartbeats before the state reports them.
const MISSED_BEATS: u32 = 3;
/// Maximum time between two looks at what other nodes have applied. Most come sooner, when a part
/// of the log was applied.
const CONFIRM_PERIOD: Duration = Duration::from_millis(100);
/// Time between two looks at the log without its threads.
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// Time between two rounds of the exchange of the counts of rate limits.
const LIMITS_PERIOD: Duration = Duration::from_millis(100);
/// Short rounds in this time, while a window may be full before the next round.
const HOT_ROUNDS: u32 = 5;
/// Time between two notes on the disk of how far the log was applied.
const POSITION_PERIOD: Duration = Duration::from_secs(60);
/// Maximum time that a start spends on catching up with the log before it serves.
const CATCH_UP_LIMIT: Duration = Duration::from_secs(60);

/// Entry that a node which accepts no requests obeys.
pub const ACCEPTS_NOTHING: u64 = Beat::ACCEPTS_NOTHING;

/// The limits of keys without one of their own; `None` when the service has ended.
pub(super) type DefaultLimitsFn = Box<dyn Fn() -> Option<DefaultLimits> + Send>;

/// This process as a node of a cluster.
pub struct ClusterNode {
    replica: Arc<Replica>,
    name: String,
    /// Time for which keys are accepted without news from the log; `None` for ever.
    stale_after: Option<Duration>,
    /// End of that time, in microseconds of the monotonic clock.
    fresh_until_us: AtomicU64,
    /// Permits of tasks that wait until other nodes obey.
    confirming: Semaphore,
    /// Told when the log was applied further.
    heard: TaskSignal,
    clock: Arc<dyn Clock>,
    started_at: Duration,
    /// Unix milliseconds of the start: another value for each start of the node.
    incarnation: u64,
    /// The way to other nodes for the counts of rate limits.
    exchange: OnceLock<Arc<dyn Exchange>>,
    /// Last entry of the log that requests here obey.
    visible: AtomicU64,
    /// Held while the table of keys follows.
    refreshing: Mutex<()>,
    /// Last entry of the log, as of the last sign of life.
    last_entry: AtomicU64,
    /// Reading and appending fail apart: entries are read from a minority of the log's servers.
    reading: LogTrouble,
    appending: LogTrouble,
    is_stopping: AtomicBool,
    beat_now: Mutex<bool>,
    beat_wanted: Condvar,
}

/// State of the node, for pages, metrics and commands.
#[derive(Debug, Clone)]
pub struct ClusterState {
    /// The replica's.
    pub replica: ReplicaStatus,
    /// Name of this node.
    pub name: String,
    /// Entries that are not applied yet; none while the log is not followed: then its end is not
    /// known, or entries are no longer applied.
    pub lag: Option<u64>,
    /// Reason why the log cannot be reached, or is not followed.
    pub problem: Option<String>,
    /// The monotonic clock.
    pub now: Duration,
}

/// A node that has not said yet that it obeys the last change of keys.
struct UnconfirmedNode {
    name: String,
    /// Time of the monotonic clock from which it accepts no keys, by its own promise.
    accepts_until: Duration,
}

impl UnconfirmedNode {
    fn sentence(&self, now: Moment) -> String {
        let left_ms = self.accepts_until.as_millis() as i64 - (now.monotonic_us / 1000) as i64;
        let until = Moment {
            unix_ms: now.unix_ms + left_ms,
            ..now
        };
        let until = until.timestamp();
        format!(
            "node {} has not confirmed, it accepts nothing from {until} on",
            self.name
        )
    }
}

/// State of a node that is to be forgotten, as the log tells it.
enum Presence {
    /// It has left, or never was there.
    Unknown,
    /// It has promised to accept no keys from a time on that has passed.
    Ended {
        /// Entry up to which this was so.
        as_of: u64,
    },
    /// It was heard since the question.
    Heard,
    /// It may accept keys, and has not been heard since the question.
    Promised,
}

/// Time from which a node accepts no keys, if it is not heard again.
fn accepts_until(status: &NodeStatus) -> Duration {
    let promised = match status.beat.promise.accepts_ms {
        u64::MAX => Duration::from_secs(NODE_SILENT_SECONDS),
        accepts_ms => Duration::from_millis(accepts_ms),
    };
    // A second more: clocks of machines do not run alike.
    status.heard_at + promised + Duration::from_secs(1)
}

/// Threads of a node.
pub struct ClusterThreads {
    node: Arc<ClusterNode>,
    threads: Vec<JoinHandle<()>>,
}

impl ClusterNode {
    /// Attaches an engine to the log.
    ///
    /// Errors: the data directory is in no cluster.
    pub fn attach(
        engine: &Engine,
        log: Arc<dyn Log>,
        settings: &ClusterSettings,
        clock: Arc<dyn Clock>,
    ) -> subcat_engine::Result<Arc<Self>> {
        let monotonic = Arc::clone(&clock);
        let monotonic = Arc::new(move || time_of(monotonic.now()));
        let started = clock.now();
        let incarnation = u64::try_from(started.unix_ms).unwrap_or(0);
        let replica = engine.follow(log, monotonic, incarnation)?;
        let name = settings.node.clone();
        let seconds = settings.auth_max_stale_seconds;
        Ok(Arc::new(Self {
            name: name.unwrap_or_else(|| replica.status().node.to_string()),
            stale_after: (seconds != 0).then(|| Duration::from_secs(seconds.into())),
            // Keys that were revoked while this node was away must not be accepted before it has
            // caught up.
            fresh_until_us: AtomicU64::new(if seconds == 0 { u64::MAX } else { 0 }),
            confirming: Semaphore::new(CONFIRM_WAITERS_MAX),
            heard: TaskSignal::default(),
            visible: AtomicU64::new(replica.applied()),
            replica,
            clock,
            started_at: time_of(started),
            incarnation,
            exchange: OnceLock::new(),
            refreshing: Mutex::new(()),
            last_entry: AtomicU64::new(0),
            reading: LogTrouble::of("the log of the cluster is not followed"),
            appending: LogTrouble::of("nothing is appended to the log of the cluster"),
            is_stopping: AtomicBool::new(false),
            beat_now: Mutex::new(true),
            beat_wanted: Condvar::new(),
        }))
    }

    /// Applies what the log has, before the service starts. Errors are logged: reads are served
    /// without the log.
    pub fn catch_up(&self) {
        let end = Instant::now() + CATCH_UP_LIMIT;
        while Instant::now() < end {
            match self.replica.step() {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    let error = error_chain(&error);
                    tracing::error!(error, "the log of the cluster cannot be followed");
                    return;
                }
            }
        }
        tracing::warn!("the service starts while it still catches up with the log of the cluster");
    }

    /// Makes rate limits hold for all nodes together. Called before the start; only the first call
    /// has an effect.
    pub fn share_limits(&self, exchange: Arc<dyn Exchange>) {
        let _ = self.exchange.set(exchange);
    }

    /// Starts the threads. Errors: one cannot be started.
    pub(super) fn start(
        self: &Arc<Self>,
        credentials: &Arc<Credentials>,
        default_limits: DefaultLimitsFn,
    ) -> std::io::Result<ClusterThreads> {
        let (following, beating) = (Arc::clone(self), Arc::clone(self));
        let appending = Arc::clone(self);
        let credentials = Arc::clone(credentials);
        let its_credentials = Arc::clone(&credentials);
        let counted_credentials = Arc::clone(&credentials);
        let mut threads = vec![
            spawn("log", move || {
                following.supervise(|| following.follow(&credentials));
            })?,
            spawn("append", move || {
                appending.supervise(|| appending.append());
            })?,
            spawn("beat", move || {
                beating.supervise(|| beating.beat(&its_credentials));
            })?,
        ];
        if let Some(exchange) = self.exchange.get().map(Arc::clone) {
            let sharing = Arc::clone(self);
            threads.push(spawn("limits", move || {
                sharing.supervise(|| {
                    sharing.exchange_counts(&*exchange, &counted_credentials, &default_limits);
                });
            })?);
        }
        Ok(ClusterThreads {
            node: Arc::clone(self),
            threads,
        })
    }

    /// Runs a loop until it ends, again after a panic: without it nothing would be followed, or no
    /// sign of life given, until a restart.
    fn supervise(&self, run: impl Fn()) {
        // What it shares is consistent at every step, as with a process that was killed.
        while catch_unwind(AssertUnwindSafe(&run)).is_err() {
            if self.is_stopping.load(Ordering::Acquire) {
                return;
            }
            std::thread::sleep(PANIC_PAUSE);
        }
    }

    /// Returns true if keys may have been revoked without this node's knowledge, because the log
    /// was silent for too long. Cost: one relaxed load.
    #[inline]
    pub fn is_fenced(&self, now: Moment) -> bool {
        self.fresh_until_us.load(Ordering::Relaxed) <= now.monotonic_us
    }

    /// Waits until every node obeys the changes of keys that were applied here until now, or, as it
    /// has promised in its last beat, accepts no keys. Ends after the longest promise; if many wait
    /// already, at once: [`ClusterNode::unconfirmed`] tells then which nodes are waited for.
    pub async fn wait_for_all(&self) {
        if let Ok(_permit) = self.confirming.try_acquire() {
            // Own requests obey it already: the caller has changed the table of keys.
            let changed_at = self.replica.keys_changed_at();
            while self.is_waiting_for(changed_at) {
                self.heard.wait(CONFIRM_PERIOD).await;
            }
        }
        for node in self.unconfirmed() {
            tracing::warn!("keys were ended, and {node}");
        }
    }

    /// Returns true if a node may accept keys and does not obey the log up to `changed_at`, unless
    /// this one is being stopped.
    fn is_waiting_for(&self, changed_at: u64) -> bool {
        if self.is_stopping.load(Ordering::Acquire) {
            return false;
        }
        let now = time_of(self.clock.now());
        let mut nodes = self.unconfirmed_at(changed_at).into_iter();
        nodes.any(|it| now < it.accepts_until)
    }

    /// The nodes that have not said yet that they obey the last change of keys, a sentence each.
    pub fn unconfirmed(&self) -> Vec<String> {
        let now = self.clock.now();
        // Not the last entry: that may be the heartbeat of another node. That node would then have
        // no reason to report before its next heartbeat that it has applied the change.
        let nodes = self.unconfirmed_at(self.replica.keys_changed_at());
        nodes.iter().map(|it| it.sentence(now)).collect()
    }

    fn unconfirmed_at(&self, changed_at: u64) -> Vec<UnconfirmedNode> {
        let status = self.replica.status();
        let others = status.nodes.iter().filter(|it| it.node != status.node);
        let lagging = others.filter(|it| it.beat.applied < changed_at);
        let unconfirmed = lagging.map(|it| UnconfirmedNode {
            name: it.beat.name.clone(),
            accepts_until: accepts_until(it),
        });
        unconfirmed.collect()
    }

    /// This node's promise of a beat that is given now. After one that has not come back, it is the
    /// rest of the last one that has: a node that gives beats and applies nothing is not waited for
    /// without end.
    fn promise(&self, now: Moment, is_renewed: bool) -> BeatPromise {
        let Some(after) = self.stale_after else {
            return BeatPromise {
                accepts_ms: u64::MAX,
                stale_seconds: 0,
            };
        };
        let until_us = self.fresh_until_us.load(Ordering::Relaxed);
        let left_us = until_us.saturating_sub(now.monotonic_us);
        BeatPromise {
            accepts_ms: if is_renewed {
                after.as_millis() as u64
            } else {
                left_us.div_ceil(1000)
            },
            stale_seconds: after.as_secs(),
        }
    }

    /// Accepts keys for some time from the beginning of a beat on that has come back, unless the
    /// wall clock has jumped since: the machine may have been paused for any time.
    fn renew(&self, began: Moment, jumps_count: u64) {
        let Some(after) = self.stale_after else {
            return;
        };
        let until_us = began.monotonic_us + after.as_micros() as u64;
        self.fresh_until_us.fetch_max(until_us, Ordering::Relaxed);
        self.fence_after_jump(jumps_count);
    }

    /// Accepts no keys until the next beat has come back if the wall clock has jumped since.
    fn fence_after_jump(&self, jumps_count: u64) {
        self.clock.resync();
        if self.clock.jumps_count() != jumps_count && self.stale_after.is_some() {
            tracing::warn!("the wall clock has jumped: no key is accepted until the log is heard");
            self.fresh_until_us.store(0, Ordering::Relaxed);
        }
    }

    /// Removes a node that does not come back from the list of all nodes, once it certainly accepts
    /// no keys. Returns false if it is heard before.
    pub async fn forget(&self, node: NodeId) -> subcat_engine::Result<bool> {
        let began = time_of(self.clock.now());
        while !self.is_stopping.load(Ordering::Acquire) {
            match self.presence(node, began) {
                Presence::Unknown => return Ok(true),
                Presence::Heard => return Ok(false),
                Presence::Ended { as_of } => {
                    self.replica.submit_dismissal(node, as_of).await?;
                    return Ok(!self.replica.knows(node));
                }
                Presence::Promised => self.heard.wait(CONFIRM_PERIOD).await,
            }
        }
        let problem = "the server is being stopped, the node is not forgotten".to_owned();
        Err(Error::Cluster { problem })
    }

    /// The same without a server: this thread follows the log.
    pub fn forget_alone(&self, node: NodeId) -> subcat_engine::Result<bool> {
        let began = time_of(self.clock.now());
        loop {
            match self.presence(node, began) {
                Presence::Unknown => return Ok(true),
                Presence::Heard => return Ok(false),
                Presence::Ended { as_of } => return self.replica.dismiss(node, as_of),
                Presence::Promised => {
                    std::thread::sleep(POLL_INTERVAL);
                    self.replica.step()?;
                }
            }
        }
    }

    /// Tells if a node may still accept keys, and if it was heard since `began`.
    fn presence(&self, node: NodeId, began: Duration) -> Presence {
        // Before the look: news that arrives later is after this entry.
        let as_of = self.replica.applied();
        let nodes = self.replica.status().nodes;
        let Some(status) = nodes.iter().find(|it| it.node == node) else {
            return Presence::Unknown;
        };
        let now = time_of(self.clock.now());
        if status.beat.applied == ACCEPTS_NOTHING || accepts_until(status) < now {
            Presence::Ended { as_of }
        } else if began < status.heard_at {
            Presence::Heard
        } else {
            Presence::Promised
        }
    }

    /// The lowest entry that a node has applied which was heard within the last minute.
    pub fn lowest_applied(&self) -> Option<u64> {
        let now = time_of(self.clock.now());
        let heard_since = now.saturating_sub(Duration::from_secs(NODE_SILENT_SECONDS));
        let nodes = self.replica.status().nodes;
        let heard = nodes.iter().filter(|it| heard_since <= it.heard_at);
        heard.map(|it| it.beat.applied).min()
    }

    /// Tells the other nodes that this one leaves the cluster. Its server is stopped.
    pub fn depart(&self) -> subcat_engine::Result<()> {
        self.replica.depart()
    }

    /// Returns true if everything that was in the log at the start is applied.
    pub fn has_caught_up(&self) -> bool {
        self.replica.progress().fresh_as_of.is_some()
    }

    /// State for pages, metrics and commands.
    pub fn state(&self) -> ClusterState {
        let replica = self.replica.status();
        let now = time_of(self.clock.now());
        let problem = replica.stopped.clone();
        let problem = problem.or_else(|| self.reading.reason());
        let problem = problem.or_else(|| self.appending.reason());
        let problem = problem.or_else(|| {
            let seconds = self.silent_for(replica.fresh_as_of, now)?.as_secs();
            Some(format!(
                "nothing that this node appends has come back from the log for {seconds} s"
            ))
        });
        let is_followed = problem.is_none();
        ClusterState {
            lag: is_followed.then(|| self.lag_of(replica.applied)),
            problem,
            replica,
            name: self.name.clone(),
            now,
        }
    }

    /// Lag behind the log; `None` while it is not followed: that of [`ClusterNode::state`]. Cost:
    /// some briefly held locks, because clients may call this at any rate.
    pub fn lag(&self) -> Option<u64> {
        let progress = self.replica.progress();
        let now = time_of(self.clock.now());
        let is_followed = !progress.is_stopped
            && !self.reading.is_there()
            && !self.appending.is_there()
            && self.silent_for(progress.fresh_as_of, now).is_none();
        is_followed.then(|| self.lag_of(progress.applied))
    }

    /// Entries after `applied`, as of the last beat.
    fn lag_of(&self, applied: u64) -> u64 {
        let last_entry = self.last_entry.load(Ordering::Relaxed);
        last_entry.saturating_sub(applied)
    }

    /// Time without a beat of this node, if that is longer than it may be: an append without an
    /// answer is tried for seconds before it is an error.
    fn silent_for(&self, fresh_as_of: Option<Duration>, now: Duration) -> Option<Duration> {
        let silent_for = now.saturating_sub(fresh_as_of.unwrap_or(self.started_at));
        (BEAT_PERIOD * MISSED_BEATS < silent_for).then_some(silent_for)
    }

    fn follow(&self, credentials: &Credentials) {
        let mut stored_at = Instant::now();
        while !self.is_stopping.load(Ordering::Acquire) {
            self.replica.wait(WAIT_LIMIT);
            let stepped = self.replica.step();
            self.refresh(credentials);
            self.heard.give();
            if self.replica.is_beat_wanted() {
                self.want_beat();
            }
            let is_failed = stepped.is_err();
            self.reading.note(stepped.map(drop));
            if is_failed {
                std::thread::sleep(FAILURE_PAUSE);
            }
            if POSITION_PERIOD <= stored_at.elapsed() {
                stored_at = Instant::now();
                self.reading.note(self.replica.store_position());
            }
        }
    }

    fn append(&self) {
        while !self.is_stopping.load(Ordering::Acquire) {
            self.replica.append_queued(WAIT_LIMIT);
        }
        // Of requests that have just ended.
        self.replica.append_queued(Duration::ZERO);
    }

    /// Updates the table of keys to the applied entries.
    fn refresh(&self, credentials: &Credentials) {
        let _in_order = self.refreshing.lock();
        let applied = self.replica.obeyed();
        let touched = self.replica.take_touched();
        if !touched.is_empty() {
            credentials.refresh_touched(&touched);
        }
        self.visible.fetch_max(applied, Ordering::AcqRel);
    }

    fn beat(&self, credentials: &Credentials) {
        let mut diverged = BTreeSet::new();
        let mut is_renewed = true;
        let mut jumps_count = self.clock.jumps_count();
        while !self.is_stopping.load(Ordering::Acquire) {
            {
                let mut is_wanted = self.beat_now.lock();
                if !*is_wanted {
                    self.beat_wanted.wait_for(&mut is_wanted, BEAT_PERIOD);
                }
                *is_wanted = false;
            }
            self.fence_after_jump(jumps_count);
            jumps_count = self.clock.jumps_count();
            let began = self.clock.now();
            let promise = self.promise(began, is_renewed);
            let beaten = self.give_sign(self.visible.load(Ordering::Acquire), promise);
            // The table of keys first: a change that it lacks may be a revocation.
            self.refresh(credentials);
            self.heard.give();
            if beaten.is_ok() && is_renewed {
                self.renew(began, jumps_count);
            }
            if beaten.is_ok() && !is_renewed {
                // It has promised nothing new: the next one does.
                self.want_beat();
            }
            is_renewed = beaten.is_ok();
            if let Ok(last) = self.replica.last_entry() {
                self.last_entry.store(last, Ordering::Relaxed);
            }
            let is_failed = beaten.is_err();
            self.appending
                .note(beaten.and_then(|()| self.replica.announce()));
            self.tell_of_diverged(&mut diverged);
            if is_failed {
                std::thread::sleep(FAILURE_PAUSE);
            }
        }
    }

    /// Logs each node that has other rows than this one, once.
    fn tell_of_diverged(&self, reported: &mut BTreeSet<NodeId>) {
        for status in self.replica.status().nodes {
            if !status.is_diverged {
                reported.remove(&status.node);
            } else if reported.insert(status.node) {
                tracing::error!(
                    node = %status.node,
                    name = status.beat.name,
                    entry = status.beat.hashed_at,
                    "a node of the cluster has other rows than this one; nothing is overwritten: \
                     run subcat verify on both, and let the wrong one join again"
                );
            }
        }
    }

    fn exchange_counts(
        &self,
        exchange: &dyn Exchange,
        credentials: &Credentials,
        default_limits: &DefaultLimitsFn,
    ) {
        let node = self.replica.node();
        let mut counts = SharedCounts::new(node, self.incarnation);
        while !self.is_stopping.load(Ordering::Acquire) {
            if counts.is_hot() {
                for _ in 1..HOT_ROUNDS {
                    std::thread::sleep(LIMITS_PERIOD / HOT_ROUNDS);
                    counts.exchange_hot(exchange, self.clock.now());
                }
                std::thread::sleep(LIMITS_PERIOD / HOT_ROUNDS);
            } else {
                std::thread::sleep(LIMITS_PERIOD);
            }
            let Some(defaults) = default_limits() else {
                return;
            };
            counts.exchange(
                credentials.key_table(),
                defaults,
                exchange,
                self.clock.now(),
            );
        }
    }

    /// Gives a sign of life: requests here obey the log up to `visible`.
    fn give_sign(&self, visible: u64, promise: BeatPromise) -> subcat_engine::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        self.replica.beat(&self.name, version, visible, promise)
    }

    fn want_beat(&self) {
        *self.beat_now.lock() = true;
        self.beat_wanted.notify_one();
    }
}

/// A use of the log that may fail, and why it does.
struct LogTrouble {
    /// Sentence for the log of this process.
    sentence: &'static str,
    reason: Mutex<Option<String>>,
}

impl LogTrouble {
    fn of(sentence: &'static str) -> Self {
        Self {
            sentence,
            reason: Mutex::new(None),
        }
    }

    fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    fn is_there(&self) -> bool {
        self.reason.lock().is_some()
    }

    /// Logs when it begins to fail, and when it works again.
    fn note(&self, outcome: subcat_engine::Result<()>) {
        let mut reason = self.reason.lock();
        match outcome {
            Err(error) => {
                let error = error_chain(&error);
                if reason.is_none() {
                    tracing::error!(error, "{}", self.sentence);
                }
                *reason = Some(error);
            }
            Ok(()) => {
                if reason.take().is_some() {
                    tracing::info!("this is over: {}", self.sentence);
                }
            }
        }
    }
}

impl ClusterThreads {
    /// Ends the threads.
    pub fn stop(self) {
        self.node.is_stopping.store(true, Ordering::Release);
        self.node.heard.give();
        self.node.want_beat();
        for thread in self.threads {
            // A panic was logged by the hook.
            let _ = thread.join();
        }
        // Requests have ended: the other nodes need not wait for this one.
        if self.node.appending.reason().is_none() {
            let promise = self.node.promise(self.node.clock.now(), false);
            let _ = self.node.give_sign(ACCEPTS_NOTHING, promise);
        }
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run)
}

fn time_of(moment: Moment) -> Duration {
    Duration::from_micros(moment.monotonic_us)
}
