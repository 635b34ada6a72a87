//! Promises of the nodes of a cluster in their beats: a revocation is answered when every
//! node obeys it, or accepts no keys by its own promise (server/docs/cluster.md, "Fencing").

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use subcat_engine::{ApiKey, Scopes};
use subcat_server::ops::{Operations, execute_named};
use subcat_server::runtime::WorkKind;
use subcat_server::service::Actor;
use subcat_tests::nodes::{LineState, RunningNode, SharedLog};
use subcat_tests::server::TestServer;

const PATIENCE: Duration = Duration::from_secs(60);
const SEARCH: &str = "/api/subtitles/search?title=nothing";

/// Two nodes, with different times after which they accept no keys without news.
struct Pair {
    log: SharedLog,
    // The threads of the nodes end before their services.
    a_node: RunningNode,
    b_node: RunningNode,
    a: TestServer,
    b: TestServer,
}

impl Pair {
    fn start([a_seconds, b_seconds]: [u32; 2]) -> Self {
        let mut log = None;
        let a = TestServer::with(|config| log = Some(SharedLog::begun_by(&config.data)));
        let log = log.expect("the settings were made");
        let a_node = log.run(&a.service, "a", a_seconds);
        let b = TestServer::with(|config| log.joined_by(&config.data, 2, &a.service.engine));
        let b_node = log.run(&b.service, "b", b_seconds);
        let pair = Self {
            log,
            a_node,
            b_node,
            a,
            b,
        };
        wait_until(|| pair.a_node.node.state().replica.nodes.len() == 2);
        pair
    }

    /// A key that both nodes accept.
    fn api_key(&self) -> (String, ApiKey) {
        let made = self.a.api_key_with(Scopes::ALL, None, None);
        for server in [&self.a, &self.b] {
            wait_until(|| status(server, &made.0) == 200);
        }
        made
    }

    /// Revokes a key on the first node, as a command does. Returns the answer and its time.
    fn revoke(&self, api_key: &ApiKey) -> (String, Duration) {
        let service = Arc::clone(&self.a.service);
        let (control, id) = (service.control.clone(), api_key.id.0);
        let job = async move {
            let operations = Operations::of_service(&service, Actor::CommandLine);
            let arguments = format!("{{\"id\":{id}}}");
            execute_named(&operations, "key/revoke", arguments.as_bytes()).await
        };
        let began = Instant::now();
        let revoked = control.run_waiting(WorkKind::Administration, job);
        let answer = subcat_engine::block_on(revoked).expect("it does not panic");
        (answer.expect("it is revoked"), began.elapsed())
    }

    /// Revokes a key that the second node cannot hear of, and asserts that it is accepted nowhere
    /// when the answer is there.
    fn revoke_unheard(&self, (text, api_key): &(String, ApiKey)) -> Duration {
        let is_answered = AtomicBool::new(false);
        let (answer, took) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let mut accepted_count = 0;
                loop {
                    let was_answered = is_answered.load(Ordering::SeqCst);
                    let status = status(&self.b, text);
                    assert!(status == 503 || !was_answered, "{status} after the answer");
                    accepted_count += u64::from(status == 200);
                    if was_answered {
                        return accepted_count;
                    }
                }
            });
            let revoked = self.revoke(api_key);
            is_answered.store(true, Ordering::SeqCst);
            assert_ne!(asking.join().expect("it is never accepted"), 0);
            revoked
        });
        assert!(
            answer.contains("node b has not confirmed, it accepts nothing from "),
            "{answer}"
        );
        assert_eq!(status(&self.a, text), 401);
        took
    }
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "it does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn status(server: &TestServer, api_key: &str) -> u16 {
    server.get(SEARCH, Some(api_key)).status
}

/// Asserts that the second node accepts its keys again, but for a revoked one.
fn comes_back(pair: &Pair, revoked: &str) {
    let (kept, _) = pair.a.api_key_with(Scopes::ALL, None, None);
    pair.b_node.line.set(LineState::Whole);
    wait_until(|| status(&pair.b, &kept) == 200);
    assert_eq!(status(&pair.b, revoked), 401);
}

/// The one that revokes has the shorter time: it waits by the other's promise all the same.
#[test]
fn a_revocation_waits_by_the_promise_of_the_other_node() {
    let pair = Pair::start([2, 5]);
    let made = pair.api_key();
    pair.b_node.line.set(LineState::Cut);
    let took = pair.revoke_unheard(&made);
    assert!(Duration::from_millis(2_500) < took, "{took:?}");
    comes_back(&pair, &made.0);
}

/// The other way round: it does not wait by its own time, which is longer than a test.
#[test]
fn a_revocation_waits_no_longer_than_the_other_node_promises() {
    let pair = Pair::start([600, 2]);
    let made = pair.api_key();
    pair.b_node.line.set(LineState::Cut);
    let took = pair.revoke_unheard(&made);
    assert!(took < PATIENCE, "{took:?}");
    comes_back(&pair, &made.0);
}

