//! Connections that take too long, over real sockets and in real time: all cases at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

use http::request::Parts;
use subcat_server::config::Io;
use subcat_server::runtime::{
    Body, ConnectionCounts, ConnectionEnds, Content, Handler, HandlerOutcome, RequestBody,
    StoredBytes, Workers,
};
use subcat_tests::io_backend::{each_io, listen_settings};
use subcat_tests::raw::Client;

/// A file of zeros that takes no room, and more than fits between server and client.
struct Zeros {
    file: File,
    mapped: Vec<u8>,
}

const FILE_BYTES: usize = 64 << 20;

impl Zeros {
    fn new() -> Self {
        let file = tempfile::tempfile().unwrap();
        file.set_len(FILE_BYTES as u64).unwrap();
        Self {
            file,
            mapped: vec![0; FILE_BYTES],
        }
    }
}

impl StoredBytes for Zeros {
    fn file(&self) -> &File {
        &self.file
    }

    fn mapped(&self) -> &[u8] {
        &self.mapped
    }

    fn mark_truncated(&self) {
        panic!("nobody cuts it");
    }

    fn resident_bytes(&self, range: Range<usize>) -> usize {
        range.len()
    }
}

/// Reads the body of a request, then answers: `/file` with the file, anything else with "done".
struct Patient {
    zeros: Arc<Zeros>,
}

impl Handler for Patient {
    type Connection = ();

    fn connect(&self, _: ConnectionEnds) {}

    fn handle(&self, (): &mut (), head: &mut Parts, body: RequestBody) -> HandlerOutcome {
        let content = match head.uri.path() {
            "/file" => Content::File(Arc::clone(&self.zeros) as _, 0..FILE_BYTES),
            _ => Content::Bytes("done".into()),
        };
        HandlerOutcome::Later(Box::pin(async {
            let _ = body.collect(1000).await;
            http::Response::new(Body::from(content))
        }))
    }

    fn reject(&self, _: SocketAddr) -> bytes::Bytes {
        bytes::Bytes::new()
    }

    fn tick(&self) {}
}

/// A server of one connection.
struct Scene {
    workers: Workers,
    counts: Arc<ConnectionCounts>,
}

impl Scene {
    fn new(io: Io) -> Self {
        let settings = listen_settings(io, 1);
        let counts = Arc::clone(&settings.counts);
        let zeros = Arc::new(Zeros::new());
        let workers = Workers::start(settings, vec![Patient { zeros }]).unwrap();
        Self { workers, counts }
    }

    fn is_truncated(&self) -> bool {
        let is_open = self.counts.open.load(Ordering::Relaxed) != 0;
        self.counts.cut.load(Ordering::Relaxed) == 1 && !is_open
    }

    fn end(self, what: &str) {
        let cut_count = self.counts.cut.load(Ordering::Relaxed);
        assert_eq!(cut_count, 0, "{what}");
        self.workers.stop(Duration::ZERO);
    }
}

/// A client that is cut.
struct TooSlow {
    what: &'static str,
    sent: &'static str,
    /// Number of times that it is sent.
    times: usize,
    /// Sent besides, every second.
    trickle: &'static str,
    /// The time that it has.
    seconds: u64,
}

const TOO_SLOW: [TooSlow; 7] = [
    TooSlow {
        what: "nothing is asked",
        sent: "",
        times: 1,
        trickle: "",
        seconds: 75,
    },
    TooSlow {
        what: "nothing more is asked",
        sent: "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        times: 1,
        trickle: "",
        seconds: 75,
    },
    TooSlow {
        what: "a head stalls",
        sent: "GET / HTTP/1.1\r\nHo",
        times: 1,
        trickle: "",
        seconds: 10,
    },
    TooSlow {
        what: "a head trickles",
        sent: "GET / HTTP/1.1\r\n",
        times: 1,
        trickle: "a: b\r\n",
        seconds: 10,
    },
    TooSlow {
        what: "a body stalls",
        sent: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc",
        times: 1,
        trickle: "",
        seconds: 10,
    },
    TooSlow {
        what: "an answer is not read",
        sent: "GET /file HTTP/1.1\r\nHost: a\r\n\r\n",
        times: 1,
        trickle: "",
        seconds: 30,
    },
    TooSlow {
        what: "small answers are not read",
        sent: "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        times: 500_000,
        trickle: "",
        seconds: 30,
    },
];

