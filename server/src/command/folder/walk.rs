//! The files of a folder (API.md 13.11).

use std::cmp::Ordering;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::path_list::PathList;
use crate::limits::FOLDER_DEPTH_MAX;
use crate::rows::decoded;

/// Endings of files that are read.
const ENDINGS: &[&[u8]] = &[b"srt", b"sub", b"ssa", b"ass", b"zip", b"rar"];
/// Names of folders of programs and systems.
const HIDDEN: &[&[u8]] = &[
    b"@eaDir",
    b"#recycle",
    b"$RECYCLE.BIN",
    b"lost+found",
    b"__MACOSX",
    b"System Volume Information",
];

/// A file that may be one of subtitles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Path below the folder, in the bytes of the system.
    path: Vec<u8>,
    /// Size and time of the file.
    pub(super) state: FileState,
}

/// Size and time of a file: while they stay the same, the file is not read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileState {
    pub(super) size_bytes: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub(super) modified_nanos: i64,
}

impl FoundFile {
    /// The path below the folder as text: names that are not UTF-8 are windows-1252.
    pub(super) fn text(&self) -> String {
        let parts = self.path.split(|byte| *byte == b'/');
        let parts: Vec<_> = parts.map(decoded).collect();
        parts.join("/")
    }

    /// The path in the file system.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(OsStr::from_bytes(&self.path))
    }
}

/// Files in ascending order of their paths as text.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    paths: PathList,
    states: Vec<FileState>,
}

impl FoundFiles {
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// The file of an index.
    pub(super) fn get(&self, idx: usize) -> FoundFile {
        FoundFile {
            path: self.paths.get(idx),
            state: self.states[idx],
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = FoundFile> {
        (0..self.len()).map(|idx| self.get(idx))
    }

    fn push(&mut self, path: &[u8], state: FileState) {
        self.paths.push(path);
        self.states.push(state);
    }

    fn shrink_to_fit(&mut self) {
        self.paths.shrink_to_fit();
        self.states.shrink_to_fit();
    }
}

/// A folder that was walked.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) files: FoundFiles,
    /// `.nfo` files.
    pub(super) nfos: FoundFiles,
    /// Folders and files that could not be read, and why.
    pub(super) unreadable: Vec<String>,
}

impl Walked {
    /// Walks a folder. Symbolic links below it are left out, and so is what lies too deep.
    ///
    /// Errors: the folder itself cannot be read.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let mut walked = Self::default();
        fs::read_dir(folder)?;
        walked.walk(folder, &mut Vec::new(), 0);
        walked.files.shrink_to_fit();
        Ok(walked)
    }

    /// Walks the folder at this path below `folder`. Its entries are taken in the order of their
    /// whole paths, so that the files need no sorting.
    fn walk(&mut self, folder: &Path, below: &mut Vec<u8>, depth: usize) {
        let entries = match self.entries_of(&folder.join(OsStr::from_bytes(below)), below) {
            Ok(entries) => entries,
            Err(error) => return self.note_unreadable(below, &error),
        };
        for entry in entries {
            let parent_len = below.len();
            below.extend_from_slice(&entry.name);
            match entry.kind {
                WalkEntryKind::Folder if depth < FOLDER_DEPTH_MAX => {
                    self.walk(folder, below, depth + 1);
                }
                WalkEntryKind::Folder => {}
                WalkEntryKind::Subtitle(state) => self.files.push(below, state),
                WalkEntryKind::Nfo(state) => self.nfos.push(below, state),
            }
            below.truncate(parent_len);
        }
    }

    /// The entries of a folder that count, in the order of their paths.
    ///
    /// Errors: the folder cannot be read.
    fn entries_of(&mut self, path: &Path, below: &[u8]) -> io::Result<Vec<WalkEntry>> {
        let mut entries = Vec::new();
        let mut idx_stems = HashSet::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name();
            let (stem, ending) = split_name(name.as_bytes());
            if ending.eq_ignore_ascii_case(b"idx") {
                idx_stems.insert(stem.to_vec());
            }
            match kind_of(&entry, name.as_bytes()) {
                Ok(Some(kind)) => entries.push(WalkEntry::new(name.into_vec(), kind)),
                Ok(None) => {}
                Err(error) => self.note_unreadable(&[below, name.as_bytes()].concat(), &error),
            }
        }
        // Pictures of VobSub, with their index beside them.
        entries.retain(|entry: &WalkEntry| {
            let (stem, ending) = split_name(&entry.name);
            !(ending.eq_ignore_ascii_case(b"sub") && idx_stems.contains(stem))
        });
        entries.sort_unstable_by(WalkEntry::cmp_paths);
        Ok(entries)
    }

    /// Notes what could not be read, unless it vanished during the walk.
    fn note_unreadable(&mut self, below: &[u8], error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            let shown = String::from_utf8_lossy(below);
            self.unreadable.push(format!("{shown}: {error}"));
        }
    }
}

