//! Pages of a catalog of 100,000 records: orders, filters and a series that the demo has not.

use std::cmp::Reverse;

use subcat_tests::large::{
    RECORDS, SERIES, SERIES_RECORDS, UPLOADER, WORD, downloads_of, has_word, id_of, is_of_uploader,
    language_of, posted_at, reader,
};

use crate::catalog::hits;

/// Ids of the records that pass, most downloads first, the newest of equals.
fn by_downloads(passes: impl Fn(u64) -> bool) -> Vec<String> {
    let key = |number: &u64| {
        (
            Reverse(downloads_of(*number)),
            Reverse(posted_at(*number)),
            id_of(*number),
        )
    };
    sorted_by(passes, key)
}

fn newest(passes: impl Fn(u64) -> bool) -> Vec<String> {
    sorted_by(passes, |number| {
        (Reverse(posted_at(*number)), id_of(*number))
    })
}

fn sorted_by<K: Ord>(passes: impl Fn(u64) -> bool, key: impl Fn(&u64) -> K) -> Vec<String> {
    let mut numbers: Vec<u64> = (0..RECORDS).filter(|number| passes(*number)).collect();
    numbers.sort_by_cached_key(key);
    numbers.into_iter().map(id_of).collect()
}

/// Checks some pages of a list against all of its records in order.
fn check(path: &str, expected: &[String], pages: &[usize]) {
    let mut reader = reader();
    for &page in pages {
        let found = hits(&reader.get(&format!("{path}&page={page}")));
        let from = (page - 1) * 25;
        let to = expected.len().min(from + 25);
        assert_eq!(found, expected[from..to], "{path}, page {page}");
    }
}

/// API.md 12.8: an order is one of all hits, not of the first ones.
#[test]
fn an_order_is_one_of_all_hits() {
    let search = format!("/catalog?query={WORD}");
    let pages = [1, 2, 17, 400];
    let found = by_downloads(has_word);
    assert!(10_000 < found.len());
    check(&format!("{search}&sort=downloads"), &found, &pages);
    check(&format!("{search}&sort=newest"), &newest(has_word), &pages);
    // The last page that is reached stands for those beyond it.
    let mut reader = reader();
    let beyond = reader.get(&format!("{search}&sort=downloads&page=4000"));
    assert_eq!(hits(&beyond), found[9_975..10_000]);
    let narrow = |number| has_word(number) && language_of(number) == "pt-BR";
    assert_eq!(by_downloads(narrow).len(), 0, "no number is both");
    let few = |number| has_word(number) && ["es-ES", "es"].contains(&language_of(number));
    let path = format!("{search}&language=es-ES&sort=downloads");
    check(&path, &by_downloads(few), &[1, 9]);
}

#[test]
fn lists_are_ordered_by_the_downloads_of_all_their_records() {
    check(
        "/catalog?sort=downloads",
        &by_downloads(|_| true),
        &[1, 2, 100],
    );
    let arabic = by_downloads(|number| language_of(number) == "ar");
    check("/catalog?language=ar&sort=downloads", &arabic, &[1, 100]);
    let films = by_downloads(|number| SERIES_RECORDS <= number);
    check("/catalog?video_type=movie&sort=downloads", &films, &[1, 50]);
    let path = format!("/uploader?name={UPLOADER}");
    check(&path, &newest(is_of_uploader), &[1, 2, 211]);
    let most = by_downloads(is_of_uploader);
    check(&format!("{path}&sort=downloads"), &most, &[1, 2, 211]);
}

#[test]
fn every_language_of_many_records_is_offered() {
    let mut reader = reader();
    let page = reader.get("/catalog");
    for (tag, name) in [
        ("es", "Spanish"),
        ("es-ES", "Spanish (Spain)"),
        ("es-419", "Spanish (Latin America)"),
        ("en", "English"),
        ("ar", "Arabic"),
        ("pt-BR", "Portuguese (Brazil)"),
    ] {
        let option = format!("<option value=\"{tag}\">{name}</option>");
        assert!(page.text().contains(&option), "{option}");
    }
}

#[test]
fn a_series_of_30_seasons_shows_one_of_them() {
    let mut reader = reader();
    let whole = reader.get(&format!("/title/{SERIES}"));
    assert!(whole.text().contains("1,230 subtitles"), "{}", whole.text());
    let season = reader.get(&format!("/title/{SERIES}?season=30"));
    for page in [&whole, &season] {
        let seasons = page.text().matches("?season=").count();
        assert!((30..120).contains(&seasons), "{seasons}");
        assert!(page.text().len() < 64 << 10, "{}", page.text().len());
    }
    let mut found = hits(&season);
    found.extend(hits(
        &reader.get(&format!("/title/{SERIES}?season=30&page=2")),
    ));
    // The pack, then the episodes in order.
    let expected: Vec<String> = (29 * 41..30 * 41).map(id_of).collect();
    assert_eq!(found, expected);
    let episode = reader.get(&format!("/title/{SERIES}?season=30&episode=40"));
    assert_eq!(hits(&episode)[0], id_of(30 * 41 - 1));
}
