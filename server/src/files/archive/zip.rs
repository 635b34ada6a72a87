//! Zip archives: the central directory, and files that are stored or deflated.

use flate2::{Decompress, FlushDecompress, Status};

use super::entry::{ArchiveEntry, EntryKind, NamePage, clean_path, cut, name_text};
use super::error::ArchiveError;
use crate::files::little_endian::{array_at, u16_at, u32_at, u64_at};
use crate::limits::{ARCHIVE_ENTRIES_MAX, TEXT_BYTES_MAX};

/// Length of the end record without its comment.
const END_BYTES: usize = 22;
/// Length of an entry of the directory without its name, extra fields and comment.
const ENTRY_BYTES: usize = 46;
/// Length of the header before a file's data, without name and extra fields.
const LOCAL_BYTES: usize = 30;
/// A number that stands in the extra field of zip64 instead.
const IN_ZIP64: u64 = u32::MAX as u64;

/// Directory of a zip archive.
#[derive(Debug, Default)]
pub(super) struct ZipDirectory {
    pub(super) entries: Vec<ArchiveEntry>,
    places: Vec<ZipPlace>,
    /// Reason why the directory was not read to its end.
    pub(super) fault: Option<ArchiveError>,
}

/// Place of a file's data, and how to read it.
#[derive(Debug, Clone, Copy)]
struct ZipPlace {
    header_at: u64,
    packed_bytes: u64,
    size_bytes: u64,
    crc: u32,
    method: u16,
    is_encrypted: bool,
}

/// Place of the directory according to the end record.
struct End {
    directory_at: usize,
    entries_count: usize,
    /// Bytes before the archive, which its offsets do not count.
    base: usize,
}

impl ZipDirectory {
    /// Reads the directory as far as it can be read.
    pub(super) fn read(content: &[u8]) -> Self {
        let mut directory = Self::default();
        directory.fault = directory.walk(content).err();
        directory
    }

    fn walk(&mut self, content: &[u8]) -> Result<(), ArchiveError> {
        let end = find_end(content)?;
        let mut from = end.directory_at;
        for _ in 0..end.entries_count {
            if self.entries.len() == ARCHIVE_ENTRIES_MAX {
                return Err(ArchiveError::TooManyEntries);
            }
            let next = self.read_entry(content, from, end.base);
            from = next.ok_or(ArchiveError::Headers)?;
        }
        Ok(())
    }

    /// Reads the entry at a place, and returns the place of the next one, which is further on.
    fn read_entry(&mut self, content: &[u8], from: usize, base: usize) -> Option<usize> {
        if array_at(content, from)? != *b"PK\x01\x02" {
            return None;
        }
        let host = u16_at(content, from + 4)? >> 8;
        let name_bytes = usize::from(u16_at(content, from + 28)?);
        let extra_bytes = usize::from(u16_at(content, from + 30)?);
        let comment_bytes = usize::from(u16_at(content, from + 32)?);
        let name_from = from + ENTRY_BYTES;
        let extra_from = name_from + name_bytes;
        let name = content.get(name_from..extra_from)?;
        let extra = content.get(extra_from..extra_from + extra_bytes)?;
        let mut place = ZipPlace {
            header_at: u64::from(u32_at(content, from + 42)?),
            packed_bytes: u64::from(u32_at(content, from + 20)?),
            size_bytes: u64::from(u32_at(content, from + 24)?),
            crc: u32_at(content, from + 16)?,
            method: u16_at(content, from + 10)?,
            is_encrypted: u16_at(content, from + 8)? & 1 != 0,
        };
        place.take_zip64(extra)?;
        place.header_at = place.header_at.checked_add(base as u64)?;
        let is_directory = name.ends_with(b"/") || name.ends_with(b"\\");
        self.entries.push(ArchiveEntry {
            path: clean_path(&decoded_name(name, extra, host)),
            size_bytes: place.size_bytes,
            kind: if is_directory {
                EntryKind::Directory
            } else {
                EntryKind::File
            },
        });
        self.places.push(place);
        Some(extra_from + extra_bytes + comment_bytes)
    }

    /// Unpacks a file.
    pub(super) fn unpack(&self, content: &[u8], idx: usize) -> Result<Vec<u8>, ArchiveError> {
        let place = self.places.get(idx).ok_or(ArchiveError::Headers)?;
        if place.is_encrypted {
            return Err(ArchiveError::Encrypted);
        }
        if place.size_bytes > TEXT_BYTES_MAX {
            return Err(ArchiveError::OverBudget);
        }
        let packed = place.packed(content).ok_or(ArchiveError::Content)?;
        let size_bytes = usize::try_from(place.size_bytes).map_err(|_| ArchiveError::Content)?;
        let unpacked = match place.method {
            0 => packed.to_vec(),
            8 => inflate(packed, size_bytes)?,
            _ => return Err(ArchiveError::Method),
        };
        let is_whole = unpacked.len() == size_bytes && crc32fast::hash(&unpacked) == place.crc;
        if is_whole {
            Ok(unpacked)
        } else {
            Err(ArchiveError::Content)
        }
    }
}

impl ZipPlace {
    /// Replaces numbers that are in the extra field of zip64, in their order there.
    fn take_zip64(&mut self, extra: &[u8]) -> Option<()> {
        let is_zip64 = |number: u64| number == IN_ZIP64;
        let Some(field) = extra_field(extra, 1) else {
            return Some(());
        };
        let numbers = [
            &mut self.size_bytes,
            &mut self.packed_bytes,
            &mut self.header_at,
        ];
        let mut at = 0;
        for number in numbers {
            if is_zip64(*number) {
                *number = u64_at(field, at)?;
                at += 8;
            }
        }
        Some(())
    }

