//! `GET /api/subtitles/{subtitle_id}/download`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::Value;
use subcat_engine::{
    CachedFile, ContentHash, DraftValue, FileKind, MaintenanceTask, RecordDraft, RecordId,
    ReleaseId, RememberedFile, Scopes, StateEvent, Timestamp, block_on,
    internals::{Fault, Faulty},
};
use subcat_server::config::Config;
use subcat_server::ops::Operations;
use subcat_server::runtime::SystemClock;
use subcat_server::service::Actor;
use subcat_server::upstream::FetchOutcome;
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};
use subcat_tests::upstream::Upstream;

const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const OTHER: &str = "00000000-0000-4000-8000-000000000001";

/// A server with one record whose release is `r1`, its source, and a key.
struct Scene {
    server: TestServer,
    upstream: Upstream,
    api_key: String,
}

impl Scene {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        let upstream = Upstream::start();
        let server = TestServer::with(|config| {
            config.upstream.url = Some(upstream.url());
            change(config);
        });
        server.import(vec![film(ID, "x", 2004, "r1")]);
        let api_key = server.api_key();
        Self {
            server,
            upstream,
            api_key,
        }
    }

    fn with_file(content: &[u8]) -> Self {
        let scene = Self::new();
        scene.upstream.give("r1", content);
        scene
    }

    fn ask(&self, method: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let path = format!("/api/subtitles/{ID}/download");
        let mut client = self.server.connect();
        client.request(method, &path, Some(&self.api_key), fields)
    }

    fn get(&self, fields: &[(&str, &str)]) -> RawAnswer {
        self.ask("GET", fields)
    }

    fn downloads(&self) -> u64 {
        let path = format!("/api/subtitles/{ID}");
        let record = self.server.get(&path, Some(&self.api_key));
        let record: Value = serde_json::from_slice(&record.body).unwrap();
        record["downloads"].as_u64().unwrap()
    }
}

fn subtitles(lines_count: usize) -> Vec<u8> {
    let cue = |number: usize| {
        format!("{number}\r\n00:00:01,000 --> 00:00:02,000\r\n¿Qué dices, número {number}?\r\n\r\n")
    };
    (1..=lines_count).map(cue).collect::<String>().into_bytes()
}

