//! The second home of blobs: each blob that is stored here is uploaded there, and fetched from
//! there when it is missing here.

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::blob_store::{BlobStore, hash_of};
use super::uploads::Uploads;
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::SHARED_UPLOADS_MAX;
use crate::model::{CachedFile, ContentHash};

/// An answer of a [`BlobSource`] on its way. Any thread may poll it, inside of a runtime or not.
pub type BlobAnswer<T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send>>;

/// Blobs by their SHA-256 in object storage. There they are never changed and never removed.
///
/// Methods do not block: a source that hangs holds tasks, and no thread. The source bounds the
/// requests at once and the time of each.
pub trait BlobSource: Send + Sync {
    /// Name of the place: two sources with one name have the same blobs.
    fn name(&self) -> String;

    /// Returns the blob of this hash and size; `None` if the source answers that it has none, or
    /// one of another size. The caller checks the bytes.
    ///
    /// Errors: the source cannot be reached, or refuses.
    fn get(&self, content: &ContentHash, size_bytes: u64) -> BlobAnswer<Option<Vec<u8>>>;

    /// Stores a blob durably, in place of one with the same hash.
    fn put(&self, content: &ContentHash, bytes: Vec<u8>) -> BlobAnswer<()>;

    /// Returns true if the source has its mark. Without it, it may be another place of the same
    /// name, and blobs missing there are not lost.
    ///
    /// Errors: the source cannot be reached, or refuses.
    fn has_mark(&self) -> BlobAnswer<bool>;

    /// Stores the mark. Called once, after the first blob was stored.
    fn put_mark(&self) -> BlobAnswer<()>;
}

/// The second home of the blobs of one data directory, if they have one.
pub(crate) struct SecondHome {
    uploads: Uploads,
    /// True if `uploads/` names a second home.
    has_one: AtomicBool,
    /// Absent in a process that only inspects the data directory.
    source: OnceLock<Arc<dyn BlobSource>>,
    /// True in a cluster: other nodes may have blobs that are lost here, and their files are kept.
    is_shared: bool,
    /// True after a failed upload.
    is_away: AtomicBool,
    /// Each upload under way before its file is known holds a clone.
    shared_uploads: Arc<()>,
    uploaded_count: AtomicU64,
    returned_count: AtomicU64,
    /// Approximate number of waiting blobs: as of the last listing, less those uploaded since.
    waiting_count: AtomicU64,
}

