//! `serve`: how a server begins and ends.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{Place, Server, exists, get, line};

#[test]
fn it_announces_where_it_listens_and_the_first_account() {
    let mut place = Place::serving();
    let setup = place.stop_server();
    assert_eq!(setup, 0);
    place.start_server(&[]);
    let address = place.server().address.clone();
    let line = {
        let mut server = Server::start(other_server(&place));
        server.next_line()
    };
    assert!(line.contains("/setup?token="), "{line}");
    assert!(!address.ends_with(":0"), "{address}");
    let answer = place.server().get("/api/health", None);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json()["status"], "ok");
}

/// A server on another data directory.
fn other_server(place: &Place) -> std::process::Command {
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--data", "other"]);
    command
}

#[test]
fn the_admin_address_has_metrics_and_health() {
    let place = Place::serving();
    place.import(&[line(1, "Heat", "")]);
    let admin = &place.server().admin;
    assert_eq!(get(admin, "/livez", None).text(), "ok\n");
    assert_eq!(get(admin, "/readyz", None).text(), "ok\n");
    assert_eq!(get(admin, "/", None).status, 404);
    place.server().get("/api/subtitles/search?title=x", None);
    let metrics = get(admin, "/metrics", None);
    assert!(
        metrics.head.contains("openmetrics-text"),
        "{}",
        metrics.head
    );
    let text = metrics.text();
    for line in [
        "subcat_records 1",
        "subcat_ready 1",
        "subcat_disk_full 0",
        "subcat_task_failing{task=\"merge\"} 0",
        "subcat_records_damaged 0",
        "subcat_requests_total{route=\"other\",status=\"401\"} 1",
        "subcat_upstream_fetches_total{outcome=\"stored\"} 0",
        "# TYPE subcat_process_resident_bytes gauge",
        "# EOF",
    ] {
        let is_there = text.lines().any(|l| l == line);
        // Whether an unknown client's search counts as search or other is the API's matter.
        let is_search =
            line.contains("other") && text.contains("route=\"search\",status=\"401\"} 1");
        assert!(is_there || is_search, "{line} is not in\n{text}");
    }
}

/// At the most talkative level, and for requests that succeed, fail or make no sense.
#[test]
fn no_secret_is_ever_logged() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    let password = "correct horse battery";
    let create = ["account", "create", "ana@example.com", "--password-stdin"];
    place.run_with(&create, format!("{password}\n")).ok();
    let log_path = place.path("log");
    let log = std::fs::File::create(&log_path).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--set", "log.level=trace"]);
    command.stderr(log);
    let server = Server::start(command);
    let wrong = key.replace("sct_", "sct_0");
    for path in [
        "/api/subtitles/search?title=x",
        "/api/subtitles/x/download",
        "/api/x",
        "/keys",
    ] {
        for key in [&key, &wrong] {
            server.get(path, Some(key));
        }
    }
    let form = format!(
        "email=ana%40example.com&password={}",
        password.replace(' ', "+")
    );
    let request = format!(
        "POST /signin HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n\
         Cookie: subcat-session=a-cookie\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n\
         Content-Length: {1}\r\n\r\n{form}",
        server.address,
        form.len()
    );
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
    assert_eq!(server.stop(), 0);
    let log = std::fs::read_to_string(&log_path).unwrap();
    assert!(!log.is_empty());
    for secret in [&key[4..], &wrong[4..], "correct", "a-cookie", "Bearer"] {
        assert!(!log.contains(secret), "{secret} is in\n{log}");
    }
}

#[test]
fn a_stop_is_graceful_and_leaves_no_socket() {
    let mut place = Place::serving();
    assert!(exists(&place.path("data/admin.sock")));
    assert_eq!(place.stop_server(), 0);
    assert!(!exists(&place.path("data/admin.sock")));
}

