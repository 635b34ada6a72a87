//! The floor of this kernel: a loop that sends one canned answer to every request.
//!
//! No request is read beyond the end of its head, so the cost is that of the sockets alone. No
//! server that does any work can be cheaper with the same system calls.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};

use memchr::memmem;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::OwnedFd;
use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::error::{BenchError, Result};

/// Events taken at once.
const EVENTS_MAX: usize = 256;
/// Longest request head.
const REQUEST_BYTES_MAX: usize = 16 * 1024;
/// Marks the listener among the events.
const LISTENER: u64 = u64::MAX;

/// Answer to every request.
#[derive(Debug)]
pub struct Canned {
    /// Head, and body if there is no file.
    bytes: Vec<u8>,
    /// A file that follows by `sendfile`.
    file: Option<(File, u64)>,
}

impl Canned {
    /// An answer whose head and body are these bytes.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, file: None }
    }

    /// An answer whose body is the file.
    pub fn file(head: Vec<u8>, file: File) -> Result<Self> {
        let metadata = file
            .metadata()
            .map_err(BenchError::on("size of the file"))?;
        Ok(Self {
            bytes: head,
            file: Some((file, metadata.len())),
        })
    }
}

struct Client {
    stream: TcpStream,
    /// Beginning of a head that arrived in several reads.
    held: Vec<u8>,
    /// Bytes of the head that were sent; `None` if no answer is being sent.
    head_sent: Option<usize>,
    file_offset: u64,
    is_blocked: bool,
}

enum Step {
    Idle,
    Blocked,
    Gone,
}

/// Serves `canned` on `listener` until the process ends.
pub fn serve(listener: &TcpListener, canned: &Canned) -> Result<()> {
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(BenchError::on("create an epoll"))?;
    let data = EventData::new_u64(LISTENER);
    listener
        .set_nonblocking(true)
        .map_err(BenchError::on("prepare the listener"))?;
    epoll::add(&epoll, listener, data, EventFlags::IN).map_err(BenchError::on("watch it"))?;
    let mut floor = Floor {
        epoll,
        canned,
        clients: Vec::new(),
        vacant: Vec::new(),
        buffer: vec![0; REQUEST_BYTES_MAX],
    };
    let mut events: Vec<Event> = Vec::with_capacity(EVENTS_MAX);
    loop {
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&floor.epoll, spare, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(cause) => return Err(BenchError::on("wait for sockets")(cause)),
        }
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => floor.accept(listener)?,
                idx => floor.turn(idx as usize)?,
            }
        }
    }
}

/// The same with tokio-uring's sockets, each on a task of its own: the baseline for our own ring.
/// Only for answers without a file.
pub fn serve_by_tokio_uring(listener: TcpListener, canned: Canned) -> Result<()> {
    if canned.file.is_some() {
        return Err(BenchError::new(
            "tokio-uring has no sendfile: leave --file away",
        ));
    }
    let answer: &'static [u8] = canned.bytes.leak();
    tokio_uring::start(async {
        let listener = tokio_uring::net::TcpListener::from_std(listener);
        loop {
            let accepted = listener.accept().await;
            let (stream, _) = accepted.map_err(BenchError::on("accept a connection"))?;
            stream
                .set_nodelay(true)
                .map_err(BenchError::on("prepare a socket"))?;
            // A broken connection ends only its own task.
            tokio_uring::spawn(answer_all(stream, answer));
        }
    })
}

async fn answer_all(stream: tokio_uring::net::TcpStream, answer: &'static [u8]) -> io::Result<()> {
    let mut buffer = Vec::with_capacity(REQUEST_BYTES_MAX);
    let mut held = Vec::new();
    loop {
        let (outcome, filled) = stream.read(buffer).await;
        if outcome? == 0 || REQUEST_BYTES_MAX < held.len() {
            return Ok(());
        }
        held.extend_from_slice(&filled);
        buffer = filled;
        buffer.clear();
        if memmem::find(&held, b"\r\n\r\n").is_some() {
            held.clear();
            stream.write_all(answer).await.0?;
        }
    }
}

