//! A stored document: the parts of a record that an answer and a download need.
//!
//! ```text
//! offset  bytes  field
//! 0       4      upstream's count of downloads
//! 4       1      number of digits of the catalog id, 0 for none
//! 5       5      number of the catalog id
//! 10      1      bytes of the release id, 0 for none
//! 11      2      bytes of the file name, 0 for none
//! 13      7      number of the parent catalog id plus 1, 0 for none
//! 20      1      number of digits of the parent catalog id
//! 21      …      release id, file name, answer fragment
//! ```

use crate::codec::{fragment_id, fragment_time, write_fragment};
use crate::model::{CatalogId, Record, RecordId};

const HEAD_BYTES: usize = 21;
const PARENT_DIGITS_SHIFT: u32 = 56;

/// A view of a stored document.
#[derive(Debug, Clone, Copy)]
pub struct StoredDoc<'a> {
    head: &'a [u8; HEAD_BYTES],
    release: &'a [u8],
    file_name: &'a [u8],
    fragment: &'a [u8],
}

/// Appends a record as a document.
pub(crate) fn write_document(record: &Record, out: &mut Vec<u8>) {
    let release = record
        .source_release_id
        .as_ref()
        .map_or("", |id| id.as_str());
    let file_name = record.file_name.as_ref().map_or("", |name| name.as_str());
    let release_bytes = u8::try_from(release.len()).expect("a release id has at most 200 bytes");
    let name_bytes = u16::try_from(file_name.len()).expect("a file name has at most 1,020 bytes");
    let catalog_number = record.catalog_id.map_or(0, CatalogId::number);
    let parent = record.parent_catalog_id.map_or(0, |id| {
        u64::from(id.digits_count()) << PARENT_DIGITS_SHIFT | (id.number() + 1)
    });
    out.extend_from_slice(&record.downloads.to_le_bytes());
    out.push(record.catalog_id.map_or(0, CatalogId::digits_count));
    out.extend_from_slice(&catalog_number.to_le_bytes()[..5]);
    out.push(release_bytes);
    out.extend_from_slice(&name_bytes.to_le_bytes());
    out.extend_from_slice(&parent.to_le_bytes());
    out.extend_from_slice(release.as_bytes());
    out.extend_from_slice(file_name.as_bytes());
    write_fragment(record, out);
}

impl<'a> StoredDoc<'a> {
    /// View of a document, or `None` when the bytes are not one. Release id and file name are
    /// checked when they are read: a search answer needs neither.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk()?;
        let release_bytes = usize::from(head[10]);
        let name_bytes = usize::from(u16::from_le_bytes([head[11], head[12]]));
        let (release, rest) = rest.split_at_checked(release_bytes)?;
        let (file_name, fragment) = rest.split_at_checked(name_bytes)?;
        Some(Self {
            head,
            release,
            file_name,
            fragment,
        })
    }

    /// Upstream's count of downloads.
    pub fn downloads(&self) -> u32 {
        let [a, b, c, d, ..] = *self.head;
        u32::from_le_bytes([a, b, c, d])
    }

    /// Catalog id of the document.
    pub fn catalog_id(&self) -> Option<CatalogId> {
        // Five bytes hold any number of twelve digits.
        let mut number = [0; 8];
        number[..5].copy_from_slice(&self.head[5..10]);
        catalog_id(u64::from_le_bytes(number), self.head[4])
    }

    /// The catalog id of its series.
    pub(crate) fn parent_catalog_id(&self) -> Option<CatalogId> {
        let digits_count = (self.parent() >> PARENT_DIGITS_SHIFT) as u8;
        catalog_id(self.parent_catalog_number()?, digits_count)
    }

    /// Numeric part of its series' catalog id.
    pub(crate) fn parent_catalog_number(&self) -> Option<u64> {
        let number = self.parent() & ((1 << PARENT_DIGITS_SHIFT) - 1);
        number.checked_sub(1)
    }

    /// Digits and numeric part of its series' catalog id, in the stored form.
    fn parent(&self) -> u64 {
        let bytes = self.head[13..]
            .try_into()
            .expect("the head ends in eight bytes");
        u64::from_le_bytes(bytes)
    }

    /// Identifier of its file at the upstream source.
    pub fn source_release_id(&self) -> Option<&'a str> {
        text(self.release)
    }

    /// Original name of its file.
    pub fn file_name(&self) -> Option<&'a str> {
        text(self.file_name)
    }

    /// Answer fragment of the document.
    pub fn fragment(&self) -> &'a [u8] {
        self.fragment
    }

    /// Returns true if this document is exactly that of the record.
    pub(crate) fn is_of(&self, record: &Record) -> bool {
        let mut expected = Vec::new();
        write_document(record, &mut expected);
        let parts = [&self.head[..], self.release, self.file_name, self.fragment];
        parts.concat() == expected
    }

    /// Id of the document's record.
    pub(crate) fn id(&self) -> Option<RecordId> {
        fragment_id(self.fragment)
    }

    /// The text of its time.
    pub(crate) fn time(&self) -> Option<&'a [u8]> {
        fragment_time(self.fragment)
    }
}

/// A catalog id with its leading zeros; none of no digits.
fn catalog_id(number: u64, digits_count: u8) -> Option<CatalogId> {
    let digits_count = usize::from(digits_count);
    if digits_count == 0 {
        return None;
    }
    CatalogId::from_digits(&format!("{number:0digits_count$}"))
}

/// A text, or none when it is empty. Damaged bytes fail their checksum before this.
fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileName, ReleaseId};

    fn record() -> Record {
        Record {
            catalog_id: CatalogId::parse("tt000999999999"),
            parent_catalog_id: CatalogId::parse("tt000"),
            downloads: u32::MAX,
            source_release_id: ReleaseId::parse("r-1"),
            file_name: FileName::parse("ñ.srt"),
            ..Record::new(RecordId::from_bytes([7; 16]), "Ran")
        }
    }

    #[test]
    fn gives_back_what_was_stored() {
        let record = record();
        let mut bytes = Vec::new();
        write_document(&record, &mut bytes);
        let doc = StoredDoc::read(&bytes).unwrap();
        assert_eq!(doc.downloads(), u32::MAX);
        assert_eq!(doc.catalog_id(), record.catalog_id);
        assert_eq!(doc.parent_catalog_number(), Some(0));
        assert_eq!(doc.parent_catalog_id(), record.parent_catalog_id);
        assert_eq!(doc.source_release_id(), Some("r-1"));
        assert_eq!(doc.file_name(), Some("ñ.srt"));
        assert_eq!(doc.id(), Some(record.id));
        assert_eq!(doc.time(), Some(&b"1970-01-01T00:00:00Z"[..]));
    }

    #[test]
    fn what_is_not_there_is_none() {
        let mut record = record();
        record.catalog_id = None;
        record.parent_catalog_id = None;
        record.source_release_id = None;
        record.file_name = None;
        let mut bytes = Vec::new();
        write_document(&record, &mut bytes);
        let doc = StoredDoc::read(&bytes).unwrap();
        assert_eq!(doc.catalog_id(), None);
        assert_eq!(doc.parent_catalog_number(), None);
        assert_eq!(doc.parent_catalog_id(), None);
        assert_eq!(doc.source_release_id(), None);
        assert_eq!(doc.file_name(), None);
    }

    #[test]
    fn refuses_a_truncated_document() {
        let mut bytes = Vec::new();
        write_document(&record(), &mut bytes);
        for len in 0..HEAD_BYTES + 8 {
            assert!(StoredDoc::read(&bytes[..len]).is_none(), "{len}");
        }
    }
}
