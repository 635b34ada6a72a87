//! A segment's bytes as documents and postings.

use bytes::Bytes;

use crate::error::Result;
use crate::model::RecordId;

/// An open segment: bytes of a mapped file, or of the heap.
pub struct Segment {}

impl Segment {
    /// Checks header, footer and dictionaries; every other block is checked at its first use.
    ///
    /// `name` is the file below the data directory, for errors. Errors: [`crate::Error::Corrupt`].
    pub fn open(_bytes: Bytes, _name: &str) -> Result<Self> {
        todo!()
    }

    /// The name that it was opened with.
    pub fn name(&self) -> &str {
        todo!()
    }

    /// How many documents, tombstones not counted off.
    pub fn len(&self) -> u32 {
        todo!()
    }

    /// Whether it holds no document.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the whole segment, and bytes of it that hold documents.
    pub fn size_bytes(&self) -> (u64, u64) {
        todo!()
    }

    /// The document with this id. Cost: an interpolation search.
    pub fn find(&self, _id: RecordId) -> Result<Option<u32>> {
        todo!()
    }

    /// The id of a document. Panics when there is no such document.
    pub fn id(&self, _doc: u32) -> Result<RecordId> {
        todo!()
    }

    /// Checks every block and every structure, whether used or not: for the scrubber.
    pub fn verify_all(&self) -> Result<()> {
        todo!()
    }
}
