//! Tables with a sign between cells: tab, `;`, `|`, `,`.

use std::io::{self, BufRead};

use csv::ByteRecord;

use super::row::{Next, RowSource, TableRow};
use super::text::{as_windows_1252, decoded};
use crate::rows::csv_reader::{CsvDialect, CsvReader};

/// Column that cells too many belong to: OpenSubtitles writes tabs in it.
const SPLIT_COLUMN: &str = "MovieReleaseName";

/// Rows of a table with the column names in its first row.
pub(super) struct DelimitedRows<'a> {
    reader: CsvReader<'a>,
    record: ByteRecord,
    is_begun: bool,
    /// Index of the column that takes cells too many.
    split_idx: Option<usize>,
}

impl<'a> DelimitedRows<'a> {
    /// Rows with this sign between cells. With tabs, quotes are text.
    pub(super) fn new(input: Box<dyn BufRead + 'a>, delimiter: u8) -> Self {
        let dialect = CsvDialect {
            delimiter,
            has_quotes: delimiter != b'\t',
        };
        Self {
            reader: CsvReader::new(input, dialect),
            record: ByteRecord::new(),
            is_begun: false,
            split_idx: None,
        }
    }

    fn begin(&mut self, row: &mut TableRow) -> io::Result<bool> {
        self.is_begun = true;
        let Some(header) = self.reader.header()? else {
            return Ok(false);
        };
        let names = header.iter().map(|name| decoded(name).trim().to_owned());
        let columns: Vec<String> = names.collect();
        self.split_idx = columns.iter().position(|name| name == SPLIT_COLUMN);
        row.set_columns(columns);
        Ok(true)
    }
}

impl RowSource for DelimitedRows<'_> {
    fn next(&mut self, row: &mut TableRow) -> io::Result<Next> {
        if !self.is_begun && !self.begin(row)? {
            return Ok(Next::End);
        }
        loop {
            let Some(read) = self.reader.next(&mut self.record)? else {
                return Ok(Next::End);
            };
            row.number = read.line;
            if let Some(reason) = read.refusal {
                return Ok(Next::Refused(reason));
            }
            if self.record.iter().all(|cell| cell.trim_ascii().is_empty()) {
                continue;
            }
            let cells = self.record.iter();
            row.cells.clear();
            // A line is in one encoding: it is read as a whole.
            let is_utf8 = cells.clone().all(|cell| std::str::from_utf8(cell).is_ok());
            row.cells.extend(cells.map(|cell| {
                let text = if is_utf8 {
                    decoded(cell)
                } else {
                    as_windows_1252(cell).into()
                };
                Some(text.trim().to_owned())
            }));
            return Ok(self.fit(row));
        }
    }
}

impl DelimitedRows<'_> {
    /// Gives cells too many to the column that they belong to; too few are refused.
    fn fit(&self, row: &mut TableRow) -> Next {
        let (cells, columns) = (row.cells.len(), row.columns.len());
        if cells == columns {
            return Next::Row;
        }
        let Some(excess) = cells.checked_sub(columns) else {
            // A truncated line: its missing cells are not null.
            return Next::Refused(format!("{cells} cells under a header of {columns}"));
        };
        let Some(first) = self.split_idx.filter(|_| !self.reader.has_quotes()) else {
            // An empty one comes from a sign at the end of the line.
            if row.cells[columns..].iter().flatten().all(String::is_empty) {
                row.cells.truncate(columns);
                return Next::Row;
            }
            return Next::Refused(format!("{cells} cells under a header of {columns}"));
        };
        let parts: Vec<String> = row.cells.drain(first..=first + excess).flatten().collect();
        row.cells
            .insert(first, Some(parts.join(" ").trim().to_owned()));
        Next::Row
    }
}
