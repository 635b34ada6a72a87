//! Every row of the table of routes, tested over a socket: who may, how often, from where, what is
//! kept (API.md, 12.1, 12.2, 12.4, 12.9, 12.12).
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use subcat_engine::Role;
use subcat_server::command::demo::CATALOG;
use subcat_server::request::{Caching, Methods, RouteAccess, RouteRule, RouteThrottle};
use subcat_server::web::page_rules;
use subcat_tests::clocks::SettableClock;
use subcat_tests::portal::{ALL_SCOPES, Portal, Visitor};
use subcat_tests::raw::RawAnswer;

const USER: &str = "ana@example.com";
const ADMIN: &str = "root@example.com";
const PASSWORD: &str = "correct horse";
/// Longer than every window of the pages.
const WINDOWS_SECONDS: i64 = 3_700;

/// A service with an account of each role, and their sessions.
struct Routes {
    portal: Portal,
    clock: Arc<SettableClock>,
    user: Visitor,
    admin: Visitor,
    asset: String,
}

impl Routes {
    fn open(is_catalog_public: bool) -> Self {
        let clock = Arc::new(SettableClock::at("2026-05-03T09:00:00Z"));
        let portal = Portal::with_clock(clock.clone(), |config| {
            config.is_catalog_public = is_catalog_public;
        });
        portal.make_account(ADMIN, PASSWORD, Role::Admin);
        portal.make_account(USER, PASSWORD, Role::User);
        let mut user = portal.signed_in(USER, PASSWORD);
        let mut fields = vec![("name", "key"), ("expiry", "never")];
        fields.extend(ALL_SCOPES);
        assert_eq!(user.post("/keys", &fields).status, 200);
        let front = portal.visitor().get("/");
        let (_, rest) = front.text().split_once("\"/assets/").expect("a style");
        let (asset, _) = rest.split_once('"').expect("an end");
        Self {
            asset: asset.to_owned(),
            admin: portal.signed_in(ADMIN, PASSWORD),
            user,
            clock,
            portal,
        }
    }

    /// The address of a row that has an answer, with what its variable segment needs.
    fn address(&self, rule: &RouteRule) -> String {
        let variable = match rule.path {
            "/assets/{name}" => self.asset.clone(),
            path if path.starts_with("/title/") => demo_field("catalog_id"),
            path if path.starts_with("/admin/accounts/") => "2".to_owned(),
            path if path.contains("{number}") => "1".to_owned(),
            path if path.contains("{token}") => "none".to_owned(),
            _ => demo_field("id"),
        };
        let (start, end) = rule.path.split_once('{').unwrap_or((rule.path, "}"));
        let variable = if start == rule.path { "" } else { &variable };
        let end = end.split_once('}').map_or("", |(_, end)| end);
        format!("{start}{variable}{end}")
    }

    /// Lets all windows end.
    fn wait(&self) {
        self.clock.advance(WINDOWS_SECONDS);
    }

    /// A visitor who may use the row.
    fn entitled(&mut self, rule: &RouteRule) -> &mut Visitor {
        match rule.access {
            RouteAccess::Administrators => &mut self.admin,
            _ => &mut self.user,
        }
    }
}

/// A field of the first record of the demo.
fn demo_field(name: &str) -> String {
    let record = CATALOG.lines().next().expect("the demo has records");
    let record: serde_json::Value = serde_json::from_str(record).expect("JSON");
    record[name].as_str().expect(name).to_owned()
}

fn is_sent_to_sign_in(answer: &RawAnswer) -> bool {
    let location = answer.field("location").unwrap_or("");
    answer.status == 303 && location.starts_with("/signin")
}

const OURS: [(&str, &str); 2] = [
    ("Sec-Fetch-Site", "same-origin"),
    ("Content-Type", "application/x-www-form-urlencoded"),
];

/// The methods of a row, without `HEAD`.
fn methods(rule: &RouteRule) -> &'static [&'static str] {
    match rule.methods {
        Methods::Get | Methods::GetAndPreflight => &["GET"],
        Methods::Post => &["POST"],
        Methods::GetAndPost => &["GET", "POST"],
    }
}

#[test]
fn a_row_is_for_those_whom_it_names() {
    for is_catalog_public in [false, true] {
        let mut routes = Routes::open(is_catalog_public);
        for rule in page_rules() {
            for method in methods(rule) {
                let address = routes.address(rule);
                routes.wait();
                let answer = routes.portal.visitor().send(method, &address, &OURS, "");
                // One needs the right password a moment ago, the other ends at the sign-in.
                if ["/signin/code", "/signout"].contains(&rule.path) {
                    continue;
                }
                let is_open = match rule.access {
                    RouteAccess::Anybody => true,
                    RouteAccess::CatalogReaders | RouteAccess::FeedReaders => is_catalog_public,
                    _ => false,
                };
                assert_eq!(is_sent_to_sign_in(&answer), !is_open, "{method} {address}");
                assert!(answer.status < 500, "{method} {address}");
                if rule.access == RouteAccess::Administrators {
                    let answer = routes.user.send(method, &address, &OURS, "");
                    assert_eq!(answer.status, 403, "{method} {address}");
                }
            }
        }
    }
}

