//! Files as bodies: hyper gets addresses, the socket sends from the file.
//!
//! hyper takes bodies as bytes in memory. So a file's body is a slice of its mapping that is never
//! read: the slice keeps hyper's accounting of lengths right, and keeps the file open while it is
//! in hyper's queue. When the slice comes back in a write, its address identifies the file and the
//! bytes to send, and `sendfile` takes them from the file itself. To read through the mapping would
//! copy the bytes, and would end the process by `SIGBUS` if the file became shorter.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use subcat_engine::Blob;

use crate::limits::COLD_READ_BYTES;

/// An open and mapped file. The mapping gives its bytes addresses; they are sent from the file.
pub trait StoredBytes: Send + Sync {
    /// The open file.
    fn file(&self) -> &File;

    /// The mapped bytes, which must not be read.
    fn mapped(&self) -> &[u8];

    /// Marks the file as truncated: it is shorter than its mapping.
    fn mark_truncated(&self);

    /// Bytes from the start of `range` on that can be sent without waiting for the disk; 0 if the
    /// first of them is not in memory.
    fn resident_bytes(&self, range: Range<usize>) -> usize;

    /// The number that was noted when the whole file was last known to be in memory; 0 before.
    fn resident_stamp(&self) -> u64 {
        0
    }

    /// Notes a number for [`StoredBytes::resident_stamp`].
    fn set_resident_stamp(&self, _stamp: u64) {}

    /// Reads a range of the file, so that it is in memory. Blocks.
    fn read_in(&self, range: Range<usize>) {
        let mut buffer = vec![0; COLD_READ_BYTES.min(range.len())];
        let mut offset = range.start;
        while offset < range.end {
            let bytes_max = buffer.len().min(range.end - offset);
            // The error occurs again where the bytes are sent, and is reported there.
            match self.file().read_at(&mut buffer[..bytes_max], offset as u64) {
                Ok(0) => return,
                Ok(read_count) => offset += read_count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }
}

impl StoredBytes for Blob {
    fn file(&self) -> &File {
        Blob::file(self)
    }

    fn mapped(&self) -> &[u8] {
        self.bytes()
    }

    fn mark_truncated(&self) {
        Blob::mark_truncated(self);
    }

    fn resident_bytes(&self, range: Range<usize>) -> usize {
        Blob::resident_bytes(self, range)
    }

    fn resident_stamp(&self) -> u64 {
        Blob::resident_stamp(self)
    }

    fn set_resident_stamp(&self, stamp: u64) {
        Blob::set_resident_stamp(self, stamp);
    }
}

/// Owner of a body's bytes: keeps the mapping while hyper holds an address in it.
struct MappedBytes(Arc<dyn StoredBytes>);

impl AsRef<[u8]> for MappedBytes {
    fn as_ref(&self) -> &[u8] {
        self.0.mapped()
    }
}

/// The addresses of a range of a file, as a body.
pub(super) fn addresses_of(stored: Arc<dyn StoredBytes>, range: Range<usize>) -> Bytes {
    Bytes::from_owner(MappedBytes(stored)).slice(range)
}

/// A file that is being sent, and the addresses that stand for its bytes.
///
/// The reference is weak: hyper's queue keeps the file open, and closes it with its last byte.
pub(super) struct FileInTransit {
    stored: Weak<dyn StoredBytes>,
    addresses: Range<usize>,
}

impl FileInTransit {
    pub(super) fn new(stored: &Arc<dyn StoredBytes>) -> Self {
        let start = stored.mapped().as_ptr().addr();
        Self {
            addresses: start..start + stored.mapped().len(),
            stored: Arc::downgrade(stored),
        }
    }

    /// Offset in the file of the bytes that this slice stands for; `None` if it is memory.
    pub(super) fn offset_of(&self, slice: &[u8]) -> Option<u64> {
        let address = slice.as_ptr().addr();
        // An empty slice may have any address.
        if slice.is_empty() || !self.addresses.contains(&address) {
            return None;
        }
        Some((address - self.addresses.start) as u64)
    }

    /// The file, while hyper holds its body.
    pub(super) fn stored(&self) -> Option<Arc<dyn StoredBytes>> {
        self.stored.upgrade()
    }
}
