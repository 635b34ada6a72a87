//! Services that a server talks to, in the test's own process: object storage and an upstream.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subcat_engine::Timestamp;

/// One bucket of a service that speaks as much S3 as is needed here, and its outage.
#[derive(Default)]
pub struct Bucket {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    /// Objects that were put there years ago.
    old: Mutex<BTreeSet<String>>,
    pub is_away: AtomicBool,
    /// It accepts requests, and answers none until this is over.
    pub is_hanging: AtomicBool,
    /// Requests that have arrived.
    pub asked_count: AtomicU32,
    /// The bucket itself is not there.
    pub is_gone: AtomicBool,
    /// Every object is put there again as soon as it was listed.
    pub is_put_again: AtomicBool,
}

impl Bucket {
    pub fn start() -> (Arc<Self>, String) {
        let bucket = Arc::<Self>::default();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let serving = Arc::clone(&bucket);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let bucket = Arc::clone(&serving);
                std::thread::spawn(move || bucket.answer(stream.unwrap()));
            }
        });
        (bucket, endpoint)
    }

    /// Answers one request and closes the connection.
    fn answer(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        let mut size_bytes = 0;
        reader.read_line(&mut first).unwrap();
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            if header.trim().is_empty() {
                break;
            }
            let header = header.to_ascii_lowercase();
            if let Some(length) = header.strip_prefix("content-length:") {
                size_bytes = length.trim().parse().unwrap();
            }
        }
        let mut content = vec![0; size_bytes];
        reader.read_exact(&mut content).unwrap();
        self.asked_count.fetch_add(1, Ordering::Relaxed);
        while self.is_hanging.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap_or_default());
        let mut objects = self.objects.lock().unwrap();
        let (status, body) = if self.is_away.load(Ordering::Relaxed) {
            ("503 Service Unavailable", Vec::new())
        } else if method == "PUT" {
            objects.insert(path.to_owned(), content);
            self.old.lock().unwrap().remove(path);
            ("200 OK", Vec::new())
        } else if method == "DELETE" {
            objects.remove(path);
            ("204 No Content", Vec::new())
        } else if path.contains("list-type=2") {
            let listing = self.listing(&objects, path);
            if self.is_put_again.load(Ordering::Relaxed) {
                self.old.lock().unwrap().clear();
            }
            ("200 OK", listing)
        } else {
            match objects
                .get(path)
                .filter(|_| !self.is_gone.load(Ordering::Relaxed))
            {
                Some(object) => ("200 OK", object.clone()),
                None => ("404 Not Found", self.missing()),
            }
        };
        let modified = if self.old.lock().unwrap().contains(path) {
            "Thu, 02 Jan 2020 03:04:05 GMT"
        } else {
            "Fri, 01 Jan 2100 00:00:00 GMT"
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nETag: \"1\"\r\n\
             Last-Modified: {modified}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let body = if method == "HEAD" { Vec::new() } else { body };
        let mut stream = reader.into_inner();
        // A client that has gone is not this server's matter.
        let _ = stream.write_all(&[head.as_bytes(), &body].concat());
    }

    /// The body of the answer with the objects after the one that the path names.
    fn listing(&self, objects: &BTreeMap<String, Vec<u8>>, path: &str) -> Vec<u8> {
        let after = path.split(['?', '&']);
        let after = after.filter_map(|it| it.strip_prefix("start-after="));
        let after = format!("/files/{}", after.collect::<String>().replace("%2F", "/"));
        let old = self.old.lock().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        let now = Timestamp::from_seconds(now as i64).unwrap().to_string();
        let objects = objects.iter().filter(|(name, _)| after < **name);
        let objects = objects.map(|(name, object)| {
            let time = if old.contains(name) {
                "2020-01-02T03:04:05Z"
            } else {
                &now
            };
            let (key, size) = (name.trim_start_matches("/files/"), object.len());
            format!(
                "<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>\"1\"</ETag>\
                 <Size>{size}</Size></Contents>"
            )
        });
        let objects = objects.collect::<String>();
        format!("<?xml version=\"1.0\"?><ListBucketResult>{objects}</ListBucketResult>")
            .into_bytes()
    }

    /// Puts an object there, years ago or just now.
    pub fn put(&self, name: &str, is_old: bool) {
        let name = format!("/files/{name}");
        if is_old {
            self.old.lock().unwrap().insert(name.clone());
        } else {
            self.old.lock().unwrap().remove(&name);
        }
        self.objects.lock().unwrap().insert(name, b"left".to_vec());
    }

    /// Makes every object one that was put there years ago.
    pub fn let_age(&self) {
        let objects = self.objects.lock().unwrap();
        self.old.lock().unwrap().extend(objects.keys().cloned());
    }

    /// The body of the answer that there is no such object, or no such bucket.
    fn missing(&self) -> Vec<u8> {
        let code = if self.is_gone.load(Ordering::Relaxed) {
            "NoSuchBucket"
        } else {
            "NoSuchKey"
        };
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>").into_bytes()
    }

    /// The names of the contents.
    pub fn names(&self) -> Vec<String> {
        let objects = self.objects.lock().unwrap();
        let contents = objects.keys().filter(|name| !name.ends_with("/mark"));
        contents.cloned().collect()
    }
}

/// An upstream that sends `content` to whoever asks, unless it is away.
pub struct Upstream {
    pub address: SocketAddr,
    pub state: Arc<UpstreamState>,
}

/// State of an upstream.
#[derive(Default)]
pub struct UpstreamState {
    pub is_away: AtomicBool,
    /// Each answer ends with its number, and so differs from all others.
    pub is_changing: AtomicBool,
    pub answers_count: AtomicU32,
}

impl Upstream {
    pub fn start(content: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::<UpstreamState>::default();
        let serving = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _ = stream.read(&mut [0; 4096]);
                let _ = stream.write_all(serving.answer(content).as_bytes());
            }
        });
        Self { address, state }
    }
}

impl UpstreamState {
    fn answer(&self, content: &str) -> String {
        let (status, body) = if self.is_away.load(Ordering::Relaxed) {
            ("404 Not Found", String::new())
        } else {
            let number = self.answers_count.fetch_add(1, Ordering::Relaxed);
            let is_changing = self.is_changing.load(Ordering::Relaxed);
            let end = is_changing.then(|| format!("{number}\n"));
            ("200 OK", content.to_owned() + &end.unwrap_or_default())
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}
