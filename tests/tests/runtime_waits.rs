//! Requests that wait for the log of a cluster, for another node or for object storage: they hold
//! no thread.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use subcat_engine::{
    ApiKeyId, BlobAnswer, BlobSource, BroughtFile, ContentHash, FileKind, ReleaseId, Role, Scopes,
};
use subcat_server::admin::{Client as AdminClient, SOCKET_NAME, admin_socket};
use subcat_server::config::Config;
use subcat_server::ops::{ImportOptions, Operations, execute_named};
use subcat_server::rows::Format;
use subcat_server::runtime::{AdminListener, AdminServer, WorkKind};
use subcat_server::service::Actor;
use subcat_tests::nodes::{LineState, RunningNode, SharedLog};
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::Client;
use subcat_tests::server::{TestServer, film};
use subcat_tests::upstream::Upstream;
use tokio::sync::watch;

const EMAIL: &str = "ana@example.org";
const PASSWORD: &str = "correct horse battery";
/// Far more than there are threads for changes and for operations.
const WAITS_COUNT: usize = 30;
const PATIENCE: Duration = Duration::from_secs(60);
/// Time without news after which nodes accept no keys.
const STALE_SECONDS: u32 = 30;
/// Maximum of uploads at once of files that other nodes do not know yet.
const UPLOADS_COUNT: usize = 4;
const TEXT: &str = "1\n00:00:01,000 --> 00:00:02,000\nHola\n\n";

/// A node with pages, and an account with keys 1 to [`WAITS_COUNT`].
struct Scene {
    // The threads of the node end before its service.
    node: RunningNode,
    log: SharedLog,
    portal: Portal,
    cookies: Visitor,
}

impl Scene {
    fn start() -> Self {
        Self::with(|_| {})
    }

    /// The same, with settings that are changed first.
    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let mut log = None;
        let portal = Portal::empty(|config| {
            change(config);
            config.store = subcat_engine::StoreKind::Redb;
            log = Some(SharedLog::begun_by(&config.data));
        });
        let log = log.expect("the settings were made");
        let node = log.run(portal.service(), "a", STALE_SECONDS);
        portal.make_account(EMAIL, PASSWORD, Role::Admin);
        let cookies = portal.signed_in(EMAIL, PASSWORD);
        for _ in 0..WAITS_COUNT {
            portal.api_key(Scopes::ALL);
        }
        Self {
            node,
            log,
            portal,
            cookies,
        }
    }

    /// Posts a form to each key at once; each thread has the status of its answer.
    fn post_to_keys(&self, form: &str, fields: &'static [(&'static str, &'static str)]) -> Posted {
        let post = |number: usize| {
            let mut visitor = self.portal.visitor();
            visitor.cookies = self.cookies.cookies.clone();
            let path = format!("/keys/{number}{form}");
            thread::spawn(move || visitor.post(&path, fields).status)
        };
        Posted((1..=WAITS_COUNT).map(post).collect())
    }

    /// Asserts that work that waits for nothing goes on, in the pools of changes and operations.
    fn goes_on(&self) {
        let service = self.portal.service();
        for _ in 0..3 {
            for kind in [WorkKind::Changes, WorkKind::Administration] {
                let began = Instant::now();
                let (control, sent) = (service.control.clone(), std::sync::mpsc::channel());
                control.detach(kind, move || sent.0.send(()).expect("the test waits"));
                sent.1.recv_timeout(PATIENCE).expect("a thread is free");
                assert!(began.elapsed() < PATIENCE / 4, "{kind:?}");
            }
            // A form that is refused before anything is changed.
            let mut visitor = self.portal.visitor();
            visitor.cookies = self.cookies.cookies.clone();
            let refused = visitor.post("/keys/1", &[("name", "")]);
            assert_eq!(refused.status, 422, "{}", refused.text());
            assert_eq!(visitor.get("/keys").status, 200);
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens the admin socket: its server, and a client.
    fn open_socket(&self) -> (AdminServer, AdminClient) {
        let service = self.portal.service();
        let data = &service.config().data;
        let listener = AdminListener::unix(&data.join(SOCKET_NAME), &service.control);
        let listener = listener.expect("its path is free");
        let handler = admin_socket(Arc::clone(service));
        let server = AdminServer::start(listener, &service.control, handler);
        let client = AdminClient::find(data).expect("it answers");
        (server, client.expect("there is one"))
    }

    /// Jobs of a kind that hold a thread.
    fn running_count(&self, kind: WorkKind) -> usize {
        let states = self.portal.service().control.pool_states();
        let state = states.into_iter().find(|state| state.kind == kind);
        state.expect("every kind has a pool").running_count
    }

    /// Imports records 1 to [`WAITS_COUNT`], with the releases `r1` and so on.
    fn import_films(&self) {
        let numbers: Vec<(String, String)> = (1..=WAITS_COUNT)
            .map(|number| (id_of(number), format!("r{number}")))
            .collect();
        let films = numbers
            .iter()
            .map(|(id, release)| film(id, "Faro", 2004, release));
        self.portal.import(films.collect());
    }

    /// Executes an operation as the admin socket does.
    fn operate(&self, name: &'static str, arguments: String) -> JoinHandle<String> {
        let service = Arc::clone(self.portal.service());
        let control = service.control.clone();
        let job = async move {
            let operations = Operations::of_service(&service, Actor::CommandLine);
            execute_named(&operations, name, arguments.as_bytes()).await
        };
        let ran = control
            .clone()
            .spawn(async move { control.run_waiting(WorkKind::Administration, job).await });
        thread::spawn(move || {
            let ran = subcat_engine::block_on(ran);
            let answer = ran.expect("it runs").expect("it does not panic");
            answer.expect("it succeeds")
        })
    }
}

/// A line that is held, until this is dropped: also by a failure, which would wait for ever for the
/// threads that wait for the line.
struct HeldLine<'s>(&'s Scene);

