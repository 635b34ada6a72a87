//! `GET /api/subtitles/search`: parameters, shape of the answer, counts of the moment.

use std::time::{Duration, Instant};

use serde_json::Value;
use subcat_engine::{DraftValue, RecordDraft};
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};

use crate::searcher::Searcher;

const ALIEN: &str = "00000000-0000-4000-8000-000000000001";
const ALIENS: &str = "00000000-0000-4000-8000-000000000002";
const LOST: &str = "00000000-0000-4000-8000-000000000003";

fn catalog(server: &TestServer) {
    let alien = RecordDraft {
        catalog_id: text("tt0078748"),
        description: text("Línea uno\nlínea \"dos\""),
        uploader_name: text("ana"),
        downloads: DraftValue::Integer(5),
        ..film(ALIEN, "Alien", 1979, "1")
    };
    let aliens = film(ALIENS, "Aliens", 1986, "2");
    let lost = RecordDraft {
        video_type: text("episode"),
        season: DraftValue::Integer(1),
        episode: DraftValue::Integer(2),
        ..film(LOST, "Lost", 2004, "3")
    };
    server.import(vec![alien, aliens, lost]);
}

#[test]
fn rule_5_3_an_answer_is_items_and_total_to_the_byte() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let answer = searcher.ask("catalog_id=tt0078748");
    let expected = concat!(
        r#"{"items":[{"id":"00000000-0000-4000-8000-000000000001","video_type":"movie","#,
        r#""title":"Alien","season":null,"episode":null,"year":1979,"catalog_id":"tt0078748","#,
        r#""description":"Línea uno\nlínea \"dos\"","uploader_name":"ana","#,
        r#""posted_at":"2024-05-01T10:00:00Z","downloads":5}],"total":1}"#
    );
    assert_eq!((answer.status, answer.text()), (200, expected));
    assert_eq!(answer.field("content-type"), Some("application/json"));
    assert_eq!(answer.field("cache-control"), Some("private, max-age=0"));
    let nothing = searcher.ask("title=nothing");
    assert_eq!(
        (nothing.status, nothing.text()),
        (200, r#"{"items":[],"total":0}"#)
    );
}

#[test]
fn rule_5_3_total_counts_what_limit_leaves_out() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let answer = searcher.ask("title=alien&limit=1");
    let list: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(list["total"], 2);
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(searcher.titles("title=alien"), ["Alien", "Aliens"]);
}

