//! Downloads below an address: one text, in UTF-8, and nothing where there is none.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::Value;
use subcat_engine::{DraftValue, RecordDraft, Scopes};
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};
use subcat_tests::upstream::Upstream;

const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const SENT: &[u8] = b"1\r\n00:00:01,000 --> 00:00:02,000\r\n\xBFQu\xE9?\r\n\r\n";
const DECODED: &str = "1\r\n00:00:01,000 --> 00:00:02,000\r\n¿Qué?\r\n\r\n";
const CONVERTED: &str = "1\n00:00:01,000 --> 00:00:02,000\n¿Qué?\n\n";

struct Scene {
    server: TestServer,
    api_key: String,
    base: String,
}

impl Scene {
    fn of_episode() -> Self {
        let upstream = Upstream::start();
        upstream.give("r1", SENT);
        let server = TestServer::with(|config| config.upstream.url = Some(upstream.url()));
        server.import(vec![RecordDraft {
            video_type: text("episode"),
            season: DraftValue::Integer(1),
            episode: DraftValue::Integer(2),
            ..film(ID, "Faro", 2004, "r1")
        }]);
        let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
        Self {
            api_key: server.api_key(),
            server,
            base: format!("/a/{key}"),
        }
    }

    fn get(&self, path: &str) -> RawAnswer {
        self.server.get(&format!("{}/{path}", self.base), None)
    }

    fn download(&self, question: &str) -> RawAnswer {
        self.get(&format!("api/v1/subtitles/{ID}/download{question}"))
    }

    fn downloads(&self) -> u64 {
        let path = format!("/api/subtitles/{ID}");
        let record = self.server.get(&path, Some(&self.api_key));
        let record: Value = serde_json::from_slice(&record.body).unwrap();
        record["downloads"].as_u64().unwrap()
    }
}

#[test]
fn rule_20_11_a_download_is_one_text_in_utf_8() {
    let scene = Scene::of_episode();
    for question in [
        "",
        "?season=1&episode=2",
        "?season=0",
        "?format=vtt&encoding=x",
    ] {
        let answer = scene.download(question);
        assert_eq!((answer.status, answer.text()), (200, DECODED), "{question}");
        assert!(answer.field("etag").is_some());
        assert_eq!(answer.field("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.field("x-subcat-error"), None);
    }
    assert_eq!(scene.downloads(), 4);
}

#[test]
fn rule_20_11_a_text_that_is_not_there_is_an_empty_file() {
    let scene = Scene::of_episode();
    for (question, error) in [
        ("?episode=0", "404 File not found in archive"),
        ("?season=1&episode=0", "404 File not found in archive"),
        ("?season=x", "400 season must be an integer"),
        (
            "?season=70000",
            "422 Input should be less than or equal to 65535",
        ),
    ] {
        let answer = scene.download(question);
        assert_eq!((answer.status, answer.text()), (200, ""), "{question}");
        assert_eq!(answer.field("x-subcat-error"), Some(error), "{question}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.field("etag"), None);
    }
    assert_eq!(scene.downloads(), 0);
}

#[test]
fn rule_20_14_the_file_of_the_add_on_is_srt() {
    let scene = Scene::of_episode();
    let path = format!("file/{ID}.srt");
    for question in ["", "?season=1&episode=2&release=Faro", "?format=vtt"] {
        let answer = scene.get(&format!("{path}{question}"));
        assert_eq!(
            (answer.status, answer.text()),
            (200, CONVERTED),
            "{question}"
        );
        let kind = "application/x-subrip; charset=utf-8";
        assert_eq!(answer.field("content-type"), Some(kind));
    }
    let missing = scene.get("file/x.srt");
    let text = "Subtitle not found";
    let body = format!(r#"{{"detail":"{text}","error":"{text}"}}"#);
    assert_eq!((missing.status, missing.text()), (404, &*body));
    let fault = scene.get(&format!("{path}?season=0"));
    assert_eq!(fault.status, 422);
    let body: Value = serde_json::from_slice(&fault.body).unwrap();
    assert_eq!(body["error"], "Input should be greater than or equal to 1");
}
