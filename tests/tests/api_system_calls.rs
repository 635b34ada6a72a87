//! Cost of a repeated answer in system calls, counted by strace.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use rustix::process::{PTracer, Pid, Signal, kill_process, set_ptracer};
use subcat_server::config::Io;
use subcat_tests::io_backend::each_io;
use subcat_tests::raw::Client;
use subcat_tests::server::{TestServer, film};
use subcat_tests::upstream::Upstream;

const ID: &str = "00000000-0000-4000-8000-000000000001";
/// Requests that are asked for before they are counted, and those that are.
const REQUESTS_BEFORE: u64 = 100;
const REQUESTS: u64 = 1000;
/// Calls that are no request's: the worker looks after its connections once a second.
const OTHERS_MAX: u64 = 30;

/// Held by the test that runs: the one worker of the process is its own.
static ALONE: Mutex<()> = Mutex::new(());

/// The one worker, as the kernel numbers its threads. It gives itself its name as it starts: who
/// has an answer of it finds it.
fn worker_thread() -> String {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let mut workers = threads.filter(|thread| {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        name.starts_with("worker-")
    });
    let worker = workers.next().unwrap().file_name();
    assert!(workers.next().is_none());
    worker.into_string().unwrap()
}

/// System calls of a thread by their names while `work` is done. Errors: why that is not known.
fn count_calls(thread: &str, work: impl FnOnce()) -> Result<BTreeMap<String, u64>, String> {
    let summary = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args(["-c", "-p", thread, "-o"]).arg(summary.path());
    let spawned = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut strace = spawned.expect("strace is there: scripts/setup test installs it");
    let mut messages = BufReader::new(strace.stderr.take().unwrap());
    let mut message = String::new();
    messages.read_line(&mut message).unwrap();
    if !message.contains("attached") {
        strace.wait().unwrap();
        return Err(format!("strace may not watch: {}", message.trim()));
    }
    work();
    let pid = Pid::from_raw(strace.id().cast_signed()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    strace.wait().unwrap();
    let text = std::fs::read_to_string(summary.path()).unwrap();
    Ok(text.lines().filter_map(calls_of_line).collect())
}

/// A line of the summary: share, seconds, microseconds of each, calls, errors if any, name.
fn calls_of_line(line: &str) -> Option<(String, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, calls, .., name] = fields.as_slice() else {
        return None;
    };
    let calls = calls.parse().ok()?;
    (*name != "total").then(|| ((*name).to_owned(), calls))
}

/// System calls of a request, at most, by the names that a C library may give it. The ring is asked
/// for what came and to send, and where its eventfd is always armed it wakes its worker for both.
fn expected(io: Io) -> &'static [(u64, &'static [&'static str])] {
    const WAIT: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];
    match io {
        Io::IoUring if cfg!(target_arch = "x86_64") => &[(2, &["io_uring_enter"]), (1, WAIT)],
        Io::IoUring => &[(2, &["io_uring_enter"]), (2, WAIT)],
        Io::Auto | Io::Epoll => &[
            (1, &["recvfrom", "read"]),
            (1, &["sendto", "write"]),
            (1, WAIT),
        ],
    }
}

/// System calls of a download of a file that is in use, at most: the head and the file are two.
fn expected_of_download(io: Io) -> &'static [(u64, &'static [&'static str])] {
    const WAIT: &[&str] = &["epoll_wait", "epoll_pwait", "epoll_pwait2"];
    match io {
        Io::IoUring => &[
            (2, &["io_uring_enter"]),
            (1, &["sendto", "write"]),
            (1, &["sendfile"]),
            (2, WAIT),
        ],
        Io::Auto | Io::Epoll => &[
            (1, &["recvfrom", "read"]),
            (1, &["sendto", "write"]),
            (1, &["sendfile"]),
            (1, WAIT),
        ],
    }
}

fn check_calls(what: &str, io: Io, expected: &[(u64, &[&str])], mut calls: BTreeMap<String, u64>) {
    println!("{what}, {io:?}: {calls:?}");
    for (each, names) in expected {
        let counts = names.iter().filter_map(|name| calls.remove(*name));
        let is_within = counts.sum::<u64>() <= each * REQUESTS + OTHERS_MAX;
        assert!(
            is_within,
            "{what}, {io:?}: more than {each} of {names:?} each"
        );
    }
    let others: u64 = calls.values().sum();
    assert!(others <= OTHERS_MAX, "{what}, {io:?}: {calls:?} besides");
}

