//! Contents that the second home does not have yet.
//!
//! `uploads/` holds an empty file for each of them, named by its hash, and the file `mark` with the
//! name of the second home, if there is one. So a content that is neither here nor waiting is
//! elsewhere, and one that waits is here only. The name of a waiting content is durable before a
//! row names the content: killed at any point, none is taken for uploaded that is not. The file
//! `marked` says that the second home has got a mark of its own.

use std::path::PathBuf;
use std::sync::Arc;

use super::blob_store::parse_hash;
use crate::disk::{Disk, publish_file, read_file};
use crate::error::{Error, Result};
use crate::model::ContentHash;

/// The file without which the folder tells nothing.
const MARK: &str = "mark";
/// The same before it has its name.
const NEW_MARK: &str = "mark.new";
/// The file that says that the second home has got its own mark.
const MARKED: &str = "marked";

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

    /// Name of the second home; `None` if there is none.
    pub(super) fn home(&self) -> Result<Option<String>> {
        let mark = read_file(self.disk.as_ref(), &self.dir.join(MARK))?;
        Ok(mark.map(|mark| String::from_utf8_lossy(&mark).into_owned()))
    }

    /// Lets contents have the second home `home`, for which all of these wait.
    pub(super) fn begin(&self, home: &str, contents: &[ContentHash]) -> Result<()> {
        self.disk.create_dir(&self.dir)?;
        self.disk.remove(&self.dir.join(MARKED))?;
        for content in contents {
            self.disk.create(&self.path(content))?;
        }
        self.disk.sync_dir(&self.dir)?;
        // Last: with the mark, one that does not wait counts as uploaded.
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

    /// Remembers that the second home has got its mark. A power cut may take that back: it gets it
    /// twice then.
    pub(super) fn set_marked(&self) -> Result<()> {
        self.disk.create(&self.dir.join(MARKED)).map(drop)
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
