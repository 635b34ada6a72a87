//! Fuzz bodies. Each checks one property, or compares two implementations, and panics only when
//! the property is broken or they differ.

mod address;
mod api_key;
mod codec;
mod fields;
mod file_name;
mod names;
mod parameters;
mod rows;
mod search;
mod text;
mod texts;

pub use address::address;
pub use api_key::{api_key, bearer};
pub use codec::record_codec;
pub use fields::{conditional_headers, path};
pub use file_name::{file_kind, file_name};
pub use names::names;
pub use parameters::{query_string, search_parameters};
pub use rows::{csv_rows, json_row, record_row};
pub use search::{damaged_segment, engine_and_oracle};
pub use text::{markers, text_fold};
pub use texts::{
    archive_listing, archive_unpacking, text_characters, text_choice, text_conversion,
};
