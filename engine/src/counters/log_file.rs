//! One file of a counter lane.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `subcatCT` |
//! | 4 | version, little-endian |
//! | 4 | low half of the xxh3 of the 12 bytes before |
//! | 32 each | entries: record id 16, key number 8 (0: none), day 3, downloads less one 1, low half
//! | | of the xxh3 of those 28, seeded by their place; zeros where none was written yet |
//!
//! The seed is the xxh3 of the file's name plus the offset of the entry: an entry that a disk has
//! written to a second place as well counts once.
//!
//! If the file system can reserve space, entries are written to a mapping of the file: 0.05 µs
//! each, where a write by system call takes 0.75 (ext4, Linux 6.18), of the 8 or so of a download.
//!
//! The next download of what an entry counts raises the entry, until a reader has frozen it. What
//! is synced each second are bytes that a disk must take, and that takes time from the cores of
//! answering: many downloads of one file are a few entries.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::disk::{Disk, DiskFile, WritableMapping};
use crate::error::{Error, Result};
use crate::limits::{COUNTER_FILE_BYTES_MAX, ENTRY_DOWNLOADS_MAX};
use crate::model::{ApiKeyId, Day, RecordId};

const MAGIC: &[u8; 8] = b"subcatCT";
const VERSION: u32 = 3;
/// Offset of the first entry.
pub(super) const HEADER_BYTES: u64 = 16;
/// Bytes of one entry.
pub(super) const ENTRY_BYTES: u64 = 32;
/// The last bytes of an entry are its cell, day, downloads and checksum: they change together.
const CELL_BYTES: usize = 8;
const CELL_OFFSET: usize = ENTRY_BYTES as usize - CELL_BYTES;
/// Bytes read at a time.
const CHUNK_BYTES: u64 = ENTRY_BYTES * 4096;

/// Record, key and day that downloads are counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Counted {
    pub(super) record: RecordId,
    pub(super) api_key: Option<ApiKeyId>,
    pub(super) day: Day,
}

/// Downloads counted together: 1 to [`ENTRY_DOWNLOADS_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CountEntry {
    counted: Counted,
    downloads: u64,
}

impl CountEntry {
    fn to_bytes(self, seed: u64) -> [u8; ENTRY_BYTES as usize] {
        let mut bytes = [0; ENTRY_BYTES as usize];
        bytes[..16].copy_from_slice(self.counted.record.as_bytes());
        let api_key = self.counted.api_key.map_or(0, |id| id.0);
        bytes[16..24].copy_from_slice(&api_key.to_le_bytes());
        // Days are fewer: a timestamp ends with the year 9999.
        bytes[24..28].copy_from_slice(&self.counted.day.0.to_le_bytes());
        bytes[27] = (self.downloads - 1) as u8;
        let check = check(&bytes[..28], seed);
        bytes[28..].copy_from_slice(&check);
        bytes
    }

    /// `None` when the checksum does not match: an entry that a power cut tore, or one of another
    /// place.
    fn from_bytes(bytes: &[u8; ENTRY_BYTES as usize], seed: u64) -> Option<Self> {
        let (content, found) = bytes.split_last_chunk::<4>()?;
        let (id, rest) = content.split_first_chunk::<16>()?;
        let (api_key, rest) = rest.split_first_chunk::<8>()?;
        let api_key = u64::from_le_bytes(*api_key);
        let [day @ .., more] = rest else {
            return None;
        };
        let [low, middle, high] = day.try_into().ok()?;
        let counted = Counted {
            record: RecordId::from_bytes(*id),
            api_key: (api_key != 0).then_some(ApiKeyId(api_key)),
            day: Day(u32::from_le_bytes([low, middle, high, 0])),
        };
        let entry = Self {
            counted,
            downloads: u64::from(*more) + 1,
        };
        (*found == check(content, seed)).then_some(entry)
    }
}

/// A file that a lane appends to, or has appended to.
pub(super) struct CounterFile {
    pub(super) name: String,
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// The xxh3 of the name, to which the offset of an entry is added.
    name_seed: u64,
    /// Up to where entries stand; stored after they are written.
    written_bytes: AtomicU64,
    /// Offset below which entries no longer change. Held while one is written.
    frozen_bytes: Mutex<u64>,
    /// True if something was written since the last sync; stored after the write.
    is_dirty: AtomicBool,
    syncing: Mutex<()>,
    /// True once its lane appends to another file.
    is_retired: AtomicBool,
}

