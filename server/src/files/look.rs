//! A look into a file: the first cues of a text, the names in an archive.
//!
//! Both read a bounded part of the content, and take whatever they find there: a damaged file shows
//! less, not an error.

use subcat_engine::FileKind;

use crate::limits::{LOOK_NAMES_MAX, LOOK_TEXT_BYTES_MAX};

/// A cue as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CueLook {
    /// Time or frame at which it appears, as the file writes it.
    pub start: String,
    /// Its lines, without tags.
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
    /// Its path in the archive.
    pub name: String,
    /// Its size when unpacked.
    pub size_bytes: u64,
}

/// The first `cues_max` cues of a text, decoded from its encoding.
pub fn first_cues(content: &[u8], kind: FileKind, cues_max: usize) -> Vec<CueLook> {
    let text = decoded(&content[..content.len().min(LOOK_TEXT_BYTES_MAX)]);
    let cues: Vec<CueLook> = match kind {
        FileKind::Ass | FileKind::Ssa => text.lines().filter_map(dialogue).collect(),
        FileKind::Zip | FileKind::Rar => Vec::new(),
        FileKind::Srt | FileKind::Sub if text.contains("-->") => timed_blocks(&text),
        FileKind::Srt | FileKind::Sub => text.lines().filter_map(frames).collect(),
    };
    cues.into_iter()
        .filter(|cue| !cue.text.is_empty())
        .take(cues_max)
        .collect()
}

/// The text of UTF-8, UTF-16, or, as subtitles in Spanish without a mark are, of Windows-1252.
fn decoded(content: &[u8]) -> String {
    if let [0xFF, 0xFE, rest @ ..] = content {
        return utf16(rest, u16::from_le_bytes);
    }
    if let [0xFE, 0xFF, rest @ ..] = content {
        return utf16(rest, u16::from_be_bytes);
    }
    let content = content.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(content);
    match std::str::from_utf8(content) {
        Ok(text) => text.to_owned(),
        // The bound may have cut the last character in two.
        Err(error) if error.error_len().is_none() => {
            String::from_utf8_lossy(&content[..error.valid_up_to()]).into_owned()
        }
        Err(_) => content.iter().map(|byte| windows_1252(*byte)).collect(),
    }
}

fn utf16(content: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = content.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// The character of a byte: Latin-1, but for the 32 in its middle.
fn windows_1252(byte: u8) -> char {
    const MIDDLE: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8D}', 'Ž',
        '\u{8F}', '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9D}',
        'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9F => MIDDLE[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
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

/// The names in a zip or rar archive; of any other content none.
pub fn archive_names(content: &[u8], kind: FileKind) -> NamesLook {
    let mut look = NamesLook::default();
    // `None` tells that the archive ended early: what was found until then is shown.
    let _ = match kind {
        FileKind::Zip => zip_names(content, &mut look),
        FileKind::Rar if content.starts_with(b"Rar!\x1A\x07\x00") => rar4_names(content, &mut look),
        FileKind::Rar => rar5_names(content, &mut look),
        _ => None,
    };
    look
}

impl NamesLook {
    /// Adds a file; `None` when the look is full.
    fn push(&mut self, name: &[u8], size_bytes: u64) -> Option<()> {
        if LOOK_NAMES_MAX <= self.files.len() {
            self.is_cut = true;
            return None;
        }
        let name = decoded(name);
        self.files.push(NamedSize { name, size_bytes });
        Some(())
    }
}

/// Bytes at a place; `None` beyond the end.
fn at<const N: usize>(content: &[u8], from: usize) -> Option<[u8; N]> {
    content.get(from..)?.first_chunk().copied()
}

fn u16_at(content: &[u8], from: usize) -> Option<usize> {
    at(content, from).map(|bytes| usize::from(u16::from_le_bytes(bytes)))
}

fn u32_at(content: &[u8], from: usize) -> Option<usize> {
    at(content, from).map(|bytes| u32::from_le_bytes(bytes) as usize)
}

/// Walks the central directory of a zip: the end record names its place, each entry its length.
fn zip_names(content: &[u8], look: &mut NamesLook) -> Option<()> {
    // The end record has 22 bytes and a comment of at most 65,535.
    let tail_start = content.len().saturating_sub(22 + 65_535);
    let tail = &content[tail_start..];
    let end = tail
        .windows(4)
        .rposition(|window| window == b"PK\x05\x06")?;
    let mut from = u32_at(tail, end + 16)?;
    for _ in 0..u16_at(tail, end + 10)? {
        if at(content, from)? != *b"PK\x01\x02" {
            return None;
        }
        let size_bytes = u32_at(content, from + 24)? as u64;
        let name_bytes = u16_at(content, from + 28)?;
        let rest_bytes = u16_at(content, from + 30)? + u16_at(content, from + 32)?;
        let name = content.get(from + 46..)?.get(..name_bytes)?;
        if !name.ends_with(b"/") {
            look.push(name, size_bytes)?;
        }
        from += 46 + name_bytes + rest_bytes;
    }
    Some(())
}

/// Walks the blocks of a rar archive of version 4: each tells its length and that of its data.
fn rar4_names(content: &[u8], look: &mut NamesLook) -> Option<()> {
    const FILE: u8 = 0x74;
    let mut from = 7;
    loop {
        let [kind] = at(content, from + 2)?;
        let flags = u16_at(content, from + 3)?;
        let head_bytes = u16_at(content, from + 5)?;
        let has_data = flags & 0x8000 != 0 || kind == FILE;
        let data_bytes = if has_data {
            u32_at(content, from + 7)?
        } else {
            0
        };
        let is_directory = flags & 0xE0 == 0xE0;
        if kind == FILE && !is_directory {
            let size_bytes = u32_at(content, from + 11)? as u64;
            let name_bytes = u16_at(content, from + 26)?;
            let name_from = from + if flags & 0x100 == 0 { 32 } else { 40 };
            let name = content.get(name_from..)?.get(..name_bytes)?;
            // With the Unicode flag the plain name ends at a zero and an encoded one follows.
            let plain_end = name.iter().position(|byte| *byte == 0);
            look.push(&name[..plain_end.unwrap_or(name.len())], size_bytes)?;
        }
        // A length of zero would walk in a circle.
        if head_bytes < 7 {
            return None;
        }
        from = from.checked_add(head_bytes)?.checked_add(data_bytes)?;
    }
}

/// Walks the headers of a rar archive of version 5, whose numbers have a variable length.
fn rar5_names(content: &[u8], look: &mut NamesLook) -> Option<()> {
    const FILE: u64 = 2;
    let mut from = 8;
    loop {
        let mut reader = VintReader {
            content,
            from: from + 4,
        };
        let head_bytes = usize::try_from(reader.next()?).ok()?;
        let head_from = reader.from;
        let (kind, flags) = (reader.next()?, reader.next()?);
        if flags & 1 != 0 {
            reader.next()?;
        }
        let data_bytes = if flags & 2 == 0 { 0 } else { reader.next()? };
        if kind == FILE {
            let file_flags = reader.next()?;
            let size_bytes = reader.next()?;
            reader.next()?;
            // The time and the checksum are there if the flags say so.
            reader.from += [2, 4]
                .map(|bit| usize::from(file_flags & bit != 0) * 4)
                .iter()
                .sum::<usize>();
            reader.next()?;
            reader.next()?;
            let name_bytes = usize::try_from(reader.next()?).ok()?;
            let name = content.get(reader.from..)?.get(..name_bytes)?;
            if file_flags & 1 == 0 {
                look.push(name, size_bytes)?;
            }
        }
        if head_bytes == 0 {
            return None;
        }
        let data_bytes = usize::try_from(data_bytes).ok()?;
        from = head_from.checked_add(head_bytes)?.checked_add(data_bytes)?;
    }
}

/// Numbers of seven bits a byte, the least significant first.
struct VintReader<'a> {
    content: &'a [u8],
    from: usize,
}

