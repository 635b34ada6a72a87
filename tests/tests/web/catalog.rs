//! The catalog for people: the search box, lists without words, records.

use std::time::{Duration, Instant};

use subcat_engine::{DraftValue, RecordDraft, RecordId, Role};
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::{film, text};

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

pub(crate) fn portal() -> (Portal, Visitor) {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let ana = portal.signed_in(EMAIL, PASSWORD);
    (portal, ana)
}

pub(crate) fn location(answer: &RawAnswer) -> &str {
    answer.field("location").unwrap_or("")
}

/// Ids of the hits of a page, in order.
pub(crate) fn hits(page: &RawAnswer) -> Vec<String> {
    assert_eq!(page.status, 200, "{}", page.text());
    let pieces = page.text().split("<h2><a href=\"/catalog/").skip(1);
    pieces
        .map(|it| it.split('"').next().unwrap_or("").to_owned())
        .collect()
}

pub(crate) fn id_of(number: u32) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

#[test]
fn what_people_paste_is_understood() {
    let (_portal, mut ana) = portal();
    for pasted in [
        "https%3A%2F%2Fwww.imdb.com%2Ftitle%2Ftt0133093%2F",
        "tt0133093",
    ] {
        let answer = ana.get(&format!("/catalog?query={pasted}"));
        assert_eq!(location(&answer), "/title/tt0133093", "{pasted}");
    }
    let first = hits(&ana.get("/catalog?query=matrix")).remove(0);
    for pasted in [first.clone(), format!("http%3A%2F%2Fx%2Fcatalog%2F{first}")] {
        let answer = ana.get(&format!("/catalog?query={pasted}"));
        assert_eq!(location(&answer), format!("/catalog/{first}"), "{pasted}");
    }
    let unknown = ana.get("/catalog?query=tt99999999");
    assert!(unknown.text().contains("No results"), "{}", unknown.text());
    let plain = hits(&ana.get("/catalog?query=The.Matrix.1999"));
    assert!(!plain.is_empty());
    for ending in ["srt", "mkv", "zip"] {
        let page = ana.get(&format!("/catalog?query=The.Matrix.1999.{ending}"));
        assert_eq!(hits(&page), plain, "{ending}");
    }
    let season = hits(&ana.get("/catalog?query=breaking+bad+s02"));
    assert!(!season.is_empty());
    for words in ["temporada+2", "season+2", "2%C2%AA+temporada"] {
        let page = ana.get(&format!("/catalog?query=breaking+bad+{words}"));
        assert_eq!(hits(&page), season, "{words}");
    }
}

/// Words of a title mean what they say, though they may name a season.
#[test]
fn a_title_that_sounds_like_a_season_is_found_as_the_api_finds_it() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (0..4).map(id_of).collect();
    portal.import(vec![
        film(&ids[0], "Open Season 2", 2008, "release-z"),
        film(&ids[1], "Segunda temporada", 2011, "release-z"),
        RecordDraft {
            video_type: text("episode"),
            season: DraftValue::Integer(2),
            episode: DraftValue::Integer(1),
            ..film(&ids[2], "Open", 2004, "release-z")
        },
        RecordDraft {
            video_type: text("episode"),
            season: DraftValue::Integer(1),
            episode: DraftValue::Integer(5),
            ..film(&ids[3], "3x3 Reyes", 1991, "release-z")
        },
    ]);
    for (typed, found) in [
        ("Open+Season+2", &ids[0]),
        ("segunda+temporada", &ids[1]),
        ("open+temporada+2", &ids[2]),
        ("3x3.Reyes.S01E05.mkv", &ids[3]),
    ] {
        let page = ana.get(&format!("/catalog?query={typed}"));
        assert_eq!(hits(&page), [found.as_str()], "{typed}");
    }
}

