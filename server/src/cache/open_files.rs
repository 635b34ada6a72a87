//! Open files of a worker.

use std::sync::Arc;

use bytes::Bytes;
use subcat_engine::{Blob, ContentHash, Variant};

use super::generations::Generations;
use crate::limits::{OPEN_FILES_MAX, OPEN_FILES_MIN};
use crate::runtime::{Content, StoredBytes};

/// A file, ready to be sent.
#[derive(Clone)]
pub enum OpenFile {
    /// A small file, in memory.
    Read(Bytes),
    /// A large file, open and mapped.
    Mapped(Arc<Blob>),
    /// A compressed variant that would not be smaller than the file and was not stored.
    Useless,
}

impl OpenFile {
    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Read(bytes) => bytes.len() as u64,
            Self::Mapped(blob) => blob.size_bytes(),
            Self::Useless => 0,
        }
    }

    /// The bytes, to be read on a blocking thread.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Read(bytes) => bytes,
            Self::Mapped(blob) => blob.bytes(),
            Self::Useless => &[],
        }
    }

    /// The bytes from `start` to `end` (exclusive) as content of a response. Both are within the
    /// size.
    pub fn content(&self, start: u64, end: u64) -> Content {
        let bound = |bytes: u64| usize::try_from(bytes).expect("a mapped size fits an address");
        let range = bound(start)..bound(end);
        match self {
            Self::Read(bytes) => Content::Bytes(bytes.slice(range)),
            Self::Mapped(blob) => Content::File(Arc::clone(blob) as Arc<dyn StoredBytes>, range),
            Self::Useless => Content::Empty,
        }
    }
}

/// A worker's open files by content and variant: a repeated download opens nothing.
pub struct OpenFiles {
    files: Generations<(ContentHash, Variant), OpenFile>,
    /// Weight of a file that takes a descriptor; others weigh 1. So one bound limits both.
    mapped_weight: usize,
}

impl OpenFiles {
    /// No open files; later at most `mapped_max` that take a descriptor.
    pub fn new(mapped_max: usize) -> Self {
        let mapped_max = mapped_max.clamp(OPEN_FILES_MIN, OPEN_FILES_MAX);
        Self {
            files: Generations::new(OPEN_FILES_MAX),
            mapped_weight: OPEN_FILES_MAX.div_ceil(mapped_max),
        }
    }

    /// An open file; `None` if it was found truncated, so that it is opened anew.
    pub fn get(&mut self, content: ContentHash, variant: Variant) -> Option<OpenFile> {
        let open = self.files.get(&(content, variant))?;
        match &open {
            OpenFile::Mapped(blob) if blob.is_truncated() => None,
            _ => Some(open),
        }
    }

    /// Closes the files that `is_wanted` rejects, by their hashes.
    pub fn retain(&mut self, is_wanted: impl Fn(ContentHash) -> bool) {
        self.files.retain(|(content, _)| is_wanted(*content));
    }

    /// Keeps a file open.
    pub fn put(&mut self, content: ContentHash, variant: Variant, file: OpenFile) {
        let weight = match file {
            OpenFile::Mapped(_) => self.mapped_weight,
            OpenFile::Read(_) | OpenFile::Useless => 1,
        };
        self.files.put((content, variant), file, weight);
    }
}
