//! Sessions of the web interface (API.md, 12.1), tested over a socket.

use std::sync::Arc;
use std::time::{Duration, Instant};

use subcat_engine::{Change, Role, Session, StateEvent, block_on};
use subcat_server::service::Actor;
use subcat_tests::clocks::SettableClock;
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::RawAnswer;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";
const SESSION: &str = "subcat-session";

fn portal() -> Portal {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    portal
}

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

/// The cookie of the session that an answer sets.
fn session_cookie(answer: &RawAnswer) -> &str {
    let mut cookies = answer.field_values("set-cookie");
    let is_session = |cookie: &&str| cookie.contains("subcat-session=");
    cookies.find(is_session).expect("a session")
}

#[test]
fn a_session_cookie_is_new_at_every_sign_in_and_ends_at_sign_out() {
    let portal = portal();
    let mut ana = portal.visitor();
    ana.cookies
        .insert(SESSION.to_owned(), "chosen-by-someone-else".to_owned());
    let answer = ana.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    let cookie = session_cookie(&answer);
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(cookie.contains("; Path=/;"), "{cookie}");
    assert!(!cookie.contains("Secure"), "{cookie}");
    let first = ana.cookies[SESSION].clone();
    assert_ne!(first, "chosen-by-someone-else");

    ana.post("/signin", &[("email", EMAIL), ("password", PASSWORD)]);
    let second = ana.cookies[SESSION].clone();
    assert_ne!(first, second);
    let mut thief = portal.visitor();
    thief.cookies.insert(SESSION.to_owned(), first);
    assert_eq!(thief.get("/keys").status, 303);

    let mut copy = portal.visitor();
    copy.cookies.insert(SESSION.to_owned(), second);
    assert_eq!(copy.get("/keys").status, 200);
    assert_eq!(ana.post("/signout", &[]).status, 303);
    assert!(!ana.cookies.contains_key(SESSION));
    assert_eq!(copy.get("/keys").status, 303);
}

#[test]
fn on_https_cookies_are_secure_and_bound_to_the_host() {
    let portal = Portal::open(|config| config.public_url = Some("https://sub.example".into()));
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let ours = [("Origin", "https://sub.example")];
    let mut ana = portal.visitor();
    let answer = ana.post_from("/signin", &fields, &ours);
    assert_eq!(answer.status, 303);
    let cookie = session_cookie(&answer);
    assert!(cookie.starts_with("__Host-subcat-session="), "{cookie}");
    assert!(cookie.ends_with("; Secure"), "{cookie}");
    assert_eq!(ana.get("/keys").status, 200);
}

#[test]
fn a_cookie_is_secure_when_a_trusted_proxy_says_https() {
    for (trusted, is_secure) in [("127.0.0.0/8", true), ("10.0.0.0/8", false)] {
        let portal = Portal::open(|config| {
            config.trusted_proxies = vec![trusted.parse().expect("a network")];
        });
        portal.make_account(EMAIL, PASSWORD, Role::User);
        let mut ana = portal.visitor();
        let fields = [("email", EMAIL), ("password", PASSWORD)];
        let headers = [
            ("Sec-Fetch-Site", "same-origin"),
            ("X-Forwarded-Proto", "https"),
        ];
        let answer = ana.post_from("/signin", &fields, &headers);
        assert_eq!(answer.status, 303, "{trusted}");
        let cookie = session_cookie(&answer);
        let is_so = cookie.starts_with("__Host-subcat-session=") && cookie.ends_with("; Secure");
        assert_eq!(is_so, is_secure, "{trusted}: {cookie}");
    }
}

#[test]
fn a_new_password_ends_every_other_session() {
    let portal = portal();
    let mut here = portal.signed_in(EMAIL, PASSWORD);
    let mut there = portal.signed_in(EMAIL, PASSWORD);
    let mut change = |old: &str| {
        let fields = [
            ("action", "password"),
            ("old", old),
            ("new", "battery staple"),
        ];
        here.post("/profile", &fields).status
    };
    assert_eq!(change("wrong horse"), 422);
    assert_eq!(change(PASSWORD), 303);
    assert_eq!(here.get("/keys").status, 200);
    assert_eq!(there.get("/keys").status, 303);
    portal.signed_in(EMAIL, "battery staple");
    let answer = here.post("/signout", &[("everywhere", "1")]);
    assert_eq!(location(&answer), "/signin");
    assert_eq!(here.get("/keys").status, 303);
}

