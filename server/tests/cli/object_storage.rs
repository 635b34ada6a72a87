//! Files in object storage: they come back after the disk has lost them, and an outage costs none.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::fakes::{Bucket, Upstream};
use crate::harness::{Place, Server, get, id, line};

const SRT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
const DOWNLOAD: &str = "/api/subtitles/00000000-0000-4000-8000-000000000001/download";
/// Seconds in which something must have happened.
const PATIENCE: Duration = Duration::from_secs(90);
/// Threads for opening files, and for making variants and texts of them.
const THREADS_COUNT: u32 = 4 + 2;
/// Far more downloads, of the records from this one on.
const WAITING: std::ops::Range<u32> = 10..50;
/// Records of which the files are here: one is sent as it is, one is converted.
const HERE: [u32; 2] = [2, 3];
/// A record of which the file was never fetched.
const NEW: u32 = 4;

/// A catalog of one record whose files go to a bucket.
struct Scene {
    place: Place,
    key: String,
    upstream: Upstream,
}

impl Scene {
    fn new(endpoint: &str) -> Self {
        let place = Place::stopped();
        let key = place.create_key(&[]);
        place.import(&[line(1, "Heat", ",\"source_release_id\":\"r1\"")]);
        let upstream = Upstream::start(SRT);
        place.write("access", "AKIAEXAMPLE\n");
        place.write("secret", "hush/hush\n");
        let settings = format!(
            "upstream.url = 'http://{}/{{source_release_id}}'\nupstream.failure_ttl_seconds = 0\n\
             [files.s3]\nendpoint = '{endpoint}'\nbucket = 'files'\n\
             access_key_file = 'access'\nsecret_key_file = 'secret'\n",
            upstream.address
        );
        place.write("s.toml", settings);
        Self {
            place,
            key,
            upstream,
        }
    }

    fn start(&mut self) {
        let settings = self.place.path("s.toml");
        self.place
            .start_server(&["--config", settings.to_str().unwrap()]);
    }

    /// The status of a request for the file of a record.
    fn status(&self, number: u32, query: &str) -> u16 {
        let path = format!("/api/subtitles/{}/download{query}", id(number));
        let server = self.place.server();
        server.get(&path, Some(&self.key)).status
    }

    fn download(&self) -> (u16, String) {
        let answer = self.place.server().get(DOWNLOAD, Some(&self.key));
        (answer.status, answer.text())
    }

    fn metric(&self, name: &str) -> u64 {
        let metrics = get(&self.place.server().admin, "/metrics", None).text();
        let lines = metrics.lines();
        let mut found = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let value = found.next_back().unwrap_or_else(|| panic!("no {name}"));
        value.parse().unwrap()
    }

