//! Paths and parameters below an address.

use subcat_server::request::{
    AddressEndpoint, address_numbers, address_path, address_search, is_below_address,
};

/// Page, and items of a page, at most (API.md 20.8).
const PAGE_MAX: u32 = 1_000_000;
const PER_PAGE_MAX: u32 = 200;

/// The text before a question mark is a path, the rest a query string.
pub fn address(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (path, query_string) = text.split_once('?').unwrap_or((&text, ""));
    any_path(path);
    below_key(path);
    parameters(query_string);
}

fn any_path(path: &str) {
    let parsed = address_path(path);
    assert_eq!(parsed.is_some(), is_below_address(path), "{path:?}");
    // Slashes in a row count as one.
    assert_eq!(address_path(&format!("//{path}")), parsed, "{path:?}");
}

/// A tag behind the key changes nothing else.
fn below_key(rest: &str) {
    let plain = format!("/a/KEY/{rest}");
    let tagged = format!("//a//K%45Y/es-419/{rest}");
    let plain = address_path(&plain).expect("it is below an address");
    let tagged = address_path(&tagged).expect("it is below an address");
    assert_eq!((&*plain.key, &*tagged.key), ("KEY", "KEY"), "{rest:?}");
    assert_eq!(tagged.tag.as_deref(), Some("es-419"), "{rest:?}");
    if plain.tag.is_none() {
        assert_eq!(plain.endpoint, tagged.endpoint, "{rest:?}");
    } else {
        assert_eq!(tagged.endpoint, AddressEndpoint::Unknown, "{rest:?}");
    }
}

fn parameters(query_string: &str) {
    let outcome = address_search(query_string);
    let padded = format!("unknown=1&{query_string}&tmdb_id=7");
    assert_eq!(address_search(&padded), outcome, "{query_string:?}");
    match outcome {
        Ok(search) => {
            assert!((1..=PAGE_MAX).contains(&search.page), "{query_string:?}");
            assert!(
                (1..=PER_PAGE_MAX).contains(&search.per_page),
                "{query_string:?}"
            );
            let numbers = address_numbers(query_string);
            assert_eq!(numbers, Ok(search.numbers), "{query_string:?}");
            let texts = [&search.query, &search.imdb_id, &search.language];
            for text in texts.into_iter().flatten() {
                assert!(!text.is_empty(), "{query_string:?}");
                assert_eq!(text.trim(), text, "{query_string:?}");
            }
        }
        Err(rejection) => {
            let body: serde_json::Value =
                serde_json::from_str(rejection.body).expect("a body is JSON");
            assert!(body["detail"].is_string(), "{query_string:?}");
        }
    }
}
