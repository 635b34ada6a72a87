//! Compaction of the store files, which keep the space of deleted rows.

use serde::{Deserialize, Serialize};

use crate::database::{CATALOG_FILE, Database, STATE_FILE};
use crate::error::Result;

/// Bytes of a file before and after it was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactedStore {
    /// Name in the data directory.
    pub file: String,
    /// Bytes before.
    pub bytes_before: u64,
    /// Bytes after.
    pub bytes_after: u64,
}

/// Number of bytes without rows in the two files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReclaimableBytes {
    pub(crate) catalog: u64,
    pub(crate) state: u64,
}

/// Compacts both files. Readers and writers of rows wait until it is done. A process that is killed
/// during a compaction loses nothing: the next one opens the files, which takes a scan of the
/// interrupted one.
pub(crate) fn compact(database: &Database) -> Result<Vec<CompactedStore>> {
    let stores = [
        (CATALOG_FILE.name, database.catalog.store()),
        (STATE_FILE.name, database.state.store()),
    ];
    let mut compacted = Vec::new();
    for (file, store) in stores {
        let (bytes_before, bytes_after) = store.compact()?;
        compacted.push(CompactedStore {
            file: file.to_owned(),
            bytes_before,
            bytes_after,
        });
    }
    Ok(compacted)
}

/// Measures how much [`compact`] may free. Cost: a read of both files.
pub(crate) fn reclaimable_bytes(database: &Database) -> Result<ReclaimableBytes> {
    Ok(ReclaimableBytes {
        catalog: database.catalog.store().reclaimable_bytes()?,
        state: database.state.store().reclaimable_bytes()?,
    })
}
