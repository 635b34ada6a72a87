//! Files of a folder: which are read, which are stored, which record each is of (API.md 13.11).

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use subcat_engine::{BROUGHT_FILES_MAX, ContentHash, RecordId};

use super::memory::{FolderMemory, NOT_LOADED, SHARED, has_record};
use super::record::{FolderRecord, PathReader, PathRejection};
use super::report::FolderReport;
use super::walk::{FoundFile, Walked};
use crate::command::error::CommandError;
use crate::command::file_store::{FileStore, ReadFile, StorePlace, read_subtitle, release_of};
use crate::command::progress::Progress;
use crate::limits::BROUGHT_BATCH_BYTES;
use crate::ops::PathRow;

/// A file that has a record, or shares that of another.
#[derive(Debug, Clone)]
pub(super) struct ScannedFile {
    /// Index of the file.
    pub(super) file_idx: usize,
    /// Content of the file.
    pub(super) content: ContentHash,
    /// The record that it had the last time, if it had one of its own.
    known_record: Option<RecordId>,
    /// Digest of the record that was loaded the last time.
    pub(super) known_digest: u64,
    /// True if size, time and content are those of the last time.
    is_same: bool,
    /// Entry of another file that has the record of the same content.
    pub(super) owner: Option<usize>,
    /// Record of the file; set once the content of every file is known.
    pub(super) record: RecordId,
}

/// A folder and the entries of its files.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// In the order of their paths.
    pub(super) entries: Vec<ScannedFile>,
    /// Names that are added to the description of an entry.
    pub(super) names: HashMap<usize, Vec<usize>>,
    /// Rows of deleted files.
    pub(super) gone: Vec<PathRow>,
    /// Number of records of the last time, those of files that are gone included.
    pub(super) records_count: usize,
    /// True if paths are read by the same rules as the last time.
    pub(super) has_same_rules: bool,
    /// Contents that files got or lost since the last time, by the beginnings of their hashes.
    pub(super) touched: HashSet<u64>,
}

/// The files of a folder, and how their paths are read.
#[derive(Clone, Copy)]
pub(super) struct FolderPaths<'s> {
    pub(super) walked: &'s Walked,
    pub(super) reader: &'s PathReader<'s>,
}

impl FolderPaths<'_> {
    /// The path of an entry's file.
    pub(super) fn path(&self, entry: &ScannedFile) -> String {
        self.walked.files[entry.file_idx].text()
    }

    /// The row that remembers an entry.
    pub(super) fn row(&self, entry: &ScannedFile, record: RecordId, digest: u64) -> PathRow {
        let file = &self.walked.files[entry.file_idx];
        PathRow {
            path: file.text(),
            size_bytes: file.size_bytes,
            modified_nanos: file.modified_nanos,
            content: entry.content.0,
            record: *record.as_bytes(),
            digest,
        }
    }
}

/// A scan of a folder.
pub(super) struct FolderScan<'s> {
    pub(super) folder: &'s Path,
    pub(super) paths: FolderPaths<'s>,
    pub(super) memory: FolderMemory<'s>,
    /// Place in which contents are stored.
    pub(super) place: StorePlace<'s>,
    pub(super) bytes_max: usize,
    /// Sum of all inputs of the reading of a path, except the path.
    pub(super) rules: u64,
    /// Returns true for a file that waits for the next scan.
    pub(super) waits: &'s dyn Fn(&FoundFile) -> bool,
    pub(super) progress: &'s Progress,
}

/// Files that are stored at once, and the rows of their paths, which are saved after them.
#[derive(Default)]
struct FolderBatch {
    files: Vec<ReadFile>,
    bytes: usize,
    rows: Vec<PathRow>,
}

impl FolderBatch {
    fn is_full(&self) -> bool {
        BROUGHT_FILES_MAX <= self.files.len() || BROUGHT_BATCH_BYTES <= self.bytes
    }

    fn store(self, place: StorePlace<'_>, memory: FolderMemory<'_>) -> Result<(), CommandError> {
        let mut store = FileStore::new(place);
        for file in self.files {
            store.store(release_of(&file.hash), file)?;
        }
        store.flush()?;
        memory.remember(self.rows)
    }
}

