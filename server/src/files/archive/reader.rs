//! An archive of either kind, opened.

use subcat_engine::FileKind;

use super::entry::ArchiveEntry;
use super::error::ArchiveError;
use super::rar::RarDirectory;
use super::zip::ZipDirectory;

/// An archive with its directory read.
pub struct Archive<'a> {
    content: &'a [u8],
    directory: Directory,
}

enum Directory {
    Zip(ZipDirectory),
    Rar(RarDirectory),
}

impl<'a> Archive<'a> {
    /// Reads the directory of a zip or rar archive as far as it can be read; `None` for other
    /// kinds.
    ///
    /// Cost: one pass over the headers of up to [`ARCHIVE_ENTRIES_MAX`] entries; rar copies the
    /// content once.
    ///
    /// [`ARCHIVE_ENTRIES_MAX`]: crate::limits::ARCHIVE_ENTRIES_MAX
    pub fn read(content: &'a [u8], kind: FileKind) -> Option<Self> {
        let directory = match kind {
            FileKind::Zip => Directory::Zip(ZipDirectory::read(content)),
            FileKind::Rar => Directory::Rar(RarDirectory::read(content)),
            FileKind::Srt | FileKind::Sub | FileKind::Ssa | FileKind::Ass => return None,
        };
        Some(Self { content, directory })
    }

    /// The entries in the order of the archive.
    pub fn entries(&self) -> &[ArchiveEntry] {
        match &self.directory {
            Directory::Zip(zip) => &zip.entries,
            Directory::Rar(rar) => &rar.entries,
        }
    }

    /// Reason why the directory could not be read, or not to its end.
    pub fn fault(&self) -> Option<ArchiveError> {
        match &self.directory {
            Directory::Zip(zip) => zip.fault,
            Directory::Rar(rar) => rar.fault,
        }
    }

    /// Unpacks an entry. Callers bound how many do so at once.
    ///
    /// Errors: any of [`ArchiveError`] but those of the directory.
    pub fn unpack(&self, entry_idx: usize) -> Result<Vec<u8>, ArchiveError> {
        match &self.directory {
            Directory::Zip(zip) => zip.unpack(self.content, entry_idx),
            Directory::Rar(rar) => rar.unpack(entry_idx),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::super::samples::{Sample, rar4_of, rar5_head, rar5_of, vint, zip_of};
    use super::super::{ArchiveError, EntryKind};
    use super::*;
    use crate::limits::ARCHIVE_ENTRIES_MAX;

    const FILES: [Sample<'_>; 2] = [
        Sample {
            name: b"uno.srt",
            content: b"1\n00:00:01,000 --> 00:00:02,000\nUno.\n\n",
        },
        Sample {
            name: "dir/año.srt".as_bytes(),
            content: b"1\n00:00:03,000 --> 00:00:04,000\nDos.\n\n",
        },
    ];

    fn all_kinds() -> [(FileKind, Vec<u8>); 3] {
        [
            (FileKind::Zip, zip_of(&FILES)),
            (FileKind::Rar, rar4_of(&FILES)),
            (FileKind::Rar, rar5_of(&FILES)),
        ]
    }

    fn read(content: &[u8], kind: FileKind) -> Archive<'_> {
        Archive::read(content, kind).unwrap()
    }

    #[test]
    fn an_archive_of_every_kind_lists_and_unpacks_its_files() {
        for (kind, content) in all_kinds() {
            let archive = read(&content, kind);
            assert_eq!(archive.fault(), None);
            for (idx, file) in FILES.iter().enumerate() {
                let entry = &archive.entries()[idx];
                assert_eq!(entry.path.as_bytes(), file.name);
                assert_eq!(entry.size_bytes, file.content.len() as u64);
                assert_eq!(entry.kind, EntryKind::File);
                assert_eq!(archive.unpack(idx).unwrap(), file.content);
            }
            assert_eq!(archive.entries().len(), FILES.len());
            assert!(archive.unpack(FILES.len()).is_err());
        }
        assert!(Archive::read(b"", FileKind::Srt).is_none());
    }

    #[test]
    fn api_rule_16_3_damage_is_an_error_and_never_a_panic() {
        for (kind, content) in all_kinds() {
            for length in 0..content.len() {
                let archive = read(&content[..length], kind);
                let count = archive.entries().len();
                (0..=count).for_each(|idx| drop(archive.unpack(idx)));
            }
            for idx in 0..content.len() {
                for byte in [0, 0x7F, 0xFF, content[idx] ^ 1] {
                    let mut damaged = content.clone();
                    damaged[idx] = byte;
                    let archive = read(&damaged, kind);
                    let count = archive.entries().len();
                    (0..=count).for_each(|idx| drop(archive.unpack(idx)));
                }
            }
        }
    }

    #[test]
    fn api_rule_16_3_a_wrong_checksum_is_an_error() {
        for (kind, mut content) in all_kinds() {
            let at = content.len() / 2;
            let place = content.windows(4).position(|window| window == b"Uno.");
            content[place.unwrap_or(at)] ^= 1;
            let archive = read(&content, kind);
            if kind == FileKind::Rar {
                assert_eq!(archive.unpack(0), Err(ArchiveError::Content));
            }
        }
    }

    /// A header of RAR 5 with a length that wraps around, so that its data would end at the
    /// beginning of the file.
    #[test]
    fn api_rule_16_4_a_directory_is_read_forwards_only() {
        let mut rar = b"Rar!\x1A\x07\x01\x00".to_vec();
        rar.extend(rar5_head(&[1, 0, 0]));
        for data_bytes in [u64::MAX - 3, u64::MAX - 200, u64::MAX / 2, 1 << 62] {
            let mut head = vec![3, 2];
            head.extend(vint(data_bytes));
            head.resize(120, 0);
            let looped = [&rar[..], &rar5_head(&head)].concat();
            let started = Instant::now();
            let archive = read(&looped, FileKind::Rar);
            assert!(archive.fault().is_some());
            assert!(archive.entries().is_empty());
            assert!(started.elapsed().as_secs() < 1);
        }
    }

    #[test]
    fn api_rule_16_4_at_most_1000_entries_are_read() {
        let names: Vec<String> = (0..=ARCHIVE_ENTRIES_MAX).map(|it| it.to_string()).collect();
        let files: Vec<Sample<'_>> = names
            .iter()
            .map(|name| Sample {
                name: name.as_bytes(),
                content: b"",
            })
            .collect();
        for (kind, content) in [
            (FileKind::Zip, zip_of(&files)),
            (FileKind::Rar, rar4_of(&files)),
            (FileKind::Rar, rar5_of(&files)),
        ] {
            let archive = read(&content, kind);
            assert_eq!(archive.entries().len(), ARCHIVE_ENTRIES_MAX);
            assert_eq!(archive.fault(), Some(ArchiveError::TooManyEntries));
        }
    }
}
