//! Keys of addresses: where they are accepted, what they may do, where they are never shown.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use subcat_engine::Scopes;
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film};

const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const NOT_FOUND: &str = r#"{"detail":"Not Found","error":"Not Found"}"#;

fn remaining(answer: &RawAnswer) -> u32 {
    let field = answer.field("x-ratelimit-remaining").unwrap();
    field.parse().unwrap()
}

#[test]
fn rule_20_1_a_key_of_an_address_opens_nothing_else() {
    let server = TestServer::start();
    server.import(vec![film(ID, "Heat", 1995, "1")]);
    let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
    for path in [
        "/api/subtitles/search?title=heat".to_owned(),
        format!("/api/subtitles/{ID}"),
        format!("/api/subtitles/{ID}/download"),
    ] {
        let answer = server.get(&path, Some(&key));
        assert_eq!(
            (answer.status, answer.text()),
            (403, r#"{"detail":"Forbidden"}"#)
        );
    }
    assert_eq!(server.get("/api/x", Some(&key)).status, 404);
    let (other, _) = server.api_key_with(Scopes::ALL, None, None);
    let path = format!("/a/{key}/manifest.json");
    assert_eq!(
        server.get(&path, Some(&other)).status,
        200,
        "the field is ignored"
    );
    let answer = server.get(&format!("/a/{other}/manifest.json"), Some(&key));
    assert_eq!((answer.status, answer.text()), (404, NOT_FOUND));
}

#[test]
fn rule_20_4_bad_keys_are_404_and_consume_the_window_of_the_client() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 6.try_into().unwrap();
    });
    let (key, stored) = server.api_key_with(Scopes::ADDRESS, None, None);
    let past = subcat_engine::Timestamp::parse("2020-01-01");
    let (expired, _) = server.api_key_with(Scopes::ADDRESS, None, past);
    let mut client = server.connect();
    assert_eq!(
        client.get(&format!("/a/{key}/manifest.json"), None).status,
        200
    );
    server.revoke(&stored);
    let mut left = 6;
    for text in [key.as_str(), "x", &expired, "", "%73ct_x"] {
        let answer = client.get(&format!("/a/{text}/manifest.json"), None);
        assert_eq!((answer.status, answer.text()), (404, NOT_FOUND), "{text}");
        left -= 1;
        assert_eq!(remaining(&answer), left);
    }
    assert_eq!(client.get("/a", None).status, 404);
    let limited = client.get("/a/x/manifest.json", None);
    assert_eq!(limited.status, 429);
    let text = "Rate limit exceeded";
    assert_eq!(
        limited.text(),
        format!(r#"{{"detail":"{text}","error":"{text}"}}"#)
    );
    assert!(limited.field("retry-after").is_some());
}

#[test]
fn rule_20_2_the_window_is_that_of_addresses() {
    let server = TestServer::with(|config| {
        config.rate_limit.address_requests = 2.try_into().unwrap();
    });
    let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
    let path = format!("/a/{key}/manifest.json");
    let left: Vec<_> = (0..3)
        .map(|_| server.get(&path, None))
        .map(|answer| (answer.status, remaining(&answer)))
        .collect();
    assert_eq!(left, [(200, 1), (200, 0), (429, 0)]);
    let (own, _) = server.api_key_with(Scopes::ADDRESS, Some("7/60"), None);
    let answer = server.get(&format!("/a/{own}/x"), None);
    assert_eq!((answer.status, remaining(&answer)), (404, 6));
}

#[test]
fn rule_20_4_methods_and_fields_are_those_of_the_api() {
    let server = TestServer::start();
    let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
    let path = format!("/a/{key}/manifest.json");
    let mut client = server.connect();
    let answer = client.get(&path, None);
    assert_eq!(answer.field("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.field("cache-control"), Some("private, max-age=0"));
    assert_eq!(answer.field("etag"), None);
    let head = client.request("HEAD", &path, None, &[]);
    let length = answer.body.len().to_string();
    assert_eq!(
        (head.status, head.field("content-length")),
        (200, Some(&*length))
    );
    let preflight = client.request("OPTIONS", "/a/x/y", None, &[]);
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.field("referrer-policy"), Some("no-referrer"));
    let posted = client.request("POST", &path, None, &[("Content-Length", "0")]);
    assert_eq!(posted.status, 405);
    assert_eq!(posted.field("allow"), Some("GET, HEAD, OPTIONS"));
    assert_eq!(posted.field("cache-control"), Some("no-store"));
    assert_eq!(posted.field("referrer-policy"), Some("no-referrer"));
    for rest in ["", "/", "/x", "/api/v1", "/api/health", "/es/manifest.json"] {
        let answer = client.get(&format!("/a/{key}{rest}"), None);
        assert_eq!((answer.status, answer.text()), (404, NOT_FOUND), "{rest}");
    }
    let slashes = client.get(&format!("//a//{key}/es-419//manifest.json/"), None);
    assert_eq!(slashes.status, 200);
}

/// Pages, redirects and errors never repeat a key, wherever it stood in the request.
#[test]
fn rule_20_5_answers_elsewhere_never_contain_a_key() {
    let server = TestServer::start();
    let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
    let mut client = server.connect();
    for path in [
        format!("/wrong/a/{key}/manifest.json"),
        format!("/{key}"),
        format!("/catalog/Bearer%20{key}"),
        format!("/catalog?query={key}"),
        format!("/keys?x={key}"),
        format!("/sign-in?next=/a/{key}/manifest.json"),
        format!("/api/{key}"),
        format!("/A/{key}"),
    ] {
        let referer = format!("http://{}/a/{key}/", server.address());
        let fields = [("Referer", referer.as_str())];
        let answer = client.request("GET", &path, None, &fields);
        let shown = format!(
            "{:?} {}",
            answer.fields,
            String::from_utf8_lossy(&answer.body)
        );
        assert!(!shown.contains(&key), "{path}: {shown}");
    }
}
