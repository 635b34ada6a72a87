//! From a release to its stored file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use subcat_engine::{CachedFile, ContentHash, Engine, FileFacts, FileName, ReleaseId, error_chain};

use super::client::{Fetched, UpstreamClient};
use super::counts::{FetchCounts, FetchOutcome};
use super::fetch_error::FetchError;
use super::health::{AttemptError, HealthReport};
use crate::cache::ExpiringMap;
use crate::config::UpstreamSettings;
use crate::files::{RecognisedFile, foreign_name, named_kind, recognise, upstream_name};
use crate::limits::{FETCH_FAILURES_MAX, REFETCH_SECONDS};
use crate::runtime::{
    Clock, ControlHandle, Descriptors, Joined, SingleFlight, WorkKind, result_of,
};
use tokio::sync::Semaphore;
use tokio::time;

/// The upstream service: fetches files, one fetch at a time for each release, and remembers
/// failures for a while. Fetches run on the control runtime; any runtime may wait for them.
pub struct Upstream {
    flight: SingleFlight<ReleaseId, Result<CachedFile, FetchError>>,
    state: Arc<FetchState>,
    control: ControlHandle,
}

/// Failed fetches by release, so that a missing file does not cost a request upstream for every
/// client that wants it.
type RecentFailures = ExpiringMap<ReleaseId, FetchError, Instant>;

/// State that all fetches share. Apart from [`Upstream`], because a fetch outlives the call that
/// started it.
struct FetchState {
    access: ArcSwap<UpstreamAccess>,
    engine: Arc<Engine>,
    clock: Arc<dyn Clock>,
    failures: Mutex<RecentFailures>,
    counts: Arc<FetchCounts>,
    control: ControlHandle,
}

/// Access to upstream with the settings in effect. Fetches in flight keep theirs.
struct UpstreamAccess {
    /// `None` if `upstream.url` is not set, or no client could be built.
    client: Option<UpstreamClient>,
    /// Bounds the requests sent upstream at once.
    permits: Semaphore,
    timeout: Duration,
    /// Time for which a failure is remembered.
    failure_ttl: Duration,
}

impl UpstreamAccess {
    fn new(settings: &UpstreamSettings, counts: &Arc<FetchCounts>) -> Self {
        let client = match UpstreamClient::new(settings, Arc::clone(counts)) {
            Ok(client) => client,
            Err(error) => {
                // Cached files are still served, so the process starts.
                let error = error_chain(&error);
                tracing::error!(error, "upstream cannot be asked: fetching is disabled");
                None
            }
        };
        let fetches = Descriptors::of_process().fetches_max(settings.concurrency);
        if fetches < settings.concurrency {
            tracing::warn!(
                fetches,
                "upstream.concurrency = {} is lowered to fit the limit of open files: raise that \
                 limit (ulimit -n, LimitNOFILE=)",
                settings.concurrency
            );
        }
        Self {
            client,
            permits: Semaphore::new(fetches),
            timeout: Duration::from_secs(settings.timeout_seconds.into()),
            failure_ttl: Duration::from_secs(settings.failure_ttl_seconds.into()),
        }
    }
}

impl Upstream {
    /// An upstream with these settings, which spawns its fetches on `control`.
    pub fn new(
        settings: &UpstreamSettings,
        engine: Arc<Engine>,
        control: ControlHandle,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let counts = Arc::new(FetchCounts::default());
        let state = FetchState {
            access: ArcSwap::from_pointee(UpstreamAccess::new(settings, &counts)),
            engine,
            clock,
            failures: Mutex::new(RecentFailures::new(FETCH_FAILURES_MAX)),
            counts,
            control: control.clone(),
        };
        Self {
            flight: SingleFlight::new(),
            state: Arc::new(state),
            control,
        }
    }

    /// Changes the settings for the fetches that start from now on. The state of the previous
    /// upstream (failed releases, its health) is forgotten: the new settings may name another
    /// server.
    pub fn set(&self, settings: &UpstreamSettings) {
        let state = &self.state;
        let access = UpstreamAccess::new(settings, &state.counts);
        state.access.store(Arc::new(access));
        *state.failures.lock() = RecentFailures::new(FETCH_FAILURES_MAX);
        state.counts.forget_health();
    }

