//! Rows of a CSV file become drafts by the names in its header.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::{self, BufRead, Read};

use csv::{ByteRecord, ReaderBuilder, Terminator};
use subcat_engine::model::{DraftValue, RecordDraft};

use super::fields::{FIELD_NAMES, field_idx, field_of};
use super::reading::{EachRow, LINE_BYTES_MAX, Row, RowFault};

/// Reads every row. An empty cell is no value; everything else is text.
///
/// Errors: what `each` returns, and what cannot be read at all: a header that names a field twice
/// or none of a record's, a row without end.
pub(super) fn read_csv<E: From<io::Error>>(
    input: &mut dyn BufRead,
    each: &mut EachRow<'_, E>,
) -> Result<(), E> {
    let row_bytes = Cell::new(0);
    let capped = CappedRead {
        input,
        row_bytes: &row_bytes,
    };
    // With the crate's own terminator a row of a file with CR LF begins, for its line count, at
    // the LF before it; so LF ends rows here, and a CR before it is cut off the last cell.
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .terminator(Terminator::Any(b'\n'))
        .from_reader(capped);
    let header = reader.byte_headers().map_err(as_io)?;
    let columns = columns_of(header)?;
    let mut record = ByteRecord::new();
    loop {
        row_bytes.set(0);
        if !reader.read_byte_record(&mut record).map_err(as_io)? {
            return Ok(());
        }
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() == 1 && &record[0] == b"\r" {
            continue;
        }
        each(row_of(line, &record, &columns))?;
    }
}

fn as_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::new(io::ErrorKind::InvalidData, format!("not CSV: {other:?}")),
    }
}

/// For each column the field that it holds; the name of any other.
fn columns_of(header: &ByteRecord) -> io::Result<Vec<Option<usize>>> {
    let bad = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
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
        let names = FIELD_NAMES.join(", ");
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
            .map_err(|_| fault(Some(FIELD_NAMES[idx]), "not UTF-8".into()))?;
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

/// Fails when one row takes more than [`LINE_BYTES_MAX`]: a forgotten quote would otherwise read
/// the rest of the file into memory.
struct CappedRead<'a> {
    input: &'a mut dyn BufRead,
    row_bytes: &'a Cell<usize>,
}

impl Read for CappedRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if LINE_BYTES_MAX < self.row_bytes.get() {
            let reason = format!("a row of more than {LINE_BYTES_MAX} bytes: is a quote open?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        let count = self.input.read(buffer)?;
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
    fn an_open_quote_does_not_read_the_rest() {
        let text = format!("title\n\"{}", "a\n".repeat(LINE_BYTES_MAX));
        let reason = read(text).unwrap_err().to_string();
        assert!(reason.ends_with("is a quote open?"), "{reason}");
    }
}
