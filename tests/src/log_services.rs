//! Servers that hold a log, started for a test: `nats-server` and PostgreSQL.
//!
//! `scripts/setup test` installs them; a test of one that is missing says so and passes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Time in which a server answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// User and group of PostgreSQL, which does not run as root: those of nobody.
const NOBODY: u32 = 65_534;

/// A server, or some, that tests kill.
pub trait Service {
    /// Ends it as a crash does.
    fn kill(&mut self);
    /// Starts it over the data that it had; returns before it answers.
    fn start(&mut self);
}

/// A port that is free, below those that the system hands out to others.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 22_000 + (std::process::id() % 300) as u16 * 30;
    loop {
        let port = first + NEXT.fetch_add(1, Ordering::Relaxed) % 1000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Path of a program: the one that `scripts/setup` installed, or one of the system's.
fn program(name: &str) -> Option<PathBuf> {
    let installed = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/services/bin");
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(PathBuf::from(installed)).chain(std::env::split_paths(&paths));
    let mut programs = folders.map(|folder| folder.join(name));
    programs.find(|program| program.is_file())
}

/// Says that a service is not installed.
fn skipped(name: &str) {
    eprintln!("SKIPPED: {name} is not installed, so it was not tried (scripts/setup test)");
}

/// One `nats-server` or a cluster of them, each with a folder of its own.
pub struct Nats {
    program: PathBuf,
    dir: TempDir,
    ports: Vec<u16>,
    monitors: Vec<u16>,
    children: Vec<Option<Child>>,
}

impl Nats {
    /// Starts servers; `None` if the program is not installed.
    pub fn start(count: usize) -> Option<Self> {
        let Some(program) = program("nats-server") else {
            skipped("nats-server");
            return None;
        };
        let mut nats = Self {
            program,
            dir: tempfile::tempdir().unwrap(),
            ports: (0..count).map(|_| free_port()).collect(),
            monitors: (0..count).map(|_| free_port()).collect(),
            children: (0..count).map(|_| None).collect(),
        };
        let routes: Vec<u16> = (0..count).map(|_| free_port()).collect();
        for place in 0..count {
            let config = nats.config(place, &routes);
            std::fs::write(nats.config_path(place), config).unwrap();
            nats.start_one(place);
        }
        Some(nats)
    }

    fn config_path(&self, place: usize) -> PathBuf {
        self.dir.path().join(format!("{place}.conf"))
    }

    fn config(&self, place: usize, routes: &[u16]) -> String {
        let store = self.dir.path().join(format!("{place}"));
        let mut config = format!(
            "server_name: n{place}\nlisten: 127.0.0.1:{}\nhttp: 127.0.0.1:{}\n\
             authorization {{ user: subcat, password: \"hush/ hush\" }}\n\
             jetstream {{ store_dir: {:?}, sync_interval: always }}\n",
            self.ports[place],
            self.monitors[place],
            store.display().to_string(),
        );
        if 1 < routes.len() {
            let others = routes.iter().map(|port| format!("nats://127.0.0.1:{port}"));
            let others: Vec<_> = others.collect();
            config += &format!(
                "cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                routes[place],
                others.join(", ")
            );
        }
        config
    }

    /// Starts a server over the data that it had.
    pub fn start_one(&mut self, place: usize) {
        let log = std::fs::File::create(self.dir.path().join(format!("{place}.log"))).unwrap();
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(self.config_path(place))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.children[place] = Some(child);
    }

    /// Ends a server as a crash does.
    pub fn kill_one(&mut self, place: usize) {
        end(&mut self.children[place]);
    }

    /// Address of the log.
    pub fn address(&self) -> String {
        let hosts = self.ports.iter().map(|port| format!("127.0.0.1:{port}"));
        format!(
            "nats://subcat:hush%2F%20hush@{}",
            hosts.collect::<Vec<_>>().join(",")
        )
    }

    /// Place of the server that leads the only stream.
    pub fn leader(&self) -> usize {
        let mut stream = TcpStream::connect(("127.0.0.1", self.monitors[0])).unwrap();
        let question = b"GET /jsz?streams=true HTTP/1.0\r\n\r\n";
        stream.write_all(question).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        let leader = &body["account_details"][0]["stream_detail"][0]["cluster"]["leader"];
        let leader = leader.as_str().unwrap_or_else(|| panic!("{body}"));
        leader.trim_start_matches('n').parse().unwrap()
    }
}

impl Service for Nats {
    fn kill(&mut self) {
        for place in 0..self.children.len() {
            self.kill_one(place);
        }
    }

    fn start(&mut self) {
        for place in 0..self.children.len() {
            self.start_one(place);
        }
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

fn end(child: &mut Option<Child>) {
    if let Some(mut child) = child.take() {
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A server of PostgreSQL.
pub struct Postgres {
    programs: PathBuf,
    dir: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Postgres {
    /// Starts one; `None` if it is not installed.
    pub fn start() -> Option<Self> {
        let Some(programs) = postgres_folder() else {
            skipped("PostgreSQL");
            return None;
        };
        let dir = tempfile::tempdir().unwrap();
        if is_root() {
            chown(dir.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let mut postgres = Self {
            programs,
            dir,
            port: free_port(),
            child: None,
        };
        let made = postgres
            .command("initdb")
            .args(["--auth=trust", "--username=subcat", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C"])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        Service::start(&mut postgres);
        Some(postgres)
    }

    /// Address of the log.
    pub fn address(&self) -> String {
        format!("postgres://subcat@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements of an administrator.
    pub fn run(&self, statements: &str) {
        let ran = self.try_run(statements);
        assert!(ran.status.success(), "{ran:?}");
    }

    /// Waits until it answers.
    pub fn wait(&self) {
        while !self.try_run("SELECT 1").status.success() {
            thread::sleep(Duration::from_millis(50));
        }
    }

    fn try_run(&self, statements: &str) -> Output {
        Command::new(self.programs.join("psql"))
            .args(["--no-psqlrc", "--quiet", "--command", statements])
            .arg(self.address())
            .output()
            .unwrap()
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.arg("-D").arg(self.data()).current_dir(&self.dir);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    fn spawn(&self) -> Child {
        let log = std::fs::File::create(self.dir.path().join("log")).unwrap();
        self.command("postgres")
            .args(["-p", &self.port.to_string(), "-h", "127.0.0.1", "-k", ""])
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap()
    }
}

impl Service for Postgres {
    fn kill(&mut self) {
        end(&mut self.child);
    }

    fn start(&mut self) {
        let mut child = self.spawn();
        let until = Instant::now() + PATIENCE;
        // After a kill it refuses to start until the last of its processes has noticed.
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < until, "PostgreSQL does not answer");
            thread::sleep(Duration::from_millis(50));
            if child.try_wait().unwrap().is_some() {
                child = self.spawn();
            }
        }
        self.child = Some(child);
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A killed server leaves memory that is shared behind, one that is stopped does not.
        let mut stop = self.command("pg_ctl");
        let _ = stop.args(["stop", "-m", "immediate", "-s"]).output();
        end(&mut self.child);
    }
}

fn is_root() -> bool {
    std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").unwrap()) == 0
}

/// Folder of the programs of the newest version.
fn postgres_folder() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql");
    let folders = versions.into_iter().flatten().flatten();
    let folders = folders.map(|version| version.path().join("bin"));
    let is_whole = |folder: &PathBuf| folder.join("initdb").is_file();
    let newest = folders.filter(is_whole).max();
    newest.or_else(|| {
        program("initdb")
            .as_deref()
            .and_then(Path::parent)
            .map(Path::to_owned)
    })
}
