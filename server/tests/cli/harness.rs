//! The real program in a directory of its own, with or without a server on it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A place to run the program in. Its data directory is `data` below it.
pub struct Place {
    // Dropped before the directory that it works in.
    server: Option<Server>,
    dir: TempDir,
    /// Variables of the environment of every command.
    environment: Vec<(String, String)>,
}

/// Result of a run of the program.
#[derive(Debug)]
pub struct Done {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// Asserts success and returns the output.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.status, 0, "{self:?}");
        self.stdout
    }

    /// Asserts success and parses the output as JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        let stdout = self.ok();
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}"))
    }

    /// Asserts that it failed with `status` and one line on stderr, which is returned.
    #[track_caller]
    pub fn fails(self, status: i32) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        assert!(self.stderr.starts_with("subcat: "), "{self:?}");
        self.stderr
    }
}

/// A record as an import line, with more fields from `more` (which begins with a comma).
pub fn line(number: u32, title: &str, more: &str) -> String {
    let id = id(number);
    let posted_at = "2024-01-01T00:00:00Z";
    format!(
        r#"{{"id":"{id}","video_type":"movie","title":"{title}","posted_at":"{posted_at}"{more}}}"#
    )
}

/// The id of such a record.
pub fn id(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

impl Place {
    /// Without a server.
    pub fn stopped() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            server: None,
            environment: Vec::new(),
        }
    }

    /// With a server on its data directory.
    pub fn serving() -> Self {
        let mut place = Self::stopped();
        place.start_server(&[]);
        place
    }

    /// Runs a test once without and once with a server: the words and the results are the same.
    pub fn in_both_modes(test: impl Fn(&Self)) {
        test(&Self::stopped());
        test(&Self::serving());
    }

    pub fn start_server(&mut self, arguments: &[&str]) {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0"]).args(arguments);
        self.server = Some(Server::start(command));
    }

    /// Starts a server that adds its log to the file `log`.
    pub fn start_logged_server(&mut self, arguments: &[&str]) {
        let mut options = std::fs::File::options();
        let log = options.create(true).append(true).open(self.path("log"));
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0"]).args(arguments);
        command.stderr(log.unwrap());
        self.server = Some(Server::start(command));
    }

    /// Sets a variable of the environment for every command from now on.
    pub fn set(&mut self, name: &str, value: &str) {
        self.environment.push((name.to_owned(), value.to_owned()));
    }

    /// Takes back what was set.
    pub fn unset(&mut self, name: &str) {
        self.environment.retain(|(set, _)| set != name);
    }

    /// Stops the server as an operator does and returns its exit status.
    pub fn stop_server(&mut self) -> i32 {
        self.server.take().unwrap().stop()
    }

    /// Kills the server, and waits for its end: until then it holds the lock of its directory.
    pub fn kill_server(&mut self) {
        let mut server = self.server.take().unwrap();
        server.signal(rustix::process::Signal::KILL);
        server.wait();
    }

    pub fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub fn is_serving(&self) -> bool {
        self.server.is_some()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// The program, free of settings of the environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_subcat"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SUBCAT_") {
                command.env_remove(name);
            }
        }
        command.current_dir(self.dir.path());
        command.env("SUBCAT_DATA", self.path("data"));
        command.env("SUBCAT_WORKERS", "1");
        command.envs(self.environment.iter().cloned());
        command.args(arguments);
        command
    }

    /// Runs the program to its end.
    pub fn run(&self, arguments: &[&str]) -> Done {
        done(
            self.command(arguments)
                .stdin(Stdio::null())
                .output()
                .unwrap(),
        )
    }

    /// Runs the program with this on stdin.
    pub fn run_with(&self, arguments: &[&str], stdin: impl AsRef<[u8]>) -> Done {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let written = pipe.write_all(stdin.as_ref());
        drop(pipe);
        let done = done(child.wait_with_output().unwrap());
        assert!(written.is_ok() || done.status != 0, "{done:?}");
        done
    }

    /// Imports lines and returns the summary.
    #[track_caller]
    pub fn import(&self, lines: &[String]) -> Value {
        self.run_with(&["import", "-", "--json"], lines.join("\n"))
            .json()
    }

    /// The lines of an export.
    #[track_caller]
    pub fn export(&self) -> Vec<Value> {
        let text = self.run(&["export"]).ok();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Makes an API key and returns its text.
    #[track_caller]
    pub fn create_key(&self, more: &[&str]) -> String {
        let mut arguments = vec!["key", "create", "--json", "--name", "test"];
        arguments.extend(more);
        let created = self.run(&arguments).json();
        created["key"].as_str().unwrap().to_owned()
    }
}

