//! Mapping files into memory.
#![expect(unsafe_code, reason = "files are mapped into memory")]

use std::fs::File;
use std::io;
use std::ops::Range;

use memmap2::{Mmap, MmapOptions, MmapRaw};

use super::bus_error::MappingGuard;
use crate::limits::RESIDENT_PAGES_MAX;

/// The content of a file as bytes in memory, read-only.
///
/// INVARIANT: mapped files are written by this program only, before they get their final name, and
/// never again after that; the data directory is closed to other users.
///
/// If a file is truncated all the same, the process continues: missing bytes read as zeros, and the
/// mapping's [`TruncationFlag`] is set.
#[derive(Debug)]
pub struct Mapping {
    /// None for an empty file, which cannot be mapped.
    mapped: Option<Mapped>,
}

#[derive(Debug)]
struct Mapped {
    guard: &'static MappingGuard,
    map: Mmap,
}

/// Flag that is set when bytes of a mapping were gone at the time of their reading. Of use only as
/// long as the mapping lives.
#[derive(Debug, Clone, Copy, Default)]
pub struct TruncationFlag {
    guard: Option<&'static MappingGuard>,
}

impl Mapping {
    /// Maps the file in its current length. Cost: one system call; pages come when touched.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self { mapped: None });
        }
        // SAFETY: nothing writes to a mapped file while it is mapped, by the invariant of
        // `Mapping`; where it was cut, the guard puts zeros.
        let map = unsafe { Mmap::map(file) }?;
        let addresses = map.as_ptr_range();
        let guard = MappingGuard::begin(addresses.start as usize..addresses.end as usize);
        let mapped = Some(Mapped { guard, map });
        Ok(Self { mapped })
    }

    /// Count of bytes in memory from the start of `range`: reading them waits for no disk. Only
    /// part of a long range is checked. All of them if the kernel does not answer. Panics if the
    /// range is outside. Cost: a system call.
    pub fn resident_bytes(&self, range: Range<usize>) -> usize {
        let asked = &self.as_ref()[range];
        let page_bytes = page_bytes();
        let before = asked.as_ptr().addr() % page_bytes;
        let looked_bytes = (before + asked.len()).min(RESIDENT_PAGES_MAX * page_bytes);
        let start = asked.as_ptr().wrapping_sub(before).cast_mut();
        let mut pages = [0_u8; RESIDENT_PAGES_MAX];
        // SAFETY: nothing is read or written but `pages`, which has a byte for each page of the
        // range.
        let outcome = unsafe { libc::mincore(start.cast(), looked_bytes, pages.as_mut_ptr()) };
        if outcome != 0 {
            return asked.len();
        }
        let looked = &pages[..looked_bytes.div_ceil(page_bytes)];
        let resident = looked.iter().take_while(|page| **page & 1 != 0).count();
        (resident * page_bytes)
            .saturating_sub(before)
            .min(asked.len())
    }

    /// The flag of this mapping, which is set once bytes were gone.
    pub fn truncation_flag(&self) -> TruncationFlag {
        let guard = self.mapped.as_ref().map(|mapped| mapped.guard);
        TruncationFlag { guard }
    }
}

fn page_bytes() -> usize {
    // SAFETY: `sysconf` has no preconditions.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(page_bytes).expect("pages have a size")
}

impl TruncationFlag {
    /// Returns true if bytes were gone: then everything read since the mapping was made is invalid.
    /// Cost: an atomic load.
    #[inline]
    pub fn is_truncated(&self) -> bool {
        self.guard.is_some_and(MappingGuard::is_truncated)
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.mapped.as_ref().map_or(&[], |mapped| &mapped.map)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        self.guard.end();
    }
}

/// The beginning of a file, to be written without a system call. Written bytes are in the page
/// cache at once: they outlive a killed process, and become durable when the file is synced.
///
/// If the file is truncated all the same, or the disk is full in spite of the reservation, the
/// process continues: the write returns false.
#[derive(Debug)]
pub struct WritableMapping {
    guard: &'static MappingGuard,
    map: MmapRaw,
}

impl WritableMapping {
    /// Maps the first `size_bytes` of a file of that length or more. Cost: one system call.
    pub(super) fn of(file: &File, size_bytes: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(size_bytes).map_raw(file)?;
        let start = map.as_ptr() as usize;
        let guard = MappingGuard::begin(start..start + map.len());
        Ok(Self { guard, map })
    }

