//! Rows of CSV, with the line of each. Rows without an end are distinguished from complete ones.

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use csv::{ByteRecord, Reader, ReaderBuilder, Terminator};

use crate::limits::{LINE_BYTES_MAX, ROW_SPAN_BYTES_MAX};

/// Read after the end of the file: a line end, and a row that cannot be a line of text.
///
/// A quote that is still open at the end of the file swallows both. The `csv` crate accepts the end
/// of the file as the end of such a row; the mark in its last cell reveals it.
const END_MARK: &[u8] = b"\n\0";
/// Bytes that some editors put before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// Reason to reject a row that only the end of the file ends.
const OPEN_QUOTE: &str = "opens a quote that is never closed";

/// Signs of a table in text.
#[derive(Debug, Clone, Copy)]
pub(super) struct CsvDialect {
    /// The sign between cells.
    pub(super) delimiter: u8,
    /// True if quotes hold cells together; else they are text.
    pub(super) has_quotes: bool,
}

impl CsvDialect {
    /// Commas and quotes.
    pub(super) const COMMAS: Self = Self {
        delimiter: b',',
        has_quotes: true,
    };
}

/// A row that was read.
pub(super) struct CsvRow {
    /// Line number, counted from 1; of a row that spans lines, the first.
    pub(super) line: u64,
    /// The reason why its cells do not count, if they do not.
    pub(super) refusal: Option<String>,
}

/// Reads rows one by one. The header is the first of them.
pub(super) struct CsvReader<'a> {
    reader: Reader<MarkedInput<'a>>,
    /// Bytes read since the current row began.
    row_bytes: Rc<Cell<usize>>,
    /// Bytes of the input so far, without the mark.
    input_bytes: Rc<Cell<u64>>,
    dialect: CsvDialect,
}

impl<'a> CsvReader<'a> {
    /// Rows of an input, without its byte order mark.
    pub(super) fn new(input: Box<dyn BufRead + 'a>, dialect: CsvDialect) -> Self {
        let row_bytes = Rc::default();
        let input_bytes = Rc::default();
        let marked = MarkedInput {
            input,
            is_begun: false,
            row_bytes: Rc::clone(&row_bytes),
            input_bytes: Rc::clone(&input_bytes),
            mark: END_MARK,
        };
        // With the crate's own terminator a row of a file with CR LF begins, for its line count, at
        // the LF before it; so LF ends rows here, and a CR before it is removed from the last cell.
        let reader = ReaderBuilder::new()
            .flexible(true)
            .has_headers(true)
            .delimiter(dialect.delimiter)
            .quoting(dialect.has_quotes)
            .terminator(Terminator::Any(b'\n'))
            .from_reader(marked);
        Self {
            reader,
            row_bytes,
            input_bytes,
            dialect,
        }
    }

    /// Returns true if quotes hold cells together.
    pub(super) fn has_quotes(&self) -> bool {
        self.dialect.has_quotes
    }

    /// The first row; none if there is no row at all. It must be read before others.
    pub(super) fn header(&mut self) -> io::Result<Option<ByteRecord>> {
        let header = self.reader.byte_headers().map_err(as_io)?.clone();
        if self.is_marked() {
            if is_end(&header) {
                return Ok(None);
            }
            return Err(bad(format!("the header {OPEN_QUOTE}")));
        }
        Ok(Some(header))
    }

    /// Reads the next row into `record`; none at the end. Blank lines are skipped.
    ///
    /// Errors: reading fails, or a row does not end.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> io::Result<Option<CsvRow>> {
        loop {
            self.row_bytes.set(0);
            let start = self.reader.position().clone();
            let is_read = self.reader.read_byte_record(record);
            let is_read = is_read.map_err(|error| with_line(&start, as_io(error)))?;
            let has_mark = self.is_marked();
            if !is_read || (has_mark && is_end(record)) {
                return Ok(None);
            }
            let start = record.position().unwrap_or(&start);
            let line = start.line();
            // The line end that the mark begins with may have ended the last row, too.
            let end = self.reader.position().byte().min(self.input_bytes.get());
            let row_bytes = end - start.byte();
            if record.len() == 1 && &record[0] == b"\r" {
                continue;
            }
            let is_long = LINE_BYTES_MAX as u64 + 1 < row_bytes;
            if is_long && has_mark {
                // Too much of the file is inside the quote to lose it as one bad row (API.md 13.4).
                return Err(bad(format!("line {line}: {OPEN_QUOTE}")));
            }
            let refusal = if is_long {
                Some(format!("longer than {LINE_BYTES_MAX} bytes"))
            } else if has_mark {
                Some(OPEN_QUOTE.to_owned())
            } else {
                None
            };
            return Ok(Some(CsvRow { line, refusal }));
        }
    }

    /// True if the row that was just read is the last and holds the mark.
    fn is_marked(&self) -> bool {
        self.reader.position().byte() == self.input_bytes.get() + END_MARK.len() as u64
    }
}

/// Returns true for the row of the mark.
fn is_end(record: &ByteRecord) -> bool {
    record.len() == 1 && record[0] == END_MARK[1..]
}

pub(super) fn bad(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The error with the line of the row that it is about.
fn with_line(start: &csv::Position, error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => bad(format!("line {}: {error}", start.line())),
        _ => error,
    }
}

fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => bad(format!("not CSV: {other:?}")),
    }
}

/// Appends [`END_MARK`] to the input, and fails when one row takes more than
/// [`ROW_SPAN_BYTES_MAX`].
struct MarkedInput<'a> {
    input: Box<dyn BufRead + 'a>,
    is_begun: bool,
    row_bytes: Rc<Cell<usize>>,
    input_bytes: Rc<Cell<u64>>,
    /// Rest of the mark that is still to be read.
    mark: &'static [u8],
}

impl Read for MarkedInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if ROW_SPAN_BYTES_MAX < self.row_bytes.get() {
            return Err(bad(format!(
                "a row of more than {ROW_SPAN_BYTES_MAX} bytes: is a quote left open?"
            )));
        }
        if !std::mem::replace(&mut self.is_begun, true)
            && self.input.fill_buf()?.starts_with(BYTE_ORDER_MARK)
        {
            self.input.consume(BYTE_ORDER_MARK.len());
        }
        let count = self.input.read(buffer)?;
        if count == 0 {
            return self.mark.read(buffer);
        }
        self.row_bytes.set(self.row_bytes.get() + count);
        self.input_bytes.set(self.input_bytes.get() + count as u64);
        Ok(count)
    }
}