/// A session that replaces another one does not count against the limit.
#[test]
fn signing_in_again_closes_no_other_session() {
    let portal = portal();
    let engine = &portal.service().engine;
    let account = engine.accounts().all().remove(0);
    let now = portal.service().now();
    let browsers: Vec<Visitor> = (0..3).map(|_| portal.signed_in(EMAIL, PASSWORD)).collect();
    let open = |number: u8| {
        let session = Session {
            digest: [number; 32],
            account: account.id,
            created_at: now.plus_seconds(-60),
            expires_at: now.plus_seconds(3600),
            device: String::new(),
            last_used_at: None,
            is_pending: false,
        };
        StateEvent::OpenSession(session, account.password_hash.clone())
    };
    engine.apply((0..47).map(open).collect()).unwrap();
    std::thread::scope(|scope| {
        for mut browser in browsers {
            scope.spawn(move || {
                let fields = [("email", EMAIL), ("password", PASSWORD)];
                assert_eq!(browser.post("/signin", &fields).status, 303);
                assert_eq!(browser.get("/keys").status, 200);
            });
        }
    });
    assert_eq!(engine.accounts().sessions_of(account.id).len(), 50);
}

/// API.md 12.1: above the limit, the oldest sessions of the account are closed.
#[test]
fn of_too_many_sessions_the_oldest_are_closed() {
    let portal = portal();
    let engine = &portal.service().engine;
    let account = engine.accounts().all().remove(0);
    let now = portal.service().now();
    let mut first = portal.signed_in(EMAIL, PASSWORD);
    assert_eq!(first.get("/keys").status, 200);
    let open = |number: u8| {
        let session = Session {
            digest: [number; 32],
            account: account.id,
            created_at: now.plus_seconds(60 + i64::from(number)),
            expires_at: now.plus_seconds(3600),
            device: String::new(),
            last_used_at: None,
            is_pending: false,
        };
        StateEvent::OpenSession(session, account.password_hash.clone())
    };
    engine.apply((0..49).map(open).collect()).unwrap();
    assert_eq!(first.get("/keys").status, 200);
    let mut last = portal.signed_in(EMAIL, PASSWORD);
    assert_eq!(first.get("/keys").status, 303);
    assert_eq!(last.get("/keys").status, 200);
    assert_eq!(engine.accounts().sessions_of(account.id).len(), 50);
    assert!(engine.accounts().session(&[0; 32]).is_some());
}

/// API.md 12.1: a session ends 14 days after the sign-in, to the second.
#[test]
fn a_session_ends_after_14_days() {
    const DAYS_14: i64 = 14 * 86_400;
    let clock = Arc::new(SettableClock::at("2026-05-03T09:00:00Z"));
    let portal = Portal::with_clock(clock.clone(), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    // In steps, each observed as it would be once a second: a clock that jumps by days is doubted.
    let last_step = DAYS_14 / 28 - 1;
    for step in [DAYS_14 / 28; 27].into_iter().chain([last_step]) {
        clock.advance(step);
        portal.service().observe_time(portal.service().now());
    }
    assert_eq!(ana.get("/keys").status, 200);
    clock.advance(1);
    assert_eq!(ana.get("/keys").status, 303);
    clock.advance(-1);
    assert_eq!(
        ana.get("/keys").status,
        303,
        "a clock that is set back revives no session"
    );
}

/// Disabling ends the sessions: enabling the account again does not give them back.
#[test]
fn a_cookie_from_before_an_account_was_disabled_stays_invalid() {
    let portal = portal();
    let account = portal.service().engine.accounts().all().remove(0);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let old = ana.cookies.clone();
    let set_disabled = |is_disabled| {
        let change = Change::SetDisabled(account.id, is_disabled);
        let changed = portal.service().change(change, Actor::CommandLine);
        block_on(changed).expect("it is stored");
    };
    set_disabled(true);
    assert_eq!(ana.get("/keys").status, 303);
    set_disabled(false);
    ana.cookies = old;
    assert_eq!(ana.get("/keys").status, 303);
    assert_eq!(portal.signed_in(EMAIL, PASSWORD).get("/keys").status, 200);
}

/// API.md 12.17: reading a page is a write once an hour.
#[test]
fn the_profile_tells_the_last_use_of_each_session() {
    let clock = Arc::new(SettableClock::at("2026-05-03T09:00:00Z"));
    let portal = Portal::with_clock(clock.clone(), |_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut here = portal.signed_in(EMAIL, PASSWORD);
    let _there = portal.signed_in(EMAIL, PASSWORD);
    let accounts = || portal.service().engine.accounts();
    let account = accounts().all().remove(0).id;
    let noted = || {
        let sessions = accounts().sessions_of(account);
        sessions
            .iter()
            .filter_map(|it| it.last_used_at)
            .collect::<Vec<_>>()
    };
    clock.advance(3_599);
    assert_eq!(here.get("/keys").status, 200);
    clock.advance(7_201);
    assert_eq!(noted(), []);
    assert_eq!(here.get("/keys").status, 200);
    // The page does not wait for the note.
    let deadline = Instant::now() + Duration::from_secs(10);
    while noted().is_empty() {
        assert!(Instant::now() < deadline, "no use was noted");
        std::thread::yield_now();
    }
    let profile = here.get("/profile");
    let page = profile.text();
    assert!(page.contains(">in the last hour<"), "{page}");
    assert!(page.contains(">3 h ago<"), "{page}");
    assert_eq!(noted(), [portal.service().now()]);
}
