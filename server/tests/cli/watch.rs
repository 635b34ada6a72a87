//! Watching a server: access log, `top`, `health`, dashboard and alerts.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

use crate::harness::{Place, Server, get, line};

/// A server whose log goes to `log`.
fn serving(place: &Place, access: &str, proxies: &str) -> Server {
    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--set"]);
    command.arg(format!("log.access={access}"));
    command.args(["--set", &format!("trusted_proxies={proxies}")]);
    command.args(["--set", "log.format=json"]).stderr(log);
    Server::start(command)
}

/// Asks for the health of a server, with a name for the request.
fn get_named(server: &Server, name: &str) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = format!(
        "GET /api/health HTTP/1.1\r\nHost: a\r\nX-Request-Id: {name}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

/// Stops a server; returns the lines of its access log.
fn access_lines(place: &Place, server: Server) -> Vec<serde_json::Value> {
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str(line).unwrap());
    let is_access = |line: &serde_json::Value| line["fields"]["message"] == "access";
    lines
        .filter(is_access)
        .map(|line| line["fields"].clone())
        .collect()
}

#[test]
fn every_request_has_a_line_with_its_key_address_status_and_name() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", "")]);
    let server = serving(&place, "all", "127.0.0.0/8");
    server.get("/api/subtitles/search?title=heat", Some(&key));
    server.get("/api/subtitles/search?title=heat", Some("sct_wrong"));
    server.get("/signin", None);
    get_named(&server, "abc-1");
    let lines = access_lines(&place, server);
    let facts: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["route"].as_str().unwrap(),
                line["status"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("search", 200),
        ("search", 401),
        ("page", 200),
        ("health", 200),
    ];
    assert_eq!(facts, expected);
    assert_eq!(lines[0]["key"], 1);
    assert!(lines[1].get("key").is_none(), "{lines:?}");
    assert_eq!(lines[3]["request"], "abc-1");
    for line in &lines {
        assert_eq!(line["address"], "127.0.0.1");
        assert!(line["us"].is_u64());
    }
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    for secret in [&key[4..], "sct_", "heat"] {
        assert!(!log.contains(secret), "{secret} is in\n{log}");
    }
}

/// A client's own name for a request could be that of another one.
#[test]
fn a_request_is_named_by_the_server_or_a_trusted_proxy() {
    let place = Place::stopped();
    place.create_key(&[]);
    let mut names = Vec::new();
    for _ in 0..2 {
        let server = serving(&place, "all", "");
        get_named(&server, "abc-1");
        get_named(&server, "abc-1");
        let lines = access_lines(&place, server);
        names.extend(lines.iter().map(|line| line["request"].to_string()));
    }
    assert_eq!(names.len(), 4);
    let different: BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), 4, "{names:?}");
    assert!(!names.iter().any(|name| name.contains("abc")), "{names:?}");
}