/// Delay after its deadline within which a client is disconnected, at most.
const LATE_SECONDS: u64 = 3;

impl TooSlow {
    fn run(&self, io: Io) {
        let scene = Scene::new(io);
        let began = Instant::now();
        let mut client = Client::connect(scene.workers.address());
        // What is too much for all buffers is taken until the connection is cut.
        client.send(self.sent.repeat(self.times));
        let mut trickled_count = 0;
        while !scene.is_truncated() {
            sleep(Duration::from_millis(10));
            let passed_seconds = began.elapsed().as_secs();
            let is_late = self.seconds + LATE_SECONDS <= passed_seconds;
            assert!(!is_late, "{io:?}: {} and is not cut", self.what);
            if trickled_count < passed_seconds {
                trickled_count += 1;
                client.send(self.trickle);
            }
        }
        let seconds = began.elapsed().as_secs_f32();
        let is_early = seconds < self.seconds as f32;
        assert!(!is_early, "{io:?}: {} for {seconds} s", self.what);
        let received_bytes = client.read_to_end().len();
        assert!(received_bytes < FILE_BYTES, "{io:?}: {}", self.what);
        println!("{io:?}: {}: cut after {seconds:.1} s", self.what);
        scene.workers.stop(Duration::ZERO);
    }
}

/// A client that takes its time, again and again, and is served.
struct Slow {
    what: &'static str,
    /// The pieces of one request.
    pieces: &'static [&'static str],
    /// Pause before each.
    pause_seconds: u64,
    requests_count: usize,
}

const SLOW: [Slow; 3] = [
    Slow {
        what: "requests come now and then",
        pieces: &["GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
        pause_seconds: 40,
        requests_count: 2,
    },
    Slow {
        what: "heads come in pieces",
        pieces: &["GET", " / HTTP/1.1", "\r\nHost: ", "a\r\n", "\r\n"],
        pause_seconds: 2,
        requests_count: 3,
    },
    Slow {
        what: "bodies come in pieces",
        pieces: &[
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n",
            "ab",
            "c",
            "de",
            "f",
        ],
        pause_seconds: 2,
        requests_count: 3,
    },
];

impl Slow {
    fn run(&self, io: Io) {
        let scene = Scene::new(io);
        let mut client = Client::connect(scene.workers.address());
        for _ in 0..self.requests_count {
            for piece in self.pieces {
                sleep(Duration::from_secs(self.pause_seconds));
                client.send(piece);
            }
            assert_eq!(client.read_answer(false).text(), "done", "{io:?}");
        }
        scene.end(self.what);
    }
}

/// A client that is always behind, but takes a piece of its answer each time: more than a client's
/// system keeps to itself before it says that there is room again.
fn read_slowly(io: Io) {
    const PIECE_BYTES: usize = 2 << 20;
    let scene = Scene::new(io);
    let mut stream = TcpStream::connect(scene.workers.address()).unwrap();
    let patience = Some(Duration::from_secs(20));
    stream.set_read_timeout(patience).unwrap();
    stream
        .write_all(b"GET /file HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    let mut piece = vec![0; PIECE_BYTES];
    for _ in 0..4 {
        sleep(Duration::from_secs(16));
        stream.read_exact(&mut piece).unwrap();
    }
    scene.end("an answer is read slowly");
}

/// API.md 11.2
#[test]
fn rule_11_2_who_takes_too_long_is_cut_and_who_is_slow_is_not() {
    std::thread::scope(|scope| {
        for io in each_io().iter().copied() {
            for client in &TOO_SLOW {
                scope.spawn(move || client.run(io));
            }
            for client in &SLOW {
                scope.spawn(move || client.run(io));
            }
            scope.spawn(move || read_slowly(io));
        }
    });
}
