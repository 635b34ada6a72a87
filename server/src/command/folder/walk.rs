//! The files of a folder (API.md 13.11).

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::limits::FOLDER_DEPTH_MAX;

/// Endings of files that are read.
const ENDINGS: &[&str] = &["srt", "sub", "ssa", "ass", "zip", "rar"];
/// Names of folders of programs and systems.
const HIDDEN: &[&str] = &[
    "@eaDir",
    "#recycle",
    "$RECYCLE.BIN",
    "lost+found",
    "__MACOSX",
    "System Volume Information",
];

/// A file that may be one of subtitles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundFile {
    /// Path below the folder, in the bytes of the system.
    path: Box<[u8]>,
    /// Size of the file.
    pub(super) size_bytes: u64,
    /// Time of its last change, in nanoseconds since 1970.
    pub(super) modified_nanos: i64,
}

impl FoundFile {
    /// The path below the folder as text: names that are not UTF-8 are windows-1252.
    pub(super) fn text(&self) -> String {
        self.shown().into_owned()
    }

    fn shown(&self) -> Cow<'_, str> {
        if let Ok(text) = str::from_utf8(&self.path) {
            return Cow::Borrowed(text);
        }
        let parts = self.path.split(|byte| *byte == b'/');
        let parts: Vec<_> = parts.map(crate::rows::decoded).collect();
        Cow::Owned(parts.join("/"))
    }

    /// The path in the file system.
    pub(super) fn path_in(&self, folder: &Path) -> PathBuf {
        folder.join(OsStr::from_bytes(&self.path))
    }
}

/// A folder that is to be walked.
#[derive(Debug, Default)]
struct WaitingFolder {
    /// Path below the folder that is imported.
    below: PathBuf,
    /// Folders above it.
    depth: usize,
}

/// A folder that was walked.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// Files of the folder, by the bytes of their paths as text.
    pub(super) files: Vec<FoundFile>,
    /// `.nfo` files.
    pub(super) nfos: Vec<FoundFile>,
    /// Folders that could not be read, and why.
    pub(super) unreadable: Vec<String>,
}

impl Walked {
    /// Walks a folder. Symbolic links below it are left out, and so is what lies too deep.
    ///
    /// Errors: the folder itself cannot be read.
    pub(super) fn new(folder: &Path) -> io::Result<Self> {
        let mut walked = Self::default();
        fs::read_dir(folder)?;
        let mut waiting = vec![WaitingFolder::default()];
        while let Some(next) = waiting.pop() {
            match entries_of(&folder.join(&next.below)) {
                Ok(entries) => walked.take_folder(&next, &entries, &mut waiting),
                Err(error) => {
                    let shown = next.below.display();
                    walked.unreadable.push(format!("{shown}: {error}"));
                }
            }
        }
        // Without keys beside the paths: there may be many.
        let by_text = |one: &FoundFile, other: &FoundFile| one.shown().cmp(&other.shown());
        walked.files.sort_unstable_by(by_text);
        walked.files.shrink_to_fit();
        Ok(walked)
    }

    fn take_folder(
        &mut self,
        folder: &WaitingFolder,
        entries: &[DirEntry],
        waiting: &mut Vec<WaitingFolder>,
    ) {
        let idx_stems: Vec<String> = entries.iter().filter_map(idx_stem).collect();
        for entry in entries {
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if is_hidden(&shown) {
                continue;
            }
            // Of a symbolic link these are its own: neither file nor folder.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let path = folder.below.join(&name);
            if metadata.is_dir() {
                if folder.depth < FOLDER_DEPTH_MAX {
                    waiting.push(WaitingFolder {
                        below: path,
                        depth: folder.depth + 1,
                    });
                }
            } else if metadata.is_file() {
                self.take_file(&path, &shown, &metadata, &idx_stems);
            }
        }
    }

    fn take_file(&mut self, path: &Path, name: &str, metadata: &Metadata, idx_stems: &[String]) {
        let Some((stem, ending)) = name.rsplit_once('.') else {
            return;
        };
        let ending = ending.to_ascii_lowercase();
        let is_nfo = ending == "nfo";
        // Pictures of VobSub, with their index beside them.
        let is_picture = ending == "sub" && idx_stems.iter().any(|idx| idx == stem);
        if !is_nfo && (!ENDINGS.contains(&ending.as_str()) || is_picture) {
            return;
        }
        let seconds = metadata.mtime().saturating_mul(1_000_000_000);
        let found = FoundFile {
            path: path.as_os_str().as_bytes().into(),
            size_bytes: metadata.len(),
            modified_nanos: seconds.saturating_add(metadata.mtime_nsec()),
        };
        if is_nfo {
            self.nfos.push(found);
        } else {
            self.files.push(found);
        }
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

fn entries_of(folder: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(folder)?.collect()
}

fn idx_stem(entry: &DirEntry) -> Option<String> {
    let name = entry.file_name().to_string_lossy().into_owned();
    let (stem, ending) = name.rsplit_once('.')?;
    ending.eq_ignore_ascii_case("idx").then(|| stem.to_owned())
}

fn is_hidden(name: &str) -> bool {
    name.starts_with('.') || HIDDEN.contains(&name)
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
        let paths: Vec<String> = walked.files.iter().map(FoundFile::text).collect();
        assert_eq!(paths, ["a/c.zip", "b.SRT", "w.sub", "ñ.srt"]);
        assert_eq!(fs::read(walked.files[3].path_in(dir.path())).unwrap(), b"y");
        let nfos: Vec<String> = walked.nfos.iter().map(FoundFile::text).collect();
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
