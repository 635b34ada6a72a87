//! Cost of a repeated answer in allocations, counted.
#![expect(unsafe_code, reason = "counts allocations in a global allocator")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use subcat_tests::server::{TestServer, film};

/// The system's allocator, counting what the server's workers ask for: what its other threads do
/// once a second would fall into one count and not into the next.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// The worker threads' names begin with this.
const WORKER: &[u8] = b"worker-";

fn count() {
    // The kernel's longest name and its zero.
    let mut name = [0_u8; 16];
    // SAFETY: PR_GET_NAME writes at most 16 bytes to the address it is given.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    if name.starts_with(WORKER) {
        ALLOCATIONS.fetch_add(1, Ordering::SeqCst);
    }
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of `GlobalAlloc`, which are the same there.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: `memory` came from the system's allocator with this layout.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ROUNDS: u64 = 2000;

/// Held by the test that runs: the count is one for the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Allocations of the worker for each time that these are asked for, one after the other, again and
/// again on one connection.
fn allocations(server: &TestServer, paths: &[&str], api_key: &str) -> f64 {
    let requests = paths.iter().map(|path| {
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {api_key}\r\n\r\n")
    });
    let requests: Vec<String> = requests.collect();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.set_nodelay(true).unwrap();
    let mut answer = vec![0; 1 << 20];
    let mut before = 0;
    for round_idx in 0..ROUNDS + 100 {
        if round_idx == 100 {
            before = ALLOCATIONS.load(Ordering::SeqCst);
        }
        for request in &requests {
            stream.write_all(request.as_bytes()).unwrap();
            read_answer(&mut stream, &mut answer);
        }
    }
    let allocations = ALLOCATIONS.load(Ordering::SeqCst) - before;
    let per_round = allocations as f64 / ROUNDS as f64;
    println!("{per_round:.2} allocations for {paths:?}");
    per_round
}

/// Reads one answer; allocates nothing.
fn read_answer(stream: &mut TcpStream, answer: &mut [u8]) {
    const LENGTH: &[u8] = b"\r\ncontent-length: ";
    let mut read_bytes = 0;
    loop {
        read_bytes += stream.read(&mut answer[read_bytes..]).unwrap();
        let place = |what: &[u8]| {
            let mut windows = answer[..read_bytes].windows(what.len());
            windows.position(|bytes| bytes == what)
        };
        let Some(head_bytes) = place(b"\r\n\r\n") else {
            continue;
        };
        let digits = &answer[place(LENGTH).unwrap() + LENGTH.len()..];
        let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
        let content_bytes = digits.fold(0, |number, digit| number * 10 + usize::from(digit - b'0'));
        if head_bytes + 4 + content_bytes <= read_bytes {
            break;
        }
    }
    assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
}

#[test]
fn repeated_answers_allocate_next_to_nothing() {
    let _alone = ALONE.lock();
    let server = TestServer::with(|config| config.workers = 1);
    let api_key = server.api_key();
    let ids: Vec<String> = (0..100)
        .map(|number| format!("00000000-0000-4000-8000-{number:012}"))
        .collect();
    let films = ids
        .iter()
        .enumerate()
        .map(|(idx, id)| film(id, if idx == 0 { "Uno dos" } else { "Dos" }, 2000, "r1"));
    server.import(films.collect());
    let engine = &server.service.engine;
    let release = subcat_engine::ReleaseId::parse("r1").unwrap();
    let kind = subcat_engine::FileKind::Srt;
    let content = "1\n00:00:01,000 --> 00:00:02,000\nx\n\n".repeat(2000);
    engine
        .files()
        .store_file(&release, content.as_bytes(), kind, None)
        .unwrap();

    let measure = |path: &str| allocations(&server, &[path], &api_key);
    let one_item = measure("/api/subtitles/search?title=uno");
    let hundred_items = measure("/api/subtitles/search?query=dos");
    let record = measure(&format!("/api/subtitles/{}", ids[0]));
    let file = measure(&format!("/api/subtitles/{}/download", ids[0]));
    assert!(one_item < 0.5);
    assert!(hundred_items < 0.5);
    assert!(record < 0.5);
    // The owner of the mapped address.
    assert!((0.5..1.5).contains(&file));
    // Between two searches the count of a hit changes: the answer is put together in a buffer of
    // its own, beside the counts of all hits, whatever their number.
    let download = format!("/api/subtitles/{}/download", ids[0]);
    for search in [
        "/api/subtitles/search?title=uno",
        "/api/subtitles/search?query=dos",
    ] {
        let changed = allocations(&server, &[search, &download], &api_key) - file;
        assert!((1.5..3.5).contains(&changed));
    }
}

/// The front page, which anybody may load, and every scrape ask for these: their cost must not grow
/// with what is stored.
#[test]
fn statistics_cost_the_same_however_much_is_stored() {
    let _alone = ALONE.lock();
    let server = TestServer::start();
    let engine = &server.service.engine;
    let store = |numbers: std::ops::Range<u32>| {
        for number in numbers {
            let release = subcat_engine::ReleaseId::parse(&format!("r{number}")).unwrap();
            let content = format!("1\n00:00:01,000 --> 00:00:02,000\n{number}\n");
            let kind = subcat_engine::FileKind::Srt;
            let files = engine.files();
            files
                .store_file(&release, content.as_bytes(), kind, None)
                .unwrap();
            server.account(&format!("user{number}@example.org"));
        }
    };
    // What is counted is what threads of this name allocate.
    let measure = || {
        std::thread::scope(|scope| {
            let asking = std::thread::Builder::new().name("worker-asks".into());
            let ask = || {
                let before = ALLOCATIONS.load(Ordering::SeqCst);
                let stats = engine.stats().unwrap();
                let has_administrator = engine.accounts().has_administrator();
                let after = ALLOCATIONS.load(Ordering::SeqCst);
                (after - before, stats.cached_files, has_administrator)
            };
            asking.spawn_scoped(scope, ask).unwrap().join().unwrap()
        })
    };
    store(0..10);
    let (few, cached_files, _) = measure();
    assert_eq!(cached_files, 10);
    store(10..300);
    let (many, cached_files, _) = measure();
    assert_eq!(cached_files, 300);
    assert!(many < few + 100, "{few}, then {many}");
}
