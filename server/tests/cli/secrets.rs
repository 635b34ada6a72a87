//! Secrets of the settings: no command shows them and no log has them.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{Done, Place, Server, line};

/// It is in every secret setting.
const MARKER: &str = "hush-ZQ7";
/// Time in which a line must have been written.
const PATIENCE: Duration = Duration::from_secs(60);

/// Every secret setting with a value that is allowed. Nothing listens at the addresses.
const SECRETS: [(&str, &str); 4] = [
    (
        "upstream.url",
        "http://127.0.0.1:9/hush-ZQ7/{source_release_id}?token=hush-ZQ7",
    ),
    ("files.s3.access_key", "hush-ZQ7-access"),
    ("files.s3.secret_key", "hush-ZQ7-secret"),
    ("cluster.log", "nats://hush-ZQ7:hush-ZQ7@127.0.0.1:9"),
];

/// Every secret setting with a value that is refused.
const MISTYPED: [(&str, &str); 6] = [
    ("upstream.url", "http://127.0.0.1:9/?token=hush-ZQ7"),
    ("upstream.url", "htp://hush-ZQ7/{source_release_id}"),
    ("files.s3.access_key", "hush-ZQ7 access"),
    ("files.s3.secret_key", "hush-ZQ7 secret"),
    ("cluster.log", "natz://user:hush-ZQ7@127.0.0.1:9"),
    ("public_url", "https://me:hush-ZQ7@sub.example"),
];

#[track_caller]
fn assert_hidden(text: &str) {
    assert!(!text.contains(MARKER), "a secret is in\n{text}");
}

#[track_caller]
fn hidden(done: &Done) {
    assert_hidden(&done.stdout);
    assert_hidden(&done.stderr);
}

/// A file of settings with these secrets, which names a bucket and a log where nobody answers.
fn settings(secrets: &[(&str, &str)]) -> String {
    let mut text = "files.s3.endpoint = 'http://127.0.0.1:9'\nfiles.s3.bucket = 'files'\n\
                    upstream.connect_seconds = 1\n"
        .to_owned();
    for (name, value) in secrets {
        text.push_str(&format!("{name} = '{value}'\n"));
    }
    text
}

#[test]
fn no_command_shows_a_secret() {
    let place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let file = place.write("s.toml", settings(&SECRETS));
    for command in [
        &["check"][..],
        &["check", "--json"],
        &["stats"],
        &["verify"],
        &["export"],
        &["explain", "--title", "heat"],
        &["key", "list"],
        &["account", "list"],
        &["file", "show", "r1"],
        &["reload"],
        &["cluster", "status"],
        &["cluster", "init"],
        &["cluster", "join"],
        &["cluster", "reseed"],
        &["serve", "--listen", "127.0.0.1:1", "--admin", "127.0.0.1:1"],
    ] {
        let mut command = command.to_vec();
        command.extend(["--config", &file]);
        hidden(&place.run(&command));
    }
    let shown = place.run(&["check", "--config", &file]).ok();
    for part in [
        "set (hidden), http://127.0.0.1:9",
        "set (hidden), nats://127.0.0.1:9",
        "set (hidden)  ",
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    let all = place
        .run(&["check", "--show-secrets", "--config", &file])
        .ok();
    for (name, value) in SECRETS {
        assert!(all.contains(value), "{name} is not in\n{all}");
    }
}

/// A typing mistake is named without the value.
#[test]
fn a_secret_that_is_not_valid_is_not_shown() {
    let place = Place::stopped();
    for (name, value) in MISTYPED {
        let file = place.write("s.toml", settings(&[(name, value)]));
        for command in [&["check"][..], &["check", "--json"], &["serve"], &["stats"]] {
            let mut command = command.to_vec();
            command.extend(["--config", &file]);
            let done = place.run(&command);
            assert_eq!(done.status, 1, "{done:?}");
            assert!(done.stderr.contains(name), "{done:?}");
            hidden(&done);
        }
        let set = format!("{name}={value}");
        for typed in [set, format!("{name}:{value}"), format!("{name}:={value}")] {
            let done = place.run(&["check", "--set", &typed]);
            assert_eq!(done.status, 2, "{done:?}");
            hidden(&done);
        }
        let apart = place.run(&["check", "--set", name, value]);
        assert_eq!(apart.status, 2, "{apart:?}");
        hidden(&apart);
    }
    // What is not valid TOML is not repeated either.
    for text in [
        format!("files.s3.secret_key = {MARKER}\n"),
        format!("files.s3.secret_key = '{MARKER}\n"),
        format!("files.s3.secret_key '{MARKER}'\n"),
        format!("[files.s3]\nsecret_key = '{MARKER}'\nsecret_key = '{MARKER}'\n"),
    ] {
        let file = place.write("s.toml", &text);
        let done = place.run(&["check", "--config", &file]);
        assert_eq!(done.status, 1, "{text}: {done:?}");
        hidden(&done);
    }
}

/// With every detail in the log: requests that need upstream and the bucket, reloads that succeed
/// and fail.
#[test]
fn no_log_has_a_secret() {
    let place = Place::stopped();
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", ",\"source_release_id\":\"r1\"")]);
    let secrets = &SECRETS[..3];
    let file = place.write("s.toml", settings(secrets));
    let log_path = place.path("log");
    let log = std::fs::File::create(&log_path).unwrap();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--set", "log.level=trace"]);
    command.args(["--config", &file]).stderr(log);
    let server = Server::start(command);
    let download = "/api/subtitles/00000000-0000-4000-8000-000000000001/download";
    assert_eq!(server.get(download, Some(&key)).status, 502);
    let log = || std::fs::read_to_string(&log_path).unwrap();
    let wait_for = |line: &str| {
        let until = Instant::now() + PATIENCE;
        while !log().contains(line) {
            assert!(Instant::now() < until, "{line} is not in\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let changed = settings(secrets).replace("/{source", "/other/{source");
    place.write("s.toml", changed);
    let reloaded = place.run(&["reload", "--json"]);
    hidden(&reloaded);
    assert_eq!(reloaded.json()["applied"][0]["name"], "upstream.url");
    for (name, value) in MISTYPED {
        place.write("s.toml", settings(&[(name, value)]));
        let reloaded = place.run(&["reload"]);
        assert_eq!(reloaded.status, 1, "{reloaded:?}");
        hidden(&reloaded);
    }
    server.signal(Signal::HUP);
    wait_for("the settings are not valid");
    let metrics = crate::harness::get(&server.admin, "/metrics", None).text();
    assert_hidden(&metrics);
    assert_eq!(server.stop(), 0);
    assert_hidden(&log());
}
