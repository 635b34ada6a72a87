//! A server with a hostile upstream, two accounts and a key.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::browser::Browser;
use crate::harness::{Place, get, id, line};

pub const PASSWORD: &str = "correct horse";
pub const ADMIN: &str = "root@example.org";
pub const USER: &str = "ana@example.org";
/// Time in which whatever is asked of a server must be answered.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Writes the line of an attack that held.
pub fn held(finding: &str, attack: &str, tried: &str) {
    println!("| {finding} | {attack} | {tried} | yes |");
}

/// An upstream whose files are set by the test.
#[derive(Clone, Default)]
pub struct Files(Arc<Mutex<BTreeMap<String, Sent>>>);

/// An answer of the upstream.
#[derive(Clone)]
struct Sent {
    fields: String,
    /// False if the end of the body is that of the connection.
    has_length: bool,
    body: Vec<u8>,
}

impl Files {
    fn start() -> (Self, SocketAddr) {
        let files = Self::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let serving = files.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let files = serving.clone();
                std::thread::spawn(move || files.answer(stream));
            }
        });
        (files, address)
    }

    /// Sets the file of a release.
    pub fn give(&self, release: &str, body: impl Into<Vec<u8>>) {
        self.give_with(release, "", body);
    }

    /// The same with further fields, which are whole lines.
    pub fn give_with(&self, release: &str, fields: &str, body: impl Into<Vec<u8>>) {
        self.put(release, fields, true, body.into());
    }

    /// The same without a length: the connection ends the body.
    pub fn give_closed(&self, release: &str, body: impl Into<Vec<u8>>) {
        self.put(release, "", false, body.into());
    }

    fn put(&self, release: &str, fields: &str, has_length: bool, body: Vec<u8>) {
        let sent = Sent {
            fields: fields.to_owned(),
            has_length,
            body,
        };
        self.0.lock().unwrap().insert(release.to_owned(), sent);
    }

    fn answer(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        let _ = reader.read_line(&mut first);
        let mut rest = String::new();
        while reader.read_line(&mut rest).is_ok_and(|bytes| 2 < bytes) {}
        let path = first.split(' ').nth(1).unwrap_or_default();
        let release = path.rsplit('/').next().unwrap_or_default();
        let sent = self.0.lock().unwrap().get(release).cloned();
        let mut stream = reader.into_inner();
        let answer = match sent {
            None => b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(),
            Some(sent) => {
                let length = if sent.has_length {
                    format!("Content-Length: {}\r\n", sent.body.len())
                } else {
                    String::new()
                };
                let fields = sent.fields;
                let head = format!("HTTP/1.1 200 OK\r\n{length}{fields}Connection: close\r\n\r\n");
                [head.as_bytes(), &sent.body].concat()
            }
        };
        // A client that has seen enough may have gone.
        let _ = stream.write_all(&answer);
    }
}

/// A server with records 1 to 40, whose releases are `r1` to `r40`.
pub struct Scene {
    pub place: Place,
    pub files: Files,
    pub api_key: String,
}

impl Scene {
    pub fn start(settings: &[&str]) -> Self {
        let (files, upstream) = Files::start();
        let mut place = Place::stopped();
        for (email, role) in [(ADMIN, "admin"), (USER, "user")] {
            let create = [
                "account",
                "create",
                email,
                "--role",
                role,
                "--password-stdin",
            ];
            place.run_with(&create, PASSWORD).ok();
        }
        let lines = (1..=40).map(|number| {
            let release = format!(",\"source_release_id\":\"r{number}\",\"year\":1995");
            line(number, "Heat", &release)
        });
        place.import(&lines.collect::<Vec<_>>());
        let api_key = place.create_key(&["--limit", "100000/60"]);
        let url = format!("upstream.url=http://{upstream}/files/{{source_release_id}}");
        let mut arguments = vec![
            "--set",
            &url,
            "--set",
            "rate_limit.anonymous_requests=100000",
        ];
        for setting in settings {
            arguments.extend(["--set", setting]);
        }
        place.start_logged_server(&arguments);
        Self {
            place,
            files,
            api_key,
        }
    }

    pub fn address(&self) -> &str {
        &self.place.server().address
    }

    /// A browser that nobody has signed in with.
    pub fn browser(&self) -> Browser {
        Browser::new(self.address())
    }

    /// A browser in which this account is signed in.
    pub fn signed_in(&self, email: &str) -> Browser {
        let mut browser = self.browser();
        let fields = [("email", email), ("password", PASSWORD)];
        assert_eq!(browser.post("/signin", &fields).status, 303);
        browser
    }

    /// The status of a download of the API.
    pub fn download(&self, number: u32) -> u16 {
        let path = format!("/api/subtitles/{}/download", id(number));
        get(self.address(), &path, Some(&self.api_key)).status
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.place.path("log")).unwrap()
    }

    /// Asserts that the server lives, and answers everything at once.
    #[track_caller]
    pub fn assert_well(&self) {
        let started = Instant::now();
        let admin = &self.place.server().admin;
        for path in ["/livez", "/readyz", "/metrics"] {
            assert_eq!(get(admin, path, None).status, 200, "{path}");
        }
        for path in ["/", "/api/health", "/signin"] {
            assert_eq!(get(self.address(), path, None).status, 200, "{path}");
        }
        self.files.give("r40", srt("well"));
        assert_eq!(self.download(40), 200);
        self.place.run(&["stats"]).ok();
        assert!(started.elapsed() < 2 * PATIENCE, "{:?}", started.elapsed());
        let metrics = get(admin, "/metrics", None).text();
        assert!(metrics.contains("subcat_panics_total 0\n"), "{metrics}");
    }
}

/// A subtitle.
pub fn srt(text: &str) -> String {
    format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n\n")
}
