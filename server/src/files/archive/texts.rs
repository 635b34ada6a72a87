//! The texts of an archive (API.md 16.1, 16.3).

use std::collections::HashSet;

use super::entry::{ArchiveEntry, EntryKind};
use super::error::ArchiveError;
use super::reader::Archive;
use crate::files::characters::utf16_order;
use crate::files::kind::is_archive;
use crate::limits::{ARCHIVE_PATH_CHARS_MAX, TEXT_BYTES_MAX, TEXT_CHARS_PER_CONTROL_MIN};

/// A text of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArchiveText<'a> {
    /// Path with slashes.
    pub path: &'a str,
    /// Size when unpacked.
    pub size_bytes: u64,
    /// Place of its entry in the archive.
    pub entry_idx: usize,
}

/// Extensions of texts.
const EXTENSIONS: [&str; 5] = ["srt", "ssa", "ass", "sub", "vtt"];

/// The texts of an archive, in its order.
///
/// Errors: the directory cannot be read, or not to its end.
/// Source: API.md 16.1.
pub fn archive_texts<'a>(archive: &'a Archive<'_>) -> Result<Vec<ArchiveText<'a>>, ArchiveError> {
    if let Some(fault) = archive.fault() {
        return Err(fault);
    }
    let entries = archive.entries();
    let pictures: HashSet<String> = entries
        .iter()
        .filter_map(|entry| stem_of(&entry.path, "idx"))
        .collect();
    let mut seen = HashSet::new();
    let mut texts = Vec::new();
    for (entry_idx, entry) in entries.iter().enumerate() {
        let is_picture = stem_of(&entry.path, "sub").is_some_and(|stem| pictures.contains(&stem));
        if is_text(entry) && !is_picture && seen.insert(entry.path.as_str()) {
            texts.push(ArchiveText {
                path: &entry.path,
                size_bytes: entry.size_bytes,
                entry_idx,
            });
        }
    }
    Ok(texts)
}

fn is_text(entry: &ArchiveEntry) -> bool {
    let is_hidden = |part: &str| part.starts_with('.') || part == "__MACOSX";
    let has_extension = EXTENSIONS
        .iter()
        .any(|extension| stem_of(&entry.path, extension).is_some());
    entry.kind == EntryKind::File
        && has_extension
        && (1..=TEXT_BYTES_MAX).contains(&entry.size_bytes)
        && !entry.path.split('/').any(is_hidden)
        && entry.path.chars().nth(ARCHIVE_PATH_CHARS_MAX).is_none()
}

/// The path without an extension and in lower case; `None` when it has another one.
fn stem_of(path: &str, extension: &str) -> Option<String> {
    let (stem, found) = path.rsplit_once('.')?;
    let is_found = found.eq_ignore_ascii_case(extension);
    is_found.then(|| stem.to_lowercase())
}

/// Unpacks a text.
///
/// Errors: it cannot be unpacked, or its content is not a text.
/// Source: API.md 16.3, 16.4.
pub fn unpack_text(archive: &Archive<'_>, entry_idx: usize) -> Result<Vec<u8>, ArchiveError> {
    let content = archive.unpack(entry_idx)?;
    if is_archive(&content) || !is_text_content(&content) {
        return Err(ArchiveError::NotText);
    }
    Ok(content)
}

/// Returns true for UTF-16, and for bytes without zeros and with few control characters.
fn is_text_content(content: &[u8]) -> bool {
    let Some(last) = content.iter().rposition(|byte| *byte != 0) else {
        return false;
    };
    if content.starts_with(b"%PDF-") {
        return false;
    }
    if utf16_order(content).is_some() {
        return true;
    }
    let content = &content[..=last];
    let is_binary = |byte: &&u8| **byte < 0x20 && !b"\t\n\r\x1A\x1B".contains(byte);
    let binary_count = content.iter().filter(is_binary).count();
    !content.contains(&0) && binary_count * TEXT_CHARS_PER_CONTROL_MIN <= content.len()
}

#[cfg(test)]
mod tests {
    use subcat_engine::FileKind;

    use super::super::samples::{Sample, zip_of};
    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        let files: Vec<Sample<'_>> = names
            .iter()
            .map(|name| Sample {
                name: name.as_bytes(),
                content: b"x",
            })
            .collect();
        let content = zip_of(&files);
        let archive = Archive::read(&content, FileKind::Zip).unwrap();
        let texts = archive_texts(&archive).unwrap();
        texts.iter().map(|text| text.path.to_owned()).collect()
    }

    #[test]
    fn api_rule_16_1_texts_by_their_names() {
        assert_eq!(
            texts(&["a.srt", "b.SSA", "c.nfo", "d.Ass", "e.sub", "f.vtt", "srt"]),
            ["a.srt", "b.SSA", "d.Ass", "e.sub", "f.vtt"]
        );
        assert_eq!(
            texts(&[
                ".a.srt",
                "../b.srt",
                "./c.srt",
                "__MACOSX/d.srt",
                "x/.y/e.srt"
            ]),
            ["c.srt"]
        );
        assert_eq!(
            texts(&["a.sub", "A.IDX", "b.sub", "b.idx.srt"]),
            ["b.sub", "b.idx.srt"]
        );
        assert_eq!(texts(&["x/a.srt", "x\\a.srt", "./x//a.srt"]), ["x/a.srt"]);
        let long = format!("{}.srt", "ñ".repeat(ARCHIVE_PATH_CHARS_MAX - 4));
        let longer = format!("ñ{long}");
        assert_eq!(texts(&[&long, &longer]), [long.as_str()]);
    }

    #[test]
    fn api_rule_16_3_content_that_is_not_text() {
        assert!(is_text_content(b"Hola\0\0"));
        assert!(is_text_content(b"\xFF\xFEa\0\0\0"));
        assert!(is_text_content(&[&[1][..], &[b'a'; 49]].concat()));
        assert!(!is_text_content(&[&[1][..], &[b'a'; 48]].concat()));
        assert!(!is_text_content(b"ab\0cd"));
        assert!(!is_text_content(b"\0\0"));
        assert!(!is_text_content(b"%PDF-1.4"));
        assert!(!is_text_content(b"\x0C"));
    }
}
