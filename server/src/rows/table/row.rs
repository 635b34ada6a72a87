//! One row of a table, and where rows come from.

use std::io;

/// A row: a cell for each column, as text; none for null and for other values.
#[derive(Debug, Default)]
pub struct TableRow {
    /// Line on which the row begins; in arrays and dumps, the position of the row. It only grows.
    pub number: u64,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Changes when another table begins, or another column is met.
    pub generation: u64,
    /// Cells by column. There may be fewer than columns.
    pub cells: Vec<Option<String>>,
}

impl TableRow {
    /// Takes other columns.
    pub(super) fn set_columns(&mut self, columns: Vec<String>) {
        self.columns = columns;
        self.generation += 1;
    }

    /// Puts a cell in by the name of its column.
    pub(super) fn put(&mut self, column: &str, cell: Option<String>) {
        let found = self.columns.iter().position(|name| name == column);
        let idx = found.unwrap_or_else(|| {
            self.columns.push(column.to_owned());
            self.generation += 1;
            self.columns.len() - 1
        });
        if self.cells.len() <= idx {
            self.cells.resize(idx + 1, None);
        }
        self.cells[idx] = cell;
    }
}

/// A row that was read, or the end.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// The row holds it.
    Row,
    /// The row has its number; the rest could not be read for this reason.
    Refused(String),
    /// There are no more rows.
    End,
}

/// Rows of one table, in order.
pub(super) trait RowSource {
    /// Reads the next row into `row`, and keeps the columns of `row`. Must not be called again
    /// after [`Next::End`].
    ///
    /// Errors: reading fails, or the input cannot be read any further.
    fn next(&mut self, row: &mut TableRow) -> io::Result<Next>;
}
