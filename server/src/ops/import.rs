//! Import of files of rows into the catalog.

use std::fmt;
use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use subcat_engine::{Engine, Error, ImportSummary, Importer, error_chain};

use crate::rows::{Format, RowRejection, read_rows};

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
    /// Its name, for reports.
    pub name: String,
    /// Its format.
    pub format: Format,
    /// Its content, decompressed.
    pub content: Box<dyn BufRead + 'a>,
}

/// Progress of an import under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportReport {
    /// A line is not loaded.
    Refused(RefusedLine),
    /// This number of lines has been read.
    Read(u64),
    /// This number of records is durable.
    Loaded(u64),
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
    /// Records that replaced another one.
    pub updated: u64,
    /// Records equal to the stored ones.
    pub unchanged: u64,
    /// Lines that are not a record.
    pub refused: u64,
    /// Fields that no record has.
    pub ignored_fields: u64,
}

/// Number of rows from one progress report to the next.
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
        /// Number of records that are durable.
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
        /// Number of refused lines.
        refused: u64,
        /// Number of all lines.
        lines: u64,
    },
}

/// Reason why reading a file ends early.
enum ReadEnd {
    File(io::Error),
    Engine(Error),
}

impl From<io::Error> for ReadEnd {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

impl From<Error> for ReadEnd {
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
    let mut importer = engine.catalog().importer();
    let mut result = ImportResult::default();
    let mut rows_count = 0;
    while let Some(mut file) = files.next_file().map_err(ImportError::Open)? {
        let name = file.name;
        let read = read_rows::<ReadEnd>(&mut file.content, file.format, &mut |row| {
            rows_count += 1;
            if rows_count % ROWS_PER_REPORT == 0 {
                report(ImportReport::Read(rows_count));
            }
            let rejection = match row {
                Ok(row) => {
                    result.ignored_fields += row.ignored_fields;
                    let pushed = importer.push(row.draft)?;
                    pushed
                        .err()
                        .map(|error| RowRejection::of_field(row.line, error))
                }
                Err(rejection) => Some(rejection),
            };
            if let Some(rejection) = rejection {
                result.refused += 1;
                report(ImportReport::Refused(refused_line(&name, rejection)));
            }
            Ok(())
        });
        read.map_err(|end| match end {
            ReadEnd::File(cause) => ImportError::Read { name, cause },
            ReadEnd::Engine(error) => ImportError::Engine(error),
        })?;
    }
    if options.is_strict && result.refused != 0 {
        return Err(ImportError::Strict {
            refused: result.refused,
            lines: rows_count,
        });
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
