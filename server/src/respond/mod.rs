//! Responses of the API. The only module that knows status codes and headers.
//!
//! Pure: typed values in, responses out. [`ApiError`] is the one table of errors.

mod api_error;
mod body_tag;
mod fields;
mod file;
mod file_list;
mod raw_headers;
mod plain;
mod records;

pub use api_error::{ApiError, InvalidParameter, error_response, invalid_parameters, name_status};
pub use body_tag::{BodySum, BodyTag, TaggedBody};
pub use fields::{CommonHeaders, Surface};
pub use file::{FileFields, FileHead, entity_tag, part_of_file, unchanged_file, whole_file};
pub use file_list::{ListedText, file_list};
pub use plain::{health, http1_bytes, json, json_now, preflight, unchanged_json};
pub use records::{
    ITEM_FRAME_BYTES, LIST_FRAME_BYTES, RecordItem, RecordStyle, write_list, write_record,
};
