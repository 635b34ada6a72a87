//! Memory that idle keep-alive connections cost a server.

use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::connection::{Connection, Progress, READ_BYTES_MAX};
use crate::error::{BenchError, Result};
use crate::process::{Memory, memory};

/// Descriptors that this program needs besides the connections.
const SPARE_DESCRIPTORS: u64 = 64;

/// Memory of a server before and with idle connections.
#[derive(Debug)]
pub struct IdleReport {
    /// Connections that were held, each after one answer.
    pub connections: usize,
    /// Before the first.
    pub before: Memory,
    /// With all of them.
    pub with: Memory,
}

impl IdleReport {
    /// Resident bytes that one connection adds.
    pub fn bytes_each(&self) -> f64 {
        let more = self.with.resident_bytes as f64 - self.before.resident_bytes as f64;
        more / self.connections as f64
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "connections": self.connections,
            "bytes_each": self.bytes_each(),
            "resident_bytes_before": self.before.resident_bytes,
            "resident_bytes_with": self.with.resident_bytes,
        })
    }
}

/// Opens `count` connections, asks `request` once on each, and reads the memory of the processes
/// `watched` when all have been quiet for `quiet`.
pub fn hold_idle(
    server: SocketAddr,
    request: &[u8],
    count: usize,
    quiet: Duration,
    watched: &[u32],
) -> Result<IdleReport> {
    raise_descriptors(count as u64 + SPARE_DESCRIPTORS)?;
    let mut buffer = vec![0; READ_BYTES_MAX];
    let before = memory(watched)?;
    let mut held: Vec<Connection> = Vec::with_capacity(count);
    for idx in 0..count {
        let mut connection = Connection::open(server)?;
        ask_once(&mut connection, request, &mut buffer)
            .map_err(BenchError::on(format!("connection {idx} of {count}")))?;
        held.push(connection);
    }
    thread::sleep(quiet);
    let with = memory(watched)?;
    let alive = held.iter().filter(|c| is_open(c.stream())).count();
    if alive < count {
        let what = format!(
            "the server closed {} of {count} idle connections",
            count - alive
        );
        return Err(BenchError::new(what));
    }
    Ok(IdleReport {
        connections: count,
        before,
        with,
    })
}

fn ask_once(connection: &mut Connection, request: &[u8], buffer: &mut [u8]) -> Result<()> {
    connection
        .stream()
        .set_nonblocking(false)
        .and_then(|()| {
            connection
                .stream()
                .set_read_timeout(Some(Duration::from_secs(10)))
        })
        .map_err(BenchError::on("prepare a socket"))?;
    if !connection.ask(request, 0) {
        return Err(BenchError::new("it takes no request"));
    }
    loop {
        match connection.read(buffer) {
            Progress::Waiting => {}
            Progress::Done(head) if head.status == 200 && !head.is_last => return Ok(()),
            Progress::Done(head) => {
                return Err(BenchError::new(format!(
                    "answered with status {}",
                    head.status
                )));
            }
            Progress::Broken(_) => return Err(BenchError::new("closed without an answer")),
        }
    }
}

fn is_open(stream: &TcpStream) -> bool {
    let would_block = |e: std::io::Error| e.kind() == std::io::ErrorKind::WouldBlock;
    stream.set_nonblocking(true).is_ok() && stream.peek(&mut [0]).is_err_and(would_block)
}

/// Raises the limit of open files to what is needed, as far as the hard limit allows.
fn raise_descriptors(needed: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| needed <= current) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < needed) {
        let what = format!("{needed} open files are needed: raise the hard limit (ulimit -Hn)");
        return Err(BenchError::new(what));
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(BenchError::on("raise the limit of open files"))
}
