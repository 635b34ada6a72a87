//! Rows in one redb file. The only module that names redb.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard};
use redb::{
    Builder, Database, Durability, ReadTransaction, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, StorageBackend, StorageError, TableDefinition, TableError,
    WriteTransaction,
};

use super::seam::{ReadRows, RowVisitor, ScanOrder, Span, StoreEngine, Table, WriteRows};
use crate::disk::{Disk, DiskFile};
use crate::error::{Error, Result};

/// Path and tables of a redb file.
pub(crate) struct RedbPlace {
    pub(crate) disk: Arc<dyn Disk>,
    /// The file.
    pub(crate) path: PathBuf,
    /// Name under which it is created, in the same file system.
    pub(crate) temporary: PathBuf,
    /// Name of the file in errors.
    pub(crate) file: &'static str,
    /// Every table; missing ones are created.
    pub(crate) tables: &'static [Table],
    /// Bytes of memory for pages.
    pub(crate) cache_bytes: usize,
    /// True if a missing file is created; otherwise it is damage.
    pub(crate) may_create: bool,
}

/// A store in one redb file.
///
/// Every commit is a quick-repair commit, which implies two phases: after a crash the file opens
/// without a scan. redb refuses everything after a failed write, and may panic on a damaged page:
/// both mark the database as suspect, and the next caller opens it again.
pub(crate) struct RedbEngine {
    place: RedbPlace,
    /// INVARIANT: at most one [`Database`] of the file is open; replacing it waits for all
    /// transactions.
    database: RwLock<Option<Database>>,
    is_suspect: AtomicBool,
}

/// Time for which the opening of a suspect database waits for transactions to end.
const REOPEN_WAIT: Duration = Duration::from_secs(1);

type ByteTable = TableDefinition<'static, &'static [u8], &'static [u8]>;

const fn definition(table: Table) -> ByteTable {
    TableDefinition::new(table.0)
}

impl RedbEngine {
    /// Opens the file, creating it if it is missing.
    ///
    /// A file is created under a temporary name, with all its tables, and gets its name when it is
    /// durable: redb's own creation does not survive a kill.
    pub(crate) fn open(place: RedbPlace) -> Result<Self> {
        let size_bytes = place.disk.size_bytes(&place.path)?;
        if size_bytes.is_none() && place.may_create {
            create(&place)?;
        }
        let database = open(&place)?;
        Ok(Self {
            place,
            database: RwLock::new(Some(database)),
            is_suspect: AtomicBool::new(false),
        })
    }

