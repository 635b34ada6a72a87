//! Entries of an archive, and the decoding of their names (API.md 16.2).

use crate::limits::ARCHIVE_NAME_BYTES_MAX;

/// An entry of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArchiveEntry {
    /// Path with slashes, without empty parts and `.`.
    pub path: String,
    /// Size when unpacked, according to the header.
    pub size_bytes: u64,
    /// File, directory or link.
    pub kind: EntryKind,
}

/// Kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link to another entry.
    Link,
}

/// Code page of a name that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamePage {
    /// Code page 850, of DOS.
    Dos,
    /// Windows-1252.
    Windows,
}

/// The first bytes of a name: no more are decoded.
pub(super) fn cut(name: &[u8]) -> &[u8] {
    &name[..name.len().min(ARCHIVE_NAME_BYTES_MAX)]
}

/// The text of a name: UTF-8 if it is valid, else in the code page.
pub(super) fn name_text(name: &[u8], page: NamePage) -> String {
    let name = cut(name);
    if let Ok(text) = std::str::from_utf8(name) {
        return text.to_owned();
    }
    match page {
        NamePage::Dos => {
            let decoded = rars::filename::LegacyNameEncoding::Cp850.decode(name);
            decoded.unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned())
        }
        NamePage::Windows => encoding_rs::WINDOWS_1252
            .decode_without_bom_handling(name)
            .0
            .into_owned(),
    }
}

/// A path with slashes, without empty parts and `.`.
pub(super) fn clean_path(name: &str) -> String {
    let parts = name.split(['/', '\\']);
    let kept: Vec<&str> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_rule_16_2_names_are_utf_8_or_in_a_code_page() {
        assert_eq!(name_text("año.srt".as_bytes(), NamePage::Dos), "año.srt");
        assert_eq!(name_text(b"a\xA4o.srt", NamePage::Dos), "año.srt");
        assert_eq!(name_text(b"a\xF1o.srt", NamePage::Windows), "año.srt");
    }

    #[test]
    fn api_rule_16_2_a_path_has_no_empty_parts() {
        assert_eq!(clean_path("a\\\\b/./c.srt"), "a/b/c.srt");
        assert_eq!(clean_path("/a/../b.srt"), "a/../b.srt");
        assert_eq!(clean_path("./"), "");
    }

    #[test]
    fn a_name_is_cut_before_it_is_decoded() {
        let long = vec![b'a'; 100_000];
        let text = name_text(&long, NamePage::Dos);
        assert_eq!(text.len(), ARCHIVE_NAME_BYTES_MAX);
    }
}
