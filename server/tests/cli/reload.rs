//! `reload` and SIGHUP: new settings for a server that goes on serving.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::harness::{Place, Server, line};

const SEARCH: &str = "/api/subtitles/search?title=heat";

/// A server whose settings stand in a file; its log goes to `log`.
fn serving(place: &Place, file: &str) -> Server {
    let file = place.write("s.toml", file);
    let log = std::fs::File::create(place.path("log")).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--config", &file]);
    command.stderr(log);
    Server::start(command)
}

fn reload(place: &Place) -> Value {
    place.run(&["reload", "--json"]).json()
}

fn names(changes: &Value) -> Vec<&str> {
    let changes = changes.as_array().unwrap();
    changes
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect()
}

/// One request on a connection that stays open; returns the head of the answer.
fn ask(stream: &mut TcpStream, key: &str) -> String {
    let request =
        format!("GET {SEARCH} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut bytes = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let count = stream.read(&mut bytes[length..]).unwrap();
        assert_ne!(count, 0, "the connection was closed");
        length += count;
        let text = String::from_utf8_lossy(&bytes[..length]).to_ascii_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let expected = head.split("content-length: ").nth(1).unwrap();
        let expected: usize = expected.lines().next().unwrap().parse().unwrap();
        if expected <= body.len() {
            return head.to_owned();
        }
    }
}

#[test]
fn limits_change_on_an_open_connection_and_the_rest_is_named() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    let server = serving(&place, "[rate_limit]\nrequests = 7\n");
    let mut stream = TcpStream::connect(&server.address).unwrap();
    assert!(ask(&mut stream, &key).contains("x-ratelimit-limit: 7\r\n"));
    let nothing = json!({"applied": [], "needs_restart": []});
    assert_eq!(reload(&place), nothing);
    place.write(
        "s.toml",
        "workers = 2\ncompat.null_strings = 'empty'\naccounts.registration = 'open'\n\
         [rate_limit]\nrequests = 9\n",
    );
    let reloaded = reload(&place);
    let applied = ["rate_limit.requests", "accounts.registration"];
    assert_eq!(names(&reloaded["applied"]), applied);
    assert_eq!(reloaded["applied"][0]["from"], 7);
    assert_eq!(reloaded["applied"][0]["to"], 9);
    // `workers` is set by a variable of the test, which wins over the file.
    assert_eq!(names(&reloaded["needs_restart"]), ["compat.null_strings"]);
    assert!(ask(&mut stream, &key).contains("x-ratelimit-limit: 9\r\n"));
    assert!(server.get("/signup", None).status == 200, "sign-up is open");
    let text = place.run(&["reload"]).ok();
    assert!(
        text.contains("needs restart  compat.null_strings"),
        "{text}"
    );
}

#[test]
fn settings_that_are_not_valid_change_nothing_and_are_named() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    let server = serving(&place, "[rate_limit]\nrequests = 7\n");
    place.write(
        "s.toml",
        "[rate_limit]\nrequests = 9\nwindow_seconds = 0\n[log]\nlevle = 1\n",
    );
    let sentence = place.run(&["reload", "--config", "/dev/null"]).fails(1);
    assert!(sentence.contains("nothing was changed: "), "{sentence}");
    assert!(
        sentence.contains("rate_limit.window_seconds is \"0\""),
        "{sentence}"
    );
    assert!(sentence.contains("did you mean log.level?"), "{sentence}");
    let answer = server.get(SEARCH, Some(&key));
    assert!(
        answer
            .head
            .to_ascii_lowercase()
            .contains("x-ratelimit-limit: 7\r\n")
    );
    server.signal(Signal::HUP);
    wait_for(&place, "the settings are not valid: nothing was changed");
    assert_eq!(server.stop(), 0);
}

/// Waits until the log of a server contains `text`.
fn wait_for(place: &Place, text: &str) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let log = std::fs::read_to_string(place.path("log")).unwrap();
        if log.contains(text) {
            return log;
        }
        assert!(Instant::now() < until, "{text} is not in\n{log}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn sighup_changes_the_log_level_and_upstream() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", ",\"source_release_id\":\"r1\"")]);
    let server = serving(&place, "[log]\nlevel = 'warn'\n");
    let download = "/api/subtitles/00000000-0000-4000-8000-000000000001/download";
    assert_eq!(server.get(download, Some(&key)).status, 502);
    let srt = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
    let upstream = upstream(srt);
    place.write(
        "url",
        format!("http://{upstream}/{{source_release_id}}?token=hush\n"),
    );
    place.write("s.toml", "log.level = 'info'\nupstream.url_file = 'url'\n");
    server.signal(Signal::HUP);
    let log = wait_for(&place, "the settings were read again");
    assert!(log.contains("upstream.url, log.level"), "{log}");
    let answer = server.get(download, Some(&key));
    assert_eq!((answer.status, answer.text().as_str()), (200, srt));
    assert_eq!(server.stop(), 0);
    let log = wait_for(&place, "stopping");
    assert!(!log.contains("hush"), "{log}");
}

/// An upstream that sends this file to whoever asks.
fn upstream(content: &'static str) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let length = content.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n\
                 {content}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn without_a_server_there_is_nothing_to_reload() {
    let place = Place::stopped();
    place.create_key(&[]);
    let sentence = place.run(&["reload"]).fails(1);
    assert!(sentence.contains("no server runs"), "{sentence}");
}

#[test]
fn a_bound_on_files_without_an_upstream_is_warned_of() {
    let place = Place::stopped();
    let bound = ["check", "--set", "files.cache_bytes=1GiB"];
    let warned = place.run(&bound);
    assert_eq!(warned.status, 0, "{warned:?}");
    let sentence = "files.cache_bytes has no effect without upstream.url or files.s3";
    assert!(warned.stderr.contains(sentence), "{warned:?}");
    let url = "upstream.url=http://127.0.0.1:9/{source_release_id}";
    let quiet = place.run(&[&bound[..], &["--set", url]].concat());
    assert_eq!(quiet.stderr, "", "{quiet:?}");
    assert_eq!(place.run(&["check"]).stderr, "");
}
