//! The add-on of Stremio below an address.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use serde_json::{Value, json};
use subcat_engine::{DraftValue, RecordDraft, Scopes};
use subcat_tests::raw::RawAnswer;
use subcat_tests::server::{TestServer, film, text};

const FILM: &str = "00000000-0000-4000-8000-000000000001";
const GROUP: &str = "00000000-0000-4000-8000-000000000002";
const EPISODE: &str = "00000000-0000-4000-8000-000000000003";
const PACK: &str = "00000000-0000-4000-8000-000000000004";

/// A client of add-ons: it was given the address of a manifest.
struct Player {
    server: TestServer,
    base: String,
}

impl Player {
    fn new() -> Self {
        let server = TestServer::start();
        let of_film = |id: &'static str, description: &'static str| RecordDraft {
            catalog_id: text("tt0113277"),
            description: text(description),
            ..film(id, "Heat", 1995, id)
        };
        let of_show = |id: &'static str, episode: Option<i64>| RecordDraft {
            video_type: text("episode"),
            season: DraftValue::Integer(1),
            episode: episode.map_or(DraftValue::Absent, DraftValue::Integer),
            parent_catalog_id: text("tt7"),
            language: text("pt-BR"),
            ..film(id, "Dark", 2017, id)
        };
        server.import(vec![
            of_film(FILM, "720p"),
            RecordDraft {
                posted_at: text("2020-01-01"),
                ..of_film(GROUP, "1080p GRP")
            },
            RecordDraft {
                posted_at: text("2020-01-01"),
                ..of_show(EPISODE, Some(2))
            },
            of_show(PACK, None),
        ]);
        let (key, _) = server.api_key_with(Scopes::ADDRESS, None, None);
        let base = format!("/a/{key}");
        Self { server, base }
    }

    fn get(&self, path: &str) -> RawAnswer {
        self.server.get(&format!("{}{path}", self.base), None)
    }

    fn subtitles(&self, path: &str) -> Vec<Value> {
        let answer = self.get(&format!("/subtitles/{path}"));
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.field("access-control-allow-origin"), Some("*"));
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        list["subtitles"].as_array().unwrap().clone()
    }

    fn finds(&self, path: &str, expected: &[&str]) {
        let found = self.subtitles(path);
        let ids: Vec<&str> = found.iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{path}");
    }
}

#[test]
fn rule_20_12_the_manifest_offers_subtitles_of_films_and_series() {
    let answer = Player::new().get("/manifest.json");
    let manifest: Value = serde_json::from_slice(&answer.body).unwrap();
    let expected = json!({
        "id": "org.subcat",
        "version": env!("CARGO_PKG_VERSION"),
        "name": "subcat",
        "description": "Subtitle catalog",
        "resources": [
            {"name": "subtitles", "types": ["movie", "series"], "idPrefixes": ["tt"]},
        ],
        "types": ["movie", "series"],
        "idPrefixes": ["tt"],
        "catalogs": [],
    });
    assert_eq!(manifest, expected);
}

#[test]
fn rule_20_13_films_by_id_the_release_that_is_played_first() {
    let player = Player::new();
    player.finds("movie/tt0113277.json", &[FILM, GROUP]);
    let extra = "videoSize=7&filename=Heat.1995.1080p-GRP+%26.mkv";
    player.finds(&format!("movie/tt0113277/{extra}.json"), &[GROUP, FILM]);
    let item = player.subtitles(&format!("movie/tt113277/{extra}.json"))[0].clone();
    let url = format!(
        "http://test{}/file/{GROUP}.srt?release=Heat.1995.1080p-GRP%20%26.mkv",
        player.base
    );
    assert_eq!(item, json!({"id": GROUP, "url": url, "lang": "spa"}));
}

#[test]
fn rule_20_13_episodes_before_packs() {
    let player = Player::new();
    player.finds("series/tt7:1:2.json", &[EPISODE, PACK]);
    player.finds("series/tt7%3A1%3A3.json", &[PACK]);
    let item = player.subtitles("series/tt7:01:002.json")[0].clone();
    let url = item["url"].as_str().unwrap();
    let end = format!("/file/{EPISODE}.srt?season=1&episode=2");
    assert!(url.ends_with(&end), "{url}");
    assert_eq!(item["lang"], "por");
}

