//! Every body over its regression corpus and over seeded bytes.
//!
//! A finding of a fuzzer becomes a file in `regressions/<body>/` before it is fixed.

use std::fs;
use std::path::Path;

use crate::bodies;
use crate::choices::Choices;

/// Seeded inputs to a body; scripts/fuzz does the rest.
const SEEDED_COUNT: u64 = 2_000;
/// The same to a body that works for milliseconds.
const SEEDED_COUNT_SLOW: u64 = 200;

fn check(name: &str, body: fn(&[u8])) {
    check_some(name, body, SEEDED_COUNT);
}

fn check_some(name: &str, body: fn(&[u8]), seeded_count: u64) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("regressions")
        .join(name);
    let files = fs::read_dir(&folder).expect("every body has a folder of regressions");
    let mut files_count = 0;
    for file in files {
        let path = file.expect("the folder can be read").path();
        body(&fs::read(&path).expect("a regression can be read"));
        files_count += 1;
    }
    assert!(0 < files_count, "{} is empty", folder.display());
    for seed in 0..seeded_count {
        body(&seeded_bytes(seed));
    }
}

/// Bytes of three sorts: any, pieces that mean something to a parser, and text.
fn seeded_bytes(seed: u64) -> Vec<u8> {
    const PIECES: &[&str] = &[
        "s01",
        "e02",
        "1x02",
        " ",
        "2004",
        "%",
        "%C3%B1",
        "+",
        "&",
        "=",
        "query=",
        "year=",
        "limit=",
        "tt12345",
        "Bearer ",
        "bearer\t",
        "sct_",
        "/",
        "//api/",
        "/a/",
        "es-419/",
        "api/v1/",
        "search?",
        ".json",
        "season=",
        "subtitles/",
        "download",
        "bytes=",
        "-",
        "0",
        "9999999999999999999",
        ",",
        ";q=",
        "gzip",
        "*",
        "\"a\"",
        "W/",
        "{",
        "}",
        "\"title\":",
        "null",
        "\\u0000",
        "[",
        "\n",
        "\r\n",
        "title,year\n",
        "filename=",
        "filename*=UTF-8''",
        ".srt",
        ".zip",
        "PK\u{3}\u{4}",
        "<html>",
        "\u{202E}",
        "é",
        "\u{0}",
    ];
    let mut choices = Choices::seeded(seed);
    let mut bytes = Vec::new();
    for _ in 0..choices.below(40) {
        match choices.below(4) {
            0 => bytes.push(choices.byte()),
            1 => bytes.extend(choices.character().encode_utf8(&mut [0; 4]).bytes()),
            _ => bytes.extend(choices.pick(PIECES).bytes()),
        }
    }
    bytes
}

#[test]
fn api_key() {
    check("api_key", bodies::api_key);
}

#[test]
fn bearer() {
    check("bearer", bodies::bearer);
}

#[test]
fn conditional_headers() {
    check("conditional_headers", bodies::conditional_headers);
}

#[test]
fn damaged_segment() {
    check_some(
        "damaged_segment",
        bodies::damaged_segment,
        SEEDED_COUNT_SLOW,
    );
}

#[test]
fn engine_and_oracle() {
    check_some(
        "engine_and_oracle",
        bodies::engine_and_oracle,
        SEEDED_COUNT_SLOW,
    );
}

#[test]
fn csv_rows() {
    check("csv_rows", bodies::csv_rows);
}

#[test]
fn file_kind() {
    check("file_kind", bodies::file_kind);
}

#[test]
fn file_name() {
    check("file_name", bodies::file_name);
}

#[test]
fn json_row() {
    check("json_row", bodies::json_row);
}

#[test]
fn names() {
    check("names", bodies::names);
}

#[test]
fn markers() {
    check("markers", bodies::markers);
}

#[test]
fn address() {
    check("address", bodies::address);
}

#[test]
fn path() {
    check("path", bodies::path);
}

#[test]
fn query_string() {
    check("query_string", bodies::query_string);
}

#[test]
fn record_codec() {
    check("record_codec", bodies::record_codec);
}

#[test]
fn record_row() {
    check("record_row", bodies::record_row);
}

#[test]
fn search_parameters() {
    check("search_parameters", bodies::search_parameters);
}

#[test]
fn text_fold() {
    check("text_fold", bodies::text_fold);
}

#[test]
fn archive_listing() {
    check_some(
        "archive_listing",
        bodies::archive_listing,
        SEEDED_COUNT_SLOW,
    );
}

#[test]
fn archive_unpacking() {
    check_some(
        "archive_unpacking",
        bodies::archive_unpacking,
        SEEDED_COUNT_SLOW,
    );
}

#[test]
fn text_characters() {
    check("text_characters", bodies::text_characters);
}

#[test]
fn text_conversion() {
    check("text_conversion", bodies::text_conversion);
}

#[test]
fn text_choice() {
    check("text_choice", bodies::text_choice);
}
