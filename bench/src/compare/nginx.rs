//! nginx in its best configuration for these works: no logs, open files cached, sendfile.

use std::fmt::Write as _;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::stage::Prepared;
use super::works::Kind;
use crate::child::{Server, output, pinned};
use crate::error::{BenchError, Result};
use crate::process::children;

/// Attempts to find the workers of a master, and the pause between them: 5 seconds in all.
const WORKER_TRIES: u32 = 500;
const WORKER_PAUSE: Duration = Duration::from_millis(10);

/// A running nginx; the processes of `server` are its workers.
#[derive(Debug)]
pub struct Nginx {
    /// The server.
    pub server: Server,
}

impl Nginx {
    /// Starts one that sends the files of `root`, for the service to fetch.
    pub fn of_files(folder: &Path, root: &Path) -> Result<Self> {
        let locations = format!("root {};", quoted(&root.display().to_string())?);
        Self::start("upstream", folder, &locations, None, 1)
    }

    /// Starts one with this number of workers that gives the answers of the works, each under
    /// `/<name of the work>`.
    pub fn of_works(
        (name, folder): (&str, &Path),
        works: &[Prepared],
        cores: Option<&str>,
        workers_count: usize,
    ) -> Result<Self> {
        let mut locations = String::new();
        for prepared in works {
            locations.push_str(&location(folder, prepared)?);
        }
        Self::start(name, folder, &locations, cores, workers_count)
    }

    /// Request target of a work.
    pub fn target(prepared: &Prepared) -> String {
        match prepared.work.kind {
            Kind::Json => format!("/{}", prepared.work.name),
            Kind::File | Kind::Gzip => format!("/files/{}.srt", prepared.work.name),
        }
    }

    /// Version, as nginx prints it.
    pub fn version() -> Result<String> {
        let mut command = pinned("sh", None);
        let text = output(command.args(["-c", "PATH=$PATH:/usr/sbin nginx -v 2>&1"]))?;
        let (_, version) = text.trim().rsplit_once('/').unwrap_or(("", text.trim()));
        Ok(version.to_owned())
    }

    fn start(
        name: &str,
        folder: &Path,
        locations: &str,
        cores: Option<&str>,
        workers_count: usize,
    ) -> Result<Self> {
        let home = folder.join(name);
        fs::create_dir_all(&home).map_err(BenchError::on(format!("make {}", home.display())))?;
        let address = free_address()?;
        let path = home.join("nginx.conf");
        let text = configuration(&home, address, locations, workers_count)?;
        fs::write(&path, text).map_err(BenchError::on(format!("write {}", path.display())))?;
        let child = pinned(program()?, cores)
            .arg("-c")
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()
            .map_err(BenchError::on("start nginx; apt-get install nginx-light"))?;
        let mut server = Server::adopt(name, address, child)?;
        server.pids = workers(server.id(), workers_count)?;
        Ok(Self { server })
    }
}

/// The worker processes of nginx: its master listens before it has made them.
fn workers(master: u32, workers_count: usize) -> Result<Vec<u32>> {
    for _ in 0..WORKER_TRIES {
        let found = children(master)?;
        if found.len() == workers_count {
            return Ok(found);
        }
        thread::sleep(WORKER_PAUSE);
    }
    Err(BenchError::new("nginx did not make its worker processes"))
}

fn program() -> Result<PathBuf> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&paths).chain([PathBuf::from("/usr/sbin")]);
    let mut found = folders.map(|folder| folder.join("nginx"));
    found
        .find(|path| path.is_file())
        .ok_or_else(|| BenchError::new("nginx is missing: apt-get install nginx-light"))
}

/// Port that is free now: nginx cannot report which port it took.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(BenchError::on("find a free port"))?;
    listener
        .local_addr()
        .map_err(BenchError::on("find a free port"))
}

