//! Records as they are stored, active or not: read one, or all of them.

use std::ops::ControlFlow;

use super::catalog_store::Catalog;
use super::tables::{ACTIVE, META, RECORDS, record_id_of};
use crate::codec::{decode_number, decode_record};
use crate::error::{Error, Result};
use crate::model::{Record, RecordId};
use crate::store::Span;

/// Records that an export reads in one transaction.
const EXPORT_BATCH_RECORDS: usize = 1_000;

impl Catalog {
    /// Number of records, and of those that are active.
    pub(crate) fn counts(&self) -> Result<(u64, u64)> {
        // Both at one moment: with a commit in between, more records could be active than there
        // are.
        self.store.read(|rows| {
            let active = match rows.get(META, ACTIVE)? {
                Some(stored) => decode_number(&stored)?,
                None => 0,
            };
            Ok((rows.rows_count(RECORDS)?, active))
        })
    }

    /// The record's stored value.
    pub(super) fn stored_row(&self, id: RecordId) -> Result<Option<Vec<u8>>> {
        self.store.read(|rows| rows.get(RECORDS, id.as_bytes()))
    }

    /// The record as stored.
    pub(crate) fn stored_record(&self, id: RecordId) -> Result<Option<Record>> {
        let stored = self.stored_row(id)?;
        stored.map(|stored| decode_record(id, &stored)).transpose()
    }

    /// Calls `each` with every record, by id, in short reads: no transaction is open while `each`
    /// works, so a slow one delays nobody. Of the commits made meanwhile some may be seen.
    pub(crate) fn each_record(&self, each: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let batch = self.read_records(&from, EXPORT_BATCH_RECORDS)?;
            for record in &batch {
                each(record)?;
            }
            let Some(last) = batch.last() else {
                return Ok(());
            };
            from = row_key_after(last.id);
        }
    }

    /// The first `count_max` records from a row key on; none at the end.
    pub(super) fn read_records(&self, from: &[u8], count_max: usize) -> Result<Vec<Record>> {
        self.store.read(|rows| {
            let mut batch = Vec::with_capacity(count_max);
            let span = Span { from, ..Span::ALL };
            rows.range(RECORDS, span, &mut |row_key, stored| {
                batch.push(decode_record(record_id_of(row_key)?, stored)?);
                if batch.len() < count_max {
                    Ok(ControlFlow::Continue(()))
                } else {
                    Ok(ControlFlow::Break(()))
                }
            })?;
            Ok(batch)
        })
    }

    /// Decodes every record and returns the errors. Values that fail their checksum are left out:
    /// the check of the store reports them.
    pub(crate) fn check_records(&self) -> Result<Vec<Error>> {
        let mut damaged = Vec::new();
        let inspected = self.store.read(|rows| {
            rows.inspect(RECORDS, &mut |row_key, value| {
                // A value that fails its checksum is reported by the check of the store.
                let Ok(value) = value else { return };
                let decoded = record_id_of(row_key).and_then(|id| decode_record(id, value));
                damaged.extend(decoded.err());
            })
        });
        match inspected {
            // The check of the store reports it, too.
            Err(Error::Corrupt { .. } | Error::Store { .. }) => Ok(damaged),
            other => other.map(|()| damaged),
        }
    }
}

/// The lowest row key above that of a record.
pub(super) fn row_key_after(id: RecordId) -> Vec<u8> {
    // Row keys are compared as bytes: nothing lies between a key and the same key with a zero byte.
    let mut row_key = id.as_bytes().to_vec();
    row_key.push(0);
    row_key
}
