//! The cached files by release, in memory.

use std::borrow::Cow;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet, HashTable};

use crate::codec::StoredValue;
use crate::error::Result;
use crate::limits::MADE_TEXT_OVERHEAD_BYTES;
use crate::model::{CachedFile, ContentHash, ReleaseId, is_of_made_text};

/// Release → cached file. Entries lie one after the other, about as in their rows: as pieces of
/// memory of their own, two hundred thousand files would take 28 MB in place of 17.
#[derive(Default)]
pub(super) struct FileTable {
    hasher: RandomState,
    /// Offsets of the entries.
    places: HashTable<usize>,
    entries: Vec<u8>,
    /// Bytes of entries that were removed or replaced.
    dead_bytes: usize,
    /// Counts of releases by the first bytes of their content's hash.
    sharing: HashMap<u64, u32, RandomState>,
    blob_bytes: u64,
    /// Bytes of texts that were made from other files, with their overhead.
    made_bytes: u64,
}

/// An entry: the length of the rest; the length of the release; the release; the file in its
/// stored form. The release that an import makes from the content is left out, with length 0.
#[derive(Clone, Copy)]
struct FileEntry<'e>(&'e [u8]);

/// Size of the length at the beginning of an entry.
const LENGTH_BYTES: usize = 2;

impl FileTable {
    /// A table with room for this many files.
    pub(super) fn with_room(files_count: u64) -> Self {
        let files_count = files_count as usize;
        Self {
            places: HashTable::with_capacity(files_count),
            sharing: HashMap::with_capacity_and_hasher(files_count, RandomState::default()),
            ..Self::default()
        }
    }

    /// Count of files.
    pub(super) fn len(&self) -> u64 {
        self.places.len() as u64
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
        let is_of = |place: &usize| FileEntry::at(&self.entries, *place).release() == release;
        let found = self.places.find(self.hasher.hash_one(release), is_of);
        found.map(|place| FileEntry::at(&self.entries, *place).file())
    }

    /// Stores the file of a release, in place of an earlier one.
    pub(super) fn insert(&mut self, release: &ReleaseId, file: &CachedFile) {
        self.put(release, file, &file.encode());
    }

    /// Stores the file of a row. Errors: the row is damaged.
    pub(super) fn insert_row(&mut self, release: &ReleaseId, stored: &[u8]) -> Result<()> {
        let file = CachedFile::decode(stored)?;
        self.put(release, &file, stored);
        Ok(())
    }

    fn put(&mut self, release: &ReleaseId, file: &CachedFile, stored: &[u8]) {
        let release = release.as_str().as_bytes();
        self.count_in(file);
        self.made_bytes += made_bytes(release, file);
        let new = self.entries.len();
        append_entry(&mut self.entries, release, file.content, stored);
        let entries = &self.entries;
        let release_at = |place: &usize| FileEntry::at(entries, *place).release();
        let hash = self.hasher.hash_one(release);
        let known = self
            .places
            .find_mut(hash, |place| release_at(place) == release);
        if let Some(place) = known {
            let old = std::mem::replace(place, new);
            self.count_out(old);
            self.compact();
            return;
        }
        let hasher = &self.hasher;
        let hash_at = |place: &usize| hasher.hash_one(&*release_at(place));
        self.places.insert_unique(hash, new, hash_at);
    }

    /// Removes the file of a release, if there is one.
    pub(super) fn remove(&mut self, release: &ReleaseId) {
        let release = release.as_str().as_bytes();
        let is_of = |place: &usize| FileEntry::at(&self.entries, *place).release() == release;
        let hash = self.hasher.hash_one(release);
        if let Ok(found) = self.places.find_entry(hash, is_of) {
            let (place, _) = found.remove();
            self.count_out(place);
            self.compact();
        }
    }

    /// Returns true if a file has this content, or one with a hash that begins alike.
    pub(super) fn has_content(&self, content: ContentHash) -> bool {
        self.sharing.contains_key(&beginning(content))
    }

    /// Returns true if exactly one file has this content, or one with a hash that begins alike.
    pub(super) fn has_one_file(&self, content: ContentHash) -> bool {
        self.sharing.get(&beginning(content)) == Some(&1)
    }

