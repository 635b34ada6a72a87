//! Deleted documents of a segment.

use roaring::RoaringBitmap;

use crate::error::{Error, Result};

/// Documents of one segment that were replaced, deleted or made inactive since it was written.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tombstones {
    docs: RoaringBitmap,
}

impl Tombstones {
    /// Tombstones of a segment without deleted documents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Deletes a document. Returns false if it was deleted before.
    pub fn insert(&mut self, doc: u32) -> bool {
        self.docs.insert(doc)
    }

    /// True if the document is deleted. Cost: a search among containers, then in one.
    pub fn contains(&self, doc: u32) -> bool {
        self.docs.contains(doc)
    }

    /// Number of deleted documents.
    pub fn len(&self) -> u64 {
        self.docs.len()
    }

    /// True if no document is deleted.
    pub fn is_empty(&self) -> bool {
        self.docs.is_empty()
    }

    /// Deleted documents, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.docs.iter()
    }

    /// The bitmap in roaring's portable format.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.docs.serialized_size());
        self.docs
            .serialize_into(&mut bytes)
            .expect("a vector takes every write");
        bytes
    }

    /// Reads what [`Tombstones::to_bytes`] wrote for the segment `name` of `docs_count` documents.
    ///
    /// Errors: [`Error::Corrupt`] when it is not a bitmap, has bytes left over, or names a document
    /// that the segment does not have.
    pub fn from_bytes(bytes: &[u8], name: &str, docs_count: u32) -> Result<Self> {
        let corrupt = |expected| Error::corrupt(format!("tombstones of {name}"), 0, expected);
        let mut rest = bytes;
        let docs =
            RoaringBitmap::deserialize_from(&mut rest).map_err(|_| corrupt("a roaring bitmap"))?;
        if !rest.is_empty() {
            return Err(corrupt("the end of the bitmap at the end of the bytes"));
        }
        if docs.max().is_some_and(|doc| doc >= docs_count) {
            return Err(corrupt("documents of the segment only"));
        }
        Ok(Self { docs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comes_back_from_bytes() {
        let mut tombstones = Tombstones::new();
        assert!(tombstones.insert(7));
        assert!(tombstones.insert(70_000));
        assert!(!tombstones.insert(7));
        let bytes = tombstones.to_bytes();
        let read = Tombstones::from_bytes(&bytes, "x", 70_001).unwrap();
        assert_eq!(read, tombstones);
        assert_eq!(read.iter().collect::<Vec<_>>(), [7, 70_000]);
    }

    #[test]
    fn refuses_foreign_documents_and_damage() {
        let mut tombstones = Tombstones::new();
        tombstones.insert(9);
        let mut bytes = tombstones.to_bytes();
        assert!(Tombstones::from_bytes(&bytes, "x", 9).is_err());
        bytes.push(0);
        assert!(Tombstones::from_bytes(&bytes, "x", 10).is_err());
        assert!(Tombstones::from_bytes(b"nonsense", "x", 10).is_err());
        assert!(Tombstones::from_bytes(&[], "x", 10).is_err());
    }
}
