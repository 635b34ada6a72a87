//! The operations of a disk, as the operating system does them.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Timespec, Timestamps};

use super::{DirEntry, DirLock, DiskFile, Mapping, OsFile, WholeSync, WritableMapping};
use crate::error::{Error, Result};

/// Directories are accessible to their owner only.
const DIR_MODE: u32 = 0o700;
/// So are files.
const FILE_MODE: u32 = 0o600;

/// File systems whose `syncfs` waits until all is durable, by their numbers in `linux/magic.h`:
/// ext2 to ext4, xfs, btrfs, f2fs. Others, such as FUSE, may only hand the data on.
const WHOLE_SYNC_FILE_SYSTEMS: &[u32] = &[0xef53, 0x5846_5342, 0x9123_683e, 0xf2f5_2010];

/// Distinguishes temporary directories of one process.
static TEMP_DIRS_COUNT: AtomicU64 = AtomicU64::new(0);

/// Returns true if a call failed because the process, or the system, has no descriptor left.
pub(crate) fn is_out_of_descriptors(error: &Error) -> bool {
    let Error::Io { source, .. } = error else {
        return false;
    };
    let found = rustix::io::Errno::from_io_error(source);
    matches!(
        found,
        Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE)
    )
}

/// A file system: the operating system's, which the provided methods are, or one of a test, which
/// replaces those that it counts, delays or lets fail.
///
/// Paths are absolute or relative to the process; the engine only ever names paths below its data
/// directory. Every error names the action and the path.
pub trait Disk: Send + Sync {
    /// Creates a directory that only its owner can enter, and its parents, durably. An existing one
    /// is left unchanged.
    fn create_dir(&self, path: &Path) -> Result<()> {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(DIR_MODE);
        builder.create(path).map_err(Error::io("create", path))?;
        // The name of a new directory is durable only after a sync of its parent.
        for made in missing {
            match made.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => Real.sync_dir(parent)?,
                _ => Real.sync_dir(Path::new("."))?,
            }
        }
        Ok(())
    }

    /// Lets only the owner enter a directory.
    fn make_private(&self, path: &Path) -> Result<()> {
        let permissions = Permissions::from_mode(DIR_MODE);
        fs::set_permissions(path, permissions).map_err(Error::io("set the mode of", path))
    }

    /// Makes a new directory for temporary files.
    fn create_temp_dir(&self) -> Result<PathBuf> {
        let parent = std::env::temp_dir();
        loop {
            let number = TEMP_DIRS_COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("subcat-{}-{number}", std::process::id()));
            match DirBuilder::new().mode(DIR_MODE).create(&path) {
                Ok(()) => return Ok(path),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &path)(error)),
            }
        }
    }

    /// Removes a directory with everything in it.
    fn remove_dir(&self, path: &Path) -> Result<()> {
        fs::remove_dir_all(path).map_err(Error::io("remove", path))
    }

    /// Entries of a directory, ordered by name; `None` when there is no such directory.
    fn list(&self, path: &Path) -> Result<Option<Vec<DirEntry>>> {
        let Some(entries) = present(fs::read_dir(path)).map_err(Error::io("list", path))? else {
            return Ok(None);
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("list", path))?;
            // A file that another thread has removed since counts as never listed.
            let Some(metadata) = present(entry.metadata()).map_err(Error::io("list", path))? else {
                continue;
            };
            found.push(DirEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_dir: metadata.is_dir(),
                size_bytes: metadata.len(),
                modified_seconds: metadata.mtime(),
            });
        }
        found.sort_unstable();
        Ok(Some(found))
    }

    /// Size of a file in bytes; `None` when there is no such file.
    fn size_bytes(&self, path: &Path) -> Result<Option<u64>> {
        let metadata = present(fs::metadata(path)).map_err(Error::io("look at", path))?;
        Ok(metadata.map(|metadata| metadata.len()))
    }

    /// Sets the time of a file's last change, in seconds. Does nothing if the file does not exist.
    fn set_modified(&self, path: &Path, seconds: i64) -> Result<()> {
        let omitted = Timespec {
            tv_sec: 0,
            tv_nsec: rustix::fs::UTIME_OMIT,
        };
        let times = Timestamps {
            last_access: omitted,
            last_modification: Timespec {
                tv_sec: seconds,
                tv_nsec: 0,
            },
        };
        let (cwd, flags) = (rustix::fs::CWD, rustix::fs::AtFlags::empty());
        let set = rustix::fs::utimensat(cwd, path, &times, flags).map_err(io::Error::from);
        present(set).map_err(Error::io("set the time of", path))?;
        Ok(())
    }

    /// Opens a file for reading; `None` when there is no such file.
    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        let file = present(File::open(path)).map_err(Error::io("open", path))?;
        Ok(file.map(boxed))
    }

    /// Opens a file for reading and writing; `None` when there is no such file.
    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>> {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = present(opened).map_err(Error::io("open", path))?;
        Ok(file.map(boxed))
    }

    /// Creates an empty file, readable and writable by its owner only; an existing one is
    /// truncated.
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let created = options.mode(FILE_MODE).open(path);
        created.map(boxed).map_err(Error::io("create", path))
    }

    /// Gives a file or a directory its name, replacing any file of that name. Durable after
    /// [`Disk::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        fs::rename(from, to).map_err(Error::io("rename to", to))
    }

    /// Gives a file a second name (a hard link), which must be free. Durable after
    /// [`Disk::sync_dir`]. Not every file system supports it.
    fn link(&self, from: &Path, to: &Path) -> Result<()> {
        fs::hard_link(from, to).map_err(Error::io("link to", to))
    }

    /// Exchanges the names of two directories at once. Durable after [`Disk::sync_dir`].
    fn exchange(&self, one: &Path, other: &Path) -> Result<()> {
        let flags = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, flags)
            .map_err(|errno| Error::io("exchange", other)(errno.into()))
    }

    /// Returns true if another file system, or a part of one, is mounted at a directory: it cannot
    /// be renamed.
    fn is_mount_point(&self, path: &Path) -> Result<bool> {
        use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
        // On a kernel without it, the exchange of names finds out.
        let found = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
        Ok(found.is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)))
    }

    /// Removes a file; false when there is no such file.
    fn remove(&self, path: &Path) -> Result<bool> {
        let removed = present(fs::remove_file(path)).map_err(Error::io("remove", path))?;
        Ok(removed.is_some())
    }

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<()> {
        let dir = File::open(path).map_err(Error::io("open", path))?;
        dir.sync_all().map_err(Error::io("sync", path))
    }

    /// A sync of everything below a directory that is written from now on. `None` where the file
    /// system cannot be relied on to do that, or to report what failed.
    fn whole_sync(&self, path: &Path) -> Result<Option<Box<dyn WholeSync>>> {
        let dir = File::open(path).map_err(Error::io("open", path))?;
        let found = rustix::fs::fstatfs(&dir).map_err(io::Error::from);
        let found = found.map_err(Error::io("ask for the file system of", path))?;
        let is_whole = WHOLE_SYNC_FILE_SYSTEMS.contains(&(found.f_type as u32));
        Ok(is_whole.then(|| Box::new(RealWholeSync(dir)) as Box<dyn WholeSync>))
    }

    /// Count of bytes that may still be written to the file system of `path`.
    fn free_bytes(&self, path: &Path) -> Result<u64> {
        let found = rustix::fs::statvfs(path).map_err(io::Error::from);
        let found = found.map_err(Error::io("ask for the free space of", path))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    /// Takes the lock file for this process, until the lock is dropped or the process ends.
    ///
    /// Errors: [`crate::Error::Locked`] with the id of the process that holds it.
    fn lock(&self, path: &Path) -> Result<DirLock> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.mode(FILE_MODE).open(path);
        let mut file = opened.map_err(Error::io("open", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // Best effort: the refusal stands, with or without the process id.
                let _ = file.read_to_string(&mut holder);
                return Err(Error::Locked {
                    path: path.parent().unwrap_or(path).to_path_buf(),
                    pid: holder.trim().parse().unwrap_or(0),
                });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", path)(error)),
        }
        let pid = format!("{}\n", std::process::id());
        // Only with the lock: a refused process must not overwrite the id of the holder. Best
        // effort: a full disk must not keep a server from starting, and the lock holds without the
        // id.
        if file.set_len(0).is_ok() {
            let _ = file.write_all_at(pid.as_bytes(), 0);
        }
        Ok(DirLock::new(file))
    }
}

