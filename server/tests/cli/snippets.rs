//! Programs of others take what the operator's page and the package have for them: systemd, nginx,
//! Caddy. The proxies of several machines are in `cluster/balancers.rs`.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::harness::Place;

const README: &str = include_str!("../../../README.md");
const OPERATING: &str = include_str!("../../docs/operating.md");
const PROGRAM: &str = env!("CARGO_BIN_EXE_subcat");

/// The first code block of the operator's page that contains all of these.
fn block(parts: &[&str]) -> String {
    block_of(OPERATING, parts)
}

/// The first code block of a page that contains all of these.
pub fn block_of(page: &str, parts: &[&str]) -> String {
    let mut blocks = page.split("```").skip(1).step_by(2);
    let has_all = |block: &&str| parts.iter().all(|part| block.contains(part));
    let found = blocks.find(has_all).unwrap_or_else(|| panic!("{parts:?}"));
    let (_, text) = found.split_once('\n').unwrap();
    text.to_owned()
}

/// Returns true if a program is there; else says loudly that nothing is tested, which is a failure
/// in CI.
pub fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
    let is_found = path
        .split(':')
        .any(|dir| Path::new(dir).join(program).exists());
    if !is_found {
        let sentence = format!("{program} is not installed");
        assert!(
            std::env::var_os("CI").is_none(),
            "{sentence}: scripts/setup"
        );
        eprintln!("SKIPPED, NOTHING TESTED: {sentence}");
    }
    is_found
}

pub fn run(program: &str, arguments: &[&str], dir: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(dir);
    command.env(
        "PATH",
        std::env::var("PATH").unwrap_or_default() + ":/usr/sbin",
    );
    command.output().unwrap()
}

#[test]
fn the_readme_names_every_command() {
    let help = Place::stopped().run(&["--help"]).ok();
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let mut commands_count = 0;
    for line in lines.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let name = line.split_whitespace().next().unwrap();
        assert!(README.contains(&format!("`{name}`")), "{name}");
        commands_count += 1;
    }
    assert!(15 < commands_count, "{help}");
}

