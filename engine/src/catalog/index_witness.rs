//! The index as a witness: a cross-check of the stored records.
//!
//! A disk that lost a write, and reported success, returns the page with its earlier content, and
//! its records with checksums that match. A segment file was written separately, and holds each
//! active record as last stored. Where the two differ, one of them is older. It cannot be
//! decided which, since manifest and tombstones may be the older ones: the record is left out.

use std::collections::BTreeSet;

use super::catalog_store::Catalog;
use super::records::{DamagedRecord, row_key_after};
use super::tables::read_journal;
use super::writer::Writer;
use crate::damage::Treatment;
use crate::error::{Error, Result};
use crate::limits::CONTRADICTED_RECORDS_MAX;
use crate::model::{Record, RecordId};
use crate::search::Snapshot;

/// Records compared at a time.
const BATCH_RECORDS: usize = 10_000;

impl Catalog {
    /// Leaves out the records just read that differ from their documents. Returns their count.
    /// Cost: a look-up in each segment for each record.
    ///
    /// When too many differ at once they stay in use, and the fault is reported: a lost write
    /// concerns the few records of a page, and a fault of the index must not cost the truth.
    pub(super) fn contain_contradicted(&self, records: &[Record]) -> Result<u64> {
        let snapshot = self.snapshot();
        let mut suspects = Vec::new();
        for record in records {
            if !is_told_by(&snapshot, record)? {
                suspects.push(record.id);
            }
        }
        drop(snapshot);
        if suspects.is_empty() {
            return Ok(0);
        }
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        // Read once more: they may have changed between the first read and the snapshot.
        let mut records = Vec::new();
        for id in suspects {
            records.extend(self.stored_record_locked(id)?);
        }
        let unsettled = self.unsettled()?;
        let contradicted = self.contradicted(&records, &unsettled)?;
        if CONTRADICTED_RECORDS_MAX < contradicted.len() {
            let error = Error::corrupt("index", 0, "documents of the records as they are stored");
            self.damage.note(&error, Treatment::Unverified);
            return Ok(contradicted.len() as u64);
        }
        self.leave_out_contradicted(&mut writer, contradicted)
    }

    /// Leaves out all records that differ from the index, including those present in only one of
    /// the two and those that the index has twice. Returns their count.
    ///
    /// Cost: a read of all records and documents, during which no change is made.
    pub(crate) fn contain_all_contradicted(&self) -> Result<u64> {
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        let unsettled = self.unsettled()?;
        let mut contradicted = Vec::new();
        let mut from = Vec::new();
        loop {
            let batch = self.read_records(&from, BATCH_RECORDS)?;
            let Some(last) = batch.last else { break };
            from = row_key_after(last);
            contradicted.extend(self.contradicted(&batch.records, &unsettled)?);
        }
        let snapshot = self.snapshot();
        // A damaged segment witnesses nothing: maintenance rebuilds it.
        for doc in snapshot.docs().flatten() {
            let id = doc.id();
            // Two documents of one record: manifest or tombstones are older.
            let found = snapshot.doc(id).ok().flatten();
            let is_second = found.is_some_and(|found| !found.is_at(&doc));
            if is_second || !unsettled.contains(&id) && !self.has_record(id)? {
                contradicted.push(id);
            }
        }
        self.leave_out_contradicted(&mut writer, contradicted)
    }

    /// Records without their last version in a segment file: the journal is their witness.
    pub(super) fn unsettled(&self) -> Result<BTreeSet<RecordId>> {
        let (_, entries) = self.store.read(read_journal)?;
        Ok(entries.into_iter().map(|entry| entry.id).collect())
    }

    fn contradicted(
        &self,
        records: &[Record],
        unsettled: &BTreeSet<RecordId>,
    ) -> Result<Vec<RecordId>> {
        let snapshot = self.snapshot();
        let mut contradicted = Vec::new();
        for record in records {
            if !unsettled.contains(&record.id) && !is_told_by(&snapshot, record)? {
                contradicted.push(record.id);
            }
        }
        Ok(contradicted)
    }

    fn leave_out_contradicted(&self, writer: &mut Writer, ids: Vec<RecordId>) -> Result<u64> {
        let count = ids.len() as u64;
        if count == 0 {
            return Ok(0);
        }
        let to_damaged = |id| {
            let place = format!("catalog.redb, record {id}");
            DamagedRecord {
                id: Some(id),
                error: Error::corrupt(place, 0, "the record as it was stored last"),
            }
        };
        let damaged = ids.into_iter().map(to_damaged).collect();
        let left_out = self.leave_out(writer, damaged, false);
        if left_out.is_err() {
            writer.require_recovery();
        }
        left_out?;
        self.publish(writer);
        Ok(count)
    }
}

/// Returns true if a snapshot has this version of the record, or is right not to have the record.
fn is_told_by(snapshot: &Snapshot, record: &Record) -> Result<bool> {
    if snapshot.is_damaged(record.id) {
        // It is left out already.
        return Ok(true);
    }
    let is_told = snapshot.doc(record.id).and_then(|doc| match doc {
        Some(doc) if record.is_active => snapshot.is_doc_of(&doc, record),
        found => Ok(found.is_some() == record.is_active),
    });
    match is_told {
        // A damaged segment witnesses nothing: maintenance rebuilds it.
        Err(Error::Corrupt { .. } | Error::Rebuilding) => Ok(true),
        is_told => is_told,
    }
}
