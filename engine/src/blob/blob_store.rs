//! The content store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::Blob;
use crate::disk::{Disk, DiskFile, is_out_of_descriptors, publish_file, read_file};
use crate::error::{Error, Result};
use crate::limits::{BLOB_BYTES_MAX, OPEN_BLOBS_MAX};
use crate::model::{CachedFile, ContentHash, Variant};

/// Parts of the table of open blobs.
const SHARDS_COUNT: usize = 16;
/// Bytes read at a time to check a file.
const CHUNK_BYTES: usize = 256 << 10;
/// Magic at the end of a variant's file; the xxh3 of the bytes before it follows.
const FOOTER_MAGIC: &[u8; 8] = b"subcatV1";
const FOOTER_BYTES: usize = 16;

/// Name of the empty file that marks the folder.
pub(super) const MARK: &str = "mark";

/// Blobs by their SHA-256, and those that are open.
pub(crate) struct BlobStore {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) dir: PathBuf,
    tmp: PathBuf,
    open: Box<[BlobShard]>,
    /// Blobs of one shard that are kept open.
    shard_max: AtomicUsize,
    clock: AtomicU64,
    /// Makes temporary names differ.
    puts_count: AtomicU64,
    /// Bytes that were written since the start.
    written_bytes: AtomicU64,
    /// True if the folder is the right one, and the disk refused its mark.
    is_mark_due: AtomicBool,
}

type BlobShard =
    RwLock<HashMap<(ContentHash, Variant), OpenBlobEntry, foldhash::fast::RandomState>>;

struct OpenBlobEntry {
    blob: Arc<Blob>,
    last_used: AtomicU64,
}

