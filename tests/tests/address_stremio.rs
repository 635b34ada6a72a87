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
