//! Memory of connections, counted: what clients hold that do nothing, or next to nothing.
#![expect(unsafe_code, reason = "counts bytes in a global allocator")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use http::request::Parts;
use subcat_server::config::Io;
use subcat_server::runtime::{
    Body, ConnectionEnds, Content, Handler, HandlerOutcome, RequestBody, Workers,
};
use subcat_tests::io_backend::{each_io, listen_settings};
use subcat_tests::raw::Client;

/// The system's allocator, counting the bytes that are in use.
struct Counting;

static BYTES: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of `GlobalAlloc`, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        BYTES.fetch_add(size as i64 - layout.size() as i64, Ordering::Relaxed);
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CLIENTS: usize = 400;
/// Clients that do not read: what is sent to them is copied.
const UNREAD_CLIENTS: usize = 40;
/// Bytes of a connection without a request, at most: its task, its state, its place in the ring.
const WAITING_BYTES_MAX: i64 = 2 << 10;
/// Bytes of a connection whose client does not read, at most.
const UNREAD_BYTES_MAX: i64 = 160 << 10;
const LARGE: &[u8] = &[b'l'; 100 << 10];

/// Answers at once: `/large` with something long.
struct Prompt;

impl Handler for Prompt {
    type Connection = ();

    fn connect(&self, _: ConnectionEnds) {}

    fn handle(&self, (): &mut (), head: &mut Parts, _: RequestBody) -> HandlerOutcome {
        let content = match head.uri.path() {
            "/large" => LARGE,
            _ => b"small",
        };
        let body = Body::from(Content::Bytes(bytes::Bytes::from_static(content)));
        HandlerOutcome::Now(http::Response::new(body))
    }

    fn reject(&self, _: SocketAddr) -> bytes::Bytes {
        bytes::Bytes::new()
    }

    fn tick(&self) {}
}

/// A server with clients that have all sent the same.
struct Scene {
    workers: Workers,
    clients: Vec<Client>,
    bytes_before: i64,
}

impl Scene {
    /// Clients that send `first` and, if that is a request, read its answer; then `second`.
    fn new(io: Io, count: usize, first: &str, second: &str) -> Self {
        let workers = Workers::start(listen_settings(io, 1000), vec![Prompt]).unwrap();
        // What one connection alone leaves in pools and thread locals.
        assert_eq!(
            Client::connect(workers.address()).get("/", None).text(),
            "small"
        );
        let bytes_before = BYTES.load(Ordering::Relaxed);
        let clients = (0..count).map(|_| {
            let mut client = Client::connect(workers.address());
            client.send(first);
            if first.ends_with("\r\n\r\n") {
                assert_eq!(client.read_answer(false).text(), "small");
            }
            client.send(second);
            client
        });
        Self {
            clients: clients.collect(),
            workers,
            bytes_before,
        }
    }

    /// Bytes for each client, the server's and its own.
    fn bytes_each(&self) -> i64 {
        (BYTES.load(Ordering::Relaxed) - self.bytes_before) / self.clients.len() as i64
    }

    /// Waits until a client takes at most `bytes_max`.
    #[track_caller]
    fn settles_below(&self, bytes_max: i64, what: &str) {
        let began = Instant::now();
        while bytes_max < self.bytes_each() {
            let bytes = self.bytes_each();
            assert!(
                began.elapsed() < Duration::from_secs(8),
                "{what}: {bytes} bytes"
            );
            sleep(Duration::from_millis(50));
        }
        println!("{what}: {} bytes", self.bytes_each());
    }

    /// Sends the rest of a request from each client, which gets its answer.
    fn end(mut self, rest: &str) {
        for client in &mut self.clients {
            client.send(rest);
            assert_eq!(client.read_answer(false).text(), "small");
        }
        self.workers.stop(Duration::from_secs(5));
    }
}

/// One test: the count is one for the process.
#[test]
fn a_connection_holds_memory_only_while_it_is_answered() {
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let (begun, rest) = get.split_at(20);
    for io in each_io().iter().copied() {
        let scene = Scene::new(io, CLIENTS, "", "");
        scene.settles_below(WAITING_BYTES_MAX, "without a request");
        scene.end(get);
        let scene = Scene::new(io, CLIENTS, get, "");
        scene.settles_below(WAITING_BYTES_MAX, "between two requests");
        scene.end(get);
        let scene = Scene::new(io, CLIENTS, begun, "");
        scene.settles_below(WAITING_BYTES_MAX, "in its first head");
        scene.end(rest);
        let scene = Scene::new(io, CLIENTS, get, begun);
        scene.settles_below(WAITING_BYTES_MAX, "in a later head");
        scene.end(rest);

        let many = "GET /large HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1500);
        let scene = Scene::new(io, UNREAD_CLIENTS, "", &many);
        let samples = (0..40).map(|_| {
            sleep(Duration::from_millis(100));
            scene.bytes_each()
        });
        let most = samples.max().unwrap();
        println!("without reading: {most} bytes at most");
        assert!(most < UNREAD_BYTES_MAX);
        drop(scene.clients);
        scene.workers.stop(Duration::from_secs(5));
    }
}
