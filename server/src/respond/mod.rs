//! How does an answer become bytes? File names, and the headers that carry them.

mod file_name;

pub use file_name::{clean_name, content_disposition, named_kind, served_name};
