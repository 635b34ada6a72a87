//! Files of a folder: which are read, which are stored, which record each is of (API.md 13.11).

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use subcat_engine::{BROUGHT_FILES_MAX, ContentHash, RecordId, ReleaseId};

use super::memory::{FolderMemory, NOT_LOADED, SHARED, has_record};
use super::record::{FolderRecord, PathReader, PathRejection};
use super::report::FolderReport;
use super::walk::{FoundFile, Walked};
use crate::command::error::CommandError;
use crate::command::file_store::{FileStore, ReadFile, StorePlace, read_subtitle};
use crate::command::progress::Progress;
use crate::limits::BROUGHT_BATCH_BYTES;
use crate::ops::PathRow;

/// A file that has a record, or shares that of another. There may be many: this is 56 bytes.
#[derive(Debug, Clone)]
pub(super) struct ScannedFile {
    /// Index of the file.
    file_idx: u32,
    /// Entry of another file that has the record of the same content.
    owner: Option<u32>,
    /// Content of the file.
    pub(super) content: ContentHash,
    /// Digest of the record that was loaded the last time.
    known_digest: u64,
    /// True if size, time and content are those of the last time.
    is_same: bool,
}

/// A folder and the entries of its files.
#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// In the order of their paths.
    pub(super) entries: Vec<ScannedFile>,
    /// Records of the last time that are not made from the content of now, by entry: few, as most
    /// files do not change. Once all is scanned, those that their files keep.
    pub(super) kept: HashMap<u32, RecordId>,
    /// Names that are added to the description of an entry.
    pub(super) names: HashMap<u32, Vec<u32>>,
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
        self.walked.files.get(entry.file_idx as usize).text()
    }

    /// The row that remembers an entry.
    pub(super) fn row(&self, entry: &ScannedFile, record: RecordId, digest: u64) -> PathRow {
        let file = self.walked.files.get(entry.file_idx as usize);
        PathRow {
            path: file.text(),
            size_bytes: file.state.size_bytes,
            modified_nanos: file.state.modified_nanos,
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
            store.store(ReleaseId::of_brought(file.hash), file)?;
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
            let file = PathedFile {
                path: file.text(),
                file,
            };
            let known = rows.take(&file.path, &mut scanned.gone)?;
            scanned.records_count += usize::from(known.as_ref().is_some_and(has_record));
            if self.leaves_out(&file, known.as_ref(), scanned.has_same_rules, report) {
                continue;
            }
            let Some(content) = self.content_of(file, known.as_ref(), &mut batch, report) else {
                continue;
            };
            let entry = ScannedFile::new(file_idx as u32, content, known.as_ref());
            if let Some(row) = &known {
                if !content.is_same {
                    replaced.push(beginning_of(ContentHash(row.content)));
                }
                scanned.note_known(&entry, row);
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
        PathedFile { path, file }: &PathedFile,
        known: Option<&PathRow>,
        has_same_rules: bool,
        report: &mut FolderReport,
    ) -> bool {
        if (self.waits)(file) {
            report.waiting += 1;
            return true;
        }
        // What was loaded by the same rules was not left out.
        let is_loaded = |row: &PathRow| is_of(row, file) && row.digest != NOT_LOADED;
        if has_same_rules && known.is_some_and(is_loaded) {
            return false;
        }
        match self.paths.reader.read(path) {
            Ok(_) => return false,
            Err(PathRejection::LeftOut) => {}
            Err(PathRejection::OtherLanguage) => report.other_languages += 1,
            Err(PathRejection::Refused(reason)) => report.refuse(&reason, path),
        }
        true
    }

    /// The content of a file: as remembered, or read and stored.
    fn content_of(
        &self,
        PathedFile { path, file }: PathedFile,
        known: Option<&PathRow>,
        batch: &mut FolderBatch,
        report: &mut FolderReport,
    ) -> Option<FileContent> {
        if let Some(row) = known.filter(|row| is_of(row, &file)) {
            return Some(FileContent {
                hash: ContentHash(row.content),
                is_same: true,
            });
        }
        let read = match read_subtitle(&file.path_in(self.folder), self.bytes_max) {
            Ok(read) => read,
            Err(rejection) => {
                report.refuse(&rejection.to_string(), &path);
                return None;
            }
        };
        let hash = read.hash;
        let record = known.and_then(own_record);
        let record = record.unwrap_or_else(|| made_from(&hash));
        batch.rows.push(PathRow {
            path,
            size_bytes: file.state.size_bytes,
            modified_nanos: file.state.modified_nanos,
            content: hash.0,
            record: *record.as_bytes(),
            digest: NOT_LOADED,
        });
        if !matches!(self.place, StorePlace::DryRun) {
            batch.bytes += read.content.len();
            batch.files.push(read);
        }
        Some(FileContent {
            hash,
            is_same: false,
        })
    }
}

/// A file and its path as text.
struct PathedFile {
    path: String,
    file: FoundFile,
}

/// Content of a file.
#[derive(Clone, Copy)]
struct FileContent {
    hash: ContentHash,
    /// True if it is that of the last time.
    is_same: bool,
}

/// Returns true if a file has the size and the time of its row.
fn is_of(row: &PathRow, file: &FoundFile) -> bool {
    row.size_bytes == file.state.size_bytes && row.modified_nanos == file.state.modified_nanos
}

/// The record of a row whose content is not that of another path.
fn own_record(row: &PathRow) -> Option<RecordId> {
    (row.digest != SHARED).then(|| RecordId::from_bytes(row.record))
}

/// The beginning of a content's hash: two that begin alike cost one look at a record.
fn beginning_of(content: ContentHash) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = content.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// The id that is made from a content.
fn made_from(content: &ContentHash) -> RecordId {
    RecordId::of_release(&ReleaseId::of_brought(*content))
}

impl ScannedFile {
    fn new(file_idx: u32, content: FileContent, known: Option<&PathRow>) -> Self {
        Self {
            file_idx,
            owner: None,
            content: content.hash,
            known_digest: known.map_or(NOT_LOADED, |row| row.digest),
            is_same: content.is_same,
        }
    }

    /// Returns true if another entry has the record of the same content.
    pub(super) fn is_shared(&self) -> bool {
        self.owner.is_some()
    }
}

impl Scanned {
    /// Notes the record of the last time of the entry that comes next.
    fn note_known(&mut self, entry: &ScannedFile, row: &PathRow) {
        let record = own_record(row).filter(|record| *record != made_from(&entry.content));
        if let Some(record) = record {
            self.kept.insert(self.entries.len() as u32, record);
        }
    }

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
        let mut order: Vec<u32> = (0..self.entries.len() as u32).collect();
        order.sort_unstable_by_key(|idx| (self.entries[*idx as usize].content, *idx));
        let content = |scanned: &Self, idx: u32| scanned.entries[idx as usize].content;
        let mut rest = &order[..];
        while let Some(owner) = rest.first() {
            let is_equal = |idx: &u32| content(self, *idx) == content(self, *owner);
            let count = rest.iter().take_while(|idx| is_equal(idx)).count();
            let (group, others) = rest.split_at(count);
            if let [owner, shared @ ..] = group
                && !shared.is_empty()
            {
                self.share(*owner, shared, paths, report);
            }
            rest = others;
        }
        self.choose_records();
    }

    fn share(
        &mut self,
        owner: u32,
        others: &[u32],
        paths: FolderPaths<'_>,
        report: &mut FolderReport,
    ) {
        let owner_path = paths.path(&self.entries[owner as usize]);
        let Ok(record) = paths.reader.read(&owner_path) else {
            return;
        };
        for other in others {
            let entry = &mut self.entries[*other as usize];
            entry.owner = Some(owner);
            let other_path = paths.path(entry);
            let read = paths.reader.read(&other_path);
            if read.is_ok_and(|other| record.agrees_with(&other)) {
                self.names.entry(owner).or_default().push(*other);
            } else {
                report.refuse_same(&owner_path, &other_path);
            }
        }
    }

    /// A file keeps its record when it changes or moves, unless the id of that record is made from
    /// the content of another file.
    fn choose_records(&mut self) {
        let moved: HashMap<[u8; 32], RecordId> = self
            .gone
            .iter()
            .filter_map(|row| Some((row.content, own_record(row)?)))
            .collect();
        let mut kept: Vec<(u32, RecordId)> = Vec::new();
        let mut unkept: Vec<u32> = Vec::new();
        for (idx, entry) in self.entries.iter().enumerate() {
            let idx = idx as u32;
            let of_moved = || moved.get(&entry.content.0).copied();
            let known = self.kept.get(&idx).copied().or_else(of_moved);
            match known.filter(|record| *record != made_from(&entry.content)) {
                _ if entry.is_shared() => {}
                Some(record) => kept.push((idx, record)),
                None => unkept.push(idx),
            }
        }
        self.kept = self.without_made(kept, unkept);
        if self.gone.is_empty() {
            return;
        }
        let mut gone: HashMap<RecordId, bool> = HashMap::new();
        for row in &self.gone {
            gone.insert(RecordId::from_bytes(row.record), false);
        }
        for idx in 0..self.entries.len() {
            if let Some(is_present) = gone.get_mut(&self.record(idx)) {
                *is_present = true;
            }
        }
        // A moved file keeps its record.
        for row in &mut self.gone {
            if gone[&RecordId::from_bytes(row.record)] {
                row.digest = SHARED;
            }
        }
    }

    /// These entries with their records, without those that lose theirs: it is made from the
    /// content of an entry that keeps none.
    fn without_made(
        &self,
        mut kept: Vec<(u32, RecordId)>,
        mut unkept: Vec<u32>,
    ) -> HashMap<u32, RecordId> {
        // One that loses its record gets that of its own content, which another may keep.
        loop {
            if kept.is_empty() {
                return HashMap::new();
            }
            let made = unkept.iter().map(|idx| self.made_record(*idx));
            let mut taken: HashSet<RecordId> = made.collect();
            let lost: Vec<u32> = kept
                .extract_if(.., |(_, record)| !taken.insert(*record))
                .map(|(idx, _)| idx)
                .collect();
            if lost.is_empty() {
                return kept.into_iter().collect();
            }
            unkept.extend(lost);
        }
    }

    fn made_record(&self, idx: u32) -> RecordId {
        made_from(&self.entries[idx as usize].content)
    }

    /// The record of an entry, after [`Scanned::settle`].
    pub(super) fn record(&self, idx: usize) -> RecordId {
        let idx = self.entries[idx].owner.unwrap_or(idx as u32);
        let kept = self.kept.get(&idx).copied();
        kept.unwrap_or_else(|| self.made_record(idx))
    }

    /// The whole record of an entry that has one.
    pub(super) fn record_of(&self, idx: usize, paths: FolderPaths<'_>) -> Option<FolderRecord> {
        let entry = &self.entries[idx];
        let file = paths.walked.files.get(entry.file_idx as usize);
        let mut record = paths.reader.read(&file.text()).ok()?;
        for other in self.names.get(&(idx as u32)).into_iter().flatten() {
            record.add_name(&paths.path(&self.entries[*other as usize]));
        }
        record.set_time(file.state.modified_nanos);
        let release = ReleaseId::of_brought(entry.content);
        if let Some(kept) = self.kept.get(&(idx as u32)) {
            record.set_missing("id", kept.to_string());
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