fn done(output: Output) -> Done {
    Done {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A running server or demo.
pub struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Its announcement.
    pub announcement: Vec<String>,
    /// Its public address.
    pub address: String,
    /// Its admin address.
    pub admin: String,
}

impl Server {
    /// Starts it and waits for its announcement.
    pub fn start(command: Command) -> Self {
        let mut server = Self::spawn(command);
        server.address = server.expect_line("listening on http://");
        server.admin = server.expect_line("admin on http://");
        server
    }

    /// Starts it on a Unix socket and waits for its announcement.
    pub fn start_on_socket(command: Command) -> Self {
        let mut server = Self::spawn(command);
        server.address = server.expect_line("listening on unix:");
        server.admin = server.expect_line("admin on http://");
        server
    }

    /// Starts a demo that answers in JSON, which is all that it writes, and reads that.
    pub fn start_demo(command: Command) -> (Self, Value) {
        let mut server = Self::spawn(command);
        let line = server.next_line();
        let sheet: Value = serde_json::from_str(&line).unwrap();
        let address = sheet["url"].as_str().unwrap().strip_prefix("http://");
        server.address = address.unwrap().to_owned();
        (server, sheet)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            stdout,
            announcement: Vec::new(),
            address: String::new(),
            admin: String::new(),
        }
    }

    /// The rest of the next line, which begins with `beginning`.
    fn expect_line(&mut self, beginning: &str) -> String {
        let line = self.next_line();
        let rest = line.strip_prefix(beginning).map(str::to_owned);
        rest.unwrap_or_else(|| panic!("{line:?} does not begin with {beginning:?}"))
    }

    /// The next line that it writes.
    pub fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        let line = line.trim_end().to_owned();
        self.announcement.push(line.clone());
        line
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// SIGTERM, and its exit status.
    pub fn stop(mut self) -> i32 {
        self.terminate();
        self.wait()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, signal);
    }

    /// Waits for its end; returns its exit status.
    pub fn wait(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    /// A GET on the public address.
    pub fn get(&self, path: &str, api_key: Option<&str>) -> Answer {
        get(&self.address, path, api_key)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.terminate();
        let _ = self.child.wait();
    }
}

/// The answer to a GET.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A GET that closes its connection.
pub fn get(address: &str, path: &str, api_key: Option<&str>) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    let authorization = api_key.map_or(String::new(), |key| {
        format!("Authorization: Bearer {key}\r\n")
    });
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let head_end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let body = bytes[head_end..].to_vec();
    let is_chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    assert!(!is_chunked, "{head}");
    Answer {
        status: head[9..12].parse().unwrap(),
        head,
        body,
    }
}

/// The names of an object's fields in the order in which they were written.
pub fn field_names(json: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut depth = 0;
    let mut rest = json;
    while let Some(idx) = rest.find(['{', '}', '[', ']', '"']) {
        let (mark, after) = (&rest[idx..=idx], &rest[idx + 1..]);
        rest = after;
        match mark {
            "{" | "[" => depth += 1,
            "}" | "]" => depth -= 1,
            _ => {
                let end = after.find('"').unwrap();
                if depth == 1 && after[end + 1..].starts_with(':') {
                    names.push(after[..end].to_owned());
                }
                rest = &after[end + 1..];
            }
        }
    }
    names
}

/// Returns true if a file exists.
pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
