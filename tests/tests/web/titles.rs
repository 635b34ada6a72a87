//! Pages of titles, and records that stand below the head of theirs.

use subcat_engine::{DraftValue, RecordDraft};
use subcat_tests::portal::Portal;
use subcat_tests::server::{film, text};

use crate::catalog::{hits, id_of, location, portal};

const SERIES: &str = "tt7654321";

fn episode(id: &str, season: i64, number: i64) -> RecordDraft<'_> {
    RecordDraft {
        video_type: text("episode"),
        season: DraftValue::Integer(season),
        episode: DraftValue::Integer(number),
        parent_catalog_id: text(SERIES),
        ..film(id, "Perdidos en el bosque", 2004, "release-z")
    }
}

/// Three seasons of ten episodes, two releases each, and a pack of the second season.
fn import_series(portal: &Portal) {
    let numbers: Vec<String> = (0..=60).map(id_of).collect();
    let mut drafts = Vec::new();
    for (idx, id) in (0i64..).zip(&numbers) {
        let (season, number) = (1 + idx / 20, 1 + idx % 20 / 2);
        let mut draft = episode(id, season, number);
        if idx == 60 {
            draft.season = DraftValue::Integer(2);
            draft.episode = DraftValue::default();
        }
        drafts.push(draft);
    }
    portal.import(drafts);
}

#[test]
fn a_series_is_a_grid_and_its_records_have_neighbours() {
    let (portal, mut ana) = portal();
    import_series(&portal);
    let page = ana.get(&format!("/title/{SERIES}"));
    let shown = page.text();
    assert!(shown.contains("61 subtitles"), "{shown}");
    for link in [
        "?season=2#releases\"",
        "?season=3&amp;episode=10#releases\"",
    ] {
        assert!(shown.contains(link), "{link}: {shown}");
    }
    assert!(shown.contains("21 subtitles, 1 pack<"), "{shown}");
    assert!(shown.contains("Episode 10: 2 subtitles"), "{shown}");
    let season = hits(&ana.get(&format!("/title/{SERIES}?season=2")));
    assert_eq!(season.len(), 21);
    assert_eq!(season[0], id_of(60), "packs are on top");
    let one = hits(&ana.get(&format!("/title/{SERIES}?season=2&episode=10")));
    assert_eq!(one.len(), 3);
    assert_eq!(one[2], id_of(60), "the pack that has it, too");
    let record = ana.get(&format!("/catalog/{}", one[0]));
    let shown = record.text();
    assert!(
        shown.contains(&format!("/title/{SERIES}?season=2&#38;episode=9")),
        "{shown}"
    );
    assert!(
        shown.contains(&format!("/title/{SERIES}?season=3&#38;episode=1")),
        "{shown}"
    );
    let others = [one[1].clone(), id_of(60)];
    assert_eq!(hits(&record), others, "the other version, and the pack");
    assert!(
        shown.contains("<title>Perdidos en el bosque S02E10"),
        "{shown}"
    );
    assert_eq!(ana.get("/title/tt99999999").status, 404);
    assert_eq!(ana.get("/title/x").status, 404);
    assert_eq!(
        location(&portal.visitor().get("/title/tt0133093")),
        "/signin?next=%2Ftitle%2Ftt0133093"
    );
}

#[test]
fn all_records_of_a_film_can_be_reached_by_region() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (1_000..1_260).map(id_of).collect();
    let drafts = ids.iter().enumerate().map(|(idx, id)| RecordDraft {
        catalog_id: text("tt7777777"),
        language: text(["es-ES", "es-419"][idx % 2]),
        ..film(id, "Zumbido", 1999, "release-z")
    });
    portal.import(drafts.collect());
    let mut found = Vec::new();
    for number in 1..=11 {
        let page = ana.get(&format!("/title/tt7777777?page={number}"));
        if number == 1 {
            let (spain, latin) = (">Spain</h2>", ">Latin America</h2>");
            assert!(
                page.text().contains(spain) && page.text().contains(latin),
                "{}",
                page.text()
            );
        }
        found.extend(hits(&page));
    }
    found.sort();
    assert_eq!(found, ids);
}

/// A long series has a row of seasons, and shows the episodes of one.
#[test]
fn a_long_series_opens_one_season() {
    let (portal, mut ana) = portal();
    let numbers: Vec<String> = (0..300).map(id_of).collect();
    let numbered = (0i64..).zip(&numbers);
    let drafts = numbered.map(|(idx, id)| episode(id, 1 + idx / 10, 1 + idx % 10));
    portal.import(drafts.collect());
    let page = ana.get(&format!("/title/{SERIES}"));
    assert!(
        page.text().contains("?season=30#releases\""),
        "{}",
        page.text()
    );
    assert!(!page.text().contains("episode=10"), "{}", page.text());
    let page = ana.get(&format!("/title/{SERIES}?season=30"));
    for part in [
        "?season=1#releases\"",
        "?season=30&amp;episode=10#releases\"",
        "id=\"releases\"",
    ] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    assert!(
        !page.text().contains("?season=29&amp;episode"),
        "{}",
        page.text()
    );
}

