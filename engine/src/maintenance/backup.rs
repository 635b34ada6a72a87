//! A copy of the whole data directory, made while it is in use.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::verify::Finding;
use crate::blob::{BlobStore, SecondHome};
use crate::catalog::{
    ACTIVE, CATALOG_TABLES, DAMAGED, INDEX_VERSION, JOURNAL, META, RECORDS, SEGMENTS, TOMBSTONES,
    damaged_record,
};
use crate::codec::StoredValue;
use crate::data_dir::{DataDir, beside, empty_but_for_blobs, parent_of};
use crate::database::{CATALOG_FILE, Database, STATE_FILE, open_store};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::FREE_BYTES_MIN;
use crate::log_rows::CLUSTER;
use crate::model::{CachedFile, ContentHash, RecordId};
use crate::state::{ContentWalk, FILES, NODE, OFFSETS, STATE_TABLES};
use crate::store::{RowBatch, Span, Store, Table};

/// Summary of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BackupSummary {
    /// Records, active or not.
    pub records: u64,
    /// Count of blobs.
    pub files: u64,
    /// Their bytes.
    pub file_bytes: u64,
    /// Count of the blobs that an earlier backup, or an interrupted one, had already: they were
    /// checked, and not copied.
    pub reused_files: u64,
    /// Their bytes.
    pub reused_bytes: u64,
    /// Count of the blobs that are in object storage only: they are not in the backup.
    #[serde(default)]
    pub elsewhere_files: u64,
    /// Damaged values, and cached files that are missing or damaged: they are not in the backup.
    /// Files are fetched again on request.
    pub left_out: Vec<Finding>,
}

/// Directories of a backup.
pub(super) struct BackupPlace {
    /// The directory of the finished backup.
    destination: PathBuf,
    /// The directory in which it is made.
    partial: PathBuf,
    /// A finished backup with blobs that need not be copied again.
    earlier: Option<PathBuf>,
}

impl BackupPlace {
    /// A directory by itself.
    fn single(destination: &Path) -> Self {
        Self {
            destination: destination.to_path_buf(),
            partial: beside(destination, ".partial"),
            earlier: None,
        }
    }

    /// A directory in a folder of backups.
    pub(super) fn in_series(folder: &Path, name: &str, earlier: Option<PathBuf>) -> Self {
        Self {
            destination: folder.join(name),
            // One name for all: the next backup has another name, and continues where one stopped.
            partial: folder.join("backup.partial"),
            earlier,
        }
    }
}

/// The blob stores of a copy and of an earlier one.
struct CopiedBlobs {
    copy: BlobStore,
    earlier: Option<BlobStore>,
}

impl CopiedBlobs {
    fn new(disk: &Arc<dyn Disk>, copy: &Path, earlier: Option<&Path>) -> Self {
        let store =
            |root: &Path| BlobStore::new(Arc::clone(disk), root.join("blobs"), root.join("tmp"));
        Self {
            copy: store(copy),
            earlier: earlier.map(store),
        }
    }

    /// Returns true for a blob that is there, intact or not, and needs no space.
    fn has(&self, content: &ContentHash) -> Result<bool> {
        if self.copy.is_here(content)? {
            return Ok(true);
        }
        match &self.earlier {
            Some(earlier) => earlier.is_here(content),
            None => Ok(false),
        }
    }

    /// Puts a blob into the copy. Returns true if it did not have to be copied.
    fn put(&self, file: &CachedFile, from: &BlobStore) -> Result<bool> {
        if self.copy.check_content(file).is_ok() {
            return Ok(true);
        }
        if let Some(earlier) = &self.earlier
            && self.copy.adopt(file, earlier)?
        {
            return Ok(true);
        }
        from.copy(file, &self.copy)?;
        Ok(false)
    }
}

/// Copies everything acknowledged before the call to `destination`, which must not exist.
pub(crate) fn backup(database: &Database, destination: &Path) -> Result<BackupSummary> {
    backup_to(database, &BackupPlace::single(destination))
}

