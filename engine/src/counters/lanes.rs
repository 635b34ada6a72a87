//! Download counters: a file per worker that it appends to, aggregated into `state.redb`.
//!
//! An entry stands in the page cache before its answer goes out, so a killed process loses none;
//! files are synced every second, so a power cut loses at most that. The offset up to which a
//! file is aggregated is stored in the transaction of its aggregation, so each entry counts exactly
//! once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::download_counts::DownloadTable;
use super::log_file::{Counted, CounterFile, CounterWriter, ENTRY_BYTES, HEADER_BYTES};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::WAITING_DOWNLOADS_MAX;
use crate::model::{ApiKeyId, Day, RecordId};
use crate::state::{AggregatedPart, DownloadAggregate};

/// All lanes and their files.
pub(crate) struct Counters {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    table: Arc<DownloadTable>,
    lanes_max: usize,
    lanes_count: AtomicUsize,
    files: Mutex<Files>,
    /// True if a name in the directory is not durable yet.
    is_dir_dirty: AtomicBool,
    /// Downloads that no file has, because the disk refused them.
    waiting: Mutex<Vec<Counted>>,
    /// True if there are any.
    is_waiting: AtomicBool,
    /// Entries that were passed over: file below the data directory, and offset.
    passed_over: Mutex<BTreeSet<(String, u64)>>,
}

struct Files {
    live: Vec<LiveLog>,
    /// Files that are removed while their offsets are still stored.
    removed: Vec<String>,
    last_number: u64,
}

#[derive(Clone)]
struct LiveLog {
    file: Arc<CounterFile>,
    aggregated_bytes: u64,
}

/// One worker's download counter: a file that outlives a killed process.
pub struct CounterLane {
    counters: Arc<Counters>,
    /// `None` while the disk refuses a file.
    writer: Option<CounterWriter>,
}

impl CounterLane {
    /// Counts one download that is being answered. Cost: a look-up and a few bytes into mapped
    /// memory, or one write where files cannot be mapped for writing; no sync.
    ///
    /// On a full disk the download waits in memory, and [`Counters::sync`] tries again. Errors: too
    /// many wait.
    pub fn count(&mut self, record: RecordId, api_key: Option<ApiKeyId>, day: Day) -> Result<()> {
        let counted = Counted {
            record,
            api_key,
            day,
        };
        // The file first: an answer never shows a count that a restart would not.
        if let Err(error) = self.write(counted) {
            self.counters.wait(counted, error)?;
        }
        self.counters.table.add(record, 1);
        Ok(())
    }

    fn write(&mut self, counted: Counted) -> Result<()> {
        if let Some(writer) = self.writer.as_mut().filter(|writer| !writer.is_full()) {
            return writer.count(counted);
        }
        // A lane leaves a full file, so that aggregated ones can be removed. While downloads wait
        // the disk is known to refuse files: it is not asked again for each.
        let mut next = self.counters.begin_file_unless_waiting()?;
        if let Some(writer) = &mut self.writer {
            next.follow(writer);
        }
        let written = next.count(counted);
        self.writer = Some(next);
        written
    }
}

impl Counters {
    /// Finds the files of earlier processes. `offsets` is how far each was aggregated.
    pub(crate) fn open(
        disk: Arc<dyn Disk>,
        dir: PathBuf,
        table: Arc<DownloadTable>,
        lanes_max: usize,
        offsets: &[(String, u64)],
    ) -> Result<Self> {
        let mut files = Files {
            live: Vec::new(),
            removed: Vec::new(),
            last_number: 0,
        };
        // A number is not used again while its offset is stored: the new file would be taken for
        // one that is aggregated up to there.
        for (name, _) in offsets {
            files.last_number = files.last_number.max(number_of(name));
        }
        for entry in disk.list(&dir)?.unwrap_or_default() {
            files.last_number = files.last_number.max(number_of(&entry.name));
            let path = dir.join(&entry.name);
            match CounterFile::open(disk.as_ref(), path.clone(), entry.name.clone())? {
                Some(file) => {
                    let aggregated = offsets.iter().find(|(name, _)| *name == entry.name);
                    files.live.push(LiveLog {
                        file: Arc::new(file),
                        aggregated_bytes: aggregated.map_or(0, |(_, offset)| *offset),
                    });
                }
                // Killed before its header was written: it counts nothing.
                None => {
                    disk.remove(&path)?;
                }
            }
        }
        // Removed before the last stop, but not forgotten yet: the next aggregation does it.
        for (name, _) in offsets {
            let is_there = files.live.iter().any(|log| log.file.name == *name);
            if !is_there {
                files.removed.push(name.clone());
            }
        }
        Ok(Self {
            disk,
            dir,
            table,
            lanes_max,
            lanes_count: AtomicUsize::new(0),
            files: Mutex::new(files),
            is_dir_dirty: AtomicBool::new(true),
            waiting: Mutex::default(),
            is_waiting: AtomicBool::new(false),
            passed_over: Mutex::default(),
        })
    }

