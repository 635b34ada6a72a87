//! Several files in one body: each is a header, frames of bytes, and an empty frame.
//!
//! ```text
//! file   := frame(JSON) frame(bytes)* frame()
//! frame  := length: u32, big endian | bytes
//! ```
//! A body that ends inside a file is truncated: the reader fails, and the import with it.

use std::io::{self, BufRead, BufReader, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits::FRAME_BYTES_MAX;
use crate::rows::Format;

/// The first frame of a file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileHeader {
    name: String,
    format: Format,
}

/// The first frame of a file that is brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BroughtHeader {
    /// Identifier of the file in records.
    pub(super) release: String,
    /// Extension of its kind.
    pub(super) kind: String,
}

/// Writes files as frames.
pub struct ImportFrameWriter<W: Write> {
    output: W,
}

impl<W: Write> ImportFrameWriter<W> {
    /// A writer of frames to `output`.
    pub fn new(output: W) -> Self {
        Self { output }
    }

    /// Writes one file. Errors: reading `input` fails, or writing the output.
    pub fn write_file(
        &mut self,
        name: &str,
        format: Format,
        input: &mut dyn BufRead,
    ) -> io::Result<()> {
        let header = FileHeader {
            name: name.to_owned(),
            format,
        };
        self.write_content(&header, input)
    }

    /// Writes the content of a file behind its header.
    pub(super) fn write_content(
        &mut self,
        header: &impl Serialize,
        input: &mut dyn BufRead,
    ) -> io::Result<()> {
        self.write_frame(&serde_json::to_vec(header)?)?;
        loop {
            let available = input.fill_buf()?;
            if available.is_empty() {
                return self.write_frame(&[]);
            }
            let count = available.len().min(FRAME_BYTES_MAX);
            self.write_frame(&available[..count])?;
            input.consume(count);
        }
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    fn write_frame(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).expect("a frame is at most 256 KiB");
        let mut frame = Vec::with_capacity(4 + bytes.len());
        frame.extend_from_slice(&length.to_be_bytes());
        frame.extend_from_slice(bytes);
        self.output.write_all(&frame)
    }
}

/// Reads files from frames.
pub(super) struct FrameReader<R: Read> {
    input: R,
}

impl<R: Read> FrameReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input }
    }

    /// The next file, or `None` at the end of the body.
    pub(super) fn next_file(&mut self) -> io::Result<Option<FramedFile<'_, R>>> {
        let Some(header) = self.read_header::<FileHeader>()? else {
            return Ok(None);
        };
        let frames = FileRead {
            input: &mut self.input,
            rest_bytes: 0,
            is_over: false,
        };
        Ok(Some(FramedFile {
            name: header.name,
            format: header.format,
            content: BufReader::with_capacity(FRAME_BYTES_MAX, frames),
        }))
    }

    /// The next file that is brought, as header and content, or `None` at the end of the body.
    ///
    /// Errors: the content is longer than `bytes_max`.
    pub(super) fn next_brought(
        &mut self,
        bytes_max: usize,
    ) -> io::Result<Option<(BroughtHeader, Vec<u8>)>> {
        let Some(header) = self.read_header::<BroughtHeader>()? else {
            return Ok(None);
        };
        let mut frames = FileRead {
            input: &mut self.input,
            rest_bytes: 0,
            is_over: false,
        };
        let mut content = Vec::new();
        let cap = bytes_max as u64 + 1;
        (&mut frames).take(cap).read_to_end(&mut content)?;
        if bytes_max < content.len() {
            let reason = "a file that is brought is too long";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        Ok(Some((header, content)))
    }

    fn read_header<H: DeserializeOwned>(&mut self) -> io::Result<Option<H>> {
        let mut length = [0; 4];
        if self.input.read(&mut length[..1])? == 0 {
            return Ok(None);
        }
        self.input.read_exact(&mut length[1..])?;
        let mut header = vec![0; frame_bytes(length)?];
        self.input.read_exact(&mut header)?;
        Ok(Some(serde_json::from_slice(&header)?))
    }
}

/// A file in a body. Its content must be read to the end before the next file.
pub(super) struct FramedFile<'a, R: Read> {
    pub(super) name: String,
    pub(super) format: Format,
    pub(super) content: BufReader<FileRead<'a, R>>,
}

/// The frames of one file as a stream of bytes.
pub(super) struct FileRead<'a, R: Read> {
    input: &'a mut R,
    /// Bytes of the current frame that are still to be read.
    rest_bytes: usize,
    /// True after the empty frame that ends the file.
    is_over: bool,
}

impl<R: Read> Read for FileRead<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest_bytes == 0 && !self.is_over {
            let mut length = [0; 4];
            self.input.read_exact(&mut length)?;
            self.rest_bytes = frame_bytes(length)?;
            self.is_over = self.rest_bytes == 0;
        }
        if self.is_over {
            return Ok(0);
        }
        let count_max = buffer.len().min(self.rest_bytes);
        let count = self.input.read(&mut buffer[..count_max])?;
        if count == 0 && count_max != 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.rest_bytes -= count;
        Ok(count)
    }
}

fn frame_bytes(length: [u8; 4]) -> io::Result<usize> {
    let bytes = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if FRAME_BYTES_MAX < bytes {
        let reason = "a frame of an import is too long: subcat did not write this body";
        return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_files() -> Vec<u8> {
        let mut body = Vec::new();
        let mut writer = ImportFrameWriter::new(&mut body);
        let long = vec![b'x'; FRAME_BYTES_MAX + 1];
        writer
            .write_file("a", Format::Jsonl, &mut long.as_slice())
            .unwrap();
        writer
            .write_file("b.csv", Format::Csv, &mut b"".as_slice())
            .unwrap();
        body
    }

    fn read(body: &[u8]) -> io::Result<Vec<(String, Format, usize)>> {
        let mut reader = FrameReader::new(body);
        let mut files = Vec::new();
        while let Some(mut file) = reader.next_file()? {
            let mut content = Vec::new();
            file.content.read_to_end(&mut content)?;
            files.push((file.name, file.format, content.len()));
        }
        Ok(files)
    }

    #[test]
    fn files_come_out_as_they_went_in() {
        let expected = [
            ("a".to_owned(), Format::Jsonl, FRAME_BYTES_MAX + 1),
            ("b.csv".to_owned(), Format::Csv, 0),
        ];
        assert_eq!(read(&two_files()).unwrap(), expected);
        assert!(read(b"").unwrap().is_empty());
    }

    #[test]
    fn a_truncated_body_is_an_error_wherever_it_ends() {
        let body = two_files();
        let first_end = body.len() - (4 + 31 + 4);
        for cut in (1..body.len())
            .step_by(997)
            .chain(body.len() - 60..body.len())
        {
            let is_between_files = cut == first_end;
            assert_eq!(read(&body[..cut]).is_ok(), is_between_files, "{cut}");
        }
        assert!(read(b"\xFF\xFF\xFF\xFF").is_err());
    }
}
