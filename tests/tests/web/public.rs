//! A public catalog for search engines and readers of feeds (API.md, 12.14), tested over a socket.

use subcat_engine::Role;
use subcat_tests::portal::Portal;

const EMAIL: &str = "ana@example.com";
const PASSWORD: &str = "correct horse";

#[test]
fn search_engines_read_a_public_catalog_only() {
    let portal = Portal::open(|_| ());
    portal.make_account(EMAIL, PASSWORD, Role::User);
    let mut ana = portal.signed_in(EMAIL, PASSWORD);
    let found = ana.get("/catalog?query=matrix");
    let (_, rest) = found
        .text()
        .split_once("<h2><a href=\"/catalog/")
        .expect("a hit");
    let id = rest[..36].to_owned();
    assert!(!ana.get("/robots.txt").text().contains("/title/"));
    assert!(
        !ana.get(&format!("/catalog/{id}"))
            .text()
            .contains("rel=\"canonical\"")
    );
    let portal = Portal::open(|config| {
        config.is_catalog_public = true;
        config.public_url = Some("https://subs.example".to_owned());
    });
    let mut visitor = portal.visitor();
    let robots = visitor.get("/robots.txt");
    for line in [
        "Allow: /title/\n",
        "Allow: /catalog/\n",
        "Disallow: /catalog/*/download\n",
    ] {
        assert!(robots.text().contains(line), "{}", robots.text());
    }
    for (path, name) in [
        (format!("/catalog/{id}"), "Subtitle for The Matrix"),
        ("/title/tt0133093".to_owned(), "Subtitles for The Matrix"),
    ] {
        let page = visitor.get(&format!("{path}?page=1"));
        let canonical = format!("rel=\"canonical\" href=\"https://subs.example{path}\"");
        assert!(page.text().contains(&canonical), "{}", page.text());
        let description = format!("name=\"description\" content=\"{name}");
        assert!(page.text().contains(&description), "{}", page.text());
    }
    let found = visitor.get("/catalog?query=matrix");
    assert!(found.text().contains("content=\"noindex\""));
}

/// A reader that has several feeds tells them apart, and fetches what is new only.
#[test]
fn a_feed_has_a_name_an_address_and_a_tag() {
    let portal = Portal::open(|config| config.is_catalog_public = true);
    let mut visitor = portal.visitor();
    for (query, title) in [
        ("", "subcat: new subtitles"),
        ("?query=matrix", "subcat: matrix"),
        ("?title_id=tt0133093", "subcat: The Matrix aka Matrix"),
    ] {
        let feed = visitor.get(&format!("/feed.atom{query}"));
        assert!(
            feed.text().contains(&format!("<title>{title}</title>")),
            "{}",
            feed.text()
        );
        assert!(feed.text().contains("rel=\"self\""), "{}", feed.text());
        let etag = feed.field("etag").expect("a tag").to_owned();
        let known = [("If-None-Match", etag.as_str())];
        let again = visitor.send("GET", &format!("/feed.atom{query}"), &known, "");
        assert_eq!((again.status, again.body.len()), (304, 0), "{query}");
    }
}
