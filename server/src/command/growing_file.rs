//! A file that is read while it grows.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Poll interval for the growth of a file.
const GROWTH_POLL_INTERVAL: Duration = Duration::from_millis(100);

/// A file that may still grow: its end is not the end of the input. If it is truncated or replaced,
/// reading continues at the beginning, as `tail -F` does.
pub(super) struct GrowingFile {
    path: PathBuf,
    file: File,
    read_bytes: u64,
    /// The last byte that was read. A line that was cut off must not be joined with the next one.
    last: u8,
    /// True from a new beginning until its first byte is read.
    is_beginning: bool,
    /// Counts new beginnings, each when its first byte is read.
    restarts: Arc<AtomicU64>,
}

impl GrowingFile {
    pub(super) fn new(path: &Path, file: File, restarts: Arc<AtomicU64>) -> Self {
        Self {
            path: path.to_owned(),
            file,
            read_bytes: 0,
            last: b'\n',
            is_beginning: false,
            restarts,
        }
    }

    /// Starts at the beginning of the file that has the name now, if it was truncated or replaced.
    /// Returns false otherwise.
    fn begin_again(&mut self) -> io::Result<bool> {
        let open = self.file.metadata()?;
        if open.len() < self.read_bytes {
            self.file.rewind()?;
            self.read_bytes = 0;
            return Ok(true);
        }
        // Between the two steps of a rotation nothing has the name.
        let Ok(named) = std::fs::metadata(&self.path) else {
            return Ok(false);
        };
        let is_same = (named.dev(), named.ino()) == (open.dev(), open.ino());
        // The writer may have added lines to the old file since it was read to its end.
        if is_same || self.read_bytes < self.file.metadata()?.len() {
            return Ok(false);
        }
        self.file = File::open(&self.path)?;
        self.read_bytes = 0;
        Ok(true)
    }
}

impl Read for GrowingFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let read_count = self.file.read(buffer)?;
            if let Some(last) = buffer[..read_count].last() {
                self.last = *last;
                self.read_bytes += read_count as u64;
                if std::mem::take(&mut self.is_beginning) {
                    self.restarts.fetch_add(1, Ordering::SeqCst);
                }
                return Ok(read_count);
            }
            if buffer.is_empty() {
                return Ok(0);
            }
            if self.begin_again()? {
                self.is_beginning = true;
                if self.last != b'\n' {
                    self.last = b'\n';
                    buffer[0] = b'\n';
                    return Ok(1);
                }
            }
            std::thread::sleep(GROWTH_POLL_INTERVAL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next bytes of a file, up to a line end.
    fn next(file: &mut GrowingFile) -> String {
        let mut line = Vec::new();
        while line.last() != Some(&b'\n') {
            let mut byte = [0];
            assert_eq!(file.read(&mut byte).unwrap(), 1);
            line.push(byte[0]);
        }
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn a_file_that_is_truncated_or_rotated_is_followed_from_its_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        std::fs::write(&path, "first\nsecond\n").unwrap();
        let restarts: Arc<AtomicU64> = Arc::default();
        let mut file = GrowingFile::new(&path, File::open(&path).unwrap(), Arc::clone(&restarts));
        assert_eq!(next(&mut file), "first\n");
        assert_eq!(next(&mut file), "second\n");
        // The same file, emptied and written again.
        std::fs::write(&path, "third\ncut o").unwrap();
        assert_eq!(restarts.load(Ordering::SeqCst), 0);
        assert_eq!(next(&mut file), "third\n");
        assert_eq!(restarts.load(Ordering::SeqCst), 1);
        assert_eq!(file.read(&mut [0; 100]).unwrap(), 5);
        // Another file under its name. A line that was cut off stays a line of its own.
        std::fs::rename(&path, dir.path().join("log.1")).unwrap();
        std::fs::write(&path, "a longer file than the one before\n").unwrap();
        assert_eq!(next(&mut file), "\n");
        // The line end that was put there belongs to the file before.
        assert_eq!(restarts.load(Ordering::SeqCst), 1);
        assert_eq!(next(&mut file), "a longer file than the one before\n");
        // Lines that the writer adds to the old file before it notices are read.
        let mut old = File::options().append(true).open(&path).unwrap();
        std::fs::rename(&path, dir.path().join("log.2")).unwrap();
        io::Write::write_all(&mut old, b"late\n").unwrap();
        std::fs::write(&path, "new\n").unwrap();
        assert_eq!(next(&mut file), "late\n");
        assert_eq!(next(&mut file), "new\n");
        assert_eq!(restarts.load(Ordering::SeqCst), 3);
    }
}
