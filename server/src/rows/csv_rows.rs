//! Rows of a CSV file become drafts by the names in its header.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ReaderBuilder, Terminator};
use subcat_engine::{DraftValue, RecordDraft};

use super::fields::{field_idx, field_name, field_names, field_of};
use super::reading::{EachRow, LINE_BYTES_MAX, Row, RowFault};

/// Bytes of a file that one row may take until it is given up. A row of more than
/// [`LINE_BYTES_MAX`] is refused when it ends within these, and the rows after it are read; beyond
/// them a forgotten quote would read the rest of the file into memory (API.md 13.4).
const SPAN_BYTES_MAX: usize = 16 << 20;

/// Reads every row. An empty cell is no value; everything else is text.
///
/// Errors: what `each` returns, and what cannot be read at all: a header that names a field twice
/// or none of a record's, a row without end.
pub(super) fn read_csv<E: From<io::Error>>(
    input: &mut dyn BufRead,
    each: &mut EachRow<'_, E>,
) -> Result<(), E> {
    let row_bytes = Cell::new(0);
    let is_open_at_end = Cell::new(false);
    if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    let capped = CappedRead {
        input,
        row_bytes: &row_bytes,
        place: Place::CellStart,
        is_open_at_end: &is_open_at_end,
    };
    // With the crate's own terminator a row of a file with CR LF begins, for its line count, at
    // the LF before it; so LF ends rows here, and a CR before it is cut off the last cell.
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(capped);
    let header = reader.byte_headers().map_err(as_io)?;
    if is_open_at_end.get() {
        return Err(bad(format!("the header {OPEN_QUOTE}")).into());
    }
    let columns = columns_of(header)?;
    let mut record = ByteRecord::new();
    loop {
        row_bytes.set(0);
        let start = reader.position().clone();
        let is_read = reader.read_byte_record(&mut record);
        let is_read = is_read.map_err(|error| named(&start, as_io(error)))?;
        if !is_read {
            return Ok(());
        }
        let start = record.position().unwrap_or(&start);
        let (line, row_bytes) = (start.line(), reader.position().byte() - start.byte());
        if record.len() == 1 && &record[0] == b"\r" {
            continue;
        }
        let is_long = LINE_BYTES_MAX as u64 + 1 < row_bytes;
        let refused = |reason: String| RowFault {
            line,
            field: None,
            reason,
        };
        each(match (is_long, is_open_at_end.get()) {
            (false, false) => row_of(line, &record, &columns),
            (true, false) => Err(refused(format!("longer than {LINE_BYTES_MAX} bytes"))),
            (false, true) => Err(refused(OPEN_QUOTE.to_owned())),
            (true, true) => return Err(bad(format!("line {line}: {OPEN_QUOTE}")).into()),
        })?;
    }
}

/// What editors put before UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// What is wrong with a row that the end of the file ends.
const OPEN_QUOTE: &str = "opens a quote that nothing closes";

fn bad(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

/// The error with the line of the row that it is about.
fn named(start: &csv::Position, error: io::Error) -> io::Error {
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

/// For each column the field that it holds; the name of any other.
fn columns_of(header: &ByteRecord) -> io::Result<Vec<Option<usize>>> {
    let mut columns: Vec<Option<usize>> = Vec::new();
    for name in header {
        let idx = std::str::from_utf8(name)
            .ok()
            .and_then(|name| field_idx(name.trim()));
        if idx.is_some() && columns.contains(&idx) {
            let name = String::from_utf8_lossy(name);
            return Err(bad(format!(
                "the header names {name} twice: rename one column"
            )));
        }
        columns.push(idx);
    }
    if columns.iter().all(Option::is_none) && !columns.is_empty() {
        let names = field_names();
        return Err(bad(format!(
            "the header names no field of a record: they are {names}"
        )));
    }
    Ok(columns)
}

fn row_of<'a>(
    line: u64,
    record: &'a ByteRecord,
    columns: &[Option<usize>],
) -> Result<Row<'a>, RowFault> {
    let fault = |field, reason| RowFault {
        line,
        field,
        reason,
    };
    if record.len() != columns.len() {
        let (cells, names) = (record.len(), columns.len());
        let reason = format!("{cells} cells under a header of {names}: quote cells with commas");
        return Err(fault(None, reason));
    }
    let mut draft = RecordDraft::default();
    let mut ignored_fields = 0;
    let last_idx = columns.len().saturating_sub(1);
    for (cell_idx, (cell, column)) in record.iter().zip(columns).enumerate() {
        let end = if cell_idx == last_idx {
            cell.strip_suffix(b"\r")
        } else {
            None
        };
        let cell = end.unwrap_or(cell);
        let Some(idx) = *column else {
            ignored_fields += u64::from(!cell.is_empty());
            continue;
        };
        let text = std::str::from_utf8(cell)
            .map_err(|_| fault(Some(field_name(idx)), "not UTF-8".into()))?;
        if !text.is_empty() {
            *field_of(&mut draft, idx) = DraftValue::Cell(Cow::Borrowed(text));
        }
    }
    Ok(Row {
        line,
        draft,
        ignored_fields,
    })
}

/// Where in a row a byte stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    CellStart,
    Plain,
    Quoted,
    /// Behind a quote within a quoted cell: it ends the cell, or is the first of two.
    Closing,
}