fn configuration(
    home: &Path,
    address: SocketAddr,
    locations: &str,
    workers_count: usize,
) -> Result<String> {
    let home = quoted(&home.display().to_string())?;
    let home = home.trim_matches('\'');
    let is_root = rustix::process::geteuid().is_root();
    let user = if is_root { "user root;\n" } else { "" };
    let mut temporary = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        writeln!(temporary, "  {kind}_temp_path '{home}/{kind}';").expect("a String takes text");
    }
    Ok(format!(
        "{user}daemon off;
worker_processes {workers_count};
worker_rlimit_nofile 20000;
pid '{home}/pid';
error_log '{home}/error.log' crit;
events {{ worker_connections 16384; multi_accept on; }}
http {{
{temporary}  access_log off;
  server_tokens off;
  default_type application/octet-stream;
  types {{ }}
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  open_file_cache max=1000 inactive=1h;
  open_file_cache_valid 1h;
  open_file_cache_min_uses 1;
  keepalive_timeout 75s;
  keepalive_requests 1000000000;
  server {{
    listen {address} reuseport backlog=4096;
    {locations}
  }}
}}
"
    ))
}

/// The answer of one work with the service's headers, apart from those that nginx makes itself.
fn location(folder: &Path, prepared: &Prepared) -> Result<String> {
    const OWN: [&str; 9] = [
        "accept-ranges",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "date",
        "etag",
        "last-modified",
        "server",
    ];
    let mut headers = String::new();
    for line in &prepared.answer.headers {
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if !OWN.contains(&name.to_ascii_lowercase().as_str()) {
            let value = quoted(value.trim())?;
            writeln!(headers, "add_header {name} {value};").expect("a String takes text");
        }
    }
    let target = Nginx::target(prepared);
    let body = match prepared.work.kind {
        Kind::Json => {
            let body = String::from_utf8_lossy(&prepared.answer.body).into_owned();
            format!(
                "default_type application/json;\nreturn 200 {};",
                quoted(&body)?
            )
        }
        Kind::File => root(folder)?,
        Kind::Gzip => format!("{}\ngzip_static on;", root(folder)?),
    };
    Ok(format!("location = {target} {{\n{headers}{body}\n}}\n"))
}

fn root(folder: &Path) -> Result<String> {
    Ok(format!("root {};", quoted(&folder.display().to_string())?))
}

/// A value of nginx's configuration. It has no way to write a dollar sign.
fn quoted(text: &str) -> Result<String> {
    if text.contains('$') {
        return Err(BenchError::new(format!(
            "nginx cannot be told to send a dollar sign: {text}"
        )));
    }
    let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
    Ok(format!("'{escaped}'"))
}

#[cfg(test)]
mod tests {
    use super::super::works::WORKS;
    use super::*;
    use crate::fetch::{Answer, fetch};

    #[test]
    fn values_are_quoted() {
        assert_eq!(quoted(r#"a "b" \ 'c'"#).unwrap(), r#"'a "b" \\ \'c\''"#);
        assert!(quoted("1 $").is_err());
    }

    #[test]
    fn nginx_gives_the_answer_of_the_service() {
        if program().is_err() {
            eprintln!("SKIPPED: nginx is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let headers = ["Content-Type: application/json", "X-Limit: 60"];
        let prepared = Prepared {
            work: WORKS[0],
            target: "/api".to_owned(),
            headers: Vec::new(),
            answer: Answer {
                status: 200,
                headers: headers.map(str::to_owned).to_vec(),
                body: br#"{"a":"it's \"here\"\n"}"#.to_vec(),
            },
        };
        let works = [prepared];
        let home = ("nginx", folder.path());
        let nginx = Nginx::of_works(home, &works, Some("0"), 2).unwrap();
        assert_eq!(nginx.server.pids.len(), 2);
        let answer = fetch(nginx.server.address, "/search", &[]).unwrap();
        assert_eq!(answer.body, works[0].answer.body);
        assert_eq!(answer.header("x-limit"), Some("60"));
        assert_eq!(answer.header("content-type"), Some("application/json"));
    }
}
