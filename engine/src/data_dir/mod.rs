//! The data directory: its names, its lock, its format, and how an older one is upgraded.

mod names;
mod format;
mod upgrade;
mod directory;

pub(crate) use directory::DataDir;
pub(crate) use format::read_format;
pub(crate) use names::{
    beside, damaged_name, empty_but_for_blobs, fresh_place, is_damaged_copy, is_known, parent_of,
    refuse_foreign,
};