    /// Writes all bytes at `offset`; false when the disk has no space for them: then nothing more
    /// can be written here. Panics when they do not fit. Cost: a copy; a page fault at the first
    /// write to a page since it was synced.
    pub fn write_at(&mut self, bytes: &[u8], offset: usize) -> bool {
        let has_room = offset <= self.map.len() && bytes.len() <= self.map.len() - offset;
        assert!(has_room, "writes stay inside their mapping");
        // SAFETY: the bytes fit, as asserted; the mapping is writable and lives as long as `self`;
        // no reference into it exists, as this is the only access to it, by `&mut self`. Others
        // read the file by system calls. Where the file has no room the guard puts memory.
        unsafe {
            let place = self.map.as_mut_ptr().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len());
        }
        !self.guard.is_truncated()
    }

    /// Writes eight bytes at `offset`, a multiple of eight, in one store: a killed process leaves
    /// the old bytes or the new ones. Otherwise as [`WritableMapping::write_at`].
    pub fn write_cell(&mut self, cell: [u8; 8], offset: usize) -> bool {
        let has_room = offset.is_multiple_of(8) && offset + 8 <= self.map.len();
        assert!(has_room, "cells stay inside their mapping");
        // SAFETY: as in `write_at`; mappings begin at a page, so the place is aligned.
        unsafe {
            let place = self.map.as_mut_ptr().add(offset).cast::<u64>();
            place.write_volatile(u64::from_ne_bytes(cell));
        }
        !self.guard.is_truncated()
    }
}

impl Drop for WritableMapping {
    fn drop(&mut self) {
        self.guard.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::FileExt;

    use super::*;

    fn file_of(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn maps_what_was_written_and_outlives_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        File::create(&path).unwrap().write_all(b"bytes").unwrap();
        let mapping = Mapping::of(&File::open(&path).unwrap()).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(mapping.as_ref(), b"bytes");
    }

    #[test]
    fn what_is_written_to_a_mapping_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let file = file_at(&path, 8);
        let mut mapping = WritableMapping::of(&file, 8).unwrap();
        assert!(mapping.write_at(b"abc", 5));
        assert!(mapping.write_at(b"", 8));
        assert_eq!(std::fs::read(&path).unwrap(), b"\0\0\0\0\0abc");
        assert!(mapping.write_cell(*b"together", 0));
        assert_eq!(std::fs::read(&path).unwrap(), b"together");
    }