    /// Hands out a lane; panics when more are asked for than there are. A full disk refuses none:
    /// the lane begins its file when there is room.
    pub(crate) fn lane(self: &Arc<Self>) -> Result<CounterLane> {
        let lane_idx = self.lanes_count.fetch_add(1, Ordering::Relaxed);
        assert!(
            lane_idx < self.lanes_max,
            "more counter lanes are asked for than there are"
        );
        Ok(CounterLane {
            counters: Arc::clone(self),
            writer: self.begin_file().ok(),
        })
    }

    /// Keeps a download in memory that could not be written. Errors: `refused`, if too many wait.
    fn wait(&self, counted: Counted, refused: Error) -> Result<()> {
        let mut waiting = self.waiting.lock();
        if waiting.len() == WAITING_DOWNLOADS_MAX {
            return Err(refused);
        }
        waiting.push(counted);
        self.is_waiting.store(true, Ordering::Release);
        Ok(())
    }

    /// Writes the downloads that wait into a file of their own.
    fn write_waiting(&self) -> Result<()> {
        if !self.is_waiting.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut writer = self.begin_file()?;
        let mut waiting = self.waiting.lock();
        while let Some(counted) = waiting.last() {
            if writer.is_full() {
                break;
            }
            writer.count(*counted)?;
            waiting.pop();
        }
        self.is_waiting
            .store(!waiting.is_empty(), Ordering::Release);
        Ok(())
    }

    fn begin_file_unless_waiting(&self) -> Result<CounterWriter> {
        if self.is_waiting.load(Ordering::Acquire) {
            let source = std::io::ErrorKind::StorageFull.into();
            return Err(Error::io("create a file in", &self.dir)(source));
        }
        self.begin_file()
    }

    /// Makes everything counted so far durable.
    pub(crate) fn sync(&self) -> Result<()> {
        self.write_waiting()?;
        if self.is_dir_dirty.swap(false, Ordering::AcqRel) {
            let synced = self.disk.sync_dir(&self.dir);
            // A file without a durable name is lost with its entries: try again next time.
            if synced.is_err() {
                self.is_dir_dirty.store(true, Ordering::Release);
            }
            synced?;
        }
        for file in self.live_files() {
            file.sync()?;
        }
        Ok(())
    }

    /// Bytes of entries that are not aggregated; `None` when an aggregation has nothing to do.
    pub(crate) fn waiting_bytes(&self) -> Option<u64> {
        let files = self.files.lock();
        let waiting = files.live.iter().map(|live| {
            let from = live.aggregated_bytes.max(HEADER_BYTES);
            live.file.written_bytes().saturating_sub(from)
        });
        let waiting_bytes = waiting.filter(|bytes| ENTRY_BYTES <= *bytes).sum();
        (0 < waiting_bytes || !files.removed.is_empty()).then_some(waiting_bytes)
    }

    /// Downloads counted since the last aggregation, up to `count_max`; `None` if there are none.
    /// Files of earlier processes are not in the table yet: their entries are added to it when
    /// `is_first`.
    pub(crate) fn read_aggregate(
        &self,
        is_first: bool,
        count_max: u64,
    ) -> Result<Option<DownloadAggregate>> {
        let mut bytes_left = count_max.saturating_mul(ENTRY_BYTES);
        let mut sum = DownloadSums::default();
        let mut aggregate = DownloadAggregate::default();
        // No lock while files are read or synced: a worker that begins a file waits for it.
        let (live, removed) = {
            let files = self.files.lock();
            (files.live.clone(), files.removed.clone())
        };
        if !removed.is_empty() {
            // A removal must be durable before its offset is forgotten: the file would count
            // again if a power cut brought it back.
            self.disk.sync_dir(&self.dir)?;
            aggregate.forgotten = removed;
        }
        for log in live {
            let mut each = |counted: Counted, downloads: u64| {
                sum.add(counted, downloads);
                if is_first {
                    self.table.add(counted.record, downloads);
                }
            };
            let from = log.aggregated_bytes;
            let mut torn = |offset| self.pass_over(&log.file, offset);
            let file = &log.file;
            let to = file.read_from(from, bytes_left, &mut each, &mut torn)?;
            bytes_left = bytes_left.saturating_sub(to.saturating_sub(from.max(HEADER_BYTES)));
            if from < to {
                let name = log.file.name.clone();
                aggregate.parts.push(AggregatedPart { name, from, to });
            }
        }
        let is_empty = aggregate.parts.is_empty() && aggregate.forgotten.is_empty();
        // In order, so that equal downloads make equal events, and rows are written in key order.
        aggregate.records = sum.records.into_iter().collect();
        aggregate.records.sort_unstable();
        aggregate.usage = sum
            .usage
            .into_iter()
            .map(|((api_key, day), downloads)| (api_key, day, downloads))
            .collect();
        aggregate.usage.sort_unstable();
        Ok((!is_empty).then_some(aggregate))
    }