    /// The file of `release`: the stored one, else [`Upstream::fetch`]. A stored one that is due to
    /// be fetched again is still served while upstream sends no better one.
    pub async fn file(
        &self,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchError> {
        let stored = self.state.engine.files().cached_file(release);
        match stored {
            Some(file) if !file.is_due(self.state.clock.now().timestamp()) => Ok(file),
            Some(file) => Ok(self.fetch(release, record_name).await.unwrap_or(file)),
            None => self.fetch(release, record_name).await,
        }
    }

    /// Fetches the file of `release`: joins the fetch in flight, or starts one that continues even
    /// if the caller leaves. `record_name` is the record's own file name, a hint for the kind of
    /// text.
    ///
    /// Cost: up to `upstream.timeout_seconds`, and the time that storing takes.
    pub async fn fetch(
        &self,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchError> {
        let known = || self.state.known(release);
        self.fetch_unless(release, record_name, known).await
    }

    /// Fetches the file of `release` as [`Upstream::fetch`] does, also if one is stored: its
    /// content is not available. The stored entry stays if upstream has no file.
    pub async fn fetch_anew(
        &self,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchError> {
        let known = || self.state.known_failure(release).map(Err);
        self.fetch_unless(release, record_name, known).await
    }

    async fn fetch_unless(
        &self,
        release: &ReleaseId,
        record_name: Option<&FileName>,
        known: impl FnOnce() -> Option<Result<CachedFile, FetchError>>,
    ) -> Result<CachedFile, FetchError> {
        let work = || {
            let state = Arc::clone(&self.state);
            let (release, record_name) = (release.clone(), record_name.cloned());
            async move { state.fetch(&release, record_name.as_ref()).await }
        };
        let outcome = match self.flight.join(release, &self.control, known, work) {
            Joined::Known(result) => return result,
            Joined::Leader(outcome) => outcome,
            Joined::Follower(outcome) => {
                self.state.counts.record_outcome(FetchOutcome::Joined);
                outcome
            }
        };
        result_of(outcome)
            .await
            .unwrap_or(Err(FetchError::NotStored))
    }

    /// Counters of all fetches since the process started.
    pub fn counts(&self) -> &FetchCounts {
        self.state.counts.set_in_flight(self.flight.count());
        &self.state.counts
    }

    /// Current health. Cost: a pass over the remembered failures.
    pub fn health(&self) -> HealthReport {
        if self.state.access.load().client.is_none() {
            return HealthReport::not_configured();
        }
        let remembered_failures = self.state.failures.lock().count(Instant::now());
        self.state.counts.health(remembered_failures)
    }
}

impl FetchState {
    /// The result if no fetch is needed: a file that another fetch has just stored, or a remembered
    /// failure.
    fn known(&self, release: &ReleaseId) -> Option<Result<CachedFile, FetchError>> {
        // A fetch stores its file before it leaves the flight, so a caller that comes just after
        // it finds the file here instead of fetching it again.
        if let Some(file) = self.engine.files().cached_file(release)
            && !file.is_due(self.clock.now().timestamp())
        {
            return Some(Ok(file));
        }
        self.known_failure(release).map(Err)
    }

    /// The error of a fetch that would fail.
    fn known_failure(&self, release: &ReleaseId) -> Option<FetchError> {
        if self.access.load().client.is_none() {
            return Some(FetchError::Unavailable);
        }
        let error = *self.failures.lock().get(release, Instant::now())?;
        self.counts.record_outcome(FetchOutcome::Remembered);
        Some(error)
    }

    async fn fetch(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
    ) -> Result<CachedFile, FetchError> {
        if let Err(error) = self.engine.files().check_space() {
            // Do not make upstream send a file that cannot be stored.
            let error = error_chain(&error);
            tracing::error!(error, "fetching is suspended");
            self.counts.record_outcome(FetchOutcome::NotStored);
            return Err(FetchError::NotStored);
        }
        let known = self.engine.files().cached_file(release);
        let fetched = self.fetch_with_permit(release).await;
        let result = match fetched {
            Ok(fetched) => {
                let replaces = known.map(|file| file.content);
                self.store(release, record_name, fetched, replaces).await
            }
            Err(error) => Err(error),
        };
        self.counts.record_outcome(match &result {
            Ok(_) => FetchOutcome::Stored,
            Err(FetchError::Unavailable) => FetchOutcome::Unavailable,
            Err(FetchError::Busy) => FetchOutcome::Busy,
            Err(FetchError::Suspended) => FetchOutcome::Suspended,
            Err(FetchError::Unusable) => FetchOutcome::Unusable,
            Err(FetchError::NotStored) => FetchOutcome::NotStored,
        });
        // A failure to store, or to get a permit, is this machine's: the next request may try again
        // at once.
        if let Err(error @ (FetchError::Unavailable | FetchError::Unusable)) = result {
            let ttl = self.access.load().failure_ttl;
            let mut failures = self.failures.lock();
            let now = Instant::now();
            failures.insert(release.clone(), error, now + ttl, now);
        }
        result
    }

    /// Waits for a permit and fetches. Each may take `upstream.timeout_seconds`: the wait is for
    /// this machine's other fetches, and must neither shorten upstream's time nor count against it.
    async fn fetch_with_permit(&self, release: &ReleaseId) -> Result<Fetched, FetchError> {
        let access = self.access.load_full();
        let client = access.client.as_ref().ok_or(FetchError::Unavailable)?;
        // Before the wait, too: clients of a dead upstream get their answer at once.
        if self.counts.refuses(release) {
            return Err(FetchError::Suspended);
        }
        let Ok(permit) = time::timeout(access.timeout, access.permits.acquire()).await else {
            tracing::warn!(%release, "too many fetches: gave up waiting for a permit");
            return Err(FetchError::Busy);
        };
        let _permit = permit.map_err(|_| FetchError::Unavailable)?;
        let pass = self.counts.pass(release).ok_or(FetchError::Suspended)?;
        let fetching = client.fetch(release, !pass.is_probe());
        match time::timeout(access.timeout, fetching).await {
            Ok(fetched) => fetched,
            Err(_) => {
                tracing::warn!(%release, "the fetch timed out");
                self.counts.record_no_answer(AttemptError::Timeout, release);
                Err(FetchError::Unavailable)
            }
        }
    }

    /// Recognises the kind of the content and stores it. Both run on a blocking thread: one may
    /// decode 10 MiB, the other blocks until the file is durable.
    async fn store(
        self: &Arc<Self>,
        release: &ReleaseId,
        record_name: Option<&FileName>,
        fetched: Fetched,
        replaces: Option<ContentHash>,
    ) -> Result<CachedFile, FetchError> {
        let upstream_name = upstream_name(fetched.disposition.as_deref(), &fetched.url_path);
        let name = record_name.or(upstream_name.as_ref());
        let name_kind = name.and_then(|name| named_kind(name.as_str()));
        let (state, release) = (Arc::clone(self), release.clone());
        let storing = async move {
            let content = &fetched.content;
            // An answer with the media type of a document must begin as no document does: scripts
            // of upstreams send files under the media type of their pages.
            let media_type = fetched.document_type.as_deref();
            let is_taken = |file: &RecognisedFile| media_type.is_none() || file.is_certain;
            let Some(recognised) = recognise(content, name_kind).filter(is_taken) else {
                let (bytes, came) = (content.len(), foreign_name(content));
                tracing::warn!(
                    %release,
                    bytes,
                    came,
                    media_type,
                    "upstream's answer is not a subtitle file"
                );
                return Err(FetchError::Unusable);
            };
            // A text may be cut where nothing shows it.
            let refetch_at = if recognised.is_shapeless || !fetched.is_whole {
                let now = state.clock.now().timestamp();
                Some(now.plus_seconds(REFETCH_SECONDS))
            } else {
                None
            };
            let facts = FileFacts {
                kind: recognised.kind,
                upstream_name,
                refetch_at,
                replaces,
            };
            let files = state.engine.files();
            let stored = files.submit_fetched(&release, fetched.content, facts);
            stored.await.map_err(|error| {
                let error = error_chain(&error);
                tracing::error!(error, "a fetched file could not be stored");
                FetchError::NotStored
            })
        };
        let stored = self.control.run_waiting(WorkKind::Storing, storing).await;
        stored.unwrap_or(Err(FetchError::NotStored))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};
    use std::sync::mpsc;

    use subcat_engine::{FileKind, NodeId, Options, Real, StoreKind};

    use super::*;
    use crate::runtime::{Control, Moment};
    use crate::upstream::UpstreamState;
    use crate::upstream::test_server::{answer, upstream};

    const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";

    /// A clock that stands still until it is set.
    #[derive(Default)]
    struct SettableClock(AtomicI64);

    impl Clock for SettableClock {
        fn now(&self) -> Moment {
            Moment {
                monotonic_us: 0,
                unix_ms: self.0.load(Ordering::Relaxed),
            }
        }

        fn resync(&self) {}
    }

    struct Fixture {
        control: Control,
        clock: Arc<SettableClock>,
        engine: Arc<Engine>,
        upstream: Arc<Upstream>,
        _dir: tempfile::TempDir,
    }

    fn fixture(base: Option<&str>) -> Fixture {
        fixture_with(base, |_| {})
    }

    fn fixture_with(base: Option<&str>, change: fn(&mut UpstreamSettings)) -> Fixture {
        let control = Control::start().unwrap();
        let dir = tempfile::tempdir().unwrap();
        let options = Options {
            disk: Arc::new(Real),
            store: StoreKind::Memory,
            counter_lanes: 0,
            node: NodeId(1),
        };
        let engine = Arc::new(Engine::open(dir.path(), options).unwrap());
        let mut settings = UpstreamSettings {
            url: base.map(|base| format!("{base}/{{source_release_id}}.srt")),
            ..UpstreamSettings::default()
        };
        change(&mut settings);
        let clock = Arc::new(SettableClock::default());
        let upstream = Upstream::new(
            &settings,
            Arc::clone(&engine),
            control.handle(),
            Arc::clone(&clock) as Arc<dyn Clock>,
        );
        Fixture {
            control,
            clock,
            engine,
            upstream: Arc::new(upstream),
            _dir: dir,
        }
    }

    impl Fixture {
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
        let fixture = fixture(Some(&base));
        let file = fixture.fetch("1").unwrap();
        assert_eq!(file.kind, FileKind::Srt);
        assert_eq!(file.size_bytes, SRT.len() as u64);
        assert_eq!(file.upstream_name, FileName::parse("a.txt"));
        let release = ReleaseId::parse("1").unwrap();
        assert_eq!(
            fixture.engine.files().cached_file(&release),
            Some(file.clone())
        );
        assert_eq!(fixture.fetch("1"), Ok(file), "it is not fetched again");
        assert_eq!(seen.lock().len(), 1);
        assert_eq!(fixture.count(FetchOutcome::Stored), 1);
    }

    #[test]
    fn a_hundred_clients_are_one_request_which_outlives_them() {
        let (release_answer, wait) = mpsc::channel();
        let answers = std::iter::once_with(move || {
            wait.recv().unwrap();
            answer("200 OK", "", SRT)
        });
        let (base, seen) = upstream(answers);
        let fixture = fixture(Some(&base));
        let release = ReleaseId::parse("1").unwrap();
        let mut clients = Vec::new();
        for _ in 0..100 {
            let (upstream, release) = (Arc::clone(&fixture.upstream), release.clone());
            let fetching = async move { upstream.fetch(&release, None).await };
            clients.push(fixture.control.handle().spawn(fetching));
        }
        while fixture.count(FetchOutcome::Joined) < 99 {
            std::thread::yield_now();
        }
        assert_eq!(fixture.upstream.counts().in_flight(), 1);
        let last = clients.pop().unwrap();
        for client in clients {
            client.abort();
        }
        release_answer.send(()).unwrap();
        assert!(fixture.control.block_on(last).unwrap().is_ok());
        assert_eq!(seen.lock().len(), 1);
        assert!(fixture.engine.files().cached_file(&release).is_some());
    }

    #[test]
    fn failures_are_distinguished_and_remembered() {
        let html = answer("200 OK", "", "<!DOCTYPE html><p>no");
        let (base, seen) = upstream([answer("404 Not Found", "", ""), html]);
        let fixture = fixture(Some(&base));
        for _ in 0..3 {
            assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
            assert_eq!(fixture.fetch("2"), Err(FetchError::Unusable));
        }
        assert_eq!(seen.lock().len(), 2);
        assert_eq!(fixture.count(FetchOutcome::Unavailable), 1);
        assert_eq!(fixture.count(FetchOutcome::Unusable), 1);
        assert_eq!(fixture.count(FetchOutcome::Remembered), 4);
        let health = fixture.upstream.health();
        assert_eq!(health.state, UpstreamState::Up);
        assert_eq!(health.remembered_failures, 2);
        let last_error = health.last_error.map(|(_, error)| error);
        assert_eq!(last_error, Some(AttemptError::Status(404)));
        assert!(health.last_success.is_some());
        assert_eq!(
            fixture
                .engine
                .files()
                .cached_file(&ReleaseId::parse("2").unwrap()),
            None
        );
    }

    /// API.md 14.5
    #[test]
    fn text_without_a_shape_is_fetched_again_after_an_hour() {
        let shapeless = "what the site said that day\n".repeat(20);
        let (base, seen) = upstream([
            answer("200 OK", "", &shapeless),
            answer("404 Not Found", "", ""),
            answer("200 OK", "", SRT),
        ]);
        let fixture = fixture_with(Some(&base), |settings| settings.failure_ttl_seconds = 0);
        let release = ReleaseId::parse("1").unwrap();
        let file = || {
            let got = fixture.upstream.file(&release, None);
            fixture.control.block_on(got).unwrap().size_bytes
        };
        let at = |seconds: i64| fixture.clock.0.store(seconds * 1000, Ordering::Relaxed);
        at(10);
        assert_eq!(file(), shapeless.len() as u64);
        at(10 + REFETCH_SECONDS - 1);
        assert_eq!(file(), shapeless.len() as u64);
        assert_eq!(seen.lock().len(), 1);
        at(10 + REFETCH_SECONDS);
        assert_eq!(file(), shapeless.len() as u64, "upstream has none any more");
        assert_eq!(seen.lock().len(), 2);
        let before = fixture.engine.files().generation();
        assert_eq!(file(), SRT.len() as u64);
        assert_ne!(fixture.engine.files().generation(), before);
        at(10 + 9 * REFETCH_SECONDS);
        assert_eq!(file(), SRT.len() as u64, "it has a subtitle's shape");
        assert_eq!(seen.lock().len(), 3);
    }

    #[test]
    fn waiting_for_a_permit_does_not_count_against_upstream() {
        let (base, seen) = upstream([answer("200 OK", "", SRT)]);
        let fixture = fixture_with(Some(&base), |settings| {
            settings.concurrency = 1;
            settings.timeout_seconds = 1;
        });
        let access = fixture.upstream.state.access.load_full();
        let permits = &access.permits;
        let held = fixture.control.block_on(permits.acquire()).unwrap();
        assert_eq!(fixture.fetch("1"), Err(FetchError::Busy));
        assert_eq!(fixture.count(FetchOutcome::Busy), 1);
        assert!(seen.lock().is_empty());
        let health = fixture.upstream.health();
        assert_eq!(health.remembered_failures, 0);
        assert!(health.last_error.is_none());
        drop(held);
        assert!(
            fixture.fetch("1").is_ok(),
            "the next request tries again at once"
        );
    }

    /// An upstream that accepts and says nothing costs the configured time, not forever.
    #[test]
    fn a_silent_upstream_is_given_up_after_the_timeout() {
        let (end, ended) = mpsc::channel::<()>();
        let silence = std::iter::once_with(move || {
            // Long enough to fail the test, short enough to end it, if the client never gives up.
            let _ = ended.recv_timeout(Duration::from_secs(15));
            String::new()
        });
        let (base, _) = upstream(silence);
        let fixture = fixture_with(Some(&base), |settings| settings.timeout_seconds = 1);
        let started = Instant::now();
        assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
        assert!(started.elapsed() < Duration::from_secs(10));
        let last_error = fixture.upstream.health().last_error.map(|(_, error)| error);
        assert_eq!(last_error, Some(AttemptError::Timeout));
        drop(end);
    }

    /// `upstream.concurrency` fetches run; the next one waits until one of them has ended.
    #[test]
    fn no_more_fetches_run_than_the_setting_allows() {
        let concurrency = UpstreamSettings::default().concurrency;
        let fixture = fixture(Some("http://127.0.0.1:1"));
        let access = fixture.upstream.state.access.load_full();
        let permits = &access.permits;
        let taken: Vec<_> = std::iter::from_fn(|| permits.try_acquire().ok()).collect();
        assert_eq!(taken.len(), concurrency);
    }

    /// Up to 10 MiB are decoded: on a control thread everything else there would wait.
    #[test]
    fn content_is_recognised_off_the_control_threads() {
        let html = answer("200 OK", "", "<!DOCTYPE html><p>no");
        let (base, seen) = upstream([html]);
        let fixture = fixture(Some(&base));
        let (release_threads, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        for _ in 0..WorkKind::Storing.jobs_max() {
            let held = Arc::clone(&held);
            let hold = move || {
                // An error is the end of the test, which is waited for.
                let _ = held.lock().recv();
            };
            fixture.control.handle().detach(WorkKind::Storing, hold);
        }
        let (upstream, release) = (
            Arc::clone(&fixture.upstream),
            ReleaseId::parse("1").unwrap(),
        );
        let fetching = async move { upstream.fetch(&release, None).await };
        let mut fetching = fixture.control.handle().spawn(fetching);
        while seen.lock().is_empty() || fixture.upstream.health().last_success.is_none() {
            std::thread::yield_now();
        }
        // Its bytes are here. It would be refused within a millisecond.
        let pause = Duration::from_millis(200);
        let waited = fixture
            .control
            .block_on(async { time::timeout(pause, &mut fetching).await.is_err() });
        assert!(
            waited,
            "the content was looked at without a blocking thread"
        );
        drop(release_threads);
        let fetched = fixture.control.block_on(fetching).unwrap();
        assert_eq!(fetched, Err(FetchError::Unusable));
    }

    #[test]
    fn what_is_a_subtitle_file_by_its_bytes_is_taken_whatever_its_media_type_says() {
        let html = "Content-Type: text/html\r\n";
        let zip = format!("PK\u{5}\u{6}{}", "\0".repeat(18));
        for (body, expected) in [
            (SRT, Ok(FileKind::Srt)),
            (zip.as_str(), Ok(FileKind::Zip)),
            (
                "WEBVTT\n\n00:01.000 --> 00:02.000\nHola.\n",
                Ok(FileKind::Srt),
            ),
            ("<p>no<!-- 1 --> 2", Err(FetchError::Unusable)),
            ("<!DOCTYPE html><p>no", Err(FetchError::Unusable)),
            (&"words ".repeat(100), Err(FetchError::Unusable)),
        ] {
            let (base, _) = upstream([answer("200 OK", html, body)]);
            let fetched = fixture(Some(&base)).fetch("1");
            assert_eq!(fetched.map(|file| file.kind), expected, "{body}");
        }
    }

    /// The text may be half of the file.
    #[test]
    fn a_text_that_ended_with_its_connection_is_fetched_again_after_an_hour() {
        let cut = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{SRT}");
        let (base, seen) = upstream([cut, answer("200 OK", "", SRT)]);
        let fixture = fixture(Some(&base));
        let file = || {
            let release = ReleaseId::parse("1").unwrap();
            let upstream = &fixture.upstream;
            let file = upstream.file(&release, None);
            fixture.control.block_on(file).unwrap()
        };
        assert!(file().refetch_at.is_some());
        file();
        assert_eq!(seen.lock().len(), 1);
        let later = REFETCH_SECONDS * 1_000 + 1_000;
        fixture.clock.0.store(later, Ordering::Relaxed);
        assert!(file().refetch_at.is_none());
        assert_eq!(seen.lock().len(), 2);
    }

    #[test]
    fn empty_content_is_unusable() {
        let (base, _) = upstream([answer("200 OK", "", "")]);
        assert_eq!(fixture(Some(&base)).fetch("1"), Err(FetchError::Unusable));
    }

    #[test]
    fn without_an_upstream_nothing_can_be_fetched() {
        let fixture = fixture(None);
        assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
        assert_eq!(
            fixture.upstream.health().state,
            UpstreamState::NotConfigured
        );
    }

    #[test]
    fn a_dead_upstream_is_not_asked_for_every_file() {
        let fixture = fixture(Some("http://127.0.0.1:9"));
        assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
        let attempts = fixture.upstream.counts().attempts();
        assert_eq!(fixture.upstream.health().state, UpstreamState::Down);
        for release in 2..50 {
            let fetched = fixture.fetch(&release.to_string());
            assert_eq!(fetched, Err(FetchError::Suspended));
        }
        assert_eq!(fixture.upstream.counts().attempts(), attempts);
        assert_eq!(fixture.count(FetchOutcome::Suspended), 48);
        assert_eq!(fixture.upstream.health().remembered_failures, 1);
    }

    #[test]
    fn a_file_that_upstream_cannot_send_holds_up_no_other() {
        let broken = std::iter::repeat_with(|| answer("500 Internal Server Error", "", ""));
        let file = answer("200 OK", "", SRT);
        let (base, _) = upstream(broken.take(4).chain([file]));
        let fixture = fixture(Some(&base));
        assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
        assert_ne!(fixture.upstream.health().state, UpstreamState::Down);
        assert!(fixture.fetch("2").is_ok());
    }

    /// Three of them in a row were taken for an upstream that is down.
    #[test]
    fn broken_files_hold_up_no_others() {
        let broken = std::iter::repeat_with(|| answer("404 Not Found", "", ""));
        let (base, _) = upstream(broken);
        let fixture = fixture(Some(&base));
        let counts = &fixture.upstream.state.counts;
        let release = |number: usize| ReleaseId::parse(&number.to_string()).unwrap();
        for number in 0..7 {
            for _ in 0..3 {
                counts.record_no_answer(AttemptError::Status(500), &release(number));
                counts.record_no_answer(AttemptError::Interrupted, &release(number));
            }
            assert!(!counts.refuses(&release(100)), "{number}");
        }
        counts.record_no_answer(AttemptError::Timeout, &release(7));
        assert_eq!(fixture.upstream.health().state, UpstreamState::Down);
        // The next release that has not failed probes, and failed ones wait.
        assert!(counts.refuses(&release(3)));
        assert!(counts.pass(&release(100)).unwrap().is_probe());
        counts.record_success(Instant::now());
        assert!(!counts.refuses(&release(3)));
    }

    #[test]
    fn upstream_can_ask_to_be_left_alone() {
        for status in ["429 Too Many Requests", "503 Service Unavailable"] {
            let (base, seen) = upstream([answer(status, "Retry-After: 60\r\n", "")]);
            let fixture = fixture(Some(&base));
            assert_eq!(fixture.fetch("1"), Err(FetchError::Unavailable));
            assert_eq!(fixture.fetch("2"), Err(FetchError::Suspended));
            assert_eq!(seen.lock().len(), 1, "{status}");
        }
    }
}