    /// The open database, opened again if the last one failed.
    fn database(&self) -> Result<RwLockReadGuard<'_, Option<Database>>> {
        // Not forever: a reader that begins another transaction would wait for itself. If readers
        // stay that long, redb answers as it can, and a later caller opens the file again.
        if self.is_suspect.load(Ordering::Acquire)
            && let Some(mut database) = self.database.try_write_for(REOPEN_WAIT)
        {
            // Asked again under the lock: of callers that wait here together, the first opens it.
            if self.is_suspect.load(Ordering::Acquire) {
                if let Some(suspect) = database.take() {
                    discard(suspect);
                }
                *database = Some(open(&self.place)?);
                self.is_suspect.store(false, Ordering::Release);
            }
        }
        // Recursive: a reader may begin another transaction while it reads, and must not queue
        // behind `check` or `close`, which wait for the reader.
        Ok(self.database.read_recursive())
    }

    fn closed(&self) -> Error {
        Error::Store {
            file: self.place.file,
            action: "answer after it was closed",
            source: "the store is closed".into(),
        }
    }

    /// Remembers that redb failed, unless the fault was the caller's, or one value's: opening the
    /// file again would not repair a value, and empties the page cache.
    fn observe<T>(&self, result: Result<T>) -> Result<T> {
        let is_suspect = match &result {
            Err(Error::Store { .. }) => true,
            Err(Error::Corrupt { file, .. }) => file == self.place.file,
            _ => false,
        };
        if is_suspect {
            self.is_suspect.store(true, Ordering::Release);
        }
        result
    }

    fn read_with(
        &self,
        database: &Database,
        work: &mut dyn FnMut(&dyn ReadRows) -> Result<()>,
    ) -> Result<()> {
        let place = &self.place;
        let begun = guarded(place, "begin to read", || database.begin_read())?;
        let rows = RedbRows {
            transaction: begun.map_err(failed(place, "begin to read"))?,
            place,
        };
        work(&rows)
    }

    fn write_with(
        &self,
        database: &Database,
        work: &mut dyn FnMut(&mut dyn WriteRows) -> Result<()>,
    ) -> Result<()> {
        let place = &self.place;
        let begun = guarded(place, "begin to write", || database.begin_write())?;
        let mut transaction = begun.map_err(failed(place, "begin to write"))?;
        let durable = transaction.set_durability(Durability::Immediate);
        durable.map_err(failed(place, "begin to write"))?;
        // Slows each commit slightly; without it, a start after a crash would scan the whole file.
        transaction.set_quick_repair(true);
        let mut rows = RedbTransaction {
            transaction: &transaction,
            tables: RefCell::new(Vec::new()),
            place,
            is_changed: false,
        };
        let worked = work(&mut rows);
        let is_changed = rows.is_changed;
        // Before the commit: tables borrow the transaction, and write their changes when they are
        // dropped.
        guarded(place, "leave its tables", || drop(rows))?;
        match worked {
            // A commit writes and syncs, even without changes.
            Ok(()) if !is_changed => {
                let ended = guarded(place, "end a transaction", || transaction.abort())?;
                ended.map_err(failed(place, "end a transaction"))
            }
            Ok(()) => {
                let committed = guarded(place, "commit", || transaction.commit())?;
                committed.map_err(failed(place, "commit"))
            }
            Err(error) => {
                // The fault that ended the work is the one to report.
                let _ = guarded(place, "abort", || transaction.abort());
                Err(error)
            }
        }
    }
}

impl StoreEngine for RedbEngine {
    fn read(&self, work: &mut dyn FnMut(&dyn ReadRows) -> Result<()>) -> Result<()> {
        let database = self.database()?;
        let Some(database) = database.as_ref() else {
            return Err(self.closed());
        };
        self.observe(self.read_with(database, work))
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn WriteRows) -> Result<()>) -> Result<()> {
        let database = self.database()?;
        let Some(database) = database.as_ref() else {
            return Err(self.closed());
        };
        self.observe(self.write_with(database, work))
    }

    fn size_bytes(&self) -> Result<u64> {
        let size_bytes = self.place.disk.size_bytes(&self.place.path)?;
        Ok(size_bytes.unwrap_or(0))
    }

    fn check(&self) -> Result<()> {
        // Opened again first if it failed. The guard is dropped at once: the next line would wait
        // for it.
        drop(self.database()?);
        let mut database = self.database.write();
        let Some(database) = database.as_mut() else {
            return Err(self.closed());
        };
        let checked = guarded(&self.place, "check", || database.check_integrity());
        let checked = self.observe(checked)?;
        let is_sound = self.observe(checked.map_err(failed(&self.place, "check")))?;
        if is_sound {
            Ok(())
        } else {
            Err(damaged(&self.place))
        }
    }

    fn reclaimable_bytes(&self) -> Result<u64> {
        let database = self.database()?;
        let Some(database) = database.as_ref() else {
            return Err(self.closed());
        };
        let used_bytes = self.observe(used_bytes(&self.place, database))?;
        Ok(self.size_bytes()?.saturating_sub(used_bytes))
    }

    fn compact(&self) -> Result<()> {
        drop(self.database()?);
        let mut database = self.database.write();
        let Some(database) = database.as_mut() else {
            return Err(self.closed());
        };
        let compacted = guarded(&self.place, "compact", || database.compact());
        let compacted = self.observe(compacted)?;
        self.observe(compacted.map_err(failed(&self.place, "compact")))?;
        Ok(())
    }

    fn close(&self) -> Result<()> {
        let Some(database) = self.database.write().take() else {
            return Ok(());
        };
        if self.is_suspect.load(Ordering::Acquire) {
            // Committed changes are durable, and nothing else may be written.
            discard(database);
            return Ok(());
        }
        let closed = guarded(&self.place, "close", || database.close())?;
        closed.map_err(failed(&self.place, "close"))
    }
}

