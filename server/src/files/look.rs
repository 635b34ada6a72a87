//! A look into a file: the first cues of a text, the names in an archive.
//!
//! Both read a bounded part of the content, show a bounded part of that, and accept any bytes: a
//! damaged file shows less, not an error (API.md 16.5).

use std::collections::HashSet;

use subcat_engine::FileKind;

use super::archive::{Archive, ArchiveError, EntryKind, archive_texts, unpack_text};
use super::characters::decode_text;
use super::conversion::convert;
use super::names::{is_removed, named_kind};
use crate::limits::{
    LOOK_CUE_CHARS_MAX, LOOK_NAME_CHARS_MAX, LOOK_NAMES_MAX, LOOK_START_CHARS_MAX,
    LOOK_TEXT_BYTES_MAX,
};
use crate::request::TextFormat;

/// A cue as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CueLook {
    /// Time or frame of its appearance, in the spelling of the file.
    pub start: String,
    /// Lines of the cue, without tags.
    pub text: String,
}

/// The names in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NamesLook {
    /// Names and sizes in bytes of the files, in the order of the archive.
    pub files: Vec<NamedSize>,
    /// True if there are more.
    pub is_cut: bool,
}

/// A file in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSize {
    /// Path in the archive.
    pub name: String,
    /// Size when unpacked.
    pub size_bytes: u64,
    /// Its whole path if it is a text, which can be downloaded alone (API.md 16.1).
    pub text_path: Option<String>,
}

/// The first `cues_max` cues of a text in a language; long ones are cut.
pub fn first_cues(content: &[u8], kind: FileKind, language: &str, cues_max: usize) -> Vec<CueLook> {
    let beginning = &content[..content.len().min(LOOK_TEXT_BYTES_MAX)];
    let text = decode_text(beginning, language);
    let cues: Vec<CueLook> = match kind {
        FileKind::Ass | FileKind::Ssa => text.lines().filter_map(dialogue).collect(),
        FileKind::Zip | FileKind::Rar => Vec::new(),
        FileKind::Srt | FileKind::Sub if text.contains("-->") => timed_blocks(&text),
        // With a frame rate, the times are known, and its line is left out.
        FileKind::Srt | FileKind::Sub => match convert(&text, TextFormat::Srt) {
            Ok(timed) => timed_blocks(&timed),
            Err(_) => text.lines().filter_map(frames).collect(),
        },
    };
    cues.into_iter()
        .filter(|cue| !cue.text.is_empty())
        .take(cues_max)
        .map(|cue| CueLook {
            start: shortened(&cue.start, LOOK_START_CHARS_MAX),
            text: shortened(&cue.text, LOOK_CUE_CHARS_MAX),
        })
        .collect()
}

/// Blocks of a line with `-->` and the lines after it up to an empty one.
fn timed_blocks(text: &str) -> Vec<CueLook> {
    let mut cues = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((start, _)) = line.split_once("-->") else {
            continue;
        };
        let said = lines.by_ref().take_while(|line| !line.trim().is_empty());
        let said: Vec<String> = said.map(plain).collect();
        cues.push(CueLook {
            start: start.trim().to_owned(),
            text: said.join("\n").trim().to_owned(),
        });
    }
    cues
}

/// A line of `MicroDVD`, `{start}{end}text`, or of MPL2, `[start][end]text`.
fn frames(line: &str) -> Option<CueLook> {
    let rest = line.trim().strip_prefix(['{', '['])?;
    let (start, rest) = rest.split_once(['}', ']'])?;
    let (_, said) = rest.strip_prefix(['{', '['])?.split_once(['}', ']'])?;
    let is_frame = !start.is_empty() && start.bytes().all(|byte| byte.is_ascii_digit());
    if !is_frame {
        return None;
    }
    Some(CueLook {
        start: start.to_owned(),
        text: plain(&said.replace('|', "\n")).trim().to_owned(),
    })
}

/// A line of a script: `Dialogue: layer,start,end,style,name,l,r,v,effect,text`.
fn dialogue(line: &str) -> Option<CueLook> {
    let mut fields = line.strip_prefix("Dialogue:")?.splitn(10, ',');
    let start = fields.nth(1)?;
    let said = fields.nth(7)?;
    Some(CueLook {
        start: start.trim().to_owned(),
        text: plain(&said.replace("\\N", "\n").replace("\\n", "\n"))
            .trim()
            .to_owned(),
    })
}

