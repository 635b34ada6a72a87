//! The data directory: its names, its lock, its format.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::disk::{DirLock, Disk, publish_file, read_file};
use crate::error::{Error, Result};
use crate::store::SpaceGuard;

/// Version of the format of the data directory as a whole.
const FORMAT: u32 = 1;
/// First characters of the file `format`.
const FORMAT_MAGIC: &str = "subcat data directory, format ";
/// Every name that may stand in a data directory.
const NAMES: [&str; 9] = [
    "format",
    "lock",
    "catalog.redb",
    "state.redb",
    "index",
    "blobs",
    "counters",
    "tmp",
    "admin.sock",
];

/// Between the name of a damaged file and the number of its copy.
const DAMAGED_ENDING: &str = ".damaged-";

/// An open data directory, locked for this process.
///
/// | name | what |
/// |---|---|
/// | `format` | the version of all this |
/// | `lock` | id of the process that holds it |
/// | `catalog.redb`, `state.redb` | the truth |
/// | `index/` | segments, derived |
/// | `blobs/ab/<sha256>[.gz\|.br]` | files, and compressed variants of them, derived |
/// | `counters/` | downloads that are not aggregated yet |
/// | `tmp/` | files before they get their names; emptied at every start |
/// | `admin.sock` | the server's, not the engine's |
pub(crate) struct DataDir {
    disk: Arc<dyn Disk>,
    root: PathBuf,
    is_new: bool,
    /// True if the directory is removed on drop.
    is_temporary: bool,
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
        let is_new = !read_format(disk.as_ref(), root)?;
        let data_dir = Self {
            disk,
            root: root.to_path_buf(),
            is_new,
            is_temporary: false,
            _lock: lock,
        };
        data_dir.make_dirs()?;
        Ok(data_dir)
    }

    /// Opens a data directory that is there, even if its `format` is damaged: then it is written
    /// anew by [`DataDir::finish`].
    ///
    /// Errors: those of [`DataDir::open`].
    pub(crate) fn open_damaged(disk: Arc<dyn Disk>, root: &Path) -> Result<Self> {
        let lock = disk.lock(&root.join("lock"))?;
        let is_new = match read_format(disk.as_ref(), root) {
            Err(Error::Corrupt { .. }) => true,
            read => !read?,
        };
        let data_dir = Self {
            disk,
            root: root.to_path_buf(),
            is_new,
            is_temporary: false,
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
        let text = format!("{FORMAT_MAGIC}{FORMAT}");
        let text = format!("{text}, checksum {:016x}\n", xxh3_64(text.as_bytes()));
        let path = self.root.join("format");
        let disk = self.disk.as_ref();
        publish_file(disk, &self.temporary("format"), &path, &mut |out| {
            out.write_all(text.as_bytes())
                .map_err(Error::io("write", &path))
        })
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

    /// A guard that fails if fewer bytes than these are free here.
    pub(crate) fn space_guard(&self, needed_bytes: u64) -> SpaceGuard {
        SpaceGuard {
            disk: Arc::clone(&self.disk),
            dir: self.root.clone(),
            needed_bytes,
        }
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

/// Makes sure that `place` is free, for a directory that will be renamed; what a killed process
/// left there is removed. Errors: [`Error::Locked`] if another process works in it.
pub(crate) fn fresh_place(disk: &dyn Disk, place: &Path) -> Result<()> {
    if disk.list(place)?.is_some() {
        refuse_foreign(disk, place)?;
        drop(disk.lock(&place.join("lock"))?);
        disk.remove_dir(place)?;
    }
    Ok(())
}

/// A directory without `format` must be empty, or one that we did not finish making.
pub(crate) fn refuse_foreign(disk: &dyn Disk, root: &Path) -> Result<()> {
    let entries = disk.list(root)?.unwrap_or_default();
    if entries.iter().any(|entry| entry.name == "format") {
        return Ok(());
    }
    let foreign = entries.into_iter().find(|entry| !is_known(&entry.name));
    match foreign {
        None => Ok(()),
        Some(entry) => Err(Error::Foreign {
            path: root.to_path_buf(),
            entry: entry.name,
        }),
    }
}

/// Returns true if a name may stand in a data directory.
pub(crate) fn is_known(name: &str) -> bool {
    NAMES.contains(&name) || is_damaged_copy(name)
}

/// The name under which a damaged file is kept when it is replaced.
pub(crate) fn damaged_name(file: &str, number: u32) -> String {
    format!("{file}{DAMAGED_ENDING}{number}")
}

/// Returns true for a file that was replaced because it was damaged.
pub(crate) fn is_damaged_copy(name: &str) -> bool {
    let Some((file, number)) = name.split_once(DAMAGED_ENDING) else {
        return false;
    };
    NAMES.contains(&file) && number.parse::<u32>().is_ok()
}

/// Returns true if there is a valid format file.
pub(crate) fn read_format(disk: &dyn Disk, root: &Path) -> Result<bool> {
    let Some(bytes) = read_file(disk, &root.join("format"))? else {
        return Ok(false);
    };
    let damaged = || Error::corrupt("format", 0, "the format line of a data directory");
    let text = String::from_utf8(bytes).map_err(|_| damaged())?;
    let rest = text.strip_prefix(FORMAT_MAGIC).ok_or_else(damaged)?;
    let digits_count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let found: u32 = rest[..digits_count].parse().map_err(|_| damaged())?;
    if found != FORMAT {
        return Err(Error::Format {
            path: root.to_path_buf(),
            found,
            supported: FORMAT,
            advice: "run the version of subcat that wrote it, or a newer one",
        });
    }
    let line = &text[..FORMAT_MAGIC.len() + digits_count];
    let expected = format!("{line}, checksum {:016x}\n", xxh3_64(line.as_bytes()));
    if text != expected {
        return Err(damaged());
    }
    Ok(true)
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
    fn newer_and_damaged_formats_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path()).unwrap().finish().unwrap();
        let path = dir.path().join("format");
        let good = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, good.replace("format 1", "format 2")).unwrap();
        let refused = open(dir.path()).err().unwrap();
        assert!(
            matches!(refused, Error::Format { found: 2, .. }),
            "{refused}"
        );
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