#[test]
fn filters_alone_list_the_newest_and_an_episode_implies_its_type() {
    let (portal, mut ana) = portal();
    let newest = hits(&ana.get("/catalog"));
    assert_eq!(newest.len(), 25);
    let second = hits(&ana.get("/catalog?page=2"));
    assert!(second.iter().all(|id| !newest.contains(id)));
    let films = ana.get("/catalog?video_type=movie&year=1999");
    assert!(!hits(&films).is_empty());
    assert!(!films.text().contains("role=\"alert\""));
    let typed = hits(&ana.get("/catalog?query=breaking&season=1&video_type=episode"));
    assert!(!typed.is_empty());
    assert_eq!(hits(&ana.get("/catalog?query=breaking&season=1")), typed);
    let seasons = ana.get("/catalog?season=1&query=");
    assert!(!hits(&seasons).is_empty());
    // Chips say what is set, and take it away.
    let page = ana.get("/catalog?query=the&year=1999&imdb_id=tt0133093");
    for chip in ["Catalog ID: tt0133093", "Year: 1999"] {
        assert!(
            page.text().contains(&format!("Remove {chip}")),
            "{}",
            page.text()
        );
    }
    assert!(
        page.text()
            .contains("href=\"/catalog?query=the&#38;catalog_id=tt0133093\"")
    );
    assert!(
        page.text().contains("value=\"tt0133093\""),
        "the form keeps the alias"
    );
    drop(portal);
    let empty = Portal::empty(|_| ());
    empty.make_account(EMAIL, PASSWORD, Role::User);
    let page = empty.signed_in(EMAIL, PASSWORD).get("/catalog");
    assert!(
        page.text().contains("The catalog is empty"),
        "{}",
        page.text()
    );
}