struct Floor<'a> {
    epoll: OwnedFd,
    canned: &'a Canned,
    clients: Vec<Option<Client>>,
    vacant: Vec<usize>,
    buffer: Vec<u8>,
}

impl Floor<'_> {
    fn accept(&mut self, listener: &TcpListener) -> Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(()),
                // Out of descriptors, or the client has left already: serve the other connections.
                Err(_) => return Ok(()),
            };
            let ready = stream
                .set_nonblocking(true)
                .and_then(|()| stream.set_nodelay(true));
            ready.map_err(BenchError::on("prepare a socket"))?;
            let idx = self.vacant.pop().unwrap_or(self.clients.len());
            let data = EventData::new_u64(idx as u64);
            epoll::add(&self.epoll, &stream, data, EventFlags::IN)
                .map_err(BenchError::on("watch a socket"))?;
            let client = Client {
                stream,
                held: Vec::new(),
                head_sent: None,
                file_offset: 0,
                is_blocked: false,
            };
            if idx < self.clients.len() {
                self.clients[idx] = Some(client);
            } else {
                self.clients.push(Some(client));
            }
        }
    }

    fn turn(&mut self, idx: usize) -> Result<()> {
        let Some(client) = self.clients.get_mut(idx).and_then(Option::as_mut) else {
            return Ok(());
        };
        let was_blocked = client.is_blocked;
        let step = match client.head_sent {
            None => client.read(self.canned, &mut self.buffer),
            Some(_) => client.write(self.canned),
        };
        client.is_blocked = matches!(step, Step::Blocked);
        if matches!(step, Step::Gone) {
            self.clients[idx] = None;
            self.vacant.push(idx);
        } else if client.is_blocked != was_blocked {
            let interest = if client.is_blocked {
                EventFlags::OUT
            } else {
                EventFlags::IN
            };
            let data = EventData::new_u64(idx as u64);
            epoll::modify(&self.epoll, &client.stream, data, interest)
                .map_err(BenchError::on("watch a socket"))?;
        }
        Ok(())
    }
}

impl Client {
    fn read(&mut self, canned: &Canned, buffer: &mut [u8]) -> Step {
        let count = match recv(&self.stream, &mut *buffer, RecvFlags::empty()) {
            Ok((_, 0)) => return Step::Gone,
            Ok((_, count)) => count,
            Err(Errno::AGAIN | Errno::INTR) => return Step::Idle,
            Err(_) => return Step::Gone,
        };
        let bytes = &buffer[..count];
        if self.held.is_empty() && bytes.ends_with(b"\r\n\r\n") {
            self.head_sent = Some(0);
            return self.write(canned);
        }
        self.held.extend_from_slice(bytes);
        if memmem::find(&self.held, b"\r\n\r\n").is_some() {
            self.held.clear();
            self.head_sent = Some(0);
            return self.write(canned);
        }
        if REQUEST_BYTES_MAX < self.held.len() {
            Step::Gone
        } else {
            Step::Idle
        }
    }

    fn write(&mut self, canned: &Canned) -> Step {
        let more = if canned.file.is_some() {
            SendFlags::MORE
        } else {
            SendFlags::empty()
        };
        while let Some(sent) = self.head_sent.filter(|sent| *sent < canned.bytes.len()) {
            match send(
                &self.stream,
                &canned.bytes[sent..],
                SendFlags::NOSIGNAL | more,
            ) {
                Ok(count) => self.head_sent = Some(sent + count),
                Err(Errno::AGAIN) => return Step::Blocked,
                Err(Errno::INTR) => {}
                Err(_) => return Step::Gone,
            }
        }
        if let Some((file, file_bytes)) = &canned.file {
            while self.file_offset < *file_bytes {
                let left = (*file_bytes - self.file_offset) as usize;
                match sendfile(&self.stream, file, Some(&mut self.file_offset), left) {
                    Ok(0) => return Step::Gone,
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(Errno::AGAIN) => return Step::Blocked,
                    Err(_) => return Step::Gone,
                }
            }
        }
        self.head_sent = None;
        self.file_offset = 0;
        Step::Idle
    }
}
