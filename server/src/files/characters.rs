//! Characters of a text: UTF-16, UTF-8 or the code page of its language, by rule and not by
//! guessing.
//!
//! Source: API.md 17.6 to 17.8.

use encoding_rs::{
    Encoding, WINDOWS_874, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253, WINDOWS_1254,
    WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
};

/// Bytes at the start of a text that show whether it is UTF-16.
const BEGINNING_BYTES: usize = 4096;

/// Order of the two bytes of a unit of UTF-16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
}

/// The text of `content`. `language` is the first subtag of its language in two letters, which
/// chooses the code page.
///
/// Cost: two passes over the content, one allocation.
/// Source: API.md 17.6 to 17.8.
///
/// ```
/// use subcat_server::files::decode_text;
/// assert_eq!(decode_text(b"\xBFQu\xE9?", "es"), "¿Qué?");
/// assert_eq!(decode_text("¿Qué?".as_bytes(), "ru"), "¿Qué?");
/// ```
pub fn decode_text(content: &[u8], language: &str) -> String {
    if let Some(order) = utf16_order(content) {
        return decode_utf16(without_utf16_mark(content), order);
    }
    let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
    let page = code_page(language);
    if is_utf8(content) {
        decode_utf8(content, page)
    } else {
        page.decode_without_bom_handling(content).0.into_owned()
    }
}

/// Byte order of UTF-16: by its mark, or because every other byte of the beginning is never zero
/// and more than half of the rest are.
pub(super) fn utf16_order(content: &[u8]) -> Option<ByteOrder> {
    if content.starts_with(&[0xFF, 0xFE]) {
        return Some(ByteOrder::Little);
    }
    if content.starts_with(&[0xFE, 0xFF]) {
        return Some(ByteOrder::Big);
    }
    let beginning = &content[..content.len().min(BEGINNING_BYTES)];
    let mut zeros = [0_usize; 2];
    for pair in beginning.chunks(2) {
        for (count, byte) in zeros.iter_mut().zip(pair) {
            *count += usize::from(*byte == 0);
        }
    }
    let second_count = beginning.len() / 2;
    let first_count = beginning.len() - second_count;
    match zeros {
        [0, second] if second_count < 2 * second => Some(ByteOrder::Little),
        [first, 0] if first_count < 2 * first => Some(ByteOrder::Big),
        _ => None,
    }
}

fn without_utf16_mark(content: &[u8]) -> &[u8] {
    match content {
        [0xFF, 0xFE, rest @ ..] | [0xFE, 0xFF, rest @ ..] => rest,
        _ => content,
    }
}

/// Unpaired surrogates and an odd last byte become U+FFFD.
fn decode_utf16(content: &[u8], order: ByteOrder) -> String {
    let (pairs, last) = content.as_chunks::<2>();
    let units = pairs.iter().map(|pair| match order {
        ByteOrder::Little => u16::from_le_bytes(*pair),
        ByteOrder::Big => u16::from_be_bytes(*pair),
    });
    let mut text = String::with_capacity(content.len());
    text.extend(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
    if !last.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

/// Returns true when twice the number of characters of several bytes is at least that of the bytes
/// from 0x80 on that belong to none.
fn is_utf8(content: &[u8]) -> bool {
    let (mut chars_count, mut other_count) = (0_usize, 0_usize);
    for chunk in content.utf8_chunks() {
        chars_count += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        other_count += chunk.invalid().len();
    }
    other_count <= 2 * chars_count
}

/// Decodes UTF-8, and bytes that belong to no character in the code page.
fn decode_utf8(content: &[u8], page: &'static Encoding) -> String {
    let mut text = String::with_capacity(content.len());
    for chunk in content.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push_str(&page.decode_without_bom_handling(chunk.invalid()).0);
        }
    }
    text
}

/// The code page of Windows for a language.
fn code_page(language: &str) -> &'static Encoding {
    match language {
        "bs" | "cs" | "hr" | "hu" | "pl" | "ro" | "sk" | "sl" | "sr" => WINDOWS_1250,
        "be" | "bg" | "kk" | "ky" | "mk" | "mn" | "ru" | "tg" | "uk" => WINDOWS_1251,
        "el" => WINDOWS_1253,
        "az" | "tr" => WINDOWS_1254,
        "he" => WINDOWS_1255,
        "ar" | "fa" | "ur" => WINDOWS_1256,
        "et" | "lt" | "lv" => WINDOWS_1257,
        "th" => WINDOWS_874,
        _ => WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &[u8], language: &str, expected: &str) {
        assert_eq!(decode_text(content, language), expected, "{content:?}");
    }

    #[test]
    fn api_rule_17_6_utf_16_is_told_by_its_mark_or_its_zeros() {
        check(b"\xFF\xFEa\0\xF1\0", "es", "añ");
        check(b"\xFE\xFF\0a\0\xF1", "es", "añ");
        check(b"a\0\xF1\0", "es", "añ");
        check(b"\0a\0\xF1", "es", "añ");
        check(b"\xFF\xFEa\0\x3D\xD8b\0", "es", "a\u{FFFD}b");
        check(b"\xFF\xFEa\0x", "es", "a\u{FFFD}");
        check(b"a\0bc", "es", "a\0bc");
        check(b"\xFF\xFE", "es", "");
    }

    #[test]
    fn api_rule_17_7_what_is_not_mostly_utf_8_is_in_the_code_page() {
        check("\u{FEFF}año".as_bytes(), "es", "año");
        check(b"\xEF\xBB\xBFa\xF1o", "es", "año");
        // A cut end, and two files joined.
        check(b"a\xC3\xB1o \xC3", "es", "año Ã");
        check(b"\xC3\xB1 \xF1 \xF1", "es", "ñ ñ ñ");
        check(b"\xC3\xB1 \xF1 \xF1 \xF1", "es", "Ã± ñ ñ ñ");
        check(b"", "es", "");
    }

    #[test]
    fn api_rule_17_8_the_language_chooses_the_code_page() {
        check(b"\xE0\xE1", "ru", "аб");
        check(b"\xB9\xEA", "pl", "ąę");
        check(b"\xE1\xE2", "el", "αβ");
        check(b"\xD0\xFD", "tr", "Ğı");
        check(b"\xA1\xA2", "th", "กข");
        check(b"\x80\x81", "xx", "€\u{81}");
        check(b"\xD2", "el", "\u{FFFD}");
    }
}
