//! An import of a folder from its walk to its report (API.md 13.11).

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use subcat_engine::hash_of;

use super::corrections::Corrections;
use super::lines::{LoadedPart, RecordLines, WrittenLine, digest_of};
use super::memory::{FolderMemory, NOT_LOADED, SHARED, has_record};
use super::nfo::NfoIds;
use super::record::PathReader;
use super::report::FolderReport;
use super::scan::{FolderPaths, FolderScan, Scanned};
use super::table_of::{shown_table, write_table};
use super::walk::{FileState, FoundFile, Walked};
use crate::command::access::Access;
use crate::command::error::{CommandError, SubjectError};
use crate::command::file_store::StorePlace;
use crate::command::follow::wait;
use crate::command::interrupt::{ImportStage, Interrupt, end};
use crate::command::progress::Progress;
use crate::limits::{FOLDER_LINES_MAX, PRUNED_ALWAYS_MAX, READ_BUFFER_BYTES, REMEMBERED_ROWS_MAX};
use crate::ops::{
    ImportError, ImportFile, ImportFiles, ImportOptions, ImportReport, ImportResult, PathRow,
    RefusedLine, import,
};
use crate::rows::{Format, RowOptions};

/// Choice of the records to delete with their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum PruneMode {
    /// The deletions of an ordinary change.
    Ordinary,
    /// All.
    All,
}

/// Options of an import of a folder.
pub(in crate::command) struct FolderImport {
    pub(in crate::command) folder: PathBuf,
    /// Table of corrections, if it is not that of the folder.
    pub(in crate::command) fix: Option<PathBuf>,
    /// Output file for a table of everything.
    pub(in crate::command) to: Option<PathBuf>,
    pub(in crate::command) prune: Option<PruneMode>,
    pub(in crate::command) options: ImportOptions,
    pub(in crate::command) rows: RowOptions,
    /// Maximum size of one file.
    pub(in crate::command) bytes_max: usize,
    /// True to write a table of the records that would be loaded.
    pub(in crate::command) shows_table: bool,
}

/// Lines for people about an import of a folder.
#[derive(Debug, Default)]
pub(in crate::command) struct FolderNotes(pub(in crate::command) String);

/// Receivers of the progress of an import.
struct ImportWatch<'w> {
    progress: &'w Progress,
    /// Set when every file has been read.
    is_read: &'w AtomicBool,
    show: &'w mut dyn FnMut(ImportReport),
}

/// Sizes and times of files at the last scan, by sums of their paths.
type FileStates = HashMap<u64, FileState>;

impl FolderImport {
    /// Imports the folder once.
    pub(in crate::command) fn run(
        &self,
        access: &Access,
    ) -> Result<(ImportResult, FolderNotes), CommandError> {
        let is_read: Arc<AtomicBool> = Arc::default();
        let progress = Progress::start(None, Arc::default());
        let is_remote = matches!(access, Access::Running(_));
        let is_dry_run = self.options.is_dry_run;
        let stage = Arc::new(ImportStage::new(is_dry_run, is_remote, &is_read));
        let _interrupt = Interrupt::watch(Arc::clone(&stage), progress.bar())?;
        let mut show = |report: ImportReport| {
            if let ImportReport::Loaded(records) = report
                && let Some(sentence) = stage.loaded(records)
            {
                progress.finish();
                end(&sentence);
            }
            progress.show(report);
        };
        let mut watch = ImportWatch {
            progress: &progress,
            is_read: &is_read,
            show: &mut show,
        };
        let walked = self.walk()?;
        let imported = self.import(access, &walked, &|_| false, &mut watch);
        progress.finish();
        let (result, report) = imported?;
        Ok((result, FolderNotes(report.lines())))
    }

