//! `GET /api/health`.

use std::time::Duration;

use subcat_server::service::Phase;
use subcat_tests::server::TestServer;

#[test]
fn rule_10_1_health_says_what_the_service_does() {
    let server = TestServer::start();
    let version = env!("CARGO_PKG_VERSION");
    let answer = server.get("/api/health", None);
    assert_eq!(answer.status, 200);
    assert_eq!(
        answer.text(),
        format!(r#"{{"status":"ok","version":"{version}"}}"#)
    );
    assert_eq!(answer.field("content-type"), Some("application/json"));

    server.service.set_phase(Phase::Starting);
    let answer = server.get("/api/health", None);
    assert_eq!(answer.status, 503);
    let expected = format!(r#"{{"status":"starting","version":"{version}"}}"#);
    assert_eq!(answer.text(), expected);
    server.service.set_phase(Phase::Ready);
    assert_eq!(server.get("/api/health", None).status, 200);
}

#[test]
fn rule_11_4_health_says_draining_on_connections_that_stand() {
    let mut server = TestServer::start();
    let mut client = server.connect();
    assert_eq!(client.get("/api/health", None).status, 200);
    let service = std::sync::Arc::clone(&server.service);
    let stopping = std::thread::spawn(move || {
        server.stop();
    });
    while service.phase() != Phase::Draining {
        std::thread::sleep(Duration::from_millis(1));
    }
    let answer = client.get("/api/health", None);
    assert_eq!(answer.status, 503);
    assert!(answer.text().starts_with(r#"{"status":"draining""#));
    assert_eq!(answer.field("connection"), Some("close"));
    assert!(client.is_closed());
    stopping.join().unwrap();
}

#[test]
fn rule_1_3_health_needs_no_key_and_consumes_nothing() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 1.try_into().unwrap();
    });
    let mut client = server.connect();
    for _ in 0..5 {
        let answer = client.get("/api/health", None);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.field("x-ratelimit-limit"), Some("1"));
        assert_eq!(answer.field("x-ratelimit-remaining"), Some("1"));
    }
    assert_eq!(client.get("/api/x", None).status, 401);
    assert_eq!(client.get("/api/x", None).status, 429);
    let answer = client.get("/api/health", None);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("x-ratelimit-remaining"), Some("0"));
    assert_eq!(answer.field("retry-after"), None);
}

#[test]
fn rule_1_3_health_with_a_key_shows_its_window() {
    let server = TestServer::start();
    let (api_key, _) = server.api_key_with(subcat_engine::Scopes::SEARCH, Some("7/9"), None);
    let answer = server.get("/api/health", Some(&api_key));
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("x-ratelimit-limit"), Some("7"));
    assert_eq!(answer.field("x-ratelimit-remaining"), Some("7"));
    assert_eq!(answer.field("x-ratelimit-window"), Some("9"));
}

#[test]
fn rule_2_3_health_knows_get_head_and_options() {
    let server = TestServer::start();
    let mut client = server.connect();
    let head = client.request("HEAD", "/api/health", None, &[]);
    assert_eq!(head.status, 200);
    let length = client.get("/api/health", None).body.len().to_string();
    assert_eq!(head.field("content-length"), Some(length.as_str()));
    assert!(head.body.is_empty());
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"] {
        let answer = client.request(method, "/api/health", None, &[]);
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.text(), r#"{"detail":"Method Not Allowed"}"#);
        assert_eq!(answer.field("allow"), Some("GET, HEAD, OPTIONS"));
    }
}
