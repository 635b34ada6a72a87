//! Foreign tables: recognised by their content, the names of their columns, and their cells.
//!
//! A table becomes JSON lines of records (`convert.rs`), so that there is one way of loading.

mod cell;
mod columns;
mod convert;
mod date;
mod delimited;
mod entity;
mod json_scan;
mod json_table;
mod language;
mod open;
mod reading;
mod record;
mod row;
mod sniff;
mod sql_dump;
mod text;
#[cfg(test)]
mod vectors_test;

pub use columns::{ColumnMap, ColumnMapError, nearest_column};
pub use convert::{RecordVisitor, TableOptions, TableRead};
pub use date::DateOrder;
pub use open::{OpenedTable, each_row, open_table};
pub use record::{RowOptions, TableRecord};
pub use row::TableRow;
pub(crate) use text::decoded;