/// Size of the pages of all tables, in bytes, however full they are.
fn used_bytes(place: &RedbPlace, database: &Database) -> Result<u64> {
    let measured = guarded(place, "measure", || {
        let transaction = database.begin_read()?;
        let mut used_bytes = 0;
        for table in place.tables {
            let stats = transaction.open_table(definition(*table))?.stats()?;
            used_bytes += stats.stored_bytes() + stats.metadata_bytes() + stats.fragmented_bytes();
        }
        Ok::<u64, redb::Error>(used_bytes)
    })?;
    measured.map_err(failed(place, "measure"))
}

impl Drop for RedbEngine {
    fn drop(&mut self) {
        if let Some(database) = self.database.get_mut().take() {
            discard(database);
        }
    }
}

/// Creates the file: complete and durable before it gets its name.
fn create(place: &RedbPlace) -> Result<()> {
    let file = place.disk.create(&place.temporary)?;
    let database = open_file(place, file)?;
    make_tables(place, &database, place.tables)?;
    // Closed before it gets its name: a file in use is marked as such, and would be repaired at its
    // first opening.
    let closed = guarded(place, "close", || database.close())?;
    closed.map_err(failed(place, "close"))?;
    // redb took the file: it is opened once more, so that the writes of closing are synced, too.
    let made = place.disk.open_writable(&place.temporary)?;
    let file = made.ok_or_else(|| damaged(place))?;
    file.sync().map_err(Error::io("sync", &place.temporary))?;
    place.disk.rename(&place.temporary, &place.path)?;
    let dir = place.path.parent().expect("a store lies in a directory");
    place.disk.sync_dir(dir)
}

/// Opens the existing file, and creates the tables that it lacks.
fn open(place: &RedbPlace) -> Result<Database> {
    let file = place.disk.open_writable(&place.path)?;
    let file = file.ok_or_else(|| Error::corrupt(place.file, 0, "the file"))?;
    let size_bytes = file.size_bytes().map_err(Error::io("read", &place.path))?;
    if size_bytes == 0 {
        // redb would take an empty file for a new one.
        return Err(damaged(place));
    }
    let database = open_file(place, file)?;
    match add_tables(place, &database) {
        Ok(()) => Ok(database),
        Err(error) => {
            discard(database);
            Err(error)
        }
    }
}

/// Creates the tables that the file lacks.
fn add_tables(place: &RedbPlace, database: &Database) -> Result<()> {
    let begun = guarded(place, "begin to read", || database.begin_read())?;
    let transaction = begun.map_err(failed(place, "begin to read"))?;
    let mut missing = Vec::new();
    for table in place.tables {
        let opened = guarded(place, "open a table", || {
            transaction.open_table(definition(*table))
        })?;
        match opened {
            Ok(_) => {}
            Err(TableError::TableDoesNotExist(_)) => missing.push(*table),
            Err(error) => return Err(failed(place, "open a table")(error)),
        }
    }
    drop(transaction);
    if !missing.is_empty() {
        make_tables(place, database, &missing)?;
    }
    Ok(())
}

/// Drops a database as if the process was killed.
///
/// redb commits once more when it is dropped. If a page with the list of pages in use is damaged,
/// that commit takes a page that is in use, and panics in a destructor, which ends the process. It
/// commits nothing while its thread unwinds.
fn discard(database: Database) {
    if std::thread::panicking() {
        return drop(database);
    }
    let _ = catch_unwind(AssertUnwindSafe(move || {
        let _dropped = database;
        resume_unwind(Box::new(()))
    }));
}

