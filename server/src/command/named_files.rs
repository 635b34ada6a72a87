//! The files of an import, one after the other, opened by their content.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use subcat_engine::ReleaseId;

use super::error::{CommandError, SubjectError};
use super::file_store::{FileStore, folder_of_files, read_subtitle};
use crate::ops::{ImportFile, ImportFiles};
use crate::rows::{
    Format, OpenedTable, TableOptions, TableRead, TableRecord, open_table, unpacked,
};

/// A directory among files.
#[derive(Debug, thiserror::Error)]
#[error("{} is a directory: import it alone", .0.display())]
struct DirectoryError(PathBuf);

/// The files that the command line names.
pub(super) struct NamedFiles<'s> {
    /// In reverse order.
    rest: Vec<PathBuf>,
    /// The format that the command line names.
    format: Option<Format>,
    options: TableOptions,
    brought: TableFiles<'s>,
    /// Rows in unwanted languages.
    pub(super) left_out_count: Arc<AtomicU64>,
    /// Bytes read so far.
    pub(super) read_bytes: Arc<AtomicU64>,
    /// True when all files have been read.
    pub(super) is_read: Arc<AtomicBool>,
}

/// Stored size of the files, in bytes; none if one of them has no size.
///
/// Errors: one of them is missing. Called before anything is loaded from the others.
pub(super) fn total_bytes_of(files: &[PathBuf]) -> Result<Option<u64>, CommandError> {
    let mut total_bytes = Some(0);
    for file in files {
        if file.as_os_str() == "-" {
            total_bytes = None;
            continue;
        }
        let metadata = std::fs::metadata(file)
            .map_err(|error| SubjectError::new(file.display().to_string(), error))?;
        if metadata.is_dir() {
            return Err(DirectoryError(file.clone()).into());
        }
        let is_sized = metadata.is_file();
        total_bytes = total_bytes
            .filter(|_| is_sized)
            .map(|sum| sum + metadata.len());
    }
    Ok(total_bytes)
}

impl<'s> NamedFiles<'s> {
    pub(super) fn new(
        files: &[PathBuf],
        format: Option<Format>,
        options: TableOptions,
        brought: TableFiles<'s>,
    ) -> Self {
        Self {
            rest: files.iter().rev().cloned().collect(),
            format,
            options,
            brought,
            left_out_count: Arc::default(),
            read_bytes: Arc::default(),
            is_read: Arc::default(),
        }
    }
}

impl ImportFiles for NamedFiles<'_> {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        self.brought.store.flush()?;
        let Some(path) = self.rest.pop() else {
            self.is_read.store(true, Ordering::SeqCst);
            return Ok(None);
        };
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin {
            "stdin".to_owned()
        } else {
            path.display().to_string()
        };
        let input: Box<dyn Read> = if is_stdin {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(&path).map_err(|error| named(&name, &error))?)
        };
        let counted = CountedRead {
            input,
            read_bytes: Arc::clone(&self.read_bytes),
        };
        let content = unpacked(Box::new(counted)).map_err(|error| named(&name, &error))?;
        let (format, content) = match self.format {
            Some(format) => (format, content),
            None => {
                let opened = self
                    .open(content, &path)
                    .map_err(|error| named(&name, &error))?;
                (opened.format, opened.content)
            }
        };
        Ok(Some(ImportFile {
            name,
            format,
            content,
        }))
    }
}

/// A file with a known format.
struct RecognisedTable<'f> {
    format: Format,
    content: Box<dyn BufRead + 'f>,
}

/// The files that tables name.
pub(super) struct TableFiles<'s> {
    /// Stores them.
    pub(super) store: FileStore<'s>,
    /// Their folder, if it is not that of their table.
    pub(super) folder: Option<PathBuf>,
    /// Maximum size of one.
    pub(super) bytes_max: usize,
}

impl TableFiles<'_> {
    /// Stores the file of a record of this table. A reason that is returned refuses it.
    fn bring(&mut self, table: &Path, record: &mut TableRecord) -> io::Result<Option<String>> {
        let Some(file) = &record.file else {
            return Ok(None);
        };
        let path = folder_of_files(self.folder.as_deref(), table).join(file.replace('\\', "/"));
        let read = match read_subtitle(&path, self.bytes_max) {
            Ok(read) => read,
            Err(rejection) => return Ok(Some(rejection.to_string())),
        };
        let release = match &record.source_release_id {
            Some(release) => ReleaseId::parse(release),
            None => Some(ReleaseId::of_brought(read.hash)),
        };
        // One that is not valid is refused with the record.
        if let Some(release) = release {
            record.source_release_id = Some(release.as_str().to_owned());
            self.store.store(release, read)?;
        }
        Ok(None)
    }
}

impl NamedFiles<'_> {
    /// Tells the format of a file by its content.
    fn open<'f>(
        &'f mut self,
        content: Box<dyn BufRead + 'f>,
        path: &Path,
    ) -> io::Result<RecognisedTable<'f>> {
        let (brought, table) = (&mut self.brought, path.to_owned());
        let visit = Box::new(move |record: &mut TableRecord| brought.bring(&table, record));
        Ok(match open_table(content, self.options.clone(), visit)? {
            OpenedTable::Own(format, content) => RecognisedTable { format, content },
            OpenedTable::Foreign(table) => RecognisedTable {
                format: Format::Converted,
                content: Box::new(BufReader::new(CountedTable {
                    table,
                    counted: 0,
                    left_out_count: Arc::clone(&self.left_out_count),
                })),
            },
        })
    }
}

/// Passes on how many rows are left out.
struct CountedTable<'f> {
    table: Box<TableRead<'f>>,
    /// Rows that were passed on.
    counted: u64,
    left_out_count: Arc<AtomicU64>,
}

impl Read for CountedTable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.table.read(buffer)?;
        let left_out = self.table.left_out_count();
        let new = left_out - std::mem::replace(&mut self.counted, left_out);
        self.left_out_count.fetch_add(new, Ordering::Relaxed);
        Ok(count)
    }
}

/// The error with the file's name. Its kind stays, so that a broken pipe is still recognised.
pub(super) fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}

/// Counts the bytes read, for the progress bar.
struct CountedRead {
    input: Box<dyn Read>,
    read_bytes: Arc<AtomicU64>,
}

impl Read for CountedRead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