    /// Imports the folder, and again after each pause, until the process is asked to stop.
    pub(in crate::command) fn follow(
        &self,
        access: &Access,
        pause: Duration,
    ) -> Result<(ImportResult, FolderNotes), CommandError> {
        let is_stopping = Arc::new(AtomicBool::new(false));
        let _interrupt = Interrupt::raise(Arc::clone(&is_stopping))?;
        let progress = Progress::start(None, Arc::default());
        let mut sum = ImportResult::default();
        let mut notes = FolderNotes::default();
        let mut last: Option<FileStates> = None;
        while last.is_none() || wait(pause, &is_stopping) {
            let walked = self.walk()?;
            let states = states_of(&walked);
            let waits = |file: &FoundFile| match &last {
                Some(last) => last.get(&path_digest(file)) != Some(&file.state),
                None => false,
            };
            let mut watch = ImportWatch {
                progress: &progress,
                is_read: &AtomicBool::new(false),
                show: &mut |report| progress.show(report),
            };
            let (result, report) = self.import(access, &walked, &waits, &mut watch)?;
            sum.inserted += result.inserted;
            sum.updated += result.updated;
            sum.unchanged = result.unchanged;
            sum.refused = result.refused;
            notes = FolderNotes(report.lines());
            let loaded = sum.inserted + sum.updated;
            progress.update(&format!(
                "{loaded} records loaded, {} unchanged",
                sum.unchanged
            ));
            last = Some(states);
        }
        progress.finish();
        Ok((sum, notes))
    }

    fn walk(&self) -> Result<Walked, CommandError> {
        let failed = |error| SubjectError::new(self.folder.display().to_string(), error);
        Ok(Walked::new(&self.folder).map_err(failed)?)
    }

    fn import(
        &self,
        access: &Access,
        walked: &Walked,
        waits: &dyn Fn(&FoundFile) -> bool,
        watch: &mut ImportWatch<'_>,
    ) -> Result<(ImportResult, FolderReport), CommandError> {
        let failed = |error| SubjectError::new(self.folder.display().to_string(), error);
        let corrections = Corrections::read(&self.folder, self.fix.as_deref())?;
        let nfos = NfoIds::read(&self.folder, &walked.nfos);
        let reader = PathReader {
            corrections: &corrections,
            nfos: &nfos,
            language: self.rows.language.as_deref().unwrap_or("es"),
            languages: &self.rows.languages,
            year_last: self.rows.next_year.into(),
        };
        let canonical = std::fs::canonicalize(&self.folder).map_err(failed)?;
        let is_dry_run = self.options.is_dry_run;
        let scan = FolderScan {
            folder: &self.folder,
            paths: FolderPaths {
                walked,
                reader: &reader,
            },
            memory: FolderMemory::new(access, &canonical, is_dry_run),
            place: StorePlace::new(access, is_dry_run),
            bytes_max: self.bytes_max,
            rules: rules_of(&reader),
            waits,
            progress: watch.progress,
        };
        let by_path = self.to.as_ref().map(|_| BTreeMap::new());
        let mut report = FolderReport::new(by_path, walked.unreadable.clone());
        let mut scanned = scan.run(&mut report)?;
        scanned.settle(scan.paths, &mut report);
        if self.options.is_strict && report.refused() != 0 {
            return Err(StrictFolderError(report.lines()).into());
        }
        if self.shows_table {
            shown_table(&scanned, scan.paths)?;
        }
        if let Some(to) = &self.to {
            write_table(to, &scanned, scan.paths, &report)?;
        }
        watch.is_read.store(true, Ordering::SeqCst);
        let loading = Loading {
            access,
            folder: self,
            scan: &scan,
            scanned: &scanned,
        };
        let result = loading.run(&mut LoadReport {
            report: &mut report,
            show: &mut *watch.show,
        })?;
        scan.memory.remember_rules(scan.rules)?;
        self.prune(&scan, &mut scanned, &mut report)?;
        Ok((result, report))
    }

    /// Deletes the records of deleted files, or counts them.
    fn prune(
        &self,
        scan: &FolderScan<'_>,
        scanned: &mut Scanned,
        report: &mut FolderReport,
    ) -> Result<(), CommandError> {
        let gone = std::mem::take(&mut scanned.gone);
        let (gone, without_record): (Vec<_>, Vec<_>) = gone.into_iter().partition(has_record);
        scan.memory.forget(without_record, false)?;
        report.gone = gone.len() as u64;
        let Some(mode) = self.prune.filter(|_| !gone.is_empty()) else {
            return Ok(());
        };
        report.kept_because = reason_to_keep(mode, scan.paths.walked, gone.len(), scanned);
        if report.kept_because.is_none() {
            report.pruned = scan.memory.forget(gone, true)?;
            report.gone = 0;
        }
        Ok(())
    }
}

