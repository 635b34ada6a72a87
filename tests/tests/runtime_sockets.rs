//! Workers, connections and file bodies, with a handler that knows no API.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{BufRead, Read, Write};
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use http::request::Parts;
use subcat_server::config::{Connections, Io};
use subcat_server::runtime::{
    Body, ConnectionCounts, ConnectionEnds, Content, Handler, HandlerOutcome, ListenSettings,
    RequestBody, StoredBytes, Workers,
};
use subcat_tests::io_backend::{each_io, listen_settings};
use subcat_tests::raw::Client;

/// A file that is longer in memory than it may be on disk.
struct Stored {
    file: File,
    mapped: Vec<u8>,
    is_truncated: AtomicBool,
    /// Some as long as nothing of the file is in memory.
    cold: Option<ColdDisk>,
}

/// A disk that reads when the test lets it.
struct ColdDisk {
    /// Parts of the file that were asked for.
    asked: Mutex<mpsc::Sender<Range<usize>>>,
    /// Leave to read one of them.
    leave: Mutex<mpsc::Receiver<()>>,
}

impl StoredBytes for Stored {
    fn file(&self) -> &File {
        &self.file
    }

    /// Not the file's bytes: what arrives at the client must come from the file.
    fn mapped(&self) -> &[u8] {
        &self.mapped
    }

    fn mark_truncated(&self) {
        self.is_truncated.store(true, Ordering::Release);
    }

    fn resident_bytes(&self, range: Range<usize>) -> usize {
        if self.cold.is_some() { 0 } else { range.len() }
    }

    fn read_in(&self, range: Range<usize>) {
        let cold = self.cold.as_ref().unwrap();
        cold.asked.lock().unwrap().send(range).unwrap();
        cold.leave.lock().unwrap().recv().unwrap();
    }
}

/// `/file` and `/part` send the file, `/slow` takes a while, `/small` and `/large` are long, and
/// anything else is said back. Every answer numbers itself in its head.
struct Echo {
    stored: Arc<Stored>,
}

impl Handler for Echo {
    type Connection = u32;

    fn connect(&self, _: ConnectionEnds) -> u32 {
        0
    }

    fn handle(&self, asked: &mut u32, head: &mut Parts, _: RequestBody) -> HandlerOutcome {
        *asked += 1;
        let stored = Arc::clone(&self.stored) as Arc<dyn StoredBytes>;
        let size = stored.mapped().len();
        let content = match head.uri.path() {
            "/file" => Content::File(stored, 0..size),
            "/part" => Content::File(stored, 1000..size - 1000),
            "/small" => Content::Bytes(vec![b's'; SMALL_BYTES].into()),
            "/large" => Content::Bytes(vec![b'l'; LARGE_BYTES].into()),
            "/slow" => {
                return HandlerOutcome::Later(Box::pin(async {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    http::Response::new(Body::from(Content::Bytes("slow".into())))
                }));
            }
            path => Content::Bytes(format!("{path} {asked}").into()),
        };
        let raw_headers = format!("asked: {asked}\r\n").into();
        HandlerOutcome::Now(http::Response::new(Body {
            content,
            raw_headers,
        }))
    }

    fn reject(&self, _: SocketAddr) -> bytes::Bytes {
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n".into()
    }

    fn tick(&self) {}
}

const FILE_BYTES: usize = 3 << 20;
/// Of a content that is sent together with its head, and of one that is not.
const SMALL_BYTES: usize = 4000;
const LARGE_BYTES: usize = 20_000;

fn file_byte(offset: usize) -> u8 {
    u8::try_from(offset * 7 % 251).unwrap()
}

fn stored(file_bytes: usize) -> Arc<Stored> {
    let mut file = tempfile::tempfile().unwrap();
    let content: Vec<u8> = (0..file_bytes).map(file_byte).collect();
    file.write_all(&content).unwrap();
    Arc::new(Stored {
        file,
        mapped: vec![0; FILE_BYTES],
        is_truncated: AtomicBool::new(false),
        cold: None,
    })
}

fn start(io: Io, max: usize, file_bytes: usize) -> (Workers, Arc<ConnectionCounts>) {
    let settings = listen_settings(io, max);
    let counts = Arc::clone(&settings.counts);
    let stored = stored(file_bytes);
    let handler = |_| Echo {
        stored: Arc::clone(&stored),
    };
    let workers = Workers::start(settings, (0..2).map(handler).collect()).unwrap();
    (workers, counts)
}

/// Each test runs with every way of driving sockets that this kernel allows.
fn with_each_io(test: impl Fn(Io)) {
    each_io().iter().copied().for_each(test);
}