impl<'s> HeldLine<'s> {
    fn of(scene: &'s Scene) -> Self {
        scene.node.line.set(LineState::Held);
        Self(scene)
    }
}

impl Drop for HeldLine<'_> {
    fn drop(&mut self) {
        self.0.node.line.set(LineState::Whole);
    }
}

fn id_of(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "it does not happen");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Requests on their way.
struct Posted(Vec<JoinHandle<u16>>);

impl Posted {
    fn all_answer(self, status: u16) {
        for answer in self.0 {
            assert_eq!(answer.join().expect("it is answered"), status);
        }
    }

    fn none_is_answered(&self) {
        assert!(self.0.iter().all(|answer| !answer.is_finished()));
    }
}

#[test]
fn changes_that_wait_for_the_log_hold_no_thread() {
    let scene = Scene::start();
    scene.node.line.set(LineState::Held);
    let renamed = scene.post_to_keys("", &[("name", "renamed")]);
    let operations: Vec<_> = (1..=WAITS_COUNT)
        .map(|id| scene.operate("key/limit", format!("{{\"id\":{id},\"limit\":\"7/60\"}}")))
        .collect();
    scene.goes_on();
    renamed.none_is_answered();
    scene.node.line.set(LineState::Whole);
    renamed.all_answer(303);
    for operation in operations {
        let answer = operation.join().expect("it is answered");
        assert!(answer.contains("7/60"), "{answer}");
    }
    for number in 1..=WAITS_COUNT as u64 {
        let accounts = scene.portal.service().engine.accounts();
        let api_key = accounts.api_key(ApiKeyId(number)).expect("it was made");
        assert_eq!(api_key.name, "renamed");
    }
}

#[test]
fn revocations_that_wait_for_a_node_hold_no_thread() {
    let scene = Scene::start();
    let first = Arc::clone(scene.portal.service());
    let other = TestServer::with(|config| {
        scene.log.joined_by(&config.data, 2, &first.engine);
    });
    let silent = scene.log.run(&other.service, "b", STALE_SECONDS);
    wait_until(|| scene.node.node.state().replica.nodes.len() == 2 && silent.node.has_caught_up());
    silent.line.set(LineState::Cut);
    let revoked = scene.post_to_keys("/revoke", &[]);
    let operation = scene.operate("key/revoke", "{\"id\":1}".to_owned());
    scene.goes_on();
    revoked.none_is_answered();
    assert!(!operation.is_finished());
    // What ends no key waits for nobody.
    other_changes_are_made(&scene);
    silent.line.set(LineState::Whole);
    revoked.all_answer(303);
    let answer = operation.join().expect("it is answered");
    assert!(!answer.contains("unconfirmed"), "{answer}");
    drop(silent);
}

fn other_changes_are_made(scene: &Scene) {
    let mut visitor = scene.portal.visitor();
    visitor.cookies = scene.cookies.cookies.clone();
    let form = visitor.get("/keys/new").text().to_owned();
    let (_, rest) = form.split_once("name=\"token\" value=\"").expect("a token");
    let (token, _) = rest.split_once('"').expect("it ends");
    let mut fields = vec![("name", "another"), ("token", token), ("expires", "never")];
    fields.extend(ALL_SCOPES);
    let made = visitor.post("/keys", &fields);
    assert_eq!(made.status, 200, "{}", made.text());
    let id = "00000000-0000-4000-8000-000000000009";
    scene.portal.import(vec![film(id, "Faro", 2004, "r9")]);
}

#[test]
fn changes_of_records_that_wait_for_the_log_hold_no_thread() {
    let scene = Scene::start();
    scene.import_films();
    scene.node.line.set(LineState::Held);
    let change = |number: usize| {
        let id = id_of(number);
        if number.is_multiple_of(2) {
            scene.operate("record/delete", format!("{{\"ids\":[\"{id}\"]}}"))
        } else {
            let arguments = format!("{{\"id\":\"{id}\",\"is_active\":false}}");
            scene.operate("record/set", arguments)
        }
    };
    let changes: Vec<_> = (1..=WAITS_COUNT).map(change).collect();
    scene.goes_on();
    assert!(changes.iter().all(|change| !change.is_finished()));
    scene.node.line.set(LineState::Whole);
    for change in changes {
        change.join().expect("it is answered");
    }
    let api_key = scene.portal.api_key(Scopes::ALL);
    let mut client = Client::connect(scene.portal.address());
    for number in 1..=WAITS_COUNT {
        let path = format!("/api/subtitles/{}", id_of(number));
        assert_eq!(client.get(&path, Some(&api_key)).status, 404);
    }
}

