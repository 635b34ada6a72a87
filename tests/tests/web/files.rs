//! Downloads from pages: the files and texts of the API, on the same path (API.md 12.4).

use subcat_engine::{RecordId, Role};
use subcat_tests::portal::{Portal, Visitor};
use subcat_tests::raw::{Client, RawAnswer};
use subcat_tests::server::film;
use subcat_tests::upstream::Upstream;
use subcat_tests::zip::zip_of;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";
const ID: &str = "0b0e7c4a-9b1f-4c63-8d4e-0123456789ab";
const SRT: &[u8] = b"1\r\n00:00:01,000 --> 00:00:02,000\r\n\xBFQu\xE9?\r\n\r\n";

/// A portal with one more record, its source, and a reader.
struct Scene {
    portal: Portal,
    ana: Visitor,
    _upstream: Upstream,
}

impl Scene {
    fn of(content: &[u8]) -> Self {
        let upstream = Upstream::start();
        upstream.give("r1", content);
        let portal = Portal::open(|config| config.upstream.url = Some(upstream.url()));
        portal.import(vec![film(ID, "Faro", 2004, "r1")]);
        portal.make_account(EMAIL, PASSWORD, Role::User);
        let ana = portal.signed_in(EMAIL, PASSWORD);
        Self {
            portal,
            ana,
            _upstream: upstream,
        }
    }

    fn ask(&mut self, method: &str, query: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let path = format!("/catalog/{ID}/download{query}");
        self.ana.send(method, &path, fields, "")
    }

    /// The same download in the API.
    fn api(&self, query: &str, fields: &[(&str, &str)]) -> RawAnswer {
        let api_key = self.portal.api_key(subcat_engine::Scopes::ALL);
        let path = format!("/api/subtitles/{ID}/download{query}");
        let mut client = Client::connect(self.portal.address());
        client.request("GET", &path, Some(&api_key), fields)
    }

    fn downloads(&self) -> u64 {
        let id = RecordId::parse(ID).expect("an id");
        self.portal.service().engine.usage().downloads(id)
    }
}

/// Fields that describe the content of an answer.
const OF_CONTENT: [&str; 7] = [
    "content-type",
    "content-length",
    "content-disposition",
    "content-encoding",
    "content-range",
    "accept-ranges",
    "etag",
];

fn content_fields(answer: &RawAnswer) -> Vec<Option<&str>> {
    OF_CONTENT.iter().map(|name| answer.field(name)).collect()
}

#[test]
fn api_rule_12_4_a_page_sends_the_file_as_the_api_does() {
    let long = SRT.repeat(200);
    let mut scene = Scene::of(&long);
    let tag = scene.ask("HEAD", "", &[]);
    let tag = tag.field("etag").expect("a file has a tag").to_owned();
    let conditions: [(&[(&str, &str)], u16); 11] = [
        (&[], 200),
        (&[("Accept-Encoding", "gzip")], 200),
        (&[("Accept-Encoding", "br")], 200),
        (&[("Range", "bytes=0-4")], 206),
        (&[("Range", "bytes=5-")], 206),
        (&[("Range", "bytes=-3")], 206),
        (&[("Range", "bytes=5-"), ("If-Range", &tag)], 206),
        (&[("Range", "bytes=5-"), ("If-Range", "\"other\"")], 200),
        (&[("If-Match", &tag)], 200),
        (&[("If-None-Match", &tag)], 304),
        (&[("If-None-Match", &tag), ("Range", "bytes=0-4")], 304),
    ];
    for (fields, status) in conditions {
        let page = scene.ask("GET", "", fields);
        let api = scene.api("", fields);
        assert_eq!(page.status, status, "{fields:?}");
        assert_eq!(api.status, status, "{fields:?}");
        assert_eq!(page.body, api.body, "{fields:?}");
        assert_eq!(content_fields(&page), content_fields(&api), "{fields:?}");
        assert_eq!(page.field("cache-control"), Some("private, no-cache"));
        assert_eq!(page.field("vary"), Some("Cookie, Accept-Encoding"));
        assert_eq!(page.field("x-content-type-options"), Some("nosniff"));
        assert!(page.field("content-security-policy").is_some());
        for of_the_api in ["access-control-allow-origin", "x-ratelimit-limit"] {
            assert_eq!(page.field(of_the_api), None, "{of_the_api}");
        }
    }
}