/// Copies everything acknowledged before the call.
///
/// Rows are read at one moment for each file, and written into new files; derived files are left
/// out: they are rebuilt when the copy is opened. Blobs that an earlier backup has, or an
/// interrupted one has copied, are checked and not copied again. The copy is made under another
/// name, made durable and checked, and gets its name last.
pub(super) fn backup_to(database: &Database, place: &BackupPlace) -> Result<BackupSummary> {
    let disk = database.data_dir().disk();
    let destination = &place.destination;
    if disk.list(destination)?.is_some() || disk.size_bytes(destination)?.is_some() {
        let path = destination.clone();
        return Err(Error::Exists { path });
    }
    let parent = parent_of(destination);
    disk.create_dir(&parent)?;
    let blobs = CopiedBlobs::new(disk, &place.partial, place.earlier.as_deref());
    check_space_for_copy(database, &parent, &blobs)?;
    empty_but_for_blobs(disk.as_ref(), &place.partial)?;
    let summary = copy_to(database, &place.partial, &blobs)?;
    disk.rename(&place.partial, destination)?;
    disk.sync_dir(&parent)?;
    Ok(summary)
}

/// Errors: there is too little space for a copy of everything that `blobs` do not have.
fn check_space_for_copy(database: &Database, parent: &Path, blobs: &CopiedBlobs) -> Result<()> {
    let state = &database.state;
    let mut blob_bytes = 0;
    let mut walk = ContentWalk::new(state.store(), state);
    while let Some(files) = walk.next_page()? {
        for file in files {
            if !blobs.has(&file.content)? {
                blob_bytes += file.size_bytes;
            }
        }
    }
    let store_bytes =
        database.catalog.store().size_bytes()? + database.state.store().size_bytes()?;
    let needed_bytes = blob_bytes + store_bytes + FREE_BYTES_MIN;
    let free_bytes = database.data_dir().disk().free_bytes(parent)?;
    if free_bytes < needed_bytes {
        return Err(Error::Space {
            path: parent.to_path_buf(),
            free_bytes,
            needed_bytes,
        });
    }
    Ok(())
}

fn copy_to(database: &Database, partial: &Path, blobs: &CopiedBlobs) -> Result<BackupSummary> {
    let copy = DataDir::open(Arc::clone(database.data_dir().disk()), partial)?;
    // Counts that are not aggregated yet are in files that are not copied.
    database.counters.sync()?;
    match database.aggregate_counters(false) {
        // A node without its log: these counts stay in its own files.
        Err(Error::LogUnavailable { .. } | Error::LogUnanswered { .. } | Error::Cluster { .. }) => {
        }
        aggregated => aggregated?,
    }
    let state = open_store(&copy, true, &STATE_FILE)?;
    let mut left_out = Vec::new();
    copy_state(database, &state, &mut left_out)?;
    let catalog = open_store(&copy, true, &CATALOG_FILE)?;
    // A copy is a data directory of its own: it must not be taken for the node.
    let is_derived = |table| [JOURNAL, SEGMENTS, TOMBSTONES, DAMAGED, CLUSTER].contains(&table);
    let copied = CATALOG_TABLES
        .iter()
        .copied()
        .filter(|table| !is_derived(*table));
    let damage = copy_rows(
        database.catalog.store(),
        &catalog,
        &copied.collect::<Vec<_>>(),
        // Without the version the index is rebuilt when the copy is opened, which counts the active
        // records.
        &|table, row_key, _| Ok(!(table == META && [INDEX_VERSION, ACTIVE].contains(&row_key))),
    )?;
    let damaged_ids: Vec<RecordId> = damage.iter().filter_map(SkippedRow::record_id).collect();
    database.catalog.contain(&damaged_ids)?;
    left_out.extend(damage.iter().map(SkippedRow::finding));
    let mut summary = copy_blobs(database, blobs, &state)?;
    // After the blobs: those uploaded in the meantime need not be queued in the copy.
    let copied_home = SecondHome::open(Arc::clone(copy.disk()), copy.path("uploads"), false)?;
    database.second_home.copy_to(&copied_home)?;
    left_out.append(&mut summary.left_out);
    summary.left_out = left_out;
    summary.records = catalog.read(|rows| rows.rows_count(RECORDS))?;
    for store in [&state, &catalog] {
        store.check()?;
        store.close()?;
    }
    copy.finish()?;
    Ok(summary)
}

/// Copies accounts, keys, counts and the entries of files.
fn copy_state(database: &Database, to: &Store, left_out: &mut Vec<Finding>) -> Result<()> {
    let damage = copy_rows(
        database.state.store(),
        to,
        STATE_TABLES,
        &|table, row_key, value| {
            if table == FILES {
                CachedFile::decode(value)?;
            }
            // Offsets in counter files that are not copied, and the node that this one is.
            let is_own = [OFFSETS, CLUSTER].contains(&table) || (table, row_key) == (META, NODE);
            Ok(!is_own)
        },
    )?;
    left_out.extend(damage.iter().map(SkippedRow::finding));
    Ok(())
}