/// A text without tags in angle brackets and braces.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['<', '{']) {
        let close = if rest[start..].starts_with('<') {
            '>'
        } else {
            '}'
        };
        let Some(length) = rest[start..].find(close) else {
            break;
        };
        out.push_str(&rest[..start]);
        rest = &rest[start + length + 1..];
    }
    out.push_str(rest);
    out
}

/// The names in a zip or rar archive; of any other content none. A long name is cut.
pub fn archive_names(content: &[u8], kind: FileKind) -> NamesLook {
    let Some(archive) = Archive::read(content, kind) else {
        return NamesLook::default();
    };
    let texts = archive_texts(&archive).unwrap_or_default();
    let texts: HashSet<usize> = texts.iter().map(|text| text.entry_idx).collect();
    let entries = archive.entries().iter().enumerate();
    let mut files = entries.filter(|(_, entry)| entry.kind == EntryKind::File);
    let shown = files.by_ref().take(LOOK_NAMES_MAX);
    let shown = shown.map(|(idx, entry)| NamedSize {
        name: shortened(&entry.path, LOOK_NAME_CHARS_MAX),
        size_bytes: entry.size_bytes,
        text_path: texts.contains(&idx).then(|| entry.path.clone()),
    });
    let shown = shown.collect();
    let has_more = archive.fault() == Some(ArchiveError::TooManyEntries);
    NamesLook {
        files: shown,
        is_cut: has_more || files.next().is_some(),
    }
}

/// The first `cues_max` cues of a text in an archive; `None` if there is no such text, and none if
/// it cannot be unpacked. Callers bound how many do so at once.
pub fn archive_cues(
    content: &[u8],
    kind: FileKind,
    path: &str,
    language: &str,
    cues_max: usize,
) -> Option<Vec<CueLook>> {
    let archive = Archive::read(content, kind)?;
    let texts = archive_texts(&archive).ok()?;
    let text = texts.iter().find(|text| text.path == path)?;
    let Ok(unpacked) = unpack_text(&archive, text.entry_idx) else {
        return Some(Vec::new());
    };
    let kind = named_kind(path).unwrap_or(FileKind::Srt);
    Some(first_cues(&unpacked, kind, language, cues_max))
}

