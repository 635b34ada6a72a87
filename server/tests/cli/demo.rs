//! `demo`: everything that a first look needs.

use std::process::Stdio;

use crate::harness::{Place, Server, exists, get, line};
use serde_json::Value;

/// Starts the demo in a place and reads what it prints.
fn start(place: &Place) -> (Server, Value) {
    let mut command = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
    command.env_remove("SUBCAT_DATA");
    Server::start_demo(command)
}

#[test]
fn its_help_names_its_data_directory() {
    let help = Place::stopped().run(&["demo", "--help"]).ok();
    assert!(help.contains("./subcat-demo unless --data"), "{help}");
}

#[test]
fn it_leaves_the_catalogs_of_others_alone() {
    let place = Place::stopped();
    let create = ["account", "create", "ana@example.com", "--password-stdin"];
    place.run_with(&create, "correct horse battery\n").ok();
    place.import(&[line(1, "Heat", "")]);
    let data = place.path("data").display().to_string();
    let demo = ["demo", "--data", &data, "--listen", "127.0.0.1:0"];
    let refused = place.run(&demo);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(refused.stderr.contains("is not the demo's"), "{refused:?}");
    assert_eq!(place.export().len(), 1);
    let accounts = place.run(&["account", "list", "--json"]).json();
    assert_eq!(accounts.as_array().map(Vec::len), Some(1), "{accounts}");
}

#[test]
fn its_three_curl_lines_work_and_a_second_run_too() {
    let place = Place::stopped();
    let mut first_key = None;
    for _ in 0..2 {
        let (server, sheet) = start(&place);
        let key = sheet["key"].as_str().unwrap().to_owned();
        assert_eq!(sheet["url"], format!("http://{}", server.address));
        assert!(
            sheet["data"].as_str().unwrap().ends_with("subcat-demo"),
            "{sheet}"
        );
        let paths: Vec<&str> = sheet["curl"]
            .as_array()
            .unwrap()
            .iter()
            .map(path_of)
            .collect();
        let [search, record, download] = paths[..] else {
            panic!("{sheet}")
        };
        let found = server.get(search, Some(&key));
        assert!(found.json()["total"].as_u64().unwrap() > 0, "{found:?}");
        let record = server.get(record, Some(&key));
        assert_eq!(record.status, 200, "{record:?}");
        let file = server.get(download, Some(&key));
        assert_eq!(file.status, 200, "{file:?}");
        assert!(file.body.len() > 500);
        let head = file.head.to_lowercase();
        assert!(
            head.contains("content-disposition: attachment; filename=\""),
            "{head}"
        );
        assert_eq!(server.get("/", None).status, 200);
        assert_eq!(
            first_key.get_or_insert(key.clone()),
            &key,
            "the key is kept"
        );
        assert_eq!(server.stop(), 0);
    }
    assert!(exists(&place.path("subcat-demo.json")));
    place.run(&["verify", "--data", "subcat-demo"]).ok();
}

/// A setting of the command line wins over the demo's own value.
#[test]
fn settings_of_the_command_line_win() {
    let place = Place::stopped();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let admin = free.local_addr().unwrap().to_string();
    drop(free);
    let mut command = place.command(&["demo", "--json", "--set", "listen=127.0.0.1:0"]);
    command.args(["--set", &format!("admin={admin}")]);
    command.args(["--set", "accounts.registration=closed"]);
    let (server, sheet) = Server::start_demo(command);
    assert!(
        !sheet["url"].as_str().unwrap().ends_with(":8080"),
        "{sheet}"
    );
    assert_eq!(get(&admin, "/livez", None).text(), "ok\n");
    assert_eq!(server.get("/signup", None).status, 404);
    assert_eq!(server.stop(), 0);
}

/// With a folder the first thing to be seen is what is in it: by search, download and page.
#[test]
fn a_folder_is_its_catalog() {
    let place = Place::stopped();
    let folder = place.path("media");
    let path = folder.join("Movies/Ronin (1998)/Subs/2_Spanish.srt");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let subtitle = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
    std::fs::write(&path, subtitle).unwrap();
    for _ in 0..2 {
        let mut command = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
        command.arg(&folder).env_remove("SUBCAT_DATA");
        let (server, sheet) = Server::start_demo(command);
        let data = sheet["data"].as_str().unwrap();
        assert!(data.ends_with("subcat-demo-folder"), "{sheet}");
        let key = sheet["key"].as_str();
        let found = server.get("/api/subtitles/search?query=ronin+1998", key);
        let found = found.json();
        assert_eq!(found["total"], 1, "{found}");
        let id = found["items"][0]["id"].as_str().unwrap().to_owned();
        let file = server.get(&format!("/api/subtitles/{id}/download"), key);
        assert_eq!(file.text(), subtitle);
        assert_eq!(server.get("/", None).status, 200);
        assert_eq!(server.stop(), 0);
    }
}

/// Killed while it reads a folder, the demo of that folder can be started again.
#[test]
fn a_demo_of_a_folder_that_was_killed_starts_again() {
    let place = Place::stopped();
    let folder = place.path("media");
    std::fs::create_dir_all(&folder).unwrap();
    for number in 1..=300 {
        let subtitle = format!("1\n00:00:01,000 --> 00:00:02,000\n{number}\n");
        let path = folder.join(format!("Dark.S01E{number:03}.es.srt"));
        std::fs::write(path, subtitle).unwrap();
    }
    let command = || {
        let mut command = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
        command.arg(&folder).env_remove("SUBCAT_DATA");
        command
    };
    let mut first = command();
    first.stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    while !exists(&place.path("subcat-demo-folder.json")) {
        assert!(first.try_wait().unwrap().is_none(), "it has ended");
        std::thread::yield_now();
    }
    first.kill().unwrap();
    first.wait().unwrap();
    let (server, sheet) = Server::start_demo(command());
    let found = server.get(
        "/api/subtitles/search?query=dark&limit=1",
        sheet["key"].as_str(),
    );
    assert_eq!(found.json()["total"], 300);
    assert_eq!(server.stop(), 0);
}

/// The path in a line such as `curl -s … 'http://127.0.0.1:1/api/x'`.
fn path_of(curl: &Value) -> &str {
    let url = curl.as_str().unwrap().rsplit('\'').nth(1).unwrap();
    let path_idx = url.match_indices('/').nth(2).unwrap().0;
    &url[path_idx..]
}
