//! Kinds of content: archives and text are recognised, everything else is rejected.
//!
//! Source: API.md, kinds of files.

use subcat_engine::FileKind;

use super::characters::{ByteOrder, utf16_order};
use super::foreign::name_of;
use crate::limits::{
    SHAPELESS_BYTES_MIN, SUBTITLE_CHARS_PER_CONTROL_MIN, TEXT_CHARS_PER_CONTROL_MIN,
};

/// A content that may be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecognisedFile {
    /// Kind of the file.
    pub kind: FileKind,
    /// True for text without a subtitle's shape, which may be something else that upstream sent.
    pub is_shapeless: bool,
    /// True for an archive, and for text that begins as subtitles do: nothing else looks so.
    pub is_certain: bool,
}

/// The kind of `content`; `None` for HTML, other documents and binaries. `name_kind` is the kind
/// that its name suggests, which decides for text of no recognisable kind.
///
/// Cost: one pass over text, a few bytes of anything else.
pub fn kind_of(content: &[u8], name_kind: Option<FileKind>) -> Option<FileKind> {
    recognise(content, name_kind).map(|file| file.kind)
}

/// The kind of `content` as of [`kind_of`], and its certainty.
pub fn recognise(content: &[u8], name_kind: Option<FileKind>) -> Option<RecognisedFile> {
    let archive = |kind| RecognisedFile {
        kind,
        is_shapeless: false,
        is_certain: true,
    };
    if is_zip(content) {
        return Some(archive(FileKind::Zip));
    }
    if is_rar(content) {
        return Some(archive(FileKind::Rar));
    }
    if content.is_empty() || content.starts_with(b"%PDF-") {
        return None;
    }
    let beginning = beginning_of_text(content)?;
    let text_kind = subtitle_kind(&beginning);
    let mut is_shapeless = false;
    let is_certain = text_kind.is_some() || has_subtitle_heading(&beginning);
    if !is_certain {
        if is_html(&beginning) || is_json(&beginning) || is_xml(&beginning) {
            return None;
        }
        is_shapeless = !has_subtitle_line(&beginning);
        // A short text without times is the message of a site that sends no file: "quota exceeded",
        // "try again later". Padding makes it no longer.
        if bytes_without_padding(content) < SHAPELESS_BYTES_MIN && is_shapeless {
            return None;
        }
    }
    let named_text = name_kind.filter(|kind| kind.is_text());
    Some(RecognisedFile {
        kind: text_kind.or(named_text).unwrap_or(FileKind::Srt),
        is_shapeless,
        is_certain,
    })
}

/// The name of the format of `content`, which is not a subtitle file, for the log.
pub fn foreign_name(content: &[u8]) -> &'static str {
    match beginning_of_text(content) {
        Some(text) if is_html(&text) => "HTML",
        Some(text) if is_json(&text) => "JSON",
        Some(text) if is_xml(&text) => "XML",
        text => name_of(content, text.is_some()),
    }
}

/// Returns true for the marks of an archive that is opened.
pub(super) fn is_archive(content: &[u8]) -> bool {
    is_zip(content) || is_rar(content)
}