/// A client alone asks again and again: its request is received, answered and waited for.
#[test]
fn a_repeated_answer_takes_at_most_three_system_calls() {
    let _alone = ALONE.lock();
    // A kernel with yama asks for it; one without refuses to hear of it.
    let _ = set_ptracer(PTracer::Any);
    for io in each_io().iter().copied() {
        let server = TestServer::with(|config| {
            config.workers = 1;
            config.io = io;
        });
        server.import(vec![film(ID, "Uno dos", 2000, "r1")]);
        let api_key = server.api_key();
        let mut client = server.connect();
        let ask = |client: &mut Client, path: &str, requests_count: u64| {
            for _ in 0..requests_count {
                assert_eq!(client.get(path, Some(&api_key)).status, 200);
            }
        };
        let record = format!("/api/subtitles/{ID}");
        for path in ["/api/subtitles/search?query=uno", &record] {
            ask(&mut client, path, REQUESTS_BEFORE);
            match count_calls(&worker_thread(), || ask(&mut client, path, REQUESTS)) {
                Ok(calls) => check_calls(path, io, expected(io), calls),
                Err(why) => {
                    // The test harness keeps what `println` says of tests that pass.
                    writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap();
                    return;
                }
            }
        }
    }
}

/// System calls while a file of this content is downloaded again and again by one client. Errors:
/// why that is not known.
fn count_downloads(
    io: Io,
    content: &str,
    requests_count: u64,
) -> Result<BTreeMap<String, u64>, String> {
    let upstream = Upstream::start();
    upstream.give("r1", content.as_bytes());
    let server = TestServer::with(|config| {
        config.workers = 1;
        config.io = io;
        config.upstream.url = Some(upstream.url());
    });
    server.import(vec![film(ID, "Uno dos", 2000, "r1")]);
    let api_key = server.api_key();
    let mut client = server.connect();
    let path = format!("/api/subtitles/{ID}/download");
    let mut ask = |requests_count: u64| {
        for _ in 0..requests_count {
            assert_eq!(client.get(&path, Some(&api_key)).status, 200);
        }
    };
    ask(requests_count / 10);
    count_calls(&worker_thread(), || ask(requests_count))
}

/// Text of a subtitle, of about this size in bytes.
fn cues(size_bytes: usize) -> String {
    let cue = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n\n";
    cue.repeat(size_bytes / cue.len())
}

/// A file that is in use is not looked up in the page cache: its head and its bytes are sent.
#[test]
fn a_repeated_download_takes_one_call_for_the_head_and_one_for_the_file() {
    let _alone = ALONE.lock();
    // A kernel with yama asks for it; one without refuses to hear of it.
    let _ = set_ptracer(PTracer::Any);
    for io in each_io().iter().copied() {
        match count_downloads(io, &cues(40_000), REQUESTS) {
            Ok(calls) => check_calls("download", io, expected_of_download(io), calls),
            Err(why) => {
                // The test harness keeps what `println` says of tests that pass.
                writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap();
                return;
            }
        }
    }
}

/// Nor is a large one, which is sent in parts, but for once a second.
#[test]
fn the_parts_of_a_large_file_are_not_looked_up_one_by_one() {
    const REQUESTS_COUNT: u64 = 50;
    let _alone = ALONE.lock();
    // A kernel with yama asks for it; one without refuses to hear of it.
    let _ = set_ptracer(PTracer::Any);
    for io in each_io().iter().copied() {
        match count_downloads(io, &cues(4 << 20), REQUESTS_COUNT) {
            Ok(calls) => {
                assert!(3 * REQUESTS_COUNT <= calls["sendfile"], "{io:?}: {calls:?}");
                let looked_up = calls.get("mincore").copied().unwrap_or(0);
                assert!(looked_up <= OTHERS_MAX, "{io:?}: {calls:?}");
            }
            Err(why) => {
                // The test harness keeps what `println` says of tests that pass.
                writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap();
                return;
            }
        }
    }
}

/// A connection that a ring serves has nothing to do with epoll, not even while it is accepted.
#[test]
fn a_connection_of_a_ring_is_never_registered_with_epoll() {
    const CONNECTIONS: u64 = 200;
    if !each_io().contains(&Io::IoUring) {
        return;
    }
    let _alone = ALONE.lock();
    // A kernel with yama asks for it; one without refuses to hear of it.
    let _ = set_ptracer(PTracer::Any);
    let server = TestServer::with(|config| {
        config.workers = 1;
        config.io = Io::IoUring;
    });
    let connect = || assert_eq!(server.connect().get("/api/health", None).status, 200);
    connect();
    let counted = count_calls(&worker_thread(), || {
        (0..CONNECTIONS).for_each(|_| connect());
    });
    match counted {
        Ok(calls) => {
            assert!(CONNECTIONS <= calls["accept4"], "{calls:?}");
            let registered = calls.get("epoll_ctl").copied().unwrap_or(0);
            assert!(registered <= OTHERS_MAX, "{calls:?}");
        }
        // The test harness keeps what `println` says of tests that pass.
        Err(why) => writeln!(std::io::stderr(), "SKIPPED: {why}").unwrap(),
    }
}
