//! Uploads of cached files to their second home.

use parking_lot::Mutex;

use crate::block_on::block_on;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::limits::{UPLOADS_BATCH_MAX, UPLOADS_FAILED_MAX};
use crate::model::ContentHash;

/// Blobs that were queued at the last listing, and were not tried yet.
#[derive(Default)]
pub(crate) struct UploadQueue {
    listed: Mutex<Vec<ContentHash>>,
}

impl UploadQueue {
    /// Uploads some of the queued blobs. Returns true if more are queued. The thread, which does
    /// nothing else, waits for each.
    ///
    /// Errors: the first one. The other blobs were tried all the same, unless several failed in a
    /// row: then the second home is away. Failed ones stay queued.
    pub(crate) fn run(&self, database: &Database) -> Result<bool> {
        if !database.second_home.is_attached() {
            return Ok(false);
        }
        let mut listed = self.listed.lock();
        if listed.is_empty() {
            *listed = database.second_home.waiting()?;
        }
        if listed.is_empty() {
            return Ok(false);
        }
        // Blobs missing in a folder that is not mounted are not lost.
        database.ensure_blobs_present()?;
        let mut failed = Ok(());
        let mut failed_in_row = 0;
        for _ in 0..UPLOADS_BATCH_MAX {
            let Some(content) = listed.pop() else { break };
            match upload(database, &content) {
                Ok(()) => failed_in_row = 0,
                Err(error) => {
                    failed = failed.and(Err(error));
                    failed_in_row += 1;
                }
            }
            if failed_in_row == UPLOADS_FAILED_MAX {
                break;
            }
        }
        failed.map(|()| !listed.is_empty())
    }
}

fn upload(database: &Database, content: &ContentHash) -> Result<()> {
    match database.blobs.read(content) {
        Ok(Some(bytes)) => return block_on(database.second_home.upload(content, bytes)),
        // Deleted before its turn, or lost, or damaged.
        Ok(None) | Err(Error::Corrupt { .. }) => {}
        Err(error) => return Err(error),
    }
    // No store may be between the two steps.
    let _no_store = database.storing.write();
    // One that a file refers to stays queued: it is not elsewhere, and the next download or the
    // scrubber notices its fault.
    if !database.state.has_content(*content) {
        database.second_home.forget(content)?;
    }
    Ok(())
}
