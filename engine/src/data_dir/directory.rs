//! An open data directory: its lock, its folders.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::format::{has_format, publish_format};
use super::names::refuse_foreign;
use super::replacement::finish_replacement;
use crate::disk::{DirLock, Disk};
use crate::error::{Error, Result};
use crate::store::SpaceGuard;

/// An open data directory, locked for this process.
///
/// | name | what |
/// |---|---|
/// | `format` | the version of all this |
/// | `lock` | id of the process that holds it |
/// | `catalog.redb`, `state.redb` | the truth |
/// | `index/` | segments, derived |
/// | `blobs/ab/<sha256>[.gz\|.br]` | files, and compressed variants of them, derived |
/// | `uploads/<sha256>` | empty: object storage does not have this file yet |
/// | `uploads/mark`, `uploads/marked` | name of the object storage; empty: it has its mark |
/// | `counters/` | downloads that are not aggregated yet |
/// | `restoring*`, `replaced-N/` | of a restore into a mount point, and what it replaced |
/// | `tmp/` | files before they get their names; emptied at every start |
/// | `admin.sock` | the server's, not the engine's |
/// | `sealing.key` | the key of what is sealed in `state.redb`; no copy of the others has it |
pub(crate) struct DataDir {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    is_new: bool,
    /// True if the directory is removed on drop.
    is_temporary: bool,
    reserve_bytes: Arc<AtomicU64>,
    _lock: DirLock,
}

impl DataDir {
    /// Opens a data directory, making it when it is not there. It is finished by
    /// [`DataDir::finish`] when the stores in it are made: killed before that, the next start
    /// begins again.
    ///
    /// Errors: [`Error::Locked`], [`Error::Format`], [`Error::Foreign`].
    pub(crate) fn open(disk: Arc<dyn Disk>, root: &Path) -> Result<Self> {
        disk.create_dir(root)?;
        refuse_foreign(disk.as_ref(), root)?;
        let lock = disk.lock(&root.join("lock"))?;
        finish_replacement(disk.as_ref(), root)?;
        let is_new = !has_format(disk.as_ref(), root)?;
        Self::locked(disk, root, lock, is_new)
    }

    /// Opens a data directory that is there, even if its `format` is damaged: then it is written
    /// anew by [`DataDir::finish`].
    ///
    /// Errors: those of [`DataDir::open`].
    pub(crate) fn open_damaged(disk: Arc<dyn Disk>, root: &Path) -> Result<Self> {
        let lock = disk.lock(&root.join("lock"))?;
        finish_replacement(disk.as_ref(), root)?;
        let is_new = match has_format(disk.as_ref(), root) {
            Err(Error::Corrupt { .. }) => true,
            has_format => !has_format?,
        };
        Self::locked(disk, root, lock, is_new)
    }

    /// The locked data directory, with its folders.
    fn locked(disk: Arc<dyn Disk>, root: &Path, lock: DirLock, is_new: bool) -> Result<Self> {
        let data_dir = Self {
            disk,
            root: root.to_path_buf(),
            is_new,
            is_temporary: false,
            reserve_bytes: Arc::default(),
            _lock: lock,
        };
        data_dir.make_dirs()?;
        Ok(data_dir)
    }

    /// A data directory that is removed at the end.
    pub(crate) fn open_temporary(disk: Arc<dyn Disk>) -> Result<Self> {
        let root = disk.create_temp_dir()?;
        let mut data_dir = Self::open(disk, &root)?;
        data_dir.is_temporary = true;
        Ok(data_dir)
    }

    /// Marks the directory as complete.
    pub(crate) fn finish(&self) -> Result<()> {
        if !self.is_new {
            return Ok(());
        }
        publish_format(self.disk.as_ref(), &self.root)
    }

    /// Returns true if the stores may be missing.
    pub(crate) fn is_new(&self) -> bool {
        self.is_new
    }