/// Copies the blobs that the rows of the copy name.
fn copy_blobs(database: &Database, blobs: &CopiedBlobs, copied: &Store) -> Result<BackupSummary> {
    let mut summary = BackupSummary::default();
    let mut missing = HashSet::new();
    // An interrupted backup may have copied blobs that were deleted since.
    let stored = blobs.copy.stored()?.into_iter();
    let mut unnamed: HashSet<ContentHash> = stored.map(|stored| stored.content).collect();
    let mut walk = ContentWalk::new(copied, &database.state);
    while let Some(files) = walk.next_page()? {
        for file in &files {
            unnamed.remove(&file.content);
            if !copy_blob(database, blobs, file, &mut summary)? {
                missing.insert(file.content);
            }
        }
    }
    for content in unnamed {
        blobs.copy.remove(&content)?;
    }
    blobs.copy.sync_names()?;
    forget(copied, &missing)?;
    Ok(summary)
}

/// Copies a blob and counts it. Returns false if it is missing or damaged.
fn copy_blob(
    database: &Database,
    blobs: &CopiedBlobs,
    file: &CachedFile,
    summary: &mut BackupSummary,
) -> Result<bool> {
    match blobs.put(file, &database.blobs) {
        Ok(is_reused) => {
            summary.files += 1;
            summary.file_bytes += file.size_bytes;
            if is_reused {
                summary.reused_files += 1;
                summary.reused_bytes += file.size_bytes;
            }
        }
        Err(Error::Corrupt { .. })
            if database
                .second_home
                .is_elsewhere(&file.content, &database.blobs)? =>
        {
            summary.elsewhere_files += 1;
        }
        Err(error @ Error::Corrupt { .. }) => {
            summary.left_out.push(Finding::of(&error, false));
            return Ok(false);
        }
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Deletes the entries of files with blobs that the copy does not have.
fn forget(state: &Store, missing: &HashSet<ContentHash>) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    state.write(|rows| {
        let mut row_keys = Vec::new();
        rows.inspect(FILES, Span::ALL, &mut |row_key, value| {
            let file = value.and_then(CachedFile::decode)?;
            if missing.contains(&file.content) {
                row_keys.push(row_key.to_vec());
            }
            Ok(ControlFlow::Continue(()))
        })?;
        for row_key in row_keys {
            rows.remove(FILES, &row_key)?;
        }
        Ok(())
    })
}

/// Decides whether a row is copied.
type Choice<'c> = dyn Fn(Table, &[u8], &[u8]) -> Result<bool> + 'c;

/// A row that was not copied because its value is damaged.
struct SkippedRow {
    table: Table,
    row_key: Vec<u8>,
    error: Error,
}

impl SkippedRow {
    /// Id of the record, if the row is one.
    fn record_id(&self) -> Option<RecordId> {
        if self.table != RECORDS {
            return None;
        }
        let bytes = self.row_key.as_slice().try_into().ok()?;
        Some(RecordId::from_bytes(bytes))
    }

    fn finding(&self) -> Finding {
        match self.record_id() {
            Some(id) => Finding::of(&damaged_record(id), false),
            None => Finding::of(&self.error, false),
        }
    }
}

/// Copies the rows of one moment, in batches. Returns the damaged ones, which are left out.
fn copy_rows(
    from: &Store,
    to: &Store,
    tables: &[Table],
    choose: &Choice<'_>,
) -> Result<Vec<SkippedRow>> {
    from.read(|rows| {
        let mut damage = Vec::new();
        for &table in tables {
            let mut batch = RowBatch::new(to, table);
            rows.inspect(table, Span::ALL, &mut |row_key, value| {
                let is_chosen = value.and_then(|value| Ok((choose(table, row_key, value)?, value)));
                match is_chosen {
                    Ok((true, value)) => batch.add(row_key, Some(value))?,
                    Ok((false, _)) => {}
                    Err(error @ Error::Corrupt { .. }) => damage.push(SkippedRow {
                        table,
                        row_key: row_key.to_vec(),
                        error,
                    }),
                    Err(error) => return Err(error),
                }
                Ok(ControlFlow::Continue(()))
            })?;
            batch.put()?;
        }
        Ok(damage)
    })
}
