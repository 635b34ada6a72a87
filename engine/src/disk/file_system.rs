//! The operations of a disk.

use std::fs::File;
use std::io;
use std::path::Path;

use super::{Mapping, WritableMapping};
use crate::error::Result;

/// An open file of the operating system, for zero-copy answers.
pub type OsFile = File;

/// A file system: real, or simulated with faults.
///
/// Paths are absolute or relative to the process; the engine only ever names paths below its data
/// directory. Every error names the action and the path.
pub trait Disk: Send + Sync {
    /// Creates a directory that only its owner can enter, and its parents, durably. An existing one
    /// is left unchanged.
    fn create_dir(&self, path: &Path) -> Result<()>;

    /// Lets only the owner enter a directory.
    fn make_private(&self, path: &Path) -> Result<()>;

    /// Makes a new directory for temporary files.
    fn create_temp_dir(&self) -> Result<std::path::PathBuf>;

    /// Removes a directory with everything in it.
    fn remove_dir(&self, path: &Path) -> Result<()>;

    /// Entries of a directory, ordered by name; `None` when there is no such directory.
    fn list(&self, path: &Path) -> Result<Option<Vec<DirEntry>>>;

    /// Size of a file in bytes; `None` when there is no such file.
    fn size_bytes(&self, path: &Path) -> Result<Option<u64>>;

    /// Sets the time of a file's last change, in seconds. Does nothing if the file does not exist.
    fn set_modified(&self, path: &Path, seconds: i64) -> Result<()>;

    /// Opens a file for reading; `None` when there is no such file.
    fn open(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>>;

    /// Opens a file for reading and writing; `None` when there is no such file.
    fn open_writable(&self, path: &Path) -> Result<Option<Box<dyn DiskFile>>>;

    /// Creates an empty file, readable and writable by its owner only; an existing one is
    /// truncated.
    fn create(&self, path: &Path) -> Result<Box<dyn DiskFile>>;

    /// Gives a file or a directory its name, replacing any file of that name. Durable after
    /// [`Disk::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;

    /// Gives a file a second name (a hard link), which must be free. Durable after
    /// [`Disk::sync_dir`]. Not every file system supports it.
    fn link(&self, from: &Path, to: &Path) -> Result<()>;

    /// Exchanges the names of two directories at once. Durable after [`Disk::sync_dir`].
    fn exchange(&self, one: &Path, other: &Path) -> Result<()>;

    /// Returns true if another file system, or a part of one, is mounted at a directory: it cannot
    /// be renamed.
    fn is_mount_point(&self, _path: &Path) -> Result<bool> {
        Ok(false)
    }

    /// Removes a file; false when there is no such file.
    fn remove(&self, path: &Path) -> Result<bool>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> Result<()>;

    /// A sync of everything below a directory that is written from now on. `None` where the file
    /// system cannot be relied on to do that, or to report what failed.
    fn whole_sync(&self, _path: &Path) -> Result<Option<Box<dyn WholeSync>>> {
        Ok(None)
    }

    /// Count of bytes that may still be written to the file system of `path`.
    fn free_bytes(&self, path: &Path) -> Result<u64>;

    /// Takes the lock file for this process, until the lock is dropped or the process ends.
    ///
    /// Errors: [`crate::Error::Locked`] with the id of the process that holds it.
    fn lock(&self, path: &Path) -> Result<DirLock>;
}

/// A sync of a whole file system, from [`Disk::whole_sync`].
pub trait WholeSync: Send {
    /// Makes all contents and names durable that were written since this was made.
    ///
    /// Errors: some of them may not be durable.
    fn sync(&self) -> io::Result<()>;
}

/// An open file. Positions are bytes from its start; there is no current position.
pub trait DiskFile: Send + Sync {
    /// Size of the file in bytes.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Fills `buffer` from `offset`; a file that ends earlier is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all bytes at `offset`, beyond the end if necessary.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Truncates the file, or extends it with zeros.
    fn set_size(&self, size_bytes: u64) -> io::Result<()>;

    /// Makes the file's content and size durable.
    fn sync(&self) -> io::Result<()>;

    /// Maps the current content of the file.
    fn map(&self) -> io::Result<Mapping>;

    /// Extends the file with zeros to `size_bytes` or more, with reserved space, and maps that much
    /// of it for writing. `None` where no space can be reserved: a write to a mapping cannot fail,
    /// so its space must be there beforehand.
    fn reserve(&self, size_bytes: u64) -> io::Result<Option<WritableMapping>>;

    /// Returns the underlying open file.
    fn into_os_file(self: Box<Self>) -> OsFile;
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DirEntry {
    /// The name, without its directory; bytes that are not UTF-8 are replaced.
    pub name: String,
    /// True for a directory.
    pub is_dir: bool,
    /// Size of a file, in bytes.
    pub size_bytes: u64,
    /// Time of its last change, in seconds since 1970.
    pub modified_seconds: i64,
}

/// A lock that is held as long as this lives.
#[derive(Debug)]
pub struct DirLock {
    _file: File,
}

impl DirLock {
    /// Wraps an open and locked file.
    pub(super) fn new(file: File) -> Self {
        Self { _file: file }
    }
}
