//! The store in the form for the engine: every value with its checksum.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::seam::{ReadRows, RowVisitor, Span, StoreEngine, Table, WriteRows};
use crate::disk::Disk;
use crate::error::{Error, Result};
use crate::limits::PAGES_CHECK_BYTES_MAX;

/// Bytes of the checksum at the end of every stored value.
const CHECKSUM_BYTES: usize = 8;

/// One file of the store, in the form for the engine.
pub(crate) struct Store {
    engine: Box<dyn StoreEngine>,
    /// Name of the file in errors.
    file: &'static str,
    guard: SpaceGuard,
    sum: OnceLock<RowSum>,
}

/// A sum over the rows of some tables, kept in a row of another: it is the same wherever the rows
/// are the same, in whatever order they were written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowSum {
    /// Tables with rows that count.
    pub(crate) tables: &'static [Table],
    /// Rows of these tables that do not count.
    pub(crate) left_out: &'static [(Table, &'static [u8])],
    /// Table that keeps the sum.
    pub(crate) kept_in: Table,
    /// Row of that table.
    pub(crate) row_key: &'static [u8],
}

impl RowSum {
    fn counts(&self, table: Table, row_key: &[u8]) -> bool {
        self.tables.contains(&table) && !self.left_out.contains(&(table, row_key))
    }
}

/// Refuses changes when the disk is nearly full, before they can fail halfway.
pub(crate) struct SpaceGuard {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    /// Number of bytes that must be free for a transaction to begin.
    pub(crate) needed_bytes: u64,
    /// Number of bytes that must be free besides.
    pub(crate) reserve_bytes: Arc<AtomicU64>,
}

impl SpaceGuard {
    /// Errors: [`Error::Space`] when there is too little.
    pub(crate) fn check(&self) -> Result<()> {
        let free_bytes = self.disk.free_bytes(&self.dir)?;
        let reserve_bytes = self.reserve_bytes.load(Ordering::Relaxed);
        let needed_bytes = self.needed_bytes.saturating_add(reserve_bytes);
        if free_bytes < needed_bytes {
            return Err(Error::Space {
                path: self.dir.clone(),
                free_bytes,
                needed_bytes,
            });
        }
        Ok(())
    }
}

impl Store {
    /// A store that keeps its rows in `engine`.
    pub(crate) fn new(engine: Box<dyn StoreEngine>, file: &'static str, guard: SpaceGuard) -> Self {
        Self {
            engine,
            file,
            guard,
            sum: OnceLock::new(),
        }
    }

    /// Keeps a sum from now on. Cost: one more look-up for each row that is put or removed.
    ///
    /// The sum must be in its row already, or its tables empty: see [`Transaction::start_sum`].
    pub(crate) fn keep_sum(&self, sum: RowSum) {
        let _ = self.sum.set(sum);
    }

    /// Errors: there is too little space for a transaction.
    pub(crate) fn check_space(&self) -> Result<()> {
        self.guard.check()
    }

    /// Free bytes where the file is.
    pub(crate) fn free_bytes(&self) -> Result<u64> {
        self.guard.disk.free_bytes(&self.guard.dir)
    }

    /// Returns true if a sum is kept: the rows are those of other nodes, too.
    pub(crate) fn keeps_sum(&self) -> bool {
        self.sum.get().is_some()
    }

    /// Recounts the rows that have a stored sum, at one moment. Returns false if they have
    /// another one: a row was lost, or is older than it was. Cost: reads them all.
    pub(crate) fn has_its_sum(&self) -> Result<bool> {
        let Some(sum) = self.sum.get().copied() else {
            return Ok(true);
        };
        match self.read(|rows| rows.has_sum(sum)) {
            // A damaged value is reported by its reader.
            Err(Error::Corrupt { .. }) => Ok(false),
            counted => counted,
        }
    }

