//! From a release to its stored file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use subcat_engine::Engine;
use subcat_engine::model::{CachedFile, FileName, ReleaseId};

use super::counts::{FetchCounts, FetchOutcome};
use super::failures::RecentFailures;
use super::fetch_error::FetchError;
use super::health::{AttemptError, HealthReport};
use super::source::{Fetched, Source};
use crate::config::UpstreamSettings;
use crate::files::{kind_of, named_kind, upstream_name};
use crate::runtime::sync::Semaphore;
use crate::runtime::{ControlHandle, Joined, SingleFlight, result_of, time};

/// Fetches, one at a time per release; remembers failures for a while. Lives on the control
/// runtime; its methods may be awaited on any runtime.
pub struct Upstream {
    flight: SingleFlight<ReleaseId, Result<CachedFile, FetchError>>,
    desk: Arc<Desk>,
    control: ControlHandle,
}

/// What a fetch needs.
struct Desk {
    source: Option<Source>,
    engine: Arc<Engine>,
    turns: Semaphore,
    timeout: Duration,
    failures: Mutex<RecentFailures>,
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
            failures: Mutex::new(RecentFailures::new(ttl)),
            counts,
        };
        Self {
            flight: SingleFlight::new(),
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
    ) -> Result<CachedFile, FetchError> {
        let known = || self.desk.known(release);
        let work = || {
            let desk = Arc::clone(&self.desk);
            let (release, record_name) = (release.clone(), record_name.cloned());
            async move { desk.fetch(&release, record_name.as_ref()).await }
        };
        let outcome = match self.flight.join(release, &self.control, known, work) {
            Joined::Known(result) => return result,
            Joined::Leader(outcome) => outcome,
            Joined::Follower(outcome) => {
                self.desk.counts.ended(FetchOutcome::Joined);
                outcome
            }
        };
        result_of(outcome)
            .await
            .unwrap_or(Err(FetchError::NotStored))
    }

    /// What became of fetches so far, and how many are under way.
    pub fn counts(&self) -> &FetchCounts {
        self.desk.counts.set_under_way(self.flight.count());
        &self.desk.counts
    }

    /// How upstream is.
    pub fn health(&self) -> HealthReport {
        if self.desk.source.is_none() {
            return HealthReport::absent();
        }
        let resting = self.desk.failures.lock().count(Instant::now());
        self.desk.counts.health(resting)
    }
}

impl Desk {
    /// What needs no fetch: a file that was stored meanwhile, a failure of late.
    fn known(&self, release: &ReleaseId) -> Option<Result<CachedFile, FetchError>> {
        if let Some(file) = self.engine.cached_file(release) {
            return Some(Ok(file));
        }
        if self.source.is_none() {
            return Some(Err(FetchError::Unavailable));
        }
        let failure = self.failures.lock().get(release, Instant::now())?;
        self.counts.ended(FetchOutcome::Remembered);
        Some(Err(failure))
    }

