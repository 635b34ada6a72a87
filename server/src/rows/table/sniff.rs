//! Kinds of tables, by their content.

use std::io;

use super::columns::is_known;
use super::json_scan::arrays_of_objects;
use super::json_table::JsonArray;
use super::row::{Next, RowSource, TableRow};
use super::text::{Peeked, decoded, is_statement};
use crate::rows::csv_reader::BYTE_ORDER_MARK;
use crate::rows::fields::field_idx;

/// Meaning of a backslash in the texts of a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// It escapes the next character, as in MySQL.
    Escapes,
    /// It is a character, as in PostgreSQL and SQLite.
    Plain,
}

/// Form of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// Nothing at all.
    Empty,
    /// JSON lines of records as `export` writes them: a first line with only our fields.
    OwnJson,
    /// CSV with only our fields.
    OwnCsv,
    /// Other objects, one a line.
    JsonLines,
    /// An array of objects.
    JsonArray,
    /// An object with one array of objects.
    JsonObject,
    /// A dump of SQL.
    Sql(SqlDialect),
    /// Cells with this sign between them.
    Delimited(u8),
    /// The same, behind a line `sep=` that names the sign.
    SeparatorLine(u8),
}

/// A file that is not a table.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoTableError {
    /// Recognised as something else.
    #[error("it is {0}: {1}")]
    Other(&'static str, &'static str),
    /// Text without columns.
    #[error("it is not a table: its first line is {0:?}, without a tab, ; | or , between cells")]
    Text(String),
    /// A table without any column that a record could come from.
    #[error("it names no field of a record: its columns are {0}; say which is which with --map")]
    Columns(String),
}

impl From<NoTableError> for io::Error {
    fn from(error: NoTableError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

/// First bytes of other files, their names, and the way to a table.
const OTHER_FILES: &[(&[u8], &str, &str)] = &[
    (
        b"\xFD7zXZ\0",
        "compressed with xz",
        "unpack it first (xz -dc FILE | subcat import -)",
    ),
    (
        b"BZh",
        "compressed with bzip2",
        "unpack it first (bzip2 -dc FILE | subcat import -)",
    ),
    (
        b"\x04\x22\x4D\x18",
        "compressed with lz4",
        "unpack it first (lz4 -dc FILE | subcat import -)",
    ),
    (b"7z\xBC\xAF\x27\x1C", "a 7z archive", "unpack it first"),
    (
        b"Rar!\x1A\x07",
        "a rar archive",
        "unpack it first; a folder of archives is imported as DIR",
    ),
    (
        b"\xD0\xCF\x11\xE0",
        "an old Office document",
        "save the sheet as CSV",
    ),
    (
        b"SQLite format 3\0",
        "a SQLite database",
        "write the table as CSV (sqlite3 -header -csv)",
    ),
    (b"PAR1", "a Parquet file", "write it as CSV or JSON lines"),
    (b"%PDF-", "a PDF document", "a table is wanted"),
    (b"\x89PNG", "a picture", "a table is wanted"),
    (b"\xFF\xD8\xFF", "a picture", "a table is wanted"),
    (b"\x7FELF", "a program", "a table is wanted"),
];

/// The kind of a table by its beginning.
///
/// Source: API.md 13.9.
pub(super) fn kind_of(peeked: &Peeked<'_>) -> Result<TableKind, NoTableError> {
    let bytes = peeked.beginning.strip_prefix(BYTE_ORDER_MARK);
    let bytes = bytes.unwrap_or(&peeked.beginning);
    other_file(bytes)?;
    let text = decoded(bytes);
    let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else {
        return Ok(TableKind::Empty);
    };
    let first = first.trim();
    match first.as_bytes()[0] {
        b'[' => return array_kind(bytes),
        b'{' => return Ok(json_kind(peeked, bytes, first)),
        b'<' => return Err(NoTableError::Other("HTML or XML", "a table is wanted")),
        _ => {}
    }
    if is_sql(&text, first) {
        return Ok(TableKind::Sql(sql_dialect(&text)));
    }
    let lower = first.to_ascii_lowercase();
    if let Some(sign) = lower.strip_prefix("sep=")
        && let [sign] = sign.as_bytes()
    {
        return Ok(TableKind::SeparatorLine(*sign));
    }
    if first.starts_with("sep=\t") || text.trim_start().starts_with("sep=\t") {
        return Ok(TableKind::SeparatorLine(b'\t'));
    }
    delimited_kind(first)
}

fn other_file(bytes: &[u8]) -> Result<(), NoTableError> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        let names = bytes.windows(3).any(|window| window == b"xl/");
        return Err(
            if names || bytes.windows(15).any(|w| w == b"[Content_Types]") {
                NoTableError::Other("a spreadsheet (xlsx)", "save the sheet as CSV")
            } else {
                NoTableError::Other("a zip archive", "unpack it and name the table in it")
            },
        );
    }
    let known = OTHER_FILES
        .iter()
        .find(|(magic, _, _)| bytes.starts_with(magic));
    if let Some((_, name, advice)) = known {
        return Err(NoTableError::Other(name, advice));
    }
    if bytes.contains(&0) {
        return Err(NoTableError::Other("a binary file", "a table is wanted"));
    }
    Ok(())
}

