//! A server under a service manager: messages, inherited sockets, forced stops.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Place, Server, get, line};

/// The socket of a service manager.
struct Manager {
    socket: UnixDatagram,
}

impl Manager {
    fn listen(place: &Place) -> Self {
        let socket = UnixDatagram::bind(place.path("notify")).unwrap();
        let limit = Some(Duration::from_secs(30));
        socket.set_read_timeout(limit).unwrap();
        Self { socket }
    }

    fn message(&self) -> String {
        let mut bytes = [0; 512];
        let length = self.socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    }
}

fn serve(place: &Place) -> Command {
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0"]);
    command
}

#[test]
fn the_service_manager_is_told_of_every_state() {
    let place = Place::stopped();
    let manager = Manager::listen(&place);
    let mut command = serve(&place);
    command.env("NOTIFY_SOCKET", place.path("notify"));
    command.env("WATCHDOG_USEC", "600000");
    let mut server = Server::start(command);
    let mut messages = vec![manager.message()];
    while !messages.iter().any(|m| m.contains("WATCHDOG=1")) {
        messages.push(manager.message());
    }
    assert!(
        messages.iter().any(|m| m.contains("READY=1")),
        "{messages:?}"
    );
    server.signal(Signal::HUP);
    let until = |wanted: &str| {
        loop {
            let message = manager.message();
            if message.contains(wanted) {
                return message;
            }
        }
    };
    let reloading = until("RELOADING=1");
    assert!(reloading.contains("MONOTONIC_USEC="), "{reloading}");
    until("READY=1");
    server.signal(Signal::TERM);
    until("STOPPING=1");
    assert_eq!(server.wait(), 0);
}

/// Starts a server on a socket that listens already, as systemd does: descriptor 3.
fn start_on(place: &Place, listener: &TcpListener) -> Child {
    let mut command = Command::new("sh");
    let script = "exec 3<&0 </dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec \"$@\"";
    let program = place.command(&[]);
    command
        .args(["-c", script, "sh"])
        .arg(program.get_program());
    command.args(["serve", "--admin", "127.0.0.1:0"]);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(program.get_current_dir().unwrap());
    command.stdin(Stdio::from(OwnedFd::from(listener.try_clone().unwrap())));
    command.stdout(Stdio::null()).spawn().unwrap()
}

fn stop(mut child: Child) -> i32 {
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, Signal::TERM).unwrap();
    child.wait().unwrap().code().unwrap_or(-1)
}

/// Reads an answer to its end; its head, or `None` if the connection ended before it began.
fn read_answer(stream: &mut TcpStream) -> Option<String> {
    let mut answer = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        let count = stream.read(&mut bytes).unwrap_or(0);
        if count == 0 {
            assert!(answer.is_empty(), "an answer was broken off");
            return None;
        }
        answer.extend_from_slice(&bytes[..count]);
        let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        assert!(head.starts_with("http/1.1 200"), "{head}");
        let length = head.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().parse().unwrap();
        if length <= body.len() {
            return Some(head.to_owned());
        }
    }
}

fn search_request(key: &str) -> String {
    format!(
        "GET /api/subtitles/search?title=heat HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {key}\r\n\r\n"
    )
}

