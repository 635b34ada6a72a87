//! Import of files of rows into the catalog.

use std::fmt;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use subcat_engine::{Engine, Error, ImportSummary, Importer, error_chain};

use super::parsing::parse_lines;
use crate::rows::{Format, IgnoredFields, LineGroup, Row, RowRejection, nearest_column, read_rows};

/// Options of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportOptions {
    /// True to load nothing if any line is refused.
    pub is_strict: bool,
    /// True to load nothing at all, only to report.
    pub is_dry_run: bool,
}

/// The files of an import, one after the other.
pub trait ImportFiles {
    /// Name, format and plain content of the next file. Errors: it cannot be read.
    fn next_file(&mut self) -> io::Result<Option<ImportFile<'_>>>;
}

/// One file to import.
pub struct ImportFile<'a> {
    /// Name of the file, for reports.
    pub name: String,
    /// Format of the file.
    pub format: Format,
    /// Content of the file, decompressed.
    pub content: Box<dyn BufRead + 'a>,
}

/// Progress of a running import.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportReport {
    /// A line is not loaded.
    Refused(RefusedLine),
    /// This number of lines has been read.
    Read(u64),
    /// This number of records is durable.
    Loaded(u64),
    /// Names of fields that no record has, once all files are read.
    Ignored(Vec<String>),
}

/// A line that is not loaded, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedLine {
    /// The file's name.
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// The field that is not valid, or null.
    pub field: Option<String>,
    /// One clause.
    pub reason: String,
}

impl fmt::Display for RefusedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} line {}: ", self.file, self.line)?;
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.reason)
    }
}

/// Result of an import, or of a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ImportResult {
    /// Records that were new.
    pub inserted: u64,
    /// Records that replaced an older version.
    pub updated: u64,
    /// Records equal to the stored ones.
    pub unchanged: u64,
    /// Lines that are not a record.
    pub refused: u64,
    /// Fields that no record has.
    pub ignored_fields: u64,
}

/// Rows between two progress reports.
const ROWS_PER_REPORT: u64 = 10_000;

/// An import that did not load everything that it should.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The next file could not be opened; the error names it.
    #[error("{0}: nothing was loaded")]
    Open(io::Error),
    /// A file could not be read. Nothing was loaded.
    #[error("{name}: {cause}: nothing was loaded")]
    Read {
        /// The file's name.
        name: String,
        /// The system's reason.
        cause: io::Error,
    },
    /// The engine failed before anything was loaded.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The engine failed while records were loaded.
    #[error(
        "{}: {loaded} records are loaded, run the import again",
        error_chain(cause)
    )]
    Interrupted {
        /// Durable records.
        loaded: u64,
        /// The failure.
        cause: Error,
    },
    /// Lines are refused, and the import is strict. Nothing was loaded.
    #[error(
        "{refused} of {lines} lines are refused: correct them, or leave out --strict to load the \
         others; nothing was loaded"
    )]
    Strict {
        /// Refused lines.
        refused: u64,
        /// All lines.
        lines: u64,
    },
    /// No record has some of the fields, and the import is strict. Nothing was loaded.
    #[error(
        "unknown fields: {0}: rename them, or leave out --strict to ignore them; nothing was loaded"
    )]
    StrictFields(String),
}

/// Reason why reading a file ends early.
enum ReadingError {
    File(io::Error),
    Engine(Error),
}

