//! Making a data directory open again whose files are damaged below their rows.
//!
//! A damaged value costs its row, without any help. A damaged page of `catalog.redb` or
//! `state.redb` can keep the whole file from being read: here the rows before and behind it are
//! copied into a new file. Works on files, without opening an engine.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::verify::Finding;
use crate::catalog::{ACTIVE, DAMAGED, INDEX_VERSION, JOURNAL, META, SEGMENTS, TOMBSTONES};
use crate::codec::encode_number;
use crate::data_dir::DataDir;
use crate::database::{CATALOG_FILE, STATE_FILE, StoreFile, open_store_at, replace_file};
use crate::disk::Disk;
use crate::error::{Error, Result, error_chain};
use crate::limits::COUNTER_FILE_BYTES_MAX;
use crate::state::OFFSETS;
use crate::store::{ScanOrder, Span, Store, Table};

/// Rows copied in one transaction.
const BATCH_ROWS: usize = 10_000;

/// Replaces the files of a data directory that cannot be read by files with all rows that can be.
/// Damaged files are kept under another name. Returns what was found and done; nothing if all is
/// readable.
///
/// Errors: [`Error::Locked`], [`Error::Format`], [`Error::Space`], or a failing disk.
pub fn salvage(disk: &Arc<dyn Disk>, data: &Path) -> Result<Vec<Finding>> {
    let data_dir = DataDir::open_damaged(Arc::clone(disk), data)?;
    let mut findings = Vec::new();
    if data_dir.is_new() {
        let problem = "the format line of a data directory was expected: it is written anew";
        findings.push(Finding::at("format".to_owned(), problem, true));
    }
    for file in [&CATALOG_FILE, &STATE_FILE] {
        findings.extend(salvage_store(&data_dir, file)?);
    }
    if findings.iter().all(|finding| finding.is_repaired) {
        data_dir.finish()?;
    }
    Ok(findings)
}

/// Replaces one file if it cannot be read to its end.
fn salvage_store(data_dir: &DataDir, file: &StoreFile) -> Result<Option<Finding>> {
    let path = data_dir.path(file.name);
    let damaged = match open_store_at(data_dir, file, path, false) {
        Ok(store) => match read_all(&store, file) {
            Ok(()) => {
                store.close()?;
                return Ok(None);
            }
            Err(_) => store,
        },
        Err(error @ (Error::Corrupt { .. } | Error::Store { .. })) => {
            let advice = "nothing of it can be read: restore a backup (subcat restore)";
            let problem = format!("{}; {advice}", error_chain(&error));
            return Ok(Some(Finding::at(file.name.to_owned(), &problem, false)));
        }
        Err(error) => return Err(error),
    };
    let new_path = data_dir.temporary(&format!("salvaged-{}", file.name));
    data_dir.disk().remove(&new_path)?;
    let salvaged = open_store_at(data_dir, file, new_path.clone(), true)?;
    let (mut lost, mut damaged_count) = (Vec::new(), 0);
    for &table in file.tables {
        // Derived: the index is rebuilt without them.
        if [JOURNAL, SEGMENTS, TOMBSTONES, DAMAGED].contains(&table) {
            continue;
        }
        let copied = copy_table(&damaged, &salvaged, table)?;
        damaged_count += copied.damaged_count;
        if !copied.is_whole {
            lost.push(table.0);
            if table == OFFSETS {
                forget_entries(data_dir, &salvaged)?;
            }
        }
    }
    salvaged.close()?;
    drop(damaged);
    let kept = replace_file(data_dir, file, &new_path)?;
    let problem = if lost.is_empty() {
        let expected = "pages that match their checksums were expected";
        match damaged_count {
            0 => format!("{expected}: every row was copied, see {kept}"),
            1 => format!("{expected}: every row was copied, one of them damaged, see {kept}"),
            _ => format!(
                "{expected}: every row was copied, {damaged_count} of them damaged, see {kept}"
            ),
        }
    } else {
        let tables = lost.join(", ");
        format!(
            "a part of these tables is lost, and another may be older than it was: {tables}; the \
             damaged file is kept as {kept}"
        )
    };
    Ok(Some(Finding::at(file.name.to_owned(), &problem, true)))
}

