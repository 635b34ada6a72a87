//! A service below a base path (API.md, 12.19), tested over a socket.

use subcat_engine::Role;
use subcat_server::request::RouteAccess;
use subcat_server::web::page_rules;
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};

const EMAIL: &str = "root@example.com";
const PASSWORD: &str = "correct horse";
const BASE: &str = "/tools/subs";

fn portal(origin: &str) -> Portal {
    let portal = Portal::open(|config| {
        config.public_url = Some(format!("{origin}{BASE}"));
        config.is_catalog_public = true;
    });
    portal.make_account(EMAIL, PASSWORD, Role::Admin);
    portal
}

fn location(answer: &RawAnswer) -> &str {
    answer.field("location").expect("a place to go")
}

/// Signs in at the address that a proxy passes on.
fn sign_in(portal: &Portal, path: &str) -> Visitor {
    let mut visitor = portal.visitor();
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let answer = visitor.post(&format!("{path}/signin"), &fields);
    assert_eq!(answer.status, 303, "{}", answer.text());
    assert!(location(&answer).starts_with(BASE), "{}", location(&answer));
    visitor
}

/// Addresses in attributes that leave the base.
fn addresses_outside(html: &str) -> Vec<&str> {
    let starts = ["href=\"/", "src=\"/", "action=\"/", "url=/", "data-run=\"/"];
    let mut outside = Vec::new();
    for start in starts {
        for (at, _) in html.match_indices(start) {
            let address = &html[at + start.len() - 1..];
            if !address.starts_with(BASE) {
                outside.push(&address[..address.len().min(40)]);
            }
        }
    }
    outside
}

/// A proxy may take the base away, or pass it on.
#[test]
fn every_page_links_below_the_base() {
    let portal = portal("http://media.example");
    for path in ["", BASE] {
        let mut visitor = sign_in(&portal, path);
        let rules = page_rules().filter(|rule| rule.is_served(&http::Method::GET));
        for rule in rules.filter(|rule| !rule.path.contains('{')) {
            let answer = visitor.get(&format!("{path}{}", rule.path));
            assert!(answer.status < 500, "{path}{}", rule.path);
            if answer.status == 303 {
                assert!(location(&answer).starts_with(BASE), "{}", rule.path);
            } else if answer.field("content-type") == Some("text/html; charset=utf-8") {
                assert_eq!(addresses_outside(answer.text()), [""; 0], "{}", rule.path);
                assert!(
                    answer.text().contains(&format!("href=\"{BASE}/")),
                    "{}",
                    rule.path
                );
            }
        }
        let answer = visitor.get(&format!("{path}/none"));
        assert_eq!(answer.status, 404);
        assert_eq!(addresses_outside(answer.text()), [""; 0]);
        let found = visitor.get(&format!("{path}/catalog?query=matrix"));
        let (_, link) = found
            .text()
            .split_once(&format!("href=\"{BASE}/catalog/"))
            .unwrap();
        let id = &link[..36];
        for part in ["", "/look", "/download"] {
            let answer = visitor.get(&format!("{path}/catalog/{id}{part}"));
            assert_eq!(answer.status, 200, "{path} {part}");
        }
    }
}

#[test]
fn links_to_sign_in_lead_back_below_the_base() {
    let portal = portal("http://media.example");
    let mut visitor = portal.visitor();
    let answer = visitor.get(&format!("{BASE}/keys"));
    assert!(location(&answer).starts_with(&format!("{BASE}/signin")));
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let answer = visitor.post(location(&answer), &fields);
    assert_eq!(location(&answer), format!("{BASE}/keys"));
    let answer = visitor.get(&format!("{BASE}/keys?lang=es"));
    assert_eq!(location(&answer), format!("{BASE}/keys"));
}

