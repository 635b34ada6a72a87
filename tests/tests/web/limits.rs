//! Limits of the pages (API.md, 12.4, 12.5 and 12.12), tested over a socket.

use std::time::{Duration, Instant};

use subcat_engine::Role;
use subcat_tests::portal::Portal;
use subcat_tests::server::TestServer;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

fn portal() -> Portal {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    portal
}

/// API.md 12.5: others can lock an account for themselves, not for its owner.
#[test]
fn a_browser_that_has_signed_in_before_is_not_locked_out_by_others() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    assert_eq!(ana.post("/signout", &[]).status, 303);
    let mut guesser = portal.visitor();
    let wrong = [("email", EMAIL), ("password", "wrong horse")];
    for _ in 0..10 {
        assert_eq!(guesser.post("/signin", &wrong).status, 422);
    }
    let right = [("email", EMAIL), ("password", PASSWORD)];
    assert_eq!(guesser.post("/signin", &right).status, 429);
    assert_eq!(ana.post("/signin", &right).status, 303);
    // Its own tries are limited, too.
    assert_eq!(ana.post("/signout", &[]).status, 303);
    for _ in 0..10 {
        assert_eq!(ana.post("/signin", &wrong).status, 422);
    }
    assert_eq!(ana.post("/signin", &right).status, 429);
}

/// API.md 12.5: an account with the right password does not keep others out of the sign-in.
#[test]
fn a_flood_of_right_passwords_keeps_nobody_out() {
    const FLOOD: usize = 80;
    let portal = portal();
    portal.make_account("root@example.com", PASSWORD, Role::Admin);
    let right = [("email", EMAIL), ("password", PASSWORD)];
    let mut root = portal.signed_in("root@example.com", PASSWORD);
    let known = portal.signed_in(EMAIL, PASSWORD).cookies;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let refused = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..FLOOD {
            scope.spawn(|| {
                let mut visitor = portal.visitor();
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    visitor.cookies.clone_from(&known);
                    let status = visitor.post("/signin", &right).status;
                    assert!([303, 429, 503].contains(&status), "{status}");
                    if status != 303 {
                        refused.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                }
            });
        }
        while refused.load(std::sync::atomic::Ordering::Relaxed) < FLOOD {
            std::thread::yield_now();
        }
        for _ in 0..10 {
            let fields = [("email", "root@example.com"), ("password", PASSWORD)];
            let status = root.post("/signin", &fields).status;
            assert_eq!(status, 303, "an administrator from a known browser");
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// API.md 12.5: right passwords are limited, too.
#[test]
fn an_account_signs_in_thirty_times_in_ten_minutes() {
    let portal = portal();
    let mut ana = portal.visitor();
    let right = [("email", EMAIL), ("password", PASSWORD)];
    for _ in 0..30 {
        assert_eq!(ana.post("/signin", &right).status, 303);
    }
    let refused = ana.post("/signin", &right);
    assert_eq!(refused.status, 429);
    assert!(refused.field("retry-after").is_some());
}

/// API.md 12.2 and 12.9
#[test]
fn a_form_that_is_too_large_is_refused_as_pages_are() {
    let portal = portal();
    let long = "x".repeat(17 << 10);
    let answer = portal.visitor().post("/signin", &[("email", &long)]);
    assert_eq!(answer.status, 413);
    assert_eq!(answer.field("access-control-allow-origin"), None);
    assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(answer.field("cache-control"), Some("no-store"));
    assert_eq!(answer.field("connection"), Some("close"));
    assert_eq!(
        answer.field("content-type"),
        Some("text/html; charset=utf-8")
    );
    assert!(answer.text().contains("Too much text"));
}

/// API.md 3.1 and 12.9: what is refused before anything is looked at is a page, too.
#[test]
fn requests_for_pages_that_break_the_rules_of_http_get_pages() {
    let server = TestServer::start();
    let long = "x".repeat(9_000);
    let cookies = format!("Cookie: a={}\r\n", "x".repeat(17_000));
    for (line, fields, status, says) in [
        (
            format!("GET /catalog?query={long}"),
            "",
            414,
            "Address too long",
        ),
        (
            "GET /".to_owned(),
            cookies.as_str(),
            431,
            "Too many cookies",
        ),
        (
            "GET /".to_owned(),
            "Accept-Language: es\r\nTransfer-Encoding: chunked\r\n",
            411,
            "Petición no válida",
        ),
        (
            "POST /signin".to_owned(),
            "Content-Length: 70000\r\n",
            413,
            "Too much text",
        ),
        ("get /".to_owned(), "", 400, "Request not understood"),
    ] {
        let mut client = server.connect();
        let answer = client.ask(format!("{line} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
        assert_eq!(answer.status, status, "{says}");
        let has_phrase = answer.status_line.contains("Content Too Large");
        assert_eq!(has_phrase, status == 413, "{}", answer.status_line);
        assert!(answer.text().contains(says), "{}", answer.text());
        assert!(answer.text().starts_with("<!doctype html>"), "{says}");
        assert_eq!(answer.field("access-control-allow-origin"), None);
        assert_eq!(answer.field("x-ratelimit-limit"), None);
        assert!(answer.field("content-security-policy").is_some(), "{says}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.field("connection"), Some("close"));
        assert!(client.is_closed(), "{says}");
    }
    let mut client = server.connect();
    let answer = client.ask(format!(
        "HEAD /catalog?query={long} HTTP/1.1\r\nHost: a\r\n\r\n"
    ));
    assert_eq!((answer.status, answer.body.len()), (414, 0));
}

/// API.md 12.12
#[test]
fn the_forms_of_an_account_are_limited() {
    let portal = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let rename = [("action", "name"), ("name", "Ana")];
    for _ in 0..60 {
        assert_eq!(ana.post("/profile", &rename).status, 303);
    }
    let answer = ana.post("/profile", &rename);
    assert_eq!(answer.status, 429);
    assert!(answer.field("retry-after").is_some());
    assert_eq!(ana.get("/profile").status, 200);
}

/// API.md 12.4: pages need no key, so they have a limit of their own.
#[test]
fn pages_of_the_catalog_are_limited_by_account() {
    let portal = portal();
    portal.make_account("other@example.org", PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    for number in 0..120 {
        let path = ["/catalog?query=matrix", "/catalog/none"][number % 2];
        assert_ne!(ana.get(path).status, 429, "{number}");
    }
    for path in ["/catalog?query=matrix", "/catalog/none/download"] {
        let refused = ana.get(path);
        assert_eq!(refused.status, 429);
        let seconds: u64 = refused.field("retry-after").unwrap().parse().unwrap();
        assert!((1..=61).contains(&seconds), "{seconds}");
    }
    assert_eq!(ana.get("/keys").status, 200);
    let mut other = portal.signed_in("other@example.org", PASSWORD);
    assert_eq!(other.get("/catalog?query=matrix").status, 200);
    // The refusals are figures of the day: administrators see them.
    let service = portal.service();
    let today = service.now().day();
    let began = Instant::now();
    loop {
        let usage = service.engine.usage().per_day(today, today);
        let usage = usage.expect("it is read");
        let limited: u64 = usage.iter().map(|(_, usage)| usage.limited).sum();
        if limited == 2 {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{limited}");
        std::thread::yield_now();
    }
}
