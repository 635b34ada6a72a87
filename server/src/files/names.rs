//! File names: the one a client gets, and the one upstream gave.
//!
//! Source: API.md, file names.

use percent_encoding::percent_decode;
use subcat_engine::{FileKind, FileName, RecordId, without_ending};

use super::disposition::{disposition_parameters, extended_value, text_of};

/// The name of a file for the client, with an extension that fits the content: the record's, else
/// upstream's, else `<id>.<kind>`. A name that is empty after cleaning does not count.
///
/// Cost: one or two passes over the name.
///
/// ```
/// use subcat_engine::{FileKind, RecordId};
/// use subcat_server::files::served_name;
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
    let clean: String = last.chars().filter(|c| !is_removed(*c)).collect();
    let clean = clean.trim();
    let has_substance = clean.chars().any(|c| c != '.' && !c.is_whitespace());
    if has_substance {
        Some(clean.to_owned())
    } else {
        None
    }
}

/// The name of a converted text: an ending of a text or archive, or `vtt.srt`, becomes that of the
/// format; else that is appended.
///
/// Source: API.md 17.3.
///
/// ```
/// use subcat_server::files::converted_name;
/// assert_eq!(converted_name("Faro.vtt.SRT", "vtt"), "Faro.vtt");
/// assert_eq!(converted_name("Faro.v2", "srt"), "Faro.v2.srt");
/// ```
pub fn converted_name(name: &str, extension: &str) -> String {
    let stem = without_ending(name);
    format!("{stem}.{extension}")
}

/// The kind that a name's extension names.
pub fn named_kind(name: &str) -> Option<FileKind> {
    let (_, extension) = name.rsplit_once('.')?;
    FileKind::of_extension(extension)
}

/// Returns true for control characters, line separators, and characters that change the direction
/// of text.
pub(super) fn is_removed(c: char) -> bool {
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

/// The name that upstream gave: `filename*`, else `filename`, else the last part of the URL's path
/// if it has one of the six extensions. A name that is empty after cleaning does not count. It is
/// returned as it came, and cleaned when it is served.
pub fn upstream_name(disposition: Option<&[u8]>, url_path: &str) -> Option<FileName> {
    let parameters = disposition.map(disposition_parameters).unwrap_or_default();
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

fn url_name(path: &str) -> Option<String> {
    let last = path.rsplit('/').next()?;
    let decoded: Vec<u8> = percent_decode(last.as_bytes()).collect();
    let name = text_of(&decoded);
    named_kind(&name)?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::content_disposition;

    const ID: RecordId = RecordId::from_bytes([0xAB; 16]);

    fn check_served(names: (Option<&str>, Option<&str>), kind: FileKind, expected: &str) {
        assert_eq!(
            served_name(names.0, names.1, ID, kind),
            expected,
            "{names:?}"
        );
    }

    #[test]
    fn the_first_name_with_substance_is_taken() {
        let id_name = "abababab-abab-abab-abab-abababababab.srt";
        check_served((Some("a.srt"), Some("b.srt")), FileKind::Srt, "a.srt");
        check_served((None, Some("b.srt")), FileKind::Srt, "b.srt");
        check_served((Some(" \u{202E} "), Some("b.srt")), FileKind::Srt, "b.srt");
        check_served((Some("dir/"), Some("..")), FileKind::Srt, id_name);
        check_served((None, None), FileKind::Srt, id_name);
    }

    #[test]
    fn path_parts_control_and_bidi_characters_go() {
        check_served(
            (Some("../../etc/passwd.srt"), None),
            FileKind::Srt,
            "passwd.srt",
        );
        check_served((Some("C:\\a\\b.srt"), None), FileKind::Srt, "b.srt");
        check_served((Some("a\r\nX: b\0.srt"), None), FileKind::Srt, "aX: b.srt");
        check_served(
            (Some("\u{202E}trs.a\u{2069}.srt"), None),
            FileKind::Srt,
            "trs.a.srt",
        );
        check_served((Some("a\u{85}b.srt"), None), FileKind::Srt, "ab.srt");
    }

    #[test]
    fn the_extension_is_corrected_only_when_it_misleads() {
        check_served((Some("a.zip"), None), FileKind::Rar, "a.rar");
        check_served((Some("a.rar"), None), FileKind::Zip, "a.zip");
        check_served((Some("a.srt"), None), FileKind::Zip, "a.zip");
        check_served((Some("a.SRT"), None), FileKind::Srt, "a.SRT");
        check_served((Some("a.zip"), None), FileKind::Srt, "a.srt");
        check_served((Some("a.zip"), None), FileKind::Ass, "a.srt");
        check_served((Some("a.sub"), None), FileKind::Srt, "a.sub");
        check_served((Some("a.srt"), None), FileKind::Ass, "a.srt");
        check_served((Some("a.txt"), None), FileKind::Ass, "a.txt.ass");
        check_served((Some("a.txt"), None), FileKind::Zip, "a.txt.zip");
        check_served((Some("Movie.2001"), None), FileKind::Srt, "Movie.2001.srt");
        check_served((Some("Movie."), None), FileKind::Srt, "Movie.srt");
        check_served((Some("Movie"), None), FileKind::Rar, "Movie.rar");
        check_served((Some(".srt"), None), FileKind::Srt, ".srt");
    }

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

        #[test]
        fn any_header_is_read(disposition: Vec<u8>, path: String) {
            if let Some(name) = upstream_name(Some(&disposition), &path) {
                prop_assert!(clean_name(name.as_str()).is_some());
            }
        }
    }
}