    /// An aggregation is durable: files that are read to their end go.
    pub(crate) fn mark_aggregated(&self, aggregate: &DownloadAggregate) -> Result<()> {
        let mut files = self.files.lock();
        files
            .removed
            .retain(|name| !aggregate.forgotten.contains(name));
        for part in &aggregate.parts {
            let found = files
                .live
                .iter_mut()
                .find(|live| live.file.name == part.name);
            if let Some(live) = found {
                live.aggregated_bytes = part.to;
            }
        }
        let is_done = |live: &LiveLog| {
            // Before the length is read: a retired file gets no entry after that.
            let is_retired = live.file.is_retired();
            let rest_bytes = live
                .file
                .written_bytes()
                .saturating_sub(live.aggregated_bytes);
            is_retired && rest_bytes < ENTRY_BYTES
        };
        while let Some(done_idx) = files.live.iter().position(is_done) {
            files.live[done_idx].file.remove(self.disk.as_ref())?;
            let done = files.live.swap_remove(done_idx);
            files.removed.push(done.file.name.clone());
        }
        Ok(())
    }

    /// Takes over how far each file was aggregated, when an aggregation had seemed to fail.
    pub(crate) fn reconcile(&self, offsets: &[(String, u64)]) {
        let mut files = self.files.lock();
        for live in &mut files.live {
            let stored = offsets.iter().find(|(name, _)| *name == live.file.name);
            live.aggregated_bytes = stored.map_or(0, |(_, offset)| *offset);
        }
        let is_stored = |name: &String| offsets.iter().any(|(stored, _)| stored == name);
        files.removed.retain(is_stored);
    }

    /// Entries that did not match their checksum when they were aggregated: file below the data
    /// directory, and offset.
    pub(crate) fn passed_over(&self) -> Vec<(String, u64)> {
        self.passed_over.lock().iter().cloned().collect()
    }

    /// Torn entries, and entries that do not match their checksums now.
    pub(crate) fn torn_entries(&self) -> Result<Vec<(String, u64)>> {
        for file in self.live_files() {
            let mut torn = |offset| self.pass_over(&file, offset);
            file.read_from(0, u64::MAX, &mut |_, _| {}, &mut torn)?;
        }
        Ok(self.passed_over())
    }

    fn pass_over(&self, file: &CounterFile, offset: u64) {
        let entry = (format!("counters/{}", file.name), offset);
        self.passed_over.lock().insert(entry);
    }

    fn live_files(&self) -> Vec<Arc<CounterFile>> {
        let files = self.files.lock();
        files
            .live
            .iter()
            .map(|live| Arc::clone(&live.file))
            .collect()
    }

    fn begin_file(&self) -> Result<CounterWriter> {
        let mut files = self.files.lock();
        let number = files.last_number + 1;
        let name = format!("{number:010}.count");
        let path = self.dir.join(&name);
        let writer = CounterWriter::create(self.disk.as_ref(), path, name)?;
        files.last_number = number;
        files.live.push(LiveLog {
            file: Arc::clone(&writer.file),
            aggregated_bytes: 0,
        });
        self.is_dir_dirty.store(true, Ordering::Release);
        Ok(writer)
    }
}

#[derive(Default)]
struct DownloadSums {
    records: HashMap<RecordId, u64, foldhash::fast::RandomState>,
    usage: HashMap<(Option<ApiKeyId>, Day), u64, foldhash::fast::RandomState>,
}

impl DownloadSums {
    fn add(&mut self, counted: Counted, downloads: u64) {
        *self.records.entry(counted.record).or_default() += downloads;
        let used = (counted.api_key, counted.day);
        *self.usage.entry(used).or_default() += downloads;
    }
}

/// The number in the name of a counter file; 0 for any other name.
fn number_of(name: &str) -> u64 {
    let digits = name.strip_suffix(".count").unwrap_or_default();
    digits.parse().unwrap_or(0)
}