    /// Reads at one moment; commits made during it are not seen.
    pub(crate) fn read<R>(&self, work: impl FnOnce(&Rows<'_>) -> Result<R>) -> Result<R> {
        let mut work = Some(work);
        let mut result = None;
        self.engine.read(&mut |rows| {
            let file = self.file;
            let work = work.take().expect("an engine calls its work once");
            result = Some(work(&Rows { rows, file })?);
            Ok(())
        })?;
        Ok(result.expect("an engine that succeeds has called its work"))
    }

    /// Changes rows durably, all or none.
    pub(crate) fn write<R>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<R>,
    ) -> Result<R> {
        // Before the transaction: an error for lack of space is known to have changed nothing.
        self.guard.check()?;
        let mut work = Some(work);
        let mut result = None;
        self.engine.write(&mut |rows| {
            let work = work.take().expect("an engine calls its work once");
            let mut transaction = Transaction {
                rows,
                file: self.file,
                checksummed: Vec::new(),
                discarded: Vec::new(),
                sum: self.sum.get().map(|sum| (*sum, 0)),
            };
            result = Some(work(&mut transaction)?);
            transaction.store_sum()
        })?;
        Ok(result.expect("an engine that succeeds has called its work"))
    }

    /// Changes a byte of a stored value without updating its checksum.
    #[cfg(test)]
    pub(crate) fn damage_value(&self, table: Table, row_key: &[u8]) -> Result<()> {
        self.engine.write(&mut |rows| {
            let mut stored = rows.get(table, row_key)?.expect("the row is there");
            let middle = stored.len() / 2;
            stored[middle] ^= 0x10;
            rows.put(table, row_key, &stored)
        })
    }

    /// Size on disk, in bytes.
    pub(crate) fn size_bytes(&self) -> Result<u64> {
        self.engine.size_bytes()
    }

    /// Checks everything below the rows.
    pub(crate) fn check(&self) -> Result<()> {
        self.engine.check()
    }

    /// Checks everything below the rows, unless that would take long.
    pub(crate) fn check_when_small(&self) -> Result<()> {
        if self.size_bytes()? <= PAGES_CHECK_BYTES_MAX {
            self.check()
        } else {
            Ok(())
        }
    }

    /// Number of bytes that [`Store::compact`] may free.
    pub(crate) fn reclaimable_bytes(&self) -> Result<u64> {
        self.engine.reclaimable_bytes()
    }

    /// Returns the space without rows to the file system. Returns the sizes on disk before and
    /// after, in bytes.
    pub(crate) fn compact(&self) -> Result<(u64, u64)> {
        // Pages are copied before the file becomes shorter.
        self.guard.check()?;
        let before = self.size_bytes()?;
        self.engine.compact()?;
        Ok((before, self.size_bytes()?))
    }

    /// Closes the file.
    pub(crate) fn close(&self) -> Result<()> {
        self.engine.close()
    }
}

/// Visitor of rows that may be damaged: gets the row key, and the value or its fault.
pub(crate) type Inspector<'i> = dyn FnMut(&[u8], Result<&[u8]>) -> Result<ControlFlow<()>> + 'i;

/// The rows of one moment; each read checks the value.
pub(crate) struct Rows<'a> {
    rows: &'a dyn ReadRows,
    file: &'static str,
}

