//! Raw requests by the hundred (RFC 9112): what is ambiguous or malformed ends its connection, and
//! what follows it on the same connection is never taken for a request.

use subcat_tests::raw::Client;
use subcat_tests::server::TestServer;

/// Cases that the promise asks for.
const CASES_MIN: usize = 250;

/// A request that follows on the same connection.
const NEXT: &str = "GET /api/health?next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Fields about the length of a body that leave it open, or are not valid.
const BAD_FRAMINGS: [&str; 30] = [
    "Transfer-Encoding: chunked\r\n",
    "transfer-encoding: CHUNKED\r\n",
    "Transfer-Encoding:chunked\r\n",
    "Transfer-Encoding:\tchunked\r\n",
    "Transfer-Encoding: chunked \r\n",
    "Transfer-Encoding: chunked, chunked\r\n",
    "Transfer-Encoding: gzip, chunked\r\n",
    "Transfer-Encoding: chunked, gzip\r\n",
    "Transfer-Encoding: identity\r\n",
    "Transfer-Encoding: xchunked\r\n",
    "Transfer-Encoding: \"chunked\"\r\n",
    "Transfer-Encoding: chunked;q=1\r\n",
    "Transfer-Encoding:\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
    "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    "Content-Length: 5\r\nContent-Length: 6\r\n",
    "Content-Length: 0\r\nContent-Length: 5\r\n",
    "Content-Length: 5, 6\r\n",
    "Content-Length: +5\r\n",
    "Content-Length: -5\r\n",
    "Content-Length: 0x5\r\n",
    "Content-Length: 5a\r\n",
    "Content-Length: 5 5\r\n",
    "Content-Length: 5.0\r\n",
    "Content-Length: \"5\"\r\n",
    "Content-Length: five\r\n",
    "Content-Length: 99999999999999999999999\r\n",
];

/// Values of `Host` that name no host.
const BAD_HOSTS: [&str; 25] = [
    "",
    " ",
    "a b",
    "a,b",
    "a, a",
    "u@a",
    "u:p@a",
    "a/b",
    "a/",
    "/a",
    "a?b",
    "a#b",
    "a\\b",
    "a:http",
    "a:80:80",
    "a:-1",
    "a:+1",
    "a:99999999",
    "[::1",
    "::1",
    "[::1]x",
    "[g::1]",
    "<a>",
    "a\"b",
    "http://a",
];

/// First lines that are none.
const BAD_LINES: [&str; 32] = [
    "GET",
    "GET /api/health",
    "GET  /api/health HTTP/1.1",
    "GET /api/health  HTTP/1.1",
    " GET /api/health HTTP/1.1",
    "GET\t/api/health\tHTTP/1.1",
    "GET /api/health HTTP/1.1 x",
    "GET /api/ health HTTP/1.1",
    "GET /api/health HTTP/1.2",
    "GET /api/health HTTP/0.9",
    "GET /api/health HTTP/2.0",
    "GET /api/health HTTP/3",
    "GET /api/health HTTP/1",
    "GET /api/health HTTP/1.",
    "GET /api/health HTTP/11",
    "GET /api/health HTTP/1.1.1",
    "GET /api/health http/1.1",
    "GET /api/health HTTPS/1.1",
    "GET /api/health HTTP 1.1",
    "GET api/health HTTP/1.1",
    "GET * HTTP/1.1",
    "GET http://b/api/health HTTP/1.1",
    "GET ftp://a/api/health HTTP/1.1",
    "GET a:80 HTTP/1.1",
    "CONNECT a:80 HTTP/1.1",
    "CONNECT /api/health HTTP/1.1",
    "get /api/health HTTP/1.1",
    "Get /api/health HTTP/1.1",
    "G\u{e9}T /api/health HTTP/1.1",
    "G\0T /api/health HTTP/1.1",
    "GET /api/\0health HTTP/1.1",
    "GET /api/\u{7f}health HTTP/1.1",
];

/// Fields that are none.
const BAD_FIELDS: [&str; 22] = [
    "X : y\r\n",
    "X\t: y\r\n",
    ": y\r\n",
    "X\r\n",
    "X y\r\n",
    " X: y\r\n",
    "\tX: y\r\n",
    "X: y\r\n z\r\n",
    "X: y\r\n\tz\r\n",
    "X(: y\r\n",
    "X,Y: z\r\n",
    "X@: y\r\n",
    "X[]: y\r\n",
    "X\"Y\": z\r\n",
    "X\\Y: z\r\n",
    "X/Y: z\r\n",
    "X\u{e9}: y\r\n",
    "X\0: y\r\n",
    "X: y\0z\r\n",
    "X: y\rz\r\n",
    "X: y\u{1}z\r\n",
    "X: y\u{7f}z\r\n",
];