/// An entry of a folder.
struct WalkEntry {
    /// With a slash behind that of a folder, as in paths.
    name: Box<[u8]>,
    kind: WalkEntryKind,
}

/// Kinds of entries that count.
enum WalkEntryKind {
    Folder,
    Subtitle(FileState),
    Nfo(FileState),
}

impl WalkEntry {
    fn new(mut name: Vec<u8>, kind: WalkEntryKind) -> Self {
        if matches!(kind, WalkEntryKind::Folder) {
            name.push(b'/');
        }
        Self {
            name: name.into(),
            kind,
        }
    }

    /// The order of the paths as text.
    fn cmp_paths(&self, other: &Self) -> Ordering {
        decoded(&self.name).cmp(&decoded(&other.name))
    }
}

/// The kind of an entry; none for what is left out.
///
/// Errors: its size and time cannot be read.
fn kind_of(entry: &DirEntry, name: &[u8]) -> io::Result<Option<WalkEntryKind>> {
    if is_hidden(name) {
        return Ok(None);
    }
    // Of a symbolic link it is its own: neither file nor folder.
    let file_type = entry.file_type()?;
    if file_type.is_dir() {
        return Ok(Some(WalkEntryKind::Folder));
    }
    let ending = split_name(name).1;
    let is_nfo = ending.eq_ignore_ascii_case(b"nfo");
    let is_subtitle = || ENDINGS.iter().any(|it| ending.eq_ignore_ascii_case(it));
    if !file_type.is_file() || !(is_nfo || is_subtitle()) {
        return Ok(None);
    }
    let metadata = entry.metadata()?;
    let seconds = metadata.mtime().saturating_mul(1_000_000_000);
    let state = FileState {
        size_bytes: metadata.len(),
        modified_nanos: seconds.saturating_add(metadata.mtime_nsec()),
    };
    Ok(Some(if is_nfo {
        WalkEntryKind::Nfo(state)
    } else {
        WalkEntryKind::Subtitle(state)
    }))
}

/// The stem of a name and its ending, which is empty if there is none.
fn split_name(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|byte| *byte == b'.') {
        Some(point) => (&name[..point], &name[point + 1..]),
        None => (name, b""),
    }
}

/// The name of a file without its ending.
pub(super) fn stem_of(path: &str) -> &str {
    let name = file_name_of(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// The last part of a path.
pub(super) fn file_name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".") || HIDDEN.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_is_walked_in_the_order_of_its_paths() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        for path in [
            "b.SRT",
            "a/c.zip",
            "a b/d.srt",
            "a.srt",
            "a/c.txt",
            ".hidden/a.srt",
            "a/@eaDir/a.srt",
            "v.sub",
            "v.idx",
            "w.sub",
            "m/movie.nfo",
            "none",
        ] {
            write(path);
        }
        fs::write(dir.path().join(OsStr::from_bytes(b"\xF1.srt")), "y").unwrap();
        symlink(dir.path().join("a"), dir.path().join("link")).unwrap();
        symlink(dir.path().join("b.SRT"), dir.path().join("link.srt")).unwrap();
        let walked = Walked::new(dir.path()).unwrap();
        let texts =
            |files: &FoundFiles| -> Vec<String> { files.iter().map(|it| it.text()).collect() };
        let expected = ["a b/d.srt", "a.srt", "a/c.zip", "b.SRT", "w.sub", "ñ.srt"];
        assert_eq!(texts(&walked.files), expected);
        let last = walked.files.get(5).path_in(dir.path());
        assert_eq!(fs::read(last).unwrap(), b"y");
        let nfos = texts(&walked.nfos);
        assert_eq!(nfos, ["m/movie.nfo"]);
        assert!(walked.unreadable.is_empty());
        assert!(Walked::new(&dir.path().join("none")).is_err());
    }

    #[test]
    fn what_lies_too_deep_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut path = dir.path().to_path_buf();
        for depth in 0..=FOLDER_DEPTH_MAX + 1 {
            fs::write(path.join(format!("{depth:02}.srt")), "x").unwrap();
            path.push("d");
            fs::create_dir(&path).unwrap();
        }
        let walked = Walked::new(dir.path()).unwrap();
        assert_eq!(walked.files.len(), FOLDER_DEPTH_MAX + 1);
    }
}
