//! A table as lines of records: the command reads them, and a server may load them.

use std::collections::HashSet;
use std::io::{self, BufRead, Read};

use super::columns::{ColumnMap, ColumnPlan, Field};
use super::delimited::DelimitedRows;
use super::json_table::{JsonArray, JsonLines};
use super::record::{Converted, NEEDS_DATE_ORDER, RowOptions, TableRecord, convert};
use super::row::{Next, RowSource, TableRow};
use super::sniff::{NoTableError, TableKind};
use super::sql_dump::SqlRows;
use crate::limits::SHOWN_COLUMNS_MAX;
use crate::rows::reading::next_line;

/// Options of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Columns that the command line names.
    pub map: ColumnMap,
    /// Facts about all rows.
    pub rows: RowOptions,
    /// True if an option is given: then no file is taken for one of ours.
    pub is_asked: bool,
}

/// Receiver of a record before it is written: it may store the record's file and change the
/// record. Errors end the import; a reason that is returned refuses the row.
pub type RecordVisitor<'a> = dyn FnMut(&mut TableRecord) -> io::Result<Option<String>> + 'a;

/// A table as JSON lines of records. A line that is a string is the reason why its row is refused.
/// Each row is on the line of its number; other lines are blank.
pub struct TableRead<'a> {
    rows: Box<dyn RowSource + 'a>,
    options: TableOptions,
    visit: Box<RecordVisitor<'a>>,
    row: TableRow,
    plan: ColumnPlan,
    /// True if the table has the same columns in all rows.
    has_header: bool,
    /// True if the plan's columns may hold records.
    is_read: bool,
    has_record_columns: bool,
    /// Columns without a field that were named before.
    named: HashSet<String>,
    lines_count: u64,
    left_out_count: u64,
    text: Vec<u8>,
    given_count: usize,
    is_over: bool,
}

/// The rows of a table of this kind.
pub(super) fn source<'a>(
    mut input: Box<dyn BufRead + 'a>,
    kind: TableKind,
) -> io::Result<Box<dyn RowSource + 'a>> {
    Ok(match kind {
        TableKind::JsonArray => Box::new(JsonArray::new(input, false)),
        TableKind::JsonObject => Box::new(JsonArray::new(input, true)),
        TableKind::Sql(dialect) => Box::new(SqlRows::new(input, dialect)),
        TableKind::Delimited(sign) => Box::new(DelimitedRows::new(input, sign)),
        TableKind::OwnCsv => Box::new(DelimitedRows::new(input, b',')),
        TableKind::SeparatorLine(sign) => {
            next_line(&mut *input)?;
            Box::new(DelimitedRows::new(input, sign))
        }
        TableKind::Empty | TableKind::OwnJson | TableKind::JsonLines => {
            Box::new(JsonLines::new(input))
        }
    })
}

impl<'a> TableRead<'a> {
    /// Reads a table of this kind.
    ///
    /// Errors: the input cannot be read.
    pub(super) fn new(
        input: Box<dyn BufRead + 'a>,
        kind: TableKind,
        options: TableOptions,
        visit: Box<RecordVisitor<'a>>,
    ) -> io::Result<Self> {
        let rows = source(input, kind)?;
        Ok(Self {
            rows,
            options,
            visit,
            has_header: matches!(
                kind,
                TableKind::Delimited(_) | TableKind::SeparatorLine(_) | TableKind::OwnCsv
            ),
            row: TableRow::default(),
            plan: ColumnPlan::default(),
            is_read: false,
            has_record_columns: false,
            named: HashSet::new(),
            lines_count: 0,
            left_out_count: 0,
            text: Vec::new(),
            given_count: 0,
            is_over: false,
        })
    }

    /// Rows in unwanted languages so far.
    pub fn left_out_count(&self) -> u64 {
        self.left_out_count
    }

    /// Reads the next row and writes its line.
    fn fill(&mut self) -> io::Result<()> {
        self.text.clear();
        self.given_count = 0;
        let next = self.rows.next(&mut self.row)?;
        let converted = match next {
            Next::End => {
                self.is_over = true;
                // If no row could be read, the columns are still known.
                self.plan_columns()?;
                if !self.has_record_columns && self.lines_count != 0 {
                    return Err(self.no_columns().into());
                }
                return Ok(());
            }
            Next::Refused(reason) => Converted::Refused(reason),
            Next::Row => {
                self.plan_columns()?;
                if !self.is_read {
                    self.begin_line();
                    self.text.push(b'\n');
                    return Ok(());
                }
                convert(&self.row, &self.plan, &self.options.rows)
            }
        };
        self.begin_line();
        self.write(converted)
    }

    /// Makes the plan of columns that are new.
    fn plan_columns(&mut self) -> io::Result<()> {
        if self.plan.is_of(&self.row) {
            return Ok(());
        }
        let bad = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
        self.plan = ColumnPlan::new(&self.row, &self.options.map).map_err(bad)?;
        self.is_read = self.plan.has_any(&[Field::Title, Field::Release]);
        self.has_record_columns |= self.is_read;
        if self.has_header && !self.is_read {
            return Err(self.no_columns().into());
        }
        Ok(())
    }

    /// Ends the lines before that of the row.
    fn begin_line(&mut self) {
        let number = self.row.number.max(self.lines_count + 1);
        for _ in self.lines_count + 1..number {
            self.text.push(b'\n');
        }
        self.lines_count = number;
    }

    fn write(&mut self, converted: Converted) -> io::Result<()> {
        match converted {
            Converted::Record(mut record) => match (self.visit)(&mut record)? {
                None => self.write_record(&record)?,
                Some(reason) => serde_json::to_writer(&mut self.text, &reason)?,
            },
            Converted::Refused(reason) => serde_json::to_writer(&mut self.text, &reason)?,
            Converted::LeftOut => self.left_out_count += 1,
            Converted::NeedsDateOrder => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    NEEDS_DATE_ORDER,
                ));
            }
        }
        self.text.push(b'\n');
        Ok(())
    }

    /// Writes a record, and columns without a field the first time that they hold something.
    fn write_record(&mut self, record: &TableRecord) -> io::Result<()> {
        serde_json::to_writer(&mut self.text, record)?;
        for column in &self.plan.unused {
            let cell = self.row.cells.get(*column).and_then(Option::as_deref);
            let Some(name) = self.row.columns.get(*column) else {
                continue;
            };
            if cell.is_none_or(str::is_empty) || self.named.contains(name) {
                continue;
            }
            if self.named.len() < SHOWN_COLUMNS_MAX && !super::columns::is_known(name) {
                // Inside of the object that was written.
                self.text.pop();
                self.text.push(b',');
                serde_json::to_writer(&mut self.text, name)?;
                self.text.extend_from_slice(b":null}");
                self.named.insert(name.clone());
            }
        }
        Ok(())
    }

    fn no_columns(&self) -> NoTableError {
        let names = self.row.columns.iter().take(SHOWN_COLUMNS_MAX).cloned();
        NoTableError::Columns(names.collect::<Vec<_>>().join(", "))
    }
}

impl Read for TableRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given_count == self.text.len() && !self.is_over {
            self.fill()?;
        }
        let count = (&self.text[self.given_count..]).read(buffer)?;
        self.given_count += count;
        Ok(count)
    }
}
