//! Storage of many blobs at once: they share the waits for the disk.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;

use super::BlobStore;
use super::blob_store::{folder_of, hash_of};
use crate::disk::{DiskFile, WholeSync};
use crate::error::{Error, Result};
use crate::limits::{
    BLOB_BYTES_MAX, OPEN_WRITTEN_MAX, PUT_THREADS, PUT_WRITERS, WHOLE_SYNC_FILES_MIN,
};
use crate::model::{ContentHash, Variant};
use xxhash_rust::xxh3::xxh3_64;

/// A blob that is stored, or about to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PutContent {
    /// SHA-256 of the blob.
    pub(crate) hash: ContentHash,
    /// xxh3 of the blob.
    pub(crate) checksum: u64,
}

/// A file that was written and has no name yet.
struct WrittenFile {
    /// Open until it is synced by itself.
    file: Option<Box<dyn DiskFile>>,
    temporary: PathBuf,
    path: PathBuf,
}

impl BlobStore {
    /// Stores contents durably, as [`BlobStore::put`] does with one, with few waits for the disk:
    /// two syncs of the whole file system where that can be relied on, one before the files get
    /// their names and one after. Elsewhere, and for few files, each file and each directory is
    /// synced.
    ///
    /// Errors: nothing is known of the contents then; those that have a name are whole.
    pub(crate) fn put_many(&self, contents: &[&[u8]]) -> Result<Vec<PutContent>> {
        // Before the writes: it reports what fails from now on.
        let whole_sync = match contents.len() {
            0..WHOLE_SYNC_FILES_MIN => None,
            _ => self.disk.whole_sync(&self.dir)?,
        };
        let share = contents.len().div_ceil(PUT_WRITERS).max(1);
        let is_open = whole_sync.is_none();
        let parts = in_parallel(contents.chunks(share), |part| {
            self.write_many(part, is_open)
        })?;
        let (mut done, mut written) = (Vec::with_capacity(contents.len()), Vec::new());
        for part in parts {
            done.extend(part.done);
            written.extend(part.written);
        }
        let synced_whole = |sync: &dyn WholeSync| sync.sync().map_err(Error::io("sync", &self.dir));
        // Before the names: a name must never lead to bytes that a power cut can take back.
        if let Some(sync) = &whole_sync {
            synced_whole(sync.as_ref())?;
        }
        for file in &written {
            self.disk.rename(&file.temporary, &file.path)?;
        }
        match &whole_sync {
            Some(sync) => synced_whole(sync.as_ref())?,
            None => self.sync_names_of(&done)?,
        }
        Ok(done)
    }

    /// Writes those of these contents that are not here, without their names. Where `is_open` says
    /// so they are synced.
    fn write_many(&self, contents: &[&[u8]], is_open: bool) -> Result<WrittenPart> {
        let mut part = WrittenPart::default();
        for contents in contents.chunks(OPEN_WRITTEN_MAX) {
            let first_idx = part.written.len();
            for content in contents {
                assert!(content.len() as u64 <= BLOB_BYTES_MAX);
                let put = PutContent {
                    hash: hash_of(content),
                    checksum: xxh3_64(content),
                };
                part.done.push(put);
                part.written.extend(self.write_one(content, put, is_open)?);
            }
            sync_all(&mut part.written[first_idx..])?;
        }
        Ok(part)
    }

    fn write_one(
        &self,
        content: &[u8],
        put: PutContent,
        is_open: bool,
    ) -> Result<Option<WrittenFile>> {
        let path = self.path(&put.hash, Variant::Identity);
        self.disk.create_dir(folder_of(&path))?;
        // One that is there already is whole, or it is written again.
        let size_bytes = content.len() as u64;
        if self.check_file(&path, size_bytes, put.checksum).is_ok() {
            return Ok(None);
        }
        self.forget(&put.hash, Variant::Identity);
        let temporary = self.temporary();
        let file = self.disk.create(&temporary)?;
        file.write_at(content, 0)
            .map_err(Error::io("write", &temporary))?;
        self.count_written(size_bytes);
        Ok(Some(WrittenFile {
            file: is_open.then_some(file),
            temporary,
            path,
        }))
    }

    /// Makes the names of these contents durable.
    fn sync_names_of(&self, contents: &[PutContent]) -> Result<()> {
        let path = |put: &PutContent| self.path(&put.hash, Variant::Identity);
        let folder = |put: &PutContent| folder_of(&path(put)).to_path_buf();
        let folders: BTreeSet<PathBuf> = contents.iter().map(folder).collect();
        for folder in &folders {
            self.disk.sync_dir(folder)?;
        }
        self.disk.sync_dir(&self.dir)
    }
}

/// Files that one thread has written.
#[derive(Default)]
struct WrittenPart {
    done: Vec<PutContent>,
    written: Vec<WrittenFile>,
}

