//! Archives for tests: stored files, headers with the checksums that they need.

use std::io::Write;

/// A file of an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) content: &'a [u8],
}

/// A zip archive of deflated files.
pub(crate) fn zip_of(files: &[Sample<'_>]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for file in files {
        let options = zip::write::SimpleFileOptions::default();
        let name = std::str::from_utf8(file.name).unwrap();
        writer.start_file(name, options).unwrap();
        writer.write_all(file.content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A rar archive of version 4.
pub(crate) fn rar4_of(files: &[Sample<'_>]) -> Vec<u8> {
    let mut rar = b"Rar!\x1A\x07\x00".to_vec();
    rar.extend(rar4_head(0x73, 0, &[0; 6]));
    for file in files {
        let mut rest = Vec::new();
        let size = (file.content.len() as u32).to_le_bytes();
        rest.extend([size, size].concat());
        rest.push(0);
        rest.extend(crc32fast::hash(file.content).to_le_bytes());
        // Time, version 2.0, stored, then name and attributes.
        rest.extend([0, 0, 0, 0, 20, 0x30]);
        rest.extend((file.name.len() as u16).to_le_bytes());
        rest.extend([0; 4]);
        rest.extend(file.name);
        rar.extend(rar4_head(0x74, 0x8000, &rest));
        rar.extend(file.content);
    }
    rar.extend(rar4_head(0x7B, 0, &[]));
    rar
}

fn rar4_head(kind: u8, flags: u16, rest: &[u8]) -> Vec<u8> {
    let mut head = vec![kind];
    head.extend(flags.to_le_bytes());
    head.extend((7 + rest.len() as u16).to_le_bytes());
    head.extend(rest);
    let crc = crc32fast::hash(&head) as u16;
    [&crc.to_le_bytes()[..], &head].concat()
}

/// A rar archive of version 5.
pub(crate) fn rar5_of(files: &[Sample<'_>]) -> Vec<u8> {
    let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
    rar.extend(rar5_head(&[1, 0, 0]));
    for file in files {
        let size = vint(file.content.len() as u64);
        // A file with data and a checksum, stored, from Unix.
        let mut head = vec![2, 2];
        head.extend(&size);
        head.push(4);
        head.extend(&size);
        head.push(0);
        head.extend(crc32fast::hash(file.content).to_le_bytes());
        head.extend([0, 1]);
        head.extend(vint(file.name.len() as u64));
        head.extend(file.name);
        rar.extend(rar5_head(&head));
        rar.extend(file.content);
    }
    rar.extend(rar5_head(&[5, 0, 0]));
    rar
}

/// A header of RAR 5 with its length and checksum.
pub(crate) fn rar5_head(fields: &[u8]) -> Vec<u8> {
    let head = [&vint(fields.len() as u64), fields].concat();
    let crc = crc32fast::hash(&head);
    [&crc.to_le_bytes()[..], &head].concat()
}

/// A number of seven bits a byte, the least significant first.
pub(crate) fn vint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while 0x80 <= number {
        bytes.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
