//! Traces of requests, sent to a collector. Only with the feature `otlp`.
#![cfg(feature = "otlp")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use subcat_server::config::TraceSettings;
use subcat_tests::server::{TestServer, film};
use subcat_tests::upstream::Upstream;

const ID: &str = "00000000-0000-4000-8000-000000000001";
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SPAN: &str = "b7ad6b7169203331";
/// Time that a batch of spans may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A collector: what it was sent, as head and body.
struct Collector {
    url: String,
    received: Receiver<(String, Vec<u8>)>,
}

impl Collector {
    /// A collector that answers with this status.
    fn start(status: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, received) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let sender = sender.clone();
                std::thread::spawn(move || collect(&stream, status, &sender));
            }
        });
        Self { url, received }
    }

    /// The next batch.
    fn batch(&self) -> (String, Vec<u8>) {
        self.received.recv_timeout(PATIENCE).unwrap()
    }

    /// A server that sends its spans here, all of them.
    fn server(&self, proxies: &str, upstream: Option<String>) -> TestServer {
        let server = TestServer::with(|config| {
            config.workers = 1;
            config.traces = TraceSettings {
                url: Some(self.url.clone()),
                every: 1,
            };
            config.upstream.url = upstream;
            config.trusted_proxies = proxies.parse().into_iter().collect();
        });
        server.import(vec![film(ID, "Uno dos", 2000, "r1")]);
        server
    }
}

fn collect(
    mut stream: &TcpStream,
    status: &str,
    sender: &Sender<(String, Vec<u8>)>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let at = head.len();
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
            let line = head[at..].to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        // A test that has ended takes no more.
        let _ = sender.send((head, body));
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n")?;
    }
}

/// Number of times that the bytes, given as a text or as hexadecimal digits, are in a batch.
fn count(body: &[u8], bytes: &[u8]) -> usize {
    body.windows(bytes.len())
        .filter(|part| *part == bytes)
        .count()
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2);
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    pairs.map(byte).collect()
}

#[test]
fn a_request_is_a_span_of_its_proxys_trace() {
    let collector = Collector::start("200 OK");
    let server = collector.server("127.0.0.0/8", None);
    let api_key = server.api_key();
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let fields = [("traceparent", parent.as_str()), ("x-request-id", "abc-7")];
    let mut client = server.connect();
    let path = "/api/subtitles/search?query=secreto";
    let answer = client.request("GET", path, Some(&api_key), &fields);
    assert_eq!(answer.status, 200);
    assert!(answer.field("traceparent").is_none());
    let (head, body) = collector.batch();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("application/x-protobuf"), "{head}");
    for text in [
        "GET /api/subtitles/search",
        "subcat.request_id",
        "abc-7",
        "subcat.key_id",
        "http.response.status_code",
        "service.name",
    ] {
        assert_ne!(count(&body, text.as_bytes()), 0, "{text}");
    }
    assert_eq!(count(&body, &bytes_of(TRACE)), 1);
    assert_eq!(count(&body, &bytes_of(SPAN)), 1, "its parent");
    for secret in ["secreto", &api_key[4..], "127.0.0.1"] {
        assert_eq!(count(&body, secret.as_bytes()), 0, "{secret}");
    }
}

#[test]
fn callers_decide_only_behind_a_trusted_proxy() {
    let collector = Collector::start("200 OK");
    let unsampled = format!("00-{TRACE}-{SPAN}-00");
    let sampled = format!("00-{TRACE}-{SPAN}-01");
    let ask = |server: &TestServer, parent: &str| {
        let fields = [("traceparent", parent)];
        let answer = server.connect().request("GET", "/", None, &fields);
        assert_eq!(answer.status, 200);
    };
    let server = collector.server("127.0.0.0/8", None);
    ask(&server, &unsampled);
    ask(&server, &sampled);
    let (_, body) = collector.batch();
    assert_eq!(count(&body, b"GET page"), 1, "the other is not sampled");
    assert_eq!(count(&body, &bytes_of(TRACE)), 1);
    drop(server);
    let server = collector.server("", None);
    ask(&server, &unsampled);
    let (_, body) = collector.batch();
    assert_eq!(count(&body, b"GET page"), 1);
    assert_eq!(count(&body, &bytes_of(TRACE)), 0);
}

#[test]
fn a_download_that_waits_has_its_steps_as_parts() {
    let collector = Collector::start("200 OK");
    let upstream = Upstream::start();
    upstream.give("r1", "1\n00:00:01,000 --> 00:00:02,000\nHola.\n");
    let server = collector.server("127.0.0.0/8", Some(upstream.url()));
    let api_key = server.api_key();
    let parent = format!("00-{TRACE}-{SPAN}-01");
    let path = format!("/api/subtitles/{ID}/download");
    let fields = [("traceparent", parent.as_str())];
    let mut client = server.connect();
    let answer = client.request("GET", &path, Some(&api_key), &fields);
    assert_eq!(answer.status, 200);
    let (_, body) = collector.batch();
    assert_eq!(count(&body, b"prepare file"), 1);
    assert_eq!(count(&body, b"open file"), 1);
    assert_eq!(count(&body, &bytes_of(TRACE)), 3, "one trace");
}

/// A collector that is gone or refuses costs spans, and no answer.
#[test]
fn a_collector_that_takes_nothing_costs_only_spans() {
    let refusing = Collector::start("400 Bad Request");
    let mut gone = Collector::start("200 OK");
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    gone.url = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    for collector in [refusing, gone] {
        let server = collector.server("", None);
        let until = Instant::now() + PATIENCE;
        while server.service.tracer.dropped_count() == 0 {
            assert_eq!(server.get("/api/health", None).status, 200);
            assert!(
                Instant::now() < until,
                "{}: nothing was dropped",
                collector.url
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(server.service.tracer.sent_count(), 0);
    }
}