#[test]
fn api_rule_12_4_conditions_that_fail_are_told_on_a_page() {
    let mut scene = Scene::of(SRT);
    for (fields, status) in [
        ([("Range", "bytes=9999-")], 416),
        ([("If-Match", "\"other\"")], 412),
        ([("If-Match", "W/\"x\"")], 412),
    ] {
        let answer = scene.ask("GET", "", &fields);
        assert_eq!(answer.status, status, "{fields:?}");
        assert_eq!(answer.field("cache-control"), Some("no-store"));
        assert_eq!(answer.field("etag"), None);
        let text = answer.text();
        assert!(text.contains("The file has changed"), "{text}");
        assert!(text.contains(&format!("/catalog/{ID}\"")), "{text}");
        let range = format!("bytes */{}", SRT.len());
        let expected = if status == 416 { Some(&*range) } else { None };
        assert_eq!(answer.field("content-range"), expected);
    }
    assert_eq!(scene.downloads(), 0);
}

/// As in the API (7.8): a part counts if it begins the file, and a file that is known counts.
#[test]
fn api_rule_12_4_a_page_counts_what_the_api_counts() {
    let mut scene = Scene::of(SRT);
    let tag = scene.ask("HEAD", "", &[("Range", "bytes=9999-")]);
    assert_eq!(tag.status, 200);
    let tag = tag.field("etag").expect("a file has a tag").to_owned();
    let cases: [(&[(&str, &str)], u64); 5] = [
        (&[], 1),
        (&[("Range", "bytes=0-4")], 2),
        (&[("Range", "bytes=5-")], 2),
        (&[("If-None-Match", &tag)], 3),
        (&[("If-Match", "\"x\"")], 3),
    ];
    for (fields, expected) in cases {
        scene.ask("GET", "", fields);
        assert_eq!(scene.downloads(), expected, "{fields:?}");
    }
}

#[test]
fn api_rule_17_a_page_sends_texts_as_the_api_does() {
    let archive = zip_of(&[("Faro S01E01.srt", SRT), ("Faro S01E02.srt", SRT)]);
    let mut scene = Scene::of(&archive);
    for query in [
        "?file=Faro+S01E01.srt",
        "?file=Faro%20S01E02.srt&format=vtt",
        "?file=Faro+S01E01.srt&encoding=utf-8",
        "?x=1",
    ] {
        let page = scene.ask("GET", query, &[]);
        let api = scene.api(query, &[]);
        assert_eq!((page.status, api.status), (200, 200), "{query}");
        assert_eq!(page.body, api.body, "{query}");
        assert_eq!(content_fields(&page), content_fields(&api), "{query}");
        let part = scene.ask("GET", query, &[("Range", "bytes=2-3")]);
        assert_eq!(part.status, 206, "{query}");
        assert_eq!(part.body, page.body[2..4], "{query}");
    }
    for (query, status, heading) in [
        ("?file=none.srt", 404, "Text not found"),
        ("?file=Faro+S01E01.srt&format=exe", 422, "Text not found"),
        ("?episode=x", 422, "Text not found"),
    ] {
        let page = scene.ask("GET", query, &[]);
        assert_eq!(page.status, status, "{query}");
        assert!(page.text().contains(heading), "{}", page.text());
    }
}

#[test]
fn a_page_without_a_file_says_so() {
    let mut scene = Scene::of(b"");
    let refused = scene.ask("GET", "", &[]);
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("The file could not be fetched"));
    for path in ["/catalog/none/download", "/catalog/%00/download"] {
        let answer = scene.ana.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(answer.text().contains("Page not found"), "{path}");
    }
}
