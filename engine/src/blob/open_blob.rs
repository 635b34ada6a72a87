//! An open blob.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::disk::{Mapping, OsFile};

/// Stored bytes, mapped and open.
#[derive(Debug)]
pub struct Blob {
    mapping: Mapping,
    file: OsFile,
    size_bytes: usize,
    is_truncated: AtomicBool,
    /// A number for the serving path, which has a clock.
    resident_stamp: AtomicU64,
}

impl Blob {
    /// Wraps the first `size_bytes` bytes of a checked file.
    pub(super) fn new(mapping: Mapping, file: OsFile, size_bytes: usize) -> Self {
        assert!(size_bytes <= mapping.as_ref().len());
        Self {
            mapping,
            file,
            size_bytes,
            is_truncated: AtomicBool::new(false),
            resident_stamp: AtomicU64::new(0),
        }
    }

    /// The mapped bytes. If the file is truncated while it is mapped, the missing ones read as
    /// zeros: the serving path sends from [`Blob::file`] instead.
    pub fn bytes(&self) -> &[u8] {
        &self.mapping.as_ref()[..self.size_bytes]
    }

    /// Count of bytes from the start of `range`, within the blob, that can be read without waiting
    /// for the disk; 0 if the first is not in memory. Cost: a system call.
    pub fn resident_bytes(&self, range: Range<usize>) -> usize {
        self.mapping.resident_bytes(range)
    }

    /// The stamp noted when the whole blob was last known to be in memory; 0 before.
    pub fn resident_stamp(&self) -> u64 {
        self.resident_stamp.load(Ordering::Relaxed)
    }

    /// Notes a number for [`Blob::resident_stamp`].
    pub fn set_resident_stamp(&self, stamp: u64) {
        self.resident_stamp.store(stamp, Ordering::Relaxed);
    }

    /// The open file, for zero-copy: its first [`Blob::size_bytes`] bytes are the blob.
    pub fn file(&self) -> &OsFile {
        &self.file
    }

    /// Marks the file as truncated, as found by a sender or reader: the next request opens and
    /// checks it anew.
    pub fn mark_truncated(&self) {
        self.is_truncated.store(true, Ordering::Release);
    }

    /// Returns true if a reader found the file truncated. Cost: an atomic load.
    #[inline]
    pub fn is_truncated(&self) -> bool {
        self.is_truncated.load(Ordering::Acquire)
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes as u64
    }
}
