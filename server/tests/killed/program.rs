//! The real program: a server that is killed, and commands beside it or without it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Lines of a log that a failure shows.
const LOG_LINES_SHOWN: usize = 5;

/// A data directory and the upstream of servers on it.
pub struct Place {
    /// Directory of the data directory and of backups; a power cut loses what was not synced.
    pub root: PathBuf,
    /// Directory of what a power cut must not lose.
    pub log_dir: PathBuf,
    pub upstream_url: String,
}

impl Place {
    /// The program on this data directory, free of settings of the environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_subcat"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SUBCAT_") {
                command.env_remove(name);
            }
        }
        command.current_dir(&self.log_dir);
        command.env("SUBCAT_DATA", self.data());
        command.args(arguments);
        command
    }

    /// The data directory.
    pub fn data(&self) -> PathBuf {
        self.root.join("data")
    }

    fn log_path(&self) -> PathBuf {
        self.log_dir.join("log")
    }

    /// The last lines that the server has logged.
    pub fn log_end(&self) -> String {
        let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(LOG_LINES_SHOWN)..].join("\n")
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::null());
        command.output().expect("the program starts")
    }

    /// Runs a command with this on stdin; true if it succeeded.
    pub fn run_with(&self, arguments: &[&str], stdin: &str) -> bool {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        let mut pipe = child.stdin.take().expect("it is piped");
        // A command whose server was killed may end before it has read everything.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        child.wait().expect("it is our child").success()
    }

    /// Starts a server that has not said yet that it listens.
    pub fn spawn(&self) -> Child {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--admin", "127.0.0.1:0", "--set", "workers=2"]);
        command.args(["--set", &format!("upstream.url={}", self.upstream_url)]);
        command.args(["--set", "upstream.failure_ttl_seconds=0"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let log = std::fs::File::create(self.log_path()).expect("the disk works");
        command.stderr(log);
        command.spawn().expect("the program starts")
    }

    /// Starts a server. Errors: it ends instead of listening.
    pub fn start(&self) -> Result<Server, String> {
        let started = Instant::now();
        let mut child = self.spawn();
        let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it is text");
        let Some(address) = line.trim_end().strip_prefix("listening on http://") else {
            let ended = child.wait().expect("it is our child");
            let log = std::fs::read_to_string(self.log_path()).unwrap_or_default();
            return Err(format!("the server does not start: {ended}, {log}"));
        };
        Ok(Server {
            address: address.to_owned(),
            ready_after: started.elapsed(),
            child,
        })
    }
}

/// A running server.
pub struct Server {
    pub address: String,
    /// Time from the start to the line that says that it listens.
    pub ready_after: Duration,
    child: Child,
}

impl Server {
    /// Kills it, after a power cut if there is a file system to cut. Errors: it had ended by
    /// itself.
    pub fn kill(&mut self, cut: Option<&FileSystem>) -> Result<(), String> {
        match self.child.try_wait() {
            Ok(None) => {}
            ended => return Err(format!("the server ended by itself: {ended:?}")),
        }
        if let Some(file_system) = cut {
            file_system.shut_down();
        }
        kill(&mut self.child);
        Ok(())
    }
}

impl Drop for Server {
    /// Leaves no process behind, also when a campaign ends by a failure.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file system of its own, on a loop device, whose power can be cut.
pub struct FileSystem {
    image: PathBuf,
    pub mount_point: PathBuf,
}

impl FileSystem {
    /// The file system that `scripts/crash --file-systems` has mounted, if it has.
    pub fn of_environment() -> Option<Self> {
        let path = |name| std::env::var_os(name).map(PathBuf::from);
        Some(Self {
            image: path("SUBCAT_KILL_IMAGE")?,
            mount_point: path("SUBCAT_KILL_MOUNT")?,
        })
    }

    /// A new directory, which survives a power cut.
    pub fn make_dir(&self) -> TempDir {
        let dir = tempfile::tempdir_in(&self.mount_point).expect("it is mounted");
        let top = std::fs::File::open(&self.mount_point).expect("it is mounted");
        top.sync_all().expect("it is mounted");
        dir
    }

    /// Ends all writing at once: what is in the memory of the kernel is lost.
    pub fn shut_down(&self) {
        let mut command = Command::new("xfs_io");
        command
            .args(["-x", "-c", "shutdown"])
            .arg(&self.mount_point);
        expect_success(command);
    }

    /// Mounts it again, as after a restart of the machine.
    pub fn mount_again(&self) {
        let mut unmount = Command::new("umount");
        unmount.arg(&self.mount_point);
        expect_success(unmount);
        let mut mount = Command::new("mount");
        mount
            .args(["-o", "loop"])
            .arg(&self.image)
            .arg(&self.mount_point);
        expect_success(mount);
    }
}

fn expect_success(mut command: Command) {
    let output = command.output().expect("the command is installed");
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Sends SIGKILL and waits for the end.
pub fn kill(child: &mut Child) {
    child.kill().expect("it is our child");
    child.wait().expect("it is our child");
}

/// Names of the files in a directory; none if there is no such directory.
pub fn names_in(path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}
