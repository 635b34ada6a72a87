//! Segment files that somebody cuts under a running server: requests may fail, never lie, and the
//! index is built anew.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use subcat_engine::{RecordDraft, Timestamp};
use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::{TestServer, film, text};

/// Mapped bytes go by pages; what lies behind a cut in the same page reads as zeros.
const PAGE_BYTES: u64 = 4096;
const RECORDS_COUNT: u64 = 3_000;
/// Time for which searches may fail. On a machine that is not overloaded it is 0.3 s.
const FAILING_LIMIT: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(60);

fn now() -> Timestamp {
    Timestamp::from_seconds(1_700_000_000).unwrap()
}

/// A server whose records are all in one segment file, and the path of that file.
fn server() -> (TestServer, PathBuf) {
    let server = TestServer::start();
    let names: Vec<(String, String, String)> = (1..=RECORDS_COUNT)
        .map(|number| (id(number), format!("Alien {number}"), number.to_string()))
        .collect();
    server.import(names.iter().map(draft).collect());
    make_segment(&server);
    let path = segment_path(&server);
    (server, path)
}

fn draft((id, title, release): &(String, String, String)) -> RecordDraft<'_> {
    RecordDraft {
        description: text("una línea con algo de texto para ocupar sitio"),
        ..film(id, title, 1979, release)
    }
}

fn id(number: u64) -> String {
    format!("00000000-0000-4000-8000-{number:012x}")
}

fn make_segment(server: &TestServer) {
    server.service.engine.catalog().request_reindex();
    while server.service.engine.maintain(now()).unwrap() {}
}

fn segment_path(server: &TestServer) -> PathBuf {
    let folder = server.service.config().data.join("index");
    let mut files = std::fs::read_dir(folder).unwrap();
    let path = files.next().unwrap().unwrap().path();
    assert!(files.next().is_none(), "all records are in one segment");
    path
}

/// Requests that touch every kind of section.
fn paths() -> Vec<String> {
    let mut paths: Vec<String> = [
        "query=alien",
        "query=texto",
        "title=lien",
        "query=aliem",
        "title=alien&year=1979&limit=200",
        "query=linea&video_type=movie",
        "query=alien+77",
    ]
    .iter()
    .map(|query_string| format!("/api/subtitles/search?{query_string}"))
    .collect();
    let ids = (1..=RECORDS_COUNT).step_by(300).map(id);
    paths.extend(ids.map(|id| format!("/api/subtitles/{id}")));
    paths
}

fn ask(server: &TestServer, api_key: &str) -> Vec<RawAnswer> {
    let mut client = server.connect();
    let mut get = |path: &String| {
        let answer = client.get(path, Some(api_key));
        if answer.field("connection") == Some("close") {
            client = Client::connect(server.address());
        }
        answer
    };
    paths().iter().map(&mut get).collect()
}

/// Count of the answers that are as before the damage. The others say that they are not: a failure,
/// or an answer without the damaged part.
fn right_count(answers: &[RawAnswer], expected: &[RawAnswer]) -> usize {
    let is_right = |(answer, expected): &(&RawAnswer, &RawAnswer)| match answer.status {
        200 if answer.field("x-subcat-partial").is_some() => false,
        200 => {
            assert_eq!(answer.text(), expected.text());
            true
        }
        503 => {
            assert!(answer.field("retry-after").is_some(), "{}", answer.text());
            false
        }
        status => {
            assert_eq!(status, 500);
            assert_eq!(answer.text(), r#"{"detail":"Internal Server Error"}"#);
            false
        }
    };
    answers.iter().zip(expected).filter(is_right).count()
}

#[test]
fn a_segment_that_is_cut_under_the_server_never_lies_and_is_built_anew() {
    let (server, path) = server();
    let api_key = server.api_key();
    let expected = ask(&server, &api_key);
    assert!(expected.iter().all(|answer| answer.status == 200));
    let pages_count = path.metadata().unwrap().len() / PAGE_BYTES;
    let mut failed_count = 0;
    for left_pages in [0, 1, pages_count / 3, pages_count / 2, pages_count - 1] {
        let file = OpenOptions::new().write(true).open(segment_path(&server));
        file.unwrap().set_len(left_pages * PAGE_BYTES).unwrap();
        let right = right_count(&ask(&server, &api_key), &expected);
        failed_count += expected.len() - right;
        // A worker that has its answers in memory meets no damage: another may be the first. And a
        // thread of the server may be at work on it already.
        let began = Instant::now();
        loop {
            while server.service.engine.maintain(now()).unwrap() {}
            if right_count(&ask(&server, &api_key), &expected) == expected.len() {
                break;
            }
            assert!(began.elapsed() < PATIENCE, "{left_pages} pages");
        }
    }
    assert!(
        20 < failed_count,
        "only {failed_count} requests met the gap"
    );
}

#[test]
fn a_segment_that_lost_some_bytes_or_its_name_is_built_anew() {
    let (server, path) = server();
    let api_key = server.api_key();
    let expected = ask(&server, &api_key);
    let size_bytes = path.metadata().unwrap().len();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(size_bytes - 1).unwrap();
    while server.service.engine.maintain(now()).unwrap() {}
    std::fs::remove_file(segment_path(&server)).unwrap();
    while server.service.engine.maintain(now()).unwrap() {}
    assert_eq!(segment_path(&server).metadata().unwrap().len(), size_bytes);
    let findings = server.service.engine.verify(false).unwrap();
    assert_eq!(findings.len(), 2, "{findings:?}");
    assert!(findings.iter().all(|finding| finding.is_repaired));
    for (answer, expected) in ask(&server, &api_key).iter().zip(&expected) {
        assert_eq!(answer.text(), expected.text());
    }
}

/// The server's own threads take the segment out, and build it again from the records. Until then
/// its records are in no answer, and searches say so (503, or 200 with `x-subcat-partial`).
#[test]
fn a_damaged_segment_does_not_fail_searches_for_long() {
    let (server, path) = server();
    let api_key = server.api_key();
    let expected = ask(&server, &api_key);
    let bytes = path.metadata().unwrap().len();
    let file = OpenOptions::new().write(true).open(&path);
    file.unwrap().set_len(bytes / 2).unwrap();
    let began = Instant::now();
    let mut failed_at = Duration::ZERO;
    loop {
        let answers = ask(&server, &api_key);
        if answers.iter().any(|answer| answer.status == 500) {
            failed_at = began.elapsed();
        }
        if right_count(&answers, &expected) == expected.len() {
            break;
        }
        assert!(
            began.elapsed() < PATIENCE,
            "the answers are not right again"
        );
    }
    println!("the last 500 came {failed_at:?} after the damage");
    assert!(failed_at < FAILING_LIMIT, "{failed_at:?}");
}
