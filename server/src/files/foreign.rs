//! Names of file formats that are not subtitles, for the log: what came in place of a file.

/// First bytes of files, and the names of their formats. The first match counts.
const BEGINNINGS: [(&[u8], &str); 24] = [
    (b"\x1F\x8B", "gzip"),
    (b"7z\xBC\xAF\x27\x1C", "7z"),
    (b"BZh", "bzip2"),
    (b"\xFD7zXZ\x00", "xz"),
    (b"\x28\xB5\x2F\xFD", "zstd"),
    (b"\x04\x22\x4D\x18", "lz4"),
    (b"\x1A\x45\xDF\xA3", "Matroska"),
    (b"\x00\x00\x01\xBA", "MPEG"),
    (b"\x00\x00\x01\xB3", "MPEG"),
    (b"OggS", "Ogg"),
    (b"RIFF", "RIFF"),
    (b"ID3", "MP3"),
    (b"fLaC", "FLAC"),
    (b"%PDF-", "PDF"),
    (b"\x89PNG\r\n\x1A\n", "PNG"),
    (b"\xFF\xD8\xFF", "JPEG"),
    (b"GIF8", "GIF"),
    (b"MZ", "a Windows program"),
    (b"\x7FELF", "a Linux program"),
    (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an Office document"),
    (b"SQLite format 3\x00", "SQLite"),
    (b"-----BEGIN ", "PEM"),
    (b"!<arch>\n", "ar"),
    (b"{\\rtf", "RTF"),
];

/// Bytes of a packet of an MPEG transport stream, which begins with this one.
const TRANSPORT_PACKET_BYTES: usize = 188;
const TRANSPORT_MARK: u8 = 0x47;

/// The name of the format of `content`, in words for a log. `is_text` is true if it can be read as
/// text.
pub(super) fn name_of(content: &[u8], is_text: bool) -> &'static str {
    if content.is_empty() {
        return "nothing";
    }
    let known = BEGINNINGS
        .iter()
        .find(|(mark, _)| content.starts_with(mark));
    if let Some((_, name)) = known {
        return name;
    }
    if content.get(4..8) == Some(b"ftyp") {
        return "MP4";
    }
    if content.get(257..262) == Some(b"ustar") {
        return "tar";
    }
    let starts_packet = |at: usize| content.get(at) == Some(&TRANSPORT_MARK);
    if (0..3).all(|packet| starts_packet(packet * TRANSPORT_PACKET_BYTES)) {
        return "MPEG";
    }
    if is_text {
        "text without a subtitle's shape"
    } else {
        "binary data"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_has_a_name() {
        let mut transport = vec![0; 3 * TRANSPORT_PACKET_BYTES];
        transport
            .iter_mut()
            .step_by(TRANSPORT_PACKET_BYTES)
            .for_each(|byte| *byte = 0x47);
        for (content, expected) in [
            (&b""[..], "nothing"),
            (b"\x1F\x8B\x08\x00", "gzip"),
            (b"7z\xBC\xAF\x27\x1C\x00", "7z"),
            (b"\x00\x00\x01\xBA\x44", "MPEG"),
            (&transport, "MPEG"),
            (b"\x00\x00\x00\x20ftypisom", "MP4"),
            (b"MZ\x90", "a Windows program"),
            (b"\x01\x02\x03", "binary data"),
        ] {
            assert_eq!(name_of(content, false), expected);
        }
        assert_eq!(
            name_of(b"try again later", true),
            "text without a subtitle's shape"
        );
    }
}
