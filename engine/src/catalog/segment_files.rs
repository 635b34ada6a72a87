//! The files of `index/`: written whole, durable before the manifest names them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::data_dir::DataDir;
use crate::disk::publish_file;
use crate::error::{Error, Result};
use crate::index::{Segment, SegmentSummary};
use crate::limits::FREE_BYTES_MIN;

/// The folder of segment files.
pub(crate) struct SegmentFiles {
    data_dir: Arc<DataDir>,
    /// The largest number that a file has or had.
    last_number: AtomicU64,
}

impl SegmentFiles {
    pub(crate) fn new(data_dir: Arc<DataDir>) -> Self {
        Self {
            data_dir,
            last_number: AtomicU64::new(0),
        }
    }

    /// A number for a file, larger than all before.
    pub(crate) fn next_number(&self) -> u64 {
        self.last_number.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Never hands out the numbers of these files, nor of those that are in the folder.
    pub(crate) fn skip_numbers(&self, numbers: &[u64]) -> Result<()> {
        let entries = self.data_dir.disk().list(&self.data_dir.path("index"))?;
        let entries = entries.unwrap_or_default();
        let found = entries.iter().filter_map(|entry| number_of(&entry.name));
        let last = found.chain(numbers.iter().copied()).max().unwrap_or(0);
        self.last_number.fetch_max(last, Ordering::Relaxed);
        Ok(())
    }

    /// Errors: too little space for files of `needed_bytes` and the transaction that names them.
    pub(crate) fn check_space(&self, needed_bytes: u64) -> Result<()> {
        let guard = self.data_dir.space_guard(FREE_BYTES_MIN + needed_bytes);
        guard.check()
    }

    /// Writes a segment durably and opens it.
    pub(crate) fn write(
        &self,
        number: u64,
        write: &mut dyn FnMut(&mut dyn Write) -> Result<SegmentSummary>,
    ) -> Result<Arc<Segment>> {
        let name = file_name(number);
        let temporary = self.data_dir.temporary(&name);
        let disk = self.data_dir.disk().as_ref();
        publish_file(disk, &temporary, &self.path(&name), &mut |out| {
            write(out).map(|_| ())
        })?;
        // Read back from the file, not from memory: the manifest names only checked files.
        let opened = self.open(number)?;
        opened.ok_or_else(|| Error::corrupt(format!("index/{name}"), 0, "the file"))
    }

    /// Maps a segment and checks its header and dictionaries; `None` when there is no such file.
    pub(crate) fn open(&self, number: u64) -> Result<Option<Arc<Segment>>> {
        let name = file_name(number);
        let path = self.path(&name);
        let Some(file) = self.data_dir.disk().open(&path)? else {
            return Ok(None);
        };
        let mapping = file.map().map_err(Error::io("map", &path))?;
        let segment = Segment::open_mapped(mapping, &format!("index/{name}"))?;
        Ok(Some(Arc::new(segment)))
    }

    /// Errors: a segment file has changed since it was opened: it is missing, truncated, or has
    /// unreadable bytes. Cost: one system call.
    pub(crate) fn ensure_not_truncated(&self, number: u64, segment: &Segment) -> Result<()> {
        segment.ensure_not_truncated()?;
        // The flag covers the pages that were touched, the length the others.
        let found = self
            .data_dir
            .disk()
            .size_bytes(&self.path(&file_name(number)))?;
        if found == Some(segment.size_bytes().0) {
            return Ok(());
        }
        Err(Error::corrupt(
            segment.name(),
            found.unwrap_or(0),
            "the file with the length that was written",
        ))
    }

    /// Removes a file. Readers that have it mapped keep it.
    pub(crate) fn remove(&self, number: u64) -> Result<()> {
        let path = self.path(&file_name(number));
        // Not synced: a file that a power cut brings back is not in the manifest, and the next
        // start removes it again.
        self.data_dir.disk().remove(&path)?;
        Ok(())
    }

    /// Removes every file that the manifest does not name.
    pub(crate) fn remove_others(&self, numbers: &[u64]) -> Result<()> {
        let dir = self.data_dir.path("index");
        let disk = self.data_dir.disk();
        for entry in disk.list(&dir)?.unwrap_or_default() {
            let number = number_of(&entry.name);
            let is_named = number.is_some_and(|number| numbers.contains(&number));
            if !is_named && !entry.is_dir {
                disk.remove(&dir.join(&entry.name))?;
            }
        }
        Ok(())
    }

    /// Files that the manifest does not name.
    pub(crate) fn others(&self, numbers: &[u64]) -> Result<Vec<String>> {
        let entries = self.data_dir.disk().list(&self.data_dir.path("index"))?;
        let is_other =
            |name: &String| number_of(name).is_none_or(|number| !numbers.contains(&number));
        let names = entries.unwrap_or_default().into_iter();
        Ok(names.map(|entry| entry.name).filter(is_other).collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.data_dir.path("index").join(name)
    }
}

/// Name of a segment's file.
pub(crate) fn file_name(number: u64) -> String {
    format!("{number:010}.seg")
}

fn number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".seg")?.parse().ok()
}