    /// The packed bytes, which follow the local header.
    fn packed<'a>(&self, content: &'a [u8]) -> Option<&'a [u8]> {
        let header_at = usize::try_from(self.header_at).ok()?;
        let packed_bytes = usize::try_from(self.packed_bytes).ok()?;
        let header = content.get(header_at..)?;
        if array_at(header, 0)? != *b"PK\x03\x04" {
            return None;
        }
        let name_bytes = usize::from(u16_at(header, 26)?);
        let extra_bytes = usize::from(u16_at(header, 28)?);
        let data = header.get(LOCAL_BYTES + name_bytes + extra_bytes..)?;
        data.get(..packed_bytes)
    }
}

/// Finds the last end record, and checks that the whole archive is here.
fn find_end(content: &[u8]) -> Result<End, ArchiveError> {
    let tail_start = content
        .len()
        .saturating_sub(END_BYTES + usize::from(u16::MAX));
    let tail = &content[tail_start..];
    let at = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let end_at = at.ok_or(ArchiveError::Headers)? + tail_start;
    let end = read_end(content, end_at).ok_or(ArchiveError::Headers)?;
    let [disk, directory_disk] = end.disks;
    if disk != 0 || directory_disk != 0 {
        return Err(ArchiveError::Volume);
    }
    let directory_end = end.directory_end;
    let start = directory_end.checked_sub(end.directory_bytes);
    let directory_at = start.ok_or(ArchiveError::Headers)?;
    let base = directory_at.checked_sub(end.directory_offset);
    Ok(End {
        directory_at,
        entries_count: end.entries_count,
        base: base.ok_or(ArchiveError::Headers)?,
    })
}

/// The fields of an end record.
struct EndRecord {
    disks: [u32; 2],
    entries_count: usize,
    directory_bytes: usize,
    directory_offset: usize,
    /// End of the directory: the beginning of the record that points to it.
    directory_end: usize,
}

fn read_end(content: &[u8], at: usize) -> Option<EndRecord> {
    let number = |from| u32_at(content, from).and_then(|number| usize::try_from(number).ok());
    let record = EndRecord {
        disks: [
            u32::from(u16_at(content, at + 4)?),
            u32::from(u16_at(content, at + 6)?),
        ],
        entries_count: usize::from(u16_at(content, at + 10)?),
        directory_bytes: number(at + 12)?,
        directory_offset: number(at + 16)?,
        directory_end: at,
    };
    u16_at(content, at + 20)?;
    Some(read_zip64_end(content, at).unwrap_or(record))
}

/// The end record of zip64, which a locator directly before the other one names.
fn read_zip64_end(content: &[u8], end_at: usize) -> Option<EndRecord> {
    let locator_at = end_at.checked_sub(20)?;
    if array_at(content, locator_at)? != *b"PK\x06\x07" {
        return None;
    }
    let number = |from| u64_at(content, from).and_then(|number| usize::try_from(number).ok());
    let at = locator_at.checked_sub(56)?;
    if array_at(content, at)? != *b"PK\x06\x06" {
        return None;
    }
    Some(EndRecord {
        disks: [u32_at(content, at + 16)?, u32_at(content, at + 20)?],
        entries_count: number(at + 32)?,
        directory_bytes: number(at + 40)?,
        directory_offset: number(at + 48)?,
        directory_end: at,
    })
}

/// The content of the first extra field with an id.
fn extra_field(extra: &[u8], id: u16) -> Option<&[u8]> {
    let mut rest = extra;
    loop {
        let field_id = u16_at(rest, 0)?;
        let bytes = usize::from(u16_at(rest, 2)?);
        let field = rest.get(4..4 + bytes)?;
        if field_id == id {
            return Some(field);
        }
        rest = &rest[4 + bytes..];
    }
}

/// The name of an entry: the Unicode path of Info-ZIP if it belongs to this name, else UTF-8, else
/// in the code page of the system that made the archive.
fn decoded_name(name: &[u8], extra: &[u8], host: u16) -> String {
    if let Some(unicode) = unicode_path(name, extra) {
        return unicode.to_owned();
    }
    let page = if matches!(host, 0 | 11) {
        NamePage::Dos
    } else {
        NamePage::Windows
    };
    name_text(name, page)
}

fn unicode_path<'a>(name: &[u8], extra: &'a [u8]) -> Option<&'a str> {
    let field = extra_field(extra, 0x7075)?;
    let is_version_1 = field.first() == Some(&1);
    if !is_version_1 || u32_at(field, 1)? != crc32fast::hash(name) {
        return None;
    }
    std::str::from_utf8(cut(&field[5..])).ok()
}

/// Inflates into a buffer of one byte more than the size that the header says.
fn inflate(packed: &[u8], size_bytes: usize) -> Result<Vec<u8>, ArchiveError> {
    let mut unpacked = Vec::with_capacity(size_bytes + 1);
    let mut inflater = Decompress::new(false);
    let status = inflater.decompress_vec(packed, &mut unpacked, FlushDecompress::Finish);
    match status {
        Ok(Status::StreamEnd) => Ok(unpacked),
        _ => Err(ArchiveError::Content),
    }
}
