//! Sorting more records than memory holds: batches in memory, spilled to files as sorted runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::memory_budget::MemoryBudget;
use crate::data_dir::DataDir;
use crate::disk::{DiskFile, FileWriter};
use crate::error::{Error, Result};
use crate::limits::{
    FREE_BYTES_MIN, IMPORT_MERGE_BYTES, IMPORT_RUNS_STEP, IMPORT_SORT_BYTES_MIN, PARALLEL_SORT_MIN,
    RUN_BUFFER_BYTES_MIN,
};
use crate::model::RecordId;

/// Size of a piece of memory for records, in bytes.
const PIECE_BYTES: usize = 1 << 20;

/// Sorter of records by id; of records with one id, the last is kept.
pub(crate) struct ExternalSorter {
    data_dir: Arc<DataDir>,
    /// Distinguishes the runs of several imports.
    name: String,
    budget: Arc<MemoryBudget>,
    /// Bytes taken from the budget.
    taken_bytes: usize,
    batch: RecordBatch,
    runs: Vec<Run>,
}

/// Records in memory: their bytes one after another, and the place of each.
#[derive(Default)]
struct RecordBatch {
    pieces: Vec<Vec<u8>>,
    entries: Vec<BatchEntry>,
}

#[derive(Clone, Copy)]
struct BatchEntry {
    id: RecordId,
    piece_idx: u32,
    offset: u32,
    bytes: u32,
}

/// A sorted file in `tmp/`: id, length and bytes of each record. It never outlives the process.
struct Run {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    size_bytes: u64,
    read_bytes: u64,
    buffer: Vec<u8>,
    buffer_offset: usize,
    /// Bytes to read at a time.
    buffer_bytes: usize,
}

impl ExternalSorter {
    pub(crate) fn new(data_dir: Arc<DataDir>, name: String, budget: Arc<MemoryBudget>) -> Self {
        Self {
            data_dir,
            name,
            budget,
            taken_bytes: 0,
            batch: RecordBatch::default(),
            runs: Vec::new(),
        }
    }

    /// Takes a record in.
    pub(crate) fn push(&mut self, id: RecordId, stored: &[u8]) -> Result<()> {
        let needed_bytes = self.batch.memory_bytes() + stored.len();
        if self.taken_bytes < needed_bytes && !self.take_piece() {
            self.spill()?;
        }
        self.batch.push(id, stored);
        Ok(())
    }

    /// Reserves memory for another piece. Returns false if records must be spilled first.
    fn take_piece(&mut self) -> bool {
        let is_taken = self.budget.take(PIECE_BYTES);
        if is_taken {
            self.taken_bytes += PIECE_BYTES;
        }
        // A little is always its own: beside a large import, others would spill each record. The
        // more runs there are the more: each is an open file.
        let own_bytes = IMPORT_SORT_BYTES_MIN * (1 + self.runs.len() / IMPORT_RUNS_STEP);
        is_taken || self.batch.memory_bytes() < own_bytes
    }

    fn give_back(&mut self) {
        self.budget.give_back(std::mem::take(&mut self.taken_bytes));
    }

    fn spill(&mut self) -> Result<()> {
        let name = format!("{}-{}", self.name, self.runs.len());
        let path = self.data_dir.temporary(&name);
        let batch_bytes = self.batch.memory_bytes() as u64;
        // Refused before the file is begun: a run that filled the disk would make other commits
        // fail.
        self.data_dir
            .space_guard(FREE_BYTES_MIN + batch_bytes)
            .check()?;
        self.batch.sort();
        let run = self.write_run(&path).inspect_err(|_| {
            // The error is reported; the next start empties the folder at the latest.
            let _ = self.data_dir.disk().remove(&path);
        })?;
        self.runs.push(run);
        self.batch = RecordBatch::default();
        self.give_back();
        Ok(())
    }

    fn write_run(&self, path: &Path) -> Result<Run> {
        let mut writer = FileWriter::create(self.data_dir.disk().as_ref(), path)?;
        for entry in &self.batch.entries {
            let stored = self.batch.stored(entry);
            let put = writer
                .write_all(entry.id.as_bytes())
                .and_then(|()| writer.write_all(&entry.bytes.to_le_bytes()))
                .and_then(|()| writer.write_all(stored));
            put.map_err(Error::io("write", path))?;
        }
        // Not synced: a run does not outlive its process.
        let file = writer.finish()?;
        let size_bytes = file.size_bytes().map_err(Error::io("read", path))?;
        Ok(Run {
            path: path.to_path_buf(),
            file,
            size_bytes,
            read_bytes: 0,
            buffer: Vec::new(),
            buffer_offset: 0,
            buffer_bytes: RUN_BUFFER_BYTES_MIN,
        })
    }

