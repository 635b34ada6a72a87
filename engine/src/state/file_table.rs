//! The cached files by release, in memory.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet, HashTable};

use crate::codec::StoredValue;
use crate::error::Result;
use crate::limits::MADE_TEXT_OVERHEAD_BYTES;
use crate::model::{CachedFile, ContentHash, ReleaseId, is_of_made_text};

/// Release → cached file. An entry is kept as one piece of bytes, about as in its row: as values,
/// two hundred thousand files would take half as much memory again.
#[derive(Default)]
pub(super) struct FileTable {
    hasher: RandomState,
    entries: HashTable<FileEntry>,
    /// Counts of releases by the first bytes of their content's hash.
    sharing: HashMap<u64, u32, RandomState>,
    blob_bytes: u64,
    /// Bytes of texts that were made from other files, with their overhead.
    made_bytes: u64,
}

/// Length of the release, in a byte; the release; the file in its stored form.
struct FileEntry(Box<[u8]>);

impl FileTable {
    /// A table with room for this many files.
    pub(super) fn with_room(files_count: u64) -> Self {
        let files_count = files_count as usize;
        Self {
            entries: HashTable::with_capacity(files_count),
            sharing: HashMap::with_capacity_and_hasher(files_count, RandomState::default()),
            ..Self::default()
        }
    }

    /// Count of files.
    pub(super) fn len(&self) -> u64 {
        self.entries.len() as u64
    }

    /// Size of all blobs, in bytes. Of blobs with hashes that begin alike, one counts.
    pub(super) fn blob_bytes(&self) -> u64 {
        self.blob_bytes
    }

    /// Bytes of the texts that were made from other files, with their overhead. Of equal contents
    /// each counts.
    pub(super) fn made_bytes(&self) -> u64 {
        self.made_bytes
    }

    /// The file of a release.
    pub(super) fn get(&self, release: &ReleaseId) -> Option<CachedFile> {
        let release = release.as_str().as_bytes();
        let found = self.entries.find(self.hasher.hash_one(release), |entry| {
            entry.release() == release
        });
        found.map(FileEntry::file)
    }

    /// Stores the file of a release, in place of an earlier one.
    pub(super) fn insert(&mut self, release: &ReleaseId, file: &CachedFile) {
        self.put(file, FileEntry::new(release, &file.encode()));
    }

    /// Stores the file of a row. Errors: the row is damaged.
    pub(super) fn insert_row(&mut self, release: &ReleaseId, stored: &[u8]) -> Result<()> {
        let file = CachedFile::decode(stored)?;
        self.put(&file, FileEntry::new(release, stored));
        Ok(())
    }

    fn put(&mut self, file: &CachedFile, entry: FileEntry) {
        self.count_in(file);
        self.made_bytes += entry.made_bytes(file);
        let hash = self.hasher.hash_one(entry.release());
        let is_same = |other: &FileEntry| other.release() == entry.release();
        if let Some(old) = self.entries.find_mut(hash, is_same) {
            let old = std::mem::replace(old, entry);
            self.count_out(&old);
            return;
        }
        let hasher = &self.hasher;
        self.entries
            .insert_unique(hash, entry, |entry| hasher.hash_one(entry.release()));
    }

    /// Removes the file of a release, if there is one.
    pub(super) fn remove(&mut self, release: &ReleaseId) {
        let release = release.as_str().as_bytes();
        let found = self
            .entries
            .find_entry(self.hasher.hash_one(release), |entry| {
                entry.release() == release
            });
        if let Ok(found) = found {
            let (entry, _) = found.remove();
            self.count_out(&entry);
        }
    }

    /// Returns true if a file has this content, or one with a hash that begins alike.
    pub(super) fn has_content(&self, content: ContentHash) -> bool {
        self.sharing.contains_key(&beginning(content))
    }

    /// Releases with a file that has one of these contents. Cost: a look at each file.
    pub(super) fn releases_of(
        &self,
        contents: &HashSet<ContentHash, RandomState>,
    ) -> Vec<ReleaseId> {
        let entries = self.entries.iter();
        let with_content = entries.filter(|entry| contents.contains(&entry.file().content));
        let releases = with_content.filter_map(|entry| {
            let text = std::str::from_utf8(entry.release()).ok()?;
            ReleaseId::parse(text)
        });
        releases.collect()
    }

    /// Hashes of the files that imports brought. Cost: a look at each file.
    pub(super) fn brought_contents(&self) -> HashSet<ContentHash, RandomState> {
        let brought = self.files().filter(|file| file.is_brought);
        brought.map(|file| file.content).collect()
    }

