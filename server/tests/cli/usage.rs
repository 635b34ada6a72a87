//! Arguments, settings, and what needs no catalog.

use std::process::Stdio;

use crate::harness::{Place, exists, line};
use serde_json::json;

#[test]
fn wrong_usage_is_status_2_and_says_what_to_do() {
    let place = Place::stopped();
    for arguments in [
        &["frobnicate"][..],
        &[],
        &["key"],
        &["import"],
        &["record", "show", "not-a-uuid"],
        &["key", "create", "--name", "a", "--limit", "60"],
        &["key", "create", "--name", "a", "--scope", "write"],
        &["serve", "--port", "1"],
        &["import", "-", "-"],
    ] {
        let done = place.run(arguments);
        assert_eq!(done.status, 2, "{arguments:?} {done:?}");
        assert!(!done.stderr.is_empty(), "{arguments:?}");
        assert!(done.stdout.is_empty(), "{arguments:?}");
    }
    assert!(!exists(&place.path("data")), "wrong usage makes nothing");
}

#[test]
fn an_unknown_setting_is_answered_with_the_nearest() {
    let place = Place::stopped();
    let sentence = place.run(&["check", "--set", "worker=2"]).fails(2);
    assert!(sentence.contains("did you mean workers?"), "{sentence}");
    let mut command = place.command(&["key", "list"]);
    let output = command.env("SUBCAT_LISTN", "x").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let sentence = String::from_utf8(output.stderr).unwrap();
    assert!(
        sentence.contains("did you mean SUBCAT_LISTEN?"),
        "{sentence}"
    );
    let file = place.write("s.toml", "[rate_limit]\nrequest = 5\n");
    let sentence = place.run(&["check", "--config", &file]).fails(1);
    assert!(sentence.contains("s.toml line 2"), "{sentence}");
    assert!(
        sentence.contains("did you mean rate_limit.requests?"),
        "{sentence}"
    );
}

/// A shell that the documentation page has prepared, in a pod beside a service named `subcat`.
#[test]
fn variables_that_are_no_settings_do_not_stop_a_command() {
    let place = Place::stopped();
    let mut command = place.command(&["check"]);
    command
        .env("SUBCAT_KEY", "sct_")
        .env("SUBCAT_URL", "http://a");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    let mut command = place.command(&["check"]);
    command.env("SUBCAT_PORT", "tcp://10.0.0.1:80");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("warning: ignored SUBCAT_PORT"), "{said}");
}

#[test]
fn only_some_commands_make_the_default_data_directory() {
    let place = Place::stopped();
    let run = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        command.env_remove("SUBCAT_DATA").stdin(Stdio::null());
        command.output().unwrap()
    };
    let backup = place.path("backup").display().to_string();
    for arguments in [
        &["key", "create", "--name", "a"][..],
        &["key", "list"],
        &["account", "list"],
        &["account", "create", "a@example.org", "--password-stdin"],
        &["export"],
        &["verify"],
        &["stats"],
        &["explain", "--title", "heat"],
        &["record", "show", "00000000-0000-4000-8000-000000000001"],
        &["backup", &backup],
        &["restore", &backup],
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let sentence = String::from_utf8(output.stderr).unwrap();
        assert!(
            sentence.contains("name it with --data"),
            "{arguments:?} {sentence}"
        );
        assert!(!exists(&place.path("subcat-data")), "{arguments:?}");
    }
    place.write("a.jsonl", line(1, "Heat", ""));
    assert_eq!(run(&["import", "a.jsonl"]).status.code(), Some(0));
    assert!(exists(&place.path("subcat-data")));
    assert_eq!(run(&["key", "list"]).status.code(), Some(0));
    let made = place.run(&["key", "create", "--name", "a", "--data", "named"]);
    made.ok();
}

#[test]
fn a_bad_value_names_setting_origin_and_what_is_allowed() {
    let place = Place::stopped();
    let sentence = place.run(&["serve", "--listen", "localhost:1"]).fails(2);
    let expected = "subcat: listen is \"localhost:1\" (command line --listen): expected";
    assert!(sentence.starts_with(expected), "{sentence}");
    let file = place.write("s.toml", "io = 'kqueue'\n");
    let sentence = place.run(&["serve", "--config", &file]).fails(1);
    assert!(
        sentence.contains("expected auto, io_uring or epoll"),
        "{sentence}"
    );
    let sentence = place.run(&["check", "--config", "missing.toml"]).fails(1);
    assert!(sentence.contains("missing.toml"), "{sentence}");
}

#[test]
fn check_shows_every_setting_with_its_origin() {
    let place = Place::stopped();
    let file = place.write(
        "s.toml",
        "workers = 3\nupstream.url = 'http://a/{source_release_id}'",
    );
    let arguments = [
        "check",
        "--json",
        "--config",
        &file,
        "--set",
        "log.level=warn",
    ];
    let entries = place.run(&arguments).json();
    let entry = |name: &str| {
        let entries = entries.as_array().unwrap();
        entries
            .iter()
            .find(|entry| entry["name"] == name)
            .unwrap()
            .clone()
    };
    // The harness sets the number of workers by a variable, which wins over the file.
    assert_eq!(entry("workers")["value"], 1);
    assert_eq!(entry("workers")["origin"], "environment SUBCAT_WORKERS");
    let url = entry("upstream.url");
    assert_eq!(url["value"], "set (hidden), http://a");
    assert!(url["origin"].as_str().unwrap().ends_with("s.toml line 2"));
    assert_eq!(entry("log.level")["origin"], "command line --set log.level");
    let cap = json!({"name": "connections.max", "value": 20000, "origin": "default",
        "applies": "at_reload"});
    assert_eq!(entry("connections.max"), cap);
    assert_eq!(entries.as_array().unwrap().len(), 45);
    let text = place.run(&["check"]).ok();
    assert!(text.starts_with("SETTING"), "{text}");
    assert!(text.contains("rate_limit.window_seconds"), "{text}");
    let changed_by = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(2).unwrap().to_owned()
    };
    assert_eq!(changed_by("workers "), "restart");
    assert_eq!(changed_by("log.level "), "reload");
}

#[test]
fn version_man_and_completions_are_printed() {
    let place = Place::stopped();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(place.run(&["version"]).ok(), format!("subcat {version}\n"));
    assert_eq!(
        place.run(&["--version"]).ok(),
        format!("subcat {version}\n")
    );
    assert_eq!(
        place.run(&["version", "--json"]).json(),
        json!({ "version": version })
    );
    assert!(place.run(&["man"]).ok().contains(".TH subcat"));
    assert!(
        place
            .run(&["man", "key", "create"])
            .ok()
            .contains("subcat\\-key\\-create")
    );
    place.run(&["man", "nothing"]).fails(2);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(
            place.run(&["completions", shell]).ok().contains("subcat"),
            "{shell}"
        );
    }
}

#[test]
fn without_a_catalog_there_is_nothing_to_list() {
    let place = Place::stopped();
    for arguments in [
        &["key", "list"][..],
        &["account", "list"],
        &["stats"],
        &["verify"],
        &["export"],
        &["explain", "--query", "x"],
    ] {
        let sentence = place.run(arguments).fails(1);
        assert!(sentence.contains("there is no catalog in"), "{sentence}");
    }
    assert!(!exists(&place.path("data")));
}
