//! Text downloads, and `GET /api/subtitles/{subtitle_id}/files`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use subcat_engine::{DraftValue, MaintenanceTask, RecordDraft, ReleaseId, Scopes};
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};
use subcat_tests::upstream::Upstream;
use subcat_tests::zip::zip_of;

const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const SRT: &[u8] = b"1\r\n00:00:01,000 --> 00:00:02,000\r\n\xBFQu\xE9?\r\n\r\n";

/// A server with one record whose release is `r1`, its source, and a key.
struct Scene {
    server: TestServer,
    upstream: Upstream,
    api_key: String,
}

impl Scene {
    fn of_film(content: &[u8]) -> Self {
        Self::of(film(ID, "Faro", 2004, "r1"), content)
    }

    fn of_episodes(content: &[u8]) -> Self {
        let record = RecordDraft {
            video_type: text("episode"),
            year: DraftValue::Absent,
            season: DraftValue::Integer(1),
            ..film(ID, "Faro", 2004, "r1")
        };
        Self::of(record, content)
    }

    fn of(record: RecordDraft<'_>, content: &[u8]) -> Self {
        let upstream = Upstream::start();
        upstream.give("r1", content);
        let server = TestServer::with(|config| config.upstream.url = Some(upstream.url()));
        server.import(vec![record]);
        let api_key = server.api_key();
        Self {
            server,
            upstream,
            api_key,
        }
    }

    fn ask(&self, method: &str, path: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let path = format!("/api/subtitles/{ID}/{path}");
        let mut client = self.server.connect();
        client.request(method, &path, Some(&self.api_key), fields)
    }

    fn get(&self, path: &str) -> RawAnswer {
        self.ask("GET", path, &[])
    }

    fn downloads(&self) -> u64 {
        let path = format!("/api/subtitles/{ID}");
        let record = self.server.get(&path, Some(&self.api_key));
        let record: Value = serde_json::from_slice(&record.body).unwrap();
        record["downloads"].as_u64().unwrap()
    }
}

fn season() -> Vec<u8> {
    zip_of(&[
        ("Faro S01E01.srt", SRT),
        ("Faro S01E02.srt", b"1\n0:1 --> 0:2\nDos\n\n"),
        ("leeme.txt", b"Hola"),
    ])
}

/// A hostile client asks for every text in every form: what is made of them stays below half of
/// the room for files, and the originals are still there.
#[test]
fn api_rule_17_18_made_texts_do_not_fill_the_disk() {
    let text = SRT.repeat(500);
    let names: Vec<String> = (1..=40).map(|it| format!("Faro S01E{it:02}.srt")).collect();
    let contents: Vec<Vec<u8>> = (0..40)
        .map(|it| [&text[..], format!("\n{it}\n").as_bytes()].concat())
        .collect();
    let files = names.iter().zip(&contents);
    let files: Vec<(&str, &[u8])> = files.map(|(name, it)| (name.as_str(), &it[..])).collect();
    let scene = Scene::of_episodes(&zip_of(&files));
    let engine = &scene.server.service.engine;
    let mut tags = std::collections::BTreeSet::new();
    for name in &names {
        let name = name.replace(' ', "%20");
        for form in [
            "",
            "&encoding=utf-8",
            "&encoding=utf-8-bom",
            "&format=srt",
            "&format=vtt",
        ] {
            let answer = scene.get(&format!("download?file={name}{form}"));
            assert_eq!(answer.status, 200);
            tags.insert(answer.field("etag").unwrap().to_owned());
        }
    }
    assert_eq!(tags.len(), 200, "each is another content");
    let stored = || engine.stats().unwrap();
    assert_eq!(stored().cached_files, 201);
    let room = 8 << 20;
    engine.files().limit(room);
    let now = scene.server.service.now();
    engine.run_task(MaintenanceTask::EvictFiles, now).unwrap();
    assert!(stored().blob_bytes <= room / 2 + 40 * text.len() as u64 + (64 << 10));
    assert!(stored().cached_files < 201);
    let release = ReleaseId::parse("r1").unwrap();
    assert!(engine.files().cached_file(&release).is_some());
    // What has left is made again, without its source.
    let asked_count = scene.upstream.asked_count();
    for form in ["&format=srt", "&encoding=utf-8-bom"] {
        let answer = scene.get(&format!("download?file=Faro%20S01E01.srt{form}"));
        assert_eq!(answer.status, 200);
        assert!(tags.contains(answer.field("etag").unwrap()));
    }
    assert_eq!(scene.upstream.asked_count(), asked_count);
}

fn check_failed(answer: &RawAnswer, status: u16, detail: &str) {
    assert_eq!(answer.status, status);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body, json!({ "detail": detail }));
}

#[test]
fn api_rule_17_1_a_download_without_the_parameters_is_the_stored_file() {
    let content = season();
    let scene = Scene::of_episodes(&content);
    let plain = scene.get("download");
    for query in ["", "?", "?x=1", "?file=&format=", "?release=..."] {
        let answer = scene.get(&format!("download{query}"));
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(answer.body, content, "{query}");
        assert_eq!(answer.field("etag"), plain.field("etag"), "{query}");
    }
}

#[test]
fn api_rule_17_1_a_text_is_chosen_and_never_an_archive() {
    let scene = Scene::of_episodes(&season());
    let answer = scene.get("download?episode=2");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.body, b"1\n0:1 --> 0:2\nDos\n\n");
    let disposition = "attachment; filename=\"Faro S01E02.srt\"";
    assert_eq!(answer.field("content-disposition"), Some(disposition));
    assert_eq!(
        answer.field("content-type"),
        Some("application/octet-stream")
    );
    let by_name = scene.get("download?file=Faro+S01E01.srt&episode=2");
    assert_eq!(by_name.body, SRT);
}

