//! Archives for tests.

/// A zip archive of stored files.
pub fn zip_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in files {
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let size = (content.len() as u32).to_le_bytes();
        let mut shared = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
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