    /// A name in the directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A name for a file that will be renamed.
    pub(crate) fn temporary(&self, name: &str) -> PathBuf {
        self.root.join("tmp").join(name)
    }

    /// The disk.
    pub(crate) fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A guard that fails if fewer bytes than these, and the reserve, are free here.
    pub(crate) fn space_guard(&self, needed_bytes: u64) -> SpaceGuard {
        SpaceGuard {
            disk: Arc::clone(&self.disk),
            dir: self.root.clone(),
            needed_bytes,
            reserve_bytes: Arc::clone(&self.reserve_bytes),
        }
    }

    /// A guard for what must work on a nearly full disk, too: the reserve is there for it.
    pub(crate) fn last_space_guard(&self, needed_bytes: u64) -> SpaceGuard {
        SpaceGuard {
            reserve_bytes: Arc::default(),
            ..self.space_guard(needed_bytes)
        }
    }

    /// Keeps this many bytes free beyond what a change needs.
    pub(crate) fn reserve(&self, bytes: u64) {
        self.reserve_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Makes what is not there and empties `tmp/`.
    fn make_dirs(&self) -> Result<()> {
        if self.is_new {
            self.disk.make_private(&self.root)?;
        }
        for name in ["index", "blobs", "counters", "tmp"] {
            self.disk.create_dir(&self.path(name))?;
        }
        let tmp = self.path("tmp");
        for entry in self.disk.list(&tmp)?.unwrap_or_default() {
            self.disk.remove(&tmp.join(entry.name))?;
        }
        self.disk.sync_dir(&self.root)
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        if self.is_temporary {
            // There is no one left to report an error to.
            let _ = self.disk.remove_dir(&self.root);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Real;

    fn open(root: &Path) -> Result<DataDir> {
        DataDir::open(Arc::new(Real), root)
    }

    #[test]
    fn is_new_until_it_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("a/b");
        assert!(open(&root).unwrap().is_new());
        let second = open(&root).unwrap();
        assert!(second.is_new());
        second.finish().unwrap();
        drop(second);
        assert!(!open(&root).unwrap().is_new());
    }

    #[test]
    fn a_foreign_directory_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("thesis.txt"), "x").unwrap();
        let refused = open(dir.path()).err().unwrap();
        assert!(refused.to_string().contains("\"thesis.txt\""), "{refused}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_fresh_volume_is_as_good_as_an_empty_directory() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["lost+found", ".snapshot", "@eaDir"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join(".DS_Store"), "x").unwrap();
        let data_dir = open(dir.path()).unwrap();
        assert!(data_dir.is_new());
        data_dir.finish().unwrap();
        drop(data_dir);
        assert!(!open(dir.path()).unwrap().is_new());
        assert!(dir.path().join("lost+found").exists());
    }

    #[test]
    fn other_and_damaged_formats_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path()).unwrap().finish().unwrap();
        let path = dir.path().join("format");
        let good = std::fs::read_to_string(&path).unwrap();
        for (other, advice) in [
            ("format 2", "or a newer one"),
            ("format 0", "subcat export"),
        ] {
            std::fs::write(&path, good.replace("format 1", other)).unwrap();
            let refused = open(dir.path()).err().unwrap();
            assert!(matches!(refused, Error::Format { .. }), "{refused}");
            assert!(refused.to_string().contains(advice), "{refused}");
        }
        for damaged in [
            "",
            "subcat",
            &good[..good.len() - 2],
            "subcat data directory, format x",
        ] {
            std::fs::write(&path, damaged).unwrap();
            let refused = open(dir.path()).err().unwrap();
            assert!(
                matches!(refused, Error::Corrupt { .. }),
                "{damaged}: {refused}"
            );
        }
    }

    #[test]
    fn a_temporary_directory_goes_at_the_end() {
        let data_dir = DataDir::open_temporary(Arc::new(Real)).unwrap();
        let root = data_dir.root().to_path_buf();
        assert!(root.join("blobs").exists());
        drop(data_dir);
        assert!(!root.exists());
    }
}
