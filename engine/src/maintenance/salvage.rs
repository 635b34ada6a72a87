//! Recovery of a data directory that has files damaged below their rows.
//!
//! A damaged value costs its row, and needs no help. A damaged page of `catalog.redb` or
//! `state.redb` can keep the whole file from being read: here the rows before and after it are
//! copied into a new file. Works on files, without opening an engine.
//!
//! A readable page may be an older one, left by a lost write. The index shows which records are
//! older in it, and which are missing: it is kept if every row about it can be read.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::verify::Finding;
use crate::catalog::{
    ACTIVE, Catalog, DAMAGED, INDEX_VERSION, JOURNAL, META, SEGMENTS, SegmentFiles, TOMBSTONES,
};
use crate::damage::DamageLog;
use crate::data_dir::DataDir;
use crate::database::{
    CATALOG_FILE, STATE_FILE, StoreFile, open_store, open_store_at, replace_file,
};
use crate::disk::Disk;
use crate::error::{Error, Result, error_chain};
use crate::limits::DAMAGED_RECORDS_MAX;
use crate::log_rows::note_doubt;
use crate::state::{OFFSETS, mark_aggregated};
use crate::store::{RowBatch, ScanOrder, Span, Store, Table};

/// Tables that a rebuild of the index makes anew.
const INDEX_TABLES: [Table; 4] = [JOURNAL, SEGMENTS, TOMBSTONES, DAMAGED];