impl VintReader<'_> {
    fn next(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let [byte] = at(self.content, self.from)?;
            self.from += 1;
            number |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn texts(content: &[u8], kind: FileKind) -> Vec<(String, String)> {
        let cues = first_cues(content, kind, 20);
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
            "1",
            "23.976",
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

    fn zip_of(names: &[String]) -> Vec<u8> {
        let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for name in names {
            let options = zip::write::SimpleFileOptions::default();
            writer.start_file(name.as_str(), options).unwrap();
            writer.write_all(b"abc").unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn names(content: &[u8], kind: FileKind) -> Vec<String> {
        let files = archive_names(content, kind).files;
        files.into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_zip_names_its_files() {
        let two = ["año/uno.srt".to_owned(), "dos.srt".to_owned()];
        let zip = zip_of(&two);
        assert_eq!(names(&zip, FileKind::Zip), two);
        assert_eq!(archive_names(&zip, FileKind::Zip).files[0].size_bytes, 3);
        let many: Vec<String> = (0..=LOOK_NAMES_MAX).map(|it| it.to_string()).collect();
        let look = archive_names(&zip_of(&many), FileKind::Zip);
        assert_eq!((look.files.len(), look.is_cut), (LOOK_NAMES_MAX, true));
        for length in 0..zip.len() {
            names(&zip[..length], FileKind::Zip);
        }
    }

    fn rar4() -> Vec<u8> {
        let mut rar = b"Rar!\x1A\x07\x00".to_vec();
        rar.extend([0, 0, 0x73, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0]);
        for name in [&b"uno.srt"[..], &b"dos.srt\x00\x01\x02"[..]] {
            rar.extend([0, 0, 0x74, 0, 0x80]);
            rar.extend((32 + name.len() as u16).to_le_bytes());
            rar.extend(4_u32.to_le_bytes());
            rar.extend(9_u32.to_le_bytes());
            rar.extend([0; 11]);
            rar.extend((name.len() as u16).to_le_bytes());
            rar.extend([0; 4]);
            rar.extend(name);
            rar.extend(b"data");
        }
        rar
    }

    fn rar5() -> Vec<u8> {
        let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
        // The main header: kind 1, no flags.
        rar.extend([0, 0, 0, 0, 3, 1, 0, 0]);
        for name in [&b"uno.srt"[..], "año.srt".as_bytes()] {
            let mut head = vec![2, 2, 4, 4, 9, 0x20, 0, 0, 0, 0, 0, 1];
            head.push(name.len() as u8);
            head.extend(name);
            rar.extend([0, 0, 0, 0, head.len() as u8]);
            rar.extend(head);
            rar.extend(b"data");
        }
        rar
    }

    #[test]
    fn a_rar_of_either_version_names_its_files() {
        assert_eq!(names(&rar4(), FileKind::Rar), ["uno.srt", "dos.srt"]);
        assert_eq!(names(&rar5(), FileKind::Rar), ["uno.srt", "año.srt"]);
        for rar in [rar4(), rar5()] {
            for length in 0..rar.len() {
                names(&rar[..length], FileKind::Rar);
            }
            for idx in 0..rar.len() {
                for byte in [0, 0x7F, 0xFF] {
                    let mut damaged = rar.clone();
                    damaged[idx] = byte;
                    names(&damaged, FileKind::Rar);
                }
            }
        }
    }
}