fn check_failed(answer: &RawAnswer, status: u16, detail: &str) {
    assert_eq!(answer.status, status);
    assert_eq!(answer.text(), format!(r#"{{"detail":"{detail}"}}"#));
    assert_eq!(answer.field("content-type"), Some("application/json"));
}

/// A file that cannot be stored is fetched once at most, and not at all while the disk is full.
#[test]
fn a_file_that_cannot_be_stored_is_not_fetched_twice() {
    let upstream = Upstream::start();
    upstream.give("r1", subtitles(9));
    let disk = Arc::new(Faulty::new(Fault::NONE));
    let clock = Arc::new(SystemClock::new());
    let server = TestServer::with_disk(disk.clone(), clock, |config| {
        config.upstream.url = Some(upstream.url());
    });
    server.import(vec![film(ID, "x", 2004, "r1")]);
    let api_key = server.api_key();
    let path = format!("/api/subtitles/{ID}/download");
    disk.set_free_bytes(0);
    let answer = server.get(&path, Some(&api_key));
    check_failed(&answer, 500, "Internal Server Error");
    assert_eq!(upstream.asked_count(), 0);
    disk.set_free_bytes(u64::MAX);
    disk.set_fault(Fault {
        count: u64::MAX,
        errno: Fault::ENOSPC,
        ..Fault::at(disk.ops_count())
    });
    assert_eq!(server.get(&path, Some(&api_key)).status, 500);
    assert_eq!(upstream.asked_count(), 1);
    disk.set_fault(Fault::NONE);
    assert_eq!(server.get(&path, Some(&api_key)).status, 200);
    assert_eq!(upstream.asked_count(), 2);
}

#[test]
fn rule_7_2_a_file_is_fetched_once_and_served_from_the_cache() {
    for lines_count in [2, 2000] {
        let content = subtitles(lines_count);
        let scene = Scene::with_file(&content);
        for _ in 0..4 {
            let answer = scene.get(&[]);
            assert_eq!(answer.status, 200);
            assert_eq!(answer.body, content);
            let octets = Some("application/octet-stream");
            assert_eq!(answer.field("content-type"), octets);
            let length = content.len().to_string();
            assert_eq!(answer.field("content-length"), Some(length.as_str()));
            assert_eq!(answer.field("cache-control"), Some("private, no-cache"));
            assert_eq!(answer.field("content-encoding"), None);
        }
        assert_eq!(scene.upstream.asked_count(), 1);
    }
}

#[test]
fn rule_7_2_a_lost_file_is_fetched_again() {
    let content = subtitles(2);
    let scene = Scene::with_file(&content);
    let lost = CachedFile {
        refetch_at: None,
        is_brought: false,
        content: ContentHash([7; 32]),
        size_bytes: 10,
        checksum: 0,
        kind: FileKind::Srt,
        upstream_name: None,
    };
    let release = ReleaseId::parse("r1").unwrap();
    let remember = StateEvent::RememberFile(RememberedFile {
        release,
        file: lost,
        replaces: None,
    });
    scene.server.service.engine.apply(vec![remember]).unwrap();
    for _ in 0..2 {
        let answer = scene.get(&[]);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.body, content);
    }
    assert_eq!(scene.upstream.asked_count(), 1);
}

/// Paths of the stored files. Beside their folders `blobs/` holds the mark of its file system.
fn stored_files(server: &TestServer) -> Vec<PathBuf> {
    let blobs = server.service.config().data.join("blobs");
    let entries = std::fs::read_dir(blobs).unwrap();
    let folders = entries.map(|entry| entry.unwrap().path());
    let files = folders.filter(|path| path.is_dir()).flat_map(|folder| {
        let files = std::fs::read_dir(folder).unwrap();
        files.map(|file| file.unwrap().path())
    });
    files.collect()
}

/// Cuts every stored file to a third.
fn cut_blobs(server: &TestServer) {
    for path in stored_files(server) {
        let size_bytes = path.metadata().unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(path);
        file.unwrap().set_len(size_bytes / 3).unwrap();
    }
}

#[test]
fn rule_7_2_a_file_that_is_cut_ends_its_connection_and_is_fetched_again() {
    let content = subtitles(2000);
    let scene = Scene::with_file(&content);
    assert_eq!(scene.get(&[]).body, content);
    cut_blobs(&scene.server);
    let mut stream = TcpStream::connect(scene.server.address()).unwrap();
    let api_key = &scene.api_key;
    let head = format!("GET /api/subtitles/{ID}/download HTTP/1.1\r\nHost: x\r\n");
    let fields = format!("Authorization: Bearer {api_key}\r\n\r\n");
    stream.write_all((head + &fields).as_bytes()).unwrap();
    let mut received = Vec::new();
    // Whether the end is told as an end or as a reset is the kernel's affair.
    let _ = stream.read_to_end(&mut received);
    assert!(received.len() < content.len());
    let answer = scene.get(&[]);
    assert_eq!((answer.status, answer.body), (200, content));
    assert_eq!(scene.upstream.asked_count(), 2);
}

/// An open file keeps its content: the name of a file is not its bytes.
#[test]
fn rule_7_2_a_file_that_is_replaced_or_deleted_is_sent_as_it_was() {
    let content = subtitles(2000);
    let scene = Scene::with_file(&content);
    assert_eq!(scene.get(&[]).body, content);
    let path = stored_files(&scene.server).remove(0);
    let other = path.with_extension("other");
    std::fs::write(&other, b"wrong").unwrap();
    std::fs::rename(&other, &path).unwrap();
    assert_eq!(scene.get(&[]).body, content, "replaced");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(scene.get(&[]).body, content, "deleted");
    assert_eq!(scene.upstream.asked_count(), 1);
}

#[test]
fn rule_7_1_records_without_a_file_or_none_at_all() {
    let scene = Scene::new();
    scene.server.import(vec![RecordDraft {
        source_release_id: DraftValue::Absent,
        ..film(OTHER, "y", 2004, "")
    }]);
    let get = |id: &str| {
        let path = format!("/api/subtitles/{id}/download");
        scene.server.get(&path, Some(&scene.api_key))
    };
    let detail = "Subtitle missing source_release_id to download";
    check_failed(&get(OTHER), 400, detail);
    for id in ["x", "00000000-0000-4000-8000-00000000000f"] {
        check_failed(&get(id), 404, "Subtitle not found");
    }
    let id = RecordId::parse(OTHER).unwrap();
    scene
        .server
        .service
        .engine
        .catalog()
        .set_active(id, false)
        .unwrap();
    check_failed(&get(OTHER), 404, "Subtitle not found");
}

#[test]
fn rule_7_2_what_upstream_does_not_give_is_502() {
    let scene = Scene::new();
    let detail = "Failed to fetch subtitle from source";
    for _ in 0..3 {
        check_failed(&scene.get(&[]), 502, detail);
    }
    assert_eq!(scene.upstream.asked_count(), 1, "a failure is remembered");
    let server = TestServer::start();
    server.import(vec![film(ID, "x", 2004, "r1")]);
    let path = format!("/api/subtitles/{ID}/download");
    let api_key = server.api_key();
    check_failed(&server.get(&path, Some(&api_key)), 502, detail);
}

#[test]
fn rule_7_2_a_file_that_is_not_a_subtitle_is_400() {
    for content in [
        &b""[..],
        b"<!DOCTYPE html><html></html>",
        b"\x7fELF\x02\x01\x01\0\0",
    ] {
        let scene = Scene::with_file(content);
        check_failed(&scene.get(&[]), 400, "Failed to download subtitle");
        assert_eq!(scene.downloads(), 0);
    }
}

#[test]
fn rule_7_8_downloads_are_counted_when_they_deliver() {
    let scene = Scene::with_file(&subtitles(3));
    let etag = scene.get(&[]).field("etag").unwrap().to_owned();
    assert_eq!(scene.downloads(), 1);
    assert_eq!(scene.ask("HEAD", &[]).status, 200);
    assert_eq!(scene.downloads(), 1);
    let unchanged = [("If-None-Match", etag.as_str())];
    assert_eq!(scene.get(&unchanged).status, 304);
    assert_eq!(scene.downloads(), 2);
    assert_eq!(scene.ask("HEAD", &unchanged).status, 304);
    assert_eq!(scene.get(&[("Range", "bytes=0-3")]).status, 206);
    assert_eq!(scene.downloads(), 3);
    assert_eq!(scene.get(&[("Range", "bytes=1-3")]).status, 206);
    assert_eq!(scene.get(&[("Range", "bytes=99999-")]).status, 416);
    assert_eq!(scene.downloads(), 3);
}

#[test]
fn rule_7_8_a_request_that_breaks_off_is_not_counted() {
    let scene = Scene::with_file(&subtitles(3));
    let api_key = scene.server.api_key_with(Scopes::ALL, Some("9/60"), None).0;
    let ask = |length: usize, body: &str| {
        let mut client = scene.server.connect();
        client.send(format!(
            "GET /api/subtitles/{ID}/download HTTP/1.1\r\nHost: a\r\n\
             Authorization: Bearer {api_key}\r\nContent-Length: {length}\r\n\r\n{body}"
        ));
        client.finish();
        client.read_answer(false)
    };
    check_failed(&ask(10, "abc"), 400, "Bad Request");
    assert_eq!(scene.downloads(), 0);
    let answer = ask(3, "abc");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("x-ratelimit-remaining"), Some("8"));
    assert_eq!(scene.downloads(), 1);
}

