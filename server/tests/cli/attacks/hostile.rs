//! Hostile archives.

/// A rar of version 5 whose second header says that `2^64 - 4` bytes of data follow: a reader that
/// wraps is at the beginning again.
pub fn rar5_loop() -> Vec<u8> {
    let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
    rar.extend([0, 0, 0, 0, 4, 1, 0, 0, 0]);
    let mut head = vec![2, 2];
    head.extend([0xFC, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]);
    head.resize(90, 0);
    rar.extend(rar5_header(&head));
    rar.resize(180, 0);
    rar
}

/// 200 headers, each of which says that the rest of the file is its name.
pub fn rar5_overlap() -> Vec<u8> {
    const BYTES: usize = 1 << 20;
    let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
    for _ in 0..200 {
        let rest = u64::try_from(BYTES - rar.len() - 40).unwrap();
        let mut head = vec![2, 0, 0, 1, 0, 0, 0];
        head.extend(variable(rest));
        rar.extend(rar5_header(&head));
    }
    rar.resize(BYTES, b'"');
    rar
}

fn rar5_header(fields: &[u8]) -> Vec<u8> {
    let head = [&variable(fields.len() as u64), fields].concat();
    let mut crc = flate2::Crc::new();
    crc.update(&head);
    [&crc.sum().to_le_bytes()[..], &head].concat()
}

fn variable(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while 0x80 <= number {
        bytes.push((number & 0x7F) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

/// A zip archive of stored files.
pub fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut zip, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let size = (content.len() as u32).to_le_bytes();
        let mut shared = vec![20, 0, 0, 8, 0, 0, 0, 0, 0, 0];
        shared.extend(crc.sum().to_le_bytes());
        shared.extend([size, size].concat());
        shared.extend((name.len() as u16).to_le_bytes());
        shared.extend([0, 0]);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend((zip.len() as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        zip.extend(b"PK\x03\x04");
        zip.extend(shared);
        zip.extend(name.as_bytes());
        zip.extend(*content);
    }
    let start = (zip.len() as u32).to_le_bytes();
    let count = (files.len() as u16).to_le_bytes();
    zip.extend(&directory);
    zip.extend(b"PK\x05\x06\0\0\0\0");
    zip.extend([count, count].concat());
    zip.extend((directory.len() as u32).to_le_bytes());
    zip.extend(start);
    zip.extend([0, 0]);
    zip
}
