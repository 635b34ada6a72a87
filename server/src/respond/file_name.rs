//! What is a file called in an answer? Choice, cleaning, extension, and the header that says it.
//!
//! Source: API.md, file names.

use std::fmt::Write;

use icu_normalizer::DecomposingNormalizerBorrowed;
use subcat_engine::model::{FileKind, RecordId};

/// The name under which a file is served: the first that is left after cleaning, of the record's,
/// upstream's and `<id>.<kind>`, with an extension that fits the content.
///
/// Cost: one or two passes over the name.
///
/// ```
/// use subcat_engine::model::{FileKind, RecordId};
/// use subcat_server::respond::served_name;
/// let id = RecordId::from_bytes([0; 16]);
/// let name = served_name(Some("C:\\subs\\Amélie.rar"), None, id, FileKind::Zip);
/// assert_eq!(name, "Amélie.zip");
/// ```
pub fn served_name(
    record_name: Option<&str>,
    upstream_name: Option<&str>,
    id: RecordId,
    kind: FileKind,
) -> String {
    let names = [record_name, upstream_name];
    match names.into_iter().flatten().find_map(clean_name) {
        Some(name) => with_fitting_extension(name, kind),
        None => format!("{id}.{}", kind.extension()),
    }
}

/// The name without path parts, control and bidi characters, and spaces around it. `None` when
/// nothing is left but dots.
pub fn clean_name(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last.chars().filter(|c| !is_unwelcome(*c)).collect();
    let clean = clean.trim();
    let has_substance = clean.chars().any(|c| c != '.' && !c.is_whitespace());
    has_substance.then(|| clean.to_owned())
}

/// The kind that a name's extension names.
pub fn named_kind(name: &str) -> Option<FileKind> {
    let (_, extension) = name.rsplit_once('.')?;
    FileKind::of_extension(extension)
}

/// Control characters, line separators, and what turns the direction of text around.
fn is_unwelcome(c: char) -> bool {
    let is_bidi = matches!(
        c,
        '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
    );
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}' | '\u{FEFF}');
    c.is_control() || is_bidi || is_separator
}

/// Clients choose the unpacker by the extension: it is corrected when it would choose wrongly,
/// and left alone otherwise.
fn with_fitting_extension(name: String, kind: FileKind) -> String {
    let Some(named) = named_kind(&name) else {
        return format!("{}.{}", name.trim_end_matches('.'), kind.extension());
    };
    if named == kind || (named.is_text() && kind.is_text()) {
        return name;
    }
    let stem = name.rsplit_once('.').map_or("", |(stem, _)| stem);
    let extension = if kind.is_text() {
        FileKind::Srt.extension()
    } else {
        kind.extension()
    };
    format!("{stem}.{extension}")
}

/// The value of `Content-Disposition` for a cleaned name: printable ASCII, and the real name
/// beside it when that differs.
///
/// ```
/// use subcat_server::respond::content_disposition;
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

/// Allowed between the quotes; a slash could only come from taking a character apart.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '"' | '\\' | '/')
}

fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36F}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ID: RecordId = RecordId::from_bytes([0xAB; 16]);

    fn check(names: (Option<&str>, Option<&str>), kind: FileKind, expected: &str) {
        assert_eq!(
            served_name(names.0, names.1, ID, kind),
            expected,
            "{names:?}"
        );
    }

    #[test]
    fn the_first_name_with_substance_is_taken() {
        let id_name = "abababab-abab-abab-abab-abababababab.srt";
        check((Some("a.srt"), Some("b.srt")), FileKind::Srt, "a.srt");
        check((None, Some("b.srt")), FileKind::Srt, "b.srt");
        check((Some(" \u{202E} "), Some("b.srt")), FileKind::Srt, "b.srt");
        check((Some("dir/"), Some("..")), FileKind::Srt, id_name);
        check((None, None), FileKind::Srt, id_name);
    }

    #[test]
    fn path_parts_control_and_bidi_characters_go() {
        check(
            (Some("../../etc/passwd.srt"), None),
            FileKind::Srt,
            "passwd.srt",
        );
        check((Some("C:\\a\\b.srt"), None), FileKind::Srt, "b.srt");
        check((Some("a\r\nX: b\0.srt"), None), FileKind::Srt, "aX: b.srt");
        check(
            (Some("\u{202E}trs.a\u{2069}.srt"), None),
            FileKind::Srt,
            "trs.a.srt",
        );
        check((Some("a\u{85}b.srt"), None), FileKind::Srt, "ab.srt");
    }

    #[test]
    fn the_extension_is_corrected_only_when_it_misleads() {
        check((Some("a.zip"), None), FileKind::Rar, "a.rar");
        check((Some("a.rar"), None), FileKind::Zip, "a.zip");
        check((Some("a.srt"), None), FileKind::Zip, "a.zip");
        check((Some("a.SRT"), None), FileKind::Srt, "a.SRT");
        check((Some("a.zip"), None), FileKind::Srt, "a.srt");
        check((Some("a.zip"), None), FileKind::Ass, "a.srt");
        check((Some("a.sub"), None), FileKind::Srt, "a.sub");
        check((Some("a.srt"), None), FileKind::Ass, "a.srt");
        check((Some("a.txt"), None), FileKind::Ass, "a.txt.ass");
        check((Some("a.txt"), None), FileKind::Zip, "a.txt.zip");
        check((Some("Movie.2001"), None), FileKind::Srt, "Movie.2001.srt");
        check((Some("Movie."), None), FileKind::Srt, "Movie.srt");
        check((Some("Movie"), None), FileKind::Rar, "Movie.rar");
        check((Some(".srt"), None), FileKind::Srt, ".srt");
    }

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

    proptest! {
        #[test]
        fn any_name_becomes_a_safe_header(name in "\\PC*|.*", kind_idx in 0..6_usize) {
            let kind = FileKind::ALL[kind_idx];
            let served = served_name(Some(&name), None, ID, kind);
            let named = named_kind(&served);
            prop_assert!(named.is_some_and(|named| named.is_text() == kind.is_text()));
            prop_assert_eq!(clean_name(&served), Some(served.clone()));
            let value = content_disposition(&served);
            prop_assert!(value.bytes().all(|byte| (0x20..0x7F).contains(&byte)));
            prop_assert_eq!(value.matches('"').count(), 2);
            prop_assert!(!value.contains('\\'));
        }
    }
}
