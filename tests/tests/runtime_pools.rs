//! A pool of blocking work that is full on a running server: what is not of its kind goes on.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use subcat_engine::Real;
use subcat_server::admin::admin_pages;
use subcat_server::runtime::{AdminListener, AdminServer, Control, SystemClock, WorkKind};
use subcat_tests::raw::Client;
use subcat_tests::server::{TestServer, film};
use subcat_tests::upstream::Upstream;

/// Time after which the server says that a full pool stalls.
const STALL_LIMIT: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);
const CACHED: &str = "00000000-0000-4000-8000-000000000001";
const TEXT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola\n\n";

/// A server with its admin address, one stored file and one release for each pool.
struct Scene {
    server: TestServer,
    api_key: String,
    admin: SocketAddr,
    _pages: AdminServer,
    _upstream: Upstream,
}

impl Scene {
    fn start() -> Self {
        let upstream = Upstream::start();
        let control = Control::with_stall_limit(STALL_LIMIT).expect("threads start");
        let clock = Arc::new(SystemClock::new());
        let server = TestServer::on(control, Arc::new(Real), clock, |config| {
            config.workers = 1;
            config.is_catalog_public = true;
            config.upstream.url = Some(upstream.url());
        });
        let numbers: Vec<usize> = (1..=WorkKind::ALL.len() + 1).collect();
        let ids: Vec<String> = numbers.iter().map(|number| id_of(*number)).collect();
        let releases: Vec<String> = numbers.iter().map(|number| format!("r{number}")).collect();
        let drafts = ids.iter().zip(&releases).map(|(id, release)| {
            upstream.give(release, format!("{release}\n{TEXT}"));
            film(id, "Faro", 2004, release)
        });
        server.import(drafts.collect());
        let handle = server.service.control.clone();
        handle.watch_pools();
        let listener = AdminListener::tcp("127.0.0.1:0".parse().expect("an address"), &handle);
        let listener = listener.expect("a free port");
        let admin = listener.local_addr().expect("it has a port");
        let served = Arc::new(OnceLock::new());
        assert!(served.set(Arc::clone(&server.service)).is_ok());
        Self {
            api_key: server.api_key(),
            _pages: AdminServer::start(listener, &handle, admin_pages(served)),
            _upstream: upstream,
            admin,
            server,
        }
    }

    fn status(&self, path: &str) -> u16 {
        self.server.get(path, Some(&self.api_key)).status
    }

    /// Fills a pool until the returned sender is dropped.
    fn fill(&self, kind: WorkKind) -> mpsc::Sender<()> {
        let (go, gone) = mpsc::channel::<()>();
        let gone = Arc::new(Mutex::new(gone));
        let (begin, begun) = mpsc::channel();
        for _ in 0..kind.jobs_max() {
            let (gone, begin) = (Arc::clone(&gone), begin.clone());
            self.server.service.control.detach(kind, move || {
                begin.send(()).expect("the test waits");
                // Its error is the end of the sender.
                let _ = gone.lock().map(|gone| gone.recv());
            });
        }
        for _ in 0..kind.jobs_max() {
            begun.recv_timeout(PATIENCE).expect("it begins");
        }
        go
    }

    /// The status and the text of `/livez`.
    fn liveness(&self) -> (u16, String) {
        let answer = Client::connect(self.admin).get("/livez", None);
        (answer.status, answer.text().to_owned())
    }
}

fn id_of(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[test]
fn what_is_not_of_a_full_pool_goes_on() {
    let scene = Scene::start();
    let stored = format!("/api/subtitles/{CACHED}/download");
    assert_eq!(scene.status(&stored), 200);
    for (idx, full) in WorkKind::ALL.into_iter().enumerate() {
        let held = scene.fill(full);
        let other = id_of(idx + 2);
        // Each with the pools that it needs beside the worker.
        let fetched = [WorkKind::Storing, WorkKind::Opening].as_slice();
        let requests: [(String, &[WorkKind]); 9] = [
            ("/api/health".to_owned(), &[]),
            ("/api/subtitles/search?title=faro".to_owned(), &[]),
            (format!("/api/subtitles/{CACHED}"), &[]),
            (stored.clone(), &[]),
            (format!("/catalog/{CACHED}/download"), &[]),
            (format!("/api/subtitles/{other}/download"), fetched),
            (
                format!("/api/subtitles/{CACHED}/download?format=vtt&release=a{idx}"),
                &[WorkKind::Decoding, WorkKind::Opening, WorkKind::Storing],
            ),
            ("/catalog?query=faro".to_owned(), &[WorkKind::Pages]),
            ("/".to_owned(), &[WorkKind::Pages]),
        ];
        for (path, needed) in requests {
            if !needed.contains(&full) {
                assert_eq!(scene.status(&path), 200, "{path} while {full:?} is full");
            }
        }
        let metrics = |admin| Client::connect(admin).get("/metrics", None);
        if full != WorkKind::Metrics {
            let metrics = metrics(scene.admin);
            assert_eq!(metrics.status, 200, "{full:?}");
            let jobs = format!(
                "pool_jobs{{pool=\"{}\"}} {}\n",
                full.as_str(),
                full.jobs_max()
            );
            assert!(metrics.text().contains(&jobs), "{}", metrics.text());
        }
        let until = Instant::now() + PATIENCE;
        let named = loop {
            let (status, text) = scene.liveness();
            if text.contains(full.as_str()) {
                break (status, text);
            }
            assert_eq!(status, 200, "{text}");
            assert!(Instant::now() < until, "{full:?} is not named");
        };
        // Prompt work that does not end is a fault of the process.
        assert_eq!(named.0 == 503, full.is_prompt(), "{named:?}");
        if full != WorkKind::Metrics {
            let stalled = format!("pool_stalled{{pool=\"{}\"}} 1\n", full.as_str());
            let metrics = metrics(scene.admin);
            assert!(metrics.text().contains(&stalled), "{}", metrics.text());
        }
        drop(held);
        while scene.liveness() != (200, "ok\n".to_owned()) {
            assert!(Instant::now() < until, "{full:?} does not recover");
        }
    }
}