/// A first file, the end of an empty archive, or the mark of a split one.
fn is_zip(content: &[u8]) -> bool {
    [b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"]
        .iter()
        .any(|magic| content.starts_with(*magic))
}

/// Version 4 or 5.
fn is_rar(content: &[u8]) -> bool {
    content.starts_with(b"Rar!\x1A\x07\x00") || content.starts_with(b"Rar!\x1A\x07\x01\x00")
}

/// Bytes at the start of a text that decide its kind.
const BEGINNING_BYTES: usize = 4096;

/// The first characters of a text in UTF-8, UTF-16 or an 8-bit code page. The upper half of a code
/// page is read as Latin-1.
fn beginning_of_text(content: &[u8]) -> Option<String> {
    let whole_units = &content[..content.len() & !1];
    match utf16_order(whole_units) {
        Some(order) => beginning_of_utf16(content, order),
        None => beginning_of_8bit(content),
    }
}

fn beginning_of_utf16(content: &[u8], order: ByteOrder) -> Option<String> {
    let unit = |pair: &[u8]| match order {
        ByteOrder::Little => u16::from_le_bytes([pair[0], pair[1]]),
        ByteOrder::Big => u16::from_be_bytes([pair[0], pair[1]]),
    };
    let mut beginning = String::new();
    let mut chars_count = 0;
    let mut controls_count = 0;
    for decoded in char::decode_utf16(content.chunks_exact(2).map(unit)) {
        let c = decoded.unwrap_or('\u{FFFF}');
        if c == '\0' {
            return None;
        }
        chars_count += 1;
        controls_count += usize::from(c == '\u{FFFF}' || is_binary(u32::from(c)));
        if beginning.len() < BEGINNING_BYTES {
            beginning.push(c);
        }
    }
    if controls_count * TEXT_CHARS_PER_CONTROL_MIN <= chars_count {
        Some(beginning)
    } else {
        None
    }
}

fn beginning_of_8bit(content: &[u8]) -> Option<String> {
    let end = content.iter().rposition(|byte| *byte != 0)? + 1;
    let content = &content[..end];
    let controls = content.iter().filter(|byte| is_binary(u32::from(**byte)));
    let controls_count = controls.count();
    let beginning = content[..end.min(BEGINNING_BYTES)].iter();
    let beginning: String = beginning.map(|byte| char::from(*byte)).collect();
    let is_text = !content.contains(&0) && controls_count * TEXT_CHARS_PER_CONTROL_MIN <= end;
    // A few stray bytes make nothing else of what begins as only subtitles do.
    let is_damaged_subtitle = || {
        let begins_so = subtitle_kind(&beginning).is_some() || has_subtitle_heading(&beginning);
        begins_so && controls_count * SUBTITLE_CHARS_PER_CONTROL_MIN <= end
    };
    if is_text || is_damaged_subtitle() {
        Some(beginning)
    } else {
        None
    }
}

/// C0 control characters that no text has: all but tab, line ends, form feed, end of file (26)
/// and escape.
fn is_binary(c: u32) -> bool {
    c < 0x20 && !matches!(c, 9 | 10 | 12 | 13 | 26 | 27)
}

/// The beginning without a byte order mark (in UTF-8 read as Latin-1, too) and white space.
fn bare(beginning: &str) -> &str {
    let marks: &[char] = &['\u{FEFF}', 'ï', '»', '¿'];
    let is_mark = |c: char| marks.contains(&c) || c.is_whitespace();
    beginning.trim_start_matches(is_mark)
}

fn subtitle_kind(beginning: &str) -> Option<FileKind> {
    let text = bare(beginning);
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("[script info]") {
        let is_old = lower.contains("[v4 styles]")
            || lower.contains("scripttype: v4.00\r")
            || lower.contains("scripttype: v4.00\n");
        let is_ass = lower.contains("[v4+ styles]") || lower.contains("scripttype: v4.00+");
        let kind = if is_old && !is_ass {
            FileKind::Ssa
        } else {
            FileKind::Ass
        };
        return Some(kind);
    }
    if is_frame_line(text, ['{', '}']) || is_frame_line(text, ['[', ']']) {
        return Some(FileKind::Sub);
    }
    if lower.starts_with("[information]") {
        return Some(FileKind::Sub);
    }
    if lower.starts_with("webvtt") {
        return None;
    }
    text.lines().take(100).find_map(time_line_kind)
}

/// `{12}{34}` of `MicroDVD`, `[12][34]` of MPL2.
fn is_frame_line(text: &str, [open, close]: [char; 2]) -> bool {
    let mut rest = text;
    for _ in 0..2 {
        let Some((digits, after)) = rest.strip_prefix(open).and_then(|r| r.split_once(close))
        else {
            return false;
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        rest = after;
    }
    !text.starts_with("{}{}") && !text.starts_with("[][]")
}

/// `00:00:01,000 --> 00:00:02,000` is `SubRip`, `00:00:01.00,00:00:02.00` is `SubViewer`.
fn time_line_kind(line: &str) -> Option<FileKind> {
    let line = line.trim();
    if let Some((start, end)) = line.split_once("-->") {
        let end = end.split_whitespace().next().unwrap_or_default();
        return if is_time(start.trim_end()) && is_time(end) {
            Some(FileKind::Srt)
        } else {
            None
        };
    }
    let (start, end) = line.split_once(',')?;
    if is_time(start) && is_time(end) {
        Some(FileKind::Sub)
    } else {
        None
    }
}

/// Hours, minutes, seconds with an optional fraction.
fn is_time(text: &str) -> bool {
    let is_digit_or_point = |b: u8| b.is_ascii_digit() || b":,. ".contains(&b);
    let starts_right = text.bytes().next().is_some_and(|b| b.is_ascii_digit());
    starts_right && text.matches(':').count() == 2 && text.bytes().all(is_digit_or_point)
}

/// WebVTT or SAMI, which are served as text of their name's kind.
fn has_subtitle_heading(beginning: &str) -> bool {
    let text = bare(beginning).to_ascii_lowercase();
    text.starts_with("webvtt") || text.starts_with("<sami")
}

/// A line as only subtitles have: an arrow between times, a time, frames, the heading of a script.
fn has_subtitle_line(beginning: &str) -> bool {
    beginning.lines().any(|line| {
        let line = bare(line);
        line.contains("-->")
            || has_time(line)
            || is_frame_line(line, ['{', '}'])
            || is_frame_line(line, ['[', ']'])
            || line.to_ascii_lowercase().starts_with("[script info]")
    })
}

/// A word that begins with hours, minutes and seconds, as in `[0:00:01]` and `00:00:01:Hola`. In a
/// date and time, `2026-01-31T00:00:01Z`, no word does.
fn has_time(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != ':')
        .any(begins_with_time)
}

fn begins_with_time(word: &str) -> bool {
    let mut rest = word;
    for place in 0..3 {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if !(1..=2).contains(&(rest.len() - after.len())) {
            return false;
        }
        rest = match (place, after.strip_prefix(':')) {
            (2, _) => after,
            (_, Some(after)) => after,
            (_, None) => return false,
        };
    }
    !rest.starts_with(char::is_alphanumeric)
}

/// Bytes up to the last that is neither zero nor white space.
fn bytes_without_padding(content: &[u8]) -> usize {
    let is_text = |byte: &u8| *byte != 0 && !byte.is_ascii_whitespace();
    content.iter().rposition(is_text).map_or(0, |last| last + 1)
}

/// An object or an array, as an API answers. `{1}{2}` and `[1][2]` are frames of subtitles.
fn is_json(beginning: &str) -> bool {
    let text = bare(beginning);
    let inner = |open: char| text.strip_prefix(open).map(str::trim_start);
    let starts_object = |rest: &str| rest.starts_with(['"', '}']);
    let starts_array = |rest: &str| rest.starts_with(['"', '{', '[', ']']);
    inner('{').is_some_and(starts_object) || inner('[').is_some_and(starts_array)
}

fn is_xml(beginning: &str) -> bool {
    bare(beginning).starts_with("<?xml")
}

fn is_html(beginning: &str) -> bool {
    const TAGS: [&str; 12] = [
        "<!doctype html",
        "<html",
        "<head",
        "<body",
        "<script",
        "<title",
        "<meta",
        "<iframe",
        "<div",
        "<table",
        "<h1",
        "<style",
    ];
    let text = bare(beginning).to_ascii_lowercase();
    if text.starts_with('<') {
        return TAGS.iter().any(|tag| text.contains(tag));
    }
    text.contains("<!doctype html") || text.contains("<html")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SRT: &str = "1\r\n00:00:01,000 --> 00:00:02,500\r\nHola.\r\n";

    fn check(content: impl AsRef<[u8]>, expected: Option<FileKind>) {
        let content = content.as_ref();
        let shown = String::from_utf8_lossy(content);
        assert_eq!(kind_of(content, None), expected, "{shown}");
    }

    fn utf16(text: &str, order: ByteOrder, has_mark: bool) -> Vec<u8> {
        let mark = has_mark.then_some(0xFEFF_u16);
        mark.into_iter()
            .chain(text.encode_utf16())
            .flat_map(|unit| match order {
                ByteOrder::Little => unit.to_le_bytes(),
                ByteOrder::Big => unit.to_be_bytes(),
            })
            .collect()
    }

    #[test]
    fn recognises_archives() {
        check(b"PK\x03\x04rest", Some(FileKind::Zip));
        check(
            b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            Some(FileKind::Zip),
        );
        check(b"PK\x07\x08PK\x03\x04", Some(FileKind::Zip));
        check(b"Rar!\x1A\x07\x00rest", Some(FileKind::Rar));
        check(b"Rar!\x1A\x07\x01\x00rest", Some(FileKind::Rar));
        assert_eq!(
            kind_of(b"PK\x03\x04", Some(FileKind::Srt)),
            Some(FileKind::Zip)
        );
    }

    #[test]
    fn recognises_kinds_of_text() {
        check(SRT, Some(FileKind::Srt));
        check(
            "\u{FEFF}\n\n1\n0:00:01.000 --> 0:00:02.500\nHola",
            Some(FileKind::Srt),
        );
        check("[Script Info]\nScriptType: v4.00+\n", Some(FileKind::Ass));
        check(
            "[Script Info]\nTitle: a\n[V4+ Styles]\n",
            Some(FileKind::Ass),
        );
        check(
            "[Script Info]\nScriptType: v4.00\n[V4 Styles]\n",
            Some(FileKind::Ssa),
        );
        check("{1}{1}23.976\n{24}{48}Hola", Some(FileKind::Sub));
        check("{0}{}Hola", Some(FileKind::Sub));
        check("[10][20]Hola", Some(FileKind::Sub));
        check("[INFORMATION]\n[TITLE]x", Some(FileKind::Sub));
        check("00:00:01.00,00:00:02.00\nHola", Some(FileKind::Sub));
    }

    #[test]
    fn other_text_is_taken_at_its_names_word() {
        let text = "Hola, esto es un texto. ".repeat(10);
        let text = text.as_bytes();
        assert_eq!(kind_of(text, None), Some(FileKind::Srt));
        assert_eq!(kind_of(text, Some(FileKind::Sub)), Some(FileKind::Sub));
        assert_eq!(kind_of(text, Some(FileKind::Zip)), Some(FileKind::Srt));
        assert_eq!(
            kind_of(SRT.as_bytes(), Some(FileKind::Sub)),
            Some(FileKind::Srt)
        );
        check(
            "WEBVTT\n\n00:01.000 --> 00:02.000\nHola",
            Some(FileKind::Srt),
        );
    }

    #[test]
    fn reads_utf16_and_8bit_text() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            check(utf16(SRT, order, true), Some(FileKind::Srt));
            check(utf16(SRT, order, false), Some(FileKind::Srt));
            check(
                utf16("[Script Info]\n[V4+ Styles]", order, true),
                Some(FileKind::Ass),
            );
            let long = "字幕のテキスト".repeat(20);
            check(utf16(&long, order, true), Some(FileKind::Srt));
        }
        check(
            b"1\n00:00:01,000 --> 00:00:02,000\n\xBFQu\xE9?\n",
            Some(FileKind::Srt),
        );
        check(
            [b"\x80\x81\x9F\xFF cp1252".as_slice(); 20].concat(),
            Some(FileKind::Srt),
        );
        check(b"{0}{25}fin\x1A\0\0\0\0", Some(FileKind::Sub));
    }

    #[test]
    fn refuses_html_and_binaries() {
        check("", None);
        check("<!DOCTYPE html><title>404</title>", None);
        check("\u{FEFF}  <HTML lang=es>", None);
        check("<!-- x --><html>", None);
        check("<?xml version='1.0'?><!DOCTYPE html PUBLIC 'x'>", None);
        check("Warning: x in y\n<html><body>", None);
        check(
            utf16("<html><body>No</body></html>", ByteOrder::Little, true),
            None,
        );
        check(b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR", None);
        check(b"\x1F\x8B\x08\0\0\0\0\0\0\x03", None);
        check(b"7z\xBC\xAF\x27\x1C\0\x04", None);
        check(b"%PDF-1.4\n%\xE2\xE3\xCF\xD3\n", None);
        check(b"\x7FELF\x02\x01\x01\0", None);
        check(b"MZ\x90\0\x03", None);
        check(b"\xFF\xFE\0\0a\0\0\0", None);
        check([0; 100], None);
        let noise: Vec<u8> = (0..1000_u32).map(|i| ((i * 7919) >> 3) as u8 | 1).collect();
        check(noise, None);
    }

    #[test]
    fn refuses_what_sites_say_instead_of_a_file() {
        check(r#"{"error":"quota exceeded"}"#, None);
        check("  {\n \"error\": 429 }", None);
        check(r#"[{"id": 1}]"#, None);
        check(format!(r#"{{"items":["{}"]}}"#, "x".repeat(500)), None);
        check("<?xml version='1.0'?><error>quota</error>", None);
        check("Too many requests, try again later", None);
        check("Límite de descargas alcanzado. Prueba mañana.", None);
        check("Blocked at 2026-01-31T10:00:00Z, see 10:00", None);
        check([b"MZ".as_slice(), &[0; 300]].concat(), None);
        check(format!("error{}", " ".repeat(300)), None);
        let short = b"Too many requests";
        assert_eq!(kind_of(short, Some(FileKind::Srt)), None);
    }

    #[test]
    fn short_text_in_a_subtitles_shape_is_content() {
        check("WEBVTT\n\nHola", Some(FileKind::Srt));
        check("<SAMI>\n<HEAD><TITLE>a</TITLE></HEAD>", Some(FileKind::Srt));
        check("0:00:01 Hola", Some(FileKind::Srt));
        check("00:01 --> 00:02 Hola", Some(FileKind::Srt));
        check("[1][2]Hola", Some(FileKind::Sub));
        check("00:00:01:Hola\n00:00:04:Otra", Some(FileKind::Srt));
        check("(0:00:01) Hola", Some(FileKind::Srt));
        check("[00:00:01]\nHola", Some(FileKind::Srt));
        check("// made by x\n{1}{20}Hola", Some(FileKind::Srt));
        check("# c\n[1][20]Hola", Some(FileKind::Srt));
        check("; comment\n[Script Info]\nTitle: x", Some(FileKind::Srt));
    }

    #[test]
    fn html_inside_a_subtitle_is_a_subtitle() {
        check(
            "1\n00:00:01,000 --> 00:00:02,000\n<html> es una etiqueta",
            Some(FileKind::Srt),
        );
        check("<i>Hola</i>".repeat(20), Some(FileKind::Srt));
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_kind_or_none(content: Vec<u8>) {
            let kind = kind_of(&content, None);
            prop_assert!(!content.is_empty() || kind.is_none());
        }

        #[test]
        fn text_in_any_encoding_is_text(text in "[a-zñá ,.!?\n]{200,400}") {
            for order in [ByteOrder::Little, ByteOrder::Big] {
                prop_assert!(kind_of(&utf16(&text, order, true), None).is_some());
            }
            prop_assert!(kind_of(text.as_bytes(), None).is_some());
        }
    }
}
