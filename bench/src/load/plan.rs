//! Plan of a load: requests, pace and duration.

use std::net::SocketAddr;
use std::time::Duration;

use crate::error::{BenchError, Result};
use crate::random::Random;

/// An `http://` address on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// Address of the server; always loopback.
    pub server: SocketAddr,
    /// Request target: path and query.
    pub target: String,
}

impl Url {
    /// Reads `http://127.0.0.1:8080/path?query`.
    ///
    /// Errors: anything but a numeric loopback address; this tool must not load other people's
    /// servers.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = || {
            let form = "http://127.0.0.1:PORT/PATH or http://[::1]:PORT/PATH";
            BenchError::new(format!("{text:?} is not of the form {form}"))
        };
        let rest = text.strip_prefix("http://").ok_or_else(refuse)?;
        let (address, target) = match rest.find('/') {
            Some(slash) => rest.split_at(slash),
            None => (rest, "/"),
        };
        let server: SocketAddr = address.parse().map_err(|_| refuse())?;
        if !server.ip().is_loopback() || !is_target(target) {
            return Err(refuse());
        }
        Ok(Self {
            server,
            target: target.to_owned(),
        })
    }
}

/// Order in which requests are picked from the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// One after the other, from the first again.
    RoundRobin,
    /// At random, the same way for the same seed.
    Seeded(u64),
}

/// Pace of the requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// The next one when an answer is complete.
    Closed,
    /// At this many per second, whatever the server does.
    Open(f64),
}

/// Amount of load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// A time, after a warm-up that is not measured.
    Time {
        /// Load before the measurement.
        warmup: Duration,
        /// The measurement.
        measured: Duration,
    },
    /// A number of requests, all measured.
    Count(u64),
}

/// Requirements on every answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// Its status.
    pub status: u16,
    /// Length of its body, when all have the same.
    pub body_bytes: Option<u64>,
}

/// A load.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub server: SocketAddr,
    /// Whole requests, ready to send; at least one.
    pub requests: Vec<Box<[u8]>>,
    /// Order in which they are picked.
    pub order: Order,
    /// Connections in all; at least one per thread.
    pub connections: usize,
    /// Threads that carry them.
    pub threads: usize,
    /// Pace of the requests.
    pub pace: Pace,
    /// Amount of load.
    pub extent: Extent,
    /// Requirements on the answers.
    pub expectation: Expectation,
    /// Processes of the server, whose processor time and memory are reported.
    pub watched: Vec<u32>,
}

impl Plan {
    /// A request of one target with these headers (`Name: value`).
    pub fn request(server: SocketAddr, target: &str, headers: &[String]) -> Result<Box<[u8]>> {
        if !is_target(target) {
            let what = format!("{target:?} is not a request target: write /path?query, encoded");
            return Err(BenchError::new(what));
        }
        let mut text = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\n");
        for header in headers {
            let is_header = header.contains(':') && !header.contains(['\r', '\n']);
            if !is_header {
                return Err(BenchError::new(format!(
                    "{header:?} is not a header: write Name: value"
                )));
            }
            text.push_str(header);
            text.push_str("\r\n");
        }
        text.push_str("\r\n");
        Ok(text.into_bytes().into())
    }
}

fn is_target(text: &str) -> bool {
    text.starts_with('/') && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Positions in the list of requests, without an end.
#[derive(Debug, Clone)]
pub(super) struct Picker {
    count: usize,
    next_idx: usize,
    random: Option<Random>,
}

impl Picker {
    /// Of `count` requests, for one of several threads, which start at different places.
    pub(super) fn new(order: Order, count: usize, thread_idx: usize) -> Self {
        let random = match order {
            Order::RoundRobin => None,
            Order::Seeded(seed) => Some(Random::new(seed.wrapping_add(thread_idx as u64))),
        };
        Self {
            count,
            next_idx: (thread_idx * 7919) % count,
            random,
        }
    }

    /// The next position.
    pub(super) fn pick(&mut self) -> usize {
        if let Some(random) = &mut self.random {
            return random.below(self.count);
        }
        let idx = self.next_idx;
        self.next_idx = if idx + 1 < self.count { idx + 1 } else { 0 };
        idx
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_is_loaded() {
        let url = Url::parse("http://127.0.0.1:80/a?b=c").unwrap();
        assert_eq!(url.target, "/a?b=c");
        assert_eq!(Url::parse("http://[::1]:80").unwrap().target, "/");
        for text in [
            "https://127.0.0.1:80/",
            "http://192.0.2.1:80/",
            "http://localhost:80/",
            "http://127.0.0.1/",
            "http://127.0.0.1:80/a b",
            "127.0.0.1:80",
        ] {
            assert!(Url::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requests_are_whole() {
        let server = "127.0.0.1:8080".parse().unwrap();
        let headers = ["Authorization: Bearer x".to_owned()];
        let request = Plan::request(server, "/a", &headers).unwrap();
        let expected = "GET /a HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nAuthorization: Bearer x\r\n\r\n";
        assert_eq!(request.as_ref(), expected.as_bytes());
        assert!(Plan::request(server, "a", &[]).is_err());
        assert!(Plan::request(server, "/a", &["x".to_owned()]).is_err());
    }

    #[test]
    fn picks_in_turn_or_by_seed() {
        let mut picker = Picker::new(Order::RoundRobin, 3, 0);
        let picked: Vec<usize> = (0..5).map(|_| picker.pick()).collect();
        assert_eq!(picked, [0, 1, 2, 0, 1]);
        let picked = |seed| -> Vec<usize> {
            let mut picker = Picker::new(Order::Seeded(seed), 1000, 0);
            (0..20).map(|_| picker.pick()).collect()
        };
        assert_eq!(picked(1), picked(1));
        assert_ne!(picked(1), picked(2));
    }
}
