//! Completeness of a file of unknown length, by the end mark of its kind.

use crate::limits::ZIP_COMMENT_BYTES_MAX;

/// Completeness of a file, as far as its bytes show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// The end mark of the kind is there.
    Whole,
    /// The file stops before the end mark of its kind.
    Cut,
    /// The kind has no visible end: text, encrypted archives, and those of RAR 2.
    Unknown,
}

/// Bytes of a zip's end record without its comment.
const ZIP_END_BYTES: usize = 22;

/// The completeness of `content`. Cost: a few bytes for each block of a rar, up to 64 KB of a zip.
pub fn completeness(content: &[u8]) -> Completeness {
    if content.starts_with(b"PK") {
        return if has_zip_end(content) {
            Completeness::Whole
        } else {
            Completeness::Cut
        };
    }
    if let Some(blocks) = content.strip_prefix(b"Rar!\x1A\x07\x01\x00") {
        return walk(blocks, rar5_block);
    }
    if let Some(blocks) = content.strip_prefix(b"Rar!\x1A\x07\x00") {
        return walk(blocks, rar4_block);
    }
    Completeness::Unknown
}

/// Returns true if `content` has an end record with its comment and directory inside the file.
fn has_zip_end(content: &[u8]) -> bool {
    let from = content
        .len()
        .saturating_sub(ZIP_END_BYTES + ZIP_COMMENT_BYTES_MAX);
    let tail = &content[from..];
    let is_end = |(at, record): (usize, &[u8])| {
        let number = |at: usize| u64::from(little(&record[at..at + 4]));
        let comment = usize::from(record[20]) | usize::from(record[21]) << 8;
        let position = (from + at) as u64;
        // All ones stand for numbers that are in a record of zip64 before this one.
        let directory = match (number(12), number(16)) {
            (0xFFFF_FFFF, _) | (_, 0xFFFF_FFFF) => 0,
            (size, start) => start + size,
        };
        record.starts_with(b"PK\x05\x06")
            && at + ZIP_END_BYTES + comment <= tail.len()
            && directory <= position
    };
    tail.windows(ZIP_END_BYTES).enumerate().any(is_end)
}

/// A block of a rar.
enum RarBlock {
    /// The end of the archive.
    End,
    /// A block after which all blocks are encrypted.
    Opaque,
    /// A file as RAR 2 packs it, which takes this many bytes. RAR 3 stores files so, too.
    OldFile(u64),
    /// Another file.
    File(u64),
    /// One without a file.
    Other(u64),
}

/// Goes over the blocks of a rar, only forward.
fn walk(blocks: &[u8], read: fn(&[u8]) -> Option<RarBlock>) -> Completeness {
    let mut rest = blocks;
    let (mut has_old, mut has_new) = (false, false);
    while !rest.is_empty() {
        let bytes = match read(rest) {
            None => return Completeness::Cut,
            Some(RarBlock::End) => return Completeness::Whole,
            Some(RarBlock::Opaque) => return Completeness::Unknown,
            Some(RarBlock::OldFile(bytes)) => {
                has_old = true;
                bytes
            }
            Some(RarBlock::File(bytes)) => {
                has_new = true;
                bytes
            }
            Some(RarBlock::Other(bytes)) => bytes,
        };
        let block = usize::try_from(bytes).ok().filter(|bytes| *bytes != 0);
        let Some(after) = block.and_then(|bytes| rest.get(bytes..)) else {
            return Completeness::Cut;
        };
        rest = after;
    }
    // Only archives of RAR 2 have no end block. A newer one ends here because it was cut between
    // two blocks.
    if has_old && !has_new {
        Completeness::Unknown
    } else {
        Completeness::Cut
    }
}

/// A block of RAR 4: checksum (2), type (1), flags (2), size (2), and the size of what follows it
/// (4) if a flag says so; `None` if it is not all there.
fn rar4_block(block: &[u8]) -> Option<RarBlock> {
    const MAIN: u8 = 0x73;
    const FILE: u8 = 0x74;
    const SERVICE: u8 = 0x7A;
    const END: u8 = 0x7B;
    const IS_ENCRYPTED: u64 = 0x80;
    const HAS_HIGH_SIZE: u64 = 0x100;
    const HAS_DATA: u64 = 0x8000;
    /// Version of the packing from RAR 3 on, which ends its archives.
    const RAR_3: u8 = 29;
    let two = |at: usize| Some(u64::from(block[at]) | u64::from(*block.get(at + 1)?) << 8);
    let four = |at: usize| Some(u64::from(little(block.get(at..at + 4)?)));
    let kind = *block.get(2)?;
    block.get(6)?;
    let (flags, header_bytes) = (two(3)?, two(5)?);
    if header_bytes < 7 || (block.len() as u64) < header_bytes {
        return None;
    }
    let has_data = flags & HAS_DATA != 0 || matches!(kind, FILE | SERVICE);
    let mut data_bytes = if has_data { four(7)? } else { 0 };
    if matches!(kind, FILE | SERVICE) && flags & HAS_HIGH_SIZE != 0 {
        data_bytes |= four(32)? << 32;
    }
    Some(match kind {
        END => RarBlock::End,
        MAIN if flags & IS_ENCRYPTED != 0 => RarBlock::Opaque,
        FILE if *block.get(24)? < RAR_3 => RarBlock::OldFile(header_bytes.checked_add(data_bytes)?),
        FILE => RarBlock::File(header_bytes.checked_add(data_bytes)?),
        _ => RarBlock::Other(header_bytes.checked_add(data_bytes)?),
    })
}