    #[test]
    #[should_panic(expected = "cells stay inside")]
    fn a_cell_is_aligned() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(16).unwrap();
        let mut mapping = WritableMapping::of(&file, 16).unwrap();
        mapping.write_cell([1; 8], 4);
    }

    #[test]
    fn a_write_to_a_file_that_was_cut_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let file = file_at(&dir.path().join("a"), 3 << 12);
        let mut mapping = WritableMapping::of(&file, 3 << 12).unwrap();
        assert!(mapping.write_at(b"abc", 1 << 13));
        file.set_len(1 << 12).unwrap();
        assert!(!mapping.write_at(b"abc", (1 << 13) - 1));
        assert!(!mapping.write_at(b"abc", 0), "not here any more either");
    }

    fn file_at(path: &std::path::Path, size_bytes: u64) -> File {
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = options.open(path).unwrap();
        file.set_len(size_bytes).unwrap();
        file
    }

    #[test]
    #[should_panic(expected = "writes stay inside")]
    fn a_mapping_is_not_left() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(8).unwrap();
        let mut mapping = WritableMapping::of(&file, 8).unwrap();
        mapping.write_at(b"abcd", 5);
    }

    #[test]
    fn an_empty_file_maps_to_no_bytes() {
        let mapping = Mapping::of(&file_of(b"")).unwrap();
        assert_eq!(mapping.as_ref(), b"");
        assert!(!mapping.truncation_flag().is_truncated());
    }

    #[test]
    fn bytes_that_are_gone_read_as_zeros_and_mark_their_mapping_only() {
        let pages = vec![7; 3 << 16];
        let (cut, whole) = (file_of(&pages), file_of(&pages));
        let (mapping, other) = (Mapping::of(&cut).unwrap(), Mapping::of(&whole).unwrap());
        let mark = mapping.truncation_flag();
        cut.set_len(1 << 16).unwrap();
        assert_eq!(mapping.as_ref()[..1 << 16], pages[..1 << 16]);
        assert!(!mark.is_truncated(), "what is there may be read");
        assert_eq!(mapping.as_ref()[1 << 16], 0);
        assert!(mark.is_truncated());
        assert!(mapping.as_ref()[1 << 16..].iter().all(|byte| *byte == 0));
        assert_eq!(other.as_ref(), pages);
        assert!(!other.truncation_flag().is_truncated());
    }

    /// File systems in memory keep everything there.
    const TMPFS_MAGIC: i64 = 0x0102_1994;

    #[test]
    fn bytes_that_are_not_in_memory_are_told() {
        let part = 1 << 16;
        let file = file_of(&vec![7; 4 * part]);
        file.sync_all().unwrap();
        let mapping = Mapping::of(&file).unwrap();
        let resident = |range| mapping.resident_bytes(range);
        assert_eq!(resident(5..4 * part), 4 * part - 5);
        assert_eq!(resident(7..7), 0);
        if rustix::fs::fstatfs(&file).unwrap().f_type as i64 == TMPFS_MAGIC {
            return;
        }
        let advise = |advice| rustix::fs::fadvise(&file, 0, None, advice).unwrap();
        advise(rustix::fs::Advice::DontNeed);
        assert_eq!(resident(0..4 * part), 0);
        // Without reading ahead.
        advise(rustix::fs::Advice::Random);
        file.read_exact_at(&mut [0], 2 * part as u64).unwrap();
        assert_eq!(resident(0..4 * part), 0);
        let found = resident(2 * part + 5..4 * part);
        assert!((1..part).contains(&found), "{found}");
        assert_eq!(resident(2 * part - 1..4 * part), 0);
    }

    #[test]
    fn a_long_range_is_looked_at_in_part() {
        let looked_bytes = RESIDENT_PAGES_MAX * page_bytes();
        let file = file_of(&vec![7; 2 * looked_bytes]);
        let mapping = Mapping::of(&file).unwrap();
        let found = mapping.resident_bytes(1..mapping.as_ref().len());
        assert_eq!(found, looked_bytes - 1);
    }

    #[test]
    fn many_threads_may_meet_the_same_gap() {
        for _ in 0..50 {
            let file = file_of(&vec![7; 1 << 20]);
            let mapping = Mapping::of(&file).unwrap();
            file.set_len(0).unwrap();
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        assert!(mapping.as_ref().iter().all(|byte| *byte == 0));
                        assert!(mapping.truncation_flag().is_truncated());
                    });
                }
            });
        }
    }

    /// A mapping for each page that is missed would reach the limit of mappings of a process.
    #[test]
    fn a_cut_file_takes_one_more_mapping_however_it_is_read() {
        const PAGES: usize = 4_096;
        // Other tests of this process map files at the same time, up to some hundreds.
        const OTHERS_MAX: usize = 1_000;
        let mappings_count = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().count()
        };
        let file = file_of(&vec![7; PAGES << 12]);
        let mapping = Mapping::of(&file).unwrap();
        let before = mappings_count();
        file.set_len(0).unwrap();
        // Every other page, from the end: each access is the first to what lies before.
        for page in (0..PAGES).rev().step_by(2) {
            assert_eq!(mapping.as_ref()[page << 12], 0);
        }
        assert!(mapping.truncation_flag().is_truncated());
        assert!(mappings_count() < before + OTHERS_MAX);
    }

    #[test]
    fn a_watch_that_is_used_again_knows_nothing_of_what_was() {
        let file = file_of(&[7; 1 << 16]);
        let mapping = Mapping::of(&file).unwrap();
        file.set_len(0).unwrap();
        assert_eq!(mapping.as_ref()[0], 0);
        drop(mapping);
        let again = Mapping::of(&file_of(&[7; 1 << 16])).unwrap();
        assert!(!again.truncation_flag().is_truncated());
        assert_eq!(again.as_ref()[0], 7);
    }

    /// A signal that a process sends is about no memory; the handler stays for those that are.
    #[test]
    fn a_signal_that_was_sent_changes_nothing() {
        let file = file_of(&[7; 1 << 13]);
        let mapping = Mapping::of(&file).unwrap();
        // SAFETY: a signal to this thread; its handler was installed with the mapping.
        let raised = unsafe { libc::raise(libc::SIGBUS) };
        assert_eq!(raised, 0);
        assert!(!mapping.truncation_flag().is_truncated());
        file.set_len(0).unwrap();
        assert_eq!(mapping.as_ref()[1 << 12], 0);
        assert!(mapping.truncation_flag().is_truncated());
    }
}
