//! Whole files: written under a temporary name, made durable, then named.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Disk, DiskFile};
use crate::error::{Error, Result};

/// Size of the buffer of unwritten bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Writes a file from its start, through a buffer.
pub(crate) struct FileWriter {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    buffer: Vec<u8>,
    written_bytes: u64,
}

impl FileWriter {
    /// Begins an empty file at `path`.
    pub(crate) fn create(disk: &dyn Disk, path: &Path) -> Result<Self> {
        Ok(Self {
            file: disk.create(path)?,
            path: path.to_path_buf(),
            buffer: Vec::with_capacity(BUFFER_BYTES),
            written_bytes: 0,
        })
    }

    /// Writes the rest of the buffer and returns the file.
    pub(crate) fn finish(mut self) -> Result<Box<dyn DiskFile>> {
        self.flush().map_err(Error::io("write", &self.path))?;
        Ok(self.file)
    }

    fn write_out(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(bytes, self.written_bytes)?;
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }
}

impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if BUFFER_BYTES < self.buffer.len() + bytes.len() {
            self.flush()?;
        }
        if BUFFER_BYTES <= bytes.len() {
            self.write_out(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = self.write_out(&buffer);
        if written.is_ok() {
            buffer.clear();
        }
        self.buffer = buffer;
        written
    }
}

/// Writes a file under `temporary`, makes it durable and gives it its name. When this returns, the
/// complete file is there even after a power cut; when it fails, `path` is unchanged.
///
/// Both paths are in one file system. Source: reliability of file puts (DURABILITY.md, files).
pub(crate) fn publish_file(
    disk: &dyn Disk,
    temporary: &Path,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let published = write_and_rename(disk, temporary, path, write);
    if published.is_err() {
        // The fault is reported; the file left in `tmp/` is removed by the next start at the
        // latest.
        let _ = disk.remove(temporary);
    }
    published
}

fn write_and_rename(
    disk: &dyn Disk,
    temporary: &Path,
    path: &Path,
    write: &mut dyn FnMut(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let mut writer = FileWriter::create(disk, temporary)?;
    write(&mut writer)?;
    let file = writer.finish()?;
    // Before the rename: a name must never lead to bytes that a power cut can take back.
    file.sync().map_err(Error::io("sync", temporary))?;
    disk.rename(temporary, path)?;
    match path.parent() {
        Some(parent) => disk.sync_dir(parent),
        None => Ok(()),
    }
}

/// The whole content of a small file; `None` when there is no such file.
pub(crate) fn read_file(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>> {
    let Some(file) = disk.open(path)? else {
        return Ok(None);
    };
    let size_bytes = file.size_bytes().map_err(Error::io("read", path))?;
    let mut content = vec![0; usize::try_from(size_bytes).unwrap_or(usize::MAX)];
    file.read_at(&mut content, 0)
        .map_err(Error::io("read", path))?;
    Ok(Some(content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Fault, Faulty, Real};

    #[test]
    fn a_file_is_published_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let content: Vec<u8> = (0..700_000u32).map(|number| number as u8).collect();
        publish_file(&Real, &dir.path().join("a.tmp"), &path, &mut |out| {
            for piece in content.chunks(70_001) {
                out.write_all(piece).map_err(Error::io("write", &path))?;
            }
            Ok(())
        })
        .unwrap();
        assert_eq!(read_file(&Real, &path).unwrap().unwrap(), content);
        assert!(!dir.path().join("a.tmp").exists());
    }

    #[test]
    fn a_fault_anywhere_leaves_the_old_file() {
        for op_idx in 0.. {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a");
            std::fs::write(&path, b"old").unwrap();
            let disk = Faulty::new(Fault::at(op_idx));
            let published = publish_file(&disk, &dir.path().join("a.tmp"), &path, &mut |out| {
                out.write_all(b"new").map_err(Error::io("write", &path))
            });
            let content = std::fs::read(&path).unwrap();
            if published.is_ok() {
                assert_eq!(content, b"new");
                assert!(
                    4 <= op_idx,
                    "create, write, sync, rename were not all tried"
                );
                return;
            }
            let is_named = disk.ops_count() == 6;
            assert_eq!(content == b"new", is_named, "operation {op_idx}");
        }
    }
}
