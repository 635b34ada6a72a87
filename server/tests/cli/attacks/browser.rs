//! A client of the pages that keeps cookies.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;

use super::scene::PATIENCE;

/// A browser: each request has a connection of its own.
#[derive(Clone)]
pub struct Browser {
    address: String,
    pub cookies: BTreeMap<String, String>,
}

/// The answer to a request of a browser.
#[derive(Debug)]
pub struct Shown {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Shown {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The values of a field.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.head.split("\r\n").filter_map(|it| it.split_once(": "));
        let named = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value).collect()
    }

    /// The text between two others.
    #[track_caller]
    pub fn between(&self, start: &str, end: &str) -> String {
        let text = self.text();
        let rest = text.split_once(start).unwrap_or_else(|| panic!("{text}"));
        rest.1.split(end).next().unwrap().to_owned()
    }
}

impl Browser {
    pub fn new(address: &str) -> Self {
        Self {
            address: address.to_owned(),
            cookies: BTreeMap::new(),
        }
    }

    pub fn get(&mut self, target: &str) -> Shown {
        self.send("GET", target, "", "")
    }

    pub fn post(&mut self, target: &str, fields: &[(&str, &str)]) -> Shown {
        let encoded = |text: &str| -> String {
            let bytes = text.bytes().map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                byte => format!("%{byte:02X}"),
            });
            bytes.collect()
        };
        let pairs = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        let body = pairs.collect::<Vec<_>>().join("&");
        let head =
            "Sec-Fetch-Site: same-origin\r\nContent-Type: application/x-www-form-urlencoded\r\n";
        self.send("POST", target, head, &body)
    }

    /// Sends a request with whole header lines of its own.
    pub fn send(&mut self, method: &str, target: &str, lines: &str, body: &str) -> Shown {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let host = if lines.to_ascii_lowercase().contains("host: ") {
            String::new()
        } else {
            format!("Host: {}\r\n", self.address)
        };
        let cookies = match cookies.join("; ") {
            none if none.is_empty() => String::new(),
            cookies => format!("Cookie: {cookies}\r\n"),
        };
        let length = body.len();
        let request = format!(
            "{method} {target} HTTP/1.1\r\n{host}{lines}{cookies}Content-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        let shown = raw(&self.address, request.as_bytes());
        for cookie in shown.fields("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        shown
    }
}

/// Sends bytes, and reads until the connection ends.
pub fn raw(address: &str, request: &[u8]) -> Shown {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(4 * PATIENCE)).unwrap();
    // It may be refused before it has been read.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.map_or(bytes.len(), |end| end + 4);
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head.get(9..12).and_then(|text| text.parse().ok());
    Shown {
        status: status.unwrap_or(0),
        body: bytes[end..].to_vec(),
        head,
    }
}