/// Writes units, with a program that is there, and returns what systemd says about them.
fn verified(units: &[(&str, &str)]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut arguments = vec!["verify".to_owned(), "--man=no".to_owned()];
    for (name, text) in units {
        let text = text
            .replace("/usr/local/bin/subcat", PROGRAM)
            .replace("/usr/bin/subcat", PROGRAM);
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        arguments.push(path.display().to_string());
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = run("systemd-analyze", &arguments, dir.path());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // It also reads the units of this machine, which are not ours.
    let ours = said.lines().filter(|line| line.contains("subcat"));
    let ours: Vec<&str> = ours.collect();
    assert!(output.status.success() || !ours.is_empty(), "{said}");
    ours.join("\n")
}

#[test]
fn systemd_takes_the_units() {
    if !is_installed("systemd-analyze") {
        return;
    }
    let service = block(&["[Service]", "ExecStart="]);
    let socket = block(&["[Socket]"]);
    let page = [("subcat.service", &*service), ("subcat.socket", &*socket)];
    assert_eq!(verified(&page), "");
    let package = [
        (
            "subcat.service",
            include_str!("../../packaging/subcat.service"),
        ),
        (
            "subcat.socket",
            include_str!("../../packaging/subcat.socket"),
        ),
        (
            "subcat-backup.service",
            include_str!("../../packaging/subcat-backup.service"),
        ),
        (
            "subcat-backup.timer",
            include_str!("../../packaging/subcat-backup.timer"),
        ),
    ];
    assert_eq!(verified(&package), "");
    // A start that builds the index anew may take as long as it takes.
    for (_, unit) in [page[0], package[0]] {
        assert!(unit.contains("\nTimeoutStartSec=infinity\n"), "{unit}");
    }
    let mistyped = service.replace("WatchdogSec", "WatchdogSecs");
    let said = verified(&[("subcat.service", &*mistyped)]);
    assert!(said.contains("Unknown key"), "{said}");
}

/// The backup that the timer makes: the arguments are those of this program.
#[test]
fn the_unit_of_the_timer_makes_backups() {
    let unit = include_str!("../../packaging/subcat-backup.service");
    let line = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let arguments: Vec<&str> = line.unwrap().split(' ').skip(1).collect();
    let place = Place::stopped();
    place.import(&[]);
    let folder = place.path("backups").display().to_string();
    let arguments: Vec<&str> = arguments
        .iter()
        .map(|argument| match *argument {
            "/var/lib/subcat-backups" => &*folder,
            other => other,
        })
        .collect();
    assert!(arguments.contains(&&*folder));
    place.run(&arguments).ok();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}

/// A port that nothing listens on.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// A program that is stopped at the end.
pub struct ProxyProcess(Child);

impl ProxyProcess {
    /// Starts a program, also one that only root has in its path.
    pub fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        command.env("PATH", std::env::var("PATH").unwrap() + ":/usr/sbin");
        command.args(arguments);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for ProxyProcess {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Status, headers and body that curl gets; it waits until something listens.
fn curl(arguments: &[&str], url: &str) -> String {
    let began = Instant::now();
    loop {
        let mut command = Command::new("curl");
        command.args(["--silent", "--insecure", "--include", "--noproxy", "*"]);
        let output = command.args(arguments).arg(url).output().unwrap();
        if output.status.code() != Some(7) || Duration::from_secs(10) < began.elapsed() {
            assert!(output.status.success(), "{output:?}");
            return String::from_utf8_lossy(&output.stdout).into_owned();
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A configuration of nginx that keeps all of its files in a folder.
pub fn nginx_config(dir: &Path, snippet: &str) -> String {
    let prefix = dir.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {prefix}/{kind};\n"))
        .concat();
    format!(
        "daemon off; master_process off; pid {prefix}/pid; error_log {prefix}/error.log;\n\
         events {{}}\nhttp {{\naccess_log {prefix}/access.log;\n{temporary}{snippet}}}\n"
    )
}

#[test]
fn nginx_serves_through_the_snippet() {
    if !is_installed("nginx") || !is_installed("openssl") || !is_installed("curl") {
        return;
    }
    let mut place = Place::serving();
    let key = place.create_key(&[]);
    let dir = place.path("nginx");
    std::fs::create_dir(&dir).unwrap();
    let request = "req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=subs.example.org \
                   -keyout privkey.pem -out fullchain.pem";
    let arguments: Vec<&str> = request.split_whitespace().collect();
    let made = run("openssl", &arguments, &dir);
    assert!(made.status.success(), "{made:?}");
    let port = free_port();
    let prefix = dir.display().to_string();
    let snippet = block(&["proxy_pass", "listen 443"])
        .replace("listen 443", &format!("listen 127.0.0.1:{port}"))
        .replace("127.0.0.1:8080", &place.server().address)
        .replace("/etc/letsencrypt/live/subs.example.org", &prefix);
    std::fs::write(dir.join("nginx.conf"), nginx_config(&dir, &snippet)).unwrap();
    let config = dir.join("nginx.conf").display().to_string();
    let tested = run("nginx", &["-t", "-q", "-p", &prefix, "-c", &config], &dir);
    assert!(tested.status.success(), "{tested:?}");
    let said = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(!said.contains("[warn]"), "{said}");
    let _nginx = ProxyProcess::start("nginx", &["-p", &prefix, "-c", &config]);
    let base = format!("https://127.0.0.1:{port}");
    let health = curl(&[], &format!("{base}/api/health"));
    assert!(health.starts_with("HTTP/2 200"), "{health}");
    let authorization = format!("Authorization: Bearer {key}");
    place.import(&[crate::harness::line(1, "Heat", "")]);
    let search = format!("{base}/api/subtitles/search?title=heat");
    let plain = curl(&["--header", &authorization], &search);
    assert!(plain.contains("\"total\":1"), "{plain}");
    let packed = curl(&["--header", &authorization, "--compressed"], &search);
    assert!(packed.contains("content-encoding: gzip"), "{packed}");
    assert!(packed.contains("\"total\":1"), "{packed}");
    assert!(curl(&[], &format!("{base}/")).starts_with("HTTP/2 200"));
    place.stop_server();
    let away = curl(&[], &format!("{base}/api/health"));
    assert!(away.starts_with("HTTP/2 503"), "{away}");
    assert!(away.contains("content-type: application/json"), "{away}");
    assert!(
        away.ends_with(r#"{"detail":"Service Unavailable"}"#),
        "{away}"
    );
    let away = curl(&[], &format!("{base}/a/{key}/manifest.json"));
    assert!(away.starts_with("HTTP/2 503"), "{away}");
    assert!(away.contains("content-type: application/json"), "{away}");
    let body = r#"{"detail":"Service Unavailable","error":"Service Unavailable"}"#;
    assert!(away.ends_with(body), "{away}");
    for log in ["access.log", "error.log"] {
        let text = std::fs::read_to_string(dir.join(log)).unwrap();
        assert!(text.contains("/api/health"), "{log}: {text}");
        assert!(!text.contains(&key), "{log}: {text}");
    }
}

#[test]
fn caddy_serves_through_the_snippet() {
    if !is_installed("caddy") || !is_installed("curl") {
        return;
    }
    let place = Place::serving();
    let dir = place.path("caddy");
    std::fs::create_dir(&dir).unwrap();
    let snippet = block(&["reverse_proxy"]);
    std::fs::write(dir.join("Caddyfile"), &snippet).unwrap();
    let arguments = ["adapt", "--adapter", "caddyfile", "--config", "Caddyfile"];
    let adapted = run("caddy", &arguments, &dir);
    assert!(adapted.status.success(), "{adapted:?}");
    let port = free_port();
    let local = snippet
        .replace("subs.example.org", &format!("http://127.0.0.1:{port}"))
        .replace("127.0.0.1:8080", &place.server().address);
    // Its first block holds the global options.
    let local = local.replacen("{\n", "{\n    admin off\n", 1);
    std::fs::write(dir.join("Caddyfile"), local).unwrap();
    let mut command = Command::new("caddy");
    command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
    command
        .current_dir(&dir)
        .stderr(Stdio::null())
        .stdout(Stdio::null());
    for name in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(name, &dir);
    }
    let _caddy = ProxyProcess(command.spawn().unwrap());
    let health = curl(&[], &format!("http://127.0.0.1:{port}/api/health"));
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
}