impl Rows<'_> {
    /// The value of a row. Errors: [`Error::Corrupt`] when its checksum does not match.
    pub(crate) fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(mut checksummed) = self.rows.get(table, row_key)? else {
            return Ok(None);
        };
        let value_bytes = verified_value(self.file, table, row_key, &checksummed)?.len();
        // Cut in place: the value is not copied a second time.
        checksummed.truncate(value_bytes);
        Ok(Some(checksummed))
    }

    /// Visits the rows of a span in order. Errors as with [`Rows::get`].
    pub(crate) fn range(
        &self,
        table: Table,
        span: Span<'_>,
        each: &mut RowVisitor<'_>,
    ) -> Result<()> {
        self.rows.range(table, span, &mut |row_key, checksummed| {
            each(
                row_key,
                verified_value(self.file, table, row_key, checksummed)?,
            )
        })
    }

    /// Visits rows without trusting them: a damaged one does not end the visit.
    pub(crate) fn inspect(
        &self,
        table: Table,
        span: Span<'_>,
        each: &mut Inspector<'_>,
    ) -> Result<()> {
        self.rows.range(table, span, &mut |row_key, checksummed| {
            let value = verified_value(self.file, table, row_key, checksummed);
            each(row_key, value)
        })
    }

    /// Returns true if the rows have the sum that is kept of them. Cost: reads them all.
    pub(crate) fn has_sum(&self, sum: RowSum) -> Result<bool> {
        let stored = self.get(sum.kept_in, sum.row_key)?;
        let stored = stored.and_then(|value| value.try_into().ok());
        Ok(self.count_sum(sum)? == stored.map_or(0, u64::from_le_bytes))
    }

    /// The sum of the rows that there are. Errors: a value is damaged.
    fn count_sum(&self, sum: RowSum) -> Result<u64> {
        let mut total = 0u64;
        for &table in sum.tables {
            self.rows
                .range(table, Span::ALL, &mut |row_key, checksummed| {
                    verified_value(self.file, table, row_key, checksummed)?;
                    if sum.counts(table, row_key) {
                        let checksum = checksummed.last_chunk().copied();
                        total = total.wrapping_add(checksum.map_or(0, u64::from_le_bytes));
                    }
                    Ok(ControlFlow::Continue(()))
                })?;
        }
        Ok(total)
    }

    /// Count of rows in a table.
    pub(crate) fn rows_count(&self, table: Table) -> Result<u64> {
        self.rows.rows_count(table)
    }
}

/// The rows inside a transaction.
pub(crate) struct Transaction<'a> {
    rows: &'a mut dyn WriteRows,
    file: &'static str,
    checksummed: Vec<u8>,
    /// Damaged values that were treated as missing.
    discarded: Vec<Error>,
    /// The kept sum, and its difference up to now.
    sum: Option<(RowSum, u64)>,
}