    /// Count of contents. Of those with hashes that begin alike, one counts.
    pub(super) fn contents_count(&self) -> u64 {
        self.sharing.len() as u64
    }

    /// Releases with a file that has one of these contents. Cost: a look at each file.
    pub(super) fn releases_of(
        &self,
        contents: &HashSet<ContentHash, RandomState>,
    ) -> Vec<ReleaseId> {
        let with_content = self
            .entries()
            .filter(|it| contents.contains(&it.file().content));
        let releases = with_content.filter_map(|entry| {
            let release = entry.release();
            ReleaseId::parse(std::str::from_utf8(&release).ok()?)
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
        let is_made = |entry: &FileEntry<'_>| is_of_made_text(&entry.release());
        let made = self.entries().filter(is_made);
        let mut contents: HashSet<ContentHash, RandomState> =
            made.map(|entry| entry.file().content).collect();
        for entry in self.entries().filter(|entry| !is_made(entry)) {
            contents.remove(&entry.file().content);
        }
        contents
    }

    /// The files, in no order.
    pub(super) fn files(&self) -> impl Iterator<Item = CachedFile> {
        self.entries().map(FileEntry::file)
    }

    fn entries(&self) -> impl Iterator<Item = FileEntry<'_>> {
        let places = self.places.iter();
        places.map(|place| FileEntry::at(&self.entries, *place))
    }

    fn count_in(&mut self, file: &CachedFile) {
        let sharing = self.sharing.entry(beginning(file.content)).or_insert(0);
        if *sharing == 0 {
            self.blob_bytes += file.size_bytes;
        }
        *sharing += 1;
    }

    /// Counts an entry that has lost its place.
    fn count_out(&mut self, place: usize) {
        let entry = FileEntry::at(&self.entries, place);
        let file = entry.file();
        self.made_bytes -= made_bytes(&entry.release(), &file);
        self.dead_bytes += LENGTH_BYTES + entry.0.len();
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

    /// Leaves out the dead bytes, if they are most of all. Cost: no more, over time, than that of
    /// the changes that made them.
    fn compact(&mut self) {
        if self.dead_bytes <= self.entries.len() / 2 {
            return;
        }
        let mut kept = Vec::with_capacity(self.entries.len() - self.dead_bytes);
        for place in &mut self.places {
            let end = *place + LENGTH_BYTES + FileEntry::at(&self.entries, *place).0.len();
            let entry = &self.entries[*place..end];
            *place = kept.len();
            kept.extend_from_slice(entry);
        }
        self.entries = kept;
        self.dead_bytes = 0;
    }
}

fn append_entry(entries: &mut Vec<u8>, release: &[u8], content: ContentHash, stored: &[u8]) {
    let release = if release == ReleaseId::of_brought(content).as_str().as_bytes() {
        &[]
    } else {
        release
    };
    let length = u16::try_from(1 + release.len() + stored.len());
    let length = length.expect("a release and the name of a file are short");
    entries.extend_from_slice(&length.to_le_bytes());
    entries.push(release.len() as u8);
    entries.extend_from_slice(release);
    entries.extend_from_slice(stored);
}

/// Bytes that count for a made text; 0 for any other file.
fn made_bytes(release: &[u8], file: &CachedFile) -> u64 {
    if is_of_made_text(release) {
        file.size_bytes + MADE_TEXT_OVERHEAD_BYTES
    } else {
        0
    }
}

impl<'e> FileEntry<'e> {
    fn at(entries: &'e [u8], place: usize) -> Self {
        let start = place + LENGTH_BYTES;
        let length = u16::from_le_bytes([entries[place], entries[place + 1]]);
        Self(&entries[start..start + usize::from(length)])
    }

    fn release(self) -> Cow<'e, [u8]> {
        match usize::from(self.0[0]) {
            0 => {
                let release = ReleaseId::of_brought(self.file().content);
                Cow::Owned(release.as_str().as_bytes().to_vec())
            }
            length => Cow::Borrowed(&self.0[1..1 + length]),
        }
    }

    fn file(self) -> CachedFile {
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
                    let release = match number {
                        7 => ReleaseId::of_brought(file(content).content),
                        _ => ReleaseId::parse(&"r".repeat(number.into())).unwrap(),
                    };
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
