//! Keys: who is let in, and what they may do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};

use subcat_engine::internals::{Fault, Faulty};
use subcat_engine::{ApiKeyState, AuditEntry, Change, Scopes, StateEvent, block_on};
use subcat_server::config::ExpiredStatus;
use subcat_server::runtime::{Clock, Control, Moment, SystemClock};
use subcat_server::service::{Actor, Service};
use subcat_tests::server::TestServer;

const SEARCH: &str = "/api/subtitles/search?title=x";

fn check_refused(server: &TestServer, fields: &[(&str, &str)]) {
    let answer = server.connect().request("GET", SEARCH, None, fields);
    assert_eq!(answer.status, 401, "{fields:?}");
    assert_eq!(
        answer.text(),
        r#"{"detail":"Invalid authentication credentials"}"#
    );
    assert_eq!(answer.field("www-authenticate"), Some("Bearer"));
}

#[test]
fn rule_9_1_only_a_valid_bearer_is_let_in() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let with = |value: &str| {
        let fields = [("Authorization", value)];
        server
            .connect()
            .request("GET", SEARCH, None, &fields)
            .status
    };
    assert_eq!(with(&format!("Bearer {api_key}")), 200);
    assert_eq!(with(&format!("bearer {api_key}")), 200);
    assert_eq!(with(&format!("BEARER {api_key}")), 200);
    check_refused(&server, &[]);
    let bearer = format!("Bearer {api_key}");
    check_refused(
        &server,
        &[("Authorization", &bearer), ("Authorization", &bearer)],
    );
    for value in [
        String::new(),
        "Bearer".to_owned(),
        api_key.clone(),
        format!("Basic {api_key}"),
        format!("Bearer  {api_key}"),
        format!("Bearer {api_key} x"),
        format!("Bearer {}", &api_key[..41]),
        format!("Bearer {api_key}0"),
        format!("Bearer {}", api_key.to_uppercase()),
        "Bearer sct_000000000000000000000000000000000000zz".to_owned(),
    ] {
        check_refused(&server, &[("Authorization", &value)]);
    }
}

#[test]
fn rule_9_1_each_request_of_a_connection_is_checked_by_itself() {
    let server = TestServer::start();
    let (one, other) = (server.api_key(), server.api_key());
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!(client.get(SEARCH, Some(&one)).status, 200);
        assert_eq!(client.get(SEARCH, None).status, 401);
        assert_eq!(client.get(SEARCH, Some("sct_x")).status, 401);
        assert_eq!(client.get(SEARCH, Some(&other)).status, 200);
    }
}