/// Files are refused, and the import is strict.
#[derive(Debug, thiserror::Error)]
#[error("files are refused: correct them, or leave out --strict; nothing was loaded; {0}")]
struct StrictFolderError(String);

/// The reason why nothing is deleted, if there is one: a folder that is not mounted looks empty.
fn reason_to_keep(
    mode: PruneMode,
    walked: &Walked,
    gone_count: usize,
    scanned: &Scanned,
) -> Option<&'static str> {
    if mode == PruneMode::All {
        return None;
    }
    if walked.files.len() == 0 {
        return Some("the folder is empty");
    }
    if !walked.unreadable.is_empty() {
        return Some("a folder could not be read");
    }
    let is_most = scanned.records_count < 2 * gone_count;
    if PRUNED_ALWAYS_MAX < gone_count && is_most {
        return Some("over half of its files are gone");
    }
    None
}

/// A sum of all inputs of the reading of a path, except the path.
fn rules_of(reader: &PathReader<'_>) -> u64 {
    let PathReader {
        corrections,
        nfos,
        language,
        languages,
        year_last,
    } = reader;
    let options = format!(
        "{} {language} {languages:?} {year_last}",
        env!("CARGO_PKG_VERSION")
    );
    let nfos = nfos.summary();
    let parts = [options.as_bytes(), corrections.text(), nfos.as_bytes()];
    digest_of(&parts.map(|part| hash_of(part).0).concat())
}

fn states_of(walked: &Walked) -> FileStates {
    let files = walked.files.iter();
    files.map(|file| (path_digest(&file), file.state)).collect()
}

fn path_digest(file: &FoundFile) -> u64 {
    digest_of(file.text().as_bytes())
}

/// Receivers of the outcome of loading.
struct LoadReport<'r> {
    report: &'r mut FolderReport,
    show: &'r mut dyn FnMut(ImportReport),
}

/// Loading of the records that differ from the last time.
struct Loading<'l> {
    access: &'l Access,
    folder: &'l FolderImport,
    scan: &'l FolderScan<'l>,
    scanned: &'l Scanned,
}

impl Loading<'_> {
    /// Loads the records, part by part: an import sorts its records in memory, and what a part has
    /// loaded is remembered before the next one. A strict import is one part.
    fn run(&self, out: &mut LoadReport<'_>) -> Result<ImportResult, CommandError> {
        let mut sum = ImportResult::default();
        let mut next_idx = 0;
        loop {
            let loaded = self.part(&mut next_idx, sum.inserted + sum.updated, out)?;
            sum.inserted += loaded.inserted;
            sum.updated += loaded.updated;
            sum.unchanged += loaded.unchanged;
            sum.ignored_fields += loaded.ignored_fields;
            if self.scanned.entries.len() <= next_idx {
                break;
            }
        }
        self.remember_shared()?;
        sum.refused = out.report.refused();
        Ok(sum)
    }

    fn part(
        &self,
        next_idx: &mut usize,
        loaded_before: u64,
        out: &mut LoadReport<'_>,
    ) -> Result<ImportResult, CommandError> {
        let lines_max = if self.folder.options.is_strict {
            usize::MAX
        } else {
            FOLDER_LINES_MAX
        };
        let (mut part, mut refused) = (LoadedPart::default(), Vec::new());
        part.next_idx = *next_idx;
        let result = {
            let lines = RecordLines::new(self.scanned, self.scan.paths, &mut part, lines_max);
            let content = BufReader::with_capacity(READ_BUFFER_BYTES, lines);
            let show = &mut *out.show;
            let mut report = |report: ImportReport| match report {
                ImportReport::Refused(line) => refused.push(line),
                ImportReport::Loaded(count) => show(ImportReport::Loaded(loaded_before + count)),
                report => show(report),
            };
            let name = self.folder.folder.display().to_string();
            send(
                self.access,
                &name,
                content,
                self.folder.options,
                &mut report,
            )?
        };
        *next_idx = part.next_idx;
        self.remember(&part, &refused, out.report)?;
        Ok(ImportResult {
            unchanged: result.unchanged + part.unchanged,
            ..result
        })
    }

    /// Remembers what was loaded, and reports what was not.
    fn remember(
        &self,
        part: &LoadedPart,
        refused: &[RefusedLine],
        report: &mut FolderReport,
    ) -> Result<(), CommandError> {
        let paths = self.scan.paths;
        let mut is_refused = vec![false; part.written.len()];
        for line in refused {
            let line_idx = (line.line as usize).wrapping_sub(1);
            let (flag, written) = (is_refused.get_mut(line_idx), part.written.get(line_idx));
            if let (Some(flag), Some(written)) = (flag, written) {
                *flag = true;
                let field = line.field.as_deref().unwrap_or("");
                let path = paths.path(&self.scanned.entries[written.entry_idx]);
                report.refuse(&format!("{field}: {}", line.reason), &path);
            }
        }
        let mut rows = LoadedRows::new(self.scan.memory);
        for (WrittenLine { entry_idx, digest }, is_refused) in part.written.iter().zip(is_refused) {
            let entry = &self.scanned.entries[*entry_idx];
            let digest = if is_refused { NOT_LOADED } else { *digest };
            rows.push(paths.row(entry, self.scanned.record(*entry_idx), digest))?;
        }
        rows.flush()
    }

    /// Remembers the paths whose content is that of another one.
    fn remember_shared(&self) -> Result<(), CommandError> {
        let mut rows = LoadedRows::new(self.scan.memory);
        for (idx, entry) in self.scanned.entries.iter().enumerate() {
            if entry.is_shared() && !self.scanned.is_loaded(idx, SHARED) {
                rows.push(self.scan.paths.row(entry, self.scanned.record(idx), SHARED))?;
            }
        }
        rows.flush()
    }
}

