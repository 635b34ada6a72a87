//! A file of a folder that was imported.

use super::{ContentHash, RecordId};

/// State of a file at its last reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedPath {
    /// Path of the file below the folder.
    pub path: String,
    /// Size of the file.
    pub size_bytes: u64,
    /// Time of its last change, in nanoseconds since 1970.
    pub modified_nanos: i64,
    /// SHA-256 of the content.
    pub content: ContentHash,
    /// The record of this file.
    pub record: RecordId,
    /// Sum of the record's data as loaded; 0 if nothing was loaded.
    pub digest: u64,
}
