//! The interface of Bazarr's provider Subsarr below an address.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use subcat_engine::{DraftValue, RecordDraft, RecordId, Scopes};
use subcat_tests::described::fault;
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};

const HEAT: &str = "00000000-0000-4000-8000-000000000001";
const EPISODE: &str = "00000000-0000-4000-8000-000000000002";
const PACK: &str = "00000000-0000-4000-8000-000000000003";
const MACHINE: &str = "00000000-0000-4000-8000-000000000004";
const LATIN: &str = "00000000-0000-4000-8000-000000000005";
const FORCED: &str = "00000000-0000-4000-8000-000000000006";
const NO_FILE: &str = "00000000-0000-4000-8000-000000000007";
const DEAF: &str = "00000000-0000-4000-8000-000000000008";

/// A client of the provider: it knows an address and nothing else.
struct Provider {
    server: TestServer,
    key: String,
    base: String,
}

impl Provider {
    fn new() -> Self {
        Self::of(TestServer::start())
    }

    /// Of a server that keeps at most this much of its answers, with one worker.
    fn keeping(search_bytes: usize) -> Self {
        Self::of(TestServer::with(|config| {
            config.workers = 1;
            config.cache_search_bytes = search_bytes;
        }))
    }

    fn of(server: TestServer) -> Self {
        catalog(&server);
        let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
        let base = format!("/a/{key}");
        Self { server, key, base }
    }

    fn get(&self, path: &str) -> RawAnswer {
        self.server.get(&format!("{}{path}", self.base), None)
    }

    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        assert_eq!(answer.field("content-type"), Some("application/json"));
        serde_json::from_slice(&answer.body).unwrap()
    }

    fn search(&self, parameters: &str) -> Value {
        self.json(&format!("/api/v1/subtitles/search?{parameters}"))
    }

    fn finds(&self, parameters: &str, expected: &[&str]) {
        let list = self.search(parameters);
        let items = list["items"].as_array().unwrap().iter();
        let found: Vec<&str> = items.map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{parameters}");
    }
}

