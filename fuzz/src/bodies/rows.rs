//! Lines of import files.

use std::io;

use serde_json::Value;
use subcat_server::rows::{Format, read_line, read_rows, write_record};

use crate::choices::Choices;
use crate::records::{draft, record};

/// A line is a draft only if it is a JSON object in UTF-8, and an object is a draft unless it
/// names a field twice.
pub fn json_row(data: &[u8]) {
    let row = read_line(1, data);
    if row.is_ok() {
        let text = str::from_utf8(data).expect("a draft was UTF-8");
        assert!(text.trim_start().starts_with('{'), "{text:?}");
        assert!(text.trim_end().ends_with('}'), "{text:?}");
    }
    if let (Ok(Value::Object(_)), Err(fault)) = (serde_json::from_slice(data), &row) {
        assert!(fault.field.is_some(), "{fault:?}");
    }
}

/// Rows of any file come in order; none is skipped without a word.
pub fn csv_rows(data: &[u8]) {
    for format in [Format::Csv, Format::Jsonl] {
        let mut last_line = 0;
        let outcome: io::Result<()> = read_rows(&mut &data[..], format, &mut |row| {
            let line = match row {
                Ok(row) => row.line,
                Err(fault) => fault.line,
            };
            assert!(last_line <= line, "line {line} after {last_line}");
            last_line = line;
            Ok(())
        });
        // A CSV file whose header names no field is refused; memory never fails to read.
        let is_refused = outcome.is_err_and(|error| error.kind() == io::ErrorKind::InvalidData);
        assert!(!is_refused || format == Format::Csv);
    }
}

/// A record that is written as a line is read back as it was.
pub fn record_row(data: &[u8]) {
    let record = record(&mut Choices::from_bytes(data));
    let mut line = Vec::new();
    write_record(&record, &mut line);
    let row = read_line(1, line.trim_ascii_end()).expect("what was written can be read");
    assert_eq!(row.draft, draft(&record));
    assert!(row.ignored.is_empty());
}