/// Syncs and closes files that are open.
fn sync_all(written: &mut [WrittenFile]) -> Result<()> {
    let share = written.len().div_ceil(PUT_THREADS).max(1);
    in_parallel(written.chunks_mut(share), |files| {
        for written in files {
            if let Some(file) = written.file.take() {
                file.sync().map_err(Error::io("sync", &written.temporary))?;
            }
        }
        Ok(())
    })?;
    Ok(())
}

/// The results of `work` on each part, in a thread of its own; the first error if there is one.
fn in_parallel<P: Send, T: Send>(
    parts: impl Iterator<Item = P>,
    work: impl Fn(P) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let work = &work;
    thread::scope(|scope| {
        let started: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        let ended = started
            .into_iter()
            .map(|thread| thread.join().expect("writing a file does not panic"));
        ended.collect()
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::disk::{Disk, IgnoredSyncs, PowerCut, Real};

    fn contents(count: usize) -> Vec<Vec<u8>> {
        let content = |number: usize| [&(number % 30).to_le_bytes()[..], &[b'x'; 700]].concat();
        (0..count).map(content).collect()
    }

    fn store(dir: &Path, disk: Arc<dyn Disk>) -> BlobStore {
        let (blobs, tmp) = (dir.join("blobs"), dir.join("tmp"));
        Real.create_dir(&blobs).unwrap();
        Real.create_dir(&tmp).unwrap();
        BlobStore::new(disk, blobs, tmp)
    }

    fn put(store: &BlobStore, contents: &[Vec<u8>]) -> Result<Vec<PutContent>> {
        let borrowed: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        store.put_many(&borrowed)
    }

    #[test]
    fn contents_are_stored_once_and_whole() {
        for count in [0, 3, WHOLE_SYNC_FILES_MIN + 40] {
            let dir = tempfile::tempdir().unwrap();
            let store = store(dir.path(), Arc::new(Real));
            let contents = contents(count);
            for _ in 0..2 {
                let put = put(&store, &contents).unwrap();
                assert_eq!(put.len(), count);
                for (put, content) in put.iter().zip(&contents) {
                    assert_eq!(store.read(&put.hash).unwrap().as_ref(), Some(content));
                    assert_eq!(put.checksum, xxh3_64(content));
                }
            }
            assert!(
                Real.list(&dir.path().join("tmp"))
                    .unwrap()
                    .unwrap()
                    .is_empty()
            );
        }
    }

    /// Returns true if each of these contents is there and whole after a power cut behind their
    /// storing, for some seeds.
    fn survives(count: usize, ignored: Option<IgnoredSyncs>) -> bool {
        let dir = tempfile::tempdir().unwrap();
        store(dir.path(), Arc::new(Real));
        let disk = Arc::new(PowerCut::new(dir.path(), u64::MAX, ignored).unwrap());
        let contents = contents(count);
        let stored = store(dir.path(), Arc::clone(&disk) as Arc<dyn Disk>);
        let put = put(&stored, &contents).unwrap();
        (0..12).all(|seed| {
            let left = tempfile::tempdir().unwrap();
            disk.write_survivors(left.path(), seed).unwrap();
            let left = store(left.path(), Arc::new(Real));
            let mut pairs = put.iter().zip(&contents);
            pairs.all(
                |(put, content)| matches!(left.read(&put.hash), Ok(Some(read)) if read == *content),
            )
        })
    }

    #[test]
    fn what_is_acknowledged_survives_a_power_cut() {
        for count in [3, WHOLE_SYNC_FILES_MIN + 8] {
            assert!(survives(count, None));
            assert!(!survives(count, Some(|path| path.starts_with("blobs"))));
        }
        assert!(!survives(3, Some(|path| path.starts_with("tmp/"))));
    }

    #[test]
    fn no_name_leads_to_bytes_that_a_power_cut_takes_back() {
        for cut_at in 0..4 * WHOLE_SYNC_FILES_MIN as u64 {
            let dir = tempfile::tempdir().unwrap();
            store(dir.path(), Arc::new(Real));
            let disk = Arc::new(PowerCut::new(dir.path(), cut_at, None).unwrap());
            let stored = store(dir.path(), Arc::clone(&disk) as Arc<dyn Disk>);
            let contents = contents(WHOLE_SYNC_FILES_MIN);
            put(&stored, &contents).ok();
            let left = tempfile::tempdir().unwrap();
            disk.write_survivors(left.path(), cut_at).unwrap();
            let left = store(left.path(), Arc::new(Real));
            for content in &contents {
                // It is missing, or whole.
                assert!(left.read(&hash_of(content)).is_ok(), "cut at {cut_at}");
            }
        }
    }
}