/// API.md 12.4: a page that reads the catalog counts, whoever asks, whatever it is called.
#[test]
fn a_row_that_reads_the_catalog_is_limited() {
    for is_catalog_public in [false, true] {
        let mut routes = Routes::open(is_catalog_public);
        let rules = page_rules().filter(|rule| rule.throttle == RouteThrottle::Catalog);
        for rule in rules {
            let address = routes.address(rule);
            let address = match rule.path {
                "/uploader" => format!("{address}?name=none"),
                _ => address,
            };
            routes.wait();
            check_limited(&address, |address| routes.entitled(rule).get(address));
            let is_open = is_catalog_public && rule.access != RouteAccess::Administrators;
            if is_open {
                let mut visitor = routes.portal.visitor();
                check_limited(&address, |address| visitor.get(address));
            }
        }
    }
}

fn check_limited(address: &str, mut get: impl FnMut(&str) -> RawAnswer) {
    for number in 0..120 {
        assert_ne!(get(address).status, 429, "{address} {number}");
    }
    let refused = get(address);
    assert_eq!(refused.status, 429, "{address}");
    assert_eq!(
        refused.field("cache-control"),
        Some("no-store"),
        "{address}"
    );
    let seconds: u64 = refused
        .field("retry-after")
        .expect(address)
        .parse()
        .unwrap();
    assert!((1..=61).contains(&seconds), "{seconds}");
}

/// API.md 12.12
#[test]
fn a_row_with_a_form_is_limited_by_account() {
    let mut routes = Routes::open(false);
    for rule in page_rules().filter(|rule| rule.is_served(&http::Method::POST)) {
        // Signing out ends the session that the forms are counted by.
        if rule.path == "/signout" {
            continue;
        }
        routes.wait();
        let address = routes.address(rule);
        let visitor = routes.entitled(rule);
        let is_limited = (0..=60).any(|_| visitor.post(&address, &[]).status == 429);
        assert!(is_limited, "{address}");
    }
}

/// API.md 12.2
#[test]
fn a_row_takes_forms_of_this_site_only() {
    let mut routes = Routes::open(false);
    for rule in page_rules().filter(|rule| rule.is_served(&http::Method::POST)) {
        let address = routes.address(rule);
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        for foreign in [
            [("Sec-Fetch-Site", "cross-site"), form].as_slice(),
            &[("Sec-Fetch-Site", "same-site"), form],
            &[("Origin", "https://evil.example"), form],
            &[form],
        ] {
            let answer = routes.entitled(rule).send("POST", &address, foreign, "a=b");
            assert_eq!(answer.status, 403, "{address} {foreign:?}");
        }
        let json = [
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/json"),
        ];
        let answer = routes.entitled(rule).send("POST", &address, &json, "{}");
        assert_eq!(answer.status, 415, "{address}");
    }
}

#[test]
fn a_row_answers_its_methods_and_names_them() {
    let mut routes = Routes::open(false);
    for rule in page_rules() {
        routes.wait();
        let address = routes.address(rule);
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"] {
            if rule.is_served(&method.parse().expect("a method")) {
                continue;
            }
            let answer = routes.entitled(rule).send(method, &address, &OURS, "");
            assert_eq!(answer.status, 405, "{method} {address}");
            assert_eq!(
                answer.field("allow"),
                Some(rule.methods.allowed()),
                "{address}"
            );
        }
    }
}

/// A body that comes with another method than `POST` changes nothing, and `HEAD` has none.
#[test]
fn a_row_ignores_bodies_and_keeps_its_caching() {
    let mut routes = Routes::open(false);
    let rules = page_rules().filter(|rule| rule.is_served(&http::Method::GET));
    for rule in rules {
        routes.wait();
        let address = routes.address(rule);
        let visitor = routes.entitled(rule);
        let got = visitor.get(&address);
        let with_body = visitor.send("GET", &address, &[("Content-Type", "text/plain")], "body");
        let head = visitor.send("HEAD", &address, &[], "");
        for answer in [&with_body, &head] {
            assert_eq!(answer.status, got.status, "{address}");
            assert_eq!(
                answer.field("content-type"),
                got.field("content-type"),
                "{address}"
            );
        }
        assert_eq!(head.body.len(), 0, "{address}");
        let expected = match got.status {
            200 | 304 => rule.caching.header(),
            _ => Caching::Never.header(),
        };
        assert_eq!(
            got.field("cache-control"),
            expected,
            "{address} {}",
            got.status
        );
    }
}