#[test]
fn rule_7_8_downloads_are_counted_for_the_key() {
    let mut scene = Scene::with_file(&subtitles(3));
    let (text, api_key) = scene.server.api_key_with(Scopes::ALL, None, None);
    let path = format!("/api/subtitles/{ID}/download");
    for _ in 0..3 {
        assert_eq!(scene.server.get(&path, Some(&text)).status, 200);
    }
    let service = Arc::clone(&scene.server.service);
    scene.server.stop();
    service.engine.usage().sync_counters().unwrap();
    service.engine.usage().aggregate_downloads(service.now());
    let (usage, _) = service.engine.usage().api_key_totals(api_key.id).unwrap();
    assert_eq!((usage.requests, usage.downloads), (3, 3));
}

#[test]
fn rule_2_4_head_of_a_file_fetches_it() {
    let content = subtitles(3);
    let scene = Scene::with_file(&content);
    let head = scene.ask("HEAD", &[]);
    assert_eq!(head.status, 200);
    let length = content.len().to_string();
    assert_eq!(head.field("content-length"), Some(length.as_str()));
    assert!(head.body.is_empty());
    assert_eq!(scene.upstream.asked_count(), 1);
    assert_eq!(scene.get(&[]).body, content);
    assert_eq!(scene.upstream.asked_count(), 1);
}

