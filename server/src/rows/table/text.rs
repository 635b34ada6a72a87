//! Text of tables: UTF-8, UTF-16 by its mark, lines in windows-1252, line ends of any kind.

use std::borrow::Cow;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use super::json_scan::arrays_of_objects;
use crate::limits::{READ_BUFFER_BYTES, SNIFF_BYTES};
use crate::rows::csv_reader::BYTE_ORDER_MARK;

/// The beginning of an input, and the input from its beginning.
pub(super) struct Peeked<'a> {
    /// Text up to [`SNIFF_BYTES`], with the first line if that is not longer.
    pub(super) beginning: Vec<u8>,
    /// True if that is all of it.
    pub(super) is_whole: bool,
    /// The text in UTF-8, with LF as line end. Lines that are not UTF-8 are unchanged.
    pub(super) content: Box<dyn BufRead + 'a>,
}

/// Looks at the beginning of an input. UTF-16 with its mark becomes UTF-8, and CR ends lines where
/// no LF does.
pub(super) fn peek<'a>(input: Box<dyn BufRead + 'a>) -> io::Result<Peeked<'a>> {
    let mut peeked = peek_bytes(input)?;
    let is_big = peeked.beginning.starts_with(&[0xFE, 0xFF]);
    if is_big || peeked.beginning.starts_with(&[0xFF, 0xFE]) {
        let decoded = Utf16Read::new(peeked.content, is_big);
        peeked = peek_bytes(Box::new(BufReader::new(decoded)))?;
    }
    if peeked.beginning.contains(&b'\r') && !peeked.beginning.contains(&b'\n') {
        for byte in &mut peeked.beginning {
            *byte = line_end(*byte);
        }
        let lines = CarriageReturns(peeked.content);
        peeked.content = Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, lines));
    }
    Ok(peeked)
}

/// Reads only as much as identifies the kind of a table: a pipe may be slow.
fn peek_bytes<'a>(mut input: Box<dyn BufRead + 'a>) -> io::Result<Peeked<'a>> {
    let mut beginning = Vec::new();
    let mut is_whole = false;
    while beginning.len() < SNIFF_BYTES && !is_whole && !is_enough(&beginning) {
        let piece = input.fill_buf()?;
        is_whole = piece.is_empty();
        let count = piece.len().min(SNIFF_BYTES - beginning.len());
        beginning.extend_from_slice(&piece[..count]);
        input.consume(count);
    }
    Ok(Peeked {
        is_whole,
        content: Box::new(Cursor::new(beginning.clone()).chain(input)),
        beginning,
    })
}

/// Returns true if the first line is complete, and identifies the kind of its table by itself.
fn is_enough(beginning: &[u8]) -> bool {
    let text = beginning.strip_prefix(BYTE_ORDER_MARK).unwrap_or(beginning);
    let text = text.trim_ascii_start();
    let begins = |signs: &[&str]| signs.iter().any(|sign| text.starts_with(sign.as_bytes()));
    // Dumps begin with comments or statements. An object may be all there is, and hold the array
    // of rows.
    let first = text.split(|byte| *byte == b'\n').next();
    let needs_more = begins(&["--", "/*", "#"])
        || (begins(&["{"]) && arrays_of_objects(text) == 1)
        || first.is_some_and(is_statement);
    text.contains(&b'\n') && !needs_more
}

/// Returns true for a statement that stands before the tables of a dump: `SET NAMES utf8;`.
pub(super) fn is_statement(line: &[u8]) -> bool {
    const BEGINNINGS: &[&str] = &[
        "set ", "use ", "begin;", "start ", "lock ", "create ", "alter ", "delete ",
    ];
    let begins = |known: &&str| {
        let beginning = line.get(..known.len());
        beginning.is_some_and(|it| it.eq_ignore_ascii_case(known.as_bytes()))
    };
    line.trim_ascii_end().ends_with(b";") && BEGINNINGS.iter().any(begins)
}

/// Text in UTF-8, or else in windows-1252.
///
/// Source: API.md 13.9.
pub(crate) fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(as_windows_1252(bytes)),
    }
}

/// Text in windows-1252.
pub(super) fn as_windows_1252(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| windows_1252(*byte)).collect()
}

