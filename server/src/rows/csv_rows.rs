//! CSV: each row becomes a draft, by the names in the header.

use std::borrow::Cow;
use std::io::{self, BufRead};

use csv::{ByteRecord, ReaderBuilder};
use subcat_engine::{DraftValue, RecordDraft};

use super::csv_reader::{BYTE_ORDER_MARK, CsvDialect, CsvReader, CsvRow, bad};
use super::fields::{field_idx, field_name, field_names, field_of};
use super::row::{Row, RowReceiver, RowRejection};

/// Reads every row. An empty cell means that the field is absent; everything else is text.
///
/// Errors: those of `each`, and input that cannot be read at all: a header that names a field twice
/// or names no field of a record, a row that does not end.
pub(super) fn read_csv<E: From<io::Error>>(
    input: &mut dyn BufRead,
    each: &mut RowReceiver<'_, E>,
) -> Result<(), E> {
    let mut reader = CsvReader::new(Box::new(input), CsvDialect::COMMAS);
    let Some(header) = reader.header()? else {
        return Ok(());
    };
    let columns = columns_of(&header)?;
    let mut record = ByteRecord::new();
    while let Some(CsvRow { line, refusal }) = reader.next(&mut record)? {
        each(match refusal {
            None => row_of(line, &record, &columns, &header),
            Some(reason) => Err(RowRejection::of_line(line, reason)),
        })?;
    }
    Ok(())
}

/// Returns true for a line that names the required fields of a record: no row of a record does.
pub fn is_csv_header(line: &[u8]) -> bool {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(line);
    let mut record = ByteRecord::new();
    let is_read = reader.read_byte_record(&mut record).unwrap_or(false);
    let names = |name: &str| record.iter().any(|cell| cell == name.as_bytes());
    is_read && ["video_type", "title", "posted_at"].into_iter().all(names)
}

/// The field of each column; none if its name is not that of a field.
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
            "the header names no field of a record: the fields are {names}"
        )));
    }
    Ok(columns)
}