#[test]
fn rule_9_2_expired_keys_are_401_or_403() {
    for (setting, expected) in [
        (
            ExpiredStatus::Unauthorized,
            (401, "Invalid authentication credentials"),
        ),
        (ExpiredStatus::Forbidden, (403, "Forbidden")),
    ] {
        let server = TestServer::with(|config| config.auth_expired_status = setting);
        let second_ago = server.service.now().plus_seconds(-1);
        let (expired, _) = server.api_key_with(Scopes::ALL, Some("5/60"), Some(second_ago));
        let answer = server.get(SEARCH, Some(&expired));
        let detail = format!(r#"{{"detail":"{}"}}"#, expected.1);
        assert_eq!(
            (answer.status, answer.text()),
            (expected.0, detail.as_str())
        );
        // It counts as no valid key: the window is the address's.
        assert_ne!(answer.field("x-ratelimit-limit"), Some("5"));
        let hour_ahead = server.service.now().plus_seconds(3600);
        let (valid, _) = server.api_key_with(Scopes::ALL, None, Some(hour_ahead));
        assert_eq!(server.get(SEARCH, Some(&valid)).status, 200);
    }
}

#[test]
fn rule_9_3_scopes_open_their_endpoints_only() {
    let server = TestServer::start();
    let id = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
    let record = format!("/api/subtitles/{id}");
    let download = format!("/api/subtitles/{id}/download");
    let endpoints = [
        (Scopes::SEARCH, SEARCH, 200),
        (Scopes::READ, record.as_str(), 404),
        (Scopes::DOWNLOAD, download.as_str(), 404),
    ];
    for (scope, _, _) in endpoints {
        let (api_key, _) = server.api_key_with(scope, None, None);
        for (needed, path, status) in endpoints {
            let answer = server.get(path, Some(&api_key));
            if scope == needed {
                assert_eq!(answer.status, status, "{path}");
            } else {
                assert_eq!(answer.status, 403, "{path}");
                assert_eq!(answer.text(), r#"{"detail":"Forbidden"}"#);
            }
        }
    }
}

#[test]
fn rule_9_5_a_revoked_key_is_refused_at_once_on_open_connections() {
    let server = TestServer::start();
    let (text, api_key) = server.api_key_with(Scopes::ALL, None, None);
    let mut client = server.connect();
    assert_eq!(client.get(SEARCH, Some(&text)).status, 200);
    server.revoke(&api_key);
    assert_eq!(client.get(SEARCH, Some(&text)).status, 401);
    assert_eq!(server.get(SEARCH, Some(&text)).status, 401);
}

/// `scripts/race` makes it a million requests.
#[test]
fn rule_9_5_no_racing_request_passes_a_revoked_key() {
    const CLIENTS_COUNT: usize = 4;
    const REQUESTS_AFTER: usize = 20;
    let server = TestServer::start();
    let wanted = std::env::var("SUBCAT_RACE_REQUESTS").map_or(2_000, |text| text.parse().unwrap());
    let order = Ordering::SeqCst;
    let racing_count = AtomicUsize::new(0);
    let mut rounds_count = 0;
    while racing_count.load(order) < wanted {
        rounds_count += 1;
        let (text, api_key) = server.api_key_with(Scopes::ALL, None, None);
        let is_revoked = AtomicBool::new(false);
        let sent_count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS_COUNT {
                scope.spawn(|| {
                    let mut client = server.connect();
                    let mut after_count = 0;
                    while after_count < REQUESTS_AFTER {
                        let was_revoked = is_revoked.load(order);
                        let status = client.get(SEARCH, Some(&text)).status;
                        sent_count.fetch_add(1, order);
                        racing_count.fetch_add(1, order);
                        if was_revoked {
                            assert_eq!(status, 401);
                            after_count += 1;
                        }
                    }
                });
            }
            // Everybody is at it when the key goes.
            while sent_count.load(order) < CLIENTS_COUNT {
                std::thread::yield_now();
            }
            server.revoke(&api_key);
            is_revoked.store(true, order);
        });
    }
    println!(
        "{} requests, {rounds_count} revocations",
        racing_count.load(order)
    );
}

#[test]
fn rule_9_6_usage_is_counted_by_key_and_day() {
    let mut server = TestServer::start();
    let (text, api_key) = server.api_key_with(Scopes::ALL, Some("5/3600"), None);
    let mut client = server.connect();
    let statuses: Vec<u16> = [
        SEARCH,
        SEARCH,
        "/api/x",
        "/api/subtitles/search",
        SEARCH,
        SEARCH,
    ]
    .into_iter()
    .map(|path| client.get(path, Some(&text)).status)
    .collect();
    assert_eq!(statuses, [200, 200, 404, 400, 200, 429]);
    let service = Arc::clone(&server.service);
    server.stop();
    let (usage, last_used_at) = service.engine.usage().api_key_totals(api_key.id).unwrap();
    assert_eq!(
        (usage.requests, usage.client_errors, usage.limited),
        (5, 2, 1)
    );
    assert!(last_used_at.is_some());
}

/// A clock that tests set.
struct Settable(AtomicI64);

impl Clock for Settable {
    fn now(&self) -> Moment {
        Moment {
            monotonic_us: 0,
            unix_ms: self.0.load(Ordering::SeqCst) * 1000,
        }
    }
}

#[test]
fn rule_9_2_a_clock_that_is_set_back_revives_no_key() {
    const START: i64 = 1_700_000_000;
    let clock = Arc::new(Settable(AtomicI64::new(START)));
    let set = |seconds| clock.0.store(START + seconds, Ordering::SeqCst);
    let mut server = TestServer::with_clock(clock.clone(), |_| {});
    let expires_at = server.service.now().plus_seconds(10);
    let (text, _) = server.api_key_with(Scopes::ALL, None, Some(expires_at));
    let mut client = server.connect();
    let mut status_at = |seconds| {
        set(seconds);
        client.get(SEARCH, Some(&text)).status
    };
    let statuses = [0, 9, 0, 10, 9, 0].map(&mut status_at);
    assert_eq!(statuses, [200, 200, 200, 401, 401, 401]);
    let service = Arc::clone(&server.service);
    server.stop();
    // The next process learns it from the store.
    let control = Control::start().unwrap();
    let (engine, config) = (
        Arc::clone(&service.engine),
        service.config().as_ref().clone(),
    );
    let next = Service::new(config, engine, control.handle(), clock.clone());
    assert_eq!(next.effective_now(next.now()), expires_at);
}

