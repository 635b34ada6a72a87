//! The clients of `server/docs/examples` against a started service, each where its language is
//! installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::{Place, Server};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples")
}

/// Runs an example in an empty directory, unless what it needs is missing, and checks that it
/// downloads the file that the service has.
fn check(programs: &[&str], command: impl Fn(&Path) -> Command) {
    let is_missing = |program: &&&str| {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        !found.is_ok_and(|output| output.status.success())
    };
    if let Some(missing) = programs.iter().find(is_missing) {
        let sentence = format!("{missing} is not installed");
        assert!(
            std::env::var_os("CI").is_none(),
            "{sentence}: scripts/setup"
        );
        eprintln!("SKIPPED, NOTHING TESTED: {sentence}");
        return;
    }
    let place = Place::stopped();
    let demo = place.command(&["demo", "--json", "--listen", "127.0.0.1:0"]);
    let (server, sheet) = Server::start_demo(demo);
    let key = sheet["key"].as_str().unwrap();
    let run = |words: &[&str], key: &str| {
        let dir = tempfile::tempdir().unwrap();
        let mut command = command(&examples());
        command.args(words).current_dir(dir.path());
        command.env("SUBCAT_URL", sheet["url"].as_str().unwrap());
        command.env("SUBCAT_KEY", key);
        let output = command.output().unwrap();
        let names: Vec<String> = std::fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let contents: Vec<Vec<u8>> = names
            .iter()
            .map(|name| std::fs::read(dir.path().join(name)).unwrap())
            .collect();
        (output, names, contents)
    };
    let words = ["blade", "runner", "2049"];
    let (output, names, contents) = run(&words, key);
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(names, [said.trim()], "it says what it has written");
    let hits = server.get(
        "/api/subtitles/search?query=blade+runner+2049&limit=1",
        Some(key),
    );
    let id = hits.json()["items"][0]["id"].as_str().unwrap().to_owned();
    let file = server.get(&format!("/api/subtitles/{id}/download"), Some(key));
    assert_eq!(contents, [file.body]);
    let (output, names, _) = run(&["zzzzzz", "qqqqqq"], key);
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("nothing found"), "{said}");
    assert_eq!(names.len(), 0);
    let (output, names, _) = run(&words, "sct_wrong");
    assert!(!output.status.success(), "{output:?}");
    assert!(
        !names.iter().any(|name| name.contains("Blade")),
        "{names:?}"
    );
}

#[test]
fn the_shell_client_works() {
    check(&["curl", "jq"], |dir| {
        let mut command = Command::new("sh");
        command.arg(dir.join("download.sh"));
        command
    });
}

#[test]
fn the_python_client_works() {
    check(&["python3"], |dir| {
        let mut command = Command::new("python3");
        command.arg(dir.join("download.py"));
        command
    });
}

#[test]
fn the_javascript_client_works() {
    check(&["node"], |dir| {
        let mut command = Command::new("node");
        command.arg(dir.join("download.mjs"));
        command
    });
}

#[test]
fn the_go_client_works() {
    check(&["go"], |dir| {
        let mut command = Command::new("go");
        command.arg("run").arg(dir.join("download.go"));
        command
    });
}

/// Cargo builds the examples before the tests, unless one test is asked for by `--test`.
#[test]
fn the_rust_client_works() {
    let program = Path::new(env!("CARGO_BIN_EXE_subcat")).with_file_name("examples/download");
    check(&[&program.display().to_string()], |_| {
        Command::new(&program)
    });
}
