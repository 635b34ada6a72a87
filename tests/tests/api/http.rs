//! HTTP's own rules, paths, methods and preflights: what is refused before anyone looks at what is
//! asked.

use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::TestServer;

/// Sends raw bytes on a connection of their own; the answer, and whether the server closed.
fn exchange(server: &TestServer, bytes: &[u8]) -> (RawAnswer, bool) {
    let mut client = server.connect();
    let answer = client.ask(bytes);
    client.finish();
    (answer, client.is_closed())
}

fn check_refused(server: &TestServer, bytes: &[u8], status: u16, detail: &str) {
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(120)]).into_owned();
    let mut client = server.connect();
    let answer = client.ask(bytes);
    assert_eq!(answer.status, status, "{shown}");
    assert_eq!(
        answer.text(),
        format!(r#"{{"detail":"{detail}"}}"#),
        "{shown}"
    );
    let status_line = format!("HTTP/1.1 {status} {detail}");
    assert_eq!(answer.status_line, status_line, "{shown}");
    assert_eq!(answer.field("connection"), Some("close"), "{shown}");
    assert_eq!(answer.field("content-type"), Some("application/json"));
    assert!(answer.field("x-ratelimit-limit").is_some(), "{shown}");
    assert_eq!(answer.field("retry-after"), None);
    assert!(client.is_closed(), "{shown}");
}

#[test]
fn rule_3_2_long_targets_are_414() {
    let server = TestServer::start();
    let path = |bytes: usize| format!("/api/{}", "x".repeat(bytes - 5));
    let request = |bytes| format!("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path(bytes));
    let (answer, _) = exchange(&server, request(8192).as_bytes());
    assert_eq!(answer.status, 401);
    check_refused(&server, request(8193).as_bytes(), 414, "URI Too Long");
}

#[test]
fn rule_3_3_many_or_long_fields_are_431() {
    let server = TestServer::start();
    let request = |fields: String| format!("GET /api/health HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    let (answer, _) = exchange(&server, request("x: y\r\n".repeat(63)).as_bytes());
    assert_eq!(answer.status, 200);
    let detail = "Request Header Fields Too Large";
    let many = request("x: y\r\n".repeat(64));
    check_refused(&server, many.as_bytes(), 431, detail);
    let long = request(format!("x: {}\r\n", "y".repeat(16 << 10)));
    check_refused(&server, long.as_bytes(), 431, detail);
}

#[test]
fn rule_3_4_odd_methods_are_400() {
    let server = TestServer::start();
    for method in ["get", "Get", "M-SEARCH", "GET1"] {
        let request = format!("{method} /api/health HTTP/1.1\r\nHost: a\r\n\r\n");
        check_refused(&server, request.as_bytes(), 400, "Bad Request");
    }
    let connect = b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n";
    check_refused(&server, connect, 400, "Bad Request");
}

#[test]
fn rule_3_5_host_is_there_once_and_valid() {
    let server = TestServer::start();
    let bad = [
        "",
        "Host: a\r\nHost: a\r\n",
        "Host: a\r\nhost: b\r\n",
        "Host:\r\n",
        "Host: a,b\r\n",
        "Host: a b\r\n",
        "Host: u@a\r\n",
        "Host: a/b\r\n",
        "Host: a:http\r\n",
        "Host: [::1\r\n",
    ];
    for fields in bad {
        let request = format!("GET /api/health HTTP/1.1\r\n{fields}\r\n");
        check_refused(&server, request.as_bytes(), 400, "Bad Request");
    }
    let (answer, is_closed) = exchange(&server, b"GET /api/health HTTP/1.0\r\n\r\n");
    assert_eq!((answer.status, is_closed), (200, true));
}

#[test]
fn rule_3_6_targets_are_paths_or_our_own_urls() {
    let server = TestServer::start();
    let ask = |line: &str| {
        let request = format!("{line} HTTP/1.1\r\nHost: a:80\r\n\r\n");
        exchange(&server, request.as_bytes()).0.status
    };
    assert_eq!(ask("GET http://a/api/health"), 200);
    assert_eq!(ask("GET http://A:80/api/health"), 200);
    assert_eq!(ask("GET /api/health#/none"), 200);
    assert_eq!(ask("OPTIONS *"), 204);
    for line in [
        "GET http://b/api/health",
        "GET *",
        "GET a:80",
        "GET ftp://a/api/health",
    ] {
        let request = format!("{line} HTTP/1.1\r\nHost: a:80\r\n\r\n");
        check_refused(&server, request.as_bytes(), 400, "Bad Request");
    }
}

#[test]
fn rule_3_7_transfer_codings_are_411() {
    let server = TestServer::start();
    let check = |fields: &str| {
        let request =
            format!("GET /api/health HTTP/1.1\r\nHost: a\r\n{fields}\r\n5\r\nhello\r\n0\r\n\r\n");
        check_refused(&server, request.as_bytes(), 411, "Length Required");
    };
    check("Transfer-Encoding: chunked\r\n");
    check("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n");
    check("Transfer-Encoding: gzip, chunked\r\n");
}

#[test]
fn rule_3_8_bodies_are_read_and_ignored_up_to_64_kib() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let mut client = server.connect();
    for bytes in [1, 100, 65_536] {
        let body = "x".repeat(bytes);
        let head = format!(
            "GET /api/x HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {api_key}\r\n\
             Content-Length: {bytes}\r\n\r\n"
        );
        let answer = client.ask(head + &body);
        assert_eq!(answer.status, 404, "{bytes}");
    }
    assert_eq!(client.get("/api/health", None).status, 200);
    let request = format!(
        "GET /api/health HTTP/1.1\r\nHost: a\r\nContent-Length: 65537\r\n\r\n{}",
        "x".repeat(65_537)
    );
    check_refused(&server, request.as_bytes(), 413, "Content Too Large");
}

#[test]
fn rule_3_9_what_cannot_be_parsed_is_refused_and_closed() {
    let server = TestServer::start();
    for (bytes, status) in [
        (&b"\x16\x03\x01\x02\x00\r\n\r\n"[..], "400"),
        (b"GET / HTTP/9.9\r\n\r\n", "400"),
        (b"GET /\r\nHost: a\r\n\r\n", "400"),
        (b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
            "400",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            "400",
        ),
    ] {
        let mut client = server.connect();
        client.send(bytes);
        client.finish();
        let answer = client.read_to_end();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let shown = String::from_utf8_lossy(bytes);
        let is_refused = answer.starts_with(&format!("HTTP/1.1 {status} "));
        assert!(is_refused, "{shown} got {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{shown}");
    }
}

#[test]
fn rule_3_9_the_preface_of_http_2_is_closed_without_an_answer() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    assert!(client.is_closed());
}

