//! `release` and names of releases in `GET /api/subtitles/search` (API.md 5.8), and in the search
//! box of the site.

use subcat_engine::{DraftValue, RecordDraft, Role};
use subcat_tests::portal::Portal;
use subcat_tests::server::{TestServer, film, text};

use crate::searcher::Searcher;

const NAMES: [&str; 3] = [
    "Lost.S01E02.720p.HDTV.x264-LOL",
    "Lost.S01E02.1080p.WEB-DL.H.264-NTb",
    "Lost.S01E02.DVDRip.XviD-SAiNTS",
];

/// Three releases of one episode, posted at the same time.
fn catalog(server: &TestServer) {
    let record = |(number, name): (usize, &&'static str)| {
        let id: &'static str = [
            "00000000-0000-4000-8000-000000000001",
            "00000000-0000-4000-8000-000000000002",
            "00000000-0000-4000-8000-000000000003",
        ][number];
        RecordDraft {
            video_type: text("episode"),
            season: DraftValue::Integer(1),
            episode: DraftValue::Integer(2),
            catalog_id: text("tt0411008"),
            description: text(name),
            ..film(id, "Lost", 2004, "1")
        }
    };
    server.import(NAMES.iter().enumerate().map(record).collect());
}

#[test]
fn rule_5_8_the_release_comes_first_in_every_search() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    for criterion in [
        "catalog_id=tt0411008",
        "catalog_id=tt0411008&video_type=episode&season=1&episode=2",
        "query=lost",
        "query=lost+s01e02",
        "title=lost",
        "query=Lost.S01E02.576p.unknown",
    ] {
        for name in NAMES {
            // Asked twice: the second answer comes from the cache, which tells releases apart.
            for _ in 0..2 {
                let found = searcher.descriptions(&format!("{criterion}&release={name}.mkv"));
                assert_eq!(found.len(), NAMES.len(), "{criterion} {name}");
                assert_eq!(found[0], name, "{criterion}");
            }
        }
        let found = searcher.descriptions(criterion);
        assert_eq!(found, NAMES, "by id without a release: {criterion}");
    }
}

#[test]
fn rule_5_8_a_file_name_is_found_and_ordered_by_its_tail() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let found = searcher.descriptions("query=Lost.S01E02.DVDRip.x265-SAiNTS.avi");
    assert_eq!(found[0], NAMES[2]);
    assert_eq!(found.len(), 3);
    let found = searcher.descriptions("query=Lost.S01E03.DVDRip.x265-SAiNTS.avi");
    assert!(found.is_empty());
}

#[test]
fn rule_5_8_release_is_not_a_criterion() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let detail = "Provide at least one search criteria: query, title, catalog_id or public_id";
    for query_string in ["release=lost", "release=lost&query=!!!", "release="] {
        let answer = searcher.ask(query_string);
        assert_eq!(answer.status, 400, "{query_string}");
        assert_eq!(answer.text(), format!(r#"{{"detail":"{detail}"}}"#));
    }
    for without in ["", "++", "...", "%F0%9F%98%80"] {
        let found = searcher.descriptions(&format!("title=lost&release={without}"));
        assert_eq!(found, NAMES, "release={without}");
    }
}

#[test]
fn rule_2_15_a_release_has_at_most_512_characters_and_its_fault_is_the_last() {
    let server = TestServer::start();
    catalog(&server);
    let mut searcher = Searcher::new(&server);
    let longest = "%C3%B1".repeat(512);
    let answer = searcher.ask(&format!("title=lost&release=++{longest}++"));
    assert_eq!(answer.status, 200);
    let long = "x+".repeat(257);
    let answer = searcher.ask(&format!("release={long}&title=lost&episode=0"));
    assert_eq!(answer.status, 422);
    let expected = concat!(
        r#"{"detail":[{"loc":["query","episode"],"msg":"Input should be greater than or equal to "#,
        r#"1","type":"greater_than_equal"},{"loc":["query","release"],"msg":"Input should have "#,
        r#"at most 512 characters","type":"string_too_long"}]}"#
    );
    assert_eq!(answer.text(), expected);
}

#[test]
fn a_file_name_in_the_search_box_finds_its_episode() {
    let portal = Portal::open(|_| ());
    portal.make_account("ana@example.com", "correct horse", Role::User);
    let mut ana = portal.signed_in("ana@example.com", "correct horse");
    let page = ana.get("/catalog?query=Breaking.Bad.S01E02.720p.HDTV.x264-NOCTURNO.mkv");
    assert_eq!(page.status, 200);
    assert!(
        page.text()
            .contains("Breaking.Bad.S01E02.HDTV.x264-NOCTURNO")
    );
}
