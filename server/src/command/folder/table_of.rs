//! Tables of the fields read from a folder: on the terminal, and as corrections to be edited
//! (API.md 13.12).

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use subcat_engine::RecordDraft;

use super::report::FolderReport;
use super::scan::{FolderPaths, Scanned};
use crate::command::error::{CommandError, SubjectError};
use crate::command::output::print;
use crate::command::printable::printable_in_line;

/// Fields of the table on the terminal.
const SHOWN_FIELDS: &[&str] = &[
    "video_type",
    "title",
    "season",
    "episode",
    "year",
    "language",
    "catalog_id",
];

/// Writes a line for each record to stdout.
pub(super) fn shown_table(scanned: &Scanned, paths: FolderPaths<'_>) -> Result<(), CommandError> {
    let mut lines = String::new();
    for (idx, entry) in scanned.entries.iter().enumerate() {
        let Some(record) = scanned.record_of(idx, paths).filter(|_| !entry.is_shared()) else {
            continue;
        };
        let cells = SHOWN_FIELDS.iter().map(|field| record.text(field));
        let cells = std::iter::once(paths.path(entry)).chain(cells);
        let cells: Vec<String> = cells.map(|cell| printable_in_line(&cell).into()).collect();
        lines.push_str(&cells.join("\t"));
        lines.push('\n');
        if 1 << 16 < lines.len() {
            print(&lines)?;
            lines.clear();
        }
    }
    print(&lines)
}

/// Writes a table of every file with its fields, or the reason why it is refused.
pub(super) fn write_table(
    to: &Path,
    scanned: &Scanned,
    paths: FolderPaths<'_>,
    report: &FolderReport,
) -> Result<(), CommandError> {
    let failed = |error| SubjectError::new(to.display().to_string(), error);
    let mut out = BufWriter::new(File::create(to).map_err(failed)?);
    let fields: Vec<&str> = RecordDraft::FIELDS.iter().map(|field| field.name).collect();
    let mut write = |cells: Vec<String>| {
        let quoted: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
        writeln!(out, "{}", quoted.join(",")).map_err(failed)
    };
    let names = fields.iter().map(|name| (*name).to_owned());
    let header = ["file".to_owned()].into_iter().chain(names);
    write(header.chain(["reason".to_owned()]).collect())?;
    for (idx, entry) in scanned.entries.iter().enumerate() {
        let Some(record) = scanned.record_of(idx, paths).filter(|_| !entry.is_shared()) else {
            continue;
        };
        let cells = fields.iter().map(|field| record.text(field));
        let cells = std::iter::once(paths.path(entry)).chain(cells);
        write(cells.chain([String::new()]).collect())?;
    }
    for (path, reason) in report.by_path.iter().flatten() {
        let mut cells = vec![String::new(); fields.len() + 2];
        cells[0].clone_from(path);
        cells[fields.len() + 1].clone_from(reason);
        write(cells)?;
    }
    out.flush().map_err(failed)?;
    Ok(())
}

/// A cell of CSV.
fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}