/// The operating system's disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Real;

impl Disk for Real {}

/// A directory that was open before anything was written: the kernel reports to it what could not
/// be written since.
struct RealWholeSync(File);

impl WholeSync for RealWholeSync {
    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.0)?)
    }
}

impl DiskFile for File {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn set_size(&self, size_bytes: u64) -> io::Result<()> {
        self.set_len(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn map(&self) -> io::Result<Mapping> {
        Mapping::of(self)
    }

    fn reserve(&self, size_bytes: u64) -> io::Result<Option<WritableMapping>> {
        let Ok(mapped_bytes) = usize::try_from(size_bytes) else {
            return Ok(None);
        };
        let flags = rustix::fs::FallocateFlags::empty();
        // Not every file system can, and a full one refuses.
        if rustix::fs::fallocate(self, flags, 0, size_bytes).is_err() {
            return Ok(None);
        }
        WritableMapping::of(self, mapped_bytes).map(Some)
    }

    fn into_os_file(self: Box<Self>) -> OsFile {
        *self
    }
}

fn boxed(file: File) -> Box<dyn DiskFile> {
    Box::new(file)
}

/// `None` for a missing file.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_none_and_no_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("nothing");
        assert!(Real.open(&path).unwrap().is_none());
        assert!(Real.open_writable(&path).unwrap().is_none());
        assert!(Real.list(&path).unwrap().is_none());
        assert_eq!(Real.size_bytes(&path).unwrap(), None);
        assert!(!Real.remove(&path).unwrap());
    }

    #[test]
    fn a_second_lock_names_the_process_that_holds_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Real.lock(&path).unwrap();
        match Real.lock(&path) {
            Err(Error::Locked { pid, path }) => {
                assert_eq!(pid, std::process::id());
                assert_eq!(path, dir.path());
            }
            other => panic!("the lock was given twice: {other:?}"),
        }
        drop(held);
        assert!(Real.lock(&path).is_ok());
    }

    #[test]
    fn directories_and_files_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        Real.create_dir(&inner).unwrap();
        Real.create(&inner.join("c")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&inner), 0o700);
        assert_eq!(mode(&inner.join("c")), 0o600);
    }
}
