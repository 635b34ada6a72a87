//! Addresses: how the command line makes them, and that no output of a server holds their key.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::harness::{Place, Server, get, line};
use serde_json::{Value, json};

fn created(place: &Place) -> Value {
    let arguments = [
        "key", "create", "--json", "--name", "bazarr", "--scope", "address",
    ];
    place.run(&arguments).json()
}

#[test]
fn a_key_of_an_address_is_printed_with_its_address() {
    Place::in_both_modes(|place| {
        let created = created(place);
        let key = created["key"].as_str().unwrap();
        assert_eq!(created["scopes"], json!(["address"]));
        assert_eq!(created["limit"], "3000/60");
        let address = created["address"].as_str().unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        assert!(address.ends_with(&format!("/a/{key}")), "{address}");
        let number = created["id"].to_string();
        let shown = place.run(&["key", "show", &number, "--json"]).json();
        assert_eq!(shown["limit"], "3000/60");
        let plain = ["key", "create", "--name", "x", "--scope", "address"];
        let text = place.run(&plain).ok();
        assert!(text.contains("/a/sct_"), "{text}");
        let mixed = ["key", "create", "--name", "x", "--scope", "address,search"];
        let refused = place.run(&mixed);
        assert_eq!(refused.status, 2);
        assert!(refused.stderr.contains("address alone"));
    });
}

#[test]
fn an_address_begins_with_the_public_url_or_a_host_to_fill_in() {
    let place = Place::stopped();
    let begins = |setting: &str, expected: &str| {
        let arguments = [
            "key", "create", "--json", "--name", "x", "--scope", "address",
        ];
        let created = place
            .run(&[&arguments[..], &["--set", setting]].concat())
            .json();
        let address = created["address"].as_str().unwrap().to_owned();
        assert!(address.starts_with(expected), "{address}");
    };
    begins(
        "public_url=https://subs.example.org",
        "https://subs.example.org/a/sct_",
    );
    begins("listen=0.0.0.0:8080", "http://HOST:8080/a/sct_");
    begins("listen=[::]:9", "http://HOST:9/a/sct_");
    begins("listen=192.0.2.7:8080", "http://192.0.2.7:8080/a/sct_");
}

/// A request as a program sends it by mistake: the key in fields as well.
fn get_everywhere(address: &str, path: &str, key: &str) {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {key}\r\n\
         Referer: http://{address}/a/{key}/x\r\nUser-Agent: {key}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
}

/// Rule 20.5: wherever the key stood in a request, nothing that a server writes contains it.
#[test]
fn rule_20_5_no_log_metric_list_or_audit_entry_contains_the_key() {
    let mut place = Place::stopped();
    place.import(&[line(1, "Heat", "")]);
    let made = created(&place);
    let key = made["key"].as_str().unwrap();
    let settings = ["--set", "log.level=trace", "--set", "log.access=all"];
    place.start_logged_server(&settings);
    let address = place.server().address.clone();
    for path in [
        format!("/a/{key}/manifest.json"),
        format!("/a/{key}/api/v1/subtitles/search?query=heat"),
        format!("/a/{key}/es-419/subtitles/movie/tt1.json"),
        format!(
            "/a/{key}/api/v1/subtitles/{}/download",
            crate::harness::id(1)
        ),
        format!("/a/{key}/unknown"),
        format!("/a/Bearer%20{key}/manifest.json"),
        format!("/wrong/a/{key}/manifest.json"),
        format!("/{key}"),
        format!("/api/subtitles/{key}"),
        format!("/api/subtitles/search?query={key}"),
        format!("/catalog?query={key}"),
    ] {
        get_everywhere(&address, &path, key);
    }
    let admin = place.server().admin.clone();
    let mut outputs = vec![
        get(&admin, "/metrics", None).text(),
        place.run(&["key", "list"]).ok(),
        place.run(&["key", "show", &made["id"].to_string()]).ok(),
        place.run(&["stats"]).ok(),
    ];
    assert_eq!(place.stop_server(), 0);
    outputs.push(std::fs::read_to_string(place.path("log")).unwrap());
    let logged = outputs.last().unwrap();
    assert!(logged.contains("route=\"address\""), "{logged}");
    for output in outputs {
        assert!(!output.contains(&key[4..]), "{output}");
    }
}

/// Rule 20.7: on a Unix socket URLs begin with the public URL, or else as the request says.
#[test]
fn rule_20_7_urls_behind_a_unix_socket() {
    let place = Place::stopped();
    let source = r#","source_release_id":"1""#;
    place.import(&[line(1, "Heat", source)]);
    let made = created(&place);
    let key = made["key"].as_str().unwrap();
    let socket = place.path("public.sock");
    let listen = format!("unix:{}", socket.display());
    let begins = |settings: &[&str], request: &str, expected: &str| {
        let arguments = ["serve", "--listen", &listen, "--admin", "127.0.0.1:0"];
        let mut command = place.command(&arguments);
        command.args(settings);
        let server = Server::start_on_socket(command);
        let mut stream = UnixStream::connect(&socket).unwrap();
        let target = format!("/a/{key}/api/v1/subtitles/search?query=heat");
        let request = format!("GET {target} {request}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let url = format!("\"download_url\":\"{expected}/a/{key}/api/v1/subtitles/");
        assert!(answer.contains(&url), "{expected}: {answer}");
        assert_eq!(server.stop(), 0);
    };
    let host = "HTTP/1.1\r\nHost: subs.example.org";
    begins(&[], "HTTP/1.0", "http://localhost");
    begins(&[], host, "http://subs.example.org");
    let https = format!("{host}\r\nX-Forwarded-Proto: https");
    begins(&[], &https, "https://subs.example.org");
    let public = ["--set", "public_url=https://media.example/subs"];
    begins(&public, host, "https://media.example/subs");
    begins(&public, "HTTP/1.0", "https://media.example/subs");
}