    /// Calls `each` with every record by id, until it breaks.
    pub(crate) fn drain(
        mut self,
        each: &mut dyn FnMut(RecordId, Vec<u8>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.batch.sort();
        if self.runs.is_empty() {
            for entry in &self.batch.entries {
                if each(entry.id, self.batch.stored(entry).to_vec())?.is_break() {
                    break;
                }
            }
            return Ok(());
        }
        // The rest becomes the last run: of equal ids the latest run wins.
        self.spill()?;
        let buffer_bytes = IMPORT_MERGE_BYTES / self.runs.len();
        for run in &mut self.runs {
            run.buffer_bytes = buffer_bytes.clamp(RUN_BUFFER_BYTES_MIN, PIECE_BYTES);
        }
        merge_runs(&mut self.runs, each)
    }
}

impl Drop for ExternalSorter {
    fn drop(&mut self) {
        self.give_back();
        for run in &self.runs {
            // The next start empties the folder.
            let _ = self.data_dir.disk().remove(&run.path);
        }
    }
}

/// Merges the records by id, until `each` breaks; of equal ids the one of the latest run.
fn merge_runs(
    runs: &mut [Run],
    each: &mut dyn FnMut(RecordId, Vec<u8>) -> Result<ControlFlow<()>>,
) -> Result<()> {
    let mut heads = BinaryHeap::new();
    for (run_idx, run) in runs.iter_mut().enumerate() {
        if let Some((id, stored)) = run.next()? {
            // One head of each run: id and run decide the order, and stored bytes are never
            // compared.
            heads.push(Reverse((id, Reverse(run_idx), stored)));
        }
    }
    let mut last = None;
    while let Some(Reverse((id, Reverse(run_idx), stored))) = heads.pop() {
        if let Some((id, stored)) = runs[run_idx].next()? {
            heads.push(Reverse((id, Reverse(run_idx), stored)));
        }
        // Of equal ids the heap yields the latest run first: the others are older versions.
        if last == Some(id) {
            continue;
        }
        if each(id, stored)?.is_break() {
            break;
        }
        last = Some(id);
    }
    Ok(())
}

impl RecordBatch {
    fn push(&mut self, id: RecordId, stored: &[u8]) {
        // Pieces of a fixed size: a single vector would double as it grows, and copy what it holds.
        let has_room = self
            .pieces
            .last()
            .is_some_and(|piece| piece.len() + stored.len() <= piece.capacity());
        if !has_room {
            self.pieces
                .push(Vec::with_capacity(PIECE_BYTES.max(stored.len())));
        }
        let piece_idx = self.pieces.len() - 1;
        let piece = &mut self.pieces[piece_idx];
        self.entries.push(BatchEntry {
            id,
            piece_idx: piece_idx as u32,
            offset: piece.len() as u32,
            bytes: stored.len() as u32,
        });
        piece.extend_from_slice(stored);
    }

    /// Sorts by id; of equal ids only the last stays.
    fn sort(&mut self) {
        if PARALLEL_SORT_MIN <= self.entries.len() {
            // Building has not begun, so a second core is free. The code below finds two sorted
            // runs and merges them in one pass.
            let middle = self.entries.len() / 2;
            let (first, second) = self.entries.split_at_mut(middle);
            thread::scope(|scope| {
                scope.spawn(|| first.sort_by_key(|entry| entry.id));
                second.sort_by_key(|entry| entry.id);
            });
        }
        // A stable sort keeps equal ids in the order of arrival; dedup keeps the first of them, so
        // it runs over the reverse.
        self.entries.sort_by_key(|entry| entry.id);
        self.entries.reverse();
        self.entries.dedup_by_key(|entry| entry.id);
        self.entries.reverse();
    }

    fn stored(&self, entry: &BatchEntry) -> &[u8] {
        let start = entry.offset as usize;
        &self.pieces[entry.piece_idx as usize][start..start + entry.bytes as usize]
    }

    fn memory_bytes(&self) -> usize {
        // Capacities, not lengths: the bound is about memory that is taken.
        self.pieces.len() * PIECE_BYTES + self.entries.capacity() * size_of::<BatchEntry>()
    }
}

impl Run {
    fn next(&mut self) -> Result<Option<(RecordId, Vec<u8>)>> {
        if self.read_bytes == self.size_bytes && self.buffer_offset == self.buffer.len() {
            return Ok(None);
        }
        let mut id = [0; 16];
        id.copy_from_slice(self.take(16)?);
        let mut bytes = [0; 4];
        bytes.copy_from_slice(self.take(4)?);
        let stored = self.take(u32::from_le_bytes(bytes) as usize)?.to_vec();
        Ok(Some((RecordId::from_bytes(id), stored)))
    }