/// Replaces the unreadable files of a data directory by files with all readable rows. Damaged files
/// are kept under another name. Returns the findings; none if all is readable.
///
/// Errors: [`Error::Locked`], [`Error::Format`], [`Error::Space`], or a failing disk.
pub fn salvage(disk: &Arc<dyn Disk>, data: &Path) -> Result<Vec<Finding>> {
    let data_dir = Arc::new(DataDir::open_damaged(Arc::clone(disk), data)?);
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
fn salvage_store(data_dir: &Arc<DataDir>, file: &StoreFile) -> Result<Option<Finding>> {
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
    let copied = copy_tables(data_dir, file, &damaged, &salvaged)?;
    // A node of a cluster has shared rows that the others may have otherwise.
    salvaged.write(|rows| note_doubt(rows, &format!("{} was repaired", file.name)))?;
    salvaged.close()?;
    drop(damaged);
    let kept = replace_file(data_dir, file, &new_path)?;
    let mut problem = copied.problem(&kept);
    if copied.has_index && compare_with_index(data_dir)? {
        problem.push_str("; records that differ from the index are left out");
    }
    Ok(Some(Finding::at(file.name.to_owned(), &problem, true)))
}

/// Result of copying a file.
#[derive(Default)]
struct CopiedFile {
    /// Tables with rows that could not be reached.
    lost: Vec<&'static str>,
    /// Number of rows whose values are damaged.
    damaged_count: usize,
    /// True if all rows that define the segments were copied.
    has_index: bool,
}

impl CopiedFile {
    /// One clause for a finding. The damaged file is kept under the name `kept`.
    fn problem(&self, kept: &str) -> String {
        if !self.lost.is_empty() {
            let tables = self.lost.join(", ");
            return format!(
                "a part of these tables is lost, and another may be older than it was: {tables}; \
                 the damaged file is kept as {kept}"
            );
        }
        let expected = "pages that match their checksums were expected";
        match self.damaged_count {
            0 => format!("{expected}: every row was copied, see {kept}"),
            1 => format!("{expected}: every row was copied, one of them damaged, see {kept}"),
            count => {
                format!("{expected}: every row was copied, {count} of them damaged, see {kept}")
            }
        }
    }
}

/// Copies the readable rows of every table.
fn copy_tables(
    data_dir: &DataDir,
    file: &StoreFile,
    from: &Store,
    to: &Store,
) -> Result<CopiedFile> {
    let mut copied = CopiedFile {
        has_index: file.tables.contains(&SEGMENTS) && is_index_readable(from),
        ..CopiedFile::default()
    };
    for &table in file.tables {
        if INDEX_TABLES.contains(&table) && !copied.has_index {
            continue;
        }
        let mut copy = TableCopy::new(to, table, copied.has_index);
        if !copy.copy(from)? {
            copied.lost.push(table.0);
        }
        copied.damaged_count += copy.damaged_count;
    }
    // At last: the rows of another table say which node has the offsets.
    if copied.lost.contains(&OFFSETS.0) {
        forget_entries(data_dir, to)?;
    }
    Ok(copied)
}

/// Returns true if every row that defines the segments and their tombstones can be read.
fn is_index_readable(store: &Store) -> bool {
    let mut tables = INDEX_TABLES.into_iter().chain([META]);
    tables.all(|table| {
        let read = store
            .read(|rows| rows.range(table, Span::ALL, &mut |_, _| Ok(ControlFlow::Continue(()))));
        read.is_ok()
    })
}

/// Leaves out the records of a salvaged catalog that differ from the index. Returns true if there
/// are any.
fn compare_with_index(data_dir: &Arc<DataDir>) -> Result<bool> {
    let store = open_store(data_dir, true, &CATALOG_FILE)?;
    let files = SegmentFiles::new(Arc::clone(data_dir));
    let damage = Arc::<DamageLog>::default();
    let catalog = Catalog::new(store, files, Arc::clone(&damage));
    catalog.open()?;
    let differing_count = catalog.contain_all_contradicted()?;
    if DAMAGED_RECORDS_MAX as u64 <= differing_count {
        // More than can be left out: lost records must not be found in an index that still has
        // them.
        catalog
            .store()
            .write(|rows| rows.remove(META, INDEX_VERSION))?;
    }
    catalog.store().close()?;
    let noted = damage.take_for_log();
    Ok(noted.iter().any(|entry| !entry.is_repaired))
}

/// Marks every counter file without an offset as aggregated.
fn forget_entries(data_dir: &DataDir, salvaged: &Store) -> Result<()> {
    let files = data_dir.disk().list(&data_dir.path("counters"))?;
    let names = files.unwrap_or_default().into_iter().map(|file| file.name);
    let names: Vec<String> = names.collect();
    salvaged.write(|rows| mark_aggregated(rows, &names))
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

/// The copy of a table, while its rows are added to a new file.
struct TableCopy<'s> {
    batch: RowBatch<'s>,
    table: Table,
    /// True if the index is kept, with the rows about it.
    has_index: bool,
    /// Number of rows whose values are damaged.
    damaged_count: usize,
    /// The last row key that was reached.
    last: Option<Vec<u8>>,
}

impl<'s> TableCopy<'s> {
    fn new(to: &'s Store, table: Table, has_index: bool) -> Self {
        Self {
            batch: RowBatch::new(to, table),
            table,
            has_index,
            damaged_count: 0,
            last: None,
        }
    }

    /// Copies the rows that are reachable from the beginning of the table and from its end. Returns
    /// false if some could not be reached.
    fn copy(&mut self, from: &Store) -> Result<bool> {
        if self.copy_in(ScanOrder::Ascending, from)? {
            return Ok(true);
        }
        // From the other end, up to the damaged page.
        self.copy_in(ScanOrder::Descending, from)?;
        Ok(false)
    }

    /// Copies the rows up to the last one of the scan before, or up to an unreadable page: then
    /// returns false.
    fn copy_in(&mut self, order: ScanOrder, from: &Store) -> Result<bool> {
        let (table, end) = (self.table, self.last.take());
        let span = Span { order, ..Span::ALL };
        let read = from.read(|rows| {
            rows.inspect(table, span, &mut |row_key, value| {
                if end.as_deref().is_some_and(|end| row_key <= end) {
                    return Ok(ControlFlow::Break(()));
                }
                self.add(row_key, value.ok())?;
                Ok(ControlFlow::Continue(()))
            })
        });
        self.batch.put()?;
        Ok(read.is_ok())
    }

    /// Adds a row, unless its value is derived anew. A damaged value stays damaged: the next open
    /// contains it, and `verify` names it.
    fn add(&mut self, row_key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.last = Some(row_key.to_vec());
        let is_of_index = self.table == META && [INDEX_VERSION, ACTIVE].contains(&row_key);
        if is_of_index && !self.has_index {
            return Ok(());
        }
        self.damaged_count += usize::from(value.is_none());
        self.batch.add(row_key, value)
    }
}
