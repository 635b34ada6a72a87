//! The data directory: its names, its lock, its format.

mod names;
mod format;
mod replacement;
mod directory;
mod sealing_key;

pub(crate) use directory::DataDir;
pub(crate) use format::has_format;
pub(crate) use names::{
    SEALING_KEY, STAGING, beside, damaged_name, empty_but_for_blobs, fresh_place, is_damaged_copy,
    is_known, is_left_by_restore, parent_of, refuse_foreign,
};
pub(crate) use replacement::replace_inside;
pub use sealing_key::SEALING_KEY_BYTES;