/// The answers are more than the buffers between server and client hold, and are read in small
/// pieces: writes stop at any byte of a head, its lines and its content.
#[test]
fn heads_stay_whole_when_the_client_reads_late() {
    const ASKED: [(&str, usize); 5] = [
        ("GET /small", SMALL_BYTES),
        ("GET /large", LARGE_BYTES),
        ("HEAD /small", 0),
        ("HEAD /large", 0),
        ("GET /large", LARGE_BYTES),
    ];
    with_each_io(|io| {
        let (workers, _) = start(io, 10, 0);
        let mut stream = std::net::TcpStream::connect(workers.address()).unwrap();
        let rounds = 400;
        let requests: String = ASKED
            .iter()
            .map(|(request, _)| format!("{request} HTTP/1.1\r\nhost: a\r\n\r\n"))
            .collect();
        stream
            .write_all(requests.repeat(rounds).as_bytes())
            .unwrap();
        let mut reader = std::io::BufReader::with_capacity(1000, stream);
        for number in 1..=rounds * ASKED.len() {
            let (request, content_bytes) = ASKED[(number - 1) % ASKED.len()];
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert_ne!(
                    reader.read_line(&mut head).unwrap(),
                    0,
                    "{request} {number}"
                );
            }
            assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
            assert!(head.contains(&format!("\r\nasked: {number}\r\n")), "{head}");
            let mut content = vec![0; content_bytes];
            reader.read_exact(&mut content).unwrap();
            let same = if content_bytes == SMALL_BYTES {
                b's'
            } else {
                b'l'
            };
            assert!(
                content.iter().all(|byte| *byte == same),
                "{request} {number}"
            );
        }
        workers.stop(Duration::from_secs(1));
    });
}

#[test]
fn connections_are_kept_and_remembered() {
    with_each_io(|io| {
        let (workers, counts) = start(io, 100, FILE_BYTES);
        let mut client = Client::connect(workers.address());
        assert_eq!(client.get("/a", None).text(), "/a 1");
        assert_eq!(client.get("/b", None).text(), "/b 2");
        assert_eq!(counts.accepted.load(Ordering::Relaxed), 1);
        workers.stop(Duration::from_secs(5));
    });
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES);
        let mut client = Client::connect(workers.address());
        let paths = ["/a", "/slow", "/file", "/b", "/part", "/part", "/c"];
        let requests: String = paths
            .iter()
            .map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"))
            .collect();
        client.send(requests);
        assert_eq!(client.read_answer(false).text(), "/a 1");
        assert_eq!(client.read_answer(false).text(), "slow");
        let file = client.read_answer(false).body;
        assert!(file.iter().copied().eq((0..FILE_BYTES).map(file_byte)));
        assert_eq!(client.read_answer(false).text(), "/b 4");
        for _ in 0..2 {
            let part = client.read_answer(false).body;
            let expected = (1000..FILE_BYTES - 1000).map(file_byte);
            assert!(part.iter().copied().eq(expected));
        }
        assert_eq!(client.read_answer(false).text(), "/c 7");
        workers.stop(Duration::from_secs(5));
    });
}

#[test]
fn a_client_that_half_closes_gets_its_answer() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES);
        let mut client = Client::connect(workers.address());
        client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
        client.finish();
        assert_eq!(client.read_answer(false).text(), "slow");
        assert!(client.is_closed());
        workers.stop(Duration::from_secs(5));
    });
}

/// hyper leaves who asked for another protocol without shutting the connection down.
#[test]
fn who_asks_for_another_protocol_gets_every_answer() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES);
        let upgrade = "Host: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n";
        for (path, body) in [("/a", "/a 1"), ("/slow", "slow")] {
            let mut client = Client::connect(workers.address());
            client.send(format!(
                "GET {path} HTTP/1.1\r\n{upgrade}no request\r\n\r\n"
            ));
            assert_eq!(client.read_answer(false).text(), body);
            assert_eq!(client.read_answer(false).status, 400);
            assert!(client.is_closed());
        }
        let mut client = Client::connect(workers.address());
        client.send(format!("GET /large HTTP/1.1\r\n{upgrade}").repeat(50));
        for _ in 0..50 {
            assert_eq!(client.read_answer(false).body.len(), LARGE_BYTES);
        }
        workers.stop(Duration::from_secs(5));
    });
}

/// A connection that stays corked keeps each last piece for 200 ms.
#[test]
fn nothing_waits_behind_a_large_file() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES);
        let mut client = Client::connect(workers.address());
        let mut time = || {
            let began = Instant::now();
            assert_eq!(client.get("/file", None).body.len(), FILE_BYTES);
            assert_eq!(client.get("/small", None).body.len(), SMALL_BYTES);
            began.elapsed()
        };
        let least = (0..10).map(|_| time()).min().unwrap();
        assert!(least < Duration::from_millis(180), "{least:?}");
        workers.stop(Duration::from_secs(5));
    });
}

