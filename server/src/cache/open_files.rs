//! Open files by content.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::blob::Blob;
use subcat_engine::model::{ContentHash, Variant};

use super::generations::Generations;
use crate::runtime::{Body, StoredBytes};

/// Files that a worker keeps open or in memory, at most.
const FILES_MAX: usize = 2048;

/// A file that is ready to be sent.
#[derive(Clone)]
pub enum OpenFile {
    /// A small one, read.
    Read(Bytes),
    /// A large one, open and mapped.
    Mapped(Arc<Blob>),
    /// A variant that would not be smaller, so that there is none.
    Useless,
}

impl OpenFile {
    /// Its size in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Read(bytes) => bytes.len() as u64,
            Self::Mapped(blob) => blob.size_bytes(),
            Self::Useless => 0,
        }
    }

    /// The bytes from `start` to before `end`, which are within its size, as a body.
    pub fn body(&self, start: u64, end: u64) -> Body {
        let bound = |bytes: u64| usize::try_from(bytes).expect("a mapped size fits an address");
        let range = bound(start)..bound(end);
        match self {
            Self::Read(bytes) => Body::Bytes(bytes.slice(range)),
            Self::Mapped(blob) => Body::File(Arc::clone(blob) as Arc<dyn StoredBytes>, range),
            Self::Useless => Body::Empty,
        }
    }
}

/// A worker's open files: a download that is repeated opens nothing.
pub struct OpenFiles {
    files: Generations<(ContentHash, Variant), OpenFile>,
}

impl OpenFiles {
    /// None open.
    pub fn new() -> Self {
        Self {
            files: Generations::new(FILES_MAX),
        }
    }

    /// A file that is open.
    pub fn get(&mut self, content: ContentHash, variant: Variant) -> Option<OpenFile> {
        self.files.get(&(content, variant))
    }

    /// Keeps a file open.
    pub fn put(&mut self, content: ContentHash, variant: Variant, file: OpenFile) {
        self.files.put((content, variant), file, 1);
    }
}

impl Default for OpenFiles {
    fn default() -> Self {
        Self::new()
    }
}