/// API.md 11.4: a slow reader of an export does not delay the stop.
#[test]
fn an_export_that_nobody_reads_does_not_hold_up_a_stop() {
    let mut place = Place::serving();
    let long = format!(r#","description":"{}""#, "word ".repeat(1_900));
    let lines: Vec<String> = (0..1_200).map(|n| line(n, "Heat", &long)).collect();
    place.import(&lines);
    let mut command = place.command(&["export"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut export = command.spawn().unwrap();
    let mut begun = [0; 1];
    export
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begun)
        .unwrap();
    let started = Instant::now();
    assert_eq!(place.stop_server(), 0);
    assert!(started.elapsed() < Duration::from_secs(5));
    let cut = export.wait_with_output().unwrap();
    assert_eq!(cut.status.code(), Some(1));
}

#[test]
fn a_second_server_on_the_same_data_is_refused() {
    let place = Place::serving();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    let output = command.args(["--admin", "127.0.0.1:0"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let sentence = String::from_utf8(output.stderr).unwrap();
    let holder = format!("process {} already serves ", place.server().pid());
    assert!(sentence.contains(&holder), "{sentence}");
    assert_eq!(place.server().get("/api/health", None).status, 200);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let place = Place::serving();
    let taken = place.server().address.clone();
    for setting in ["--listen", "--admin"] {
        let mut command = place.command(&["serve", "--data", "other"]);
        let other = if setting == "--listen" {
            "--admin"
        } else {
            "--listen"
        };
        command.args([setting, &taken, other, "127.0.0.1:0"]);
        let output = command.output().unwrap();
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{sentence}");
        assert!(sentence.contains(&taken), "{sentence}");
        assert!(sentence.contains("another program"), "{sentence}");
    }
    // An address for documentation (RFC 5737), which no machine has.
    for (setting, other) in [("listen", "admin"), ("admin", "listen")] {
        let mut command = place.command(&["serve", "--data", "other"]);
        command.args(["--set", &format!("{setting}=192.0.2.1:8080")]);
        command.args(["--set", &format!("{other}=127.0.0.1:0")]);
        let output = command.output().unwrap();
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{sentence}");
        let said = format!("{setting} = 192.0.2.1:8080, which this machine does not have");
        assert!(sentence.contains(&said), "{sentence}");
    }
}

#[test]
fn a_killed_server_leaves_nothing_in_the_way() {
    let mut place = Place::serving();
    place.import(&[line(1, "Heat", "")]);
    let pid = rustix::process::Pid::from_raw(place.server().pid().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    place.stop_server();
    assert!(exists(&place.path("data/admin.sock")), "nobody removed it");
    assert_eq!(place.export().len(), 1);
    place.start_server(&[]);
    assert_eq!(place.export().len(), 1);
}

#[test]
fn with_the_memory_store_everything_works_while_it_runs() {
    let mut place = Place::stopped();
    place.start_server(&["--set", "store=memory"]);
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", "")]);
    let answer = place
        .server()
        .get("/api/subtitles/search?title=heat", Some(&key));
    assert_eq!(answer.json()["total"], 1);
    place.stop_server();
    let done = place.run(&["key", "create", "--name", "x", "--set", "store=memory"]);
    assert!(done.fails(1).contains("nothing is kept"));
}

#[test]
fn a_server_that_opens_its_catalog_says_so() {
    let mut place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    // Opening reads every file of the counters: this one blocks until somebody writes to it.
    let fifo = place.path("data/counters/0000000009.count");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    let [public, admin] = [free_address(), free_address()];
    let arguments = ["serve", "--listen", &public, "--admin", &admin];
    let mut command = place.command(&arguments);
    command.stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    // It listens before it opens.
    while TcpStream::connect(&public).is_err() {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::yield_now();
    }
    let health = get(&public, "/api/health", None);
    assert_eq!(health.status, 503);
    assert_eq!(health.json()["status"], "starting");
    let other = get(&public, "/api/subtitles/search?query=x", None);
    assert_eq!(other.status, 503);
    let ready = get(&admin, "/readyz", None);
    assert_eq!((ready.status, ready.text().as_str()), (503, "starting\n"));
    assert_eq!(get(&admin, "/livez", None).status, 200);
    // An empty file counts nothing: the start goes on.
    std::fs::remove_file(&fifo).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    place.start_server(&[]);
    assert_eq!(place.stop_server(), 0);
}

fn free_address() -> String {
    let probe = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    probe.local_addr().unwrap().to_string()
}

/// Records and files cannot be changed below the reserve; keys can, and everything is read.
#[test]
fn below_the_reserve_of_the_disk_it_is_read_only_and_says_so() {
    let mut place = Place::serving();
    place.import(&[line(1, "Heat", "")]);
    place.stop_server();
    place.start_server(&["--set", "disk.reserve_bytes=1000000000 GiB"]);
    let records = place.write("more.jsonl", line(2, "Ronin", ""));
    let refused = place.run(&["import", &records]).fails(1);
    assert!(refused.contains("make room and try again"), "{refused}");
    let key = place.create_key(&[]);
    let found = place
        .server()
        .get("/api/subtitles/search?title=heat", Some(&key));
    assert_eq!(found.json()["total"], 1);
    let admin = &place.server().admin;
    let ready = get(admin, "/readyz", None);
    assert_eq!(ready.status, 200, "reads are answered");
    assert!(
        ready.text().starts_with("ok\nread-only: "),
        "{}",
        ready.text()
    );
    let metrics = get(admin, "/metrics", None).text();
    assert!(metrics.contains("subcat_disk_full 1\n"), "{metrics}");
    place.stop_server();
    // As when there is room again.
    place.start_server(&[]);
    assert_eq!(get(&place.server().admin, "/readyz", None).text(), "ok\n");
    place.run(&["import", &records]).ok();
}