impl FolderScan<'_> {
    /// Reads what is new or has changed, and stores it. While a batch of files becomes durable the
    /// next one is read.
    pub(super) fn run(&self, report: &mut FolderReport) -> Result<Scanned, CommandError> {
        let (sender, batches) = sync_channel::<FolderBatch>(0);
        let (place, memory) = (self.place, self.memory);
        thread::scope(|scope| {
            let storing =
                scope.spawn(move || batches.iter().try_for_each(|it| it.store(place, memory)));
            let scanned = self.scan(&sender, report);
            drop(sender);
            // The scan ends early if a batch cannot be stored: this error says why.
            storing.join().expect("storing files does not panic")?;
            scanned
        })
    }

    fn scan(
        &self,
        sender: &SyncSender<FolderBatch>,
        report: &mut FolderReport,
    ) -> Result<Scanned, CommandError> {
        let files_count = self.paths.walked.files.len();
        let mut scanned = Scanned {
            entries: Vec::with_capacity(files_count),
            ..Scanned::default()
        };
        let mut rows = self.memory.rows();
        // The row of the folder itself.
        let own = rows.take("", &mut scanned.gone)?;
        scanned.has_same_rules = own.is_some_and(|row| row.digest == self.rules);
        let (mut batch, mut replaced) = (FolderBatch::default(), Vec::new());
        for (file_idx, file) in self.paths.walked.files.iter().enumerate() {
            let path = file.text();
            let known = rows.take(&path, &mut scanned.gone)?;
            scanned.records_count += usize::from(known.as_ref().is_some_and(has_record));
            if self.leaves_out(file, known.as_ref(), scanned.has_same_rules, report) {
                continue;
            }
            let old = known.as_ref().map(|row| ContentHash(row.content));
            let Some(entry) = self.entry(file_idx, known.as_ref(), &mut batch, report)? else {
                continue;
            };
            if !entry.is_same {
                replaced.extend(old.map(beginning_of));
            }
            scanned.entries.push(entry);
            if batch.is_full() && sender.send(std::mem::take(&mut batch)).is_err() {
                return Ok(scanned);
            }
            self.progress
                .count(file_idx as u64 + 1, files_count as u64, "files");
        }
        rows.take_rest(&mut scanned.gone)?;
        let gone = scanned.gone.iter().filter(|row| has_record(row));
        scanned.records_count += gone.count();
        sender.send(batch).ok();
        scanned.find_touched(replaced);
        Ok(scanned)
    }

    /// Returns true for a file that is not one of this import, and reports why.
    fn leaves_out(
        &self,
        file: &FoundFile,
        known: Option<&PathRow>,
        has_same_rules: bool,
        report: &mut FolderReport,
    ) -> bool {
        if (self.waits)(file) {
            report.waiting += 1;
            return true;
        }
        if has_same_rules && self.is_unchanged(file, known) {
            return false;
        }
        let path = file.text();
        match self.paths.reader.read(&path) {
            Ok(_) => return false,
            Err(PathRejection::LeftOut) => {}
            Err(PathRejection::OtherLanguage) => report.other_languages += 1,
            Err(PathRejection::Refused(reason)) => report.refuse(&reason, &path),
        }
        true
    }

    /// Returns true if a file has not changed since its record was loaded.
    fn is_unchanged(&self, file: &FoundFile, known: Option<&PathRow>) -> bool {
        known.is_some_and(|row| {
            let is_same =
                row.size_bytes == file.size_bytes && row.modified_nanos == file.modified_nanos;
            is_same && row.digest != NOT_LOADED
        })
    }

    /// The content of a file: as remembered, or read and stored.
    fn entry(
        &self,
        file_idx: usize,
        known: Option<&PathRow>,
        batch: &mut FolderBatch,
        report: &mut FolderReport,
    ) -> Result<Option<ScannedFile>, CommandError> {
        let file = &self.paths.walked.files[file_idx];
        let own = known.filter(|row| row.digest != SHARED);
        let known_record = own.map(|row| RecordId::from_bytes(row.record));
        let known_digest = known.map_or(NOT_LOADED, |row| row.digest);
        let unchanged = known.filter(|row| {
            row.size_bytes == file.size_bytes && row.modified_nanos == file.modified_nanos
        });
        let entry = |content, is_same| ScannedFile {
            file_idx,
            content,
            known_record,
            known_digest,
            is_same,
            owner: None,
            record: RecordId::from_bytes([0; 16]),
        };
        if let Some(row) = unchanged {
            return Ok(Some(entry(ContentHash(row.content), true)));
        }
        let read = match read_subtitle(&file.path_in(self.folder), self.bytes_max) {
            Ok(Ok(read)) => read,
            Ok(Err(rejection)) => {
                report.refuse(&rejection.to_string(), &file.text());
                return Ok(None);
            }
            Err(error) => {
                report.refuse(&format!("cannot be read: {}", error.kind()), &file.text());
                return Ok(None);
            }
        };
        let entry = entry(read.hash, false);
        let record = known_record.unwrap_or_else(|| of_content(&entry));
        batch.rows.push(self.paths.row(&entry, record, NOT_LOADED));
        if !matches!(self.place, StorePlace::DryRun) {
            batch.bytes += read.content.len();
            batch.files.push(read);
        }
        Ok(Some(entry))
    }
}

