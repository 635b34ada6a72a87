//! Lines of files: drafts of records are read from them, records are written to them.
//!
//! A bad line is a value with its number, its field and the reason, and reading goes on after it.
//! The engine validates what a field holds.

mod csv_rows;
mod export;
mod fields;
mod json_rows;
mod line_group;
mod reading;
mod row;

pub use csv_rows::is_csv_header;
pub use export::write_record;
pub use json_rows::read_line;
pub use line_group::LineGroup;
pub use reading::{Format, next_line, read_rows, unpacked};
pub use row::{Row, RowReceiver, RowRejection};
