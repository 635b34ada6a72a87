//! Files of rows: unpacked, split, numbered.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::csv_reader::BYTE_ORDER_MARK;
use super::csv_rows::read_csv;
use super::json_rows::read_line;
use super::row::{RowReceiver, RowRejection};
use crate::limits::{LINE_BYTES_MAX, READ_BUFFER_BYTES};

/// Format of a file of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// One JSON object a line.
    Jsonl,
    /// A header of field names, then rows.
    Csv,
    /// A foreign table as JSON lines. A line that is a string is the reason why its row is refused.
    Converted,
}

impl Format {
    /// The format of a file by its name: CSV for `.csv`, compressed or not, else JSON lines.
    pub fn of_name(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let uncompressed = lower
            .strip_suffix(".gz")
            .or_else(|| lower.strip_suffix(".zst"));
        if uncompressed.unwrap_or(&lower).ends_with(".csv") {
            Self::Csv
        } else {
            Self::Jsonl
        }
    }
}

/// The input, decompressed if its first bytes are those of gzip or zstd.
pub fn unpacked<'a>(mut input: Box<dyn Read + 'a>) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut magic = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut magic)?;
    let is_gzip = magic.starts_with(&[0x1F, 0x8B]);
    let is_zstd = magic == [0x28, 0xB5, 0x2F, 0xFD];
    let whole = BufReader::with_capacity(READ_BUFFER_BYTES, Cursor::new(magic).chain(input));
    if is_gzip {
        let plain = MultiGzDecoder::new(whole);
        return Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, plain)));
    }
    if is_zstd {
        return zstd_unpacked(whole);
    }
    Ok(Box::new(whole))
}

#[cfg(feature = "zstd")]
fn zstd_unpacked<'a>(packed: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let plain = zstd::Decoder::with_buffer(packed)?;
    Ok(Box::new(BufReader::with_capacity(READ_BUFFER_BYTES, plain)))
}

#[cfg(not(feature = "zstd"))]
fn zstd_unpacked<'a>(_: impl BufRead + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    Err(io::Error::other(
        "compressed by zstd, and this program was built without the feature `zstd`: decompress it \
         first",
    ))
}

/// Calls `each` with every row, or with its rejection, in order. Blank lines are skipped.
///
/// Errors: reading fails, or `each` does.
pub fn read_rows<E: From<io::Error>>(
    input: &mut dyn BufRead,
    format: Format,
    each: &mut RowReceiver<'_, E>,
) -> Result<(), E> {
    match format {
        Format::Jsonl | Format::Converted => read_lines(input, LineNumbers::of(format, 1), each),
        Format::Csv => read_csv(input, each),
    }
}

/// Lines of a file that are read together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineNumbers {
    /// Line number of the first one, from 1.
    pub(super) first: u64,
    /// True if a line that is a text is the reason why its row is refused.
    pub(super) has_reasons: bool,
}

impl LineNumbers {
    /// Lines of this format, from this number on.
    pub(super) fn of(format: Format, first: u64) -> Self {
        Self {
            first,
            has_reasons: format == Format::Converted,
        }
    }
}

/// Calls `each` with every row of JSON lines.
pub(super) fn read_lines<E: From<io::Error>>(
    input: &mut dyn BufRead,
    lines: LineNumbers,
    each: &mut RowReceiver<'_, E>,
) -> Result<(), E> {
    let mut buffer = Vec::new();
    for line_number in lines.first.. {
        buffer.clear();
        if !append_line(input, &mut buffer)? {
            return Ok(());
        }
        if LINE_BYTES_MAX + 1 < buffer.len() {
            let reason = format!("longer than {LINE_BYTES_MAX} bytes");
            each(Err(RowRejection::of_line(line_number, reason)))?;
            continue;
        }
        let line = match line_number {
            1 => buffer.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&buffer),
            _ => &buffer,
        };
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let reason = if lines.has_reasons && line[0] == b'"' {
            serde_json::from_slice(line).ok()
        } else {
            None
        };
        each(match reason {
            Some(reason) => Err(RowRejection::of_line(line_number, reason)),
            None => read_line(line_number, line),
        })?;
    }
    Ok(())
}

/// The next line with its line end; empty at the end of the input. A line that is too long for a
/// record is shortened to a length that is still refused.
pub fn next_line(input: &mut dyn BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    append_line(input, &mut line)?;
    Ok(line)
}

