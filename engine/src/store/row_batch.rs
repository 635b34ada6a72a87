//! Rows for a table of another store, written in batches.

use super::checksummed::Store;
use super::seam::Table;
use crate::error::Result;

/// Size of the rows that are written in one transaction, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// Rows for one table that are not written yet.
pub(crate) struct RowBatch<'s> {
    to: &'s Store,
    table: Table,
    /// Row keys and values; `None` for a damaged value.
    rows: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    bytes: usize,
}

impl<'s> RowBatch<'s> {
    /// An empty batch for a table of `to`.
    pub(crate) fn new(to: &'s Store, table: Table) -> Self {
        Self {
            to,
            table,
            rows: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a row, and writes the batch if it is full. Without a value, the row is damaged there.
    pub(crate) fn add(&mut self, row_key: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.bytes += row_key.len() + value.map_or(0, <[u8]>::len);
        self.rows
            .push((row_key.to_vec(), value.map(<[u8]>::to_vec)));
        if BATCH_BYTES <= self.bytes {
            self.put()?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn put(&mut self) -> Result<()> {
        self.bytes = 0;
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