/// The beginning of a content's hash: two that begin alike cost one look at a record.
fn beginning_of(content: ContentHash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = content.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The id that is made from an entry's content.
fn of_content(entry: &ScannedFile) -> RecordId {
    RecordId::of_release(&release_of(&entry.content))
}

impl Scanned {
    /// Collects the contents that files got or lost, if any file is as it was; `replaced` are those
    /// that changed files had.
    fn find_touched(&mut self, replaced: Vec<u64>) {
        if !self.entries.iter().any(|entry| entry.is_same) {
            return;
        }
        self.touched.extend(replaced);
        let changed = self.entries.iter().filter(|entry| !entry.is_same);
        let changed = changed.map(|entry| beginning_of(entry.content));
        self.touched.extend(changed);
        let gone = self
            .gone
            .iter()
            .map(|row| beginning_of(ContentHash(row.content)));
        self.touched.extend(gone);
    }

    /// Finds files with equal content: the first path has the record, other names of the same video
    /// are added to it, and the others are refused. Then every entry gets its record.
    pub(super) fn settle(&mut self, paths: FolderPaths<'_>, report: &mut FolderReport) {
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        order.sort_by_key(|idx| self.entries[*idx].content);
        let mut at = 0;
        while at < order.len() {
            let owner = order[at];
            let content = self.entries[owner].content;
            let mut end = at + 1;
            while end < order.len() && self.entries[order[end]].content == content {
                end += 1;
            }
            if 1 < end - at {
                self.share(owner, &order[at + 1..end], paths, report);
            }
            at = end;
        }
        self.choose_records();
    }

    fn share(
        &mut self,
        owner: usize,
        others: &[usize],
        paths: FolderPaths<'_>,
        report: &mut FolderReport,
    ) {
        let owner_path = paths.path(&self.entries[owner]);
        let Ok(record) = paths.reader.read(&owner_path) else {
            return;
        };
        for other in others {
            let other_path = paths.path(&self.entries[*other]);
            let read = paths.reader.read(&other_path);
            let is_same = read.is_ok_and(|other| record.agrees_with(&other));
            if is_same {
                self.names.entry(owner).or_default().push(*other);
            } else {
                report.refuse_same(&owner_path, &other_path);
            }
            self.entries[*other].owner = Some(owner);
        }
    }

    /// A file keeps its record when it changes or moves, unless the id of that record is made from
    /// the content of another file.
    fn choose_records(&mut self) {
        let mut moved: HashMap<[u8; 32], RecordId> = HashMap::new();
        for row in self.gone.iter().filter(|row| row.digest != SHARED) {
            moved.insert(row.content, RecordId::from_bytes(row.record));
        }
        let kept = |entry: &ScannedFile| {
            let known = entry
                .known_record
                .or_else(|| moved.get(&entry.content.0).copied());
            known.filter(|record| *record != of_content(entry))
        };
        // Most ids are made from their content: those of the others must not be among them.
        let has_kept = self.entries.iter().any(|entry| kept(entry).is_some());
        let mut taken: HashSet<RecordId> = HashSet::new();
        if has_kept {
            let owners = self.entries.iter().filter(|entry| entry.owner.is_none());
            taken.extend(owners.filter(|entry| kept(entry).is_none()).map(of_content));
        }
        let records: Vec<RecordId> = self
            .entries
            .iter()
            .map(|entry| match kept(entry) {
                Some(record) if entry.owner.is_none() && taken.insert(record) => record,
                _ => of_content(entry),
            })
            .collect();
        for idx in 0..records.len() {
            let owner = self.entries[idx].owner.unwrap_or(idx);
            self.entries[idx].record = records[owner];
        }
        if self.gone.is_empty() {
            return;
        }
        let present: HashSet<RecordId> = records.into_iter().collect();
        // A moved file keeps its record.
        for row in &mut self.gone {
            if present.contains(&RecordId::from_bytes(row.record)) {
                row.digest = SHARED;
            }
        }
    }

    /// The whole record of an entry that has one.
    pub(super) fn record_of(&self, idx: usize, paths: FolderPaths<'_>) -> Option<FolderRecord> {
        let entry = &self.entries[idx];
        let file = &paths.walked.files[entry.file_idx];
        let mut record = paths.reader.read(&file.text()).ok()?;
        for other in self.names.get(&idx).into_iter().flatten() {
            record.add_name(&paths.path(&self.entries[*other]));
        }
        record.set_time(file.modified_nanos);
        let release = release_of(&entry.content);
        if entry.record != RecordId::of_release(&release) {
            record.set_missing("id", entry.record.to_string());
        }
        record.set_missing("source_release_id", release.as_str().to_owned());
        Some(record)
    }

    /// Returns true if the record of an entry cannot have changed, because its file, the files with
    /// the same content and the rules for paths have not.
    pub(super) fn is_untouched(&self, idx: usize) -> bool {
        let entry = &self.entries[idx];
        let is_loaded = entry.known_digest != NOT_LOADED && entry.known_digest != SHARED;
        let is_same =
            entry.is_same && is_loaded && !self.touched.contains(&beginning_of(entry.content));
        self.has_same_rules && is_same
    }

    /// Returns true if an entry is remembered unchanged, with this digest.
    pub(super) fn is_loaded(&self, idx: usize, digest: u64) -> bool {
        let entry = &self.entries[idx];
        entry.is_same && entry.known_digest == digest
    }
}