fn show(id: &'static str, season: i64, episode: Option<i64>) -> RecordDraft<'static> {
    RecordDraft {
        video_type: text("episode"),
        season: DraftValue::Integer(season),
        episode: episode.map_or(DraftValue::Absent, DraftValue::Integer),
        parent_catalog_id: text("tt0007"),
        ..film(id, "Dark", 2017, id)
    }
}

fn catalog(server: &TestServer) {
    let heat = RecordDraft {
        catalog_id: text("tt0113277"),
        description: text("Para Heat.1995.1080p.BluRay-GRP y otros"),
        uploader_name: text("ana"),
        downloads: DraftValue::Integer(3),
        file_name: text("Heat.1995.720p.x264-OTRO.zip"),
        ..film(HEAT, "Heat (Fuego contra fuego) (1995)", 1995, "heat")
    };
    let machine = RecordDraft {
        machine_translated: DraftValue::Boolean(true),
        posted_at: text("2026-01-01"),
        ..show(MACHINE, 1, Some(2))
    };
    let latin = RecordDraft {
        language: text("es-MX"),
        ..film(LATIN, "Roma", 2018, "roma-1")
    };
    let forced = RecordDraft {
        forced: DraftValue::Boolean(true),
        ..film(FORCED, "Roma", 2018, "roma-2")
    };
    let no_file = RecordDraft {
        source_release_id: DraftValue::Absent,
        ..film(NO_FILE, "Roma", 2018, "roma-3")
    };
    let deaf = RecordDraft {
        language: text("es-ES"),
        hearing_impaired: DraftValue::Boolean(true),
        posted_at: text("2020-01-01"),
        ..film(DEAF, "Roma", 2018, "roma-4")
    };
    let episodes = [show(EPISODE, 1, Some(2)), show(PACK, 1, None)];
    let films = [heat, machine, latin, forced, no_file, deaf];
    server.import(episodes.into_iter().chain(films).collect());
}

#[test]
fn rule_20_8_info_names_the_features() {
    let info = Provider::new().json("/api/v1/info");
    assert_eq!(info["name"], "subcat");
    assert_eq!(info["description"], "Subtitle catalog");
    let features = json!({
        "search_by_imdb_id": true,
        "search_by_title": true,
        "search_by_slug": false,
        "search_by_season_episode": true,
        "hearing_impaired_filter": true,
        "language_filter": true,
    });
    assert_eq!(info["features"], features);
}

#[test]
fn rule_20_9_languages_are_counted_most_records_first() {
    let provider = Provider::new();
    provider.server.import(vec![
        RecordDraft {
            language: text("pt-BR"),
            ..film("00000000-0000-4000-8000-000000000011", "x", 2000, "b")
        },
        RecordDraft {
            language: text("por"),
            ..film("00000000-0000-4000-8000-000000000012", "x", 2000, "p")
        },
    ]);
    let expected = json!({"items": [
        {"name": "spanish", "count": 8},
        {"name": "brazillian-portuguese", "count": 1},
        {"name": "portuguese", "count": 1},
    ], "total_items": 3});
    assert_eq!(provider.json("/api/v1/languages"), expected);
}

#[test]
fn rule_20_8_films_by_title_and_year() {
    let provider = Provider::new();
    provider.finds("query=Heat", &[HEAT]);
    provider.finds("query=fuego+contra&year=1995", &[HEAT]);
    provider.finds("query=Heat&year=0", &[HEAT]);
    provider.finds("query=Heat&year=1996", &[]);
    provider.finds("query=Heat&year=3000", &[]);
    provider.finds("imdb_id=tt0113277&year=3000", &[HEAT]);
    provider.finds("imdb_id=113277&query=zzz", &[HEAT]);
    provider.finds("imdb_id=nm1", &[]);
    provider.finds("query=Dark", &[]);
    provider.finds("query=!!", &[]);
    provider.finds("", &[]);
    provider.finds(&format!("query={}", "x".repeat(513)), &[]);
}

#[test]
fn rule_20_8_an_episode_then_packs_then_machine_translations() {
    let provider = Provider::new();
    let all = [EPISODE, PACK, MACHINE];
    provider.finds("query=dark&season=1&episode=2", &all);
    provider.finds("imdb_id=tt7&season=1&episode=2", &all);
    provider.finds("imdb_id=tt7&season=1&episode=3", &[PACK]);
    provider.finds("imdb_id=tt7", &[EPISODE, PACK, MACHINE]);
    provider.finds("imdb_id=tt7&season=2", &[]);
    provider.finds("imdb_id=tt7&season=0", &[]);
    provider.finds("imdb_id=tt7&season=1&episode=0", &[]);
    provider.finds("imdb_id=tt7&season=70000", &[]);
    provider.finds("query=heat&episode=0", &[HEAT]);
}

#[test]
fn rule_20_8_flags_languages_and_sources_filter() {
    let provider = Provider::new();
    provider.finds("query=roma", &[LATIN, DEAF]);
    provider.finds("query=roma&hi=true", &[DEAF]);
    provider.finds("query=roma&hi=false", &[LATIN]);
    provider.finds("query=roma&language=spanish", &[LATIN, DEAF]);
    provider.finds("query=roma&language=Spanish+(Latin+America)", &[LATIN]);
    provider.finds("query=roma&language=es-ES", &[DEAF]);
    provider.finds("query=roma&language=english", &[]);
    provider.finds("query=roma&language=klingon", &[]);
    let tagged = provider.get("/es-419/api/v1/subtitles/search?query=roma");
    let list: Value = serde_json::from_slice(&tagged.body).unwrap();
    assert_eq!(list["total_items"], 1);
    let url = list["items"][0]["download_url"].as_str().unwrap();
    assert!(url.contains("/es-419/api/v1/subtitles/"), "{url}");
}

#[test]
fn rule_20_8_pages_are_parts_of_the_first_hits() {
    let provider = Provider::new();
    let list = provider.search("imdb_id=tt7&page=2&per_page=2");
    assert_eq!(list["items"][0]["id"], MACHINE);
    let rest = json!([list["total_items"], list["page"], list["per_page"]]);
    assert_eq!(rest, json!([3, 2, 2]));
    let beyond = provider.search("imdb_id=tt7&page=99999999&per_page=500");
    let rest = json!([beyond["items"], beyond["page"], beyond["per_page"]]);
    assert_eq!(rest, json!([[], 1_000_000, 200]));
}

#[test]
fn rule_20_8_faults_are_named_as_the_client_knows_them() {
    let provider = Provider::new();
    let check = |parameters: &str, expected: &str| {
        let answer = provider.get(&format!("/api/v1/subtitles/search?{parameters}"));
        assert_eq!(answer.status, 400, "{parameters}");
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body, json!({"detail": expected, "error": expected}));
        assert_eq!(answer.field("cache-control"), Some("no-store"));
    };
    check("season=x&page=0", "season must be an integer");
    check("season=-1", "season must be 0 or greater");
    check("hi=1&season=x", "hi must be true or false");
    check("page=0&per_page=x", "page must be 1 or greater");
    check("per_page=1.5", "per_page must be an integer");
}