fn array_kind(bytes: &[u8]) -> Result<TableKind, NoTableError> {
    match bytes.trim_ascii_start()[1..].trim_ascii_start().first() {
        Some(b'{') | None => Ok(TableKind::JsonArray),
        Some(b']') => Ok(TableKind::Empty),
        Some(_) => Err(NoTableError::Other(
            "an array of JSON",
            "its items must be objects",
        )),
    }
}

/// The kind of a text that begins with an object.
fn json_kind(peeked: &Peeked<'_>, bytes: &[u8], first: &str) -> TableKind {
    let object = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(first);
    let Ok(object) = object else {
        // An object over several lines, or the first of many lines is broken.
        return if arrays_of_objects(bytes) == 1 {
            TableKind::JsonObject
        } else {
            TableKind::OwnJson
        };
    };
    let start = bytes.trim_ascii_start();
    let is_alone = peeked.is_whole && start.trim_ascii_end().len() == first.len();
    if is_alone && arrays_of_objects(bytes) == 1 && !object.keys().any(|name| is_known(name)) {
        return TableKind::JsonObject;
    }
    let names: Vec<&str> = object.keys().map(String::as_str).collect();
    if is_own(&names) {
        TableKind::OwnJson
    } else {
        TableKind::JsonLines
    }
}

/// Returns true if these are columns of our own format: only fields of records, or all that a
/// record must have, and others that mean nothing in any table.
fn is_own(names: &[&str]) -> bool {
    let is_field = |name: &&str| field_idx(name.trim()).is_some();
    if names.iter().all(is_field) {
        return true;
    }
    let has = |wanted: &str| names.iter().any(|name| name.trim() == wanted);
    let is_whole = ["video_type", "title", "posted_at"].into_iter().all(has);
    is_whole && names.iter().all(|name| is_field(name) || !is_known(name))
}

/// Returns true if the first object of an array has only columns of our own format. `beginning` is
/// that of the array, or of the object that holds it.
pub(super) fn has_own_rows(beginning: &[u8], is_in_object: bool) -> bool {
    let mut rows = JsonArray::new(Box::new(beginning), is_in_object);
    let mut row = TableRow::default();
    let is_read = matches!(rows.next(&mut row), Ok(Next::Row));
    let names: Vec<&str> = row.columns.iter().map(String::as_str).collect();
    is_read && is_own(&names)
}

/// Beginnings of lines of dumps.
const SQL_LINES: &[&str] = &[
    "insert into",
    "create table",
    "drop table",
    "begin transaction",
    "pragma ",
    "/*!",
    "-- mysql",
    "-- mariadb",
    "-- phpmyadmin",
    "-- dump",
    "-- postgresql",
    "-- sqlite",
    "-- adminer",
    "-- host:",
];

fn is_sql(text: &str, first: &str) -> bool {
    let begins = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        SQL_LINES.iter().any(|known| line.starts_with(known))
    };
    let may_be_dump =
        first.starts_with("--") || first.starts_with("/*") || is_statement(first.as_bytes());
    begins(first) || (may_be_dump && text.lines().any(begins))
}

/// The dialect of a dump, by the lines that only dumps of PostgreSQL and SQLite have.
fn sql_dialect(text: &str) -> SqlDialect {
    const PLAIN_LINES: &[&str] = &[
        "begin transaction",
        "pragma ",
        "-- postgresql",
        "-- sqlite",
        "set standard_conforming_strings = on",
    ];
    let is_plain = text.lines().any(|line| {
        let line = line.trim_start().to_ascii_lowercase();
        PLAIN_LINES.iter().any(|known| line.starts_with(known))
    });
    if is_plain {
        SqlDialect::Plain
    } else {
        SqlDialect::Escapes
    }
}