#[test]
fn rule_3_9_heads_beyond_the_parser_are_refused_and_closed() {
    let server = TestServer::start();
    let many = "x: y\r\n".repeat(101);
    let long = format!("x: {}\r\n", "y".repeat(80 << 10));
    for fields in [many, long] {
        let mut client = server.connect();
        client.send(format!(
            "GET /api/health HTTP/1.1\r\nHost: a\r\n{fields}\r\n"
        ));
        client.finish();
        let answer = client.read_to_end();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 431 "), "got {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
}

#[test]
fn rule_3_1_refusals_consume_nothing() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 2.try_into().unwrap();
    });
    for _ in 0..5 {
        let answer = exchange(&server, b"get /api/x HTTP/1.1\r\nHost: a\r\n\r\n").0;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.field("x-ratelimit-remaining"), Some("2"));
    }
}

#[test]
fn rule_2_1_slashes_are_merged_without_a_redirect() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let mut client = server.connect();
    for path in [
        "/api/health",
        "//api/health",
        "/api//health/",
        "///api///health//",
        "/%61pi/h%65alth",
    ] {
        assert_eq!(client.get(path, None).status, 200, "{path}");
    }
    let path = "/api/subtitles//search/?title=x";
    assert_eq!(client.get(path, Some(&api_key)).status, 200);
    for path in ["/api%2Fhealth", "/api/../api/health", "/apiary"] {
        assert_ne!(client.get(path, Some(&api_key)).status, 200, "{path}");
    }
}

#[test]
fn rule_2_3_unknown_paths_and_methods() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let mut client = server.connect();
    for path in ["/api", "/api/", "/api/x", "/api/subtitles", "/api/health/x"] {
        let answer = client.get(path, Some(&api_key));
        assert_eq!(
            (answer.status, answer.text()),
            (404, r#"{"detail":"Not Found"}"#),
            "{path}"
        );
    }
    for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PURGE"] {
        let answer = client.request(method, "/api/subtitles/search", Some(&api_key), &[]);
        assert_eq!(answer.status, 405, "{method}");
        assert_eq!(answer.text(), r#"{"detail":"Method Not Allowed"}"#);
        assert_eq!(answer.field("allow"), Some("GET, HEAD, OPTIONS"));
        let answer = client.request(method, "/api/x", Some(&api_key), &[]);
        assert_eq!(answer.status, 404, "{method}");
    }
}

#[test]
fn rule_1_1_checks_come_in_their_order() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let mut client = server.connect();
    assert_eq!(client.get("/api/x", None).status, 401);
    assert_eq!(client.get("/api/x", Some(&api_key)).status, 404);
    assert_eq!(
        client
            .request("POST", "/api/subtitles/search", None, &[])
            .status,
        401
    );
    let read = subcat_engine::Scopes::READ;
    let (reader, _) = server.api_key_with(read, Some("4/60"), None);
    let search = "/api/subtitles/search?limit=x";
    assert_eq!(
        client.request("POST", search, Some(&reader), &[]).status,
        405
    );
    assert_eq!(client.get(search, Some(&reader)).status, 403);
    assert_eq!(client.get("/api/x", Some(&reader)).status, 404);
    assert_eq!(client.get(search, Some(&reader)).status, 403);
    assert_eq!(client.get(search, Some(&reader)).status, 429);
    assert_eq!(client.get("/api/x", Some(&reader)).status, 429);
    let options = client.request("OPTIONS", search, Some(&reader), &[]);
    assert_eq!(options.status, 204);
}