#[test]
fn rule_20_10_an_item_has_its_fields_in_order() {
    let provider = Provider::new();
    let path = "/api/v1/subtitles/search?query=fuego+contra+fuego&language=Spanish";
    let answer = provider.get(path);
    let key = &provider.key;
    let lines = [
        "Heat (Fuego contra fuego) (1995)",
        "Heat (1995)",
        "Fuego contra fuego (1995)",
    ]
    .join(r"\n");
    let expected = format!(
        concat!(
            r#"{{"items":[{{"id":"{id}","subscene_id":"{id}","title":"fuego contra fuego","#,
            r#""slug":"fuego-contra-fuego","imdb_id":"tt0113277","language":"Spanish","#,
            r#""hi":false,"author":"ana","releases":["{lines}","Heat.1995.1080p.BluRay-GRP","#,
            r#""Heat.1995.720p.x264-OTRO"],"comment":"Para Heat.1995.1080p.BluRay-GRP y otros","#,
            r#""year":1995,"filename":"Heat.1995.720p.x264-OTRO.srt","format":"srt","#,
            r#""uploaded_at":"2024-05-01T10:00:00Z","downloads":3,"#,
            r#""download_url":"http://test/a/{key}/api/v1/subtitles/{id}/download"}}],"#,
            r#""total_items":1,"page":1,"per_page":50}}"#
        ),
        id = HEAT,
        lines = lines,
        key = key,
    );
    assert_eq!(answer.text(), expected);
    // The second answer is kept.
    for _ in 0..3 {
        assert_eq!(provider.get(path).text(), expected);
    }
}

/// Items that an earlier request has prepared are those that this one would make.
#[test]
fn rule_20_10_items_do_not_depend_on_earlier_requests() {
    let (keeping, forgetting) = (Provider::keeping(64 << 20), Provider::keeping(0));
    let requests = [
        "query=heat",
        "query=HEAT&language=Spanish",
        "query=fuego+contra+fuego&year=1995",
        "query=fuego",
        "imdb_id=tt0113277",
        "imdb_id=tt0113277&query=Fuego+contra+fuego&year=1996",
        "imdb_id=tt7",
        "imdb_id=tt7&season=1",
        "imdb_id=tt7&season=1&episode=3&language=es",
        "imdb_id=tt7&season=1&episode=12",
        "query=%22dark%22&season=1&episode=2",
        "query=dark&season=1",
        "query=roma&per_page=1",
        "query=roma&per_page=1&page=2",
        "query=roma",
    ];
    for _ in 0..3 {
        for request in requests {
            let path = format!("/api/v1/subtitles/search?{request}");
            let [kept, made] = [&keeping, &forgetting].map(|provider| {
                let answer = provider.get(&path);
                assert_eq!(answer.status, 200, "{request}");
                answer.text().replace(&provider.key, "KEY")
            });
            assert_eq!(kept, made, "{request}");
            assert!(kept.contains("\"id\""), "{request}");
        }
    }
}