fn open_file(place: &RedbPlace, file: Box<dyn DiskFile>) -> Result<Database> {
    let opened = guarded(place, "open", || {
        let mut builder = Builder::new();
        builder.set_cache_size(place.cache_bytes);
        builder.create_with_backend(Backend { file })
    })?;
    opened.map_err(failed(place, "open"))
}

fn make_tables(place: &RedbPlace, database: &Database, tables: &[Table]) -> Result<()> {
    let made = guarded(place, "make tables", || {
        let mut transaction = database.begin_write()?;
        transaction.set_quick_repair(true);
        for table in tables {
            transaction.open_table(definition(*table))?;
        }
        transaction.commit()?;
        Ok::<(), redb::Error>(())
    })?;
    made.map_err(failed(place, "make tables"))
}

thread_local! {
    /// True during a call that turns a panic into an error.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Returns true if a panic of this thread becomes an error now, which names the damaged part. A
/// panic hook has nothing to add then.
pub fn is_panic_contained() -> bool {
    IS_GUARDED.get()
}

/// Runs a call into redb: a panic in there, which a damaged page can cause, becomes an error.
fn guarded<T>(place: &RedbPlace, action: &'static str, call: impl FnOnce() -> T) -> Result<T> {
    let was_guarded = IS_GUARDED.replace(true);
    let called = catch_unwind(AssertUnwindSafe(call));
    IS_GUARDED.set(was_guarded);
    called.map_err(|_| Error::Store {
        file: place.file,
        action,
        source: Box::new(damaged(place)),
    })
}

/// A closure for `map_err`: names the file and the action.
fn failed<E: Into<redb::Error>>(
    place: &RedbPlace,
    action: &'static str,
) -> impl FnOnce(E) -> Error {
    let file = place.file;
    move |error| match error.into() {
        redb::Error::Corrupted(_) => Error::corrupt(file, 0, "pages that match their checksums"),
        error => Error::Store {
            file,
            action,
            source: Box::new(error),
        },
    }
}

fn damaged(place: &RedbPlace) -> Error {
    Error::corrupt(place.file, 0, "pages that match their checksums")
}

/// Visits the rows of a redb table in a span. A visit of all rows must meet as many as the table
/// has: a page that was zeroed, or not written, may hold fewer and look sound.
fn visit<T>(place: &RedbPlace, table: &T, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()>
where
    T: ReadableTable<&'static [u8], &'static [u8]> + ReadableTableMetadata,
{
    let to = match span.to {
        Some(to) if to <= span.from => return Ok(()),
        Some(to) => Bound::Excluded(to),
        None => Bound::Unbounded,
    };
    let bounds = (Bound::Included(span.from), to);
    let range = guarded(place, "read", || table.range::<&[u8]>(bounds))?;
    let mut range = range.map_err(failed(place, "read"))?;
    let is_whole = span.from.is_empty() && span.to.is_none();
    let mut visited_count = 0;
    loop {
        let row = guarded(place, "read", || match span.order {
            ScanOrder::Ascending => range.next(),
            ScanOrder::Descending => range.next_back(),
        })?;
        let Some(row) = row else { break };
        visited_count += 1;
        let (row_key, value) = row.map_err(failed(place, "read"))?;
        // A damaged page may panic here too. After one read inside the guard, the same bytes do not
        // panic below, and `each` is outside of it: its panics are its own.
        guarded(place, "read", || {
            row_key.value().len() + value.value().len()
        })?;
        if each(row_key.value(), value.value())?.is_break() {
            return Ok(());
        }
    }
    if !is_whole {
        return Ok(());
    }
    let rows_count = guarded(place, "read", || table.len())?;
    let rows_count = rows_count.map_err(failed(place, "read"))?;
    if visited_count != rows_count {
        let expected = "as many rows as its tables have";
        return Err(Error::corrupt(place.file, 0, expected));
    }
    Ok(())
}

fn lookup<T>(place: &RedbPlace, table: &T, row_key: &[u8]) -> Result<Option<Vec<u8>>>
where
    T: ReadableTable<&'static [u8], &'static [u8]>,
{
    let found = guarded(place, "read", || {
        let value = table.get(row_key)?;
        Ok::<_, StorageError>(value.map(|value| value.value().to_vec()))
    })?;
    found.map_err(failed(place, "read"))
}

struct RedbRows<'p> {
    transaction: ReadTransaction,
    place: &'p RedbPlace,
}

impl RedbRows<'_> {
    fn table(&self, table: Table) -> Result<redb::ReadOnlyTable<&'static [u8], &'static [u8]>> {
        let opened = guarded(self.place, "open a table", || {
            self.transaction.open_table(definition(table))
        })?;
        opened.map_err(failed(self.place, "open a table"))
    }
}

