//! Open files, and what the operations of a disk return.

use std::fs::File;
use std::io;

use super::{Mapping, WritableMapping};

/// An open file of the operating system, for zero-copy answers.
pub type OsFile = File;

/// A sync of a whole file system, from [`Disk::whole_sync`](super::Disk::whole_sync).
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