/// Rows of paths that are remembered page by page.
struct LoadedRows<'m> {
    memory: FolderMemory<'m>,
    rows: Vec<PathRow>,
}

impl<'m> LoadedRows<'m> {
    fn new(memory: FolderMemory<'m>) -> Self {
        let rows = Vec::new();
        Self { memory, rows }
    }

    fn push(&mut self, row: PathRow) -> Result<(), CommandError> {
        self.rows.push(row);
        if self.rows.len() < REMEMBERED_ROWS_MAX {
            return Ok(());
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), CommandError> {
        self.memory.remember(std::mem::take(&mut self.rows))
    }
}

/// Loads lines here, or sends them to the server.
fn send(
    access: &Access,
    name: &str,
    mut content: BufReader<RecordLines<'_>>,
    options: ImportOptions,
    report: &mut dyn FnMut(ImportReport),
) -> Result<ImportResult, CommandError> {
    match access {
        Access::Opened(opened) => {
            let mut file = RecordsFile(Some(ImportFile {
                name: name.to_owned(),
                format: Format::Converted,
                content: Box::new(content),
            }));
            let imported: Result<ImportResult, ImportError> =
                import(&opened.engine, &mut file, options, report);
            Ok(imported?)
        }
        Access::Running(client) => Ok(client.import(
            options,
            move |writer| writer.write_file(name, Format::Converted, &mut content),
            report,
        )?),
    }
}

/// One file of lines.
struct RecordsFile<'f>(Option<ImportFile<'f>>);

impl ImportFiles for RecordsFile<'_> {
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>> {
        Ok(self.0.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_of_a_folder_is_not_deleted_by_itself() {
        let walked = |unreadable: Vec<String>, files_count: usize| {
            let dir = tempfile::tempdir().unwrap();
            for number in 0..files_count {
                std::fs::write(dir.path().join(format!("{number}.srt")), "x").unwrap();
            }
            Walked {
                unreadable,
                ..Walked::new(dir.path()).unwrap()
            }
        };
        let scanned = |records_count| Scanned {
            records_count,
            ..Scanned::default()
        };
        let keep = |walked: &Walked, gone, all| {
            reason_to_keep(PruneMode::Ordinary, walked, gone, &scanned(all))
        };
        let full = walked(Vec::new(), 1);
        assert_eq!(keep(&full, 10, 11), None);
        assert_eq!(keep(&full, 11, 22), None);
        assert!(keep(&full, 11, 21).is_some());
        assert!(keep(&walked(Vec::new(), 0), 1, 9).is_some());
        let unreadable = walked(vec!["a".to_owned()], 1);
        assert!(keep(&unreadable, 1, 9).is_some());
        assert_eq!(
            reason_to_keep(PruneMode::All, &unreadable, 99, &scanned(99)),
            None
        );
    }
}
