//! Files that an import brings: read here, stored here or by the running server.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use subcat_engine::{
    BROUGHT_FILES_MAX, BroughtFile, ContentHash, Engine, FileKind, ReleaseId, block_on, hash_of,
};

use super::access::Access;
use crate::admin::Client;
use crate::files::recognise;
use crate::limits::BROUGHT_BATCH_BYTES;

/// Store of the files.
#[derive(Clone, Copy)]
pub(super) enum StorePlace<'a> {
    /// The catalog that is open here.
    Engine(&'a Engine),
    /// The server that runs on it.
    Server(&'a Client),
    /// None: nothing is loaded.
    DryRun,
}

impl<'a> StorePlace<'a> {
    /// The place of an import.
    pub(super) fn new(access: &'a Access, is_dry_run: bool) -> Self {
        match access {
            _ if is_dry_run => Self::DryRun,
            Access::Opened(opened) => Self::Engine(&opened.engine),
            Access::Running(client) => Self::Server(client),
        }
    }
}

/// A file that was read and is positively one of subtitles.
pub(super) struct ReadFile {
    /// Content of the file.
    pub(super) content: Vec<u8>,
    /// SHA-256 of it.
    pub(super) hash: ContentHash,
    /// Kind of the file.
    pub(super) kind: FileKind,
}

/// Reason why a file is not stored (API.md 13.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum FileRejection {
    /// The file is neither an archive nor positively a subtitle, or too large.
    #[error("no subtitle")]
    NoSubtitle,
    /// There is none.
    #[error("no such file")]
    NoSuchFile,
    /// The system refuses to read it.
    #[error("cannot be read: {0}")]
    Unreadable(io::ErrorKind),
}

impl From<io::Error> for FileRejection {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NoSuchFile,
            kind => Self::Unreadable(kind),
        }
    }
}

/// Reads a file of 1 to `bytes_max` bytes.
///
/// Errors: the reason why it is not stored.
pub(super) fn read_subtitle(path: &Path, bytes_max: usize) -> Result<ReadFile, FileRejection> {
    let file = open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(FileRejection::NoSuchFile);
    }
    if (bytes_max as u64) < metadata.len() {
        return Err(FileRejection::NoSubtitle);
    }
    // One byte more: then the end is found without growing.
    let mut content = Vec::with_capacity(metadata.len() as usize + 1);
    file.take(bytes_max as u64 + 1).read_to_end(&mut content)?;
    let extension = path.extension().and_then(|extension| extension.to_str());
    let name_kind = extension.and_then(FileKind::of_extension);
    let is_sized = (1..=bytes_max).contains(&content.len());
    let recognised = recognise(&content, name_kind).filter(|file| is_sized && !file.is_shapeless);
    let file = recognised.ok_or(FileRejection::NoSubtitle)?;
    Ok(ReadFile {
        hash: hash_of(&content),
        kind: file.kind,
        content,
    })
}

/// Opens a file for reading. A pipe without a writer must not stop the import.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

struct PendingFile {
    release: ReleaseId,
    file: ReadFile,
}

/// Stores files in batches.
pub(super) struct FileStore<'a> {
    place: StorePlace<'a>,
    pending: Vec<PendingFile>,
    pending_bytes: usize,
}

impl<'a> FileStore<'a> {
    pub(super) fn new(place: StorePlace<'a>) -> Self {
        Self {
            place,
            pending: Vec::new(),
            pending_bytes: 0,
        }
    }

    /// Stores a file, at the latest by [`FileStore::flush`].
    pub(super) fn store(&mut self, release: ReleaseId, file: ReadFile) -> io::Result<()> {
        if matches!(self.place, StorePlace::DryRun) {
            return Ok(());
        }
        self.pending_bytes += file.content.len();
        self.pending.push(PendingFile { release, file });
        let is_full =
            BROUGHT_FILES_MAX <= self.pending.len() || BROUGHT_BATCH_BYTES <= self.pending_bytes;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// Stores the pending files, durably.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        self.pending_bytes = 0;
        let files: Vec<BroughtFile<'_>> = pending
            .iter()
            .map(|pending| BroughtFile {
                release: &pending.release,
                content: &pending.file.content,
                kind: pending.file.kind,
            })
            .collect();
        match self.place {
            StorePlace::DryRun => Ok(()),
            StorePlace::Engine(engine) => {
                block_on(engine.files().bring(&files)).map_err(io::Error::other)
            }
            StorePlace::Server(client) => client.bring(&files).map_err(io::Error::other),
        }
    }
}

/// The folder of a table's files: that of the option, else that of the table.
pub(super) fn folder_of_files(option: Option<&Path>, table: &Path) -> PathBuf {
    match (option, table.parent()) {
        (Some(folder), _) => folder.to_owned(),
        (None, Some(parent)) => parent.to_owned(),
        (None, None) => PathBuf::new(),
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::CWD;

    use super::*;

    #[test]
    fn only_subtitles_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.srt");
        let read = |content: &[u8], bytes_max| {
            std::fs::write(&path, content).unwrap();
            read_subtitle(&path, bytes_max).map(|file| file.kind)
        };
        let srt = b"1\n00:00:01,000 --> 00:00:02,000\nHola.\n";
        assert_eq!(read(srt, 100), Ok(FileKind::Srt));
        assert_eq!(read(srt, 10), Err(FileRejection::NoSubtitle));
        assert_eq!(read(b"", 100), Err(FileRejection::NoSubtitle));
        assert_eq!(read(&[b'x'; 300], 1000), Err(FileRejection::NoSubtitle));
        assert_eq!(read(b"PK\x03\x04", 100), Ok(FileKind::Zip));
        let rejection = |path: &Path| read_subtitle(path, 100).map(|_| ()).unwrap_err();
        let no_file = FileRejection::NoSuchFile;
        assert_eq!(rejection(&dir.path().join("b.srt")), no_file);
        assert_eq!(rejection(dir.path()), no_file);
        let pipe = dir.path().join("pipe.srt");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert_eq!(rejection(&pipe), no_file);
        // A cell of a table may hold any text.
        let long = rejection(Path::new(&"x".repeat(300)));
        assert_eq!(long.to_string(), "cannot be read: invalid filename");
        File::create(&path).unwrap().set_len(5 << 30).unwrap();
        assert_eq!(rejection(&path), FileRejection::NoSubtitle);
    }
}