/// A machine that starts with a clock that is years ahead ends nothing for good.
#[test]
fn rule_9_2_a_clock_that_was_far_ahead_ends_no_key_for_good() {
    const START: i64 = 1_700_000_000;
    const FAR: i64 = 3_650 * 86_400;
    let clock = Arc::new(Settable(AtomicI64::new(START)));
    let set = |seconds| clock.0.store(START + seconds, Ordering::SeqCst);
    let mut server = TestServer::with_clock(clock.clone(), |_| {});
    let now = server.service.now();
    let observed = vec![StateEvent::DropExpiredSessions(now)];
    server.service.engine.apply(observed).unwrap();
    server.service.observe_time(now);
    let expires_at = now.plus_seconds(86_400);
    let (text, _) = server.api_key_with(Scopes::ALL, None, Some(expires_at));
    let (revoked, revoked_key) = server.api_key_with(Scopes::ALL, None, None);
    let mut client = server.connect();
    let mut statuses_at = |seconds| {
        set(seconds);
        [&text, &revoked].map(|text| client.get(SEARCH, Some(text)).status)
    };
    assert_eq!(statuses_at(0), [200, 200]);
    assert_eq!(statuses_at(FAR), [401, 200], "while the clock says so");
    let change = server
        .service
        .change(Change::RevokeApiKey(revoked_key.id), Actor::CommandLine);
    block_on(change).unwrap();
    assert_eq!(statuses_at(1), [200, 401], "the clock is right again");
    set(FAR);
    let service = Arc::clone(&server.service);
    server.stop();
    set(2);
    let control = Control::start().unwrap();
    let (engine, config) = (
        Arc::clone(&service.engine),
        service.config().as_ref().clone(),
    );
    let next = Service::new(config, engine, control.handle(), clock.clone());
    assert_eq!(next.effective_now(next.now()), now.plus_seconds(2));
    let api_key = next.engine.accounts().api_key(revoked_key.id).unwrap();
    assert_eq!(api_key.state(next.now()), ApiKeyState::Revoked);
}

/// API.md 9.5: a revocation whose commit reports an error may be durable all the same. Whatever the
/// catalog has in the end holds for requests, too.
#[test]
fn rule_9_5_a_revocation_that_fails_is_in_force_if_it_is_durable() {
    let disk = Arc::new(Faulty::new(Fault::NONE));
    let clock = Arc::new(SystemClock::new());
    let server = TestServer::with_disk(disk.clone(), clock, |_| {});
    let accounts = || server.service.engine.accounts();
    let note = StateEvent::Audit(AuditEntry {
        at: server.service.now(),
        actor: "test".into(),
        action: "none".into(),
        account: None,
        api_key: None,
        detail: String::new(),
    });
    let mut failed_count = 0;
    for op in 0..16 {
        let (text, api_key) = server.api_key_with(Scopes::ALL, None, None);
        disk.set_fault(Fault::at(disk.ops_count() + op));
        let revoke = Change::RevokeApiKey(api_key.id);
        let changed = block_on(server.service.change(revoke, Actor::CommandLine));
        disk.set_fault(Fault::NONE);
        // Any commit that follows shows what the file has.
        while server.service.engine.apply(vec![note.clone()]).is_err() {
            server.service.engine.maintain(server.service.now()).ok();
        }
        server.service.credentials().settle();
        let is_revoked = accounts().api_key(api_key.id).unwrap().revoked_at.is_some();
        let is_served = server.service.api_keys().lookup(&text).is_some();
        assert_eq!(
            is_served, !is_revoked,
            "fault at operation {op}: {changed:?}"
        );
        failed_count += u32::from(changed.is_err());
    }
    assert!(0 < failed_count, "no fault made a revocation fail");
}
