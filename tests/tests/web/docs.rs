//! The API documentation is true: every example runs, and every response is as described.

use std::process::Command;

use serde_json::Value;
use subcat_engine::Role;
use subcat_tests::described::{FoundAnswer, check_answer, fault};
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

/// Compares a response with its description: see [`check_answer`].
fn check(document: &Value, path: &str, answer: &RawAnswer) {
    let found = FoundAnswer {
        status: answer.status,
        field: &|name| answer.field(name).map(str::to_owned),
        body: &String::from_utf8_lossy(&answer.body),
    };
    check_answer(document, path, &found);
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

/// A sample of the docs page as a reader copies it: its language, and its text.
struct Copied {
    language: String,
    text: String,
}

/// Every sample of the docs page.
fn samples(page: &str) -> Vec<Copied> {
    let pieces = page.split("<div class=\"sample\" data-language=\"").skip(1);
    pieces
        .map(|piece| {
            let language = piece.split('"').next().expect("a language").to_owned();
            let (_, code) = piece.split_once("<code ").expect("a text");
            let (_, code) = code.split_once('>').expect("a tag");
            let text = unescaped(code.split("</code>").next().expect("it ends"));
            Copied { language, text }
        })
        .collect()
}

/// The program that runs a sample, with its arguments but the last; `None`, said loudly, if it is
/// not installed.
fn program(language: &str) -> Option<Command> {
    let (name, arguments): (_, &[&str]) = match language {
        "curl" => ("sh", &["-ec"]),
        "python" => ("python3", &["-c"]),
        "javascript" => ("node", &["--input-type=module", "-e"]),
        other => panic!("{other}: samples in this language are not run"),
    };
    let tool = if language == "curl" { "curl" } else { name };
    if Command::new(tool).arg("--version").output().is_err() {
        let sentence = format!("samples in {language}: {tool} is not installed");
        assert!(std::env::var_os("CI").is_none(), "{sentence}");
        eprintln!("SKIPPED: {sentence}");
        return None;
    }
    let mut command = Command::new(name);
    command.args(arguments);
    Some(command)
}

/// Runs every sample of the docs page in this language.
fn run_samples(language: &str) {
    let (portal, key, _) = portal();
    let page = portal.visitor().get("/docs").text().to_owned();
    let samples = samples(&page);
    let of_language = samples.iter().filter(|it| it.language == language);
    let texts: Vec<&str> = of_language.map(|it| it.text.as_str()).collect();
    assert_eq!(texts.len() * 3, samples.len(), "all in three languages");
    assert!(9 <= texts.len(), "{texts:?}");
    for text in texts {
        let Some(mut command) = program(language) else {
            return;
        };
        let folder = tempfile::tempdir().expect("a temporary directory");
        let output = command
            .arg(text)
            .current_dir(folder.path())
            .env("SUBCAT_KEY", &key)
            .output()
            .expect("it is installed");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}: {said}");
        if text.contains("/download") {
            let mut files = std::fs::read_dir(folder.path()).expect("a directory");
            let file = files.next().expect("a file").expect("it can be read");
            let name = file.file_name().into_string().expect("a plain name");
            assert!(name.contains('.'), "{name} is the file's own name: {text}");
        } else {
            assert_ne!(output.stdout, b"", "{text}");
        }
    }
}

#[test]
fn every_command_of_the_page_runs_as_copied() {
    run_samples("curl");
}

#[test]
fn every_python_program_of_the_page_runs_as_copied() {
    run_samples("python");
}

#[test]
fn every_javascript_module_of_the_page_runs_as_copied() {
    run_samples("javascript");
}

#[test]
fn every_example_of_the_search_syntax_finds_something() {
    let (portal, key, _) = portal();
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let mut client = Client::connect(portal.address());
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
        let target = format!("/api/subtitles/search?query={link}");
        let answer = client.get(&target, Some(&key));
        let body: Value = serde_json::from_str(answer.text()).expect("it is JSON");
        assert_ne!(body["total"], 0, "{target}");
    }
}

#[test]
fn every_status_that_is_an_error_is_explained_once() {
    let (portal, ..) = portal();
    let document = document(&portal);
    let page = portal.visitor().get("/docs").text().to_owned();
    for item in document["paths"].as_object().expect("paths").values() {
        for status in item["get"]["responses"]
            .as_object()
            .expect("responses")
            .keys()
        {
            if status.starts_with(['4', '5']) {
                let row = format!("id=\"error-{status}\"");
                assert_eq!(page.matches(&row).count(), 1, "{status}");
                assert!(page.contains(&format!("href=\"#error-{status}\"")));
            }
        }
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
    let changes = visitor.get("/docs/changes");
    assert_eq!(changes.status, 200);
    assert!(
        changes.text().contains("<li>The HTTP API: "),
        "{}",
        changes.text()
    );
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