/// A node that appends its beats and reads nothing promises less with each of them.
#[test]
fn a_node_that_beats_and_obeys_nothing_is_not_waited_for_for_ever() {
    let pair = Pair::start([600, 3]);
    let made = pair.api_key();
    pair.b_node.line.set(LineState::Deaf);
    let took = pair.revoke_unheard(&made);
    assert!(took < PATIENCE, "{took:?}");
    comes_back(&pair, &made.0);
}

/// The one that revokes hears nobody afterwards: neither a node that follows the log, nor one that
/// is cut off as well. There is no majority that it would trust: it waits for the promise of each.
#[test]
fn a_revocation_of_a_node_that_hears_nobody_is_obeyed_by_all() {
    let pair = Pair::start([2, 5]);
    let of_a = &pair.a.service.engine;
    let c = TestServer::with(|config| pair.log.joined_by(&config.data, 3, of_a));
    let c_node = pair.log.run(&c.service, "c", 4);
    wait_until(|| pair.a_node.node.state().replica.nodes.len() == 3);
    let (text, api_key) = pair.api_key();
    wait_until(|| status(&c, &text) == 200);
    c_node.line.set(LineState::Cut);
    let (answer, took) = std::thread::scope(|scope| {
        let revoking = scope.spawn(|| pair.revoke(&api_key));
        wait_until(|| {
            let known = of_a.accounts().api_key(api_key.id);
            known.is_some_and(|api_key| api_key.revoked_at.is_some())
        });
        pair.a_node.line.set(LineState::Cut);
        revoking.join().expect("it is answered")
    });
    let statuses = [&pair.a, &pair.b, &c].map(|server| status(server, &text));
    assert_ne!(statuses[0], 200);
    assert_eq!(statuses[1..], [401, 503], "{answer}");
    assert!(answer.contains("node c has not confirmed"), "{answer}");
    assert!(took < PATIENCE, "{took:?}");
}

/// A node that hears of it confirms at once, whatever it promises.
#[test]
fn a_revocation_that_is_confirmed_takes_no_time() {
    let pair = Pair::start([600, 600]);
    for _ in 0..10 {
        let (text, api_key) = pair.api_key();
        let (answer, took) = pair.revoke(&api_key);
        assert!(!answer.contains("unconfirmed"), "{answer}");
        assert!(took < PATIENCE / 4, "{took:?}");
        for server in [&pair.a, &pair.b] {
            assert_eq!(status(server, &text), 401);
        }
    }
}

/// A request that waits for the log gets an answer when what it waits for does not come back.
#[test]
fn a_change_that_is_never_read_back_is_answered() {
    let pair = Pair::start([600, 600]);
    let (_, api_key) = pair.api_key();
    pair.a_node.line.set(LineState::Deaf);
    let service = Arc::clone(&pair.a.service);
    let (control, id) = (service.control.clone(), api_key.id.0);
    let job = async move {
        let operations = Operations::of_service(&service, Actor::CommandLine);
        let arguments = format!("{{\"id\":{id},\"limit\":\"7/60\"}}");
        execute_named(&operations, "key/limit", arguments.as_bytes()).await
    };
    let answered = subcat_engine::block_on(control.run_waiting(WorkKind::Changes, job));
    let error = answered
        .expect("it does not panic")
        .expect_err("it is unknown");
    let text = subcat_engine::error_chain(&error);
    assert!(text.contains("the change may be made or not"), "{text}");
    pair.a_node.line.set(LineState::Whole);
    wait_until(|| {
        let known = pair.b.service.engine.accounts().api_key(api_key.id);
        known.is_some_and(|api_key| api_key.limit.is_some())
    });
}

/// A node that has just started may not know every file yet: it would take the contents of the
/// others for orphans.
#[test]
fn a_node_that_has_not_caught_up_sweeps_no_bucket() {
    let mut log = None;
    let server = TestServer::with(|config| log = Some(SharedLog::begun_by(&config.data)));
    let log = log.expect("the settings were made");
    let running = log.run_over(LineState::Held, &server.service, "a", 0);
    let refusal = || {
        let operations = Operations::of_service(&server.service, Actor::CommandLine);
        let arguments = br#"{"older_than_days":30,"remove":true}"#;
        let swept = execute_named(&operations, "file/sweep", arguments);
        let refused = subcat_engine::block_on(swept);
        refused.expect_err("there is no bucket").to_string()
    };
    assert!(
        refusal().contains("does not follow the log"),
        "{}",
        refusal()
    );
    running.line.set(LineState::Whole);
    wait_until(|| refusal().contains("names no bucket"));
}