/// A text for display: without control and bidi characters, and cut behind `chars_max`.
fn shortened(text: &str, chars_max: usize) -> String {
    let mut shown = text.chars().filter(|c| *c == '\n' || !is_removed(*c));
    let mut short: String = shown.by_ref().take(chars_max).collect();
    if shown.next().is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::archive::{Sample, rar4_of, rar5_of, zip_of};

    fn texts(content: &[u8], kind: FileKind) -> Vec<(String, String)> {
        let cues = first_cues(content, kind, "es", 20);
        cues.into_iter().map(|cue| (cue.start, cue.text)).collect()
    }

    fn check(content: &[u8], kind: FileKind, start: &str, text: &str) {
        assert_eq!(texts(content, kind)[0], (start.to_owned(), text.to_owned()));
    }

    #[test]
    fn cues_are_read_from_every_kind_of_text() {
        let srt = "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>¿Qué?</i>\r\n{\\an8}Nada.\r\n\r\n";
        let start = "00:00:01,000";
        check(srt.as_bytes(), FileKind::Srt, start, "¿Qué?\nNada.");
        check(
            format!("\u{FEFF}{srt}").as_bytes(),
            FileKind::Srt,
            start,
            "¿Qué?\nNada.",
        );
        let latin: Vec<u8> = srt.chars().map(|c| u8::try_from(c).unwrap()).collect();
        check(&latin, FileKind::Srt, start, "¿Qué?\nNada.");
        let wide: Vec<u8> = "\u{FEFF}"
            .encode_utf16()
            .chain(srt.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect();
        check(&wide, FileKind::Srt, start, "¿Qué?\nNada.");
        check(
            b"{1}{1}23.976\n{25}{50}Hola|{y:i}t\xFA",
            FileKind::Sub,
            "00:00:01,043",
            "Hola\ntú",
        );
        let sub = texts(b"{25}{50}Hola|{y:i}t\xFA \x85", FileKind::Sub);
        assert_eq!(sub[0].1, "Hola\ntú …");
        let ass = "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,{\\b1}Uno, dos\\Ntres\n";
        check(
            ass.as_bytes(),
            FileKind::Ass,
            "0:00:01.00",
            "Uno, dos\ntres",
        );
    }

    #[test]
    fn a_look_is_bounded_and_takes_what_there_is() {
        let cue = "1\n00:00:01,000 --> 00:00:02,000\nx\n\n";
        assert_eq!(
            texts(cue.repeat(50_000).as_bytes(), FileKind::Srt).len(),
            20
        );
        assert_eq!(texts(b"", FileKind::Srt).len(), 0);
        assert_eq!(texts(b"no cues here", FileKind::Srt).len(), 0);
        assert_eq!(
            texts("ñ".repeat(LOOK_TEXT_BYTES_MAX).as_bytes(), FileKind::Sub).len(),
            0
        );
    }

    fn names(content: &[u8], kind: FileKind) -> Vec<String> {
        let files = archive_names(content, kind).files;
        files.into_iter().map(|file| file.name).collect()
    }

    fn samples(names: &[String]) -> Vec<Sample<'_>> {
        let sample_of = |name| Sample {
            name,
            content: b"abc",
        };
        names
            .iter()
            .map(|name| sample_of(name.as_bytes()))
            .collect()
    }

    #[test]
    fn api_rule_16_5_an_archive_names_its_files() {
        let two = ["año/uno.srt".to_owned(), "dos.srt".to_owned()];
        let files = samples(&two);
        for (kind, content) in [
            (FileKind::Zip, zip_of(&files)),
            (FileKind::Rar, rar4_of(&files)),
            (FileKind::Rar, rar5_of(&files)),
        ] {
            assert_eq!(names(&content, kind), two);
            assert_eq!(archive_names(&content, kind).files[0].size_bytes, 3);
        }
        let many: Vec<String> = (0..=LOOK_NAMES_MAX).map(|it| it.to_string()).collect();
        let look = archive_names(&zip_of(&samples(&many)), FileKind::Zip);
        assert_eq!((look.files.len(), look.is_cut), (LOOK_NAMES_MAX, true));
    }

    #[test]
    fn api_rule_16_5_names_and_cues_are_cut_and_cleaned() {
        let quotes: Vec<String> = (0..=LOOK_NAMES_MAX)
            .map(|it| format!("{it}{}", "\"".repeat(5_000)))
            .collect();
        let look = archive_names(&zip_of(&samples(&quotes)), FileKind::Zip);
        for file in &look.files {
            assert_eq!(file.name.chars().count(), LOOK_NAME_CHARS_MAX + 1);
        }
        let turned = ["a\u{202E}txt.exe".to_owned()];
        assert_eq!(
            names(&zip_of(&samples(&turned)), FileKind::Zip),
            ["atxt.exe"]
        );
        let cue = format!("1\n00:00:01,000 --> 2\n{}\n", "\"".repeat(60_000));
        let shown = &texts(cue.as_bytes(), FileKind::Srt)[0].1;
        assert_eq!(shown.chars().count(), LOOK_CUE_CHARS_MAX + 1);
    }

    /// Names of 64 KiB. Each begins inside the one before it.
    #[test]
    fn api_rule_16_4_names_do_not_overlap() {
        let mut zip = vec![0; 100_000];
        for at in (0..50_000).step_by(46) {
            zip[at..at + 4].copy_from_slice(b"PK\x01\x02");
            zip[at + 28..at + 30].copy_from_slice(&30_000_u16.to_le_bytes());
        }
        let directory_bytes = (zip.len() as u32).to_le_bytes();
        zip.extend(b"PK\x05\x06\0\0\0\0\xFF\xFF\xFF\xFF");
        zip.extend(directory_bytes);
        zip.extend([0; 6]);
        let look = archive_names(&zip, FileKind::Zip);
        assert!(look.files.len() <= 4);
    }
}