/// The only writer of a log file. Once it is dropped, the file is not written again.
pub(super) struct CounterWriter {
    pub(super) file: Arc<CounterFile>,
    /// Mapping that entries are written to; `None` once a write to it failed.
    mapping: Option<WritableMapping>,
    /// The entries that the next download of the same may raise.
    open: HashMap<Counted, OpenCountEntry, foldhash::fast::RandomState>,
    /// Up to where entries were frozen when `open` was empty.
    frozen_bytes: u64,
}

struct OpenCountEntry {
    offset: u64,
    downloads: u64,
}

impl CounterWriter {
    /// Begins a file. Its name is durable with the next sync of the directory.
    pub(super) fn create(disk: &dyn Disk, path: PathBuf, name: String) -> Result<Self> {
        let file = disk.create(&path)?;
        let mut header = [0; HEADER_BYTES as usize];
        header[..8].copy_from_slice(MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        let check = check(&header[..12], 0);
        header[12..].copy_from_slice(&check);
        file.write_at(&header, 0)
            .map_err(Error::io("write", &path))?;
        let mapping = file
            .reserve(COUNTER_FILE_BYTES_MAX)
            .map_err(Error::io("map", &path))?;
        let begun = CounterFile {
            name_seed: xxh3_64(name.as_bytes()),
            name,
            path,
            file,
            written_bytes: AtomicU64::new(HEADER_BYTES),
            frozen_bytes: Mutex::new(HEADER_BYTES),
            is_dirty: AtomicBool::new(true),
            syncing: Mutex::new(()),
            is_retired: AtomicBool::new(false),
        };
        Ok(Self {
            file: Arc::new(begun),
            mapping,
            open: HashMap::default(),
            frozen_bytes: HEADER_BYTES,
        })
    }

    /// Takes over the memory of the writer before: a lane grows its table once.
    pub(super) fn follow(&mut self, before: &mut Self) {
        std::mem::swap(&mut self.open, &mut before.open);
        self.open.clear();
    }

    /// Returns true if there is no space for one more entry.
    pub(super) fn is_full(&self) -> bool {
        COUNTER_FILE_BYTES_MAX < self.file.written_bytes() + ENTRY_BYTES
    }

    /// Counts one download in a file that is not full: raises the entry of the same, or appends
    /// one. Cost: a lock that is never held for long, a look-up and a copy of up to 32 bytes, or
    /// one write. A write that fails has counted nothing. Memory: up to 4 MB for what a file can
    /// hold; the part in use grows with the different things that are counted between two
    /// aggregations.
    pub(super) fn count(&mut self, counted: Counted) -> Result<()> {
        // Held until the entry is written: a reader that freezes entries during the write would
        // read an entry that is raised after it was counted.
        let frozen_bytes = self.file.frozen_bytes.lock();
        if self.frozen_bytes != *frozen_bytes {
            self.open.clear();
            self.frozen_bytes = *frozen_bytes;
        }
        let open = self.open.get_mut(&counted);
        match open.filter(|open| open.downloads < ENTRY_DOWNLOADS_MAX) {
            Some(open) => {
                let (offset, downloads) = (open.offset, open.downloads + 1);
                let raised = CountEntry { counted, downloads };
                if let Err(error) = self.file.raise(raised, offset, &mut self.mapping) {
                    self.open.remove(&counted);
                    return Err(error);
                }
                open.downloads = downloads;
            }
            None => {
                let entry = CountEntry {
                    counted,
                    downloads: 1,
                };
                let offset = self.file.append(entry, &mut self.mapping)?;
                let open = OpenCountEntry {
                    offset,
                    downloads: 1,
                };
                self.open.insert(counted, open);
            }
        }
        Ok(())
    }
}

impl Drop for CounterWriter {
    fn drop(&mut self) {
        self.file.is_retired.store(true, Ordering::Release);
    }
}

impl CounterFile {
    /// A file of an earlier process; `None` when it was killed before the header was there. Where a
    /// power cut has torn the header, the checksums of the entries show which of them are complete.
    pub(super) fn open(disk: &dyn Disk, path: PathBuf, name: String) -> Result<Option<Self>> {
        let Some(file) = disk.open(&path)? else {
            return Ok(None);
        };
        let size_bytes = file.size_bytes().map_err(Error::io("read", &path))?;
        if size_bytes < HEADER_BYTES {
            return Ok(None);
        }
        let mut header = [0; HEADER_BYTES as usize];
        file.read_at(&mut header, 0)
            .map_err(Error::io("read", &path))?;
        check_header(&header, &name)?;
        Ok(Some(Self {
            name_seed: xxh3_64(name.as_bytes()),
            name,
            path,
            file,
            written_bytes: AtomicU64::new(size_bytes),
            frozen_bytes: Mutex::new(size_bytes),
            is_dirty: AtomicBool::new(true),
            syncing: Mutex::new(()),
            is_retired: AtomicBool::new(true),
        }))
    }

