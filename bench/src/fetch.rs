//! One request and its whole answer.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{BenchError, Result};
use crate::load::Plan;

/// Longest time without a byte.
const PATIENCE: Duration = Duration::from_secs(60);

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its header lines, in order, `Name: value`.
    pub headers: Vec<String>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.headers.iter().map(String::as_str);
        let mut pairs = lines.filter_map(|line| line.split_once(':'));
        let (_, value) = pairs.find(|(found, _)| found.eq_ignore_ascii_case(name))?;
        Some(value.trim())
    }
}

/// Sends one request on a connection that is closed afterwards.
pub fn fetch(server: SocketAddr, target: &str, headers: &[String]) -> Result<Answer> {
    let mut headers = headers.to_vec();
    headers.push("Connection: close".to_owned());
    let request = Plan::request(server, target, &headers)?;
    let exchange = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(&request)?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = exchange().map_err(BenchError::on(format!("GET {target} of {server}")))?;
    parse(&bytes)
        .ok_or_else(|| BenchError::new(format!("GET {target} of {server}: no whole answer")))
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let answer = Answer {
        status,
        headers: lines.map(str::to_owned).collect(),
        body: bytes[end + 4..].to_vec(),
    };
    let length: usize = answer.header("content-length")?.parse().ok()?;
    (answer.body.len() == length).then_some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_count() {
        let answer = parse(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nA: b\r\n\r\nhi").unwrap();
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("a"), Some("b"));
        assert_eq!(answer.body, b"hi");
        assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi").is_none());
    }
}