impl ReadRows for RedbRows<'_> {
    fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        lookup(self.place, &self.table(table)?, row_key)
    }

    fn range(&self, table: Table, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()> {
        visit(self.place, &self.table(table)?, span, each)
    }

    fn rows_count(&self, table: Table) -> Result<u64> {
        let table = self.table(table)?;
        let counted = guarded(self.place, "read", || table.len())?;
        counted.map_err(failed(self.place, "read"))
    }
}

type OpenTable<'t> = redb::Table<'t, &'static [u8], &'static [u8]>;

struct RedbTransaction<'t> {
    transaction: &'t WriteTransaction,
    /// Tables stay open once used: redb opens each but once in a transaction.
    tables: RefCell<Vec<(Table, OpenTable<'t>)>>,
    place: &'t RedbPlace,
    /// True once a row was put or removed.
    is_changed: bool,
}

impl<'t> RedbTransaction<'t> {
    fn with<R>(
        &self,
        table: Table,
        work: impl FnOnce(&mut OpenTable<'t>) -> Result<R>,
    ) -> Result<R> {
        let mut tables = self.tables.borrow_mut();
        let found = tables.iter().position(|(open, _)| *open == table);
        let table_idx = match found {
            Some(table_idx) => table_idx,
            None => {
                let opened = guarded(self.place, "open a table", || {
                    self.transaction.open_table(definition(table))
                })?;
                tables.push((table, opened.map_err(failed(self.place, "open a table"))?));
                tables.len() - 1
            }
        };
        work(&mut tables[table_idx].1)
    }
}

impl ReadRows for RedbTransaction<'_> {
    fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.with(table, |table| lookup(self.place, table, row_key))
    }

    fn range(&self, table: Table, span: Span<'_>, each: &mut RowVisitor<'_>) -> Result<()> {
        self.with(table, |table| visit(self.place, table, span, each))
    }

    fn rows_count(&self, table: Table) -> Result<u64> {
        self.with(table, |table| {
            let counted = guarded(self.place, "read", || table.len())?;
            counted.map_err(failed(self.place, "read"))
        })
    }
}

impl WriteRows for RedbTransaction<'_> {
    fn put(&mut self, table: Table, row_key: &[u8], value: &[u8]) -> Result<()> {
        self.is_changed = true;
        self.with(table, |table| {
            let put = guarded(self.place, "write", || {
                table.insert(row_key, value).map(|_| ())
            })?;
            put.map_err(failed(self.place, "write"))
        })
    }

    fn remove(&mut self, table: Table, row_key: &[u8]) -> Result<bool> {
        let was_there = self.with(table, |table| {
            let removed = guarded(self.place, "write", || {
                Ok::<_, StorageError>(table.remove(row_key)?.is_some())
            })?;
            removed.map_err(failed(self.place, "write"))
        })?;
        self.is_changed |= was_there;
        Ok(was_there)
    }
}

/// redb's view of a file of the engine's disk. The data directory's lock makes locks of its own
/// unnecessary.
struct Backend {
    file: Box<dyn DiskFile>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Backend")
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.size_bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read_at(out, offset)
    }

    fn set_len(&self, size_bytes: u64) -> io::Result<()> {
        self.file.set_size(size_bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write_at(data, offset)
    }
}