/// Fields that change nothing.
const HARMLESS_FIELDS: [&str; 22] = [
    "",
    "X:y\r\n",
    "X:\r\n",
    "X: \r\n",
    "X:  y  \r\n",
    "X:\ty\t\r\n",
    "x-!#$%&'*+.^_`|~: y\r\n",
    "X: y\u{e9}\r\n",
    "X: a\tb\r\n",
    "X: a:b:c\r\n",
    "X: y\r\nX: z\r\n",
    "Content-Length: 0\r\n",
    "content-length: 0\r\n",
    "CONTENT-LENGTH:0\r\n",
    "Connection: keep-alive\r\n",
    "Connection: x, y\r\n",
    "Expect: x\r\n",
    "Upgrade: h2c\r\n",
    "TE: trailers\r\n",
    "Trailer: x\r\n",
    "Accept: */*\r\n",
    "Cookie: a=b; c\r\n",
];

/// Answers that came, up to the end of the connection.
fn answers(server: &TestServer, request: &str) -> Vec<String> {
    let mut client: Client = server.connect();
    client.send(request.as_bytes());
    let all = client.read_to_end();
    let all = String::from_utf8_lossy(&all).into_owned();
    let heads = all.split("HTTP/1.1 ").skip(1);
    heads.map(|head| head[..3].to_owned()).collect()
}

/// One answer at most, which refuses, although another request follows.
fn check_refused(server: &TestServer, request: &str) {
    let found = answers(server, &format!("{request}{NEXT}"));
    let is_refusal = |status: &String| status.starts_with('4') || status == "505";
    assert!(found.len() <= 1, "{request:?} got {found:?}");
    assert!(found.iter().all(is_refusal), "{request:?} got {found:?}");
}

/// It is answered, and so is the one that follows.
fn check_served(server: &TestServer, request: &str, status: &str) {
    let found = answers(server, &format!("{request}{NEXT}"));
    assert_eq!(found, [status, "200"], "{request:?}");
}

#[test]
fn what_is_ambiguous_or_malformed_ends_its_connection() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 10_000.try_into().expect("it is not zero");
    });
    let mut cases_count = 0;
    let mut refuse = |request: String| {
        cases_count += 1;
        check_refused(&server, &request);
    };
    for framing in BAD_FRAMINGS {
        for method in ["GET", "POST", "OPTIONS"] {
            refuse(format!(
                "{method} /api/health HTTP/1.1\r\nHost: a\r\n{framing}\r\n5\r\nhello\r\n0\r\n\r\n"
            ));
        }
        refuse(format!("GET / HTTP/1.1\r\nHost: a\r\n{framing}\r\nhello"));
    }
    for host in BAD_HOSTS {
        for target in ["/api/health", "/", "http://a/api/health"] {
            refuse(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        }
    }
    for fields in ["", "Host: a\r\nHost: a\r\n", "Host: a\r\nhost: b\r\n"] {
        refuse(format!("GET /api/health HTTP/1.1\r\n{fields}\r\n"));
    }
    for line in BAD_LINES {
        refuse(format!("{line}\r\nHost: a\r\n\r\n"));
    }
    for field in BAD_FIELDS {
        for path in ["/api/health", "/"] {
            refuse(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{field}\r\n"));
        }
    }
    assert!(CASES_MIN <= cases_count, "{cases_count} cases");
}

#[test]
fn what_is_valid_is_served_and_so_is_what_follows() {
    let server = TestServer::with(|config| {
        config.rate_limit.anonymous_requests = 10_000.try_into().expect("it is not zero");
    });
    for field in HARMLESS_FIELDS {
        let head = |rest: &str| format!("GET /api/health HTTP/1.1\r\n{rest}\r\n");
        check_served(&server, &head(&format!("Host: a\r\n{field}")), "200");
        check_served(&server, &head(&format!("{field}Host: a\r\n")), "200");
        let absolute = format!("GET http://a/api/health HTTP/1.1\r\nHost: a\r\n{field}\r\n");
        check_served(&server, &absolute, "200");
    }
    for host in [
        "a",
        "A.example",
        "a:80",
        "a:",
        "127.0.0.1",
        "[::1]",
        "[::1]:8080",
        "a-b.c_d",
    ] {
        let request = format!("GET /api/health HTTP/1.1\r\nHost: {host}\r\n\r\n");
        check_served(&server, &request, "200");
    }
    // A body is read to its end, whatever it looks like.
    for body in [
        "x",
        "0\r\n\r\n",
        "GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        let length = body.len();
        let fields = format!("Host: a\r\nContent-Length: {length}\r\n");
        let request = format!("GET /api/health HTTP/1.1\r\n{fields}\r\n{body}");
        check_served(&server, &request, "200");
        let request = format!("POST /api/health HTTP/1.1\r\n{fields}\r\n{body}");
        check_served(&server, &request, "405");
    }
}