/// Two services on one host keep apart what browsers remember.
#[test]
fn cookies_belong_to_the_base() {
    let portal = portal("https://media.example");
    let mut visitor = portal.visitor();
    let fields = [("email", EMAIL), ("password", PASSWORD)];
    let ours = [
        ("Sec-Fetch-Site", "same-origin"),
        ("X-Forwarded-Proto", "https"),
    ];
    let answer = visitor.post_from(&format!("{BASE}/signin"), &fields, &ours);
    let cookies = answer
        .fields
        .iter()
        .filter(|(name, _)| name == "set-cookie");
    let mut session = false;
    for (_, cookie) in cookies {
        assert!(cookie.contains(&format!("; Path={BASE};")), "{cookie}");
        assert!(cookie.ends_with("; Secure"), "{cookie}");
        session |= cookie.starts_with("__Secure-subcat-session=");
    }
    assert!(session);
    let answer = visitor.get(&format!("{BASE}/keys"));
    assert_eq!(answer.status, 200);
    let answer = visitor.get(&format!("{BASE}/?theme=dark"));
    let cookie = answer.field("set-cookie").unwrap();
    assert!(cookie.contains(&format!("; Path={BASE};")), "{cookie}");
}

#[test]
fn the_api_answers_at_the_root_and_below_the_base() {
    let portal = portal("http://media.example");
    let mut client = Client::connect(portal.address());
    for path in [
        "/api/health",
        "/tools/subs/api/health",
        "//tools//subs/api//health/",
        "/t%6fols/su%62s/%61pi/health",
    ] {
        assert_eq!(client.get(path, None).status, 200, "{path}");
    }
    for path in ["/tools/api/health", "/tools/subsonic/api/health"] {
        let answer = client.get(path, None);
        assert_eq!(answer.status, 404, "{path}");
        assert_eq!(answer.field("x-ratelimit-limit"), None, "{path}");
    }
    let unknown = client.get("/tools/subs/api/none", None);
    assert_eq!(unknown.status, 401);
    let search = "/tools/subs/api/subtitles/search?title=matrix";
    let key = portal.api_key(subcat_engine::Scopes::ALL);
    assert_eq!(client.get(search, Some(&key)).status, 200);
    let document = client.get("/tools/subs/openapi.json", None);
    assert!(
        document
            .text()
            .contains("\"servers\":[{\"url\":\"/tools/subs\"}]")
    );
    let feed = client.get("/tools/subs/feed.atom?query=matrix", None);
    let page = "href=\"http://media.example/tools/subs/catalog/";
    assert!(feed.text().contains(page), "{}", feed.text());
    let docs = client.get("/tools/subs/docs", None);
    let command = "http://media.example/tools/subs/api/subtitles/search";
    assert!(docs.text().contains(command));
    assert!(page_rules().any(|rule| rule.access == RouteAccess::Anybody));
}

/// Rule 20.7: URLs in the answers of an address begin as the request did, or with the public URL.
#[test]
fn rule_20_7_addresses_answer_at_the_root_and_below_the_base() {
    let portal = portal("http://media.example");
    let key = portal.api_key(subcat_engine::Scopes::ADDRESS);
    let ask = |base: &str, rest: &str| {
        let target = format!("{base}/a/{key}/api/v1/subtitles/search?query=matrix");
        let answer = Client::connect(portal.address()).ask(format!("GET {target} {rest}\r\n\r\n"));
        assert_eq!(answer.status, 200, "{target}");
        let text = answer.text();
        let list: serde_json::Value = serde_json::from_str(text).expect("an answer in JSON");
        let url = list["items"][0]["download_url"].as_str();
        let url = url.expect("the demo has this film");
        url.split("/a/")
            .next()
            .map(str::to_owned)
            .expect("a beginning")
    };
    let url_of = |base: &str, host: &str| ask(base, &format!("HTTP/1.1\r\nHost: {host}"));
    let public = "http://media.example/tools/subs";
    assert_eq!(url_of("", "media.example"), public);
    assert_eq!(url_of("/tools/subs", "media.example:80"), public);
    assert_eq!(url_of("", "nas:8080"), "http://nas:8080");
    assert_eq!(
        url_of("/tools/subs", "nas:8080"),
        "http://nas:8080/tools/subs"
    );
    let reached = format!("http://{}", portal.address());
    assert_eq!(ask("", "HTTP/1.0"), reached);
    assert_eq!(
        ask("/tools/subs", "HTTP/1.0"),
        format!("{reached}/tools/subs")
    );
    let mut client = Client::connect(portal.address());
    let document = client.get("/tools/subs/openapi-address.json", None);
    let servers = "\"servers\":[{\"url\":\"/tools/subs\"}]";
    assert!(document.text().contains(servers));
}
