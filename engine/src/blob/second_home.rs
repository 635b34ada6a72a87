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
use crate::limits::SHARED_UPLOADS_MAX;
use crate::model::{CachedFile, ContentHash};

/// Contents by their SHA-256 in object storage. There they are never changed and never removed.
///
/// Methods block; they are called by threads that may wait.
pub trait BlobSource: Send + Sync {
    /// Name of the place: two sources with one name have the same contents.
    fn name(&self) -> String;

    /// The content of this size; `None` if the source answers that it has none of this hash, or
    /// one of another size. The caller checks it.
    ///
    /// Errors: the source cannot be reached, or refuses.
    fn get(&self, content: &ContentHash, size_bytes: u64) -> io::Result<Option<Vec<u8>>>;

    /// Stores a content durably, in place of one of the same hash.
    fn put(&self, content: &ContentHash, bytes: Vec<u8>) -> io::Result<()>;

    /// Returns true if the source has its mark. Without it, it may be another place of the same
    /// name, and what it does not have is not lost.
    ///
    /// Errors: the source cannot be reached, or refuses.
    fn has_mark(&self) -> io::Result<bool>;

    /// Stores the mark. Called once after the first content was stored.
    fn put_mark(&self) -> io::Result<()>;
}

/// The second home of the contents of one data directory, if they have one.
pub(crate) struct SecondHome {
    uploads: Uploads,
    /// True if `uploads/` says that there is one.
    has_one: AtomicBool,
    /// Absent in a process that only looks at the data directory.
    source: OnceLock<Arc<dyn BlobSource>>,
    /// True in a cluster: other nodes may have what is lost here, and it is not forgotten.
    is_shared: bool,
    /// True since an upload has failed.
    is_away: AtomicBool,
    /// Uploads under way before a file is known.
    shared_uploads: AtomicU64,
    uploaded_count: AtomicU64,
    returned_count: AtomicU64,
    /// Contents that wait, about: as of the last listing, less those uploaded since.
    waiting_count: AtomicU64,
}

impl SecondHome {
    /// The second home that the folder `uploads` tells of. `is_shared` in a cluster.
    pub(crate) fn open(disk: Arc<dyn Disk>, uploads: PathBuf, is_shared: bool) -> Result<Self> {
        let uploads = Uploads::new(disk, uploads);
        let has_one = uploads.home()?.is_some();
        Ok(Self {
            uploads,
            has_one: AtomicBool::new(has_one),
            source: OnceLock::new(),
            is_shared,
            is_away: AtomicBool::new(false),
            shared_uploads: AtomicU64::new(0),
            uploaded_count: AtomicU64::new(0),
            returned_count: AtomicU64::new(0),
            waiting_count: AtomicU64::new(0),
        })
    }

    /// Returns true if this source is the second home already.
    pub(crate) fn is(&self, source: &dyn BlobSource) -> Result<bool> {
        let home = self.uploads.home()?;
        Ok(home.is_some_and(|home| home == source.name()))
    }

    /// Makes a source the second home, for which all contents that are here wait. The caller has
    /// seen to it that `blobs` is the folder of contents.
    pub(crate) fn begin(&self, source: &dyn BlobSource, blobs: &BlobStore) -> Result<()> {
        let stored = blobs.stored()?;
        let contents: Vec<_> = stored.iter().map(|stored| stored.content).collect();
        self.uploads.begin(&source.name(), &contents)?;
        self.has_one.store(true, Ordering::Release);
        Ok(())
    }

    /// Begins to use the source that is the second home.
    pub(crate) fn attach(&self, source: Arc<dyn BlobSource>) {
        assert!(self.source.set(source).is_ok(), "a source is attached once");
    }

    /// Returns true if contents have a second home, be it in use or not.
    pub(crate) fn is_there(&self) -> bool {
        self.has_one.load(Ordering::Acquire)
    }

    /// Returns true in a cluster.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns true if a content that leaves this machine comes back: from its second home, or, in
    /// a cluster, by the fetch of whoever misses it.
    pub(crate) fn comes_back(&self) -> bool {
        self.is_shared || self.is_there()
    }

    /// Returns true if a source is in use.
    pub(crate) fn is_attached(&self) -> bool {
        self.source.get().is_some()
    }

    /// Lets a content that was stored here wait for its upload. Called before a file refers to it.
    pub(crate) fn note_stored(&self, content: &ContentHash) -> Result<()> {
        if self.is_there() {
            self.uploads.add(content)?;
        }
        Ok(())
    }

