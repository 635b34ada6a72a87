//! Pages of uploaders (API.md, 12.8).

use subcat_engine::{DraftValue, RecordDraft};
use subcat_tests::server::{film, text};

use crate::catalog::{hits, id_of, portal};

#[test]
fn an_uploader_has_a_page_and_a_name_that_is_searched_leads_there() {
    let (portal, mut ana) = portal();
    let page = ana.get("/catalog?query=matrix&limit=1").text().to_owned();
    let (_, link) = page
        .split_once("<a href=\"/uploader?name=")
        .expect("a link");
    let name = link.split('"').next().expect("it ends");
    let listed = ana.get(&format!("/uploader?name={name}"));
    assert_eq!(listed.status, 200);
    let hits = listed.text().matches("<li><div><h2>").count();
    let theirs = listed
        .text()
        .matches(&format!("/uploader?name={name}\""))
        .count();
    assert!(1 <= hits && hits <= theirs, "{hits} {theirs}");
    // Another name is not theirs.
    let nobody = ana.get("/uploader?name=nobody%20of%20this%20name");
    assert!(nobody.text().contains("No uploads by this name"));
    assert_eq!(ana.get("/uploader").status, 200);
    assert_eq!(portal.visitor().get("/uploader?name=x").status, 303);
    // An uploader whose name no text contains.
    let id = id_of(1);
    let only = RecordDraft {
        uploader_name: text("Zyx Uv"),
        ..film(&id, "Ran", 1985, "release-u")
    };
    portal.import(vec![only]);
    let found = ana.get("/catalog?query=Zyx+Uv").text().to_owned();
    assert!(
        found.contains("<a href=\"/uploader?name=Zyx%20Uv\">"),
        "{found}"
    );
}

/// API.md 12.8: all records of an uploader, in either order, page by page.
#[test]
fn all_records_of_an_uploader_are_listed_by_time_or_downloads() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (100..160).map(id_of).collect();
    let drafts = (0_i64..).zip(&ids).map(|(number, id)| RecordDraft {
        uploader_name: text("Zyx & Uv"),
        // Older than anything else, and the fewest downloads come first by time.
        posted_at: DraftValue::Text(format!("1999-{:02}-01T00:00:00Z", 12 - number / 5).into()),
        downloads: DraftValue::Integer(number),
        ..film(id, "Ran", 1985, "release-u")
    });
    portal.import(drafts.collect());
    let path = "/uploader?name=Zyx%20%26%20Uv";
    let mut pages = |order: &str| -> Vec<String> {
        let pages = (1..=3).map(|page| hits(&ana.get(&format!("{path}{order}&page={page}"))));
        pages.flatten().collect()
    };
    assert_eq!(pages(""), ids);
    let most_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(pages("&sort=downloads"), most_first);
    let first = ana.get(path);
    assert!(first.text().contains("60 subtitles"), "{}", first.text());
    let order = "<a href=\"/uploader?name=Zyx%20%26%20Uv&amp;sort=downloads\"";
    let order = order.replace("&amp;", "&#38;");
    assert!(first.text().contains(&order), "{}", first.text());
    let beyond = ana.get(&format!("{path}&sort=downloads&page=9"));
    assert_eq!(
        beyond.field("location").unwrap_or(""),
        format!("{path}&sort=downloads&page=3")
    );
}