/// Characters of windows-1252 from 0x80 to 0x9F; the five that it leaves open are themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž', '\u{8F}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}', 'ž', 'Ÿ',
];

/// The character of a byte in windows-1252.
pub(super) fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

fn line_end(byte: u8) -> u8 {
    if byte == b'\r' { b'\n' } else { byte }
}

/// Lines that end in CR, as lines that end in LF.
struct CarriageReturns<'a>(Box<dyn BufRead + 'a>);

impl Read for CarriageReturns<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(buffer)?;
        for byte in &mut buffer[..count] {
            *byte = line_end(*byte);
        }
        Ok(count)
    }
}

/// UTF-16 as UTF-8, without its byte order mark. Half a pair becomes U+FFFD.
struct Utf16Read<'a> {
    input: Box<dyn BufRead + 'a>,
    is_big: bool,
    is_begun: bool,
    /// The first half of a pair, until the second one is read.
    high: Option<u16>,
    utf8: Vec<u8>,
    /// Bytes of it that were given.
    given_count: usize,
}

impl<'a> Utf16Read<'a> {
    fn new(input: Box<dyn BufRead + 'a>, is_big: bool) -> Self {
        Self {
            input,
            is_big,
            is_begun: false,
            high: None,
            utf8: Vec::new(),
            given_count: 0,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut raw = Vec::new();
        // An even number, so that a unit is never cut but by the end.
        let piece_bytes = READ_BUFFER_BYTES as u64 & !1;
        (&mut self.input).take(piece_bytes).read_to_end(&mut raw)?;
        let is_end = raw.is_empty();
        let units = raw.chunks(2).map(|pair| match (pair, self.is_big) {
            ([first, second], true) => u16::from_be_bytes([*first, *second]),
            ([first, second], false) => u16::from_le_bytes([*first, *second]),
            _ => 0xFFFD,
        });
        let mut units: Vec<u16> = self.high.take().into_iter().chain(units).collect();
        if !is_end
            && units
                .last()
                .is_some_and(|unit| (0xD800..0xDC00).contains(unit))
        {
            self.high = units.pop();
        }
        let mut text = String::new();
        for decoded in char::decode_utf16(units) {
            text.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        if !std::mem::replace(&mut self.is_begun, true) {
            text = text.trim_start_matches('\u{FEFF}').to_owned();
        }
        self.utf8 = text.into_bytes();
        self.given_count = 0;
        Ok(())
    }
}

impl Read for Utf16Read<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given_count == self.utf8.len() {
            self.fill()?;
        }
        let count = (&self.utf8[self.given_count..]).read(buffer)?;
        self.given_count += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &str) {
        let mut peeked = peek(Box::new(bytes)).unwrap();
        let mut text = Vec::new();
        peeked.content.read_to_end(&mut text).unwrap();
        assert_eq!(decoded(&text), expected);
        assert!(text.starts_with(&peeked.beginning));
    }

    #[test]
    fn text_is_read_in_every_encoding() {
        check("Año\n".as_bytes(), "Año\n");
        check(b"A\xF1o \x80\n", "Año €\n");
        check(b"", "");
        for is_big in [true, false] {
            let text = "\u{FEFF}año 😀\n";
            let bytes: Vec<u8> = text
                .encode_utf16()
                .flat_map(|unit| {
                    if is_big {
                        unit.to_be_bytes()
                    } else {
                        unit.to_le_bytes()
                    }
                })
                .collect();
            check(&bytes, "año 😀\n");
        }
        check(b"\xFF\xFEa\0\x00\xD8", "a\u{FFFD}");
    }

    #[test]
    fn carriage_returns_end_lines_where_nothing_else_does() {
        check(b"a\rb\r", "a\nb\n");
        check(b"a\r\nb\r\n", "a\r\nb\r\n");
    }

    #[test]
    fn pairs_survive_the_ends_of_pieces() {
        let text = format!("\u{FEFF}a{}", "😀".repeat(READ_BUFFER_BYTES));
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let mut peeked = peek(Box::new(&*bytes)).unwrap();
        let mut read = String::new();
        peeked.content.read_to_string(&mut read).unwrap();
        assert!(read == text[3..]);
        assert!(!peeked.is_whole);
    }
}