/// The disk is waited for by another thread, a part of the file at a time.
#[test]
fn a_file_that_is_not_in_memory_stalls_no_one() {
    with_each_io(|io| {
        let (asked, parts) = mpsc::channel();
        let (leave, left) = mpsc::channel();
        let mut cold = Arc::into_inner(stored(FILE_BYTES)).unwrap();
        cold.cold = Some(ColdDisk {
            asked: Mutex::new(asked),
            leave: Mutex::new(left),
        });
        let handler = Echo {
            stored: Arc::new(cold),
        };
        let workers = Workers::start(listen_settings(io, 100), vec![handler]).unwrap();
        let (mut client, mut other) = (
            Client::connect(workers.address()),
            Client::connect(workers.address()),
        );
        client.send("GET /part HTTP/1.1\r\nHost: a\r\n\r\n");
        let body = std::thread::spawn(move || client.read_answer(false).body);
        let mut last = 1000..1000;
        let mut asked_count = 0;
        while !body.is_finished() {
            let Ok(part) = parts.recv_timeout(Duration::from_millis(20)) else {
                continue;
            };
            // What was read is sent, if only some of it: the socket may have room for less.
            assert!(
                (last.start..=last.end).contains(&part.start),
                "{part:?} after {last:?}"
            );
            asked_count += 1;
            assert_eq!(other.get("/a", None).text(), format!("/a {asked_count}"));
            leave.send(()).unwrap();
            last = part;
        }
        assert!(FILE_BYTES >> 20 <= asked_count, "{asked_count} parts");
        let body = body.join().unwrap();
        assert_eq!(body.len(), FILE_BYTES - 2000);
        let is_right = |(idx, byte): (usize, &u8)| *byte == file_byte(idx + 1000);
        assert!(body.iter().enumerate().all(is_right));
        workers.stop(Duration::from_secs(5));
    });
}

/// API.md 11.5
#[test]
fn rule_11_5_a_file_that_became_shorter_ends_the_connection() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES - 100_000);
        let mut client = Client::connect(workers.address());
        client.send("GET /file HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = client.read_to_end();
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
        assert!(answer.len() < FILE_BYTES);
        let mut other = Client::connect(workers.address());
        assert_eq!(other.get("/a", None).text(), "/a 1");
        workers.stop(Duration::from_secs(5));
    });
}

/// API.md 11.3
#[test]
fn rule_11_3_too_many_connections_are_rejected() {
    with_each_io(|io| {
        let (workers, counts) = start(io, 2, FILE_BYTES);
        let mut first = Client::connect(workers.address());
        let mut second = Client::connect(workers.address());
        assert_eq!(first.get("/a", None).status, 200);
        assert_eq!(second.get("/a", None).status, 200);
        let mut third = Client::connect(workers.address());
        assert_eq!(third.get("/a", None).status, 503);
        assert!(third.is_closed());
        assert_eq!(first.get("/b", None).text(), "/b 2");
        assert_eq!(counts.refused.load(Ordering::Relaxed), 1);
        workers.stop(Duration::from_secs(5));
    });
}

/// API.md 11.4
#[test]
fn rule_11_4_stopping_finishes_what_is_under_way() {
    with_each_io(|io| {
        let (workers, counts) = start(io, 100, FILE_BYTES);
        let address = workers.address();
        let mut idle = Client::connect(address);
        assert_eq!(idle.get("/a", None).status, 200);
        let mut busy = Client::connect(address);
        busy.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
        while counts.accepted.load(Ordering::Relaxed) < 2 {
            std::thread::yield_now();
        }
        let started = Instant::now();
        let stopping = std::thread::spawn(move || workers.stop(Duration::from_secs(5)));
        let answer = busy.read_answer(false);
        assert_eq!(answer.text(), "slow");
        assert!(busy.is_closed());
        assert!(idle.is_closed());
        stopping.join().unwrap();
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(counts.open.load(Ordering::Relaxed), 0);
        assert!(std::net::TcpStream::connect(address).is_err());
    });
}

/// A client that never reads must not keep its worker from others.
#[test]
fn a_client_that_does_not_read_stalls_no_one() {
    with_each_io(|io| {
        let (workers, _) = start(io, 100, FILE_BYTES);
        let address = workers.address();
        let mut deaf: Vec<Client> = (0..16).map(|_| Client::connect(address)).collect();
        let requests = "GET /file HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10);
        for client in &mut deaf {
            client.send(&requests);
        }
        let started = Instant::now();
        for _ in 0..16 {
            let mut client = Client::connect(address);
            assert_eq!(client.get("/a", None).text(), "/a 1");
        }
        assert!(started.elapsed() < Duration::from_secs(5));
        workers.stop(Duration::from_millis(100));
    });
}

#[test]
fn two_servers_do_not_share_a_port() {
    let (workers, counts) = start(Io::Epoll, 100, FILE_BYTES);
    let settings = ListenSettings {
        listen: workers.address().into(),
        io: Io::Epoll,
        connections: Connections {
            max: 1,
            max_per_address: 1,
        },
        proxies: Vec::new(),
        counts,
    };
    let handler = Echo { stored: stored(1) };
    let refused = Workers::start(settings, vec![handler]).err().unwrap();
    assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    workers.stop(Duration::from_secs(5));
}