impl Place {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Closing,
            (Self::Quoted, _) | (Self::CellStart | Self::Closing, b'"') => Self::Quoted,
            (_, b',' | b'\n') => Self::CellStart,
            _ => Self::Plain,
        }
    }
}

/// Fails when one row takes more than [`SPAN_BYTES_MAX`], and knows at the end whether a quote is
/// still open, which the reader of rows takes for its end.
struct CappedRead<'a> {
    input: &'a mut dyn BufRead,
    row_bytes: &'a Cell<usize>,
    place: Place,
    is_open_at_end: &'a Cell<bool>,
}

impl Read for CappedRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if SPAN_BYTES_MAX < self.row_bytes.get() {
            return Err(bad(format!(
                "a row of more than {SPAN_BYTES_MAX} bytes: is a quote open?"
            )));
        }
        let count = self.input.read(buffer)?;
        for byte in &buffer[..count] {
            self.place = self.place.after(*byte);
        }
        if count == 0 {
            self.is_open_at_end.set(self.place == Place::Quoted);
        }
        self.row_bytes.set(self.row_bytes.get() + count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: impl AsRef<[u8]>) -> io::Result<Vec<String>> {
        let mut seen = Vec::new();
        read_csv::<io::Error>(&mut text.as_ref(), &mut |row| {
            seen.push(match row {
                Ok(row) => format!(
                    "{} {:?} {:?} {}",
                    row.line, row.draft.title, row.draft.year, row.ignored_fields
                ),
                Err(fault) => fault.to_string(),
            });
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn rows_are_read_by_header() {
        let rows =
            read("\u{FEFF}year,studio,title\r\n\r\n1995,x,\"Heat, \"\"1\"\"\nb\"\r\n,,\"Up\"\r\n");
        let expected = [
            "3 Cell(\"Heat, \\\"1\\\"\\nb\") Cell(\"1995\") 1",
            "5 Cell(\"Up\") Absent 0",
        ];
        assert_eq!(rows.unwrap(), expected);
    }

    #[test]
    fn bad_rows_are_reported_and_the_others_read() {
        let rows = read(b"title,year\na,1,2\n\xFF,1\nc,3\n".as_slice()).unwrap();
        let expected = [
            "line 2: 3 cells under a header of 2: quote cells with commas",
            "line 3: title: not UTF-8",
            "4 Cell(\"c\") Cell(\"3\") 0",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_header_that_cannot_be_meant_is_refused() {
        let reason = |text: &str| read(text).unwrap_err().to_string();
        assert!(reason("title,year,title\n").contains("names title twice"));
        assert!(reason("a,b\n1,2\n").contains("names no field of a record: they are id,"));
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn a_row_too_long_is_refused_and_the_next_ones_read() {
        let long = "a\n".repeat(LINE_BYTES_MAX / 2);
        let text = format!("title,year\nb,1\n\"{long}\",2\n\"c\",3\n");
        let line = 4 + LINE_BYTES_MAX / 2;
        let expected = [
            "2 Cell(\"b\") Cell(\"1\") 0".to_owned(),
            "line 3: longer than 1048576 bytes".to_owned(),
            format!("{line} Cell(\"c\") Cell(\"3\") 0"),
        ];
        assert_eq!(read(text).unwrap(), expected);
        let fits = "a".repeat(LINE_BYTES_MAX - 2);
        let rows = read(format!("title,year\n{fits},1\n")).unwrap();
        assert!(rows[0].starts_with("2 Cell(\"aa"), "{}", &rows[0][..50]);
        let rows = read(format!("title,year\n{fits}a,1\n")).unwrap();
        assert_eq!(rows, ["line 2: longer than 1048576 bytes"]);
    }

    #[test]
    fn an_open_quote_is_told_with_its_line() {
        let rows = read("title,year\nb,1\n\"c,2\nd,3\n").unwrap();
        let expected = [
            "2 Cell(\"b\") Cell(\"1\") 0",
            "line 3: opens a quote that nothing closes",
        ];
        assert_eq!(rows, expected);
        let reason = |text: String| read(text).unwrap_err().to_string();
        let rest = "a\n".repeat(LINE_BYTES_MAX);
        assert_eq!(
            reason(format!("title\nb\n\"{rest}")),
            "line 3: opens a quote that nothing closes"
        );
        assert_eq!(
            reason("title,\"year\nb,1\n".into()),
            "the header opens a quote that nothing closes"
        );
        let rest = rest.repeat(9);
        assert_eq!(
            reason(format!("title\nb\n\"{rest}")),
            "line 3: a row of more than 16777216 bytes: is a quote open?"
        );
    }

    #[test]
    fn quotes_that_stand_for_themselves_open_nothing() {
        let text = "\u{FEFF}\"title\",year\r\n5\" disk,1\r\n\"a\"\"\",\"2\"\r\n\"b\"\"\",\"3\"";
        let expected = [
            "2 Cell(\"5\\\" disk\") Cell(\"1\") 0",
            "3 Cell(\"a\\\"\") Cell(\"2\") 0",
            "4 Cell(\"b\\\"\") Cell(\"3\") 0",
        ];
        assert_eq!(read(text).unwrap(), expected);
    }
}
