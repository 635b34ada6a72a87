//! Requests that wait for the log of a cluster or for another node: they hold no thread.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use subcat_engine::{ApiKeyId, Role};
use subcat_server::ops::{Operations, execute_named};
use subcat_server::runtime::WorkKind;
use subcat_server::service::Actor;
use subcat_tests::nodes::{LineState, RunningNode, SharedLog};
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::server::{TestServer, film};

const EMAIL: &str = "ana@example.org";
const PASSWORD: &str = "correct horse battery";
/// Far more than there are threads for changes and for operations.
const WAITS_COUNT: usize = 30;
const PATIENCE: Duration = Duration::from_secs(60);
/// Time without news after which nodes accept no keys.
const STALE_SECONDS: u32 = 30;

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
        let mut log = None;
        let portal = Portal::empty(|config| {
            config.store = subcat_engine::StoreKind::Redb;
            log = Some(SharedLog::begun_by(&config.data));
        });
        let log = log.expect("the settings were made");
        let node = log.run(portal.service(), "a", STALE_SECONDS);
        portal.make_account(EMAIL, PASSWORD, Role::Admin);
        let cookies = portal.signed_in(EMAIL, PASSWORD);
        for _ in 0..WAITS_COUNT {
            portal.api_key(subcat_engine::Scopes::ALL);
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
            let ran = subcat_server::runtime::block_on(ran);
            let answer = ran.expect("it runs").expect("it does not panic");
            answer.expect("it succeeds")
        })
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
    let until = Instant::now() + PATIENCE;
    while scene.node.node.state().replica.nodes.len() < 2 || !silent.node.has_caught_up() {
        assert!(Instant::now() < until, "the nodes do not hear each other");
        thread::sleep(Duration::from_millis(5));
    }
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