impl Transaction<'_> {
    /// The rows with the changes of this transaction.
    pub(crate) fn changed(&self) -> Rows<'_> {
        Rows {
            rows: &*self.rows,
            file: self.file,
        }
    }

    /// The value of a row, with the changes of this transaction.
    pub(crate) fn get(&self, table: Table, row_key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.changed().get(table, row_key)
    }

    /// The value of a row; `None` also when it is damaged, which is noted as discarded: for values
    /// that are about to be replaced.
    pub(crate) fn get_or_discard(
        &mut self,
        table: Table,
        row_key: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        match self.get(table, row_key) {
            Err(error) => self.discard(table, row_key, error).map(|()| None),
            read => read,
        }
    }

    /// Notes the value of a row as discarded that is damaged, or has its checksum and cannot be
    /// decoded.
    ///
    /// Errors: the error, if it is not about the value, or if others have the same row: what they
    /// do with it must not depend on the damage of one disk.
    pub(crate) fn discard(&mut self, table: Table, row_key: &[u8], error: Error) -> Result<()> {
        let is_shared = self.sum.is_some_and(|(sum, _)| sum.counts(table, row_key));
        if is_shared || !is_damaged_value(&error, self.file) {
            return Err(error);
        }
        self.discarded.push(error);
        Ok(())
    }

    /// Returns the errors of the discarded values, for the log.
    pub(crate) fn take_discarded(&mut self) -> Vec<Error> {
        std::mem::take(&mut self.discarded)
    }

    /// Visits the rows of a span, with the changes of this transaction, without trusting them.
    pub(crate) fn inspect(
        &self,
        table: Table,
        span: Span<'_>,
        each: &mut Inspector<'_>,
    ) -> Result<()> {
        self.changed().inspect(table, span, each)
    }

    /// The row keys of a table, those of damaged rows included.
    pub(crate) fn row_keys(&self, table: Table) -> Result<Vec<Vec<u8>>> {
        let mut row_keys = Vec::new();
        self.rows.range(table, Span::ALL, &mut |row_key, _| {
            row_keys.push(row_key.to_vec());
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(row_keys)
    }

    /// Sets a row.
    pub(crate) fn put(&mut self, table: Table, row_key: &[u8], value: &[u8]) -> Result<()> {
        // One buffer for all rows of a transaction: a group of an import puts 10,000.
        self.checksummed.clear();
        self.checksummed.extend_from_slice(value);
        let checksum = checksum_of(table, row_key, value);
        self.checksummed.extend_from_slice(&checksum);
        self.count_in_sum(table, row_key, Some(checksum))?;
        self.rows.put(table, row_key, &self.checksummed)
    }

    /// Makes the value of a row, even of a missing row, one that does not match its checksum: it is
    /// not the value stored last, and must never be trusted again.
    pub(crate) fn discredit(&mut self, table: Table, row_key: &[u8]) -> Result<()> {
        let stored = self.rows.get(table, row_key)?;
        let mut checksummed = stored.unwrap_or_else(|| checksum_of(table, row_key, &[]).to_vec());
        if verified_value(self.file, table, row_key, &checksummed).is_ok() {
            // The value stays unchanged, for an examination of the file.
            *checksummed.last_mut().expect("a checksum is not empty") ^= 0xFF;
            self.count_in_sum(table, row_key, checksummed.last_chunk().copied())?;
            self.rows.put(table, row_key, &checksummed)?;
        }
        Ok(())
    }

    /// Removes a row; false when there is none.
    pub(crate) fn remove(&mut self, table: Table, row_key: &[u8]) -> Result<bool> {
        self.count_in_sum(table, row_key, None)?;
        self.rows.remove(table, row_key)
    }

    /// Takes the present row out of the sum, and the new one in.
    ///
    /// Errors: the present row does not match its checksum. What it has added to the sum is not
    /// known, and no other node would have this sum again.
    fn count_in_sum(
        &mut self,
        table: Table,
        row_key: &[u8],
        new: Option<[u8; CHECKSUM_BYTES]>,
    ) -> Result<()> {
        let Some((sum, difference)) = &mut self.sum else {
            return Ok(());
        };
        if sum.counts(table, row_key) {
            let old = self.rows.get(table, row_key)?;
            if let Some(stored) = &old {
                verified_value(self.file, table, row_key, stored)?;
            }
            let old = old.as_deref().and_then(|stored| stored.last_chunk());
            *difference = difference
                .wrapping_sub(old.map_or(0, |checksum| u64::from_le_bytes(*checksum)))
                .wrapping_add(new.map_or(0, u64::from_le_bytes));
        }
        Ok(())
    }

    fn store_sum(&mut self) -> Result<()> {
        match self.sum.take() {
            Some((sum, difference)) if difference != 0 => {
                // A damaged sum is counted from zero: from then on it differs from those of others.
                let stored = self.get_or_discard(sum.kept_in, sum.row_key)?;
                let stored = stored.and_then(|value| value.try_into().ok());
                let before = stored.map_or(0, u64::from_le_bytes);
                let after = before.wrapping_add(difference);
                self.put(sum.kept_in, sum.row_key, &after.to_le_bytes())
            }
            _ => Ok(()),
        }
    }

    /// Sums up the existing rows and stores the sum. Cost: reads them all.
    pub(crate) fn start_sum(&mut self, sum: RowSum) -> Result<()> {
        let total = self.changed().count_sum(sum)?;
        self.put(sum.kept_in, sum.row_key, &total.to_le_bytes())
    }
}

/// Returns true if an error concerns one value, not the file below it: [`StoreEngine`]s name only
/// the file.
fn is_damaged_value(error: &Error, store_file: &str) -> bool {
    matches!(error, Error::Corrupt { file, .. } if file != store_file)
}

/// xxh3 of the value, seeded with table and row key: a value in another's place does not match.
fn checksum_of(table: Table, row_key: &[u8], value: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let place = xxh3_64_with_seed(row_key, xxh3_64(table.0.as_bytes()));
    xxh3_64_with_seed(value, place).to_le_bytes()
}

fn verified_value<'v>(
    file: &'static str,
    table: Table,
    row_key: &[u8],
    checksummed: &'v [u8],
) -> Result<&'v [u8]> {
    if let Some((value, found)) = checksummed.split_last_chunk::<CHECKSUM_BYTES>()
        && *found == checksum_of(table, row_key, value)
    {
        return Ok(value);
    }
    let row: String = row_key.iter().map(|byte| format!("{byte:02x}")).collect();
    let place = format!("{file}, table {}, row {row}", table.0);
    Err(Error::corrupt(
        place,
        0,
        "a value that matches its checksum",
    ))
}
