//! One keep-alive connection with at most one request in flight.

use std::net::{SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::answer::{Head, HeadRejection};
use crate::error::{BenchError, Result};

/// Bytes that one read takes at most. Bodies are discarded in the kernel, not copied.
pub(super) const READ_BYTES_MAX: usize = 1024 * 1024;

/// Outcome of a read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More is to come.
    Waiting,
    /// The answer is complete.
    Done(Head),
    /// The connection is broken.
    Broken(Breakage),
}

/// Reason why a connection broke.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Breakage {
    /// The server closed or reset it before the answer was complete.
    Closed,
    /// The answer was not understood.
    Head(HeadRejection),
    /// Bytes arrived without a request.
    Surplus,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    /// Beginning of a head that arrived in several reads.
    held: Vec<u8>,
    /// The answer whose body is coming, and how much of it is missing.
    body: Option<(Head, u64)>,
    /// Time at which its request was due, in ns of the run's clock.
    pub(super) due_ns: u64,
    /// True while a request is in flight.
    pub(super) is_busy: bool,
}

impl Connection {
    /// Connects and makes the socket non-blocking.
    pub(super) fn open(server: SocketAddr) -> Result<Self> {
        let on = |_: &_| format!("connect to {server}; is the server running?");
        let stream = TcpStream::connect(server).map_err(|e| BenchError::on(on(&e))(e))?;
        let ready = stream
            .set_nodelay(true)
            .and_then(|()| stream.set_nonblocking(true));
        ready.map_err(BenchError::on("prepare a socket"))?;
        Ok(Self {
            stream,
            held: Vec::new(),
            body: None,
            due_ns: 0,
            is_busy: false,
        })
    }

    /// The socket.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Sends a whole request; returns false if the connection is broken.
    pub(super) fn ask(&mut self, request: &[u8], due_ns: u64) -> bool {
        assert!(!self.is_busy, "one request at a time");
        let sent = send(&self.stream, request, SendFlags::NOSIGNAL);
        self.due_ns = due_ns;
        self.is_busy = true;
        // The socket's buffer is empty, so a whole request fits.
        sent == Ok(request.len())
    }

    /// Reads once what has arrived. `buffer` has [`READ_BYTES_MAX`] bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Progress {
        let flags = match self.body {
            Some(_) => RecvFlags::TRUNC,
            None => RecvFlags::empty(),
        };
        let (_, count) = match recv(&self.stream, &mut *buffer, flags) {
            Ok((_, 0)) => return Progress::Broken(Breakage::Closed),
            Ok(read) => read,
            Err(Errno::AGAIN | Errno::INTR) => return Progress::Waiting,
            Err(_) => return Progress::Broken(Breakage::Closed),
        };
        match self.body.take() {
            Some((head, missing)) => self.advance(head, missing, count as u64),
            None => self.begin(&buffer[..count]),
        }
    }

    fn begin(&mut self, bytes: &[u8]) -> Progress {
        if !self.is_busy {
            return Progress::Broken(Breakage::Surplus);
        }
        let bytes = if self.held.is_empty() {
            bytes
        } else {
            self.held.extend_from_slice(bytes);
            &self.held
        };
        match Head::parse(bytes) {
            Err(fault) => Progress::Broken(Breakage::Head(fault)),
            Ok(None) => {
                if self.held.is_empty() {
                    self.held = bytes.to_vec();
                }
                Progress::Waiting
            }
            Ok(Some(head)) => {
                let came = (bytes.len() - head.head_bytes) as u64;
                self.held.clear();
                self.advance(head, head.body_bytes, came)
            }
        }
    }

    fn advance(&mut self, head: Head, missing: u64, came: u64) -> Progress {
        match missing.checked_sub(came) {
            None => Progress::Broken(Breakage::Surplus),
            Some(0) => {
                self.is_busy = false;
                Progress::Done(head)
            }
            Some(missing) => {
                self.body = Some((head, missing));
                Progress::Waiting
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// Sends `pieces` one by one, each only when the one before was read.
    fn check(pieces: &[&[u8]], expected: &Progress) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut connection = Connection::open(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(connection.ask(b"GET / HTTP/1.1\r\n\r\n", 0));
        server.read_exact(&mut [0; 18]).unwrap();
        connection.stream().set_nonblocking(false).unwrap();
        let mut buffer = vec![0; READ_BYTES_MAX];
        let mut progress = Progress::Waiting;
        for piece in pieces {
            assert_eq!(progress, Progress::Waiting);
            server.write_all(piece).unwrap();
            progress = connection.read(&mut buffer);
        }
        if progress == Progress::Waiting {
            drop(server);
            progress = connection.read(&mut buffer);
        }
        assert_eq!(&progress, expected);
    }

    fn done(head_bytes: usize, body_bytes: u64) -> Progress {
        Progress::Done(Head {
            status: 200,
            head_bytes,
            body_bytes,
            is_last: false,
        })
    }

    #[test]
    fn answers_may_come_in_pieces() {
        check(
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab"],
            &done(38, 2),
        );
        let pieces: [&[u8]; 4] = [
            b"HTTP/1.1 2",
            b"00 OK\r\ncontent-length: 2\r\n\r",
            b"\na",
            b"b",
        ];
        check(&pieces, &done(38, 2));
    }

    #[test]
    fn a_cut_answer_is_broken() {
        let closed = Progress::Broken(Breakage::Closed);
        check(&[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na"], &closed);
        check(&[b"HTTP/1.1 200"], &closed);
    }

    #[test]
    fn more_than_was_announced_is_broken() {
        let surplus = Progress::Broken(Breakage::Surplus);
        check(
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab"],
            &surplus,
        );
        check(
            &[b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", b"abc"],
            &surplus,
        );
    }
}