impl SecondHome {
    /// The second home recorded in the folder `uploads`. `is_shared` in a cluster.
    pub(crate) fn open(disk: Arc<dyn Disk>, uploads: PathBuf, is_shared: bool) -> Result<Self> {
        let uploads = Uploads::new(disk, uploads);
        let has_one = uploads.home()?.is_some();
        Ok(Self {
            uploads,
            has_one: AtomicBool::new(has_one),
            source: OnceLock::new(),
            is_shared,
            is_away: AtomicBool::new(false),
            shared_uploads: Arc::default(),
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

    /// Attaches object storage and queues every local blob for upload. The caller has checked that
    /// `blobs` is the right folder.
    pub(crate) fn begin(&self, source: &dyn BlobSource, blobs: &BlobStore) -> Result<()> {
        let stored = blobs.stored()?;
        let contents: Vec<_> = stored.iter().map(|stored| stored.content).collect();
        self.uploads.begin(&source.name(), &contents)?;
        self.has_one.store(true, Ordering::Release);
        Ok(())
    }

    /// Attaches the source of the second home.
    pub(crate) fn attach(&self, source: Arc<dyn BlobSource>) {
        assert!(self.source.set(source).is_ok(), "a source is attached once");
    }

    /// Returns true if blobs have a second home, in use or not.
    pub(crate) fn is_there(&self) -> bool {
        self.has_one.load(Ordering::Acquire)
    }

    /// Returns true in a cluster.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Returns true if a blob removed from this machine can be fetched again: from its second home,
    /// or, in a cluster, by the node that misses it.
    pub(crate) fn comes_back(&self) -> bool {
        self.is_shared || self.is_there()
    }

    /// Returns true if a source is in use.
    pub(crate) fn is_attached(&self) -> bool {
        self.source.get().is_some()
    }

    /// Queues a blob that was stored here for upload. Called before a file refers to it.
    pub(crate) fn note_stored(&self, content: &ContentHash) -> Result<()> {
        if self.is_there() {
            self.uploads.add(content)?;
        }
        Ok(())
    }

    /// Returns true if a blob is queued for upload: it is here only. Cost: a system call.
    pub(crate) fn is_waiting(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.is_there() && self.uploads.contains(content)?)
    }

    /// Returns true if a blob can be removed here: it would come back. Cost: a system call.
    pub(crate) fn has(&self, content: &ContentHash) -> Result<bool> {
        Ok(self.comes_back() && !self.is_waiting(content)?)
    }

    /// Returns true if a blob has no file here, and is elsewhere.
    pub(crate) fn is_elsewhere(&self, content: &ContentHash, blobs: &BlobStore) -> Result<bool> {
        Ok(self.has(content)? && !blobs.is_here(content)?)
    }

    /// Fetches a blob that could not be opened here. Returns false if it is in no other place. The
    /// caller has checked that `blobs` is the right folder, with space.
    ///
    /// Errors: [`Error::Source`] if the source cannot answer now, if its mark is missing, or if
    /// another node may have the blob.
    pub(crate) async fn bring_back(&self, file: &CachedFile, blobs: &BlobStore) -> Result<bool> {
        let action = "get a cached file from";
        let Some(source) = self.source.get() else {
            let source = io::Error::other("none is set");
            return Err(Error::Source { action, source });
        };
        let found = source.get(&file.content, file.size_bytes).await;
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
            let has_mark = source.has_mark().await;
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

    /// All queued blobs. Cost: lists the folder.
    pub(crate) fn waiting(&self) -> Result<Vec<ContentHash>> {
        if !self.is_there() {
            return Ok(Vec::new());
        }
        let waiting = self.uploads.waiting()?;
        self.waiting_count
            .store(waiting.len() as u64, Ordering::Relaxed);
        Ok(waiting)
    }

    /// Uploads a blob at once, so that other nodes of a cluster find it; returns true if it is
    /// there. Otherwise it must be queued: the last upload has failed, or the maximum number is in
    /// progress.
    pub(crate) async fn upload_shared(&self, content: &[u8]) -> bool {
        let Some(source) = self.source.get().filter(|_| self.is_shared) else {
            return false;
        };
        if self.is_away.load(Ordering::Relaxed) {
            return false;
        }
        let under_way = Arc::clone(&self.shared_uploads);
        // One of the two is the original, which counts no upload.
        if SHARED_UPLOADS_MAX < Arc::strong_count(&under_way) - 1 {
            return false;
        }
        let put = source.put(&hash_of(content), content.to_vec()).await;
        self.is_away.store(put.is_err(), Ordering::Relaxed);
        if put.is_ok() {
            self.uploaded_count.fetch_add(1, Ordering::Relaxed);
        }
        put.is_ok()
    }

    /// Uploads a blob and takes it from the queue.
    ///
    /// Errors: [`Error::Source`]; the blob stays queued.
    pub(crate) async fn upload(&self, content: &ContentHash, bytes: Vec<u8>) -> Result<()> {
        let source = self.source.get().expect("a source is in use");
        let put = source.put(content, bytes).await;
        self.is_away.store(put.is_err(), Ordering::Relaxed);
        let action = "put a cached file into";
        put.map_err(|source| Error::Source { action, source })?;
        if !self.uploads.is_marked()? {
            // Once: a source that has lost its mark is not the one that had the blobs.
            let put = source.put_mark().await;
            put.map_err(|source| Error::Source { action, source })?;
            self.uploads.set_marked()?;
        }
        self.uploaded_count.fetch_add(1, Ordering::Relaxed);
        self.forget(content)
    }

    /// Takes a blob from the queue. The caller knows that no file refers to it, or that it is
    /// uploaded.
    pub(crate) fn forget(&self, content: &ContentHash) -> Result<()> {
        self.uploads.remove(content)?;
        let less = |count: u64| Some(count.saturating_sub(1));
        let waiting = &self.waiting_count;
        // It always succeeds: `less` has a value for every count.
        let _ = waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        Ok(())
    }

    /// Gives a copy of the data directory the same second home, with the same blobs queued.
    pub(crate) fn copy_to(&self, copy: &Self) -> Result<()> {
        match self.uploads.home()? {
            Some(home) => copy.uploads.begin(&home, &self.uploads.waiting()?),
            None => Ok(()),
        }
    }

    /// Numbers of blobs uploaded and fetched since the start, and of those queued.
    pub(crate) fn figures(&self) -> [u64; 3] {
        let figures = [
            &self.uploaded_count,
            &self.returned_count,
            &self.waiting_count,
        ];
        figures.map(|figure| figure.load(Ordering::Relaxed))
    }
}