impl BlobStore {
    /// The blobs in `dir`; new ones come by `tmp`, in the same file system.
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: PathBuf, tmp: PathBuf) -> Self {
        Self {
            disk,
            dir,
            tmp,
            open: (0..SHARDS_COUNT).map(|_| BlobShard::default()).collect(),
            shard_max: AtomicUsize::new(OPEN_BLOBS_MAX / SHARDS_COUNT),
            clock: AtomicU64::new(0),
            puts_count: AtomicU64::new(0),
            written_bytes: AtomicU64::new(0),
            is_mark_due: AtomicBool::new(false),
        }
    }

    /// Keeps up to `blobs_max` blobs open from the next opening on (one or more in each shard).
    pub(crate) fn keep_open(&self, blobs_max: usize) {
        let shard_max = blobs_max.min(OPEN_BLOBS_MAX) / SHARDS_COUNT;
        self.shard_max.store(shard_max.max(1), Ordering::Relaxed);
    }

    /// Calls something that takes a descriptor. When there is none left, unused blobs that are kept
    /// open are closed, and the call is tried once more.
    fn with_descriptor<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        match work() {
            Err(error) if is_out_of_descriptors(&error) => {
                for shard in &self.open {
                    // Blobs that are being sent stay open: their senders hold them.
                    shard.write().clear();
                }
                work()
            }
            done => done,
        }
    }

    /// Stores a blob durably; one that is there already is checked, and repaired if need be.
    /// Returns its SHA-256 and its xxh3.
    pub(crate) fn put(&self, content: &[u8]) -> Result<(ContentHash, u64)> {
        assert!(content.len() as u64 <= BLOB_BYTES_MAX);
        let hash = hash_of(content);
        let checksum = xxh3_64(content);
        let path = self.path(&hash, Variant::Identity);
        self.with_descriptor(|| {
            match self.check_file(&path, content.len() as u64, checksum) {
                // An earlier writer may have been stopped before the name was durable.
                Ok(_) => self.sync_name(&path),
                Err(error) if is_out_of_descriptors(&error) => Err(error),
                Err(_) => {
                    // A damaged file may be open under this hash: the next request must get the new
                    // one.
                    self.forget(&hash, Variant::Identity);
                    self.write(&path, &[content])
                }
            }
        })?;
        Ok((hash, checksum))
    }

    /// Keeps a compressed variant beside its content.
    pub(crate) fn put_variant(
        &self,
        hash: &ContentHash,
        variant: Variant,
        bytes: &[u8],
    ) -> Result<Arc<Blob>> {
        assert!(variant != Variant::Identity);
        let mut footer = [0; FOOTER_BYTES];
        footer[..8].copy_from_slice(FOOTER_MAGIC);
        footer[8..].copy_from_slice(&xxh3_64(bytes).to_le_bytes());
        let path = self.path(hash, variant);
        self.with_descriptor(|| self.write(&path, &[bytes, &footer]))?;
        // After the write: an opening before it may have put the old file back into the table.
        self.forget(hash, variant);
        let opened = self.with_descriptor(|| self.open_variant(&path))?;
        let blob = opened.ok_or_else(|| self.missing(&path))?;
        Ok(self.remember(hash, variant, blob))
    }

    /// Copies a blob of this store into another one.
    ///
    /// Errors: [`Error::Corrupt`] when it is missing or damaged here.
    pub(crate) fn copy(&self, file: &CachedFile, to: &Self) -> Result<()> {
        let path = self.path(&file.content, Variant::Identity);
        let opened = self.check_file(&path, file.size_bytes, file.checksum)?;
        let mut content = vec![0; file.size_bytes as usize];
        opened
            .read_at(&mut content, 0)
            .map_err(Error::io("read", &path))?;
        // xxh3 finds accidents only: a backup must not hold a blob that does not match its name.
        if hash_of(&content) != file.content {
            let name = self.name_of(&path);
            return Err(Error::corrupt(name, 0, "content that matches its SHA-256"));
        }
        to.put(&content).map(drop)
    }

    /// Takes a blob from another store under a second name (a hard link), if it is intact there.
    /// Durable after [`BlobStore::sync_names`]. Returns false when it must be copied.
    pub(crate) fn adopt(&self, file: &CachedFile, from: &Self) -> Result<bool> {
        if from.check_content(file).is_err() {
            return Ok(false);
        }
        let path = self.path(&file.content, Variant::Identity);
        self.disk.create_dir(folder_of(&path))?;
        let source = from.path(&file.content, Variant::Identity);
        // Whatever the reason (another owner, too many names, a file system without links), a copy
        // serves as well, and reports its own errors.
        Ok(self.disk.link(&source, &path).is_ok())
    }

    /// Makes the names of all blobs durable.
    pub(crate) fn sync_names(&self) -> Result<()> {
        for folder in self.disk.list(&self.dir)?.unwrap_or_default() {
            if folder.is_dir {
                self.disk.sync_dir(&self.dir.join(&folder.name))?;
            }
        }
        self.disk.sync_dir(&self.dir)
    }

    /// Opens a blob or a variant of it. Cost: one look-up when it is open already; otherwise the
    /// file is opened, read once to check it, and mapped.
    ///
    /// Errors: the blob is missing or damaged. A damaged variant is removed, and `None` is
    /// returned.
    pub(crate) fn open(&self, file: &CachedFile, variant: Variant) -> Result<Option<Arc<Blob>>> {
        let hash = &file.content;
        if let Some(entry) = self.shard(hash).read().get(&(*hash, variant))
            && !entry.blob.is_truncated()
        {
            // Read, not advanced: the order of openings is exact enough, and a counter written by
            // every request would move its cache line from core to core.
            let now = self.clock.load(Ordering::Relaxed);
            entry.last_used.store(now, Ordering::Relaxed);
            return Ok(Some(Arc::clone(&entry.blob)));
        }
        // A truncated blob must leave the table, or `remember` would give it again.
        self.forget(hash, variant);
        let opened = self.with_descriptor(|| self.open_file(file, variant))?;
        Ok(opened.map(|blob| self.remember(hash, variant, blob)))
    }

    fn open_file(&self, file: &CachedFile, variant: Variant) -> Result<Option<Arc<Blob>>> {
        let path = self.path(&file.content, variant);
        match variant {
            Variant::Identity => {
                let opened = self.check_file(&path, file.size_bytes, file.checksum)?;
                let blob = into_blob(opened, file.size_bytes as usize, &path)?;
                Ok(Some(Arc::new(blob)))
            }
            Variant::Gzip | Variant::Brotli => match self.open_variant(&path) {
                Err(Error::Corrupt { .. }) => {
                    // Derived from the content beside it: the next request makes it again.
                    self.disk.remove(&path)?;
                    Ok(None)
                }
                opened => opened,
            },
        }
    }

    /// Checks a blob against its length, its xxh3 and its name.
    pub(crate) fn check_content(&self, file: &CachedFile) -> Result<()> {
        let path = self.path(&file.content, Variant::Identity);
        let opened = self.check_file(&path, file.size_bytes, file.checksum)?;
        self.check_hash(&*opened, &path, &file.content)
    }

    /// Returns true if there is a file of this blob here, intact or not. Cost: a system call.
    pub(crate) fn is_here(&self, content: &ContentHash) -> Result<bool> {
        let path = self.path(content, Variant::Identity);
        Ok(self.disk.size_bytes(&path)?.is_some())
    }

    /// Reads a blob; `None` if it is not here.
    ///
    /// Errors: [`Error::Corrupt`] if it is damaged.
    pub(crate) fn read(&self, content: &ContentHash) -> Result<Option<Vec<u8>>> {
        let path = self.path(content, Variant::Identity);
        let size_bytes = self.disk.size_bytes(&path)?;
        if size_bytes.is_some_and(|size_bytes| BLOB_BYTES_MAX < size_bytes) {
            let name = self.name_of(&path);
            return Err(Error::corrupt(name, BLOB_BYTES_MAX, "its end"));
        }
        let Some(bytes) = read_file(self.disk.as_ref(), &path)? else {
            return Ok(None);
        };
        if hash_of(&bytes) != *content {
            let name = self.name_of(&path);
            return Err(Error::corrupt(name, 0, "content that matches its SHA-256"));
        }
        Ok(Some(bytes))
    }

    /// Puts the mark into the folder that distinguishes it from an empty one in its place. A folder
    /// without blobs although there are files gets none: it is the wrong one.
    pub(crate) fn mark_present(&self, has_files: bool) {
        self.is_mark_due.store(false, Ordering::Release);
        let mark = self.dir.join(MARK);
        let is_marked = self.disk.size_bytes(&mark).is_ok_and(|size| size.is_some());
        let entries = self.disk.list(&self.dir).ok().flatten().unwrap_or_default();
        if is_marked || (has_files && entries.is_empty()) {
            return;
        }
        // Without a mark nothing is deleted or removed: a full disk loses no file. The next check
        // tries again to write it.
        let temporary = self.tmp.join(MARK);
        let marked = publish_file(self.disk.as_ref(), &temporary, &mark, &mut |_| Ok(()));
        self.is_mark_due.store(marked.is_err(), Ordering::Release);
    }

    /// Errors: this is not the folder in which blobs were stored.
    pub(crate) fn ensure_present(&self, has_files: bool) -> Result<()> {
        // Only after a mark that failed: a folder that lost its mark is the wrong one.
        if self.is_mark_due.load(Ordering::Acquire) {
            self.mark_present(has_files);
        }
        if self.disk.size_bytes(&self.dir.join(MARK))?.is_some() {
            return Ok(());
        }
        let expected = "the folder of cached files (if its file system is not mounted, mount it \
                        and restart; if the files are lost, run subcat verify --repair)";
        Err(Error::corrupt("blobs", 0, expected))
    }

    /// Count of bytes written since the start, those of removed files included.
    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed)
    }

    /// Notes that a blob was served at this second. Not durable: a power cut may lose it.
    pub(crate) fn note_served(&self, content: &ContentHash, seconds: i64) -> Result<()> {
        let path = self.path(content, Variant::Identity);
        self.disk.set_modified(&path, seconds)
    }

    /// Removes a blob and its variants. The caller knows that no file refers to it. Readers that
    /// have it open can read it to its end.
    pub(crate) fn remove(&self, content: &ContentHash) -> Result<()> {
        // The content last: a variant alone would not be found again.
        for variant in [Variant::Brotli, Variant::Gzip, Variant::Identity] {
            self.forget(content, variant);
            self.disk.remove(&self.path(content, variant))?;
        }
        Ok(())
    }

    /// Writes a file durably under its name.
    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<()> {
        self.disk.create_dir(folder_of(path))?;
        let temporary = self.temporary();
        publish_file(self.disk.as_ref(), &temporary, path, &mut |out| {
            for part in parts {
                self.count_written(part.len() as u64);
                out.write_all(part)
                    .map_err(Error::io("write", &temporary))?;
            }
            Ok(())
        })?;
        // Another thread may have made the folder a moment ago, and not have synced its name yet.
        self.sync_name(path)
    }

    /// A temporary name for a file that is being written.
    pub(super) fn temporary(&self) -> PathBuf {
        let put = self.puts_count.fetch_add(1, Ordering::Relaxed);
        self.tmp.join(format!("blob-{put}"))
    }

    pub(super) fn count_written(&self, bytes: u64) {
        self.written_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Makes the name of a file and of its folder durable, even if another thread made them.
    fn sync_name(&self, path: &Path) -> Result<()> {
        self.disk.sync_dir(folder_of(path))?;
        self.disk.sync_dir(&self.dir)
    }

    /// Opens a file and checks its length and xxh3.
    pub(super) fn check_file(
        &self,
        path: &Path,
        size_bytes: u64,
        checksum: u64,
    ) -> Result<Box<dyn DiskFile>> {
        let opened = self.disk.open(path)?;
        let opened = opened.ok_or_else(|| self.missing(path))?;
        let found_bytes = opened.size_bytes().map_err(Error::io("read", path))?;
        if found_bytes != size_bytes {
            let at = found_bytes.min(size_bytes);
            return Err(Error::corrupt(self.name_of(path), at, "the stored length"));
        }
        let mut hasher = Xxh3::new();
        read_all(&*opened, path, size_bytes, &mut |chunk| {
            hasher.update(chunk);
        })?;
        if hasher.digest() != checksum {
            let name = self.name_of(path);
            return Err(Error::corrupt(name, 0, "content that matches its xxh3"));
        }
        Ok(opened)
    }

    /// Checks a file against the hash that is its name.
    pub(super) fn check_hash(
        &self,
        file: &dyn DiskFile,
        path: &Path,
        hash: &ContentHash,
    ) -> Result<()> {
        let size_bytes = file.size_bytes().map_err(Error::io("read", path))?;
        let mut hasher = Sha256::new();
        read_all(file, path, size_bytes, &mut |chunk| hasher.update(chunk))?;
        if <[u8; 32]>::from(hasher.finalize()) != hash.0 {
            let name = self.name_of(path);
            return Err(Error::corrupt(name, 0, "content that matches its SHA-256"));
        }
        Ok(())
    }

    /// Opens a variant and checks it against its footer; `None` if it was not made.
    pub(super) fn open_variant(&self, path: &Path) -> Result<Option<Arc<Blob>>> {
        let Some(opened) = self.disk.open(path)? else {
            return Ok(None);
        };
        let damaged = |at| Error::corrupt(self.name_of(path), at, "a variant with its footer");
        let found_bytes = opened.size_bytes().map_err(Error::io("read", path))?;
        let Some(size_bytes) = found_bytes.checked_sub(FOOTER_BYTES as u64) else {
            return Err(damaged(0));
        };
        let mut footer = [0; FOOTER_BYTES];
        opened
            .read_at(&mut footer, size_bytes)
            .map_err(Error::io("read", path))?;
        let mut hasher = Xxh3::new();
        read_all(&*opened, path, size_bytes, &mut |chunk| {
            hasher.update(chunk);
        })?;
        let is_whole = footer.starts_with(FOOTER_MAGIC);
        if !is_whole || footer[8..] != hasher.digest().to_le_bytes() {
            return Err(damaged(size_bytes));
        }
        let blob = into_blob(opened, size_bytes as usize, path)?;
        Ok(Some(Arc::new(blob)))
    }

    fn remember(&self, hash: &ContentHash, variant: Variant, blob: Arc<Blob>) -> Arc<Blob> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed) + 1;
        let mut shard = self.shard(hash).write();
        while self.shard_max.load(Ordering::Relaxed) <= shard.len() {
            let age = |(_, entry): &(_, &OpenBlobEntry)| entry.last_used.load(Ordering::Relaxed);
            let Some(oldest) = shard.iter().min_by_key(age).map(|(place, _)| *place) else {
                break;
            };
            shard.remove(&oldest);
        }
        // Two requests may have opened the same file: the first one's is kept, so that all share
        // one mapping.
        let entry = shard
            .entry((*hash, variant))
            .or_insert_with(|| OpenBlobEntry {
                blob,
                last_used: AtomicU64::new(now),
            });
        Arc::clone(&entry.blob)
    }

    /// Closes a blob for later callers; those that hold it keep it.
    pub(super) fn forget(&self, hash: &ContentHash, variant: Variant) {
        self.shard(hash).write().remove(&(*hash, variant));
    }

    fn shard(&self, hash: &ContentHash) -> &BlobShard {
        // Bytes of a SHA-256 are spread evenly: any of them will do.
        &self.open[usize::from(hash.0[0]) % SHARDS_COUNT]
    }

    /// Path of a blob or of a variant of it.
    pub(super) fn path(&self, hash: &ContentHash, variant: Variant) -> PathBuf {
        let hex = hash.to_string();
        let extension = match variant {
            Variant::Identity => "",
            Variant::Gzip => ".gz",
            Variant::Brotli => ".br",
        };
        self.dir.join(&hex[..2]).join(format!("{hex}{extension}"))
    }

    /// The path below the data directory.
    pub(super) fn name_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(&self.dir).unwrap_or(path);
        format!("blobs/{}", below.display())
    }

    fn missing(&self, path: &Path) -> Error {
        Error::corrupt(self.name_of(path), 0, "the file")
    }
}

