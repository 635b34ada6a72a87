//! A client that notices when its server is killed, and an upstream that counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A connection to a server that may be killed at any moment.
pub struct Client {
    reader: BufReader<TcpStream>,
}

/// A whole answer.
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Client {
    /// Connects; `None` if nobody listens.
    pub fn connect(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Self {
            reader: BufReader::new(stream),
        })
    }

    /// The whole answer to a GET; `None` if the server did not live to send it.
    pub fn get(&mut self, path: &str, api_key: &str) -> Option<Answer> {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {api_key}\r\n\r\n");
        self.reader.get_mut().write_all(request.as_bytes()).ok()?;
        let mut status = 0;
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.get(..3)?.parse().ok()?;
            } else if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse().ok()?;
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).ok()?;
        Some(Answer { status, body })
    }
}

/// Sends one GET on a connection of its own.
pub fn get(address: &str, path: &str, api_key: &str) -> Option<Answer> {
    Client::connect(address)?.get(path, api_key)
}

/// The file of a release.
pub fn content_of(release: &str) -> Vec<u8> {
    let cue = format!("1\r\n00:00:01,000 --> 00:00:02,000\r\nLínea de {release}\r\n\r\n");
    cue.repeat(60).into_bytes()
}

/// Requests that an upstream has seen, by release.
pub type FetchCounts = Arc<Mutex<BTreeMap<String, u64>>>;

/// Starts an upstream that has every release; it ends with the process. Returns the setting
/// `upstream.url` and the requests.
pub fn start_upstream() -> (String, FetchCounts) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let asked = FetchCounts::default();
    let counting = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let counting = Arc::clone(&counting);
            std::thread::spawn(move || answer(stream, &counting));
        }
    });
    (format!("http://{address}/{{source_release_id}}"), asked)
}

fn answer(stream: TcpStream, asked: &FetchCounts) {
    let mut reader = BufReader::new(stream);
    let mut first = String::new();
    if !reader.read_line(&mut first).is_ok_and(|read| 0 < read) {
        return;
    }
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|read| 2 < read) {
        line.clear();
    }
    let release = first.split(['/', ' ']).nth(2).unwrap_or_default();
    let mut counts = asked.lock().expect("nobody panics here");
    *counts.entry(release.to_owned()).or_default() += 1;
    drop(counts);
    let body = content_of(release);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let mut stream = reader.into_inner();
    // A server that was killed does not read it.
    let _ = stream.write_all(&[head.as_bytes(), &body].concat());
}
