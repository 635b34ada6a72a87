//! Mapping files into memory. One of the two rooms where `unsafe` is allowed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// The content of a file as bytes in memory, read-only.
///
/// INVARIANT: the files that are mapped are written by this program only, before they get their
/// final name, and never again after that; the data directory is closed to other users.
#[derive(Debug)]
pub struct Mapping {
    /// None for an empty file, which cannot be mapped.
    map: Option<Mmap>,
}

impl Mapping {
    /// Maps the whole file as long as it is now. Cost: one system call; pages come when touched.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        if file.metadata()?.len() == 0 {
            return Ok(Self { map: None });
        }
        // SAFETY: nothing writes to a mapped file or cuts it while it is mapped, by the invariant
        // of `Mapping`.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Self { map: Some(map) })
    }
}

impl AsRef<[u8]> for Mapping {
    fn as_ref(&self) -> &[u8] {
        self.map.as_deref().unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

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
    fn an_empty_file_maps_to_no_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        File::create(&path).unwrap();
        let mapping = Mapping::of(&File::open(&path).unwrap()).unwrap();
        assert_eq!(mapping.as_ref(), b"");
    }
}
