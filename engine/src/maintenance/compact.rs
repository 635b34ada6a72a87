//! Compaction of the files of the source of truth, which keep the space of what was deleted.

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

/// Bytes of the two files that hold no rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReclaimableBytes {
    pub(crate) catalog: u64,
    pub(crate) state: u64,
}

/// Compacts both files. Whoever reads or changes rows meanwhile waits. A process that is killed
/// meanwhile loses nothing: the next one opens the files, which takes a scan of the one that was
/// interrupted.
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

/// Measures what [`compact`] may give back. Cost: a read of both files.
pub(crate) fn reclaimable_bytes(database: &Database) -> Result<ReclaimableBytes> {
    Ok(ReclaimableBytes {
        catalog: database.catalog.store().reclaimable_bytes()?,
        state: database.state.store().reclaimable_bytes()?,
    })
}
