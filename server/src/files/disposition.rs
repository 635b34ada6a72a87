//! The `Content-Disposition` header: written for clients, read from upstream.
//!
//! Source: API.md, file names.

use std::fmt::Write;

use icu_normalizer::DecomposingNormalizerBorrowed;
use percent_encoding::percent_decode;

/// The value of `Content-Disposition` for a cleaned name: printable ASCII, and the real name
/// beside it when that differs.
///
/// ```
/// use subcat_server::files::content_disposition;
/// let value = content_disposition("Amélie \"2001\".srt");
/// let ascii = "attachment; filename=\"Amelie _2001_.srt\"";
/// assert_eq!(value, format!("{ascii}; filename*=UTF-8''Am%C3%A9lie%20%222001%22.srt"));
/// ```
pub fn content_disposition(name: &str) -> String {
    let ascii = ascii_name(name);
    let mut value = format!("attachment; filename=\"{ascii}\"");
    if ascii != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte) {
                value.push(char::from(byte));
            } else {
                write!(value, "%{byte:02X}").expect("a String takes everything");
            }
        }
    }
    value
}

/// Every character as printable ASCII: without its accents when that is enough, else `_`.
fn ascii_name(name: &str) -> String {
    let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
    let mut ascii = String::with_capacity(name.len());
    let mut buffer = [0_u8; 4];
    for c in name.chars() {
        if is_plain(c) {
            ascii.push(c);
            continue;
        }
        let pieces = normalizer.normalize(c.encode_utf8(&mut buffer));
        let is_enough = pieces
            .chars()
            .all(|piece| is_plain(piece) || is_accent(piece));
        if is_enough {
            ascii.extend(pieces.chars().filter(|piece| is_plain(*piece)));
        } else {
            ascii.push('_');
        }
    }
    ascii
}

/// Returns true for characters that are allowed between the quotes. A slash never does: a cleaned
/// name has none, so it would come from the decomposition of a character.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '/')
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}')
}

/// The parameters after the first semicolon: names and values, without quotes. Only a quote and
/// a backslash are unescaped: a backslash before anything else is part of a Windows path.
pub(super) fn disposition_parameters(disposition: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut rest = after(disposition, b';');
    while !rest.is_empty() {
        let equals_idx = rest.iter().position(|byte| *byte == b'=');
        let semicolon_idx = rest.iter().position(|byte| *byte == b';');
        let Some(equals_idx) = equals_idx.filter(|e| semicolon_idx.is_none_or(|s| *e < s)) else {
            rest = after(rest, b';');
            continue;
        };
        let name = text_of(rest[..equals_idx].trim_ascii());
        let value = rest[equals_idx + 1..].trim_ascii_start();
        let (value, tail) = match value.strip_prefix(b"\"") {
            Some(quoted) => unquote(quoted),
            None => {
                let end = value
                    .iter()
                    .position(|byte| *byte == b';')
                    .unwrap_or(value.len());
                (value[..end].trim_ascii_end().to_vec(), &value[end..])
            }
        };
        found.push((name, value));
        rest = after(tail, b';');
    }
    found
}

fn after(bytes: &[u8], separator: u8) -> &[u8] {
    match bytes.iter().position(|byte| *byte == separator) {
        Some(idx) => &bytes[idx + 1..],
        None => &[],
    }
}

/// The value up to the closing quote, and the rest.
fn unquote(quoted: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut value = Vec::with_capacity(quoted.len());
    let mut idx = 0;
    while idx < quoted.len() {
        match (quoted[idx], quoted.get(idx + 1)) {
            (b'"', _) => return (value, &quoted[idx + 1..]),
            (b'\\', Some(escaped @ (b'"' | b'\\'))) => {
                value.push(*escaped);
                idx += 2;
            }
            (byte, _) => {
                value.push(byte);
                idx += 1;
            }
        }
    }
    (value, &[])
}

/// The bytes as UTF-8 if they are valid UTF-8, else as Latin-1.
pub(super) fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// The value of `charset'language'value` (RFC 8187). The charset is ignored: the bytes decide, as
/// in [`text_of`].
pub(super) fn extended_value(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (_charset, _language, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let decoded: Vec<u8> = percent_decode(encoded).collect();
    Some(text_of(&decoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_header(name: &str, expected: &str) {
        assert_eq!(
            content_disposition(name),
            format!("attachment; {expected}"),
            "{name}"
        );
    }

    #[test]
    fn a_plain_name_is_said_once() {
        check_header("a b.srt", "filename=\"a b.srt\"");
        check_header("100%;x.srt", "filename=\"100%;x.srt\"");
    }

    #[test]
    fn another_name_is_said_twice() {
        check_header("ñ.srt", "filename=\"n.srt\"; filename*=UTF-8''%C3%B1.srt");
        check_header(
            "n\u{303}.srt",
            "filename=\"n.srt\"; filename*=UTF-8''n%CC%83.srt",
        );
        check_header("ø.srt", "filename=\"_.srt\"; filename*=UTF-8''%C3%B8.srt");
        check_header(
            "映.srt",
            "filename=\"_.srt\"; filename*=UTF-8''%E6%98%A0.srt",
        );
        check_header("a\"b", "filename=\"a_b\"; filename*=UTF-8''a%22b");
        check_header(
            "＂／＼",
            "filename=\"___\"; filename*=UTF-8''%EF%BC%82%EF%BC%8F%EF%BC%BC",
        );
        check_header("ﬁ", "filename=\"fi\"; filename*=UTF-8''%EF%AC%81");
    }
}