    /// Appends an entry; its offset. A write that fails has counted nothing: the next one goes to
    /// the same place.
    fn append(&self, entry: CountEntry, mapping: &mut Option<WritableMapping>) -> Result<u64> {
        let offset = self.written_bytes();
        let bytes = self.encoded(entry, offset);
        let mapped = mapping.as_mut();
        if !mapped.is_some_and(|mapped| mapped.write_at(&bytes, offset as usize)) {
            *mapping = None;
            self.write_at(&bytes, offset)?;
        }
        self.written_bytes
            .store(offset + ENTRY_BYTES, Ordering::Release);
        self.is_dirty.store(true, Ordering::Release);
        Ok(offset)
    }

    /// Raises the entry at `offset`. If the write fails, the earlier entry is put back.
    fn raise(
        &self,
        raised: CountEntry,
        offset: u64,
        mapping: &mut Option<WritableMapping>,
    ) -> Result<()> {
        let bytes = self.encoded(raised, offset);
        let cell = *bytes.last_chunk().expect("an entry ends with its cell");
        let cell_offset = offset as usize + CELL_OFFSET;
        let mapped = mapping.as_mut();
        if !mapped.is_some_and(|mapped| mapped.write_cell(cell, cell_offset)) {
            *mapping = None;
            // All of it: what the mapping held may be gone.
            if let Err(error) = self.write_at(&bytes, offset) {
                let before = CountEntry {
                    downloads: raised.downloads - 1,
                    ..raised
                };
                // If this write fails, too, the first error is the one to report.
                let _ = self.write_at(&self.encoded(before, offset), offset);
                return Err(error);
            }
        }
        self.is_dirty.store(true, Ordering::Release);
        Ok(())
    }

    /// Bytes of an entry of this place.
    fn encoded(&self, entry: CountEntry, offset: u64) -> [u8; ENTRY_BYTES as usize] {
        entry.to_bytes(self.name_seed.wrapping_add(offset))
    }

    fn decoded(&self, bytes: &[u8; ENTRY_BYTES as usize], offset: u64) -> Option<CountEntry> {
        CountEntry::from_bytes(bytes, self.name_seed.wrapping_add(offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_at(bytes, offset);
        written.map_err(Error::io("write", &self.path))
    }

    /// Makes what is written durable.
    pub(super) fn sync(&self) -> Result<()> {
        // Callers that arrive during a sync wait: they must not return before it is durable.
        let _only_one = self.syncing.lock();
        if self.is_dirty.swap(false, Ordering::AcqRel) {
            self.file.sync().map_err(|error| {
                self.is_dirty.store(true, Ordering::Release);
                Error::io("sync", &self.path)(error)
            })?;
        }
        Ok(())
    }

    /// Freezes the existing entries, and returns the offset of their end.
    fn freeze(&self) -> u64 {
        let mut frozen_bytes = self.frozen_bytes.lock();
        *frozen_bytes = self.written_bytes();
        *frozen_bytes
    }

    /// Freezes what is there and reads the whole entries from `offset` to the end, with how many
    /// downloads each counts; returns where it stopped. Zeros are passed over: none was written
    /// there. The offsets of entries that do not match their checksum are passed to `torn`; they
    /// are passed over.
    pub(super) fn read_from(
        &self,
        offset: u64,
        bytes_max: u64,
        each: &mut dyn FnMut(Counted, u64),
        torn: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        let mut offset = offset.max(HEADER_BYTES);
        let end = self.freeze().min(offset.saturating_add(bytes_max));
        let mut chunk = Vec::new();
        while offset + ENTRY_BYTES <= end {
            let whole_bytes = (end - offset) / ENTRY_BYTES * ENTRY_BYTES;
            let chunk_bytes = whole_bytes.min(CHUNK_BYTES);
            chunk.resize(chunk_bytes as usize, 0);
            self.file
                .read_at(&mut chunk, offset)
                .map_err(Error::io("read", &self.path))?;
            let (entries, _) = chunk.as_chunks::<{ ENTRY_BYTES as usize }>();
            for (entry_idx, bytes) in entries.iter().enumerate() {
                let entry_offset = offset + entry_idx as u64 * ENTRY_BYTES;
                match self.decoded(bytes, entry_offset) {
                    Some(entry) => each(entry.counted, entry.downloads),
                    None if *bytes == [0; ENTRY_BYTES as usize] => {}
                    None => torn(entry_offset),
                }
            }
            offset += chunk_bytes;
        }
        Ok(offset)
    }

    /// Bytes that hold entries, and the header.
    pub(super) fn written_bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Acquire)
    }