/// Takes every counter file that has no offset as aggregated: at most ten seconds of downloads are
/// lost then, while all of them would count twice from its beginning.
fn forget_entries(data_dir: &DataDir, salvaged: &Store) -> Result<()> {
    let files = data_dir.disk().list(&data_dir.path("counters"))?;
    salvaged.write(|rows| {
        for file in files.unwrap_or_default() {
            let row_key = file.name.as_bytes();
            if rows.get(OFFSETS, row_key)?.is_none() {
                rows.put(OFFSETS, row_key, &encode_number(COUNTER_FILE_BYTES_MAX))?;
            }
        }
        Ok(())
    })
}

/// Errors: a row, or a page of the file, cannot be reached.
fn read_all(store: &Store, file: &StoreFile) -> Result<()> {
    for &table in file.tables {
        store.read(|rows| {
            rows.inspect(table, Span::ALL, &mut |_, _| Ok(ControlFlow::Continue(())))
        })?;
    }
    store.check()
}

/// Copies the rows of a table that can be reached from its beginning and from its end.
fn copy_table(from: &Store, to: &Store, table: Table) -> Result<CopiedTable> {
    let mut copy = Copy::new(to, table);
    let read = from.read(|rows| {
        rows.inspect(table, Span::ALL, &mut |row_key, value| {
            copy.add(row_key, value.ok())?;
            Ok(ControlFlow::Continue(()))
        })
    });
    copy.put()?;
    if read.is_ok() {
        return Ok(CopiedTable {
            is_whole: true,
            damaged_count: copy.damaged_count,
        });
    }
    // From the other side up to the damaged page.
    let mut damaged_count = copy.damaged_count;
    let last = copy.last;
    let mut copy = Copy::new(to, table);
    let span = Span {
        order: ScanOrder::Descending,
        ..Span::ALL
    };
    let _ = from.read(|rows| {
        rows.inspect(table, span, &mut |row_key, value| {
            if last.as_deref().is_some_and(|last| row_key <= last) {
                return Ok(ControlFlow::Break(()));
            }
            copy.add(row_key, value.ok())?;
            Ok(ControlFlow::Continue(()))
        })
    });
    copy.put()?;
    damaged_count += copy.damaged_count;
    Ok(CopiedTable {
        is_whole: false,
        damaged_count,
    })
}

/// Result of copying a table.
struct CopiedTable {
    /// False if some rows could not be reached.
    is_whole: bool,
    /// Number of rows whose values are damaged.
    damaged_count: usize,
}

/// Rows on their way into a new file.
struct Copy<'s> {
    to: &'s Store,
    table: Table,
    /// Row keys and values; `None` for a damaged value.
    rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    damaged_count: usize,
    /// The last row key that was reached.
    last: Option<Vec<u8>>,
}

impl<'s> Copy<'s> {
    fn new(to: &'s Store, table: Table) -> Self {
        Self {
            to,
            table,
            rows: Vec::new(),
            damaged_count: 0,
            last: None,
        }
    }

    /// Adds a row, unless its value is derived. A damaged value stays damaged: who opens the file
    /// contains it, and `verify` names it.
    fn add(&mut self, row_key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.last = Some(row_key.to_vec());
        let is_derived = self.table == META && [INDEX_VERSION, ACTIVE].contains(&row_key);
        if !is_derived {
            self.damaged_count += usize::from(value.is_none());
            self.rows
                .push((row_key.to_vec(), value.map(<[u8]>::to_vec)));
        }
        if BATCH_ROWS <= self.rows.len() {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        self.to.write(|into| {
            for (row_key, value) in &rows {
                match value {
                    Some(value) => into.put(self.table, row_key, value)?,
                    None => into.discredit(self.table, row_key)?,
                }
            }
            Ok(())
        })
    }
}