    fn take(&mut self, bytes_count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.buffer_offset < bytes_count {
            // A record may lie across two reads: the rest of the last one moves to the front.
            self.buffer.drain(..self.buffer_offset);
            self.buffer_offset = 0;
            let kept_bytes = self.buffer.len();
            let rest_bytes = (self.size_bytes - self.read_bytes) as usize;
            let wanted_bytes = self.buffer_bytes.max(bytes_count);
            self.buffer
                .resize(kept_bytes + wanted_bytes.min(rest_bytes), 0);
            let target = &mut self.buffer[kept_bytes..];
            self.file
                .read_at(target, self.read_bytes)
                .map_err(Error::io("read", &self.path))?;
            self.read_bytes += target.len() as u64;
        }
        let start = self.buffer_offset;
        self.buffer_offset += bytes_count;
        let taken = self.buffer.get(start..self.buffer_offset);
        taken.ok_or_else(|| Error::corrupt("tmp/ (import)", 0, "a record that is whole"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Fault, Faulty, Real};

    fn check(memory_max: usize, is_spilling: bool) {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = Arc::new(DataDir::open(Arc::new(Real), dir.path()).unwrap());
        let budget = Arc::new(MemoryBudget::new(memory_max));
        let mut sorter = ExternalSorter::new(data_dir, "import".into(), Arc::clone(&budget));
        let mut expected = std::collections::BTreeMap::new();
        for number in 0..20_000u32 {
            let id = RecordId::from_bytes([(number.wrapping_mul(0x9e37_79b1) >> 20) as u8; 16]);
            let stored = vec![number as u8; number as usize % 700];
            sorter.push(id, &stored).unwrap();
            expected.insert(id, stored);
        }
        assert_eq!(!sorter.runs.is_empty(), is_spilling);
        let mut found = Vec::new();
        let drained = sorter.drain(&mut |id, stored| {
            found.push((id, stored));
            Ok(ControlFlow::Continue(()))
        });
        drained.unwrap();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        assert!(budget.take(memory_max), "all memory was given back");
        assert_eq!(
            std::fs::read_dir(dir.path().join("tmp")).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_run_that_cannot_be_written_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let faulty = Arc::new(Faulty::new(Fault::NONE));
        let data_dir = Arc::new(DataDir::open(Arc::clone(&faulty) as _, dir.path()).unwrap());
        let budget = Arc::new(MemoryBudget::new(4 << 20));
        let mut sorter = ExternalSorter::new(data_dir, "import".into(), budget);
        faulty.set_fault(Fault {
            first: faulty.ops_count() + 2,
            count: 1,
            errno: Fault::ENOSPC,
        });
        let id = |number: u128| RecordId::from_bytes(number.to_be_bytes());
        let pushed = (0..10_000).try_for_each(|number| sorter.push(id(number), &[7; 1000]));
        assert!(matches!(pushed, Err(Error::Io { .. })));
        let left = std::fs::read_dir(dir.path().join("tmp")).unwrap();
        assert_eq!(left.count(), 0);
    }

    #[test]
    fn imports_share_their_memory() {
        let dir = tempfile::tempdir().unwrap();
        let data_dir = Arc::new(DataDir::open(Arc::new(Real), dir.path()).unwrap());
        let budget = Arc::new(MemoryBudget::new(16 << 20));
        let mut sorters: Vec<ExternalSorter> = (0..2)
            .map(|number| {
                let name = format!("import-{number}");
                ExternalSorter::new(Arc::clone(&data_dir), name, Arc::clone(&budget))
            })
            .collect();
        let id = |number: u128| RecordId::from_bytes(number.to_be_bytes());
        for number in 0..30_000 {
            for sorter in &mut sorters {
                sorter.push(id(number), &[7; 1000]).unwrap();
                assert!(sorter.batch.memory_bytes() <= 17 << 20);
            }
            let memory_bytes = |sorter: &ExternalSorter| sorter.batch.memory_bytes();
            let sum: usize = sorters.iter().map(memory_bytes).sum();
            assert!(sum <= (16 << 20) + 2 * IMPORT_SORT_BYTES_MIN, "{sum}");
        }
        for sorter in sorters {
            let mut found_count = 0;
            let drained = sorter.drain(&mut |_, _| {
                found_count += 1;
                Ok(ControlFlow::Continue(()))
            });
            drained.unwrap();
            assert_eq!(found_count, 30_000);
        }
    }

    #[test]
    fn sorts_in_memory() {
        check(usize::MAX, false);
    }

    #[test]
    fn sorts_by_spilling() {
        check(2 << 20, true);
    }
}
