//! Clients that send more than there is memory for, or go in the middle of something: a handler
//! that knows no API, and one worker, so that all of them are on it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{ErrorKind, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::request::Parts;
use subcat_server::runtime::{
    Body, ConnectionEnds, Content, Handler, HandlerOutcome, RequestBody, Workers,
};
use subcat_tests::io_backend::{each_io, listen_settings};
use subcat_tests::raw::Client;

const BODY_BYTES: usize = 60 << 10;
const LARGE_BYTES: usize = 100 << 10;

/// `/block` keeps the worker for a moment, `/large` is long, and bodies are summed up.
struct Summing;

impl Handler for Summing {
    type Connection = ();

    fn connect(&self, _: ConnectionEnds) {}

    fn handle(&self, (): &mut (), head: &mut Parts, body: RequestBody) -> HandlerOutcome {
        let now = |content: Vec<u8>| {
            let content = Body::from(Content::Bytes(content.into()));
            HandlerOutcome::Now(http::Response::new(content))
        };
        match head.uri.path() {
            "/block" => {
                std::thread::sleep(Duration::from_millis(500));
                now(b"blocked".to_vec())
            }
            "/large" => now(vec![b'l'; LARGE_BYTES]),
            "/small" => now(b"small".to_vec()),
            _ => HandlerOutcome::Later(Box::pin(async {
                let bytes = body.collect(BODY_BYTES).await.unwrap_or_default();
                let sum: u64 = bytes.iter().map(|byte| u64::from(*byte)).sum();
                let text = format!("{} {sum}", bytes.len());
                http::Response::new(Body::from(Content::Bytes(text.into())))
            })),
        }
    }

    fn reject(&self, _: SocketAddr) -> bytes::Bytes {
        bytes::Bytes::new()
    }

    fn tick(&self) {}
}

/// A server of each I/O backend, one test at a time: descriptors are counted.
fn with_each_io(test: impl Fn(Workers) -> Workers) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for io in each_io().iter().copied() {
        let workers = Workers::start(listen_settings(io, 1000), vec![Summing]).unwrap();
        test(workers).stop(Duration::from_secs(5));
    }
}

/// A ring lends 1 MiB to what comes; here come 12 while the worker is not looking.
#[test]
fn bodies_that_come_at_once_all_arrive() {
    with_each_io(|workers| {
        let address = workers.address();
        let mut clients: Vec<Client> = (0..200).map(|_| Client::connect(address)).collect();
        let mut blocking = Client::connect(address);
        blocking.send("GET /block HTTP/1.1\r\nHost: a\r\n\r\n");
        for (client_idx, client) in clients.iter_mut().enumerate() {
            let byte = u8::try_from(client_idx % 256).unwrap();
            let head =
                format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {BODY_BYTES}\r\n\r\n");
            client.send([head.as_bytes(), &vec![byte; BODY_BYTES]].concat());
        }
        assert_eq!(blocking.read_answer(false).text(), "blocked");
        for (client_idx, client) in clients.iter_mut().enumerate() {
            let sum = client_idx % 256 * BODY_BYTES;
            let expected = format!("{BODY_BYTES} {sum}");
            assert_eq!(client.read_answer(false).text(), expected);
        }
        workers
    });
}

/// Sends requests until the server takes no more; how many it took whole, and the rest of one.
fn send_until_full(stream: &mut TcpStream, request: &[u8]) -> usize {
    let mut sent_bytes = 0;
    stream
        .set_write_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let many = request.repeat(100);
    loop {
        match stream.write(&many[sent_bytes % request.len()..]) {
            Ok(bytes_count) => sent_bytes += bytes_count,
            Err(error) => {
                let is_full = matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
                assert!(is_full, "{error}");
                return sent_bytes;
            }
        }
        assert!(sent_bytes < 64 << 20, "the server keeps what it is sent");
    }
}

/// A client that never reads is held back by the kernel, and answered in full once it reads.
#[test]
fn who_only_sends_is_held_back_until_he_reads() {
    with_each_io(|workers| {
        // Requests as long as lets neither them nor their answers be too many.
        for (path, padding_bytes) in [("/large", 3000), ("/small", 200)] {
            let padding = "p".repeat(padding_bytes);
            let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nPadding: {padding}\r\n\r\n");
            let mut stream = TcpStream::connect(workers.address()).unwrap();
            let sent_bytes = send_until_full(&mut stream, request.as_bytes());
            let mut other = Client::connect(workers.address());
            assert_eq!(other.get("/small", None).text(), "small");

            let mut client = Client::from(stream);
            for number in 0..sent_bytes / request.len() {
                let answer = client.read_answer(false);
                let expected = if path == "/large" { LARGE_BYTES } else { 5 };
                assert_eq!(answer.body.len(), expected, "{path} {number}");
            }
        }
        workers
    });
}

fn descriptors_count() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Connections that end in the middle of something are forgotten with all that they held.
#[test]
fn who_goes_in_the_middle_leaves_nothing() {
    with_each_io(|workers| {
        let address = workers.address();
        assert_eq!(Client::connect(address).get("/small", None).text(), "small");
        let before = descriptors_count();
        let first_parts = [
            "",
            "GET /small HT",
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
            &"GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(200),
            &"GET /small HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2000),
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n",
        ];
        for round in 0..60 {
            let mut clients: Vec<Client> = (0..10).map(|_| Client::connect(address)).collect();
            for (client_idx, client) in clients.iter_mut().enumerate() {
                client.send(first_parts[(round + client_idx) % first_parts.len()]);
            }
        }
        let began = Instant::now();
        while before < descriptors_count() {
            assert!(began.elapsed() < Duration::from_secs(10), "some are kept");
            std::thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(Client::connect(address).get("/small", None).text(), "small");
        workers
    });
}

/// API.md 11.3: idle connections give way, busy ones do not.
#[test]
fn a_new_connection_displaces_one_that_is_idle() {
    for io in each_io().iter().copied() {
        let mut settings = listen_settings(io, 2);
        settings.connections.max_per_address = 10;
        let counts = std::sync::Arc::clone(&settings.counts);
        let workers = Workers::start(settings, vec![Summing]).unwrap();
        let address = workers.address();
        let mut first = Client::connect(address);
        assert_eq!(first.get("/small", None).text(), "small");
        let mut busy = Client::connect(address);
        busy.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
        // Between two requests a connection that is in use is idle, too.
        assert!(Client::connect(address).is_closed(), "it was refused");
        assert_eq!(first.get("/small", None).text(), "small");
        let displaced = || counts.displaced.load(std::sync::atomic::Ordering::Relaxed);
        let mut third = loop {
            let client = Client::connect(address);
            std::thread::sleep(Duration::from_millis(200));
            if displaced() == 1 {
                break client;
            }
        };
        assert_eq!(third.get("/small", None).text(), "small");
        assert!(first.is_closed(), "it was idle for longest");
        busy.send("a");
        assert_eq!(busy.read_answer(false).text(), "2 194");
        assert_eq!(displaced(), 1);
        workers.stop(Duration::from_secs(5));
    }
}