    /// Contents of made texts that no other file has. Cost: two looks at each file.
    pub(super) fn made_contents(&self) -> HashSet<ContentHash, RandomState> {
        let is_made = |entry: &&FileEntry| is_of_made_text(entry.release());
        let made = self.entries.iter().filter(is_made);
        let mut contents: HashSet<ContentHash, RandomState> =
            made.map(|entry| entry.file().content).collect();
        for entry in self.entries.iter().filter(|entry| !is_made(entry)) {
            contents.remove(&entry.file().content);
        }
        contents
    }

    /// The files, in no order.
    pub(super) fn files(&self) -> impl Iterator<Item = CachedFile> {
        self.entries.iter().map(FileEntry::file)
    }

    fn count_in(&mut self, file: &CachedFile) {
        let sharing = self.sharing.entry(beginning(file.content)).or_insert(0);
        if *sharing == 0 {
            self.blob_bytes += file.size_bytes;
        }
        *sharing += 1;
    }

    fn count_out(&mut self, entry: &FileEntry) {
        let file = entry.file();
        self.made_bytes -= entry.made_bytes(&file);
        let beginning = beginning(file.content);
        let Some(sharing) = self.sharing.get_mut(&beginning) else {
            return;
        };
        *sharing -= 1;
        if *sharing == 0 {
            self.sharing.remove(&beginning);
            self.blob_bytes = self.blob_bytes.saturating_sub(file.size_bytes);
        }
    }
}

impl FileEntry {
    fn new(release: &ReleaseId, stored: &[u8]) -> Self {
        let release = release.as_str().as_bytes();
        let mut entry = Vec::with_capacity(1 + release.len() + stored.len());
        entry.push(release.len() as u8);
        entry.extend_from_slice(release);
        entry.extend_from_slice(stored);
        Self(entry.into())
    }

    /// Bytes that count for a made text; 0 for any other file.
    fn made_bytes(&self, file: &CachedFile) -> u64 {
        if is_of_made_text(self.release()) {
            file.size_bytes + MADE_TEXT_OVERHEAD_BYTES
        } else {
            0
        }
    }

    fn release(&self) -> &[u8] {
        &self.0[1..1 + usize::from(self.0[0])]
    }

    fn file(&self) -> CachedFile {
        let stored = &self.0[1 + usize::from(self.0[0])..];
        CachedFile::decode(stored).expect("it was encoded or decoded here before")
    }
}

/// The first bytes of a hash, as a number.
fn beginning(content: ContentHash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = content.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

const _: () = assert!(crate::limits::RELEASE_ID_BYTES_MAX <= u8::MAX as usize);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::model::{FileKind, FileName};

    fn file(content: u8) -> CachedFile {
        CachedFile {
            content: ContentHash([content; 32]),
            size_bytes: 1000 + u64::from(content),
            checksum: 7,
            kind: FileKind::Srt,
            upstream_name: FileName::parse(&"x".repeat(content.into())),
            refetch_at: None,
            is_brought: false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_a_plain_map(steps in prop::collection::vec((1..9u8, 0..4u8), 0..60)) {
            let mut table = FileTable::with_room(3);
            let mut plain = BTreeMap::new();
            for (number, content) in steps {
                if number == 8 {
                    let release = ReleaseId::parse(&"r".repeat(1 + usize::from(content))).unwrap();
                    table.remove(&release);
                    plain.remove(&release);
                } else {
                    let release = ReleaseId::parse(&"r".repeat(number.into())).unwrap();
                    // Both ways in are the same.
                    if number % 2 == 0 {
                        table.insert(&release, &file(content));
                    } else {
                        let stored = file(content).encode();
                        table.insert_row(&release, &stored).unwrap();
                        assert!(table.insert_row(&release, &stored[..stored.len() - 1]).is_err());
                    }
                    plain.insert(release, content);
                }
                let mut contents: Vec<u8> = plain.values().copied().collect();
                let mut found: Vec<u8> = table.files().map(|file| file.content.0[0]).collect();
                contents.sort_unstable();
                found.sort_unstable();
                prop_assert_eq!(&found, &contents);
                contents.dedup();
                let bytes = contents.iter().map(|content| file(*content).size_bytes).sum::<u64>();
                prop_assert_eq!((table.len(), table.blob_bytes()), (plain.len() as u64, bytes));
                for (release, content) in &plain {
                    prop_assert_eq!(table.get(release), Some(file(*content)));
                }
            }
        }
    }
}