/// An import has a thread of its own until it ends, also while it waits for the log. Few run at
/// once: further ones wait for their turn, and nothing else does. The files that imports bring are
/// not among them.
#[test]
fn imports_that_wait_for_the_log_hold_up_other_imports_only() {
    let imports_max = WorkKind::Transfers.jobs_max();
    let scene = Scene::start();
    let (_socket, client) = scene.open_socket();
    let import = |number: usize| {
        let line = format!(
            "{{\"id\":\"{}\",\"video_type\":\"movie\",\"title\":\"Ran\",\
             \"posted_at\":\"2024-01-01T00:00:00Z\"}}\n",
            id_of(number)
        );
        let options = ImportOptions::default();
        let write = |writer: &mut subcat_server::admin::ImportFrameWriter<_>| {
            writer.write_file("x.jsonl", Format::Jsonl, &mut line.as_bytes())
        };
        client.import(options, write, &mut |_| {})
    };
    let bring = |number: usize| {
        let release = ReleaseId::parse(&format!("b{number}")).expect("it is one");
        let content = format!("{number}\n{TEXT}");
        client.bring(&[BroughtFile {
            release: &release,
            content: content.as_bytes(),
            kind: FileKind::Srt,
        }])
    };
    thread::scope(|scope| {
        let (import, bring) = (&import, &bring);
        let held = HeldLine::of(&scene);
        let imports: Vec<_> = (1..=imports_max + 3)
            .map(|number| scope.spawn(move || import(number)))
            .collect();
        let brought: Vec<_> = (1..=WAITS_COUNT)
            .map(|number| scope.spawn(move || bring(number)))
            .collect();
        wait_until(|| scene.running_count(WorkKind::Transfers) == imports_max);
        scene.goes_on();
        assert_eq!(scene.running_count(WorkKind::Transfers), imports_max);
        assert!(imports.iter().all(|import| !import.is_finished()));
        assert!(brought.iter().all(|brought| !brought.is_finished()));
        drop(held);
        for import in imports {
            let imported = import.join().expect("it does not panic");
            assert_eq!(imported.expect("it is imported").inserted, 1);
        }
        for brought in brought {
            let stored = brought.join().expect("it does not panic");
            stored.expect("it is stored");
        }
    });
}

/// Object storage that gives no answer until the sender of its signal is dropped.
struct HangingSource(watch::Receiver<()>);

impl HangingSource {
    fn hang<T: Send + 'static>(&self) -> BlobAnswer<T> {
        let mut signal = self.0.clone();
        Box::pin(async move {
            while signal.changed().await.is_ok() {}
            Err(io::ErrorKind::TimedOut.into())
        })
    }
}

impl BlobSource for HangingSource {
    fn name(&self) -> String {
        "hanging".to_owned()
    }

    fn get(&self, _: &ContentHash, _: u64) -> BlobAnswer<Option<Vec<u8>>> {
        self.hang()
    }

    fn put(&self, _: &ContentHash, _: Vec<u8>) -> BlobAnswer<()> {
        self.hang()
    }

    fn has_mark(&self) -> BlobAnswer<bool> {
        self.hang()
    }

    fn put_mark(&self) -> BlobAnswer<()> {
        self.hang()
    }
}

/// In a cluster a file is uploaded before other nodes hear of it. A few clients wait for a bucket
/// that hangs; the others have their files, and no thread waits.
#[test]
fn files_that_wait_for_object_storage_hold_no_thread() {
    let (hanging, signal) = watch::channel(());
    let upstream = Upstream::start();
    let scene = Scene::with(|config| config.upstream.url = Some(upstream.url()));
    let files = scene.portal.service().engine.files();
    let attached = files.attach(Arc::new(HangingSource(signal)));
    attached.expect("the disk works");
    scene.import_films();
    let api_key = scene.portal.api_key(Scopes::ALL);
    let download = |number: usize| {
        upstream.give(&format!("r{number}"), format!("{number}\n{TEXT}"));
        let (address, api_key) = (scene.portal.address(), api_key.clone());
        let path = format!("/api/subtitles/{}/download", id_of(number));
        thread::spawn(move || Client::connect(address).get(&path, Some(&api_key)).status)
    };
    let downloads = Posted((1..=WAITS_COUNT).map(download).collect());
    let waiting_count = || {
        let waiting = downloads.0.iter().filter(|answer| !answer.is_finished());
        waiting.count()
    };
    let is_stored = || scene.running_count(WorkKind::Storing) == 0;
    wait_until(|| waiting_count() <= UPLOADS_COUNT && is_stored());
    assert_ne!(waiting_count(), 0, "the bucket hangs");
    drop(hanging);
    downloads.all_answer(200);
}