#[test]
fn rule_5_1_a_criterion_is_needed() {
    let server = TestServer::start();
    let mut searcher = Searcher::new(&server);
    let detail = "Provide at least one search criteria: query, title, catalog_id or public_id";
    for query_string in [
        "",
        "year=1979",
        "query=&title=++",
        "query=!!!",
        "tmdb_id=1",
        "season=1",
    ] {
        let answer = searcher.ask(query_string);
        assert_eq!(answer.status, 400, "{query_string}");
        assert_eq!(answer.text(), format!(r#"{{"detail":"{detail}"}}"#));
    }
}

#[test]
fn rule_5_2_seasons_need_video_type_episode() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let detail = r#""Parameters 'season' and 'episode' are only allowed when video_type=episode""#;
    searcher.check_faults("title=lost&season=1", detail);
    searcher.check_faults("title=lost&episode=1&video_type=movie", detail);
    let found = searcher.titles("title=lost&season=1&episode=2&video_type=episode");
    assert_eq!(found, ["Lost"]);
}

#[test]
fn rule_2_9_faults_come_together_in_order() {
    let server = TestServer::start();
    let mut searcher = Searcher::new(&server);
    searcher.check_faults(
        "year=&limit=x",
        concat!(
            r#"[{"loc":["query","year"],"msg":"Input should be a valid integer, "#,
            r#"unable to parse string as an integer","type":"int_parsing"},"#,
            r#"{"loc":["query","limit"],"msg":"Input should be a valid integer, "#,
            r#"unable to parse string as an integer","type":"int_parsing"}]"#
        ),
    );
    let fault = |name: &str, msg: &str, kind: &str| {
        format!(r#"[{{"loc":["query","{name}"],"msg":"{msg}","type":"{kind}"}}]"#)
    };
    let mut check = |query_string: &str, name: &str, msg: &str, kind: &str| {
        searcher.check_faults(query_string, &fault(name, msg, kind));
    };
    let below = "Input should be greater than or equal to";
    let above = "Input should be less than or equal to";
    check(
        "limit=0",
        "limit",
        &format!("{below} 1"),
        "greater_than_equal",
    );
    check(
        "limit=201",
        "limit",
        &format!("{above} 200"),
        "less_than_equal",
    );
    check(
        "year=1899",
        "year",
        &format!("{below} 1900"),
        "greater_than_equal",
    );
    check(
        "year=2101",
        "year",
        &format!("{above} 2100"),
        "less_than_equal",
    );
    check(
        "season=65536",
        "season",
        &format!("{above} 65535"),
        "less_than_equal",
    );
    let msg = "Input should be 'movie' or 'episode'";
    check("video_type=film", "video_type", msg, "literal_error");
    check(
        "public_id=1",
        "public_id",
        "Input should be a valid UUID",
        "uuid_parsing",
    );
    let msg = "Input should be a language tag";
    check("language=e", "language", msg, "string_pattern_mismatch");
    let msg = "Input should have at most 512 characters";
    for name in ["query", "title", "catalog_id", "imdb_id"] {
        let long = format!("{name}={}", "%C3%B1".repeat(513));
        check(&long, name, msg, "string_too_long");
    }
    let msg = "Input should have at most 32 words";
    let words = format!("query={}", "a+".repeat(33));
    check(&words, "query", msg, "too_many_words");
}

#[test]
fn rule_2_15_the_limits_themselves_are_allowed() {
    let server = TestServer::start();
    let mut searcher = Searcher::new(&server);
    let longest = format!("title={}", "%C3%B1".repeat(512));
    assert_eq!(searcher.ask(&longest).status, 200);
    assert_eq!(
        searcher.ask(&format!("query={}", "a+".repeat(32))).status,
        200
    );
}

#[test]
fn rule_2_6_query_strings_are_read_generously() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    for query_string in [
        "title=alien&limit=1",
        "title=++alien++&limit=1",
        "title=%20alien&tmdb_id=7&limit=1",
        "title=x&title=alien&limit=1",
        "title=al%69en&year=1979&limit=",
        "title=alien&year=%2B1979",
        "title=alien&limit=9999&limit=1",
    ] {
        assert_eq!(searcher.titles(query_string), ["Alien"], "{query_string}");
    }
    // What is not UTF-8 is windows-1252: these are signs, which are no words.
    assert_eq!(searcher.ask("title=%ab%bb").status, 400);
    assert_eq!(searcher.ask("title=100%").status, 200);
}

#[test]
fn rule_2_7_imdb_id_is_answered_in_kind() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let tail = |answer: &RawAnswer| {
        let text = answer.text();
        let start = text.find(r#""downloads""#).unwrap();
        text[start..].to_owned()
    };
    let kind = searcher.ask("imdb_id=tt0078748");
    assert_eq!(
        tail(&kind),
        r#""downloads":5,"imdb_id":"tt0078748"}],"total":1}"#
    );
    let plain = r#""downloads":5}],"total":1}"#;
    assert_eq!(tail(&searcher.ask("catalog_id=78748")), plain);
    assert_eq!(tail(&searcher.ask("catalog_id=78748&imdb_id=tt1")), plain);
    let emptied = searcher.ask("catalog_id=78748&imdb_id=");
    assert_eq!(tail(&emptied), plain);
    let emptied = searcher.ask("catalog_id=&imdb_id=78748");
    assert!(tail(&emptied).contains("imdb_id"));
    let without = searcher.ask("title=lost&imdb_id=tt9");
    assert!(tail(&without).ends_with(r#""imdb_id":null}],"total":1}"#));
}

#[test]
fn rule_2_7_the_alias_can_be_turned_off() {
    let server = TestServer::with(|config| config.compat.imdb_id_alias = false);
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    assert_eq!(searcher.ask("imdb_id=tt0078748").status, 400);
    let long = format!("title=alien&limit=1&imdb_id={}", "x".repeat(600));
    assert_eq!(searcher.titles(&long), ["Alien"]);
}

#[test]
fn rule_4_3_null_strings_can_be_empty_ones() {
    let server = TestServer::with(|config| config.compat.empty_null_strings = true);
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let answer = searcher.ask("title=lost");
    assert!(
        answer
            .text()
            .contains(r#""description":"","uploader_name":"","#)
    );
    assert!(answer.text().contains(r#""catalog_id":null,"#));
}

#[test]
fn rule_5_4_downloads_are_those_of_this_moment() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let downloads = |searcher: &mut Searcher| {
        let answer = searcher.ask("catalog_id=tt0078748");
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        list["items"][0]["downloads"].as_u64().unwrap()
    };
    assert_eq!(downloads(&mut searcher), 5);
    let engine = &server.service.engine;
    let release = subcat_engine::ReleaseId::parse("1").unwrap();
    let kind = subcat_engine::FileKind::Srt;
    engine
        .files()
        .store_file(&release, b"1\n", kind, None)
        .unwrap();
    let path = format!("/api/subtitles/{ALIEN}/download");
    for expected in 6..9 {
        assert_eq!(server.get(&path, Some(&searcher.api_key)).status, 200);
        // Put together, kept, and sent as it was kept.
        for _ in 0..3 {
            assert_eq!(downloads(&mut searcher), expected);
        }
    }
}

/// API.md 5.4: an import replaces upstream's part of the count only.
#[test]
fn rule_5_4_our_own_downloads_outlive_an_import() {
    let server = TestServer::start();
    let alien = |downloads: i64| RecordDraft {
        downloads: DraftValue::Integer(downloads),
        ..film(ALIEN, "Alien", 1979, "1")
    };
    server.import(vec![alien(5)]);
    let engine = &server.service.engine;
    let release = subcat_engine::ReleaseId::parse("1").unwrap();
    let kind = subcat_engine::FileKind::Srt;
    let stored = engine.files().store_file(&release, b"1\n", kind, None);
    stored.unwrap();
    let mut searcher = Searcher::new(&server);
    let path = format!("/api/subtitles/{ALIEN}/download");
    for _ in 0..3 {
        assert_eq!(server.get(&path, Some(&searcher.api_key)).status, 200);
    }
    for upstream in [5, 100, 7, 0] {
        server.import(vec![alien(upstream)]);
        let answer = searcher.ask("title=alien");
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(list["items"][0]["downloads"], upstream + 3);
        let path = format!("/api/subtitles/{ALIEN}");
        let answer = server.get(&path, Some(&searcher.api_key));
        let record: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(record["downloads"], upstream + 3);
    }
}

#[test]
fn rule_5_5_remembered_hits_go_with_their_snapshot() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    for _ in 0..3 {
        assert_eq!(searcher.titles("query=alien"), ["Alien", "Aliens"]);
    }
    let id = subcat_engine::RecordId::parse(ALIENS).unwrap();
    server
        .service
        .engine
        .catalog()
        .set_active(id, false)
        .unwrap();
    assert_eq!(searcher.titles("query=alien"), ["Alien"]);
    server.import(vec![film(LOST, "Alien 3", 1992, "3")]);
    assert_eq!(searcher.titles("query=alien"), ["Alien", "Alien 3"]);
    let hits = server
        .service
        .metrics
        .sum(|worker| worker.search_cache_hits.get());
    assert_eq!(hits, 2);
}

#[test]
fn rule_5_5_equal_requests_share_their_hits() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    for query_string in [
        "query=alien",
        "query=ALIEN",
        "query=++Alien&limit=100",
        "x=1&query=alien",
    ] {
        assert_eq!(searcher.titles(query_string).len(), 2, "{query_string}");
    }
    let misses = server
        .service
        .metrics
        .sum(|worker| worker.search_cache_misses.get());
    assert_eq!(misses, 1);
}

#[test]
fn rule_2_4_head_is_get_without_the_body() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let whole = searcher.ask("title=alien");
    let path = "/api/subtitles/search?title=alien";
    let api_key = searcher.api_key.clone();
    let head = searcher.client.request("HEAD", path, Some(&api_key), &[]);
    assert_eq!(head.status, 200);
    let length = whole.body.len().to_string();
    assert_eq!(head.field("content-length"), Some(length.as_str()));
    assert_eq!(searcher.ask("title=alien").status, 200);
}

#[test]
fn rule_5_7_search_answers_are_not_compressed() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let path = "/api/subtitles/search?title=alien";
    let fields = [("Accept-Encoding", "gzip, br")];
    let api_key = searcher.api_key.clone();
    let answer = searcher
        .client
        .request("GET", path, Some(&api_key), &fields);
    assert_eq!(answer.field("content-encoding"), None);
    assert!(answer.text().starts_with(r#"{"items":["#));
}

/// API.md 5.6: free text asks for new records to be indexed; other criteria do not.
#[test]
fn rule_5_6_a_search_by_query_starts_a_reindex_job() {
    let server = TestServer::start();
    let api_key = server.api_key();
    server.import(vec![film(ALIEN, "Alien", 1979, "1")]);
    let engine = &server.service.engine;
    let ask = |parameter: &str| {
        let path = format!("/api/subtitles/search?{parameter}=alien");
        let answer = server.get(&path, Some(&api_key));
        assert!(answer.text().ends_with(r#""total":1}"#), "{parameter}");
    };
    let jobs = || {
        let stats = engine.stats().unwrap();
        (stats.reindex_jobs_done, stats.delta_records)
    };
    ask("title");
    while engine.maintain(server.service.now()).unwrap() {}
    assert_eq!(jobs(), (0, 1));
    ask("query");
    let started = Instant::now();
    while jobs() != (1, 0) {
        // Whoever comes first does it: this thread, or the maintenance of the server.
        engine.maintain(server.service.now()).unwrap();
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", jobs());
    }
}