#[test]
fn rule_20_10_a_changed_record_shows_at_once() {
    let provider = Provider::keeping(64 << 20);
    let field = |name: &str| {
        let mut list = provider.search("imdb_id=tt0113277");
        list["items"][0][name].take()
    };
    let changed = |title, comment| RecordDraft {
        catalog_id: text("tt0113277"),
        description: text(comment),
        ..film(HEAT, title, 1995, "heat")
    };
    for (title, comment) in [("Heat", "one"), ("Calor", "one"), ("Calor", "two")] {
        // Prepared, kept, and sent as it was kept.
        for _ in 0..3 {
            field("title");
        }
        provider.server.import(vec![changed(title, comment)]);
        for _ in 0..3 {
            assert_eq!(field("title"), title);
            assert_eq!(field("comment"), comment);
        }
    }
    let id = RecordId::parse(HEAT).unwrap();
    let catalog = provider.server.service.engine.catalog();
    assert!(catalog.delete_records(&[id]).unwrap().is_empty());
    provider.finds("imdb_id=tt0113277", &[]);
}

#[test]
fn rule_20_10_downloads_are_those_of_this_moment() {
    let provider = Provider::keeping(64 << 20);
    let engine = &provider.server.service.engine;
    let release = subcat_engine::ReleaseId::parse("heat").unwrap();
    let kind = subcat_engine::FileKind::Srt;
    let stored = engine.files().store_file(&release, b"1\n", kind, None);
    stored.unwrap();
    for expected in 3..6 {
        for _ in 0..3 {
            let list = provider.search("query=heat");
            assert_eq!(list["items"][0]["downloads"], expected);
        }
        let path = format!("/api/v1/subtitles/{HEAT}/download");
        assert_eq!(provider.get(&path).field("x-subcat-error"), None);
    }
}

#[test]
fn rule_20_10_lines_of_an_episode_name_season_and_episode() {
    let provider = Provider::new();
    let item = provider.search("imdb_id=tt7&season=1&episode=2")["items"][1].clone();
    assert_eq!(item["id"], PACK);
    assert_eq!(item["imdb_id"], "tt0007");
    assert_eq!(item["language"], "spanish");
    assert_eq!(item["filename"], format!("{PACK}.srt"));
    let lines = ["Dark (2017) S01E02", "Dark S01E02"].join("\n");
    assert_eq!(item["releases"], json!([lines]));
    assert!(item.get("comment").is_none());
    let url = item["download_url"].as_str().unwrap();
    assert!(url.ends_with("/download?season=1&episode=2"), "{url}");
    let by_title = provider.search("query=Dark&season=1")["items"][0].clone();
    let url = by_title["download_url"].as_str().unwrap();
    assert!(url.ends_with("/download?season=1"), "{url}");
    let lines = by_title["releases"][0].as_str().unwrap();
    assert_eq!(lines, "Dark (2017) S01E02");
}