/// The sign that the first line has most of, outside of quotes.
fn delimited_kind(first: &str) -> Result<TableKind, NoTableError> {
    let mut best = (0, b',');
    for sign in *b"\t;|," {
        let mut is_quoted = false;
        let mut count = 0;
        for byte in first.bytes() {
            is_quoted ^= byte == b'"' && sign != b'\t';
            count += usize::from(byte == sign && !is_quoted);
        }
        if best.0 < count {
            best = (count, sign);
        }
    }
    let (count, sign) = best;
    let names: Vec<&str> = first
        .split(char::from(sign))
        .map(|name| name.trim().trim_matches('"'))
        .collect();
    if count == 0 && !names.iter().copied().any(is_known) {
        let beginning: String = first.chars().take(60).collect();
        return Err(NoTableError::Text(beginning));
    }
    if sign == b',' && is_own(&names) {
        return Ok(TableKind::OwnCsv);
    }
    Ok(TableKind::Delimited(sign))
}

#[cfg(test)]
mod tests {
    use super::super::text::peek;
    use super::*;

    fn check(text: impl AsRef<[u8]>, expected: TableKind) {
        let peeked = peek(Box::new(text.as_ref())).unwrap();
        let shown = String::from_utf8_lossy(text.as_ref());
        assert_eq!(kind_of(&peeked), Ok(expected), "{shown}");
    }

    #[test]
    fn tables_are_known_by_their_content() {
        check("", TableKind::Empty);
        check("\u{FEFF}\n \n", TableKind::Empty);
        check("title\tyear\n", TableKind::Delimited(b'\t'));
        check("title;year;a,b,c\n", TableKind::Delimited(b';'));
        check("\"a,b,c\";titulo\n", TableKind::Delimited(b';'));
        check("title|year\n", TableKind::Delimited(b'|'));
        check("titulo,year\n", TableKind::Delimited(b','));
        check("titulo\nHeat\n", TableKind::Delimited(b','));
        check("sep=|\ntitle|year", TableKind::SeparatorLine(b'|'));
        check("sep=\t\ntitle\tyear", TableKind::SeparatorLine(b'\t'));
        check("title,year\n", TableKind::OwnCsv);
        check("id,video_type,title,posted_at,studio\n", TableKind::OwnCsv);
        check(
            "id,video_type,title,posted_at,lang\n",
            TableKind::Delimited(b','),
        );
        check("{\"title\":\"Up\"}\n", TableKind::OwnJson);
        check("{\"titulo\":\"Up\"}\n{}", TableKind::JsonLines);
        check("[{\"a\":1}]", TableKind::JsonArray);
        check("{\"n\":0,\"data\":[{\"id\":1}]}", TableKind::JsonObject);
        check("{\n \"data\": [\n {\"id\":1}]}", TableKind::JsonObject);
        check("{\"title\":\"Up\",\"releases\":[{}]}", TableKind::JsonLines);
        check("{\"title\n{}", TableKind::OwnJson);
        let (sql, plain) = (TableKind::Sql(SqlDialect::Escapes), SqlDialect::Plain);
        check("CREATE TABLE `a` (`b` int);", sql);
        check("-- a\n--\nINSERT INTO a VALUES (1);", sql);
        check("SET NAMES utf8;\nINSERT INTO a VALUES (1);", sql);
        check("set name;anio;\nUp;2009;\n", TableKind::Delimited(b';'));
        check("PRAGMA foreign_keys=OFF;\n", TableKind::Sql(plain));
        check(
            "--\n-- PostgreSQL database dump\n--\n",
            TableKind::Sql(plain),
        );
        let utf16: Vec<u8> = "\u{FEFF}titulo;b"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        check(utf16, TableKind::Delimited(b';'));
    }

    #[test]
    fn other_files_are_named() {
        for (bytes, name) in [
            (
                &b"PK\x03\x04....xl/workbook.xml"[..],
                "a spreadsheet (xlsx): ",
            ),
            (b"PK\x03\x04....a.txt", "a zip archive: "),
            (b"\xFD7zXZ\0..", "compressed with xz: "),
            (b"<!DOCTYPE html>", "HTML or XML: "),
            (b"ab\0c", "a binary file: "),
            (
                b"Dear reader\n",
                "not a table: its first line is \"Dear reader\"",
            ),
        ] {
            let peeked = peek(Box::new(bytes)).unwrap();
            let reason = kind_of(&peeked).unwrap_err().to_string();
            assert!(reason.starts_with(&format!("it is {name}")), "{reason}");
        }
    }
}