    /// Returns true if a content waits for its upload: it is here only. Cost: a system call.
    pub(crate) fn is_waiting(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.is_there() && self.uploads.contains(content)?)
    }

    /// Returns true if a content can be removed here: it would come back. Cost: a system call.
    pub(crate) fn has(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.comes_back() && !self.is_waiting(content)?)
    }

    /// Returns true if a content whose files are not here is elsewhere.
    pub(crate) fn is_elsewhere(&self, content: &ContentHash, blobs: &BlobStore) -> Result<bool> {
        Ok(self.has(content)? && !blobs.is_here(content)?)
    }

    /// Brings a content back that could not be opened here. Returns false if it is in no other
    /// place. The caller has seen to it that `blobs` is the folder of contents, with space.
    ///
    /// Errors: [`Error::Source`] if the source cannot tell now, if it has not its mark, or if
    /// another node may have it.
    pub(crate) fn bring_back(&self, file: &CachedFile, blobs: &BlobStore) -> Result<bool> {
        let action = "get a cached file from";
        let Some(source) = self.source.get() else {
            let source = io::Error::other("none is set");
            return Err(Error::Source { action, source });
        };
        let found = source.get(&file.content, file.size_bytes);
        let found = found.map_err(|source| Error::Source { action, source })?;
        let found = found.filter(|bytes| hash_of(bytes) == file.content);
        let Some(bytes) = found else {
            if self.is_shared {
                let source = io::Error::other("it is not there, another node may have it");
                return Err(Error::Source { action, source });
            }
            if self.is_waiting(&file.content)? {
                // It never was there.
                return Ok(false);
            }
            let has_mark = source.has_mark();
            if has_mark.map_err(|source| Error::Source { action, source })? {
                return Ok(false);
            }
            let problem = "it has neither the content nor the object blobs/mark, and may be \
                           another place of the same name";
            let source = io::Error::other(problem);
            return Err(Error::Source { action, source });
        };
        blobs.put(&bytes)?;
        self.returned_count.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// All contents that wait. Cost: lists the folder.
    pub(crate) fn waiting(&self) -> Result<Vec<ContentHash>> {
        if !self.is_there() {
            return Ok(Vec::new());
        }
        let waiting = self.uploads.waiting()?;
        self.waiting_count
            .store(waiting.len() as u64, Ordering::Relaxed);
        Ok(waiting)
    }

    /// Uploads a content at once that other nodes of a cluster will look for; returns true if it is
    /// there. Otherwise it is to wait: the last upload has failed, or enough of them are under way,
    /// whose callers hold threads that others need.
    pub(crate) fn upload_shared(&self, content: &[u8]) -> bool {
        let Some(source) = self.source.get().filter(|_| self.is_shared) else {
            return false;
        };
        if self.is_away.load(Ordering::Relaxed) {
            return false;
        }
        let under_way = self.shared_uploads.fetch_add(1, Ordering::AcqRel);
        let is_uploaded = under_way < SHARED_UPLOADS_MAX && {
            let put = source.put(&hash_of(content), content.to_vec());
            self.is_away.store(put.is_err(), Ordering::Relaxed);
            put.is_ok()
        };
        self.shared_uploads.fetch_sub(1, Ordering::AcqRel);
        if is_uploaded {
            self.uploaded_count.fetch_add(1, Ordering::Relaxed);
        }
        is_uploaded
    }

    /// Uploads a content, which does not wait then.
    ///
    /// Errors: [`Error::Source`]; it waits on.
    pub(crate) fn upload(&self, content: &ContentHash, bytes: Vec<u8>) -> Result<()> {
        let source = self.source.get().expect("a source is in use");
        let put = source.put(content, bytes);
        self.is_away.store(put.is_err(), Ordering::Relaxed);
        let action = "put a cached file into";
        put.map_err(|source| Error::Source { action, source })?;
        if !self.uploads.is_marked()? {
            // Once: a source that has lost its mark is not the one that had the contents.
            let put = source.put_mark();
            put.map_err(|source| Error::Source { action, source })?;
            self.uploads.set_marked()?;
        }
        self.uploaded_count.fetch_add(1, Ordering::Relaxed);
        self.forget(content)
    }

    /// Lets a content wait no longer. The caller knows that no file refers to it, or that it is
    /// uploaded.
    pub(crate) fn forget(&self, content: &ContentHash) -> Result<()> {
        self.uploads.remove(content)?;
        let less = |count: u64| Some(count.saturating_sub(1));
        let waiting = &self.waiting_count;
        // It always succeeds: `less` has a value for every count.
        let _ = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Gives a copy of the data directory the same second home, for which the same contents wait.
    pub(crate) fn copy_to(&self, copy: &Self) -> Result<()> {
        match self.uploads.home()? {
            Some(home) => copy.uploads.begin(&home, &self.uploads.waiting()?),
            None => Ok(()),
        }
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
