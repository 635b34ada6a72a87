//! Lines of files: drafts of records are read from them, records are written to them.
//!
//! A bad line is a value with its number, its field and the reason, and reading continues after it.
//! The engine validates what a field holds. Tables of others become lines of ours first.

mod csv_reader;
mod csv_rows;
mod export;
mod fields;
mod ignored;
mod json_rows;
mod language_name;
mod line_group;
mod nearest;
mod reading;
mod row;
mod table;

pub use csv_rows::is_csv_header;
pub use export::write_record;
pub use ignored::IgnoredFields;
pub use json_rows::read_line;
pub(crate) use language_name::{language_name, named_language};
pub use line_group::LineGroup;
pub use nearest::nearest;
pub use reading::{Format, next_line, read_rows, unpacked};
pub use row::{Row, RowReceiver, RowRejection};
pub(crate) use table::decoded;
pub use table::{
    ColumnMap, ColumnMapError, DateOrder, OpenedTable, RecordVisitor, RowOptions, TableOptions,
    TableRead, TableRecord, TableRow, each_row, nearest_column, open_table,
};