/// Several records of one title have a head, and begin with what tells them apart.
#[test]
fn records_of_one_title_stand_below_it() {
    let (portal, mut ana) = portal();
    import_series(&portal);
    let page = ana.get("/catalog?query=perdidos+en+el+bosque");
    let head = format!("class=\"of-title\"><p><a href=\"/title/{SERIES}\">");
    assert_eq!(page.text().matches(&head).count(), 1, "{}", page.text());
    let one = ana.get("/catalog?query=matrix&limit=1");
    assert!(!one.text().contains("of-title"), "{}", one.text());
    assert!(
        one.text().contains("href=\"/title/tt0133093\""),
        "{}",
        one.text()
    );
    let title = ana.get("/title/tt0133093");
    let row = "aria-label=\"The Matrix";
    assert!(title.text().contains(row), "{}", title.text());
    assert_eq!(
        title
            .text()
            .matches("<bdi>The Matrix aka Matrix</bdi>")
            .count(),
        1,
        "the heading alone"
    );
}

/// Records without the id of their series or film join those of its title, and what stands alone
/// stands below no head of others.
#[test]
fn a_head_has_the_records_of_its_title_only() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (0..5).map(id_of).collect();
    let without_series = RecordDraft {
        parent_catalog_id: DraftValue::default(),
        catalog_id: text("tt8000001"),
        ..episode(&ids[3], 1, 3)
    };
    portal.import(vec![
        without_series,
        episode(&ids[1], 1, 1),
        film(&ids[4], "Perdidos en el bosque oscuro", 2004, "release-z"),
        film(&ids[0], "Perdidos en el bosque", 2004, "release-z"),
        episode(&ids[2], 1, 2),
    ]);
    let page = ana.get("/catalog?query=perdidos+en+el+bosque");
    let mut found = hits(&page);
    found.sort_unstable();
    assert_eq!(found, ids);
    let lists: Vec<&str> = page.text().split("<ol class=\"hits\">").skip(1).collect();
    let (below, alone): (Vec<&str>, Vec<&str>) =
        lists.iter().partition(|list| list.contains("of-title"));
    assert_eq!(below.len(), 1, "{}", page.text());
    let head = format!("<a href=\"/title/{SERIES}\"><bdi>Perdidos en el bosque</bdi></a>");
    assert!(below[0].contains(&head), "{}", below[0]);
    for (idx, id) in ids.iter().enumerate() {
        let row = format!("<h2><a href=\"/catalog/{id}\"");
        let is_of_series = (1..=3).contains(&idx);
        assert_eq!(below[0].contains(&row), is_of_series, "{idx}: {}", below[0]);
        let is_alone = alone.iter().any(|list| list.contains(&row));
        assert_eq!(is_alone, !is_of_series, "{idx}");
    }
}

/// Series of one title whose years are not known are told apart by their ids.
#[test]
fn series_of_one_title_have_a_head_each() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (0..4).map(id_of).collect();
    let of_series = |id, series, number| RecordDraft {
        parent_catalog_id: text(series),
        year: DraftValue::default(),
        ..episode(id, 1, number)
    };
    portal.import(vec![
        of_series(&ids[0], "tt0290978", 1),
        of_series(&ids[1], "tt0386676", 1),
        of_series(&ids[2], "tt0290978", 2),
        of_series(&ids[3], "tt0386676", 2),
    ]);
    let page = ana.get("/catalog?query=perdidos+en+el+bosque");
    let lists: Vec<&str> = page.text().split("<ol class=\"hits\">").skip(1).collect();
    assert_eq!(lists.len(), 2, "{}", page.text());
    for (series, own) in [("tt0290978", [0, 2]), ("tt0386676", [1, 3])] {
        let head = format!("class=\"of-title\"><p><a href=\"/title/{series}\">");
        let list = lists.iter().find(|list| list.contains(&head));
        let list = list.unwrap_or_else(|| panic!("{series}: {}", page.text()));
        for (idx, id) in ids.iter().enumerate() {
            let row = format!("<h2><a href=\"/catalog/{id}\"");
            assert_eq!(list.contains(&row), own.contains(&idx), "{series}, {idx}");
        }
    }
}

#[test]
fn a_row_repeats_nothing_of_the_headings_above_it() {
    let (portal, mut ana) = portal();
    let ids: Vec<String> = (0..3).map(id_of).collect();
    let spoken = |id, language| RecordDraft {
        language: text(language),
        ..episode(id, 1, 2)
    };
    portal.import(vec![
        spoken(&ids[0], "es-ES"),
        spoken(&ids[1], "es-ES"),
        spoken(&ids[2], "en"),
    ]);
    let page = ana.get(&format!("/title/{SERIES}?season=1&episode=2"));
    assert_eq!(hits(&page).len(), 3);
    let (content, _) = page.text().split_once("</main").expect("a page");
    for once in [">Spain</", ">English</", ">S01E02</"] {
        assert_eq!(content.matches(once).count(), 1, "{once}: {content}");
    }
    // A season has no heading with them.
    let page = ana.get(&format!("/title/{SERIES}?season=1"));
    assert_eq!(page.text().matches(">S01E02</span>").count(), 3);
    assert_eq!(page.text().matches(">Spain</span>").count(), 2);
}
