//! An upstream source with answers that a test sets; it counts requests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// Answer for one release: status line, fields, body.
type Given = (String, String, Vec<u8>);

/// A source on a port of its own; its threads end with the process.
pub struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    given: Mutex<HashMap<String, Given>>,
    asked_count: AtomicUsize,
    /// Requests that are being answered, and the most of them at one time.
    open_count: AtomicUsize,
    open_max: AtomicUsize,
    is_held: Mutex<bool>,
    released: Condvar,
}

impl Upstream {
    /// Starts a source without files.
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let shared = Arc::new(Shared::default());
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || serving.answer(&stream));
            }
        });
        Self { address, shared }
    }

    /// The setting `upstream.url`.
    pub fn url(&self) -> String {
        format!("http://{}/files/{{source_release_id}}", self.address)
    }

    /// Sets the file of a release.
    pub fn give(&self, release: &str, body: impl Into<Vec<u8>>) {
        self.give_answer(release, "200 OK", "", body);
    }

    /// Sets the answer for a release; `fields` are whole lines.
    pub fn give_answer(&self, release: &str, status: &str, fields: &str, body: impl Into<Vec<u8>>) {
        let given = (status.to_owned(), fields.to_owned(), body.into());
        let mut all = self.shared.given.lock().expect("no test panicked here");
        all.insert(release.to_owned(), given);
    }

    /// Number of requests so far.
    pub fn asked_count(&self) -> usize {
        self.shared.asked_count.load(Ordering::SeqCst)
    }

    /// The largest number of requests that were open at one time.
    pub fn together_max(&self) -> usize {
        self.shared.open_max.load(Ordering::SeqCst)
    }

    /// Holds answers back until [`Upstream::release`].
    pub fn hold(&self) {
        *self.shared.is_held.lock().expect("no test panicked here") = true;
    }

    /// Sends the answers that were held back.
    pub fn release(&self) {
        *self.shared.is_held.lock().expect("no test panicked here") = false;
        self.shared.released.notify_all();
    }
}

impl Shared {
    fn answer(&self, stream: &TcpStream) {
        let mut lines = BufReader::new(stream).lines();
        let Some(Ok(first)) = lines.next() else {
            return;
        };
        while lines
            .next()
            .is_some_and(|line| line.is_ok_and(|line| !line.is_empty()))
        {}
        let open_count = self.open_count.fetch_add(1, Ordering::SeqCst) + 1;
        self.open_max.fetch_max(open_count, Ordering::SeqCst);
        self.asked_count.fetch_add(1, Ordering::SeqCst);
        let mut is_held = self.is_held.lock().expect("no test panicked here");
        while *is_held {
            is_held = self.released.wait(is_held).expect("no test panicked here");
        }
        drop(is_held);
        // Before the answer: whoever has it may send the next request at once.
        self.open_count.fetch_sub(1, Ordering::SeqCst);
        let path = first.split(' ').nth(1).unwrap_or_default();
        let release = path.rsplit('/').next().unwrap_or_default();
        let given = self.given.lock().expect("no test panicked here");
        let nothing = || ("404 Not Found".to_owned(), String::new(), Vec::new());
        let (status, fields, body) = given.get(release).cloned().unwrap_or_else(nothing);
        drop(given);
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{fields}\r\n"
        );
        let mut stream = stream;
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body));
        // A client that left early did so because a test wanted it.
        drop(sent);
    }
}
