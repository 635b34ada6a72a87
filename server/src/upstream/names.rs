//! What does upstream call a file? Its `Content-Disposition`, else the end of its URL.
//!
//! Source: API.md, file names.

use percent_encoding::percent_decode;
use subcat_engine::model::FileName;

use crate::respond::{clean_name, named_kind};

/// The first name with substance of: `filename*`, `filename`, the last part of the URL's path if
/// it has one of the six extensions. Kept as it came; it is cleaned when it is served.
pub fn upstream_name(disposition: Option<&[u8]>, url_path: &str) -> Option<FileName> {
    let parameters = disposition.map(parameters).unwrap_or_default();
    let find = |wanted: &str| {
        let found = parameters
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.as_slice())
    };
    let candidates = [
        find("filename*").and_then(extended_value),
        find("filename").map(text_of),
        url_name(url_path),
    ];
    candidates
        .into_iter()
        .flatten()
        .filter(|name| clean_name(name).is_some())
        .find_map(|name| FileName::parse(&name))
}

/// UTF-8 when it is that, else Latin-1.
fn text_of(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// `charset'language'value` (RFC 8187); what it says of the charset matters less than what the
/// bytes are.
fn extended_value(value: &[u8]) -> Option<String> {
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let (_charset, _language, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let decoded: Vec<u8> = percent_decode(encoded).collect();
    Some(text_of(&decoded))
}

fn url_name(path: &str) -> Option<String> {
    let last = path.rsplit('/').next()?;
    let decoded: Vec<u8> = percent_decode(last.as_bytes()).collect();
    let name = text_of(&decoded);
    named_kind(&name).is_some().then_some(name)
}

/// The parameters behind the first semicolon: names and values, without quotes. Only a quote and
/// a backslash are unescaped: what escapes anything else means a path of Windows.
fn parameters(disposition: &[u8]) -> Vec<(String, Vec<u8>)> {
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
        let (value, behind) = match value.strip_prefix(b"\"") {
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
        rest = after(behind, b';');
    }
    found
}

fn after(bytes: &[u8], separator: u8) -> &[u8] {
    match bytes.iter().position(|byte| *byte == separator) {
        Some(idx) => &bytes[idx + 1..],
        None => &[],
    }
}

/// The value up to the closing quote, and what follows it.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(disposition: impl AsRef<[u8]>, expected: Option<&str>) {
        let disposition = disposition.as_ref();
        let name = upstream_name(Some(disposition), "/x/123");
        let shown = String::from_utf8_lossy(disposition);
        assert_eq!(name.as_ref().map(FileName::as_str), expected, "{shown}");
    }

    #[test]
    fn the_extended_name_goes_first() {
        check(
            "attachment; filename=\"a.srt\"; filename*=UTF-8''b%C3%B1.srt",
            Some("bñ.srt"),
        );
        check("attachment; filename*=UTF-8'es'b%20c.srt", Some("b c.srt"));
        check("attachment; filename*=ISO-8859-1''b%F1.srt", Some("bñ.srt"));
        check("attachment; filename*=UTF-8''b%F1.srt", Some("bñ.srt"));
        check(
            "attachment; FILENAME*=broken; filename=a.srt",
            Some("a.srt"),
        );
        check(
            "attachment; filename*=UTF-8''..; filename=a.srt",
            Some("a.srt"),
        );
    }

    #[test]
    fn reads_quoted_and_bare_names() {
        check("attachment; filename=\"a b.srt\"", Some("a b.srt"));
        check("attachment;filename = a.srt ;x=y", Some("a.srt"));
        check("attachment; filename=\"a;b=c.srt\"; x", Some("a;b=c.srt"));
        check(r#"attachment; filename="a\"b\\c.srt""#, Some("a\"b\\c.srt"));
        check(
            r#"attachment; filename="C:\subs\a.srt""#,
            Some(r"C:\subs\a.srt"),
        );
        check("attachment; filename=\"open", Some("open"));
        check("attachment; x; filename=a.srt", Some("a.srt"));
        check("inline; filename=a", Some("a"));
    }

    #[test]
    fn reads_utf8_else_latin1() {
        check("attachment; filename=\"ñ.srt\"", Some("ñ.srt"));
        check(b"attachment; filename=\"\xF1.srt\"", Some("ñ.srt"));
    }

    #[test]
    fn without_a_name_the_url_is_asked() {
        check("attachment", None);
        check("", None);
        check("attachment; filename=\"\"", None);
        check(format!("attachment; filename={}", "a".repeat(256)), None);
        let of_url = |path: &str| upstream_name(None, path).map(|n| n.as_str().to_owned());
        assert_eq!(
            of_url("/files/Am%C3%A9lie.SRT").as_deref(),
            Some("Amélie.SRT")
        );
        assert_eq!(of_url("/files/a%F1o.zip").as_deref(), Some("año.zip"));
        assert_eq!(of_url("/files/123"), None);
        assert_eq!(of_url("/files/a.srt/"), None);
        assert_eq!(of_url("/files/a.php"), None);
        assert_eq!(of_url(""), None);
    }

    proptest! {
        #[test]
        fn any_header_is_read(disposition: Vec<u8>, path: String) {
            if let Some(name) = upstream_name(Some(&disposition), &path) {
                prop_assert!(clean_name(name.as_str()).is_some());
            }
        }
    }
}