    async fn fetch(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchError> {
        if let Err(error) = self.engine.check_space() {
            // Upstream need not send what cannot be kept.
            tracing::error!(%error, "nothing is fetched");
            self.counts.ended(FetchOutcome::NotStored);
            return Err(FetchError::NotStored);
        }
        let fetched = match time::timeout(self.timeout, self.fetch_in_turn(release)).await {
            Ok(fetched) => fetched,
            Err(_) => {
                tracing::warn!(%release, "upstream takes too long");
                self.counts.silent(AttemptError::Timeout);
                Err(FetchError::Unavailable)
            }
        };
        let result = match fetched {
            Ok(fetched) => self.store(release, record_name, fetched).await,
            Err(failure) => Err(failure),
        };
        self.counts.ended(match &result {
            Ok(_) => FetchOutcome::Stored,
            Err(FetchError::Unavailable) => FetchOutcome::Unavailable,
            Err(FetchError::Unusable) => FetchOutcome::Unusable,
            Err(FetchError::NotStored) => FetchOutcome::NotStored,
        });
        if let Err(failure @ (FetchError::Unavailable | FetchError::Unusable)) = result {
            let mut failures = self.failures.lock();
            failures.put(release.clone(), failure, Instant::now());
        }
        result
    }

    async fn fetch_in_turn(&self, release: &ReleaseId) -> Result<Fetched, FetchError> {
        let source = self.source.as_ref().ok_or(FetchError::Unavailable)?;
        let _turn = self
            .turns
            .acquire()
            .await
            .map_err(|_| FetchError::Unavailable)?;
        source.fetch(release).await
    }

    /// Recognises and stores what came, off the runtime's threads.
    async fn store(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
        fetched: Fetched,
    ) -> Result<CachedFile, FetchError> {
        let upstream_name = upstream_name(fetched.disposition.as_deref(), &fetched.url_path);
        let name = record_name.or(upstream_name.as_ref());
        let name_kind = name.and_then(|name| named_kind(name.as_str()));
        let Some(kind) = kind_of(&fetched.content, name_kind) else {
            let bytes = fetched.content.len();
            tracing::warn!(%release, bytes, "upstream's answer is no subtitle file");
            return Err(FetchError::Unusable);
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
                Err(FetchError::NotStored)
            }
            Err(_) => Err(FetchError::NotStored),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use subcat_engine::disk::Real;
    use subcat_engine::model::{FileKind, Timestamp};
    use subcat_engine::{Options, StoreKind};

    use super::*;
    use crate::runtime::Control;
    use crate::upstream::UpstreamState;
    use crate::upstream::test_server::{answer, upstream};

    const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";

    struct Room {
        control: Control,
        engine: Arc<Engine>,
        upstream: Arc<Upstream>,
        _dir: tempfile::TempDir,
    }

    fn room(base: Option<&str>) -> Room {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Memory,
            counter_lanes: 0,
        };
        let now = Timestamp::from_seconds(0).unwrap();
        let engine = Arc::new(Engine::open(dir.path(), options, now).unwrap());
        let settings = UpstreamSettings {
            url: base.map(|base| format!("{base}/{{source_release_id}}.srt")),
            ..UpstreamSettings::default()
        };
        let upstream = Upstream::new(&settings, Arc::clone(&engine), control.handle());
        Room {
            control,
            engine,
            upstream: Arc::new(upstream),
            _dir: dir,
        }
    }

    impl Room {
        fn fetch(&self, release: &str) -> Result<CachedFile, FetchError> {
            let release = ReleaseId::parse(release).unwrap();
            self.control.block_on(self.upstream.fetch(&release, None))
        }

        fn count(&self, outcome: FetchOutcome) -> u64 {
            self.upstream.counts().outcome(outcome)
        }
    }

    #[test]
    fn a_file_is_recognised_named_and_stored() {
        let header = "Content-Disposition: attachment; filename=\"a.txt\"\r\n";
        let (base, seen) = upstream([answer("200 OK", header, SRT)]);
        let room = room(Some(&base));
        let file = room.fetch("1").unwrap();
        assert_eq!(file.kind, FileKind::Srt);
        assert_eq!(file.size_bytes, SRT.len() as u64);
        assert_eq!(file.upstream_name, FileName::parse("a.txt"));
        let release = ReleaseId::parse("1").unwrap();
        assert_eq!(room.engine.cached_file(&release), Some(file.clone()));
        assert_eq!(room.fetch("1"), Ok(file), "it is not fetched again");
        assert_eq!(seen.lock().len(), 1);
        assert_eq!(room.count(FetchOutcome::Stored), 1);
    }

    #[test]
    fn a_hundred_clients_are_one_request_which_outlives_them() {
        let (release_answer, wait) = mpsc::channel();
        let answers = std::iter::once_with(move || {
            wait.recv().unwrap();
            answer("200 OK", "", SRT)
        });
        let (base, seen) = upstream(answers);
        let room = room(Some(&base));
        let release = ReleaseId::parse("1").unwrap();
        let mut clients = Vec::new();
        for _ in 0..100 {
            let (upstream, release) = (Arc::clone(&room.upstream), release.clone());
            let fetching = async move { upstream.fetch(&release, None).await };
            clients.push(room.control.handle().spawn(fetching));
        }
        while room.count(FetchOutcome::Joined) < 99 {
            std::thread::yield_now();
        }
        assert_eq!(room.upstream.counts().under_way(), 1);
        let last = clients.pop().unwrap();
        for client in clients {
            client.abort();
        }
        release_answer.send(()).unwrap();
        assert!(room.control.block_on(last).unwrap().is_ok());
        assert_eq!(seen.lock().len(), 1);
        assert!(room.engine.cached_file(&release).is_some());
    }

    #[test]
    fn failures_are_told_apart_and_remembered() {
        let html = answer("200 OK", "", "<!DOCTYPE html><p>no");
        let (base, seen) = upstream([answer("404 Not Found", "", ""), html]);
        let room = room(Some(&base));
        for _ in 0..3 {
            assert_eq!(room.fetch("1"), Err(FetchError::Unavailable));
            assert_eq!(room.fetch("2"), Err(FetchError::Unusable));
        }
        assert_eq!(seen.lock().len(), 2);
        assert_eq!(room.count(FetchOutcome::Unavailable), 1);
        assert_eq!(room.count(FetchOutcome::Unusable), 1);
        assert_eq!(room.count(FetchOutcome::Remembered), 4);
        let health = room.upstream.health();
        assert_eq!(health.state, UpstreamState::Up);
        assert_eq!(health.resting, 2);
        let what = health.last_error.map(|(_, what)| what);
        assert_eq!(what, Some(AttemptError::Status(404)));
        assert!(health.last_success.is_some());
        assert_eq!(
            room.engine.cached_file(&ReleaseId::parse("2").unwrap()),
            None
        );
    }

    #[test]
    fn empty_content_is_unusable() {
        let (base, _) = upstream([answer("200 OK", "", "")]);
        assert_eq!(room(Some(&base)).fetch("1"), Err(FetchError::Unusable));
    }

    #[test]
    fn without_an_upstream_nothing_can_be_fetched() {
        let room = room(None);
        assert_eq!(room.fetch("1"), Err(FetchError::Unavailable));
        assert_eq!(room.upstream.health().state, UpstreamState::Absent);
    }
}