#[test]
fn rule_7_9_entity_tags_and_conditions() {
    let scene = Scene::with_file(&subtitles(3));
    let whole = scene.get(&[]);
    let etag = whole.field("etag").unwrap();
    assert_eq!(etag.len(), 66, "a strong tag of 64 digits");
    assert_eq!(whole.field("accept-ranges"), Some("bytes"));
    for value in [etag, "*", &format!("\"x\", W/{etag}")] {
        let answer = scene.get(&[("If-None-Match", value)]);
        assert_eq!(answer.status, 304, "{value}");
        assert_eq!(answer.field("etag"), Some(etag));
        assert_eq!(answer.field("content-length"), None);
        assert_eq!(answer.field("cache-control"), Some("private, no-cache"));
        assert!(answer.field("x-ratelimit-limit").is_some());
    }
    assert_eq!(scene.get(&[("If-None-Match", "\"x\"")]).status, 200);
    let both = [("If-None-Match", etag), ("Range", "bytes=0-1")];
    assert_eq!(scene.get(&both).status, 304);
}

#[test]
fn rule_7_10_one_range_is_served() {
    for lines_count in [2, 2000] {
        let content = subtitles(lines_count);
        let size = content.len();
        let scene = Scene::with_file(&content);
        let check = |range: &str, start: usize, end: usize| {
            let fields = [("Range", range), ("Accept-Encoding", "gzip, br")];
            let answer = scene.get(&fields);
            assert_eq!(answer.status, 206, "{range}");
            assert_eq!(answer.body, content[start..end], "{range}");
            let expected = format!("bytes {start}-{}/{size}", end - 1);
            assert_eq!(answer.field("content-range"), Some(expected.as_str()));
            assert_eq!(answer.field("content-encoding"), None);
        };
        check("bytes=0-0", 0, 1);
        check("bytes=5-9", 5, 10);
        check("bytes=5-", 5, size);
        check("bytes=-7", size - 7, size);
        check("bytes=0-999999999", 0, size);
        let refused = scene.get(&[("Range", &format!("bytes={size}-"))]);
        check_failed(&refused, 416, "Range Not Satisfiable");
        let expected = format!("bytes */{size}");
        assert_eq!(refused.field("content-range"), Some(expected.as_str()));
        for range in ["bytes=0-1,3-4", "lines=1-2", "bytes=x", "bytes=9-5"] {
            let answer = scene.get(&[("Range", range)]);
            assert_eq!((answer.status, answer.body.len()), (200, size), "{range}");
        }
        let etag = scene.get(&[]).field("etag").unwrap().to_owned();
        let current = [("Range", "bytes=0-1"), ("If-Range", etag.as_str())];
        assert_eq!(scene.get(&current).status, 206);
        let stale = [("Range", "bytes=0-1"), ("If-Range", "\"x\"")];
        assert_eq!(scene.get(&stale).status, 200);
    }
}

#[test]
fn rule_7_9_a_file_that_has_changed_is_not_continued() {
    for size_lines in [3, 2000] {
        let scene = Scene::with_file(&subtitles(size_lines));
        let etag = scene.get(&[]).field("etag").unwrap().to_owned();
        let weak = format!("W/{etag}");
        let either = format!("\"x\", {etag}");
        let before = scene.downloads();
        let range = ("Range", "bytes=0-4");
        for refused in ["\"x\"", weak.as_str(), "x"] {
            let answer = scene.get(&[range, ("If-Match", refused)]);
            check_failed(&answer, 412, "Precondition Failed");
        }
        assert_eq!(scene.downloads(), before);
        for accepted in ["*", &etag, &either] {
            assert_eq!(scene.get(&[range, ("If-Match", accepted)]).status, 206);
        }
        // It goes before If-None-Match.
        let both = [("If-Match", "\"x\""), ("If-None-Match", etag.as_str())];
        assert_eq!(scene.get(&both).status, 412);
    }
}