    /// Returns true once nothing more is written.
    pub(super) fn is_retired(&self) -> bool {
        self.is_retired.load(Ordering::Acquire)
    }

    /// Removes the file.
    pub(super) fn remove(&self, disk: &dyn Disk) -> Result<()> {
        disk.remove(&self.path)?;
        Ok(())
    }
}

/// Errors: [`Error::NewerValue`] for a complete header with a later version. A torn one has no
/// version.
fn check_header(header: &[u8; HEADER_BYTES as usize], name: &str) -> Result<()> {
    let [content @ .., _, _, _, _] = header;
    if header[12..] != check(content, 0) {
        return Ok(());
    }
    let [.., low, second, third, high] = *content;
    let found = u32::from_le_bytes([low, second, third, high]);
    let is_ours = header.starts_with(MAGIC);
    if is_ours && found == VERSION {
        return Ok(());
    }
    if is_ours && VERSION < found {
        return Err(Error::NewerValue {
            place: "counters",
            found: u8::try_from(found).unwrap_or(u8::MAX),
            supported: VERSION as u8,
        });
    }
    let file = format!("counters/{name}");
    Err(Error::corrupt(file, 0, "the header of a counter file"))
}

fn check(bytes: &[u8], seed: u64) -> [u8; 4] {
    (xxh3_64_with_seed(bytes, seed) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::disk::{Fault, Faulty, Real};

    const COUNTED: Counted = Counted {
        record: RecordId::from_bytes([1; 16]),
        api_key: Some(ApiKeyId(5)),
        day: Day(20_000),
    };

    fn writer_at(disk: &dyn Disk, dir: &Path) -> CounterWriter {
        CounterWriter::create(disk, dir.join("a"), "a".to_owned()).unwrap()
    }

    /// The entries from `offset`, as a reader of the file sees them, and where they end.
    fn read(file: &CounterFile, offset: u64) -> (Vec<(Counted, u64)>, u64) {
        let mut entries = Vec::new();
        let mut each = |counted, downloads| entries.push((counted, downloads));
        let mut torn = |offset| panic!("the entry at {offset} is torn");
        let end = file
            .read_from(offset, u64::MAX, &mut each, &mut torn)
            .unwrap();
        (entries, end)
    }

    /// The second disk gives no mapping to write to.
    #[test]
    fn downloads_of_the_same_share_an_entry_until_it_is_read() {
        let disks: [&dyn Disk; 2] = [&Real, &Faulty::new(Fault::NONE)];
        for disk in disks {
            let dir = tempfile::tempdir().unwrap();
            let mut writer = writer_at(disk, dir.path());
            let other = Counted {
                api_key: None,
                ..COUNTED
            };
            for _ in 0..600 {
                writer.count(COUNTED).unwrap();
                writer.count(other).unwrap();
            }
            let (entries, end) = read(&writer.file, 0);
            let expected = [256, 256, 88].map(|count| [(COUNTED, count), (other, count)]);
            assert_eq!(entries, expected.concat());
            writer.count(COUNTED).unwrap();
            assert_eq!(read(&writer.file, end).0, [(COUNTED, 1)]);
            let again = CounterFile::open(disk, dir.path().join("a"), "a".to_owned());
            let (entries, _) = read(&again.unwrap().unwrap(), 0);
            let sum: u64 = entries.iter().map(|(_, downloads)| downloads).sum();
            assert_eq!(sum, 1_201);
        }
    }

    #[test]
    fn what_is_read_while_it_is_written_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer_at(&Real, dir.path());
        let file = Arc::clone(&writer.file);
        let is_done = AtomicBool::new(false);
        let (mut sum, mut offset) = (0, 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100_000 {
                    writer.count(COUNTED).unwrap();
                }
                is_done.store(true, Ordering::Release);
            });
            let mut is_last = false;
            while !is_last {
                is_last = is_done.load(Ordering::Acquire);
                let (entries, end) = read(&file, offset);
                sum += entries.iter().map(|(_, downloads)| downloads).sum::<u64>();
                offset = end;
            }
        });
        assert_eq!(sum, 100_000);
    }

    #[test]
    fn what_a_mapping_has_lost_is_written_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer_at(&Real, dir.path());
        for _ in 0..3 {
            writer.count(COUNTED).unwrap();
        }
        let path = dir.path().join("a");
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        file.set_len(0).unwrap();
        writer.count(COUNTED).unwrap();
        assert!(writer.mapping.is_none());
        assert_eq!(read(&writer.file, 0).0, [(COUNTED, 4)]);
    }

    #[test]
    fn a_raise_that_fails_leaves_what_was_counted() {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Faulty::new(Fault::NONE);
        let mut writer = writer_at(&faulty, dir.path());
        for _ in 0..3 {
            writer.count(COUNTED).unwrap();
        }
        faulty.set_fault(Fault::at(faulty.ops_count()));
        assert!(writer.count(COUNTED).is_err());
        assert_eq!(read(&writer.file, 0).0, [(COUNTED, 3)]);
        // Nothing is raised that may not be whole.
        for _ in 0..2 {
            writer.count(COUNTED).unwrap();
        }
        assert_eq!(read(&writer.file, 0).0, [(COUNTED, 3), (COUNTED, 2)]);
    }

    /// The sum of what a file counts, and how many of its entries are passed over.
    fn sum(path: &Path, name: &str) -> (u64, usize) {
        let file = CounterFile::open(&Real, path.to_path_buf(), name.to_owned());
        let (mut sum, mut torn_count) = (0, 0);
        let mut each = |_, downloads| sum += downloads;
        let read = file.unwrap().unwrap();
        read.read_from(0, u64::MAX, &mut each, &mut |_| torn_count += 1)
            .unwrap();
        (sum, torn_count)
    }

    #[test]
    fn an_entry_in_a_second_place_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer_at(&Real, dir.path());
        writer.count(COUNTED).unwrap();
        let path = dir.path().join("a");
        let whole = std::fs::read(&path).unwrap();
        let mut content = whole.clone();
        content.copy_within(16..48, 4_096 + 16);
        std::fs::write(&path, &content).unwrap();
        assert_eq!(sum(&path, "a"), (1, 1));
        // A torn header does not make it count.
        content[9] = 7;
        std::fs::write(&path, &content).unwrap();
        assert_eq!(sum(&path, "a"), (1, 1));
        // Nor does the same place in another file.
        std::fs::write(&path, &whole).unwrap();
        assert_eq!(sum(&path, "b"), (0, 1));
    }

    #[test]
    fn a_file_of_another_version_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer_at(&Real, dir.path());
        writer.count(COUNTED).unwrap();
        let path = dir.path().join("a");
        let mut content = std::fs::read(&path).unwrap();
        let mut opened = |version: u32| {
            content[8] = version as u8;
            let header_check = check(&content[..12], 0);
            content[12..16].copy_from_slice(&header_check);
            std::fs::write(&path, &content).unwrap();
            CounterFile::open(&Real, path.clone(), "a".to_owned()).err()
        };
        let newer = opened(VERSION + 1);
        assert!(matches!(newer, Some(Error::NewerValue { found: 4, .. })));
        assert!(matches!(opened(VERSION - 1), Some(Error::Corrupt { .. })));
        assert!(opened(VERSION).is_none());
    }
}
