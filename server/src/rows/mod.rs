//! How do lines of a file become drafts of records, and records lines?
//!
//! A bad line is a value with its number, the field and the reason; reading goes on behind it.
//! What a field may hold is the engine's to judge.

mod csv_rows;
mod export;
mod fields;
mod json_rows;
mod reading;

pub use export::write_record;
pub use json_rows::read_line;
pub use reading::{EachRow, Format, Row, RowFault, next_line, read_rows, unpacked};
