//! Programs under measurement: start, pin, wait, stop.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{BenchError, Result};

/// Time within which a server must listen.
const START: Duration = Duration::from_secs(60);
/// Time within which a server must end after SIGTERM.
const STOP: Duration = Duration::from_secs(10);

/// A server that runs until this is dropped.
#[derive(Debug)]
pub struct Server {
    /// Name in tables.
    pub name: String,
    /// Listening address.
    pub address: SocketAddr,
    /// Processes that serve requests.
    pub pids: Vec<u32>,
    child: Child,
}

/// A command, bound to these processors when there is a list (`0`, `0,1`).
pub fn pinned(program: impl AsRef<OsStr>, cores: Option<&str>) -> Command {
    match cores {
        None => Command::new(program),
        Some(cores) => {
            let mut command = Command::new("taskset");
            command.args(["-c", cores]).arg(program);
            command
        }
    }
}

/// Runs a command to its end and returns its standard output.
///
/// Errors: the command cannot be started, or fails; the message contains its standard error.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = format!("{command:?}");
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(BenchError::on(format!("start {shown}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(BenchError::new(format!(
        "{shown} failed: {}{}",
        text.trim(),
        why.trim()
    )))
}

impl Server {
    /// Starts a server that prints `listening on http://ADDR` as one of its first lines.
    pub fn start(name: &str, command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(BenchError::on(format!("start {name}")))?;
        let stdout = child.stdout.take().expect("the output is piped above");
        let (sender, receiver) = mpsc::channel();
        // Reads to the end, so that the server never writes into a closed pipe.
        thread::spawn(move || {
            for line in BufReader::new(stdout)
                .lines()
                .map_while(std::result::Result::ok)
            {
                let address = line.strip_prefix("listening on http://");
                if let Some(Ok(address)) = address.map(|text| text.trim().parse()) {
                    // The receiver is gone after the first address.
                    let _ = sender.send(address);
                }
            }
        });
        let pids = vec![child.id()];
        let mut server = Self {
            name: name.to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            pids,
            child,
        };
        server.address = receiver.recv_timeout(START).map_err(|_| {
            BenchError::new(format!(
                "{name} did not say where it listens; see its messages above"
            ))
        })?;
        Ok(server)
    }

    /// Takes over a server that another program started and that listens at `address` now or soon.
    pub fn adopt(name: &str, address: SocketAddr, child: Child) -> Result<Self> {
        let server = Self {
            name: name.to_owned(),
            address,
            pids: vec![child.id()],
            child,
        };
        let start = Instant::now();
        while std::net::TcpStream::connect(address).is_err() {
            if START < start.elapsed() {
                return Err(BenchError::new(format!(
                    "{name} does not listen on {address}"
                )));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }

    /// URL of a target on this server.
    pub fn url(&self, target: &str) -> String {
        format!("http://{}{target}", self.address)
    }

    /// Process that was started.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills it at once, as `kill -9` does, and waits until it is gone.
    pub fn kill(&mut self) -> Result<()> {
        let gone = self.child.kill().and_then(|()| self.child.wait());
        gone.map(drop).map_err(BenchError::on("kill a server"))
    }

    /// Sends SIGTERM and waits until the process has ended.
    pub fn stop(&mut self) -> Result<()> {
        if let Some(pid) = Pid::from_raw(self.child.id().cast_signed()) {
            kill_process(pid, Signal::TERM).map_err(BenchError::on("stop a server"))?;
        }
        let start = Instant::now();
        while start.elapsed() < STOP {
            let ended = self
                .child
                .try_wait()
                .map_err(BenchError::on("wait for a server"))?;
            if ended.is_some() {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(5));
        }
        self.kill()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let is_running = matches!(self.child.try_wait(), Ok(None));
        if is_running && self.stop().is_err() {
            eprintln!("could not stop {} (process {})", self.name, self.child.id());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_where_it_listens_and_ends_with_its_value() {
        let script = "echo hello; echo 'listening on http://127.0.0.1:77'; exec sleep 100";
        let mut command = Command::new("sh");
        let server = Server::start("shell", command.args(["-c", script])).unwrap();
        assert_eq!(server.url("/a"), "http://127.0.0.1:77/a");
        let path = format!("/proc/{}", server.id());
        assert!(std::path::Path::new(&path).exists());
        drop(server);
        assert!(!std::path::Path::new(&path).exists());
    }

    #[test]
    fn a_failed_command_says_why() {
        let mut command = Command::new("sh");
        let outcome = output(command.args(["-c", "echo no such thing >&2; exit 3"]));
        let sentence = outcome.unwrap_err().to_string();
        assert!(sentence.ends_with("no such thing"), "{sentence}");
    }
}
