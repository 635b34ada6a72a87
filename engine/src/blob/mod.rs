//! Here is a SHA-256: where is the file?

use std::fs::File;

/// Stored bytes, mapped and open.
pub struct Blob {}

impl Blob {
    /// The mapped bytes. Touching them may fault when the file is cut under us: the serving path
    /// sends from [`Blob::file`] instead.
    pub fn bytes(&self) -> &[u8] {
        todo!()
    }

    /// The open file, for zero-copy.
    pub fn file(&self) -> &File {
        todo!()
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        todo!()
    }
}
