//! A client that sends exactly the given bytes and reads exactly one answer at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Time after which a test fails without an answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which a server may stop reading: longer than it may keep a client that does not read.
const SEND_PATIENCE: Duration = Duration::from_secs(60);

/// A connection.
pub struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

/// An answer as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawAnswer {
    /// The version and the reason phrase around the status.
    pub status_line: String,
    /// The status.
    pub status: u16,
    /// Fields in order, names in lower case.
    pub fields: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl RawAnswer {
    /// The value of a field that is there at most once; panics when it is there twice.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(known, _)| known == name);
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} is there twice");
        value
    }

    /// The values of a field that may be there several times.
    pub fn field_values(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.fields.iter().filter(move |(known, _)| known == name);
        values.map(|(_, value)| value.as_str())
    }

    /// The body as text; panics when it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is UTF-8")
    }
}

impl From<TcpStream> for Client {
    fn from(stream: TcpStream) -> Self {
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket takes a timeout");
        stream
            .set_write_timeout(Some(SEND_PATIENCE))
            .expect("a socket takes a timeout");
        stream.set_nodelay(true).expect("a socket takes an option");
        Self {
            stream,
            unread: Vec::new(),
        }
    }
}

impl Client {
    /// Connects; panics when that fails.
    pub fn connect(address: SocketAddr) -> Self {
        Self::from(TcpStream::connect(address).expect("the server listens"))
    }

    /// Sends bytes as they are. A server that has closed already is not an error here.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        if let Err(error) = self.stream.write_all(bytes.as_ref()) {
            let is_closed = matches!(
                error.kind(),
                ErrorKind::BrokenPipe | ErrorKind::ConnectionReset
            );
            assert!(is_closed, "sending failed: {error}");
        }
    }

    /// Closes the sending side.
    pub fn finish(&mut self) {
        self.stream
            .shutdown(Shutdown::Write)
            .expect("the connection stands");
    }

    /// Sends a request and reads its answer.
    pub fn ask(&mut self, bytes: impl AsRef<[u8]>) -> RawAnswer {
        let is_head = bytes.as_ref().starts_with(b"HEAD ");
        self.send(bytes);
        self.read_answer(is_head)
    }

    /// Requests a path, with a key or without.
    pub fn get(&mut self, path: &str, api_key: Option<&str>) -> RawAnswer {
        self.request("GET", path, api_key, &[])
    }

    /// Sends a request with a method and further fields.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        api_key: Option<&str>,
        fields: &[(&str, &str)],
    ) -> RawAnswer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\n");
        if let Some(api_key) = api_key {
            head.push_str(&format!("Authorization: Bearer {api_key}\r\n"));
        }
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        self.ask(head)
    }

    /// Reads one answer; panics when there is none.
    pub fn read_answer(&mut self, is_head: bool) -> RawAnswer {
        let head_end = loop {
            let end = self.unread.windows(4).position(|four| four == b"\r\n\r\n");
            match end {
                Some(end) => break end,
                None => assert!(self.fill(), "the server closed without an answer"),
            }
        };
        let head: Vec<u8> = self.unread.drain(..head_end + 4).collect();
        let head = String::from_utf8(head).expect("a head is ASCII");
        let mut lines = head.trim_end().split("\r\n");
        let status_line = lines.next().expect("a head has a first line").to_owned();
        let status: u16 = status_line
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .expect("the first line has a status");
        let field = |line: &str| {
            let (name, value) = line.split_once(':').expect("a field has a value");
            (name.to_ascii_lowercase(), value.trim_start().to_owned())
        };
        let mut answer = RawAnswer {
            status,
            fields: lines.map(field).collect(),
            status_line,
            body: Vec::new(),
        };
        let has_body = !is_head && status != 204 && status != 304;
        if has_body {
            let length = answer.field("content-length").map(str::parse);
            let length: usize = length.unwrap_or(Ok(0)).expect("a length is a number");
            answer.body = self.read_body(length);
        }
        answer
    }

    fn read_body(&mut self, bytes_count: usize) -> Vec<u8> {
        while self.unread.len() < bytes_count {
            assert!(self.fill(), "the server closed within a body");
        }
        self.unread.drain(..bytes_count).collect()
    }

    /// Reads until the server closes.
    pub fn read_to_end(&mut self) -> Vec<u8> {
        while self.fill() {}
        std::mem::take(&mut self.unread)
    }

    /// Waits until the server closes; returns true if it sends no byte before.
    pub fn is_closed(&mut self) -> bool {
        self.unread.is_empty() && !self.fill()
    }

    /// Reads some bytes; false when the server has closed.
    fn fill(&mut self) -> bool {
        let mut bytes = [0; 64 << 10];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(bytes_count) => {
                self.unread.extend_from_slice(&bytes[..bytes_count]);
                true
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => false,
            Err(error) => panic!("the server neither answers nor closes: {error}"),
        }
    }
}