    fn wait_for_upload(&self) {
        let until = Instant::now() + PATIENCE;
        while self.metric("subcat_uploaded_files_total") == 0 {
            assert!(Instant::now() < until, "nothing was uploaded");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Stops the server and takes all contents away, as a new disk does.
    fn lose_contents(&mut self) {
        assert_eq!(self.place.stop_server(), 0);
        for folder in std::fs::read_dir(self.place.path("data/blobs")).unwrap() {
            let folder = folder.unwrap();
            if folder.file_type().unwrap().is_dir() {
                std::fs::remove_dir_all(folder.path()).unwrap();
            }
        }
    }
}

/// Over any service: a file goes there, and comes back when neither disk nor upstream has it.
fn files_go_there_and_come_back(scene: &mut Scene) {
    let served = (200, SRT.to_owned());
    scene.start();
    assert_eq!(scene.download(), served);
    scene.wait_for_upload();
    assert_eq!(scene.metric("subcat_waiting_uploads"), 0);
    scene.lose_contents();
    let verified = scene.place.run(&["verify"]);
    assert_eq!(verified.status, 0, "{verified:?}");
    let copy = scene.place.path("copy");
    let said = scene.place.run(&["backup", copy.to_str().unwrap()]).ok();
    assert!(said.contains("0 files"), "{said}");
    assert!(said.contains("1 more are in object storage only"), "{said}");
    scene.upstream.state.is_away.store(true, Ordering::Relaxed);
    scene.start();
    assert_eq!(scene.download(), served);
    assert_eq!(scene.metric("subcat_returned_files_total"), 1);
    assert_eq!(scene.download(), served);
    assert_eq!(scene.metric("subcat_returned_files_total"), 1, "it is here");
    assert_eq!(scene.place.stop_server(), 0);
}

#[test]
fn files_go_to_object_storage_and_come_back() {
    let (bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    files_go_there_and_come_back(&mut scene);
    let names = bucket.names();
    let sha256 = names[0].strip_prefix("/files/blobs/").unwrap();
    assert_eq!((names.len(), sha256.len()), (1, 64), "{names:?}");
    // Nobody learns the keys.
    let shown = scene.place.run(&["check", "--config", "s.toml"]).ok();
    assert!(
        !shown.contains("AKIA") && !shown.contains("hush"),
        "{shown}"
    );
}

#[test]
fn an_outage_of_object_storage_costs_no_file() {
    let (bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    let served = (200, SRT.to_owned());
    bucket.is_away.store(true, Ordering::Relaxed);
    scene.start();
    assert_eq!(scene.download(), served, "upstream has it");
    assert_eq!(scene.place.stop_server(), 0);
    bucket.is_away.store(false, Ordering::Relaxed);
    scene.start();
    scene.wait_for_upload();
    scene.lose_contents();
    bucket.is_away.store(true, Ordering::Relaxed);
    scene.start();
    assert_eq!(scene.download(), served, "upstream has it, too");
    scene.lose_contents();
    scene.upstream.state.is_away.store(true, Ordering::Relaxed);
    scene.start();
    assert_eq!(scene.download().0, 502, "nobody has it now");
    bucket.is_away.store(false, Ordering::Relaxed);
    // It is not asked again for some seconds.
    let until = Instant::now() + PATIENCE;
    while scene.download() != served {
        assert!(Instant::now() < until, "it is there again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(scene.place.stop_server(), 0);
}

/// Downloads that wait for a bucket which accepts connections and answers nothing hold no thread.
#[test]
fn a_bucket_that_hangs_holds_up_no_other_download() {
    let (bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    let records = || HERE.into_iter().chain(WAITING);
    let lines = records().chain([NEW]).map(|number| {
        let release = format!(",\"source_release_id\":\"r{number}\"");
        line(number, "Heat", &release)
    });
    scene.place.import(&lines.collect::<Vec<_>>());
    let upstream = &scene.upstream.state;
    upstream.is_changing.store(true, Ordering::Relaxed);
    scene.start();
    for number in records() {
        assert_eq!(scene.status(number, ""), 200);
    }
    let until = Instant::now() + PATIENCE;
    while bucket.names().len() < records().count() {
        assert!(Instant::now() < until, "not all are uploaded");
        std::thread::sleep(Duration::from_millis(20));
    }
    let here = HERE.map(|number| {
        let shown = scene
            .place
            .run(&["file", "show", &format!("r{number}"), "--json"]);
        let path = scene
            .place
            .path("data")
            .join(shown.json()["path"].as_str().unwrap());
        let content = std::fs::read(&path).unwrap();
        (path, content)
    });
    scene.lose_contents();
    for (path, content) in here {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    scene.start();
    let asked_before = bucket.asked_count.load(Ordering::Relaxed);
    bucket.is_hanging.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let scene = &scene;
        let waiting: Vec<_> = WAITING
            .map(|number| {
                // As it is, and converted.
                let query = ["", "?format=vtt"][number as usize % 2];
                scope.spawn(move || scene.status(number, query))
            })
            .collect();
        while bucket.asked_count.load(Ordering::Relaxed) < asked_before + THREADS_COUNT {
            assert!(Instant::now() < until, "the bucket is not asked");
            std::thread::sleep(Duration::from_millis(5));
        }
        others_go_on(scene);
        let answered = waiting.iter().filter(|waiting| waiting.is_finished());
        assert_eq!(answered.count(), 0, "they wait for the bucket");
        bucket.is_hanging.store(false, Ordering::Relaxed);
        for waiting in waiting {
            assert_eq!(waiting.join().unwrap(), 200);
        }
    });
    assert_eq!(scene.place.stop_server(), 0);
}

/// Asserts that what needs nothing of the bucket is answered, and that no pool is busy.
fn others_go_on(scene: &Scene) {
    for (number, query) in [(HERE[0], ""), (HERE[1], "?format=vtt"), (NEW, "")] {
        assert_eq!(scene.status(number, query), 200);
    }
    let admin = &scene.place.server().admin;
    let alive = get(admin, "/livez", None);
    assert_eq!((alive.status, alive.text().as_str()), (200, "ok\n"));
    let of_pool = |name, pool| scene.metric(&format!("subcat_pool_{name}{{pool=\"{pool}\"}}"));
    for pool in ["opening", "decoding", "storing"] {
        // The no-op of a watched pool may run just now.
        assert!(of_pool("jobs", pool) <= 1, "{pool}");
        assert_eq!(of_pool("stalled", pool), 0, "{pool}");
    }
}

/// A bucket that is not there answers 404 to everything.
#[test]
fn a_bucket_that_is_gone_costs_no_file() {
    let (bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    let served = (200, SRT.to_owned());
    scene.start();
    assert_eq!(scene.download(), served);
    scene.wait_for_upload();
    scene.lose_contents();
    scene.upstream.state.is_away.store(true, Ordering::Relaxed);
    bucket.is_gone.store(true, Ordering::Relaxed);
    scene.start();
    assert_eq!(scene.download().0, 502);
    let shown = scene.place.run(&["file", "show", "r1"]);
    assert_eq!(shown.status, 0, "it is known all the same: {shown:?}");
    bucket.is_gone.store(false, Ordering::Relaxed);
    let until = Instant::now() + PATIENCE;
    while scene.download() != served {
        assert!(Instant::now() < until, "it is there again");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(scene.place.stop_server(), 0);
}

/// Its only user signs with the keys of [`Scene`].
const ACCESS: &str = r#"{"identities": [{"name": "subcat", "actions": ["Admin"],
    "credentials": [{"accessKey": "AKIAEXAMPLE", "secretKey": "hush/hush"}]}]}"#;

/// A server of object storage: `weed` (`SeaweedFS`), which `scripts/setup test` installs.
struct Weed {
    child: Child,
    endpoint: String,
    _dir: tempfile::TempDir,
}

impl Weed {
    /// Starts one; `None` if the program is not installed.
    fn start() -> Option<Self> {
        let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/services/bin/weed");
        let is_installed = std::path::Path::new(installed).exists();
        let program = if is_installed { installed } else { "weed" };
        let dir = tempfile::tempdir().unwrap();
        let first = 11_000 + (std::process::id() % 10_000) as u16;
        let mut ports = [first; 4];
        for place in 0..4 {
            ports[place] = free_port(ports[place.saturating_sub(1)]);
        }
        let access = dir.path().join("access.json");
        std::fs::write(&access, ACCESS).unwrap();
        let child = Command::new(program)
            .arg(format!("-logdir={}", dir.path().display()))
            .args([
                "server",
                "-filer",
                "-s3",
                "-s3.port.iceberg=0",
                "-s3.port.lance=0",
                "-ip=127.0.0.1",
            ])
            .args(["-ip.bind=127.0.0.1", "-master.telemetry=false"])
            .arg(format!("-dir={}", dir.path().display()))
            .arg(format!("-s3.port={}", ports[0]))
            .arg(format!("-master.port={}", ports[1]))
            .arg(format!("-volume.port={}", ports[2]))
            .arg(format!("-filer.port={}", ports[3]))
            .arg(format!("-s3.config={}", access.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let weed = Self {
            child,
            endpoint: format!("http://127.0.0.1:{}", ports[0]),
            _dir: dir,
        };
        let until = Instant::now() + PATIENCE;
        // The bucket is made by the first file.
        while TcpStream::connect(("127.0.0.1", ports[0])).is_err() {
            assert!(Instant::now() < until, "weed does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Some(weed)
    }
}

impl Drop for Weed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A port that is free, as is the one 10,000 higher, which the program takes, too. Both lie below
/// those that the system hands out, which another process may get before the program does.
fn free_port(after: u16) -> u16 {
    let is_free = |port: u16| TcpListener::bind(("127.0.0.1", port)).is_ok();
    let found = (after + 1..22_000).find(|port| is_free(*port) && is_free(port + 10_000));
    found.expect("a free port")
}

#[test]
fn files_go_to_a_real_service_and_come_back() {
    let Some(weed) = Weed::start() else {
        eprintln!(
            "SKIPPED: weed is not installed, so real object storage was not tried \
             (scripts/setup test)"
        );
        return;
    };
    files_go_there_and_come_back(&mut Scene::new(&weed.endpoint));
}

#[test]
fn half_of_the_settings_is_refused() {
    let place = Place::stopped();
    let sentence = place
        .run(&["serve", "--set", "files.s3.endpoint=http://127.0.0.1:1"])
        .fails(1);
    let expected = "files.s3.endpoint is set and files.s3.bucket is not";
    assert!(sentence.contains(expected), "{sentence}");
    let sentence = place.run(&["check", "--set", "files.s3.endpoint=s3://x"]);
    assert_eq!(sentence.status, 2, "{sentence:?}");
}

/// A start without the settings costs no file: upstream is asked, and later the bucket again.
#[test]
fn files_without_their_second_home_are_fetched_from_upstream() {
    let (_bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    scene.start();
    assert_eq!(scene.download().0, 200);
    scene.wait_for_upload();
    scene.lose_contents();
    let start = |scene: &Scene| {
        let url = format!(
            "upstream.url=http://{}/{{source_release_id}}",
            scene.upstream.address
        );
        let mut command = scene.place.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0", "--set", &url]);
        command.stderr(std::fs::File::create(scene.place.path("log")).unwrap());
        Server::start(command)
    };
    scene.upstream.state.is_away.store(true, Ordering::Relaxed);
    let server = start(&scene);
    assert_eq!(server.get(DOWNLOAD, Some(&scene.key)).status, 502);
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(scene.place.path("log")).unwrap();
    assert!(log.contains("files.s3 is not set any more"), "{log}");
    scene.start();
    assert_eq!(
        scene.download(),
        (200, SRT.to_owned()),
        "it is not forgotten"
    );
    scene.lose_contents();
    scene.upstream.state.is_away.store(false, Ordering::Relaxed);
    let server = start(&scene);
    let answer = server.get(DOWNLOAD, Some(&scene.key));
    assert_eq!((answer.status, answer.text().as_str()), (200, SRT));
    assert_eq!(server.stop(), 0);
}

/// Orphans are counted, and removed when that is wanted. Objects that were put there lately stay,
/// even since they were listed: their files may be about to become known.
#[test]
fn what_nothing_refers_to_leaves_the_bucket() {
    let (bucket, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    scene.start();
    assert_eq!(scene.download().0, 200);
    scene.wait_for_upload();
    let kept = bucket.names();
    bucket.let_age();
    let (old, new) = ("a".repeat(64), "b".repeat(64));
    bucket.put(&format!("blobs/{old}"), true);
    bucket.put(&format!("blobs/{new}"), false);
    bucket.put("blobs/notes.txt", true);
    bucket.put(&format!("snapshots/{old}"), true);
    let sweep = |place: &Place, more: &[&str]| {
        let config = ["file", "sweep", "--json", "--config", "s.toml"];
        place.run(&[&config[..], more].concat()).json()
    };
    let counted = sweep(&scene.place, &[]);
    assert_eq!(counted["contents"], 3, "{counted}");
    assert_eq!(
        (&counted["orphans"], &counted["orphan_bytes"]),
        (&1.into(), &4.into())
    );
    assert_eq!(bucket.names().len(), kept.len() + 4, "nothing was removed");
    bucket.is_put_again.store(true, Ordering::Relaxed);
    let again = sweep(&scene.place, &["--remove"]);
    assert_eq!(again["orphans"], 0, "they were put there just now: {again}");
    assert_eq!(bucket.names().len(), kept.len() + 4);
    bucket.is_put_again.store(false, Ordering::Relaxed);
    bucket.let_age();
    bucket.put(&format!("blobs/{new}"), false);
    let removed = sweep(&scene.place, &["--remove"]);
    assert_eq!(removed["orphans"], 1, "{removed}");
    let names = bucket.names();
    assert!(!names.contains(&format!("/files/blobs/{old}")), "{names:?}");
    assert!(kept.iter().all(|name| names.contains(name)), "{names:?}");
    assert_eq!(names.len(), kept.len() + 3);
    assert_eq!(sweep(&scene.place, &["--remove"])["orphans"], 0);
    assert_eq!(scene.place.stop_server(), 0);
    // Without a server, too, and not without a bucket.
    assert_eq!(sweep(&scene.place, &[])["contents"], 2);
    let refused = scene.place.run(&["file", "sweep"]).fails(1);
    assert!(refused.contains("names no bucket"), "{refused}");
}

/// Nothing here refers to what another service has in its bucket: settings that name that one by
/// mistake remove nothing.
#[test]
fn what_another_service_keeps_stays_in_its_bucket() {
    let (_own, endpoint) = Bucket::start();
    let mut scene = Scene::new(&endpoint);
    let (other, other_endpoint) = Bucket::start();
    other.put(&format!("blobs/{}", "a".repeat(64)), true);
    let of_other = format!("files.s3.endpoint={other_endpoint}");
    let sweep = |place: &Place, more: &[&str]| {
        let config = ["file", "sweep", "--config", "s.toml"];
        place.run(&[&config[..], more].concat())
    };
    // Before it has any, and while it has its own.
    for has_own in [false, true] {
        if has_own {
            scene.start();
            assert_eq!(scene.download().0, 200);
            scene.wait_for_upload();
            assert_eq!(scene.place.stop_server(), 0);
            sweep(&scene.place, &["--remove"]).ok();
        }
        let place = &scene.place;
        let counted = sweep(place, &["--set", &of_other, "--json"]).json();
        assert_eq!(counted["orphans"], 1, "{counted}");
        let refused = sweep(place, &["--set", &of_other, "--remove"]).fails(1);
        assert!(refused.contains(&other_endpoint), "{refused}");
        assert!(refused.contains("another service's"), "{refused}");
        assert_eq!(other.names().len(), 1);
    }
}