impl From<io::Error> for ReadingError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for ReadingError {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// Imports every file; bad lines are reported and the others loaded, all searchable when it
/// returns. Of several lines with the same id, in any of the files, the last one counts.
///
/// Errors: a file cannot be read or lines are refused and `is_strict` (nothing is loaded), or the
/// disk fails (whole groups may be loaded, and the error says how many).
pub fn import(
    engine: &Engine,
    files: &mut dyn ImportFiles,
    options: ImportOptions,
    report: &mut dyn FnMut(ImportReport),
) -> Result<ImportResult, ImportError> {
    let mut rows = ImportRows {
        importer: engine.catalog().importer(),
        result: ImportResult::default(),
        ignored: IgnoredFields::default(),
        rows_count: 0,
        report: &mut *report,
    };
    while let Some(mut file) = files.next_file().map_err(ImportError::Open)? {
        let name = file.name;
        let read = match file.format {
            Format::Jsonl | Format::Converted => {
                parse_lines(&mut file.content, file.format, &mut |batch| {
                    rows.take_batch(&name, batch)
                })
            }
            Format::Csv => read_rows(&mut file.content, file.format, &mut |row| {
                rows.take_row(&name, row)
            }),
        };
        read.map_err(|end| match end {
            ReadingError::File(cause) => ImportError::Read { name, cause },
            ReadingError::Engine(error) => ImportError::Engine(error),
        })?;
    }
    let ImportRows {
        importer,
        mut result,
        ignored,
        rows_count,
        ..
    } = rows;
    result.ignored_fields = ignored.count();
    if options.is_strict && result.refused != 0 {
        return Err(ImportError::Strict {
            refused: result.refused,
            lines: rows_count,
        });
    }
    if options.is_strict && ignored.count() != 0 {
        return Err(ImportError::StrictFields(with_nearest(ignored.names())));
    }
    report(ImportReport::Read(rows_count));
    if ignored.count() != 0 {
        report(ImportReport::Ignored(ignored.names().to_vec()));
    }
    let summary = if options.is_dry_run {
        importer.preview()?
    } else {
        load(importer, report)?
    };
    result.inserted = summary.inserted;
    result.updated = summary.updated;
    result.unchanged = summary.unchanged;
    Ok(result)
}

/// The first part of an import: rows are read, and records kept to be loaded.
struct ImportRows<'r> {
    importer: Importer,
    result: ImportResult,
    ignored: IgnoredFields,
    rows_count: u64,
    report: &'r mut dyn FnMut(ImportReport),
}

impl ImportRows<'_> {
    fn take_batch(&mut self, file: &str, batch: &LineGroup) -> Result<(), ReadingError> {
        self.importer.append(&batch.records)?;
        self.ignored.merge(&batch.ignored);
        for rejection in &batch.rejections {
            self.refuse(file, rejection.clone());
        }
        self.count_rows(batch.rows_count);
        Ok(())
    }

    fn take_row(
        &mut self,
        file: &str,
        row: Result<Row<'_>, RowRejection>,
    ) -> Result<(), ReadingError> {
        self.count_rows(1);
        match row {
            Ok(row) => {
                row.ignored.iter().for_each(|name| self.ignored.add(name));
                if let Err(error) = self.importer.push(row.draft)? {
                    self.refuse(file, RowRejection::of_field(row.line, error));
                }
            }
            Err(rejection) => self.refuse(file, rejection),
        }
        Ok(())
    }

    fn refuse(&mut self, file: &str, rejection: RowRejection) {
        self.result.refused += 1;
        (self.report)(ImportReport::Refused(refused_line(file, rejection)));
    }

    fn count_rows(&mut self, count: u64) {
        let reports_count = self.rows_count / ROWS_PER_REPORT;
        self.rows_count += count;
        if reports_count < self.rows_count / ROWS_PER_REPORT {
            (self.report)(ImportReport::Read(self.rows_count));
        }
    }
}

/// Names of unknown fields, each with the known one that it is most like.
pub fn with_nearest(names: &[String]) -> String {
    let shown = names.iter().map(|name| match nearest_column(name) {
        Some(known) => format!("{name} (is it {known}?)"),
        None => name.clone(),
    });
    shown.collect::<Vec<_>>().join(", ")
}

/// Loads the rows that were read.
fn load(
    importer: Importer,
    report: &mut dyn FnMut(ImportReport),
) -> Result<ImportSummary, ImportError> {
    let mut loaded = 0;
    let finished = importer.finish(&mut |records| {
        loaded = records;
        report(ImportReport::Loaded(records));
    });
    finished.map_err(|cause| ImportError::Interrupted { loaded, cause })
}

fn refused_line(file: &str, rejection: RowRejection) -> RefusedLine {
    RefusedLine {
        file: file.to_owned(),
        line: rejection.line,
        field: rejection.field.map(str::to_owned),
        reason: rejection.reason,
    }
}