/// SHA-256 of a blob's bytes.
pub fn hash_of(content: &[u8]) -> ContentHash {
    ContentHash(Sha256::digest(content).into())
}

pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent().expect("a blob lies in a folder")
}

fn into_blob(opened: Box<dyn DiskFile>, size_bytes: usize, path: &Path) -> Result<Blob> {
    let mapping = opened.map().map_err(Error::io("map", path))?;
    // The file was checked by reads; it may have been truncated before it was mapped.
    if mapping.as_ref().len() < size_bytes {
        let name = path.display().to_string();
        return Err(Error::corrupt(name, 0, "a file that is not cut"));
    }
    Ok(Blob::new(mapping, opened.into_os_file(), size_bytes))
}

fn read_all(
    file: &dyn DiskFile,
    path: &Path,
    size_bytes: u64,
    each: &mut dyn FnMut(&[u8]),
) -> Result<()> {
    let mut chunk = vec![0; CHUNK_BYTES.min(size_bytes as usize)];
    let mut offset = 0;
    while offset < size_bytes {
        let rest_bytes = (size_bytes - offset) as usize;
        let chunk = &mut chunk[..rest_bytes.min(CHUNK_BYTES)];
        file.read_at(chunk, offset)
            .map_err(Error::io("read", path))?;
        each(chunk);
        offset += chunk.len() as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Fault, Faulty, PowerCut, Real};
    use crate::model::FileKind;

    fn store(dir: &Path, disk: Arc<dyn Disk>) -> BlobStore {
        std::fs::create_dir_all(dir.join("blobs")).unwrap();
        std::fs::create_dir_all(dir.join("tmp")).unwrap();
        BlobStore::new(disk, dir.join("blobs"), dir.join("tmp"))
    }

    fn put(blobs: &BlobStore, content: &[u8]) -> CachedFile {
        let (hash, checksum) = blobs.put(content).unwrap();
        CachedFile {
            refetch_at: None,
            is_brought: false,
            content: hash,
            size_bytes: content.len() as u64,
            checksum,
            kind: FileKind::Srt,
            upstream_name: None,
        }
    }

    fn path_of(dir: &Path, file: &CachedFile) -> PathBuf {
        let hex = file.content.to_string();
        dir.join("blobs").join(&hex[..2]).join(hex)
    }

    #[test]
    fn identical_contents_share_a_file_and_an_open_handle() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = store(dir.path(), Arc::new(Real));
        let first = put(&blobs, b"content");
        let second = put(&blobs, b"content");
        assert_eq!(first, second);
        let a = blobs.open(&first, Variant::Identity).unwrap().unwrap();
        let b = blobs.open(&second, Variant::Identity).unwrap().unwrap();
        assert!(Arc::ptr_eq(&a, &b));
        assert_eq!(a.bytes(), b"content");
        let hex = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
        assert_eq!(first.content.to_string(), hex);
        assert!(dir.path().join("blobs/ed").join(hex).exists());
    }

    /// The writer may have been stopped, or be about to sync its name: the name must be durable
    /// before the second caller learns that the blob is stored.
    #[test]
    fn a_content_that_is_there_without_a_durable_name_gets_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("blobs/ed");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::create_dir_all(dir.path().join("tmp")).unwrap();
        let disk = Arc::new(PowerCut::new(dir.path(), u64::MAX, None).unwrap());
        let name = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
        let written = disk.create(&path.join(name)).unwrap();
        written.write_at(b"content", 0).unwrap();
        written.sync().unwrap();
        let blobs = store(dir.path(), Arc::clone(&disk) as Arc<dyn Disk>);
        put(&blobs, b"content");
        for seed in 0..50 {
            let left = tempfile::tempdir().unwrap();
            disk.write_survivors(left.path(), seed).unwrap();
            let content = std::fs::read(left.path().join("blobs/ed").join(name));
            assert_eq!(content.unwrap(), b"content", "seed {seed}");
        }
    }

    #[test]
    fn damage_is_found_at_the_first_opening_and_repaired_by_putting_again() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = store(dir.path(), Arc::new(Real));
        let file = put(&blobs, b"content");
        for damaged in [&b"Content"[..], b"conten", b"content ", b""] {
            std::fs::write(path_of(dir.path(), &file), damaged).unwrap();
            let opened = store(dir.path(), Arc::new(Real)).open(&file, Variant::Identity);
            assert!(matches!(opened, Err(Error::Corrupt { .. })), "{damaged:?}");
        }
        std::fs::remove_file(path_of(dir.path(), &file)).unwrap();
        assert!(blobs.open(&file, Variant::Identity).is_err());
        put(&blobs, b"content");
        let opened = blobs.open(&file, Variant::Identity).unwrap().unwrap();
        assert_eq!(opened.bytes(), b"content");
    }

    #[test]
    fn a_file_that_was_cut_while_open_is_checked_anew() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = store(dir.path(), Arc::new(Real));
        let file = put(&blobs, b"content");
        let blob = blobs.open(&file, Variant::Identity).unwrap().unwrap();
        std::fs::write(path_of(dir.path(), &file), b"con").unwrap();
        blob.mark_truncated();
        let opened = blobs.open(&file, Variant::Identity);
        assert!(matches!(opened, Err(Error::Corrupt { .. })));
        put(&blobs, b"content");
        let again = blobs.open(&file, Variant::Identity).unwrap().unwrap();
        assert!(!again.is_truncated());
    }

    #[test]
    fn variants_are_kept_checked_and_deletable() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = store(dir.path(), Arc::new(Real));
        let file = put(&blobs, b"content");
        assert!(blobs.open(&file, Variant::Gzip).unwrap().is_none());
        let made = blobs
            .put_variant(&file.content, Variant::Gzip, b"gz")
            .unwrap();
        assert_eq!(made.bytes(), b"gz");
        assert_eq!(made.size_bytes(), 2);
        let again = blobs.open(&file, Variant::Gzip).unwrap().unwrap();
        assert!(Arc::ptr_eq(&made, &again));
        let mut path = path_of(dir.path(), &file).into_os_string();
        path.push(".gz");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[0] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let other = store(dir.path(), Arc::new(Real));
        assert!(other.open(&file, Variant::Gzip).unwrap().is_none());
        assert!(!Path::new(&path).exists());
    }

    #[test]
    fn a_bounded_number_is_open() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = store(dir.path(), Arc::new(Real));
        for number in 0..OPEN_BLOBS_MAX + 200 {
            let file = put(&blobs, &number.to_le_bytes());
            let opened = blobs.open(&file, Variant::Identity).unwrap().unwrap();
            assert_eq!(opened.bytes(), number.to_le_bytes());
        }
        let open_count: usize = blobs.open.iter().map(|shard| shard.read().len()).sum();
        assert!(open_count <= OPEN_BLOBS_MAX);
        blobs.keep_open(40);
        for number in 0..200_u16 {
            let file = put(&blobs, &number.to_le_bytes());
            blobs.open(&file, Variant::Identity).unwrap().unwrap();
        }
        let open_count: usize = blobs.open.iter().map(|shard| shard.read().len()).sum();
        assert!(open_count <= 40, "{open_count}");
    }

    #[test]
    fn without_a_descriptor_what_is_kept_open_goes() {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        let blobs = store(dir.path(), Arc::clone(&faulty) as Arc<dyn Disk>);
        let file = put(&blobs, b"first");
        let held = blobs.open(&file, Variant::Identity).unwrap().unwrap();
        faulty.set_fault(Fault {
            errno: Fault::EMFILE,
            ..Fault::at(faulty.ops_count())
        });
        put(&blobs, b"second");
        let open_count: usize = blobs.open.iter().map(|shard| shard.read().len()).sum();
        assert_eq!(open_count, 0);
        assert_eq!(held.bytes(), b"first");
        faulty.set_fault(Fault {
            count: 8,
            errno: Fault::EMFILE,
            ..Fault::at(faulty.ops_count())
        });
        assert!(blobs.put(b"third").is_err());
    }

    #[test]
    fn a_fault_anywhere_acknowledges_nothing_that_is_not_there() {
        for op_idx in 0..12 {
            let dir = tempfile::tempdir().unwrap();
            let faulty = Arc::new(Faulty::new(Fault::at(op_idx)));
            let blobs = store(dir.path(), faulty);
            let first = blobs.put(b"content");
            let file = match first {
                Ok(_) => put(&store(dir.path(), Arc::new(Real)), b"content"),
                Err(_) => put(&blobs, b"content"),
            };
            let opened = blobs.open(&file, Variant::Identity).unwrap().unwrap();
            assert_eq!(opened.bytes(), b"content");
        }
    }
}
