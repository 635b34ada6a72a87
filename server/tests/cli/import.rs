//! `import` and `export`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};

use crate::harness::{Place, exists, field_names, id, line};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

fn summary(inserted: u64, updated: u64, unchanged: u64, refused: u64) -> Value {
    json!({
        "inserted": inserted, "updated": updated, "unchanged": unchanged,
        "refused": refused, "ignored_fields": 0,
    })
}

#[test]
fn records_are_inserted_updated_or_unchanged() {
    Place::in_both_modes(|place| {
        let two = [line(1, "Heat", ""), line(2, "Ronin", "")];
        assert_eq!(place.import(&two), summary(2, 0, 0, 0));
        let again = [
            line(1, "Heat", r#","year":1995"#),
            line(2, "Ronin", ""),
            line(3, "Up", ""),
        ];
        assert_eq!(place.import(&again), summary(1, 1, 1, 0));
        let text = place.run_with(&["import", "-"], line(3, "Up", "")).ok();
        assert_eq!(text, "0 inserted, 0 updated, 1 unchanged, 0 refused\n");
    });
}

#[test]
fn the_json_summary_has_its_fields_in_order() {
    let place = Place::stopped();
    let text = place
        .run_with(&["import", "-", "--json"], line(1, "Heat", ""))
        .ok();
    let names = [
        "inserted",
        "updated",
        "unchanged",
        "refused",
        "ignored_fields",
    ];
    assert_eq!(field_names(&text), names);
}

#[test]
fn an_import_leaves_its_index_merged() {
    let place = Place::stopped();
    for import_idx in 0..4 {
        // More than the delta takes: each import makes a segment, and the fourth merges them.
        let ids = import_idx * 4_100..(import_idx + 1) * 4_100;
        let lines: Vec<String> = ids.map(|number| line(number + 1, "Heat", "")).collect();
        assert_eq!(place.import(&lines), summary(4_100, 0, 0, 0));
    }
    let text = place.run(&["stats", "--json"]).ok();
    let stats: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(stats["file_segments"], 1);
}

#[test]
fn bad_lines_are_reported_and_the_others_loaded() {
    Place::in_both_modes(|place| {
        let lines = [
            line(1, "Heat", r#","studio":"x","country":null"#),
            "nonsense".to_owned(),
            line(2, "", ""),
            String::new(),
            line(3, "Ronin", r#","year":"soon""#),
            line(4, "Up", ""),
        ];
        let file = place.write("a.jsonl", lines.join("\n"));
        let done = place.run(&["import", &file, "--json"]);
        let reports: Vec<&str> = done.stderr.lines().collect();
        assert_eq!(reports.len(), 3, "{reports:?}");
        assert!(
            reports[0].starts_with(&format!("{file} line 2: not JSON")),
            "{reports:?}"
        );
        assert!(
            reports[1].starts_with(&format!("{file} line 3: title: ")),
            "{reports:?}"
        );
        assert!(
            reports[2].starts_with(&format!("{file} line 5: year: ")),
            "{reports:?}"
        );
        let expected = json!({
            "inserted": 2, "updated": 0, "unchanged": 0, "refused": 3, "ignored_fields": 2,
        });
        assert_eq!(done.json(), expected);
        assert_eq!(place.export().len(), 2);
    });
}

#[test]
fn help_and_rules_name_every_field() {
    let place = Place::stopped();
    let help = place.run(&["import", "--help"]).ok();
    let manual = place.run(&["man", "import"]).ok().replace('\\', "");
    let rules = include_str!("../../API.md");
    let full = line(1, "Heat", r#","source_release_id":"1","file_name":"a.srt""#)
        .replace("movie", "episode")
        .replace(
            '}',
            r#","season":1,"episode":1,"year":1995,"catalog_id":"tt1","#,
        )
        + r#""parent_catalog_id":"tt2","description":"a","uploader_name":"b","downloads":3,"#
        + r#""is_active":false,"language":"en"}"#;
    place.import(&[full]);
    let exported = place.export();
    let names: Vec<&String> = exported[0].as_object().unwrap().keys().collect();
    assert_eq!(names.len(), 16);
    for name in names {
        assert!(help.contains(name.as_str()), "{name}: {help}");
        assert!(manual.contains(name.as_str()), "{name}: {manual}");
        assert!(rules.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn a_row_that_is_too_long_is_reported_and_the_others_are_loaded() {
    Place::in_both_modes(|place| {
        let row = |number: u32, text: &str| {
            format!(
                "{},movie,Heat,2024-01-01T00:00:00.12345678912Z,{text}\n",
                id(number)
            )
        };
        let header = "id,video_type,title,posted_at,description\n";
        let long = format!("\"{}\"", "a\n".repeat(700_000));
        let rows = [header, &row(1, ""), &row(2, &long), &row(3, "b")].concat();
        let done = place.run_with(&["import", "--json", "--format", "csv", "-"], rows);
        assert_eq!(done.stderr, "stdin line 3: longer than 1048576 bytes\n");
        assert_eq!(done.json(), summary(2, 0, 0, 1));
        assert_eq!(place.export().len(), 2);
        let open = [header, &row(4, "\"a"), &row(5, &"a".repeat(2_000_000))].concat();
        let sentence = place
            .run_with(&["import", "--format", "csv", "-"], open)
            .fails(1);
        assert!(sentence.contains("line 2: opens a quote"), "{sentence}");
        assert!(sentence.contains("nothing was loaded"), "{sentence}");
    });
}

#[test]
fn an_interrupted_import_says_how_far_it_came() {
    Place::in_both_modes(|place| {
        let mut command = place.command(&["import", "-"]);
        command.stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        writeln!(pipe, "{}\nnonsense", line(1, "Heat", "")).unwrap();
        // More than is gathered before it is sent.
        let filler = format!("{}\n", line(2, "Ronin", ""));
        pipe.write_all(filler.repeat(4_000).as_bytes()).unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        assert!(said.starts_with("stdin line 2: not JSON"), "{said}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        said.clear();
        stderr.read_to_string(&mut said).unwrap();
        assert_eq!(said, "subcat: interrupted: nothing was loaded\n");
        assert_eq!(child.wait().unwrap().code(), Some(1));
        place.import(&[line(3, "Up", "")]);
        assert_eq!(place.export().len(), 1);
    });
}

#[test]
fn lines_that_are_followed_are_loaded_as_they_come() {
    Place::in_both_modes(|place| {
        let mut command = place.command(&["import", "--follow", "-", "--json"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        for number in 1..=2 {
            // A report comes when its batch is loaded.
            writeln!(pipe, "{}\nnonsense", line(number, "Heat", "")).unwrap();
            let mut said = String::new();
            stderr.read_line(&mut said).unwrap();
            let expected = format!("stdin line {}: not JSON", number * 2);
            assert!(said.starts_with(&expected), "{said}");
        }
        pipe.write_all(line(3, "Up", "").as_bytes()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result, summary(3, 0, 0, 2));
        assert_eq!(place.export().len(), 3);
    });
}

#[test]
fn a_file_is_followed_until_somebody_says_stop() {
    Place::in_both_modes(|place| {
        let file = place.write("a.jsonl", format!("{}\nx\n", line(1, "Heat", "")));
        let mut command = place.command(&["import", "--follow", &file]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("a.jsonl line 2: not JSON"), "{said}");
        let mut growing = std::fs::OpenOptions::new().append(true).open(&file);
        writeln!(growing.as_mut().unwrap(), "{}\ny", line(2, "Up", "")).unwrap();
        said.clear();
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("a.jsonl line 4: not JSON"), "{said}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, "2 inserted, 0 updated, 0 unchanged, 2 refused\n");
        assert_eq!(place.export().len(), 2);
    });
    let place = Place::stopped();
    for wrong in [
        &["import", "--follow", "a", "b"][..],
        &["import", "http://127.0.0.1:9/a.jsonl"],
        &["import", "--every", "5", "a"],
        &["import", "--follow", "--every", "0", "a"],
        &["import", "--follow", "--strict", "a"],
    ] {
        assert_eq!(place.run(wrong).status, 2, "{wrong:?}");
    }
}

#[test]
fn csv_is_followed_over_a_rotation() {
    Place::in_both_modes(|place| {
        let header = "id,video_type,title,posted_at";
        let row = |number: u32, title: &str| format!("{},movie,{title},2024-01-01", id(number));
        let file = place.write("a.csv", format!("{header}\n{}\nx\n", row(1, "\"He\nat\"")));
        let mut command = place.command(&["import", "--follow", &file]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut said = String::new();
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("a.csv line 4: "), "{said}");
        std::fs::rename(&file, place.path("a.csv.1")).unwrap();
        let other = "title,id,video_type,posted_at";
        let up = format!("Up,{},movie,2024-01-01", id(2));
        place.write("a.csv", format!("{other}\n{up}\ny\n"));
        said.clear();
        stderr.read_line(&mut said).unwrap();
        assert!(said.contains("a.csv line 3: "), "{said}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text, "2 inserted, 0 updated, 0 unchanged, 2 refused\n");
        let titles: Vec<Value> = place.export().iter().map(|r| r["title"].clone()).collect();
        assert_eq!(titles, ["He\nat", "Up"]);
    });
}

/// A server of files that gives each connection the next answer; returns its address and the
/// requests that it has got.
fn file_server(answers: Vec<Vec<u8>>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, requests) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            while !request.ends_with("\r\n\r\n") {
                reader.read_line(&mut request).unwrap();
            }
            stream.write_all(&answer).unwrap();
            // The test may have seen enough.
            let _ = sender.send(request);
        }
    });
    (address, requests)
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

#[test]
fn a_url_is_followed() {
    Place::in_both_modes(|place| {
        let rows = |title: &str| {
            let csv = format!(
                "id,video_type,title,posted_at\n{},movie,{title},2024-01-01\n",
                id(1)
            );
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(csv.as_bytes()).unwrap();
            gzip.finish().unwrap()
        };
        let mut cut = answer("200 OK\r\nETag: \"b\"", &rows("Ronin"));
        cut.truncate(cut.len() - 9);
        let (address, requests) = file_server(vec![
            answer("200 OK\r\nETag: \"a\"", &rows("Heat")),
            answer("304 Not Modified", b""),
            answer("502 Bad Gateway", b""),
            cut,
            answer("200 OK\r\nETag: \"b\"", &rows("Ronin")),
            answer("304 Not Modified", b""),
        ]);
        let url = format!("http://{address}/catalog.csv.gz?token=secret");
        let mut command = place.command(&["import", "--follow", &url, "--every", "1", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let seen: Vec<String> = (0..6).map(|_| requests.recv().unwrap()).collect();
        let tag_of = |request: &String| {
            let tag = request.split("if-none-match: ").nth(1)?;
            tag.lines().next().map(str::to_owned)
        };
        let tags: Vec<Option<String>> = seen.iter().map(tag_of).collect();
        let a = || Some("\"a\"".to_owned());
        assert_eq!(tags, [None, a(), a(), a(), a(), Some("\"b\"".to_owned())]);
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result, summary(1, 1, 0, 0));
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{said}");
        assert!(lines[0].contains("answered 502"), "{said}");
        assert!(lines[1].contains("nothing was loaded"), "{said}");
        assert!(!said.contains("secret"), "{said}");
        assert_eq!(place.export()[0]["title"], "Ronin");
    });
    let place = Place::stopped();
    let (address, _) = file_server(vec![answer("404 Not Found", b"")]);
    let url = format!("http://{address}/a.jsonl");
    let sentence = place.run(&["import", "--follow", &url]).fails(1);
    assert!(sentence.contains("answered 404"), "{sentence}");
}

#[test]
fn nothing_loaded_and_something_refused_is_status_1() {
    Place::in_both_modes(|place| {
        let csv = place.write("a.csv", "video_type,title\nmovie,Heat\n");
        let done = place.run(&["import", "--format", "jsonl", &csv]);
        assert_eq!(done.status, 1, "{done:?}");
        let said = "0 inserted, 0 updated, 0 unchanged, 2 refused\n";
        assert_eq!(done.stdout, said, "{done:?}");
        let dry_run = place.run(&["import", "--dry-run", "--format", "jsonl", &csv]);
        assert_eq!(dry_run.status, 1, "{dry_run:?}");
        let file = place.write("a.jsonl", line(1, "Heat", ""));
        place.run(&["import", &file]).ok();
        place.write("a.jsonl", [line(1, "Heat", ""), "x".into()].join("\n"));
        let unchanged = place.run(&["import", &file]).ok();
        assert_eq!(unchanged, "0 inserted, 0 updated, 1 unchanged, 1 refused\n");
        let empty = place.write("empty.jsonl", "");
        place.run(&["import", &empty]).ok();
    });
}

#[test]
fn strict_loads_all_or_nothing() {
    Place::in_both_modes(|place| {
        let file = place.write("a.jsonl", [line(1, "Heat", ""), line(2, "", "")].join("\n"));
        let done = place.run(&["import", "--strict", &file]);
        assert_eq!(done.status, 1, "{done:?}");
        let last = done.stderr.lines().last().unwrap();
        assert!(last.contains("1 of 2 lines are refused"), "{done:?}");
        assert!(last.contains("nothing was loaded"), "{done:?}");
        assert!(place.export().is_empty());
        let file = place.write("b.jsonl", line(1, "Heat", ""));
        assert_eq!(
            place.run(&["import", "--strict", "--json", &file]).json(),
            summary(1, 0, 0, 0)
        );
    });
}

#[test]
fn a_dry_run_says_what_would_happen_and_loads_nothing() {
    Place::in_both_modes(|place| {
        place.import(&[line(1, "Heat", ""), line(2, "Ronin", "")]);
        let lines = [
            line(1, "Heat", ""),
            line(2, "Ronin", r#","year":1998"#),
            line(3, "Up", ""),
            line(3, "Up again", ""),
            line(4, "", ""),
        ];
        let other = ["import", "-", "--dry-run", "--json", "--data", "none"];
        let done = place.run_with(&other, lines[..2].join("\n"));
        assert_eq!(done.json(), summary(2, 0, 0, 0));
        assert!(!exists(&place.path("none")));
        let done = place.run_with(&["import", "-", "--dry-run", "--json"], lines.join("\n"));
        assert!(done.stderr.contains("stdin line 5: title: "), "{done:?}");
        assert_eq!(done.json(), summary(1, 1, 1, 1));
        assert_eq!(place.export().len(), 2);
    });
}

#[test]
fn the_last_of_two_lines_with_one_id_counts_across_files() {
    Place::in_both_modes(|place| {
        let first = place.write("a.jsonl", line(1, "Heat", ""));
        let second = place.write("b.jsonl", line(1, "Ronin", ""));
        let done = place.run(&["import", &first, &second, "--json"]);
        assert_eq!(done.json(), summary(1, 0, 0, 0));
        assert_eq!(place.export()[0]["title"], "Ronin");
    });
}

#[test]
fn packed_files_csv_and_stdin_are_read() {
    Place::in_both_modes(|place| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(line(1, "Heat", "").as_bytes()).unwrap();
        let gzip = place.write("a.jsonl.gz", gzip.finish().unwrap());
        let zstd = zstd::encode_all(line(2, "Ronin", "").as_bytes(), 1).unwrap();
        let zstd = place.write("b.jsonl.zst", zstd);
        let row = format!("{},movie,\"Up, up\",2009,2024-01-01,false,", id(3));
        let csv = format!("id,video_type,title,year,posted_at,is_active,season\n{row}\n");
        let csv = place.write("c.csv", &csv);
        let done = place.run(&["import", "--json", &gzip, &zstd, &csv]);
        assert_eq!(done.json(), summary(3, 0, 0, 0));
        let exported = place.export();
        assert_eq!(exported[2]["title"], "Up, up");
        assert_eq!(exported[2]["year"], 2009);
        assert_eq!(exported[2]["is_active"], false);
        let rows = format!(
            "id,video_type,title,posted_at\n{},movie,Alien,2024-01-01\n",
            id(4)
        );
        let done = place.run_with(&["import", "--json", "--format", "csv", "-"], rows);
        assert_eq!(done.json(), summary(1, 0, 0, 0));
    });
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_loaded() {
    Place::in_both_modes(|place| {
        let good = place.write("a.jsonl", line(1, "Heat", ""));
        let sentence = place.run(&["import", &good, "missing.jsonl"]).fails(1);
        assert!(sentence.contains("missing.jsonl"), "{sentence}");
        let sentence = place.run(&["import", &good, "."]).fails(1);
        assert!(sentence.contains("is a directory"), "{sentence}");
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(line(2, "Ronin", "").as_bytes()).unwrap();
        let mut cut = gzip.finish().unwrap();
        cut.truncate(cut.len() - 5);
        let cut = place.write("cut.jsonl.gz", cut);
        let sentence = place.run(&["import", &good, &cut]).fails(1);
        assert!(sentence.contains("cut.jsonl.gz"), "{sentence}");
        assert!(sentence.contains("nothing was loaded"), "{sentence}");
        let csv = place.write("a.csv", "a,b\n1,2\n");
        let sentence = place.run(&["import", &csv]).fails(1);
        assert!(
            sentence.contains("names no field of a record"),
            "{sentence}"
        );
        place.import(&[]);
        assert!(place.export().is_empty());
    });
}

#[test]
fn an_export_imports_as_the_same_catalog() {
    let source = Place::stopped();
    let full = concat!(
        r#","year":1995,"catalog_id":"tt0113277","parent_catalog_id":"tt0000001","#,
        r#""description":"a\r\nb \"c\" ñ 🎬","uploader_name":"x","downloads":4294967295,"#,
        r#""is_active":false,"source_release_id":"a.b-c_1","language":"es-MX","file_name":"ñ.srt""#
    );
    let episode = line(3, "Lost", r#","season":1,"episode":2"#).replace("movie", "episode");
    source.import(&[line(2, "Heat", full), line(1, "Ronin", ""), episode]);
    let text = source.run(&["export"]).ok();
    assert_eq!(text.lines().count(), 3);
    assert!(!text.contains("null"), "{text}");
    let ids: Vec<Value> = source
        .export()
        .iter()
        .map(|record| record["id"].clone())
        .collect();
    assert_eq!(ids, [id(1), id(2), id(3)]);
    Place::in_both_modes(|target| {
        let done = target.run_with(&["import", "-", "--json"], &text);
        assert_eq!(done.json(), summary(3, 0, 0, 0));
        assert_eq!(target.run(&["export", "-"]).ok(), text);
        target.run(&["export", "out.jsonl"]).ok();
        assert_eq!(
            std::fs::read_to_string(target.path("out.jsonl")).unwrap(),
            text
        );
        assert!(!exists(&target.path("out.jsonl.partial")));
        let sentence = target.run(&["export", "no/such/dir/out.jsonl"]).fails(1);
        assert!(sentence.contains("no/such/dir"), "{sentence}");
    });
}

#[test]
fn what_is_imported_into_a_running_server_is_searchable_when_import_returns() {
    let place = Place::serving();
    let key = place.create_key(&[]);
    place.import(&[line(1, "Heat", r#","year":1995"#)]);
    let answer = place
        .server()
        .get("/api/subtitles/search?title=heat", Some(&key));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["total"], 1);
    assert_eq!(answer.json()["items"][0]["id"], id(1));
}

/// On a terminal, which `script` (util-linux) provides, there is a bar.
#[test]
fn a_terminal_gets_a_bar() {
    let place = Place::stopped();
    // Enough to be seen: the bar is drawn twenty times a second at most.
    let lines: Vec<String> = (1..20_000).map(|n| line(n, "Heat", "")).collect();
    let path = place.write("lines", lines.join("\n"));
    let import = place.command(&["import", &path]);
    let program = import.get_program().to_str().unwrap();
    let typed = format!("{program} import {path}");
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &typed, "/dev/null"]);
    command
        .env("SUBCAT_DATA", place.path("data"))
        .env("TERM", "xterm");
    let done = command.stdin(Stdio::null()).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{shown}");
    // Bytes that were read, of all.
    let is_bar = shown.contains("MiB/") && shown.contains("lines read");
    assert!(is_bar, "{shown}");
    assert!(shown.contains("records loaded"), "{shown}");
    // It leaves the line to the summary.
    assert!(
        shown
            .trim_end()
            .ends_with("19999 inserted, 0 updated, 0 unchanged, 0 refused")
    );
}

#[test]
fn a_table_of_others_is_loaded_with_its_files() {
    Place::in_both_modes(|place| {
        let subtitle = "1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
        let table = "titulo;anio;idioma;archivo;URL\n\
             Ronin;1998;Spanish;a.srt;http://e/1\n\
             Heat;1995;Klingon;a.srt;\n\
             Up;2009;es;b.srt;\n";
        let file = place.write("a.srt", subtitle);
        let folder = file.strip_suffix("/a.srt").unwrap().to_owned();
        let name = place.write("list.csv", table);
        let done = place.run(&[
            "import",
            &name,
            "--map",
            "file=archivo",
            "--files",
            &folder,
            "--json",
        ]);
        let reports: Vec<&str> = done.stderr.lines().collect();
        let expected = [
            format!("{name} line 3: language: Klingon"),
            format!("{name} line 4: no such file"),
        ];
        assert_eq!(reports, expected);
        assert_eq!(done.json()["inserted"], 1);
        let record = &place.export()[0];
        assert_eq!(record["title"], "Ronin");
        assert_eq!(record["file_name"], "a.srt");
        let release = record["source_release_id"].as_str().unwrap();
        assert_eq!(release, "f0c5cc31f6b68677f03ad8f494b6c6f50");
        let shown: Value = place.run(&["file", "show", release, "--json"]).json();
        assert_eq!(shown["size_bytes"], subtitle.len());
        let refused = place.run(&["file", "forget", release]);
        assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
        place.run(&["file", "forget", release, "--force"]).ok();
    });
}

#[test]
fn unknown_fields_are_named_and_refused_by_strict() {
    Place::in_both_modes(|place| {
        let lines = line(1, "Heat", r#","saeson":1,"studio":"x""#);
        let file = place.write("a.jsonl", lines);
        let text = place.run(&["import", &file]).ok();
        let expected = "1 inserted, 0 updated, 0 unchanged, 0 refused \
                        (2 unknown fields ignored: saeson (is it season?), studio)\n";
        assert_eq!(text, expected);
        let strict = place.run(&["import", &file, "--strict"]);
        assert!(
            strict.stderr.contains("saeson (is it season?)"),
            "{}",
            strict.stderr
        );
    });
}

#[test]
fn what_is_not_a_table_ends_with_one_message() {
    let place = Place::stopped();
    let file = place.write(
        "a.csv",
        format!("PK\u{3}\u{4}{}xl/workbook.xml", "\0".repeat(99)),
    );
    let done = place.run(&["import", &file]);
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    assert!(
        done.stderr.contains("a spreadsheet (xlsx)"),
        "{}",
        done.stderr
    );
}
