//! Many contents at once: they share the waits for the disk.

use std::path::PathBuf;
use std::thread;

use super::BlobStore;
use super::blob_store::hash_of;
use crate::disk::DiskFile;
use crate::error::{Error, Result};
use crate::limits::{BLOB_BYTES_MAX, PUT_THREADS};
use crate::model::{ContentHash, Variant};
use xxhash_rust::xxh3::xxh3_64;

/// A content that is stored, or about to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PutContent {
    /// Its identity.
    pub(crate) hash: ContentHash,
    /// Its xxh3.
    pub(crate) checksum: u64,
}

/// A file that was written and has no name yet.
struct WrittenFile {
    file: Box<dyn DiskFile>,
    temporary: PathBuf,
    path: PathBuf,
}

impl BlobStore {
    /// Stores contents durably, as [`BlobStore::put`] does with one. Files are synced by several
    /// threads, which a file system answers with one write of its journal, and each directory is
    /// synced once.
    ///
    /// Errors: nothing is known of the contents then; those that have a name are whole.
    pub(crate) fn put_many(&self, contents: &[&[u8]]) -> Result<Vec<PutContent>> {
        let mut done = Vec::with_capacity(contents.len());
        let mut written = Vec::new();
        let mut folders = Vec::new();
        for content in contents {
            assert!(content.len() as u64 <= BLOB_BYTES_MAX);
            let put = PutContent {
                hash: hash_of(content),
                checksum: xxh3_64(content),
            };
            done.push(put);
            let path = self.path(&put.hash, Variant::Identity);
            let folder = path
                .parent()
                .expect("a blob lies in a folder")
                .to_path_buf();
            if !folders.contains(&folder) {
                self.disk.create_dir(&folder)?;
                folders.push(folder);
            }
            // One that is there already is whole, or it is written again.
            if self
                .check_file(&path, content.len() as u64, put.checksum)
                .is_ok()
            {
                continue;
            }
            self.forget(&put.hash, Variant::Identity);
            let temporary = self.temporary();
            let file = self.disk.create(&temporary)?;
            file.write_at(content, 0)
                .map_err(Error::io("write", &temporary))?;
            self.count_written(content.len() as u64);
            written.push(WrittenFile {
                file,
                temporary,
                path,
            });
        }
        // Before the names: a name must never lead to bytes that a power cut can take back.
        sync_all(&written)?;
        for file in written {
            self.disk.rename(&file.temporary, &file.path)?;
        }
        for folder in &folders {
            self.disk.sync_dir(folder)?;
        }
        self.disk.sync_dir(&self.dir)?;
        Ok(done)
    }
}

fn sync_all(written: &[WrittenFile]) -> Result<()> {
    let share = written.len().div_ceil(PUT_THREADS).max(1);
    thread::scope(|scope| {
        let workers: Vec<_> = written
            .chunks(share)
            .map(|files| {
                scope.spawn(move || {
                    files.iter().try_for_each(|written| {
                        let synced = written.file.sync();
                        synced.map_err(Error::io("sync", &written.temporary))
                    })
                })
            })
            .collect();
        let results = workers
            .into_iter()
            .map(|worker| worker.join().expect("syncing a file does not panic"));
        results.fold(Ok(()), Result::and)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::{Disk, Real};

    #[test]
    fn contents_are_stored_once_and_whole() {
        let dir = tempfile::tempdir().unwrap();
        let (blobs, tmp) = (dir.path().join("blobs"), dir.path().join("tmp"));
        Real.create_dir(&blobs).unwrap();
        Real.create_dir(&tmp).unwrap();
        let store = BlobStore::new(Arc::new(Real), blobs, tmp.clone());
        let contents: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number % 30; 100]).collect();
        let borrowed: Vec<&[u8]> = contents.iter().map(Vec::as_slice).collect();
        for _ in 0..2 {
            let put = store.put_many(&borrowed).unwrap();
            for (put, content) in put.iter().zip(&contents) {
                assert_eq!(store.read(&put.hash).unwrap().as_ref(), Some(content));
                assert_eq!(put.checksum, xxh3_64(content));
            }
        }
        assert!(Real.list(&tmp).unwrap().unwrap().is_empty());
        assert!(store.put_many(&[]).unwrap().is_empty());
    }
}