#[test]
fn a_filter_that_is_not_valid_is_told_at_its_field() {
    let (_portal, mut ana) = portal();
    let page = ana.get("/catalog?query=matrix&year=99&episode=0");
    assert_eq!(page.status, 422);
    let shown = page.text();
    for part in [
        "<title>Error: matrix",
        "value=\"99\" aria-invalid=\"true\" aria-describedby=\"year-fault\" autofocus",
        "id=\"year-fault\" role=\"alert\">Must be at least 1900.",
        "id=\"episode-fault\"",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(shown.matches("autofocus").count(), 1, "{shown}");
    assert!(!shown.contains("notice bad"), "no box beside the fields");
    let page = ana.get("/catalog?query=matrix&limit=900");
    assert!(
        page.text().contains("notice bad"),
        "the form has no field of it"
    );
    let page = ana.get(&format!("/catalog?query={}", "x+".repeat(33)));
    assert!(
        page.text().contains("aria-describedby=\"query-fault\""),
        "{}",
        page.text()
    );
}

#[test]
fn a_hit_says_what_people_choose_by() {
    let (portal, mut ana) = portal();
    let (id, twin) = (id_of(900), id_of(901));
    let draft = |id, language, description| RecordDraft {
        language: text(language),
        description: text(description),
        uploader_name: text("Anacleto"),
        ..film(id, "Zumbido (1999)", 1999, "206195")
    };
    portal.import(vec![
        draft(
            &id,
            "es-ES",
            "Castellano. Zumbido.1999.1080p.WEB-DL.x264-GRP",
        ),
        draft(&twin, "es-419", "Latino"),
    ]);
    let page = ana.get("/catalog?query=zumbido");
    let shown = page.text();
    for part in [
        "1080p · WEB-DL · GRP",
        "badge spain\">Spain",
        "badge latin\">Latin America",
        "lang=\"es-ES\"",
        "<bdi>Anacleto</bdi>",
        "<bdi>Zumbido</bdi> <span class=\"year\">1999",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let label = |id: &str| {
        let (_, rest) = shown
            .split_once(&format!("/catalog/{id}/download\""))
            .expect("a button");
        rest.split('>').next().unwrap_or("").to_owned()
    };
    assert_ne!(label(&id), label(&twin), "a screen reader tells them apart");
    assert!(
        !shown.contains("lang=\"es-ES\"><bdi>Zumbido"),
        "nobody knows the language of a title"
    );
    assert!(
        !shown.contains(" srt "),
        "nothing is known of a file that is not cached"
    );
    assert!(shown.contains(">0 downloads<"), "{shown}");
    assert_eq!(ana.get(&format!("/catalog/{id}/download")).status, 200);
    let page = ana.get("/catalog?query=zumbido");
    assert!(page.text().contains(">1 download<"), "{}", page.text());
    assert!(
        page.text().contains("srt ") || page.text().contains("zip "),
        "{}",
        page.text()
    );
}

#[test]
fn records_of_one_release_stand_together() {
    let (portal, mut ana) = portal();
    let texts = [
        (900, "Zumbido.1999.1080p.WEB-DL.x264-GRP", "2024-01-04"),
        (901, "Zumbido.1999.1080p.BluRay.x264-GRP", "2024-01-03"),
        (902, "Zumbido.1999.1080p.WEB-DL.x264-GRP", "2024-01-02"),
        (903, "sin nombre", "2024-01-01"),
        (904, "sin nombre", "2023-01-01"),
    ];
    let texts = texts.map(|(number, name, posted_at)| (id_of(number), name, posted_at));
    let drafts = texts.iter().map(|(id, name, posted_at)| RecordDraft {
        description: text(name),
        posted_at: text(posted_at),
        catalog_id: text("tt0206195"),
        ..film(id, "Zumbido", 1999, "206195")
    });
    portal.import(drafts.collect());
    let shown_of = |page: &str| -> Vec<(u32, bool)> {
        let items = page
            .split("<li")
            .filter(|item| item.contains("/download\""));
        let numbers = (900..905).map(|number| (number, id_of(number)));
        let numbers: Vec<(u32, String)> = numbers.collect();
        let number_of = |item: &str| {
            let found = numbers.iter().find(|(_, id)| item.contains(id.as_str()));
            found.map_or(0, |(number, _)| *number)
        };
        let shown = items.map(|item| (number_of(item), item.starts_with(" class=\"same\"")));
        shown.collect()
    };
    let together = [
        (900, false),
        (902, true),
        (901, false),
        (903, false),
        (904, false),
    ];
    for path in ["/catalog?query=zumbido", "/title/tt0206195"] {
        assert_eq!(shown_of(ana.get(path).text()), together, "{path}");
    }
    let by_time = [900, 901, 902, 903, 904].map(|number| (number, false));
    let page = ana.get("/catalog?query=zumbido&sort=newest");
    assert_eq!(
        shown_of(page.text()),
        by_time,
        "an order that was chosen is kept"
    );
    ana.get("/?lang=es");
    let page = ana.get("/title/tt0206195");
    assert!(page.text().contains("La misma versión"), "{}", page.text());
}

#[test]
fn flags_are_badges_of_rows_and_records() {
    let (_portal, mut ana) = portal();
    // Records of the demo.
    for (record, query, badge) in [
        (
            "68eb97a8-af6c-5903-89eb-0619a6c7a2a4",
            "lost+s01e02",
            "Forced",
        ),
        ("", "all+about+my+mother", "SDH"),
    ] {
        let badge = format!("<span class=\"badge neutral\">{badge}</span>");
        let list = ana.get(&format!("/catalog?query={query}"));
        assert!(list.text().contains(&badge), "{}", list.text());
        if !record.is_empty() {
            let page = ana.get(&format!("/catalog/{record}"));
            assert!(page.text().contains(&badge), "{}", page.text());
        }
    }
}

#[test]
fn a_record_without_a_file_offers_none() {
    let portal = Portal::open(|config| config.upstream.url = None);
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let (bare, other) = (id_of(900), id_of(901));
    let without_file = RecordDraft {
        source_release_id: DraftValue::default(),
        ..film(&bare, "Zumbido", 1999, "r")
    };
    portal.import(vec![without_file, film(&other, "Otro", 1999, "r2")]);
    for (id, reason) in [
        (&bare, "has no file to download"),
        (&other, "is not stored here"),
    ] {
        let page = ana.get(&format!("/catalog/{id}"));
        assert!(page.text().contains(reason), "{}", page.text());
        assert!(!page.text().contains("/download"), "{}", page.text());
    }
    let refused = ana.get(&format!("/catalog/{bare}/download"));
    assert_eq!(refused.status, 400);
    assert!(!refused.text().contains("later"), "waiting does not help");
    assert!(
        refused
            .text()
            .contains(&format!("href=\"/catalog/{bare}\"")),
        "{}",
        refused.text()
    );
}

#[test]
fn too_many_pages_say_how_long_to_wait_and_lead_back() {
    let (_portal, mut ana) = portal();
    let path = "/catalog?query=matrix&page=1";
    let refused = (0..130)
        .map(|_| ana.get(path))
        .find(|page| page.status == 429);
    let refused = refused.expect("pages are limited");
    let seconds = refused.field("retry-after").expect("a time");
    assert!(
        refused
            .text()
            .contains(&format!("available in {seconds} s")),
        "{}",
        refused.text()
    );
    assert!(
        refused
            .text()
            .contains("href=\"/catalog?query=matrix&#38;page=1\"")
    );
    assert!(!refused.text().contains("attempts"));
}

#[test]
fn a_page_that_is_not_shown_says_why_in_one_language() {
    let (_portal, mut ana) = portal();
    let page = ana.get("/nowhere");
    assert!(
        page.text().contains("<h1>Page not found</h1>"),
        "{}",
        page.text()
    );
    assert!(
        page.text().contains("This page does not exist"),
        "{}",
        page.text()
    );
    assert!(!page.text().contains("Página"), "{}", page.text());
    ana.get("/?lang=es");
    let page = ana.get("/nowhere");
    assert!(
        page.text().contains("<h1>Página no encontrada</h1>"),
        "{}",
        page.text()
    );
    assert!(
        page.text().contains("Esta página no existe"),
        "{}",
        page.text()
    );
}

#[test]
fn small_addresses_that_browsers_ask_for_are_there() {
    let (portal, mut ana) = portal();
    for (path, content_type) in [
        ("/favicon.ico", "image/svg+xml"),
        ("/robots.txt", "text/plain; charset=utf-8"),
    ] {
        let answer = portal.visitor().get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert_eq!(answer.field("content-type"), Some(content_type), "{path}");
    }
    let front = portal.visitor().get("/");
    for name in ["theme-color", "description"] {
        let meta = format!("<meta name=\"{name}\" content=\"");
        assert!(front.text().contains(&meta), "{name}");
    }
    let answer = ana.get("/.well-known/change-password");
    assert_eq!(location(&answer), "/profile#password-change");
    let accepted = [("Accept-Encoding", "gzip")];
    for path in ["/docs", "/openapi.json"] {
        let packed = ana.send("GET", path, &accepted, "");
        assert_eq!(packed.field("content-encoding"), Some("gzip"), "{path}");
        assert!(packed.body.len() * 2 < ana.get(path).body.len(), "{path}");
    }
    let secret = ana.send("GET", "/keys", &accepted, "");
    assert_eq!(secret.field("content-encoding"), None);
    assert!(secret.field("permissions-policy").is_some());
}

#[test]
fn a_look_into_a_file_shows_its_first_lines_and_counts_as_no_download() {
    let (portal, mut ana) = portal();
    let id = hits(&ana.get("/catalog?query=matrix")).remove(0);
    let look = ana.get(&format!("/catalog/{id}/look"));
    assert_eq!(look.status, 200, "{}", look.text());
    let is_shown = look.text().contains("<dl class=\"cues") || look.text().contains("plain names");
    assert!(is_shown, "{}", look.text());
    let record = RecordId::parse(&id).expect("an id");
    let usage = portal.service().engine.usage();
    assert_eq!(usage.downloads(record), 0);
    assert_eq!(ana.get(&format!("/catalog/{id}/download")).status, 200);
    assert_eq!(usage.downloads(record), 1);
    assert_eq!(ana.get("/catalog/none/look").status, 404);
    assert_eq!(
        portal.visitor().get(&format!("/catalog/{id}/look")).status,
        303
    );
}

#[test]
fn pages_are_no_requests_of_the_api() {
    let (portal, mut ana) = portal();
    for _ in 0..5 {
        ana.get("/catalog?query=matrix");
        ana.get("/nowhere");
    }
    let key = ana.post("/keys", &[("name", "x"), ("scope", "search")]);
    let (_, rest) = key.text().split_once("readonly value=\"").expect("a key");
    let key = rest.split('"').next().expect("it ends");
    let mut client = Client::connect(portal.address());
    let search = "/api/subtitles/search?title=matrix";
    assert_eq!(client.get(search, Some(key)).status, 200);
    // Usage is stored within a second or so.
    let service = portal.service();
    let today = service.now().day();
    let requests = || -> u64 {
        let usage = service.engine.usage().per_day(today, today);
        let usage = usage.expect("it is read");
        usage.iter().map(|(_, usage)| usage.requests).sum()
    };
    let began = Instant::now();
    while requests() == 0 && began.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    assert_eq!(requests(), 1);
}

#[test]
fn a_feed_is_opened_by_its_own_token_and_by_nothing_else() {
    let (portal, mut ana) = portal();
    let made = ana.post("/profile/feed", &[]);
    let address = |page: &RawAnswer| {
        let (_, rest) = page
            .text()
            .split_once("/feed.atom?token=")
            .expect("an address");
        rest.split('"').next().expect("it ends").to_owned()
    };
    let token = address(&made);
    let mut reader = portal.visitor();
    let feed = reader.get(&format!("/feed.atom?token={token}"));
    assert_eq!(feed.status, 200, "{}", feed.text());
    assert_eq!(
        feed.field("content-type"),
        Some("application/atom+xml; charset=utf-8")
    );
    assert_eq!(feed.text().matches("<entry>").count(), 50);
    let newest = hits(&ana.get("/catalog"));
    assert!(
        feed.text()
            .contains(&format!("<id>urn:uuid:{}</id>", newest[0]))
    );
    assert!(!feed.text().contains(&token), "the token is not repeated");
    for part in ["title_id=tt0133093", "query=matrix"] {
        let feed = reader.get(&format!("/feed.atom?token={token}&{part}"));
        assert!(feed.text().contains("Matrix"), "{part}: {}", feed.text());
    }
    for path in ["/catalog", "/keys", "/profile"] {
        assert_eq!(
            reader.get(&format!("{path}?token={token}")).status,
            303,
            "{path}"
        );
    }
    let mut client = Client::connect(portal.address());
    assert_eq!(
        client
            .get("/api/subtitles/search?title=x", Some(&token))
            .status,
        403
    );
    assert!(
        !ana.get("/keys").text().contains(">feed<"),
        "lists of keys leave it out"
    );
    assert_eq!(reader.get("/feed.atom").status, 303);
    // An ordinary key opens no feed.
    let key = ana.post("/keys", &[("name", "x"), ("scope", "search")]);
    let (_, rest) = key.text().split_once("readonly value=\"").expect("a key");
    let key = rest.split('"').next().expect("it ends");
    assert_eq!(reader.get(&format!("/feed.atom?token={key}")).status, 404);
    let newer = address(&ana.post("/profile/feed", &[]));
    assert_eq!(reader.get(&format!("/feed.atom?token={token}")).status, 404);
    assert_eq!(reader.get(&format!("/feed.atom?token={newer}")).status, 200);
}

#[test]
fn no_download_is_offered_where_none_can_come() {
    let portal = Portal::open(|config| config.upstream.url = None);
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let page = ana.get("/catalog?query=matrix");
    assert!(!hits(&page).is_empty());
    assert!(!page.text().contains("/download\""), "{}", page.text());
}

#[test]
fn a_public_catalog_needs_no_account() {
    let portal = Portal::open(|config| config.is_catalog_public = true);
    let mut visitor = portal.visitor();
    let found = hits(&visitor.get("/catalog?query=matrix"));
    for path in [
        format!("/catalog/{}", found[0]),
        format!("/catalog/{}/look", found[0]),
        format!("/catalog/{}/download", found[0]),
        "/title/tt0133093".to_owned(),
        "/feed.atom".to_owned(),
    ] {
        assert_eq!(visitor.get(&path).status, 200, "{path}");
    }
    for path in ["/keys", "/profile", "/admin"] {
        assert_eq!(visitor.get(path).status, 303, "{path}");
    }
    // Readers of feeds find theirs by themselves, and people see it.
    for (path, feed) in [
        ("/catalog?year=1999", "/feed.atom?year=1999"),
        ("/title/tt0133093", "/feed.atom?title_id=tt0133093"),
    ] {
        let page = visitor.get(path);
        let link = format!("type=\"application/atom+xml\" href=\"{feed}\"");
        assert!(page.text().contains(&link), "{path}: {}", page.text());
        assert_eq!(visitor.get(feed).status, 200, "{feed}");
    }
    let home = visitor.get("/");
    assert_eq!(hits(&home).len(), 5, "the newest");
    let limited = (0..130).any(|_| visitor.get("/catalog/none").status == 429);
    assert!(limited, "an address has a limit");
}

#[test]
fn lists_and_searches_are_ordered_by_downloads_or_time() {
    let (portal, mut ana) = portal();
    let engine = &portal.service().engine;
    let snapshot = engine.catalog().snapshot();
    let docs = |ids: &[String]| {
        let doc = |id: &String| {
            let id = RecordId::parse(id).expect("an id");
            let doc = snapshot.doc(id).expect("it is read").expect("a record");
            let own = engine.usage().downloads(id);
            let posted_at = doc.posted_at().expect("a time").to_vec();
            (u64::from(doc.upstream_downloads()) + own, posted_at)
        };
        ids.iter().map(doc).collect::<Vec<_>>()
    };
    // Beside the search by relevance, in each order, the same records.
    let relevant = hits(&ana.get("/catalog?query=matrix"));
    let by_downloads = hits(&ana.get("/catalog?query=matrix&sort=downloads"));
    assert_ne!(by_downloads, relevant);
    assert!(docs(&by_downloads).is_sorted_by(|a, b| b.0 <= a.0));
    let by_time = hits(&ana.get("/catalog?query=matrix&sort=newest"));
    assert!(docs(&by_time).is_sorted_by(|a, b| b.1 <= a.1));
    for other in [&by_downloads, &by_time] {
        let mut sorted = other.clone();
        let mut expected = relevant.clone();
        sorted.sort_unstable();
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }
    // Without words: the whole catalog, page by page, and the filters.
    let first = ana.get("/catalog?sort=downloads");
    let second = hits(&ana.get("/catalog?sort=downloads&page=2"));
    let both = [hits(&first), second].concat();
    assert_eq!(both.len(), 50);
    assert!(docs(&both).is_sorted_by(|a, b| b.0 <= a.0));
    let films = hits(&ana.get("/catalog?year=1999&video_type=movie&sort=downloads"));
    assert!(docs(&films).is_sorted_by(|a, b| b.0 <= a.0));
    // The form keeps the order, the links of the pages too.
    let text = first.text();
    assert!(text.contains("name=\"sort\" value=\"downloads\""), "{text}");
    assert!(
        text.contains("/catalog?sort=downloads&amp;page=2"),
        "{text}"
    );
    assert!(text.contains("Most downloaded subtitles"), "{text}");
    // Our own downloads count as upstream's do: of two neighbours the second overtakes the first.
    let counts = docs(&both);
    let is_near = |idx: &usize| (counts[*idx].0 - counts[idx + 1].0) < 20;
    let near: Vec<usize> = (0..both.len() - 1).filter(is_near).collect();
    let mut download = |id: &String| ana.get(&format!("/catalog/{id}/download")).status;
    let idx = near.into_iter().find(|idx| download(&both[idx + 1]) == 200);
    let idx = idx.expect("two neighbours with a file");
    for _ in counts[idx + 1].0..counts[idx].0 {
        assert_eq!(download(&both[idx + 1]), 200);
    }
    let pages = ["", "&page=2"].map(|page| ana.get(&format!("/catalog?sort=downloads{page}")));
    let after = pages.iter().flat_map(hits).collect::<Vec<_>>();
    let place = |id: &String| after.iter().position(|it| it == id);
    assert!(place(&both[idx + 1]) < place(&both[idx]));
}

#[test]
fn a_record_of_the_future_tells_its_day() {
    let (portal, mut ana) = portal();
    let id = id_of(9);
    portal.import(vec![RecordDraft {
        posted_at: text("2199-12-31T10:00:00Z"),
        ..film(&id, "Zumaque", 1999, "release-f")
    }]);
    let page = ana.get("/catalog?query=zumaque");
    assert!(
        page.text().contains(">31 Dec 2199</time>"),
        "{}",
        page.text()
    );
}
