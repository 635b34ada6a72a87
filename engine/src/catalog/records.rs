//! Stored records, active or not: reads of one, or of all.

use std::ops::ControlFlow;

use super::catalog_store::Catalog;
use super::tables::{ACTIVE, META, RECORDS, damage_of, record_id_of};
use crate::codec::{decode_number, decode_record};
use crate::error::{Error, Result};
use crate::model::{Record, RecordId};
use crate::store::Span;

/// Records that an export reads in one transaction.
const EXPORT_BATCH_RECORDS: usize = 1_000;

impl Catalog {
    /// Counts of all records and of the active ones.
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
        let decoded = self
            .stored_row(id)
            .and_then(|stored| stored.map(|stored| decode_record(id, &stored)).transpose());
        let read = damage_of(id, decoded)?;
        if read.is_err() {
            self.contain(&[id])?;
        }
        read
    }

    /// The record as stored, for a caller that has the writer locked; `None` also if it is damaged.
    pub(super) fn stored_record_locked(&self, id: RecordId) -> Result<Option<Record>> {
        let decoded = self
            .stored_row(id)
            .and_then(|stored| stored.map(|stored| decode_record(id, &stored)).transpose());
        Ok(damage_of(id, decoded)?.unwrap_or_default())
    }

    /// Returns true if there is a record with this id, readable or not.
    pub(crate) fn has_record(&self, id: RecordId) -> Result<bool> {
        let stored = damage_of(id, self.stored_row(id))?;
        Ok(stored.is_err() || stored.is_ok_and(|stored| stored.is_some()))
    }

    /// Calls `each` with every record, by id, in short reads: no transaction is open while `each`
    /// works, so a slow one delays no other thread. Commits made during the reads may be seen or
    /// not. Returns the damage of unreadable records; from now on they are left out of searches,
    /// too.
    pub(crate) fn each_record(
        &self,
        each: &mut dyn FnMut(&Record) -> Result<()>,
    ) -> Result<Vec<Error>> {
        let mut damaged = Vec::new();
        let mut from = Vec::new();
        loop {
            let batch = self.read_records(&from, EXPORT_BATCH_RECORDS)?;
            for record in &batch.records {
                each(record)?;
            }
            damaged.extend(batch.damaged);
            let Some(last) = batch.last else { break };
            from = row_key_after(last);
        }
        let ids: Vec<RecordId> = damaged.iter().filter_map(|record| record.id).collect();
        self.contain(&ids)?;
        Ok(damaged.into_iter().map(|record| record.error).collect())
    }

    /// The first `count_max` records from a row key on, readable or not; none at the end.
    pub(super) fn read_records(&self, from: &[u8], count_max: usize) -> Result<StoredBatch> {
        self.store.read(|rows| {
            let mut batch = StoredBatch::default();
            let mut count = 0;
            let span = Span { from, ..Span::ALL };
            rows.inspect(RECORDS, span, &mut |row_key, stored| {
                let id = match record_id_of(row_key) {
                    Ok(id) => id,
                    // Not counted, so that every batch but the last has an id to continue from.
                    Err(damage) => {
                        let damaged = DamagedRecord {
                            id: None,
                            error: damage,
                        };
                        batch.damaged.push(damaged);
                        return Ok(ControlFlow::Continue(()));
                    }
                };
                batch.last = Some(id);
                let decoded = stored.and_then(|stored| decode_record(id, stored));
                match damage_of(id, decoded)? {
                    Ok(record) => batch.records.push(record),
                    Err(error) => batch.damaged.push(DamagedRecord {
                        id: Some(id),
                        error,
                    }),
                }
                count += 1;
                if count < count_max {
                    Ok(ControlFlow::Continue(()))
                } else {
                    Ok(ControlFlow::Break(()))
                }
            })?;
            Ok(batch)
        })
    }

    /// Decodes every record and returns the damage. From now on damaged records are left out of
    /// searches.
    pub(crate) fn check_records(&self) -> Result<Vec<Error>> {
        let checked = self.each_record(&mut |_| Ok(()));
        match checked {
            // The check of the store reports it, too.
            Err(Error::Corrupt { .. } | Error::Store { .. }) => Ok(Vec::new()),
            checked => checked,
        }
    }
}

/// Records that were read one after the other.
#[derive(Default)]
pub(super) struct StoredBatch {
    pub(super) records: Vec<Record>,
    /// Records that could not be read.
    pub(super) damaged: Vec<DamagedRecord>,
    /// The last id, readable or not; `None` at the end of the table.
    pub(super) last: Option<RecordId>,
}

/// An unreadable record, and its fault.
pub(super) struct DamagedRecord {
    /// `None` if its row key is damaged.
    pub(super) id: Option<RecordId>,
    pub(super) error: Error,
}

/// The lowest row key above that of a record.
pub(super) fn row_key_after(id: RecordId) -> Vec<u8> {
    // Row keys are compared as bytes: nothing lies between a key and the same key with a zero byte.
    let mut row_key = id.as_bytes().to_vec();
    row_key.push(0);
    row_key
}
