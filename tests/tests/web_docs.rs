//! The API documentation is true: every example runs, and every response is as described.

use std::process::Command;

use serde_json::Value;
use subcat_engine::Role;
use subcat_tests::portal::{ALL_SCOPES, Portal};
use subcat_tests::raw::{Client, RawAnswer};

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

/// A portal, a key for it, and the id of a record that has a file.
fn portal() -> (Portal, String, String) {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let fields = [&[("name", "manual")], ALL_SCOPES.as_slice()].concat();
    let page = ana.post("/keys", &fields);
    let key = page
        .text()
        .split("class=\"secret\" readonly value=\"")
        .nth(1);
    let key = key.and_then(|rest| rest.split('"').next()).expect("a key");
    let found = ana.get("/catalog?query=matrix&limit=1");
    let id = found.text().split("<h2><a href=\"/catalog/").nth(1);
    let id = id.and_then(|rest| rest.split('"').next()).expect("a hit");
    (portal, key.to_owned(), id.to_owned())
}

fn document(portal: &Portal) -> Value {
    let answer = portal.visitor().get("/openapi.json");
    assert_eq!(answer.field("content-type"), Some("application/json"));
    serde_json::from_str(answer.text()).expect("it is JSON")
}

fn resolve<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(path) => document
            .pointer(&path[1..])
            .expect("a reference leads somewhere"),
        None => value,
    }
}

/// The first violation of a schema by a value, for the part of JSON Schema that the document uses.
fn fault(document: &Value, schema: &Value, value: &Value) -> Option<String> {
    let schema = resolve(document, schema);
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices
            .iter()
            .filter(|one| fault(document, one, value).is_none())
            .count();
        return (fits != 1).then(|| format!("{fits} of the choices fit {value}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_allowed = match &schema["type"] {
        Value::String(only) => only == kind,
        Value::Array(kinds) => kinds.iter().any(|one| one == kind),
        _ => true,
    };
    let is_within = value.as_i64().is_none_or(|number| {
        schema["minimum"].as_i64().is_none_or(|min| min <= number)
            && schema["maximum"].as_i64().is_none_or(|max| number <= max)
    });
    let values = schema["enum"].as_array();
    let is_listed = values.is_none_or(|values| values.contains(value));
    if !is_allowed || !is_within || !is_listed {
        return Some(format!("{value} does not fit {schema}"));
    }
    if let Some(items) = value.as_array() {
        return items
            .iter()
            .find_map(|item| fault(document, &schema["items"], item));
    }
    let fields = value.as_object()?;
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !fields.contains_key(name) {
            return Some(format!("{name} is missing in {value}"));
        }
    }
    fields
        .iter()
        .find_map(|(name, field)| match &schema["properties"][name] {
            Value::Null => Some(format!("{name} is not described")),
            described => fault(document, described, field),
        })
}

/// Compares a response with its description: status, headers, body, and for an error the text of
/// the example.
fn check(document: &Value, path: &str, answer: &RawAnswer) {
    let status = answer.status.to_string();
    let described = &document["paths"][path]["get"]["responses"][&status];
    assert!(!described.is_null(), "{path}: {status} is not described");
    let described = resolve(document, described);
    for (name, header) in described["headers"].as_object().into_iter().flatten() {
        let value = answer.field(&name.to_ascii_lowercase());
        let value = value.unwrap_or_else(|| panic!("{path} {status}: no {name}"));
        if resolve(document, header)["schema"]["type"] == "integer" {
            value.parse::<u64>().expect(name);
        }
    }
    let Some(json) = described["content"].get("application/json") else {
        return;
    };
    assert_eq!(
        answer.field("content-type"),
        Some("application/json"),
        "{path} {status}"
    );
    let body: Value = serde_json::from_str(answer.text()).expect("it is JSON");
    assert_eq!(
        fault(document, &json["schema"], &body),
        None,
        "{path} {status}"
    );
    if 400 <= answer.status {
        assert_eq!(body, json["example"], "{path} {status}");
    }
}

#[test]
fn every_example_runs_as_printed() {
    let (portal, key, id) = portal();
    let document = document(&portal);
    let mut count = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        let examples = item["get"]["x-examples"]
            .as_array()
            .expect("every endpoint has one");
        for example in examples {
            let command = example["command"].as_str().expect("a command");
            let folder = tempfile::tempdir().expect("a temporary directory");
            // Added: only the options that make the shell report the outcome.
            let script = command.replacen("curl ", "curl --silent --show-error --fail ", 1);
            let output = Command::new("sh")
                .args(["-ec", &script])
                .current_dir(folder.path())
                .env("SUBCAT_URL", portal.url(""))
                .env("SUBCAT_KEY", &key)
                .env("SUBTITLE_ID", &id)
                .output()
                .expect("a shell; curl is installed by scripts/setup");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{path}: {command}: {said}");
            if command.contains("-OJ") {
                let files = std::fs::read_dir(folder.path())
                    .expect("a directory")
                    .count();
                assert_eq!(files, 1, "{command} keeps a file");
            } else {
                let body: Value = serde_json::from_slice(&output.stdout).expect(command);
                let schema = &item["get"]["responses"]["200"]["content"]["application/json"];
                assert_eq!(
                    fault(&document, &schema["schema"], &body),
                    None,
                    "{command}"
                );
                assert_ne!(body["total"], 0, "{command} finds something");
            }
            count += 1;
        }
    }
    assert!(6 <= count, "{count} examples");
}

/// Text of a page as a reader copies it.
fn unescaped(html: &str) -> String {
    let mut text = html.to_owned();
    for (entity, plain) in [
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#60;", "<"),
        ("&#62;", ">"),
    ] {
        text = text.replace(entity, plain);
    }
    text.replace("&#38;", "&")
}

