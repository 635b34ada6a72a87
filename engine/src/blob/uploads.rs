//! Blobs that the second home does not have yet.
//!
//! `uploads/` holds an empty file for each of them, named by its hash, and the file `mark` with the
//! name of the second home, if there is one. So a blob that is neither here nor queued is
//! elsewhere, and a queued one is here only. The name of a queued blob is durable before a row
//! refers to the blob: after a kill at any point, no blob counts as uploaded that is not. The file
//! `marked` says that the second home has got a mark of its own.

use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::{Disk, publish_file, read_file};
use crate::error::{Error, Result};
use crate::model::ContentHash;

/// The file without which the folder is not in use.
const MARK: &str = "mark";
/// Name of the mark until it is complete.
const NEW_MARK: &str = "mark.new";
/// The file that records that the second home has its own mark.
const MARKED: &str = "marked";

/// The folder `uploads/`.
pub(super) struct Uploads {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
}

impl Uploads {
    /// Uploads in the folder `dir`, which may be missing.
    pub(super) fn new(disk: Arc<dyn Disk>, dir: PathBuf) -> Self {
        Self { disk, dir }
    }

    /// Name of the second home; `None` if there is none.
    pub(super) fn home(&self) -> Result<Option<String>> {
        let mark = read_file(self.disk.as_ref(), &self.dir.join(MARK))?;
        Ok(mark.map(|mark| String::from_utf8_lossy(&mark).into_owned()))
    }

    /// Sets `home` as the second home, with all of these blobs queued.
    pub(super) fn begin(&self, home: &str, contents: &[ContentHash]) -> Result<()> {
        self.disk.create_dir(&self.dir)?;
        self.disk.remove(&self.dir.join(MARKED))?;
        for content in contents {
            self.disk.create(&self.path(content))?;
        }
        self.disk.sync_dir(&self.dir)?;
        // Last: with the mark, a blob that is not queued counts as uploaded.
        let (new, mark) = (self.dir.join(NEW_MARK), self.dir.join(MARK));
        publish_file(self.disk.as_ref(), &new, &mark, &mut |out| {
            out.write_all(home.as_bytes())
                .map_err(Error::io("write", &new))
        })
    }

    /// Returns true if the second home has got its mark. Cost: a system call.
    pub(super) fn is_marked(&self) -> Result<bool> {
        Ok(self.disk.size_bytes(&self.dir.join(MARKED))?.is_some())
    }

    /// Remembers that the second home has its mark. A power cut may undo that: it gets it twice
    /// then.
    pub(super) fn set_marked(&self) -> Result<()> {
        self.disk.create(&self.dir.join(MARKED)).map(drop)
    }

    /// Queues a blob, durably.
    pub(super) fn add(&self, content: &ContentHash) -> Result<()> {
        if !self.contains(content)? {
            self.disk.create(&self.path(content))?;
        }
        // Also for an existing name: its creator may not have made it durable.
        self.disk.sync_dir(&self.dir)
    }

    /// Returns true if a blob is queued. Cost: a system call.
    pub(super) fn contains(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.disk.size_bytes(&self.path(content))?.is_some())
    }

    /// Takes a blob from the queue. A power cut may undo that: it is uploaded twice then.
    pub(super) fn remove(&self, content: &ContentHash) -> Result<()> {
        self.disk.remove(&self.path(content)).map(drop)
    }

    /// All queued blobs. Cost: lists the folder.
    pub(super) fn waiting(&self) -> Result<Vec<ContentHash>> {
        let entries = self.disk.list(&self.dir)?.unwrap_or_default();
        Ok(entries
            .iter()
            .filter_map(|entry| ContentHash::parse(&entry.name))
            .collect())
    }

    fn path(&self, content: &ContentHash) -> PathBuf {
        self.dir.join(content.to_string())
    }
}
