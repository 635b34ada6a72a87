//! Contents that the second home does not have yet.
//!
//! `uploads/` holds an empty file for each of them, named by its hash, and an empty file `mark` if
//! contents have a second home. So a content that is neither here nor waiting is
//! elsewhere, and one that waits is here only. The name of a waiting content is durable before the
//! content is: killed at any point, none is taken for uploaded that is not.

use std::path::PathBuf;
use std::sync::Arc;

use super::blob_store::parse_hash;
use crate::disk::Disk;
use crate::error::Result;
use crate::model::ContentHash;

/// Name of the empty file without which the folder tells nothing.
const MARK: &str = "mark";

/// The folder `uploads/`.
pub(super) struct Uploads {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl Uploads {
    /// The folder `dir`, which need not be there.
    pub(super) fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Self {
        Self { disk, dir }
    }

    /// Returns true if contents have a second home.
    pub(super) fn is_there(&self) -> Result<bool> {
        Ok(self.disk.size_bytes(&self.dir.join(MARK))?.is_some())
    }

    /// Lets contents have a second home, for which all of these wait.
    pub(super) fn begin(&self, contents: &[ContentHash]) -> Result<()> {
        self.disk.create_dir(&self.dir)?;
        for content in contents {
            self.disk.create(&self.path(content))?;
        }
        self.disk.sync_dir(&self.dir)?;
        // Last: with the mark, one that does not wait counts as uploaded.
        self.disk.create(&self.dir.join(MARK))?;
        self.disk.sync_dir(&self.dir)
    }

    /// Removes the folder: contents have no second home any more.
    pub(super) fn end(&self) -> Result<()> {
        if self.disk.remove(&self.dir.join(MARK))? {
            self.disk.sync_dir(&self.dir)?;
        }
        if self.disk.list(&self.dir)?.is_some() {
            self.disk.remove_dir(&self.dir)?;
        }
        Ok(())
    }

    /// Lets a content wait, durably.
    pub(super) fn add(&self, content: &ContentHash) -> Result<()> {
        if !self.contains(content)? {
            self.disk.create(&self.path(content))?;
        }
        // Also for one that was there: whoever made it may not have made it durable.
        self.disk.sync_dir(&self.dir)
    }

    /// Returns true if a content waits. Cost: a system call.
    pub(super) fn contains(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.disk.size_bytes(&self.path(content))?.is_some())
    }

    /// A content does not wait any more. A power cut may take that back: it is uploaded twice then.
    pub(super) fn remove(&self, content: &ContentHash) -> Result<()> {
        self.disk.remove(&self.path(content)).map(drop)
    }

    /// All that wait. Cost: lists the folder.
    pub(super) fn waiting(&self) -> Result<Vec<ContentHash>> {
        let entries = self.disk.list(&self.dir)?.unwrap_or_default();
        Ok(entries
            .iter()
            .filter_map(|entry| parse_hash(&entry.name))
            .collect())
    }

    fn path(&self, content: &ContentHash) -> PathBuf {
        self.dir.join(content.to_string())
    }
}