/// A body, which is ignored, changes nothing of how its request is answered.
#[test]
fn rule_3_8_a_get_with_a_body_is_answered_like_one_without() {
    let content = subtitles(2000);
    let scene = Scene::with_file(&content);
    let etag = scene.get(&[]).field("etag").unwrap().to_owned();
    let path = format!("/api/subtitles/{ID}/download");
    let check = |name: &str, value: &str, expected: u16| {
        let body = "x".repeat(10);
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer {}\r\n\
             Content-Length: 10\r\n{name}: {value}\r\n\r\n",
            scene.api_key
        );
        let answer = scene.server.connect().ask(head + &body);
        let without = scene.get(&[(name, value)]);
        assert_eq!(answer.status, expected, "{name}");
        assert_eq!(answer.status, without.status, "{name}");
        assert_eq!(answer.body, without.body, "{name}");
        let coding = "content-encoding";
        assert_eq!(answer.field(coding), without.field(coding), "{name}");
    };
    check("If-None-Match", &etag, 304);
    check("Range", "bytes=5-9", 206);
    check("Accept-Encoding", "gzip", 200);
}

#[test]
fn rule_7_11_text_is_compressed_as_the_client_allows() {
    let content = subtitles(2000);
    let scene = Scene::with_file(&content);
    let plain_tag = scene.get(&[]).field("etag").unwrap().to_owned();
    let check = |accept: &str, expected: Option<&str>| {
        for _ in 0..2 {
            let answer = scene.get(&[("Accept-Encoding", accept)]);
            assert_eq!(answer.status, 200);
            assert_eq!(answer.field("content-encoding"), expected, "{accept}");
            let is_plain_tag = answer.field("etag") == Some(&plain_tag);
            assert_eq!(is_plain_tag, expected.is_none(), "{accept}");
            assert_eq!(answer.body.len() < content.len(), expected.is_some());
            let varying = Some("Authorization, Accept-Encoding");
            assert_eq!(answer.field("vary"), varying);
        }
    };
    check("gzip", Some("gzip"));
    check("gzip, deflate, br", Some("br"));
    check("br;q=0.5, gzip", Some("gzip"));
    check("br;q=0, gzip;q=0", None);
    check("identity", None);
    check("identity;q=0", None);
    check("*;q=0.1", Some("br"));
    check("", None);
}

/// Contents and variants as they are stored: each is written under a temporary name of its own.
struct Stored(OwnedFd);

impl Stored {
    fn by(server: &TestServer) -> Self {
        let watch = inotify::init(CreateFlags::NONBLOCK).unwrap();
        let folder = server.service.config().data.join("tmp");
        inotify::add_watch(&watch, folder, WatchFlags::CREATE).unwrap();
        Self(watch)
    }

    /// Number of files that began to be written.
    fn count(&self) -> usize {
        let mut buffer = [const { MaybeUninit::uninit() }; 4096];
        let mut events = inotify::Reader::new(&self.0, &mut buffer);
        let mut count = 0;
        while let Ok(event) = events.next() {
            let name = event.file_name().unwrap().to_bytes();
            count += usize::from(name.starts_with(b"blob-"));
        }
        count
    }
}

fn unpack(packed: &[u8], coding: &str) -> Vec<u8> {
    let mut unpacked = Vec::new();
    let unpacking = match coding {
        "gzip" => flate2::read::GzDecoder::new(packed).read_to_end(&mut unpacked),
        _ => brotli::Decompressor::new(packed, 4096).read_to_end(&mut unpacked),
    };
    unpacking.unwrap();
    unpacked
}

/// It takes far longer to make the variants than to ask for them.
#[test]
fn rule_7_11_a_variant_is_made_once_however_many_ask() {
    let content = subtitles(40_000);
    let scene = Scene::with_file(&content);
    assert_eq!(scene.get(&[]).body, content);
    let stored = Stored::by(&scene.server);
    let start = Barrier::new(32);
    std::thread::scope(|scope| {
        for client_idx in 0..32 {
            let coding = ["br", "gzip"][client_idx % 2];
            let (scene, start, content) = (&scene, &start, &content);
            scope.spawn(move || {
                start.wait();
                let answer = scene.get(&[("Accept-Encoding", coding)]);
                assert_eq!(answer.field("content-encoding"), Some(coding));
                assert!(unpack(&answer.body, coding) == *content, "{coding}");
            });
        }
    });
    assert_eq!(stored.count(), 2);
}