#[test]
fn rule_2_5_preflights_and_origins() {
    let server = TestServer::start();
    let mut client = server.connect();
    for path in ["/api/subtitles/search", "/api/x", "/api", "/api/health"] {
        let fields = [
            ("Origin", "https://example.org"),
            ("Access-Control-Request-Method", "GET"),
            ("Access-Control-Request-Headers", "authorization"),
        ];
        let answer = client.request("OPTIONS", path, None, &fields);
        assert_eq!(answer.status, 204, "{path}");
        assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
        let methods = answer.field("access-control-allow-methods");
        assert_eq!(methods, Some("GET, HEAD, OPTIONS"));
        let names = answer.field("access-control-allow-headers");
        assert_eq!(names, Some("Authorization, *"));
        assert_eq!(answer.field("access-control-max-age"), Some("86400"));
        assert_eq!(answer.field("content-length"), None);
        assert!(answer.field("x-ratelimit-limit").is_some());
    }
    let answer = client.get("/api/x", None);
    assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.field("x-content-type-options"), Some("nosniff"));
    let exposed = answer.field("access-control-expose-headers").unwrap();
    for name in [
        "X-RateLimit-Reset",
        "Retry-After",
        "Content-Disposition",
        "ETag",
        "Content-Range",
    ] {
        assert!(exposed.contains(name), "{name}");
    }
}

#[test]
fn rule_2_8_odd_fields_are_ignored() {
    let server = TestServer::start();
    let api_key = server.api_key();
    let fields = [
        ("Content-Type", "application/json"),
        ("Content-Disposition", "x"),
        ("Accept", "image/png"),
    ];
    let mut client = server.connect();
    let path = "/api/subtitles/search?title=x";
    let answer = client.request("GET", path, Some(&api_key), &fields);
    assert_eq!(answer.status, 200);
}

#[test]
fn rule_11_1_old_clients_are_served() {
    let server = TestServer::start();
    let request = b"GET /api/health HTTP/1.0\r\nHost: a\r\n\r\n";
    let (answer, is_closed) = exchange(&server, request);
    assert_eq!((answer.status, is_closed), (200, true));
    let mut client = server.connect();
    let request = b"GET /api/health HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n";
    assert_eq!(client.ask(request).status, 200);
    assert_eq!(client.ask(request).status, 200);
}

/// The body of a request must not be taken for the next request.
#[test]
fn bodies_are_not_requests() {
    let server = TestServer::start();
    let smuggled = "GET /api/subtitles/search HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = smuggled.len();
    let request = format!(
        "GET /api/health HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{smuggled}\
         GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n"
    );
    let mut client = server.connect();
    client.send(request);
    assert_eq!(client.read_answer(false).status, 200);
    assert_eq!(client.read_answer(false).status, 200);
    client.finish();
    assert!(client.is_closed());
}

#[test]
fn rule_11_3_over_capacity_clients_are_told_and_others_go_on() {
    for (max, max_per_address) in [(2, 100), (100, 2)] {
        let server = TestServer::with(|config| {
            config.connections.max = max;
            config.connections.max_per_address = max_per_address;
        });
        let health = |client: &mut Client| client.get("/api/health", None);
        let mut first = server.connect();
        let mut second = server.connect();
        for client in [&mut first, &mut second] {
            // The next request has begun: an idle connection would give way.
            client.send("GET /api/health HTTP/1.1\r\nHost: a\r\n\r\nGET /api/health HTTP/1.1\r\n");
            assert_eq!(client.read_answer(false).status, 200);
        }
        let mut third = server.connect();
        let answer = third.read_answer(false);
        assert_eq!(answer.status, 503);
        assert_eq!(answer.text(), r#"{"detail":"Service Unavailable"}"#);
        assert_eq!(answer.field("connection"), Some("close"));
        assert_eq!(answer.field("content-type"), Some("application/json"));
        assert_eq!(answer.field("retry-after"), None);
        assert!(third.is_closed());
        first.send("Host: a\r\n\r\n");
        let answer = first.read_answer(false);
        assert_eq!(answer.status, 200, "who is there goes on");
        drop(second);
        let is_room = || health(&mut server.connect()).status == 200;
        let found = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            is_room()
        });
        assert!(found, "a place that became free is given to the next");
    }
}

/// API.md 3.8: a client that sends all of a large body before it reads gets its answer, not a
/// reset.
#[test]
fn rule_3_8_a_large_body_is_answered_readably() {
    let server = TestServer::start();
    for _ in 0..3 {
        let mut client = server.connect();
        let length = 20 << 20;
        let head = format!("POST /api/x HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
        client.send([head.as_bytes(), &vec![b'x'; length]].concat());
        assert_eq!(client.read_answer(false).status, 413);
    }
}
