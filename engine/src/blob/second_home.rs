//! The second home of contents: what is stored here goes there too, and what is not here any more
//! comes back.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::blob_store::{BlobStore, hash_of};
use super::uploads::Uploads;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::UPLOADS_BATCH_MAX;
use crate::model::{CachedFile, ContentHash};

/// Contents by their SHA-256 in object storage. There they are never changed and never removed.
///
/// Methods block; they are called by threads that may wait.
pub trait BlobSource: Send + Sync {
    /// The content; `None` if the source answers that it has none of this hash. The caller checks
    /// it.
    ///
    /// Errors: the source cannot be reached, or refuses.
    fn get(&self, content: &ContentHash) -> io::Result<Option<Vec<u8>>>;

    /// Stores a content durably, in place of one of the same hash.
    fn put(&self, content: &ContentHash, bytes: &[u8]) -> io::Result<()>;
}

/// The second home of the contents of one data directory, if they have one.
pub(crate) struct SecondHome {
    uploads: Uploads,
    /// True if `uploads/` says that there is one.
    has_one: AtomicBool,
    /// Absent in a process that only looks at the data directory.
    source: OnceLock<Arc<dyn BlobSource>>,
    uploaded_count: AtomicU64,
    returned_count: AtomicU64,
    /// Contents that wait, when they were last listed.
    waiting_count: AtomicU64,
}

impl SecondHome {
    /// The second home that the folder `uploads` tells of.
    pub(crate) fn open(disk: Arc<dyn Disk>, uploads: PathBuf) -> Result<Self> {
        let uploads = Uploads::new(disk, uploads);
        let has_one = uploads.is_there()?;
        Ok(Self {
            uploads,
            has_one: AtomicBool::new(has_one),
            source: OnceLock::new(),
            uploaded_count: AtomicU64::new(0),
            returned_count: AtomicU64::new(0),
            waiting_count: AtomicU64::new(0),
        })
    }

    /// Begins to use a source. The first time all contents that are here wait to be uploaded.
    pub(crate) fn attach(&self, source: Arc<dyn BlobSource>, blobs: &BlobStore) -> Result<()> {
        if !self.has_one() {
            let stored = blobs.stored()?;
            let contents: Vec<_> = stored.iter().map(|stored| stored.content).collect();
            self.uploads.begin(&contents)?;
            self.has_one.store(true, Ordering::Release);
        }
        assert!(self.source.set(source).is_ok(), "a source is attached once");
        Ok(())
    }

    /// Contents have no second home any more: those that are not here are lost. Returns false if
    /// they had none.
    pub(crate) fn detach(&self) -> Result<bool> {
        let had_one = self.has_one.swap(false, Ordering::AcqRel);
        self.uploads.end().map(|()| had_one)
    }

    fn has_one(&self) -> bool {
        self.has_one.load(Ordering::Acquire)
    }

    /// Lets a content that was stored here wait for its upload. Called before a file refers to it.
    pub(crate) fn note_stored(&self, content: &ContentHash) -> Result<()> {
        if self.has_one() {
            self.uploads.add(content)?;
        }
        Ok(())
    }

    /// Returns true if a content can be removed here: it would come back. Cost: a system call.
    pub(crate) fn has(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.has_one() && !self.uploads.contains(content)?)
    }

    /// Returns true if a content whose files are not here is elsewhere.
    pub(crate) fn is_elsewhere(&self, content: &ContentHash, blobs: &BlobStore) -> Result<bool> {
        Ok(self.has(content)? && !blobs.is_here(content)?)
    }

    /// Brings a content back that could not be opened here. Returns false if it is in no other
    /// place.
    ///
    /// Errors: [`Error::Source`] if the source cannot tell now.
    pub(crate) fn bring_back(&self, file: &CachedFile, blobs: &BlobStore) -> Result<bool> {
        let Some(source) = self.source.get() else {
            return Ok(false);
        };
        // A damaged one may have been uploaded while it was whole, even if that was not noted.
        let found = source.get(&file.content).map_err(|source| Error::Source {
            action: "get a cached file from",
            source,
        })?;
        let Some(bytes) = found else {
            return Ok(false);
        };
        if hash_of(&bytes) != file.content {
            return Ok(false);
        }
        blobs.put(&bytes)?;
        self.returned_count.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// Uploads some of the contents that wait. Returns true if more do.
    ///
    /// Errors: [`Error::Source`]; what was not uploaded waits on.
    pub(crate) fn upload_some(&self, blobs: &BlobStore) -> Result<bool> {
        let Some(source) = self.source.get() else {
            return Ok(false);
        };
        let waiting = self.uploads.waiting()?;
        let mut left_count = waiting.len() as u64;
        self.waiting_count.store(left_count, Ordering::Relaxed);
        for content in waiting.iter().take(UPLOADS_BATCH_MAX) {
            match blobs.read(content) {
                Ok(Some(bytes)) => {
                    let put = source.put(content, &bytes);
                    put.map_err(|source| Error::Source {
                        action: "put a cached file into",
                        source,
                    })?;
                    self.uploaded_count.fetch_add(1, Ordering::Relaxed);
                }
                // Forgotten before its turn came, or damaged: the next download or the scrubber
                // notices.
                Ok(None) | Err(Error::Corrupt { .. }) => {}
                Err(error) => return Err(error),
            }
            self.uploads.remove(content)?;
            left_count -= 1;
            self.waiting_count.store(left_count, Ordering::Relaxed);
        }
        Ok(0 < left_count)
    }

    /// The contents that wait; `None` if there is no second home.
    pub(crate) fn waiting(&self) -> Result<Option<Vec<ContentHash>>> {
        if !self.has_one() {
            return Ok(None);
        }
        self.uploads.waiting().map(Some)
    }

    /// Makes the folder of a copy, in which these contents wait.
    pub(crate) fn begin_copy(&self, waiting: &[ContentHash]) -> Result<()> {
        self.uploads.begin(waiting)
    }

    /// Contents that were uploaded and that came back since the start, and those that wait.
    pub(crate) fn figures(&self) -> [u64; 3] {
        let figures = [
            &self.uploaded_count,
            &self.returned_count,
            &self.waiting_count,
        ];
        figures.map(|figure| figure.load(Ordering::Relaxed))
    }
}