#[test]
fn rule_7_11_what_does_not_shrink_is_left_alone() {
    let zip = b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let tiny = b"1\n00:00:01,000 --> 00:00:02,000\na\n";
    for content in [&zip[..], tiny] {
        let scene = Scene::with_file(content);
        for _ in 0..2 {
            let answer = scene.get(&[("Accept-Encoding", "gzip")]);
            assert_eq!(answer.status, 200);
            assert_eq!(answer.field("content-encoding"), None);
            assert_eq!(answer.body, content);
        }
    }
}

#[test]
fn rule_7_5_names_come_from_the_record_upstream_or_the_id() {
    // One worker: the same one must see the changed name, after it has served the old one.
    let scene = Scene::with(|config| config.workers = 1);
    let disposition = |answer: &RawAnswer| {
        let value = answer.field("content-disposition").unwrap();
        value.to_owned()
    };
    let fields = "content-disposition: attachment; filename=\"Upstream.srt\"\r\n";
    scene
        .upstream
        .give_answer("r1", "200 OK", fields, subtitles(1));
    let expected = "attachment; filename=\"Upstream.srt\"";
    assert_eq!(disposition(&scene.get(&[])), expected);
    scene.server.import(vec![RecordDraft {
        file_name: text("../El Niño.srt"),
        ..film(ID, "x", 2004, "r1")
    }]);
    let expected = "attachment; filename=\"El Nino.srt\"; filename*=UTF-8''El%20Ni%C3%B1o.srt";
    assert_eq!(disposition(&scene.get(&[])), expected);
    scene.server.import(vec![film(OTHER, "y", 2004, "r2")]);
    scene.upstream.give("r2", subtitles(1));
    let path = format!("/api/subtitles/{OTHER}/download");
    let answer = scene.server.get(&path, Some(&scene.api_key));
    let expected = format!("attachment; filename=\"{OTHER}.srt\"");
    assert_eq!(disposition(&answer), expected);
}

/// `scripts/race` makes it ten thousand clients.
#[test]
fn rule_14_3_a_thousand_clients_are_one_fetch() {
    let clients_count = std::env::var("SUBCAT_RACE_CLIENTS");
    let clients_count: usize = clients_count.map_or(1_000, |text| text.parse().unwrap());
    let content = subtitles(100);
    let scene = Scene::with(|config| {
        config.connections.max = 2 * clients_count;
        config.connections.max_per_address = 2 * clients_count;
    });
    scene.upstream.give("r1", content.clone());
    scene.upstream.hold();
    let request = format!(
        "GET /api/subtitles/{ID}/download HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        scene.api_key
    );
    let mut clients = Vec::new();
    for _ in 0..clients_count {
        let mut client = scene.server.connect();
        client.send(&request);
        clients.push(client);
    }
    // All wait for the one fetch.
    let joined = || scene.server.service.upstream.counts();
    while joined().outcome(FetchOutcome::Joined) + 1 < clients_count as u64 {
        std::thread::yield_now();
    }
    // Searches are served while the fetch hangs.
    let started = Instant::now();
    let path = "/api/subtitles/search?title=x";
    assert_eq!(scene.server.get(path, Some(&scene.api_key)).status, 200);
    assert!(started.elapsed() < Duration::from_secs(5));
    scene.upstream.release();
    for client in &mut clients {
        let answer = client.read_answer(false);
        assert_eq!(answer.status, 200);
        assert!(answer.body == content);
    }
    assert_eq!(scene.upstream.asked_count(), 1);
    assert_eq!(scene.downloads(), clients_count as u64);
}

#[test]
fn rule_14_3_a_fetch_goes_on_when_its_client_has_gone() {
    let scene = Scene::with_file(&subtitles(3));
    scene.upstream.hold();
    let path = format!("/api/subtitles/{ID}/download");
    let mut client = scene.server.connect();
    client.send(format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\r\n",
        scene.api_key
    ));
    while scene.upstream.asked_count() == 0 {
        std::thread::yield_now();
    }
    drop(client);
    scene.upstream.release();
    let release = ReleaseId::parse("r1").unwrap();
    let started = Instant::now();
    while scene
        .server
        .service
        .engine
        .files()
        .cached_file(&release)
        .is_none()
    {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "it was not stored"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(scene.get(&[]).status, 200);
    assert_eq!(scene.upstream.asked_count(), 1);
}

