//! Flags, `since` and entity tags of search and record answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use subcat_engine::{DraftValue, RecordDraft};
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};

const PLAIN: &str = "00000000-0000-4000-8000-000000000001";
const DEAF: &str = "00000000-0000-4000-8000-000000000002";
const FORCED: &str = "00000000-0000-4000-8000-000000000003";
const DENIED: &str = "00000000-0000-4000-8000-000000000004";
const MACHINE: &str = "00000000-0000-4000-8000-000000000005";

fn posted(id: &'static str, day: u8) -> RecordDraft<'static> {
    RecordDraft {
        posted_at: DraftValue::Text(format!("2026-01-0{day}").into()),
        ..film(id, "Faro", 2001, id)
    }
}

fn catalog(server: &TestServer) {
    server.import(vec![
        posted(PLAIN, 1),
        RecordDraft {
            hearing_impaired: DraftValue::Boolean(true),
            ..posted(DEAF, 2)
        },
        RecordDraft {
            description: text("Solo forzados"),
            file_name: text("Faro.SDH.srt"),
            ..posted(FORCED, 3)
        },
        RecordDraft {
            description: text("SDH"),
            hearing_impaired: DraftValue::Boolean(false),
            ..posted(DENIED, 4)
        },
        RecordDraft {
            machine_translated: DraftValue::Boolean(true),
            ..posted(MACHINE, 5)
        },
    ]);
}

struct Asker {
    server: TestServer,
    api_key: String,
}

impl Asker {
    fn new() -> Self {
        let server = TestServer::start();
        catalog(&server);
        let api_key = server.api_key();
        Self { server, api_key }
    }

    fn search(&self, parameters: &str) -> RawAnswer {
        let path = format!("/api/subtitles/search?title=faro&{parameters}");
        self.server.get(&path, Some(&self.api_key))
    }

    fn json(&self, parameters: &str) -> Value {
        let answer = self.search(parameters);
        serde_json::from_slice(&answer.body).unwrap()
    }

    fn finds(&self, parameters: &str, expected: &[&str]) {
        let list = self.json(parameters);
        let items = list["items"].as_array().unwrap().iter();
        let found: Vec<&str> = items.map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{parameters}");
        assert_eq!(list["total"], expected.len(), "{parameters}");
    }

    fn conditional(&self, path: &str, tag: &str) -> RawAnswer {
        let mut client = self.server.connect();
        client.request("GET", path, Some(&self.api_key), &[("If-None-Match", tag)])
    }
}

#[test]
fn rule_5_9_flags_filter_and_unknown_ones_are_not_true() {
    let asker = Asker::new();
    asker.finds("forced=only", &[FORCED]);
    asker.finds("forced=exclude", &[MACHINE, DENIED, DEAF, PLAIN]);
    asker.finds("hearing_impaired=only", &[FORCED, DEAF]);
    asker.finds("hearing_impaired=exclude", &[MACHINE, DENIED, PLAIN]);
    asker.finds(
        "hearing_impaired=exclude&machine_translated=exclude",
        &[DENIED, PLAIN],
    );
    asker.finds("machine_translated=only&forced=only", &[]);
    let all = [MACHINE, DENIED, FORCED, DEAF, PLAIN];
    asker.finds("forced=include&hearing_impaired=", &all);
}

#[test]
fn rule_5_9_since_keeps_what_was_not_posted_before() {
    let asker = Asker::new();
    asker.finds("since=2026-01-04", &[MACHINE, DENIED]);
    asker.finds("since=2026-01-04T00:00:01Z", &[MACHINE]);
    asker.finds("since=2026-01-04T01:00:00%2B01:00", &[MACHINE, DENIED]);
    asker.finds("since=2027-01-01", &[]);
    asker.finds("since=0001-01-01&forced=only", &[FORCED]);
}

#[test]
fn rule_5_9_items_have_flags_only_when_one_is_supplied() {
    let asker = Asker::new();
    let first = |parameters: &str| asker.json(parameters)["items"][0].clone();
    assert_eq!(first("since=2026-01-03")["flags"], Value::Null);
    assert_eq!(first("forced=")["flags"], Value::Null);
    assert_eq!(
        first("forced=include")["flags"],
        json!(["machine_translated"])
    );
    let both = json!(["hearing_impaired", "forced"]);
    assert_eq!(first("forced=only")["flags"], both);
    assert_eq!(
        first("hearing_impaired=exclude&limit=1")["flags"],
        json!(["machine_translated"])
    );
    let path = "/api/subtitles/search?imdb_id=tt7&forced=include";
    asker.server.import(vec![RecordDraft {
        catalog_id: text("tt7"),
        ..posted(PLAIN, 1)
    }]);
    let answer = asker.server.get(path, Some(&asker.api_key));
    let end = r#""downloads":0,"flags":[],"imdb_id":"tt7"}],"total":1}"#;
    assert!(answer.text().ends_with(end), "{}", answer.text());
}

#[test]
fn rule_2_17_faults_of_flags_and_since_stand_last() {
    let asker = Asker::new();
    let answer = asker.search("machine_translated=x&since=x&hearing_impaired=X&limit=x");
    assert_eq!(answer.status, 422);
    let detail: Value = serde_json::from_slice(&answer.body).unwrap();
    let faults = detail["detail"].as_array().unwrap().iter();
    let names: Vec<&Value> = faults.map(|fault| &fault["loc"][1]).collect();
    assert_eq!(
        names,
        ["limit", "since", "hearing_impaired", "machine_translated"]
    );
    let expected = json!({
        "loc": ["query", "since"],
        "msg": "Input should be a valid date and time",
        "type": "datetime_parsing",
    });
    assert_eq!(detail["detail"][1], expected);
    let expected = json!({
        "loc": ["query", "hearing_impaired"],
        "msg": "Input should be 'include', 'exclude' or 'only'",
        "type": "literal_error",
    });
    assert_eq!(detail["detail"][2], expected);
}

#[test]
fn rule_5_10_tags_are_equal_where_bodies_are_but_for_downloads() {
    let asker = Asker::new();
    let tag = |path: &str| {
        let answer = asker.server.get(path, Some(&asker.api_key));
        let tag = answer.field("etag").unwrap().to_owned();
        assert!(tag.starts_with("W/\"") && tag.len() == 36, "{tag}");
        tag
    };
    let search = "/api/subtitles/search?title=faro";
    let record = format!("/api/subtitles/{PLAIN}");
    let before = (tag(search), tag(&record));
    assert_eq!(tag("/api/subtitles/search?query=faro&x=1"), before.0);
    // The first answer, the one that is kept, and the kept one.
    assert_eq!(
        [tag(search), tag(search)],
        [before.0.clone(), before.0.clone()]
    );
    assert_eq!(tag(&record), before.1);
    assert_ne!(
        tag("/api/subtitles/search?title=faro&forced=include"),
        before.0
    );
    assert_ne!(tag("/api/subtitles/search?title=faro&limit=4"), before.0);
    let more_downloads = RecordDraft {
        downloads: DraftValue::Integer(77),
        ..posted(PLAIN, 1)
    };
    asker.server.import(vec![more_downloads]);
    assert_eq!((tag(search), tag(&record)), before);
    let described = RecordDraft {
        description: text("x"),
        ..posted(PLAIN, 1)
    };
    asker.server.import(vec![described]);
    assert_ne!(tag(search), before.0);
    assert_ne!(tag(&record), before.1);
    // Another machine with the same records.
    let other = Asker::new();
    let answer = other.server.get(search, Some(&other.api_key));
    assert_eq!(answer.field("etag"), Some(before.0.as_str()));
}

#[test]
fn rule_5_10_a_known_answer_is_304_and_consumes_the_window() {
    let asker = Asker::new();
    let search = "/api/subtitles/search?title=faro".to_owned();
    for path in [search, format!("/api/subtitles/{PLAIN}")] {
        let whole = asker.server.get(&path, Some(&asker.api_key));
        let tag = whole.field("etag").unwrap().to_owned();
        let strong = tag.strip_prefix("W/").unwrap().to_owned();
        let left = |answer: &RawAnswer| -> u32 {
            answer
                .field("x-ratelimit-remaining")
                .unwrap()
                .parse()
                .unwrap()
        };
        let mut before = left(&whole);
        for condition in [&tag, &strong, "*", &format!("\"x\", {tag}")] {
            let answer = asker.conditional(&path, condition);
            assert_eq!((answer.status, answer.text()), (304, ""), "{condition}");
            assert_eq!(answer.field("etag"), Some(tag.as_str()));
            for name in ["cache-control", "vary", "access-control-allow-origin"] {
                assert_eq!(answer.field(name), whole.field(name), "{name}");
            }
            assert_eq!(left(&answer), before - 1);
            before -= 1;
        }
        let answer = asker.conditional(&path, "\"x\"");
        assert_eq!((answer.status, &answer.body), (200, &whole.body));
    }
    let refused = asker.conditional("/api/subtitles/search", "*");
    assert_eq!((refused.status, refused.field("etag")), (400, None));
    let missing = asker.conditional("/api/subtitles/x", "*");
    assert_eq!((missing.status, missing.field("etag")), (404, None));
}