/// A block of RAR 5: checksum (4), then numbers of 7 bits a byte: size of the header behind its own
/// size, type, flags, and as flags say the size of an extra area and that of what follows; `None`
/// if it is not all there.
fn rar5_block(block: &[u8]) -> Option<RarBlock> {
    const ENCRYPTION: u64 = 4;
    const END: u64 = 5;
    const HAS_EXTRA: u64 = 1;
    const HAS_DATA: u64 = 2;
    let mut at = 4;
    let header_bytes = variable(block, &mut at)?;
    let block_bytes = (at as u64).checked_add(header_bytes)?;
    if (block.len() as u64) < block_bytes {
        return None;
    }
    let kind = variable(block, &mut at)?;
    let flags = variable(block, &mut at)?;
    if flags & HAS_EXTRA != 0 {
        variable(block, &mut at)?;
    }
    let data_bytes = if flags & HAS_DATA != 0 {
        variable(block, &mut at)?
    } else {
        0
    };
    Some(match kind {
        END => RarBlock::End,
        ENCRYPTION => RarBlock::Opaque,
        _ => RarBlock::Other(block_bytes.checked_add(data_bytes)?),
    })
}

/// A number of up to ten bytes, seven bits in each, the lowest first.
fn variable(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        number |= u64::from(byte & 0x7F) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn little(four: &[u8]) -> u32 {
    four.iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Completeness::{Cut, Unknown, Whole};

    fn zip_of(comment: &str) -> Vec<u8> {
        let mut zip = b"PK\x03\x04".to_vec();
        zip.resize(100, b'x');
        zip.extend(b"PK\x01\x02");
        zip.resize(146, 0);
        zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
        zip.extend([46, 0, 0, 0, 100, 0, 0, 0]);
        let comment_bytes = u16::try_from(comment.len()).unwrap();
        zip.extend(comment_bytes.to_le_bytes());
        zip.extend(comment.as_bytes());
        zip
    }

    /// A file of `data` bytes and the end of the archive.
    fn rar4(data: u8, version: u8) -> Vec<u8> {
        let mut rar = b"Rar!\x1A\x07\x00".to_vec();
        rar.extend([0xCF, 0x90, 0x73, 0, 0, 13, 0, 0, 0, 0, 0, 0, 0]);
        let mut file = vec![0, 0, 0x74, 0x20, 0x90, 37, 0, data, 0, 0, 0];
        file.resize(37, 0);
        file[24] = version;
        rar.extend(file);
        rar.extend(vec![b'x'; usize::from(data)]);
        rar.extend([0xC4, 0x3D, 0x7B, 0, 0x40, 7, 0]);
        rar
    }

    fn rar5(data: u8) -> Vec<u8> {
        let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
        rar.extend([0, 0, 0, 0, 4, 1, 0, 0, 0]);
        rar.extend([0, 0, 0, 0, 5, 2, 2, data, b'a', b'b']);
        rar.extend(vec![b'x'; usize::from(data)]);
        rar.extend([0x1D, 0x77, 0x56, 0x51, 3, 5, 4, 0]);
        rar
    }

    #[test]
    fn an_archive_is_whole_with_its_end_and_cut_before() {
        for (archive, starts_at) in [
            (zip_of(""), 2),
            (zip_of(&"comment ".repeat(1_000)), 2),
            (rar4(100, 29), 8),
            (rar5(100), 9),
        ] {
            assert_eq!(completeness(&archive), Whole);
            for end in starts_at..archive.len() {
                let cut = completeness(&archive[..end]);
                assert_eq!(cut, Cut, "{end} of {} bytes", archive.len());
            }
            let mut padded = archive.clone();
            padded.extend([0; 100]);
            assert_eq!(completeness(&padded), Whole);
        }
    }

    /// An archive of RAR 2 has no end block: between two files it is neither whole nor cut.
    #[test]
    fn an_archive_of_rar_2_may_end_behind_a_file() {
        const END_BYTES: usize = 7;
        let whole = rar4(100, 20);
        assert_eq!(completeness(&whole), Whole);
        let behind_file = whole.len() - END_BYTES;
        for end in 8..whole.len() {
            let expected = if end == behind_file { Unknown } else { Cut };
            assert_eq!(completeness(&whole[..end]), expected, "{end}");
        }
        // Another file, as RAR 3 packs it, is of an archive that has an end.
        let mut mixed = whole[..behind_file].to_vec();
        mixed.extend(&rar4(100, 29)[20..behind_file]);
        assert_eq!(completeness(&mixed), Cut);
        mixed.extend(&whole[behind_file..]);
        assert_eq!(completeness(&mixed), Whole);
    }

    #[test]
    fn other_ends_are_not_seen() {
        assert_eq!(
            completeness(b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n"),
            Unknown
        );
        assert_eq!(completeness(b""), Unknown);
        // Encrypted headers.
        let mut encrypted = b"Rar!\x1A\x07\x01\x00".to_vec();
        encrypted.extend([0, 0, 0, 0, 3, 4, 0, 0, 0xFF, 0xFF]);
        assert_eq!(completeness(&encrypted), Unknown);
        // An end mark in the middle of a file, with a directory that would lie behind it.
        let mut zip = zip_of("");
        let end = zip.len() - ZIP_END_BYTES;
        zip[end + 16..end + 20].copy_from_slice(&[0xFE; 4]);
        assert_eq!(completeness(&zip), Cut);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(
            mark in prop::sample::select(vec![
                &b"PK"[..], b"Rar!\x1A\x07\x00", b"Rar!\x1A\x07\x01\x00", b""
            ]),
            bytes in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            completeness(&[mark, &bytes].concat());
        }
    }
}