/// Abuse can be traced to an address afterwards.
#[test]
fn sign_ins_that_worked_or_failed_have_lines() {
    let place = Place::stopped();
    let create = ["account", "create", "ana@example.org", "--password-stdin"];
    place.run_with(&create, "correct horse\n").ok();
    let server = serving(&place, "off", "");
    for (email, password, status) in [
        ("ana@example.org", "wrong+horse", 422),
        ("nobody@example.org", "wrong+horse", 422),
        ("ana@example.org", "correct+horse", 303),
    ] {
        let form = format!("email={}&password={password}", email.replace('@', "%40"));
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let head = format!(
            "POST /signin HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: same-origin\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            form.len()
        );
        stream.write_all((head + &form).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(place.path("log")).unwrap();
    let lines: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|line: &serde_json::Value| line["fields"]["address"].is_string())
        .collect();
    let messages: Vec<_> = lines
        .iter()
        .map(|line| line["fields"]["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        ["a sign-in failed", "a sign-in failed", "signed in"]
    );
    assert_eq!(lines[0]["fields"]["account"], 1);
    assert!(lines[1]["fields"].get("account").is_none());
    assert_eq!(lines[2]["fields"]["account"], 1);
    for line in &lines {
        assert_eq!(line["fields"]["address"], "127.0.0.1");
    }
    for secret in ["horse", "ana@", "nobody"] {
        assert!(!log.contains(secret), "{secret} is in\n{log}");
    }
}

#[test]
fn a_sampled_log_has_some_of_the_requests_and_none_is_the_default() {
    let place = Place::stopped();
    place.create_key(&[]);
    for (access, expected) in [("sampled", 2), ("off", 0)] {
        let server = serving(&place, access, "");
        for _ in 0..250 {
            server.get("/api/health", None);
        }
        assert_eq!(access_lines(&place, server).len(), expected, "{access}");
    }
}

/// A pipe that nobody reads: the server serves all the same, and tells how many lines are lost.
#[test]
fn a_log_that_nobody_reads_stops_no_request() {
    let place = Place::stopped();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--set", "log.level=trace"]);
    command
        .args(["--set", "log.access=all"])
        .stderr(Stdio::piped());
    let server = Server::start(command);
    let mut stream = TcpStream::connect(&server.address).unwrap();
    let request = "GET /api/health HTTP/1.1\r\nHost: a\r\n\r\n".repeat(100);
    for _ in 0..200 {
        stream.write_all(request.as_bytes()).unwrap();
        let mut answers = Vec::new();
        while answers
            .windows(4)
            .filter(|four| four == b"\r\n\r\n")
            .count()
            < 100
        {
            let mut bytes = [0; 64 << 10];
            let count = stream.read(&mut bytes).unwrap();
            assert_ne!(count, 0);
            answers.extend_from_slice(&bytes[..count]);
        }
    }
    let metrics = get(&server.admin, "/metrics", None).text();
    let dropped = metrics
        .lines()
        .find_map(|line| line.strip_prefix("subcat_log_lines_dropped_total "))
        .unwrap();
    assert_ne!(dropped, "0");
}

#[test]
fn top_shows_rates_and_health_says_ok() {
    let place = Place::serving();
    place.server().get("/api/health", None);
    let text = place.run(&["top", "--once", "--interval", "1"]).ok();
    assert!(text.contains("status           ok"), "{text}");
    assert!(
        text.lines().any(|line| line.starts_with("health  ")),
        "{text}"
    );
    let json = place
        .run(&["top", "--once", "--interval", "1", "--json"])
        .json();
    assert_eq!(json["workers"], 1);
    let admin = format!("admin={}", place.server().admin);
    assert_eq!(place.run(&["health", "--set", &admin]).ok(), "ok\n");
    let stats = place.run(&["stats"]).ok();
    assert!(stats.contains("search cache"), "{stats}");
    let stopped = Place::stopped();
    let sentence = stopped
        .run(&["health", "--set", "admin=127.0.0.1:1"])
        .fails(1);
    assert!(sentence.contains("no answer on 127.0.0.1:1"), "{sentence}");
    stopped.create_key(&[]);
    let sentence = stopped.run(&["top", "--once"]).fails(1);
    assert!(sentence.contains("no server runs"), "{sentence}");
}

/// Names of metrics in a text: words that begin with `subcat_`, without the ends of samples.
fn metric_names(text: &str) -> BTreeSet<&str> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c: char| !is_of_name(c))
        .filter(|word| word.starts_with("subcat_"))
        .map(|word| {
            let ends = ["_total", "_bucket", "_sum", "_count"];
            ends.iter()
                .find_map(|end| word.strip_suffix(end))
                .unwrap_or(word)
        })
        .collect()
}

#[test]
fn dashboard_and_alerts_name_metrics_that_exist() {
    let place = Place::serving();
    let metrics = get(&place.server().admin, "/metrics", None).text();
    let types = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let known: BTreeSet<&str> = types.filter_map(|line| line.split(' ').next()).collect();
    let dashboard = include_str!("../../packaging/grafana-dashboard.json");
    let alerts = include_str!("../../packaging/alerts.yml");
    serde_json::from_str::<serde_json::Value>(dashboard).unwrap();
    for text in [dashboard, alerts] {
        let named = metric_names(text);
        assert!(10 <= named.len());
        let unknown: Vec<&&str> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{unknown:?} are not in\n{metrics}");
    }
    // What is counted is shown.
    let unshown: Vec<&str> = known
        .difference(&metric_names(dashboard))
        .filter(|name| {
            ![
                "subcat_upstream_attempts",
                "subcat_upstream_bytes",
                "subcat_scrub_rounds",
                "subcat_scrub_findings",
            ]
            .contains(name)
        })
        .copied()
        .collect();
    assert!(unshown.is_empty(), "{unshown:?} are on no panel");
}
