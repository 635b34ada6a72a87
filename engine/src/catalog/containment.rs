//! Records with damaged stored values: each costs only itself.
//!
//! Such a record is neither found nor served; its own paths answer with an error that names it. Its
//! id is kept in a table, so that it stays left out after a restart, until it is imported again or
//! deleted.

use super::catalog_store::Catalog;
use super::records::{DamagedRecord, row_key_after};
use super::tables::{ACTIVE, APPLIED, DAMAGED, JOURNAL, META, RECORDS, damage_of, meta_number};
use super::writer::Writer;
use crate::codec::{decode_number, decode_record, encode_number, is_active};
use crate::damage::Treatment;
use crate::error::{Error, Result};
use crate::model::RecordId;
use crate::store::{ScanOrder, Span, Transaction};
use std::ops::ControlFlow;

/// Result of a step of the scrubber over the records.
pub(crate) struct ScrubbedRecords {
    /// Row key from which to continue; `None` at the end.
    pub(crate) next: Option<Vec<u8>>,
    /// Records that cannot be read.
    pub(crate) damaged_count: u64,
}

/// A record that is left out from now on.
struct LeftOut {
    id: RecordId,
    /// True if searches found it until now.
    was_live: bool,
}

impl Catalog {
    /// Leaves records with damaged stored values out of searches. Those that have been replaced in
    /// the meantime stay.
    pub(crate) fn contain(&self, ids: &[RecordId]) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        self.ensure_recovered(&mut writer)?;
        let mut damaged = Vec::new();
        for &id in ids {
            let stored = self.store.read(|rows| rows.get(RECORDS, id.as_bytes()));
            let decoded = stored
                .and_then(|stored| stored.map(|stored| decode_record(id, &stored)).transpose());
            if let Err(error) = damage_of(id, decoded)? {
                let id = Some(id);
                damaged.push(DamagedRecord { id, error });
            }
        }
        let left_out = self.leave_out(&mut writer, damaged, false);
        if left_out.is_err() {
            // Only half done: a recovery reads everything again.
            writer.require_recovery();
        }
        left_out?;
        self.publish(&mut writer);
        Ok(())
    }

    /// Reads some records, beginning at a row key, and leaves out the damaged ones.
    pub(crate) fn scrub_records(&self, from: &[u8], count_max: usize) -> Result<ScrubbedRecords> {
        let batch = self.read_records(from, count_max)?;
        let ids: Vec<RecordId> = batch
            .damaged
            .iter()
            .filter_map(|record| record.id)
            .collect();
        self.contain(&ids)?;
        let contradicted_count = self.contain_contradicted(&batch.records)?;
        Ok(ScrubbedRecords {
            next: batch.last.map(row_key_after),
            damaged_count: batch.damaged.len() as u64 + contradicted_count,
        })
    }

    /// Gives the documents of damaged records tombstones and remembers their ids. The caller
    /// publishes a snapshot. If `is_replay`, their documents are gone already.
    pub(super) fn leave_out(
        &self,
        writer: &mut Writer,
        damaged: Vec<DamagedRecord>,
        is_replay: bool,
    ) -> Result<()> {
        let mut left_out = Vec::new();
        for DamagedRecord { id, error } in damaged {
            let Some(id) = id.filter(|id| writer.note_damaged(*id)) else {
                continue;
            };
            self.damage.note(&error, Treatment::RecordLeftOut);
            let was_in_segment = writer.mark_deleted(id)?;
            let was_in_delta = writer.delta_mut().remove(id)?;
            // Nothing is known of a record without a document: nearly all are active.
            let was_live = was_in_segment || was_in_delta || is_replay;
            left_out.push(LeftOut { id, was_live });
        }
        if left_out.is_empty() {
            return Ok(());
        }
        writer.delta_mut().build()?;
        match self.store.write(|rows| note_left_out(rows, &left_out)) {
            // The next reader of the damage notes it again: a full disk prevents no reads.
            Err(Error::Space { .. }) => Ok(()),
            written => written,
        }
    }

    /// Derives damaged numbers of the table `meta` anew.
    pub(super) fn repair_numbers(&self) -> Result<()> {
        let damage = self.store.read(|rows| {
            let mut damage = Vec::new();
            for name in [APPLIED, ACTIVE] {
                let read = rows.get(META, name);
                let decoded =
                    read.and_then(|stored| stored.map(|value| decode_number(&value)).transpose());
                match decoded {
                    Err(error @ Error::Corrupt { .. }) => damage.push(error),
                    other => drop(other?),
                }
            }
            Ok(damage)
        })?;
        if damage.is_empty() {
            return Ok(());
        }
        self.store.write(|rows| {
            // Both: one scan more does not matter here.
            let applied = last_commit(rows)?;
            rows.put(META, APPLIED, &encode_number(applied))?;
            let active = count_active(rows)?;
            rows.put(META, ACTIVE, &encode_number(active))
        })?;
        for error in &damage {
            self.damage.note(error, Treatment::Rebuilt);
        }
        Ok(())
    }
}

/// Stores the ids, and no longer counts the records left out now as active.
fn note_left_out(rows: &mut Transaction<'_>, left_out: &[LeftOut]) -> Result<()> {
    let mut active_count = meta_number(rows, ACTIVE)?;
    for LeftOut { id, was_live } in left_out {
        let is_new = rows.get_or_discard(DAMAGED, id.as_bytes())?.is_none();
        active_count = active_count.saturating_sub(u64::from(is_new && *was_live));
        rows.put(DAMAGED, id.as_bytes(), &[])?;
        // Also a record with a value that looks sound but is older than another part of the
        // directory says: a rebuild of the index would trust it.
        rows.discredit(RECORDS, id.as_bytes())?;
    }
    rows.put(META, ACTIVE, &encode_number(active_count))
}

/// Sequence number of the last commit that is not covered by a segment file; no commit in use has a
/// greater one.
fn last_commit(rows: &Transaction<'_>) -> Result<u64> {
    let mut last = 0;
    let span = Span {
        order: ScanOrder::Descending,
        ..Span::ALL
    };
    rows.inspect(JOURNAL, span, &mut |row_key, _| {
        last = row_key.try_into().map_or(0, u64::from_be_bytes);
        Ok(ControlFlow::Break(()))
    })?;
    Ok(last)
}

fn count_active(rows: &Transaction<'_>) -> Result<u64> {
    let mut count = 0;
    rows.inspect(RECORDS, Span::ALL, &mut |_, stored| {
        count += u64::from(stored.is_ok_and(is_active));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(count)
}