/// A client that keeps its connection and opens it again when it was told that it ends.
fn ask_until(is_over: &AtomicBool, address: &str, key: &str, answers: &AtomicU64) {
    let request = search_request(key);
    let mut open: Option<TcpStream> = None;
    while !is_over.load(Ordering::Relaxed) {
        let mut stream = open
            .take()
            .unwrap_or_else(|| TcpStream::connect(address).unwrap());
        stream.write_all(request.as_bytes()).unwrap();
        let head = read_answer(&mut stream).expect("closed without an answer");
        answers.fetch_add(1, Ordering::Relaxed);
        if !head.contains("connection: close") {
            open = Some(stream);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_server_is_replaced_under_load_without_a_failed_request() {
    let place = Place::stopped();
    let key = place.create_key(&["--limit", "4000000000/1"]);
    place.import(&[line(1, "Heat", "")]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut server = start_on(&place, &listener);
    let (is_over, answers) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut clients = Vec::new();
    for _ in 0..4 {
        let (is_over, answers) = (Arc::clone(&is_over), Arc::clone(&answers));
        let (address, key) = (address.clone(), key.clone());
        clients.push(std::thread::spawn(move || {
            ask_until(&is_over, &address, &key, &answers);
        }));
    }
    for _ in 0..2 {
        let before = answers.load(Ordering::Relaxed);
        let until = Instant::now() + Duration::from_secs(30);
        while answers.load(Ordering::Relaxed) < before + 200 {
            assert!(Instant::now() < until, "nobody is answered");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(stop(server), 0);
        server = start_on(&place, &listener);
    }
    let before = answers.load(Ordering::Relaxed);
    while answers.load(Ordering::Relaxed) < before + 200 {
        std::thread::sleep(Duration::from_millis(5));
    }
    is_over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("no request fails");
    }
    assert_eq!(stop(server), 0);
}

/// Each connection is in use until it is closed, and only between two answers.
#[test]
fn a_stop_among_a_thousand_connections_in_use_breaks_no_answer() {
    const THREADS: usize = 20;
    const CONNECTIONS_OF_EACH: usize = 50;
    let place = Place::stopped();
    let key = place.create_key(&["--limit", "4000000000/1"]);
    place.import(&[line(1, "Heat", "")]);
    let mut command = serve(&place);
    command.args(["--set", "connections.max_per_address=2000"]);
    let mut server = Server::start(command);
    let answers = AtomicU64::new(0);
    let use_until_closed = || {
        let connect = |_| TcpStream::connect(&server.address).unwrap();
        let mut streams: Vec<TcpStream> = (0..CONNECTIONS_OF_EACH).map(connect).collect();
        while !streams.is_empty() {
            // All ask before the first reads: most requests are under way at any moment.
            streams.retain_mut(|stream| {
                let sent = stream.write_all(search_request(&key).as_bytes());
                sent.is_ok()
            });
            streams.retain_mut(|stream| {
                let head = read_answer(stream);
                answers.fetch_add(u64::from(head.is_some()), Ordering::Relaxed);
                head.is_some_and(|head| !head.contains("connection: close"))
            });
        }
    };
    let stopping = std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(use_until_closed);
        }
        // Twice on each connection.
        let wanted = 2 * THREADS * CONNECTIONS_OF_EACH;
        while answers.load(Ordering::Relaxed) < wanted as u64 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let began = Instant::now();
        server.signal(Signal::TERM);
        began
    });
    assert_eq!(server.wait(), 0);
    assert!(stopping.elapsed() < Duration::from_secs(5));
}

/// A download that its client does not read: the answer is cut after the grace period.
#[test]
fn a_stop_that_cuts_an_answer_is_status_1() {
    let place = Place::stopped();
    let mut command = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
    command.args(["--set", "rate_limit.requests=1000000"]);
    let (mut server, sheet) = Server::start_demo(command);
    let key = sheet["key"].as_str().unwrap();
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET /api/subtitles/search?query=a&limit=200 HTTP/1.1\r\nHost: a\r\n\
         Authorization: Bearer {key}\r\n\r\n"
    );
    // No answer is read: once the buffers of both ends are full, the server takes no more requests.
    stream
        .set_write_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    while stream.write_all(request.as_bytes()).is_ok() {}
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), 1);
    drop(stream);
}

/// A checker that opens a connection for each question is told, too: on the admin address, which
/// listens until the last answer has been sent.
#[test]
fn a_server_that_drains_says_so_on_new_connections() {
    let place = Place::stopped();
    let mut server = Server::start(serve(&place));
    // A request that has begun keeps the server for the grace period.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert_eq!(get(&server.admin, "/readyz", None).status, 200);
    server.signal(Signal::TERM);
    let answer = loop {
        let answer = get(&server.admin, "/readyz", None);
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(answer.status, 503);
    assert!(answer.text().contains("draining"), "{answer:?}");
    drop(stream);
    server.wait();
}

#[test]
fn a_second_signal_ends_the_process_at_once_with_status_1() {
    let place = Place::stopped();
    let mut server = Server::start(serve(&place));
    // A request that has begun keeps the server for the grace period.
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    assert_eq!(get(&server.address, "/api/health", None).status, 200);
    let started = Instant::now();
    server.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(300));
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), 1);
    assert!(started.elapsed() < Duration::from_secs(3));
    drop(stream);
}
