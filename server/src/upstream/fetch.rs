//! From a release to its stored file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use subcat_engine::Engine;
use subcat_engine::model::{CachedFile, FileName, ReleaseId};

use super::counts::{FetchCounts, FetchOutcome};
use super::failures::Failures;
use super::flights::{Flights, Joined, result_of};
use super::names::upstream_name;
use super::sniff::kind_of;
use super::source::{Fetched, Source};
use crate::config::UpstreamSettings;
use crate::respond::named_kind;
use crate::runtime::sync::Semaphore;
use crate::runtime::{ControlHandle, time};

/// Why a file could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchFailure {
    /// 502: unavailable, removed, or a network problem.
    Unavailable,
    /// 400: it came, but is empty, too large or of no known kind.
    Unusable,
    /// 500: it came, but could not be stored.
    NotStored,
}

/// Fetches, one at a time per release; remembers failures for a while. Lives on the control
/// runtime; its methods may be awaited on any runtime.
pub struct Upstream {
    flights: Flights<ReleaseId, Result<CachedFile, FetchFailure>>,
    desk: Arc<Desk>,
    control: ControlHandle,
}

/// What a fetch needs.
struct Desk {
    source: Option<Source>,
    engine: Arc<Engine>,
    turns: Semaphore,
    timeout: Duration,
    failures: Mutex<Failures>,
    counts: Arc<FetchCounts>,
}

impl Upstream {
    /// An upstream with these settings, spawning on `control`.
    pub fn new(settings: &UpstreamSettings, engine: Arc<Engine>, control: ControlHandle) -> Self {
        let counts = Arc::new(FetchCounts::default());
        let source = match Source::new(settings, Arc::clone(&counts)) {
            Ok(source) => source,
            Err(error) => {
                tracing::error!(%error, "no client for upstream.url: nothing can be fetched");
                None
            }
        };
        let ttl = Duration::from_secs(settings.failure_ttl_seconds.into());
        let desk = Desk {
            source,
            engine,
            turns: Semaphore::new(settings.concurrency),
            timeout: Duration::from_secs(settings.timeout_seconds.into()),
            failures: Mutex::new(Failures::new(ttl)),
            counts,
        };
        Self {
            flights: Flights::new(),
            desk: Arc::new(desk),
            control,
        }
    }

    /// The file of `release`: joins a fetch under way, or starts one that goes on even when the
    /// caller leaves. `record_name` is the record's own file name, a hint for the kind of text.
    ///
    /// Cost: at most `upstream.timeout_seconds` and the time that storing takes.
    pub async fn fetch(
        &self,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchFailure> {
        let known = || self.desk.known(release);
        let work = || {
            let desk = Arc::clone(&self.desk);
            let (release, record_name) = (release.clone(), record_name.cloned());
            async move { desk.fetch(&release, record_name.as_ref()).await }
        };
        let outcome = match self.flights.join(release, &self.control, known, work) {
            Joined::Known(result) => return result,
            Joined::Own(outcome) => outcome,
            Joined::Other(outcome) => {
                self.desk.counts.ended(FetchOutcome::Joined);
                outcome
            }
        };
        result_of(outcome)
            .await
            .unwrap_or(Err(FetchFailure::NotStored))
    }

    /// What became of fetches so far, and how many are under way.
    pub fn counts(&self) -> &FetchCounts {
        self.desk.counts.set_under_way(self.flights.count());
        &self.desk.counts
    }
}

impl Desk {
    /// What needs no fetch: a file that was stored meanwhile, a failure of late.
    fn known(&self, release: &ReleaseId) -> Option<Result<CachedFile, FetchFailure>> {
        if let Some(file) = self.engine.cached_file(release) {
            return Some(Ok(file));
        }
        if self.source.is_none() {
            return Some(Err(FetchFailure::Unavailable));
        }
        let failure = self.failures.lock().get(release, Instant::now())?;
        self.counts.ended(FetchOutcome::Remembered);
        Some(Err(failure))
    }

    async fn fetch(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchFailure> {
        let fetched = match time::timeout(self.timeout, self.fetch_in_turn(release)).await {
            Ok(fetched) => fetched,
            Err(_) => {
                tracing::warn!(%release, "upstream takes too long");
                Err(FetchFailure::Unavailable)
            }
        };
        let result = match fetched {
            Ok(fetched) => self.store(release, record_name, fetched).await,
            Err(failure) => Err(failure),
        };
        self.counts.ended(match &result {
            Ok(_) => FetchOutcome::Stored,
            Err(FetchFailure::Unavailable) => FetchOutcome::Unavailable,
            Err(FetchFailure::Unusable) => FetchOutcome::Unusable,
            Err(FetchFailure::NotStored) => FetchOutcome::NotStored,
        });
        if let Err(failure @ (FetchFailure::Unavailable | FetchFailure::Unusable)) = result {
            let mut failures = self.failures.lock();
            failures.put(release.clone(), failure, Instant::now());
        }
        result
    }

    async fn fetch_in_turn(&self, release: &ReleaseId) -> Result<Fetched, FetchFailure> {
        let source = self.source.as_ref().ok_or(FetchFailure::Unavailable)?;
        let _turn = self
            .turns
            .acquire()
            .await
            .map_err(|_| FetchFailure::Unavailable)?;
        source.fetch(release).await
    }

    /// Recognises and stores what came, off the runtime's threads.
    async fn store(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
        fetched: Fetched,
    ) -> Result<CachedFile, FetchFailure> {
        let upstream_name = upstream_name(fetched.disposition.as_deref(), &fetched.url_path);
        let name = record_name.or(upstream_name.as_ref());
        let name_kind = name.and_then(|name| named_kind(name.as_str()));
        let Some(kind) = kind_of(&fetched.content, name_kind) else {
            let bytes = fetched.content.len();
            tracing::warn!(%release, bytes, "upstream's answer is no subtitle file");
            return Err(FetchFailure::Unusable);
        };
        let (desk, release) = (Arc::clone(self), release.clone());
        let storing = move || {
            let content = &fetched.content;
            desk.engine
                .store_file(&release, content, kind, upstream_name.as_ref())
        };
        match ControlHandle::current().spawn_blocking(storing).await {
            Ok(Ok(file)) => Ok(file),
            Ok(Err(error)) => {
                tracing::error!(%error, "a fetched file could not be stored");
                Err(FetchFailure::NotStored)
            }
            Err(_) => Err(FetchFailure::NotStored),
        }
    }
}