/// Appends the next line in the same way. Returns false at the end of the input.
pub(super) fn append_line(input: &mut dyn BufRead, text: &mut Vec<u8>) -> io::Result<bool> {
    // One byte more than a line may have, so that one that is too long is recognised without being
    // read into memory.
    let cap = LINE_BYTES_MAX as u64 + 1;
    let count = (&mut *input).take(cap).read_until(b'\n', text)?;
    if LINE_BYTES_MAX < count && text.last() != Some(&b'\n') {
        skip_line(input)?;
        text.push(b'\n');
    }
    Ok(count != 0)
}

/// Reads and discards the rest of a line.
fn skip_line(input: &mut dyn BufRead) -> io::Result<()> {
    loop {
        let available = input.fill_buf()?;
        if available.is_empty() {
            return Ok(());
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(available.len(), |idx| idx + 1);
        input.consume(count);
        if end.is_some() {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        let mut seen = Vec::new();
        let mut input = unpacked(Box::new(Cursor::new(text.to_vec()))).unwrap();
        read_rows::<io::Error>(&mut input, Format::Jsonl, &mut |row| {
            seen.push(match row {
                Ok(row) => format!("{} {:?}", row.line, row.draft.year),
                Err(rejection) => rejection.to_string(),
            });
            Ok(())
        })
        .unwrap();
        seen
    }

    const LINES: &[u8] = b"\xEF\xBB\xBF{\"year\":1}\r\n\n  \n{\"year\":2}\nx\n{\"year\":3}";

    const SEEN: [&str; 4] = [
        "1 Integer(1)",
        "4 Integer(2)",
        "line 5: not JSON: expected value at column 1",
        "6 Integer(3)",
    ];

    #[test]
    fn blank_lines_and_a_byte_order_mark_are_counted() {
        assert_eq!(read(LINES), SEEN);
        assert!(read(b"").is_empty());
    }

    #[test]
    fn reasons_stand_among_the_lines_of_a_converted_table() {
        let mut seen = Vec::new();
        let mut text = &b"{}\n\n\"episode: 5-6\"\n"[..];
        read_rows::<io::Error>(&mut text, Format::Converted, &mut |row| {
            seen.push(
                row.map(|row| row.line)
                    .map_err(|rejection| rejection.to_string()),
            );
            Ok(())
        })
        .unwrap();
        assert_eq!(seen, [Ok(1), Err("line 3: episode: 5-6".to_owned())]);
    }

    #[test]
    #[cfg(feature = "zstd")]
    fn gzip_and_zstd_are_recognised_by_their_first_bytes() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(LINES).unwrap();
        assert_eq!(read(&gzip.finish().unwrap()), SEEN);
        assert_eq!(read(&zstd::encode_all(LINES, 1).unwrap()), SEEN);
    }

    #[test]
    fn a_line_too_long_is_refused_and_the_next_one_read() {
        let mut text = vec![b' '; LINE_BYTES_MAX + 1];
        text.extend_from_slice(b"{}\n{\"year\":2}\n");
        assert_eq!(
            read(&text),
            ["line 1: longer than 1048576 bytes", "2 Integer(2)"]
        );
        let mut text = vec![b' '; LINE_BYTES_MAX];
        text.extend_from_slice(b"\n{\"year\":2}");
        assert_eq!(read(&text), ["2 Integer(2)"]);
        let text = vec![b'x'; 3 * LINE_BYTES_MAX];
        assert_eq!(read(&text), ["line 1: longer than 1048576 bytes"]);
        let text = [&text, &b"\n{\"year\":2}"[..]].concat();
        let mut input = &*text;
        let lines: Vec<Vec<u8>> = (0..3).map(|_| next_line(&mut input).unwrap()).collect();
        assert_eq!(read(&lines[0]), ["line 1: longer than 1048576 bytes"]);
        assert_eq!(lines[1], b"{\"year\":2}");
        assert!(lines[2].is_empty());
    }

    #[test]
    fn a_format_follows_from_the_name() {
        assert_eq!(Format::of_name("a.CSV"), Format::Csv);
        assert_eq!(Format::of_name("a.csv.gz"), Format::Csv);
        assert_eq!(Format::of_name("a.csv.zst"), Format::Csv);
        assert_eq!(Format::of_name("a.jsonl.gz"), Format::Jsonl);
        assert_eq!(Format::of_name("csv"), Format::Jsonl);
        assert_eq!(Format::of_name("-"), Format::Jsonl);
    }
}
