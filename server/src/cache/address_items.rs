//! Items of searches below addresses, prepared.

use std::ops::Range;
use std::sync::Arc;

use subcat_engine::RecordId;

use super::snapshot_cache::SnapshotCache;

/// Bytes of an entry besides its JSON and its title.
const ENTRY_BYTES: usize = 256;

/// The parts of an item that follow from its title.
pub struct ItemTitle {
    /// The title.
    pub text: Box<str>,
    /// True if it is the title of an episode.
    pub is_episode: bool,
    /// Foldings of its names, joined by LF, which is in none of them.
    pub folded_names: Box<str>,
    /// Fields of the item with the first name.
    pub fields: Box<[u8]>,
    /// Starts of the lines of the first release in JSON, joined by zeros, which no JSON has.
    pub line_starts: Box<[u8]>,
}

/// An item of a search below an address, as far as it follows from its record. It lacks the count
/// of downloads, which changes without an import.
pub struct AddressItem {
    /// The parts that follow from its title: records with one title may share them.
    pub title: Arc<ItemTitle>,
    /// Year of the record.
    pub year: Option<u16>,
    /// Season of the record.
    pub season: Option<u16>,
    /// Episode of the record.
    pub episode: Option<u16>,
    /// JSON from `{"id":` to `"downloads":`, without the fields of the title and the first release.
    pub json: Box<[u8]>,
    /// Place of the language in the JSON, for which a request may have another name.
    pub language: Range<usize>,
    /// Place of the first release in the JSON.
    pub release_start: usize,
}

impl ItemTitle {
    fn memory_bytes(&self) -> usize {
        self.text.len() + self.folded_names.len() + self.fields.len() + self.line_starts.len()
    }
}

/// A worker's prepared items by record.
pub struct AddressItems(SnapshotCache<RecordId, Arc<AddressItem>>);

impl AddressItems {
    /// An empty cache of at most `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self(SnapshotCache::new(bytes_max))
    }

    /// The item of a record, if it was put there in this snapshot.
    pub fn get(&mut self, snapshot_id: u64, id: RecordId) -> Option<Arc<AddressItem>> {
        self.0.get(snapshot_id, &id)
    }

    /// Caches the item of a record, prepared from this snapshot. Its weight includes the title:
    /// this entry may be the last to hold it.
    pub fn put(&mut self, snapshot_id: u64, id: RecordId, item: Arc<AddressItem>) {
        let weight = item.json.len() + item.title.memory_bytes() + ENTRY_BYTES;
        self.0.put(snapshot_id, id, item, weight);
    }

    /// Bytes of all entries.
    pub fn memory_bytes(&self) -> usize {
        self.0.weight()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json_bytes: usize) -> Arc<AddressItem> {
        let title = ItemTitle {
            text: "Ran".into(),
            is_episode: false,
            folded_names: "ran".into(),
            fields: Box::default(),
            line_starts: Box::default(),
        };
        Arc::new(AddressItem {
            title: Arc::new(title),
            year: None,
            season: None,
            episode: None,
            json: vec![b'x'; json_bytes].into(),
            language: 0..0,
            release_start: 0,
        })
    }

    #[test]
    fn items_take_no_more_than_their_room() {
        const BYTES_MAX: usize = 100_000;
        let mut items = AddressItems::new(BYTES_MAX);
        for number in 0..1_000_u32 {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&number.to_le_bytes());
            let id = RecordId::from_bytes(id);
            assert!(items.get(1, id).is_none());
            items.put(1, id, item(number as usize));
            assert!(items.get(1, id).is_some());
            assert!(items.memory_bytes() <= BYTES_MAX);
        }
        let id = RecordId::from_bytes([9; 16]);
        items.put(1, id, item(BYTES_MAX));
        assert!(items.get(1, id).is_none());
        assert!(BYTES_MAX / 4 < items.memory_bytes());
    }

    #[test]
    fn items_are_those_of_the_snapshot() {
        let mut items = AddressItems::new(100_000);
        let id = RecordId::from_bytes([1; 16]);
        assert!(items.get(1, id).is_none());
        items.put(1, id, item(1));
        assert!(items.get(2, id).is_none(), "prepared from the one before");
        items.put(1, id, item(1));
        assert!(items.get(2, id).is_none(), "prepared too late");
        assert_eq!(items.memory_bytes(), 0);
    }
}