#[test]
fn every_command_of_the_page_runs_as_copied() {
    let (portal, key, _) = portal();
    let page = portal.visitor().get("/docs").text().to_owned();
    let commands = page.split("<pre><code id=\"").skip(1).map(|piece| {
        let (_, code) = piece.split_once('>').expect("a tag");
        unescaped(code.split("</code>").next().expect("it ends"))
    });
    let mut count = 0;
    for command in commands {
        let folder = tempfile::tempdir().expect("a temporary directory");
        // The reader puts the key in.
        let script = command.replace("sct_…", &key);
        let output = Command::new("sh")
            .args(["-ec", &script])
            .current_dir(folder.path())
            .env("SUBCAT_KEY", &key)
            .output()
            .expect("a shell; curl is installed by scripts/setup");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
        count += 1;
    }
    assert!(7 <= count, "{count} commands");
}

#[test]
fn programs_of_the_page_run_as_copied() {
    let (portal, key, _) = portal();
    let page = portal.visitor().get("/docs").text().to_owned();
    let mut count = 0;
    for piece in page.split("<summary>Python</summary><pre><code>").skip(1) {
        let program = unescaped(piece.split("</code>").next().expect("it ends"));
        let folder = tempfile::tempdir().expect("a temporary directory");
        let output = Command::new("python3")
            .args(["-c", &program])
            .current_dir(folder.path())
            .env("SUBCAT_KEY", &key)
            .output()
            .expect("python3; scripts/setup needs it too");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {said}");
        count += 1;
    }
    assert!(6 <= count, "{count} programs");
}

#[test]
fn every_example_of_the_search_syntax_finds_something() {
    let (portal, ..) = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/docs").text().to_owned();
    let (_, syntax) = page.split_once("id=\"syntax\"").expect("a section");
    let links: Vec<&str> = syntax
        .split("href=\"/catalog?query=")
        .skip(1)
        .map(|piece| piece.split('"').next().expect("it ends"))
        .collect();
    assert!(6 <= links.len(), "{links:?}");
    for link in links {
        let found = ana.get(&format!("/catalog?query={link}"));
        let is_title = found.field("location").is_some();
        assert!(
            is_title || found.text().contains("<ol class=\"hits\">"),
            "{link}"
        );
    }
}

#[test]
fn every_response_is_as_described() {
    let (portal, key, id) = portal();
    let document = document(&portal);
    let mut client = Client::connect(portal.address());
    let search = "/api/subtitles/search";
    let get = "/api/subtitles/{subtitle_id}";
    let download = "/api/subtitles/{subtitle_id}/download";
    let none = "/api/subtitles/00000000-0000-0000-0000-000000000000";
    let record = format!("/api/subtitles/{id}");
    for (path, target, status) in [
        (search, "/api/subtitles/search?title=matrix", 200),
        (search, "/api/subtitles/search", 400),
        (search, "/api/subtitles/search?title=x&year=1899", 422),
        (get, record.as_str(), 200),
        (get, none, 404),
        (download, &format!("{record}/download"), 200),
        (download, &format!("{none}/download"), 404),
        ("/api/health", "/api/health", 200),
    ] {
        let answer = client.get(target, Some(&key));
        assert_eq!(answer.status, status, "{target}");
        check(&document, path, &answer);
        if path != "/api/health" {
            let keyless = client.get(target, None);
            assert_eq!(keyless.status, 401, "{target}");
            check(&document, path, &keyless);
        }
    }
    let part = [("Range", "bytes=0-3")];
    let answer = client.request("GET", &format!("{record}/download"), Some(&key), &part);
    assert_eq!(answer.status, 206);
    check(&document, download, &answer);
}

#[test]
fn a_missing_scope_and_an_exhausted_window_answer_as_described() {
    let (portal, _, id) = portal();
    let document = document(&portal);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.post("/keys", &[("name", "reader"), ("scope", "read")]);
    let key = page
        .text()
        .split("class=\"secret\" readonly value=\"")
        .nth(1);
    let key = key
        .and_then(|rest| rest.split('"').next())
        .expect("a key")
        .to_owned();
    let mut client = Client::connect(portal.address());
    let refused = client.get("/api/subtitles/search?title=x", Some(&key));
    assert_eq!(refused.status, 403);
    check(&document, "/api/subtitles/search", &refused);
    let record = format!("/api/subtitles/{id}");
    let limited = (0..100)
        .map(|_| client.get(&record, Some(&key)))
        .find(|answer| answer.status != 200)
        .expect("the window is full before 100 requests");
    assert_eq!(limited.status, 429);
    check(&document, "/api/subtitles/{subtitle_id}", &limited);
}

#[test]
fn the_document_may_be_cached_and_the_docs_page_needs_no_account() {
    let (portal, ..) = portal();
    let mut visitor = portal.visitor();
    let first = visitor.get("/openapi.json");
    let etag = first.field("etag").expect("a tag").to_owned();
    let again = visitor.send("GET", "/openapi.json", &[("If-None-Match", &etag)], "");
    assert_eq!(again.status, 304);
    let document: Value = serde_json::from_str(first.text()).expect("it is JSON");
    assert_eq!(document["openapi"], "3.1.0");
    for language in ["en", "es"] {
        let fields = [("Accept-Language", language)];
        let page = visitor.send("GET", "/docs", &fields, "");
        assert_eq!(page.status, 200);
        for path in document["paths"].as_object().expect("paths").keys() {
            assert!(page.text().contains(path), "{path}");
        }
        assert!(!page.text().contains("http://www."), "it works offline");
    }
}
