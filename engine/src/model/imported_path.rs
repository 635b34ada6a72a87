//! A file of a folder that was imported.

use super::{ContentHash, RecordId};

/// State of a file when it was read last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPath {
    /// Its path below the folder.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// Time of its last change, in nanoseconds since 1970.
    pub modified_nanos: i64,
    /// Its content.
    pub content: ContentHash,
    /// The record that it is the file of.
    pub record: RecordId,
    /// Sum of what was loaded as the record; 0 if nothing was.
    pub digest: u64,
}