fn row_of<'a>(
    line: u64,
    record: &'a ByteRecord,
    columns: &[Option<usize>],
    header: &'a ByteRecord,
) -> Result<Row<'a>, RowRejection> {
    let rejection = |field, reason| RowRejection {
        line,
        field,
        reason,
    };
    if record.len() != columns.len() {
        let (cells, names) = (record.len(), columns.len());
        let reason = format!("{cells} cells under a header of {names}: quote cells with commas");
        return Err(rejection(None, reason));
    }
    let mut draft = RecordDraft::default();
    let mut ignored = Vec::new();
    for ((cell, column), name) in record.iter().zip(columns).zip(header) {
        let cell = cell.trim_ascii();
        let Some(idx) = *column else {
            if !cell.is_empty() {
                ignored.push(String::from_utf8_lossy(name.trim_ascii()));
            }
            continue;
        };
        let text = std::str::from_utf8(cell)
            .map_err(|_| rejection(Some(field_name(idx)), "not UTF-8".into()))?
            .trim();
        if !text.is_empty() {
            *field_of(&mut draft, idx) = DraftValue::Cell(Cow::Borrowed(text));
        }
    }
    Ok(Row {
        line,
        draft,
        ignored,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::LINE_BYTES_MAX;

    fn read(text: impl AsRef<[u8]>) -> io::Result<Vec<String>> {
        let mut seen = Vec::new();
        read_csv::<io::Error>(&mut text.as_ref(), &mut |row| {
            seen.push(match row {
                Ok(row) => format!(
                    "{} {:?} {:?} {}",
                    row.line,
                    row.draft.title,
                    row.draft.year,
                    row.ignored.join(" ")
                ),
                Err(rejection) => rejection.to_string(),
            });
            Ok(())
        })?;
        Ok(seen)
    }

    #[test]
    fn rows_are_read_by_header() {
        let rows = read(
            "\u{FEFF}year,studio,title\r\n\r\n1995 , x,\"Heat, \"\"1\"\"\nb\"\r\n,,\"Up\"\r\n",
        );
        let expected = [
            "3 Cell(\"Heat, \\\"1\\\"\\nb\") Cell(\"1995\") studio",
            "5 Cell(\"Up\") Absent ",
        ];
        assert_eq!(rows.unwrap(), expected);
    }

    #[test]
    fn bad_rows_are_reported_and_the_others_read() {
        let rows = read(b"title,year\na,1,2\n\xFF,1\nc,3\n".as_slice()).unwrap();
        let expected = [
            "line 2: 3 cells under a header of 2: quote cells with commas",
            "line 3: title: not UTF-8",
            "4 Cell(\"c\") Cell(\"3\") ",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_header_that_makes_no_sense_is_refused() {
        let reason = |text: &str| read(text).unwrap_err().to_string();
        assert!(reason("title,year,title\n").contains("names title twice"));
        assert!(reason("a,b\n1,2\n").contains("names no field of a record: the fields are id,"));
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn a_row_too_long_is_refused_and_the_next_ones_read() {
        let long = "a\n".repeat(LINE_BYTES_MAX / 2);
        let text = format!("title,year\nb,1\n\"{long}\",2\n\"c\",3\n");
        let line = 4 + LINE_BYTES_MAX / 2;
        let expected = [
            "2 Cell(\"b\") Cell(\"1\") ".to_owned(),
            "line 3: longer than 1048576 bytes".to_owned(),
            format!("{line} Cell(\"c\") Cell(\"3\") "),
        ];
        assert_eq!(read(text).unwrap(), expected);
        let fits = "a".repeat(LINE_BYTES_MAX - 2);
        let rows = read(format!("title,year\n{fits},1\n")).unwrap();
        assert!(rows[0].starts_with("2 Cell(\"aa"), "{}", &rows[0][..50]);
        let rows = read(format!("title,year\n{fits}a,1\n")).unwrap();
        assert_eq!(rows, ["line 2: longer than 1048576 bytes"]);
    }

    #[test]
    fn an_open_quote_is_reported_with_its_line() {
        let rows = read("title,year\nb,1\n\"c,2\nd,3\n").unwrap();
        let expected = [
            "2 Cell(\"b\") Cell(\"1\") ",
            "line 3: opens a quote that is never closed",
        ];
        assert_eq!(rows, expected);
        let reason = |text: String| read(text).unwrap_err().to_string();
        let rest = "a\n".repeat(LINE_BYTES_MAX);
        assert_eq!(
            reason(format!("title\nb\n\"{rest}")),
            "line 3: opens a quote that is never closed"
        );
        assert_eq!(
            reason("title,\"year\nb,1\n".into()),
            "the header opens a quote that is never closed"
        );
        let rest = rest.repeat(9);
        assert_eq!(
            reason(format!("title\nb\n\"{rest}")),
            "line 3: a row of more than 16777216 bytes: is a quote left open?"
        );
    }

    #[test]
    fn quotes_that_stand_for_themselves_open_nothing() {
        let text = "\u{FEFF}\"title\",year\r\n5\" disk,1\r\n\"a\"\"\",\"2\"\r\n\"b\"\"\",\"3\"";
        let expected = [
            "2 Cell(\"5\\\" disk\") Cell(\"1\") ",
            "3 Cell(\"a\\\"\") Cell(\"2\") ",
            "4 Cell(\"b\\\"\") Cell(\"3\") ",
        ];
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn the_end_of_a_file_is_recognised_in_every_form() {
        let row = |title: &str| format!("2 Cell({title:?}) Absent ");
        for text in [
            "title\nx",
            "title\nx\n",
            "title\nx\n\n",
            "title\r\nx\r\n",
            "title\n\"x\"",
        ] {
            assert_eq!(read(text).unwrap(), [row("x")], "{text:?}");
        }
        for text in ["title\n\"x\ny\"", "title\n\"x\ny\"\n"] {
            assert_eq!(read(text).unwrap(), [row("x\ny")], "{text:?}");
        }
        let open = ["line 2: opens a quote that is never closed"];
        for text in [
            "title\n\"",
            "title\n\"x\n",
            "title\n\"x\"\"",
            "title\n\"x\0",
        ] {
            assert_eq!(read(text).unwrap(), open, "{text:?}");
        }
        // A row that looks like the mark is a row.
        assert_eq!(read("title\n\0\n").unwrap(), [row("\0")]);
        assert_eq!(read("title\n\0").unwrap(), [row("\0")]);
        for text in ["\n", "\n\n", "title", "title\n", "\u{FEFF}"] {
            assert!(read(text).unwrap().is_empty(), "{text:?}");
        }
    }
}