/// The others wait for their turn.
#[test]
fn rule_14_3_no_more_fetches_run_than_the_setting_allows() {
    const RELEASES_COUNT: usize = 20;
    let scene = Scene::with(|config| config.upstream.concurrency = 2);
    let ids: Vec<String> = (0..RELEASES_COUNT)
        .map(|number| format!("00000000-0000-4000-8000-{number:012}"))
        .collect();
    let releases: Vec<String> = (0..RELEASES_COUNT)
        .map(|number| format!("n{number}"))
        .collect();
    let records = ids.iter().zip(&releases);
    scene.server.import(
        records
            .map(|(id, release)| film(id, "x", 2004, release))
            .collect(),
    );
    for release in &releases {
        scene.upstream.give(release, subtitles(1));
    }
    scene.upstream.hold();
    let upstream = &scene.server.service.upstream;
    std::thread::scope(|scope| {
        let download = |id: &String| {
            let path = format!("/api/subtitles/{id}/download");
            scene.server.get(&path, Some(&scene.api_key)).status
        };
        let clients: Vec<_> = ids
            .iter()
            .map(|id| scope.spawn(move || download(id)))
            .collect();
        while upstream.counts().in_flight() < RELEASES_COUNT as u64
            || scene.upstream.asked_count() < 2
        {
            std::thread::yield_now();
        }
        scene.upstream.release();
        for client in clients {
            assert_eq!(client.join().unwrap(), 200);
        }
    });
    assert_eq!(scene.upstream.asked_count(), RELEASES_COUNT);
    assert_eq!(scene.upstream.together_max(), 2);
}

/// The page and the command do the same.
#[test]
fn rule_14_6_a_forgotten_file_is_fetched_anew_from_the_next_request_on() {
    for lines_count in [2, 2000] {
        let (first, second) = (subtitles(lines_count), subtitles(lines_count + 1));
        let scene = Scene::with_file(&first);
        let forget = || {
            let operations = Operations::of_service(&scene.server.service, Actor::CommandLine);
            let release = ReleaseId::parse("r1").unwrap();
            block_on(operations.forget_file(&release, false))
        };
        assert!(forget().is_err(), "nothing is stored yet");
        for _ in 0..3 {
            assert_eq!(scene.get(&[]).body, first);
        }
        scene.upstream.give("r1", second.clone());
        assert_eq!(scene.get(&[]).body, first);
        forget().unwrap();
        for _ in 0..3 {
            assert_eq!(scene.get(&[]).body, second);
        }
        assert_eq!(scene.upstream.asked_count(), 2);
    }
}

/// Without a source nothing leaves, whatever the limit: nobody could give it again.
#[test]
fn rule_14_8_files_beyond_the_limit_leave_and_are_fetched_anew() {
    for has_limit in [true, false] {
        let scene = Scene::with(|config| config.files_cache_bytes = usize::from(has_limit));
        let content = subtitles(2000);
        scene.upstream.give("r1", content.as_slice());
        assert_eq!(scene.get(&[]).body, content);
        assert_eq!(scene.get(&[]).body, content);
        assert_eq!(scene.upstream.asked_count(), 1);
        let service = &scene.server.service;
        let release = ReleaseId::parse("r1").unwrap();
        // An hour after it was served.
        let later = Timestamp::from_seconds(service.now().seconds() + 3600).unwrap();
        let files = service.engine.files();
        let task = MaintenanceTask::EvictFiles;
        assert!(!service.engine.run_task(task, later).unwrap());
        let is_there = files.cached_file(&release).is_some();
        assert_eq!(is_there, !has_limit);
        assert_eq!(stored_files(&scene.server).is_empty(), has_limit);
        assert_eq!(scene.downloads(), 2, "counts stay");
        assert_eq!(scene.get(&[]).body, content);
        assert_eq!(scene.downloads(), 3);
        let asked_count = if has_limit { 2 } else { 1 };
        assert_eq!(scene.upstream.asked_count(), asked_count);
    }
}