#[test]
fn api_rule_17_2_a_text_becomes_utf_8_in_another_format() {
    let scene = Scene::of_film(SRT);
    let utf8 = scene.get("download?encoding=utf-8");
    let text = "1\r\n00:00:01,000 --> 00:00:02,000\r\n¿Qué?\r\n\r\n";
    assert_eq!(utf8.body, text.as_bytes());
    let marked = scene.get("download?encoding=utf-8-bom");
    assert_eq!(marked.body, format!("\u{FEFF}{text}").as_bytes());
    let vtt = scene.get("download?format=vtt");
    let text = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\n¿Qué?\n\n";
    assert_eq!(vtt.body, text.as_bytes());
    assert_eq!(vtt.field("content-type"), Some("text/vtt; charset=utf-8"));
    let srt = scene.get("download?format=srt");
    let media_type = "application/x-subrip; charset=utf-8";
    assert_eq!(srt.field("content-type"), Some(media_type));
    assert_eq!(scene.upstream.asked_count(), 1);
}

#[test]
fn api_rule_17_3_a_text_is_content_like_any_other() {
    let scene = Scene::of_film(&"1\n0:1 --> 0:2\n¿Qué?\n\n".repeat(300).into_bytes());
    let whole = scene.get("download?format=srt");
    let tag = whole.field("etag").unwrap().to_owned();
    let length = whole.body.len().to_string();
    assert_eq!(whole.field("content-length"), Some(length.as_str()));
    assert_eq!(whole.field("accept-ranges"), Some("bytes"));
    let path = "download?format=srt";
    let part = scene.ask("GET", path, &[("range", "bytes=2-9")]);
    assert_eq!((part.status, &part.body[..]), (206, &whole.body[2..10]));
    let unchanged = scene.ask("GET", path, &[("if-none-match", &tag)]);
    assert_eq!(unchanged.status, 304);
    let packed = scene.ask("GET", path, &[("accept-encoding", "gzip")]);
    assert_eq!(packed.field("content-encoding"), Some("gzip"));
    assert!(packed.body.len() < whole.body.len());
    let head = scene.ask("HEAD", path, &[]);
    assert_eq!(head.field("content-length"), Some(length.as_str()));
    // The part does not hold the first byte, and HEAD does not count.
    assert_eq!(scene.downloads(), 3);
}

#[test]
fn api_rule_17_3_equal_bytes_have_equal_tags() {
    let content = "1\n0:1 --> 0:2\nHola\n\n".as_bytes();
    let scene = Scene::of_film(content);
    let stored = scene.get("download");
    let utf8 = scene.get("download?encoding=utf-8");
    assert_eq!(utf8.body, stored.body);
    assert_eq!(utf8.field("etag"), stored.field("etag"));
}

#[test]
fn api_rule_17_4_faults_are_all_in_one_answer() {
    let scene = Scene::of_film(SRT);
    let answer = scene.get("download?format=txt&season=0&encoding=latin1");
    assert_eq!(answer.status, 422);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let names: Vec<&str> = body["detail"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["loc"][1].as_str().unwrap())
        .collect();
    assert_eq!(names, ["season", "encoding", "format"]);
    assert_eq!(scene.upstream.asked_count(), 0);
}

#[test]
fn api_rule_17_5_refusals() {
    let scene = Scene::of_episodes(&season());
    check_failed(
        &scene.get("download?episode=3"),
        404,
        "File not found in archive",
    );
    check_failed(
        &scene.get("download?file=leeme.txt"),
        404,
        "File not found in archive",
    );
    let scene = Scene::of_film(&zip_of(&[("a.srt", b"abcd\0efgh")]));
    let detail = "Failed to extract file from archive";
    check_failed(&scene.get("download?encoding=utf-8"), 400, detail);
    let sami = b"<SAMI><BODY><SYNC Start=1000><P>Hola</SAMI>";
    let scene = Scene::of_film(sami);
    check_failed(
        &scene.get("download?format=srt"),
        400,
        "Failed to convert subtitle",
    );
    assert_eq!(scene.downloads(), 0);
}

#[test]
fn api_rule_17_9_the_texts_of_a_file_are_listed() {
    let scene = Scene::of_episodes(&season());
    let answer = scene.get("files");
    assert_eq!(answer.status, 200);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let expected = json!({
        "items": [
            {"name": "Faro S01E01.srt", "size": SRT.len(), "season": 1, "episode": 1},
            {"name": "Faro S01E02.srt", "size": 19, "season": 1, "episode": 2},
        ],
        "total": 2,
    });
    assert_eq!(body, expected);
    assert_eq!(scene.downloads(), 0);
    let tag = answer.field("etag").unwrap().to_owned();
    assert!(tag.starts_with("W/"));
    let again = scene.ask("GET", "files", &[("if-none-match", &tag)]);
    assert_eq!((again.status, again.body.len()), (304, 0));
    let searcher = scene.server.api_key_with(Scopes::SEARCH, None, None).0;
    let path = format!("/api/subtitles/{ID}/files");
    assert_eq!(scene.server.get(&path, Some(&searcher)).status, 403);
}

#[test]
fn api_rule_17_9_a_stored_text_is_one_item() {
    let scene = Scene::of_film(SRT);
    let answer = scene.get("files");
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let item =
        json!({"name": format!("{ID}.srt"), "size": SRT.len(), "season": null, "episode": null});
    assert_eq!(body, json!({"items": [item], "total": 1}));
}