#[test]
fn rule_20_11_a_missing_file_is_empty_and_names_its_error() {
    let provider = Provider::new();
    let check = |path: &str, expected: &str| {
        let path = format!("/api/v1/subtitles/{path}");
        let answer = provider.get(&path);
        assert_eq!((answer.status, answer.text()), (200, ""), "{path}");
        assert_eq!(answer.field("x-subcat-error"), Some(expected), "{path}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.field("content-length"), Some("0"));
    };
    check("x/download", "404 Subtitle not found");
    check(
        "00000000-0000-4000-8000-000000000099/download?season=1",
        "404 Subtitle not found",
    );
    let no_release = "400 Subtitle missing source_release_id to download";
    check(&format!("{NO_FILE}/download"), no_release);
    let upstream = "502 Failed to fetch subtitle from source";
    check(&format!("{HEAT}/download"), upstream);
    let season = "400 season must be an integer";
    check(&format!("{HEAT}/download?season=x&episode=y"), season);
}

/// Answers of both interfaces fit the document that describes them.
#[test]
fn rule_20_8_answers_are_as_described() {
    let provider = Provider::new();
    let document = provider.server.get("/openapi-address.json", None);
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    for (described, path) in [
        ("api/v1/info", "api/v1/info"),
        ("api/v1/languages", "api/v1/languages"),
        (
            "api/v1/subtitles/search",
            "api/v1/subtitles/search?query=heat",
        ),
        (
            "api/v1/subtitles/search",
            "api/v1/subtitles/search?imdb_id=tt7",
        ),
        ("api/v1/subtitles/search", "api/v1/subtitles/search?page=x"),
        ("manifest.json", "manifest.json"),
        (
            "subtitles/{type}/{id}.json",
            "subtitles/movie/tt0113277.json",
        ),
    ] {
        let answer = provider.get(&format!("/{path}"));
        let operation = &document["paths"][format!("/a/{{key}}/{described}")]["get"];
        let response = &operation["responses"][answer.status.to_string()];
        let schema = &response["content"]["application/json"]["schema"];
        assert!(schema.is_object(), "{path} {}", answer.status);
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(fault(&document, schema, &body), None, "{path}");
    }
}

/// A video as Bazarr knows it.
#[derive(Clone, Copy, Default)]
struct Video {
    imdb_id: &'static str,
    title: &'static str,
    year: Option<u32>,
    season: Option<u32>,
    episode: Option<u32>,
}

impl Provider {
    /// The requests of the provider for one language, in its order: by id, then by title when that
    /// has found nothing. Each is answered with 200, or the provider would give the service up.
    fn list_subtitles(&self, video: Video, language: &str) -> Vec<Value> {
        assert_eq!(self.get("/api/v1/info").status, 200, "the ping");
        let mut common = format!("language={language}&per_page=100");
        for (name, number) in [("season", video.season), ("episode", video.episode)] {
            common.extend(number.map(|number| format!("&{name}={number}")));
        }
        let mut items = Vec::new();
        if !video.imdb_id.is_empty() {
            let mut by_id = format!("{common}&imdb_id={}", video.imdb_id);
            by_id.extend(video.year.map(|year| format!("&year={year}")));
            items.clone_from(self.search(&by_id)["items"].as_array().unwrap());
        }
        if items.is_empty() {
            let by_title = format!("{common}&query={}", video.title.replace(' ', "+"));
            items.clone_from(self.search(&by_title)["items"].as_array().unwrap());
        }
        for item in &items {
            // The provider takes an item in its own language only, and compares titles.
            assert_eq!(item["language"], language);
            assert!(item["releases"].is_array());
            let url = item["download_url"].as_str().unwrap();
            let target = url.strip_prefix("http://test").unwrap();
            assert_eq!(self.server.get(target, None).status, 200, "{url}");
        }
        items
    }
}

/// Requests as the provider's source sends them (Bazarr, `providers/subsarr.py`).
#[test]
fn rule_20_8_the_provider_finds_films_and_episodes_by_id_or_by_title() {
    let provider = Provider::new();
    let check = |video: Video, language: &str, title: &str, expected: &[&str]| {
        let items = provider.list_subtitles(video, language);
        let ids: Vec<&str> = items.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{}", video.title);
        assert!(items.iter().all(|item| item["title"] == title), "{items:?}");
    };
    let heat = Video {
        imdb_id: "tt0113277",
        title: "Heat",
        year: Some(1996),
        ..Video::default()
    };
    // An id is certain, whatever the year there.
    check(heat, "spanish", "Heat (Fuego contra fuego)", &[HEAT]);
    check(heat, "english", "", &[]);
    let unknown = Video {
        imdb_id: "tt9999999",
        title: "Fuego contra fuego",
        ..heat
    };
    check(unknown, "spanish", "Fuego contra fuego", &[HEAT]);
    let dark = Video {
        imdb_id: "tt0007",
        title: "Dark",
        season: Some(1),
        episode: Some(2),
        ..Video::default()
    };
    check(dark, "spanish", "Dark", &[EPISODE, PACK, MACHINE]);
    let by_title = Video {
        imdb_id: "",
        ..dark
    };
    check(by_title, "spanish", "Dark", &[EPISODE, PACK, MACHINE]);
}