#[test]
fn rule_20_13_other_types_and_ids_are_an_empty_list() {
    let player = Player::new();
    for path in [
        "movie/tt7.json",
        "movie/113277.json",
        "movie/kitsu:1.json",
        "channel/tt0113277.json",
        "series/tt7.json",
        "series/tt7:1.json",
        "series/tt7:0:1.json",
        "series/tt7:1:0.json",
        "series/tt7:+1:2.json",
        "series/tt7:1:2:3.json",
        "series/tt7:99999:1.json",
    ] {
        player.finds(path, &[]);
    }
    assert_eq!(player.get("/subtitles/movie/tt0113277").status, 404);
}

#[test]
fn rule_20_13_a_tag_filters_and_stays_in_urls() {
    let player = Player::new();
    let answer = player.get("/es-419/subtitles/movie/tt0113277.json");
    let list: Value = serde_json::from_slice(&answer.body).unwrap();
    let url = list["subtitles"][0]["url"].as_str().unwrap();
    assert!(url.contains("/es-419/file/"), "{url}");
    let portugal = player.get("/pt-PT/subtitles/series/tt7:1:2.json");
    assert_eq!(portugal.text(), r#"{"subtitles":[]}"#);
}

/// A component as `encodeURIComponent` writes it.
fn component(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte);
    let encoded = text.bytes().map(|byte| match byte {
        byte if plain(byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    encoded.collect()
}

impl Player {
    /// The request of the client's transport: the manifest's address, whose end is the path of the
    /// resource, each component encoded.
    fn ask(&self, kind: &str, id: &str, extra: &[(&str, &str)]) -> Vec<Value> {
        let mut path = format!("/subtitles/{}/{}", component(kind), component(id));
        if !extra.is_empty() {
            let pair =
                |(name, value): &(&str, &str)| format!("{}={}", component(name), component(value));
            let pairs: Vec<String> = extra.iter().map(pair).collect();
            path.push_str(&format!("/{}", pairs.join("&")));
        }
        let transport_url = format!("{}/manifest.json", self.base);
        let target = transport_url.replace("/manifest.json", &format!("{path}.json"));
        let answer = self.server.get(&target, None);
        assert_eq!(answer.status, 200, "{target}");
        let list: Value = serde_json::from_slice(&answer.body).unwrap();
        let subtitles = list["subtitles"].as_array().unwrap().clone();
        for subtitle in &subtitles {
            // What the client reads: an id, an address that it can parse, a language.
            let url = subtitle["url"].as_str().unwrap();
            assert!(url.parse::<http::Uri>().unwrap().host().is_some(), "{url}");
            assert!(subtitle["id"].is_string() && subtitle["lang"].is_string());
        }
        subtitles
    }
}

/// Requests as the client library sends them (stremio-core, `http_transport.rs`).
#[test]
fn rule_20_13_the_client_library_finds_films_and_episodes() {
    let player = Player::new();
    let ids = |found: &[Value]| -> Vec<String> {
        let ids = found.iter().map(|it| it["id"].as_str().unwrap().to_owned());
        ids.collect()
    };
    let extra = [
        ("videoHash", "8e245d9679d31e12"),
        ("videoSize", "1234567"),
        ("filename", "Heat (1995) [1080p] ñ & GRP.mkv"),
    ];
    let found = player.ask("movie", "tt0113277", &extra);
    assert_eq!(ids(&found), [GROUP, FILM]);
    let url = found[0]["url"].as_str().unwrap();
    let release = "?release=Heat%20%281995%29%20%5B1080p%5D%20%C3%B1%20%26%20GRP.mkv";
    assert!(url.ends_with(release), "{url}");
    let found = player.ask("series", "tt7:1:2", &extra[..2]);
    assert_eq!(ids(&found), [EPISODE, PACK]);
    assert_eq!(ids(&player.ask("series", "tt7:1:3", &[])), [PACK]);
    assert!(player.ask("series", "kitsu:7:3", &extra).is_empty());
}
