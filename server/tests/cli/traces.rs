//! Traces of what the program does beside requests, and at its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use crate::harness::Place;

/// A collector that keeps what it is sent.
struct Collector {
    url: String,
    bodies: Arc<Mutex<Vec<u8>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // The program has ended: there is nothing more on this connection.
                let _ = collect(&stream, &kept);
            }
        });
        Self { url, bodies }
    }

    fn has(&self, text: &str) -> bool {
        let bodies = self.bodies.lock().unwrap();
        let mut parts = bodies.windows(text.len());
        parts.any(|part| part == text.as_bytes())
    }
}

fn collect(mut stream: &TcpStream, kept: &Mutex<Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            let line = line.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        kept.lock().unwrap().extend(body);
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
    }
}

#[test]
fn operations_are_spans_and_the_last_ones_are_sent_at_the_end() {
    let collector = Collector::start();
    let mut place = Place::stopped();
    let url = format!("traces.url={}", collector.url);
    place.start_server(&["--set", &url, "--set", "traces.every=1"]);
    let api_key = place.create_key(&[]);
    assert_eq!(place.server().get("/api/health", None).status, 200);
    // A batch waits for a second, which the server does not have any more.
    assert_eq!(place.stop_server(), 0);
    for name in ["key/create", "GET /api/health"] {
        assert!(collector.has(name), "no span {name}");
    }
    assert!(!collector.has(&api_key[4..]), "a secret");
}
