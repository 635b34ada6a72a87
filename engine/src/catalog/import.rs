//! Many records at once: told apart from the stored ones, and grouped for transactions.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::{SyncSender, sync_channel};

use super::catalog_store::Catalog;
use super::event::{CatalogEvent, CatalogOutcome};
use super::external_sort::ExternalSorter;
use super::import_summary::ImportSummary;
use super::tables::damage_of;
use crate::error::Result;
use crate::limits::{COMMIT_RECORDS_MAX, RECORD_OVERHEAD_BYTES};

/// The summary that an import of these would return now; imports nothing.
///
/// Cost: one look-up in the store per record.
pub(crate) fn preview_records(catalog: &Catalog, records: ExternalSorter) -> Result<ImportSummary> {
    let mut summary = ImportSummary::default();
    records.drain(&mut |id, stored| {
        let outcome = match damage_of(id, catalog.stored_row(id))? {
            Ok(None) => CatalogOutcome::Inserted,
            Ok(Some(old)) if old == stored => CatalogOutcome::Unchanged,
            // A damaged one is replaced.
            Ok(Some(_)) | Err(_) => CatalogOutcome::Changed,
        };
        summary.count([outcome]);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(summary)
}

/// Calls `each` with the records in groups, by id. A group ends with the record with which it
/// reaches `bytes_max`, or the largest number of records in a transaction. The next group is read
/// on another thread.
pub(crate) fn each_group(
    records: ExternalSorter,
    bytes_max: usize,
    each: &mut dyn FnMut(Vec<CatalogEvent>) -> Result<()>,
) -> Result<()> {
    std::thread::scope(|scope| {
        // The faster thread waits, so that few groups are in memory.
        let (sender, groups) = sync_channel(0);
        let reader = scope.spawn(move || send_groups(records, bytes_max, &sender));
        // Takes the receiver along: after an error, the reader's next group ends it.
        let done = groups.into_iter().try_for_each(each);
        let read = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        done.and(read)
    })
}

/// Sends the records in groups, by id, until the receiver is gone.
fn send_groups(
    records: ExternalSorter,
    bytes_max: usize,
    groups: &SyncSender<Vec<CatalogEvent>>,
) -> Result<()> {
    let (mut group, mut group_bytes) = (Vec::new(), 0);
    records.drain(&mut |id, stored| {
        group_bytes += RECORD_OVERHEAD_BYTES + stored.len();
        group.push(CatalogEvent::PutRecord(id, stored));
        if group.len() < COMMIT_RECORDS_MAX && group_bytes < bytes_max {
            return Ok(ControlFlow::Continue(()));
        }
        group_bytes = 0;
        match groups.send(std::mem::take(&mut group)) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            // The caller has failed, and reports it.
            Err(_) => Ok(ControlFlow::Break(())),
        }
    })?;
    if !group.is_empty() {
        // As above.
        let _ = groups.send(group);
    }
    Ok(())
}
