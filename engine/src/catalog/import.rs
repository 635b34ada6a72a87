//! Import of many records: validated, sorted by id, committed in groups, built into segments.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;

use super::catalog_store::Catalog;
use super::chunk::{Chunk, OpenChunk};
use super::event::{CatalogEvent, CatalogOutcome};
use super::external_sort::ExternalSorter;
use super::import_summary::ImportSummary;
use super::tables::damage_of;
use crate::error::Result;
use crate::limits::{
    COMMIT_BYTES_MAX, COMMIT_RECORDS_MAX, DELTA_BYTES_MAX, DELTA_RECORDS_MAX, IMPORT_BUILDERS,
};

/// The summary that [`import_records`] would return now; imports nothing.
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
        summary.count(&[outcome]);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(summary)
}

/// Commits records in groups, by id; calls `progress` with the number of records that are durable
/// after each. Returns when all are searchable.
///
/// Groups are committed on this thread, while the next one is read on another, and segments of
/// those before are built on more.
pub(crate) fn import_records(
    catalog: &Catalog,
    records: ExternalSorter,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportSummary> {
    // A segment file for a handful of records costs more syncs than the delta does.
    if records.is_small(DELTA_RECORDS_MAX, DELTA_BYTES_MAX) {
        return load_few(catalog, records, progress);
    }
    std::thread::scope(|scope| {
        // The faster thread waits, so that few groups and chunks are in memory. A chunk may wait
        // for a builder, as one commit takes longer than another: it waits for the disk.
        let (group_sender, groups) = sync_channel(0);
        let reader = scope.spawn(move || send_groups(records, &group_sender));
        let (sender, receiver) = sync_channel(1);
        let receiver = Arc::new(Mutex::new(receiver));
        let builders: Vec<_> = (0..IMPORT_BUILDERS)
            .map(|_| {
                let receiver = Arc::clone(&receiver);
                scope.spawn(move || build_all(&receiver))
            })
            .collect();
        // The builders' own: without them, sending fails.
        drop(receiver);
        let mut loader = Loader {
            catalog,
            sender,
            progress,
            summary: ImportSummary::default(),
            chunk: None,
        };
        // Takes the receiver along: after an error, the reader's next group ends it.
        let loaded = groups
            .into_iter()
            .try_for_each(|group| loader.commit_group(group));
        loader.send();
        let read = reader.join().unwrap_or_else(|panic| resume_unwind(panic));
        let loaded = loaded.and(read);
        let summary = loader.summary;
        // Closes the channel, which ends the builders; an unsent chunk is abandoned.
        drop(loader);
        let built = builders
            .into_iter()
            .map(|builder| builder.join().expect("building a segment does not panic"))
            .fold(Ok(()), Result::and);
        // Committed groups are durable: they are shown as far as the disk allows it, and what
        // keeps them from it is not the outcome of the import.
        if let Err(error) = built.as_ref().and(loaded.as_ref()) {
            catalog.show_later(&mut catalog.writer.lock(), error);
        }
        loaded.map(|()| summary)
    })
}

/// Few records go straight to the delta.
fn load_few(
    catalog: &Catalog,
    sorter: ExternalSorter,
    progress: &mut dyn FnMut(u64),
) -> Result<ImportSummary> {
    let mut frame = Vec::new();
    sorter.drain(&mut |id, stored| {
        frame.push(CatalogEvent::PutRecord(id, stored));
        Ok(ControlFlow::Continue(()))
    })?;
    let mut summary = ImportSummary::default();
    summary.count(&catalog.commit(frame)?);
    progress(summary.records());
    Ok(summary)
}

/// Sends the records in groups, by id, until the receiver is gone.
fn send_groups(sorter: ExternalSorter, groups: &SyncSender<Vec<CatalogEvent>>) -> Result<()> {
    let (mut group, mut group_bytes) = (Vec::new(), 0);
    sorter.drain(&mut |id, stored| {
        group_bytes += stored.len();
        group.push(CatalogEvent::PutRecord(id, stored));
        if group.len() < COMMIT_RECORDS_MAX && group_bytes < COMMIT_BYTES_MAX {
            return Ok(ControlFlow::Continue(()));
        }
        group_bytes = 0;
        match groups.send(std::mem::take(&mut group)) {
            Ok(()) => Ok(ControlFlow::Continue(())),
            // The loader has failed, and reports it.
            Err(_) => Ok(ControlFlow::Break(())),
        }
    })?;
    if !group.is_empty() {
        // As above.
        let _ = groups.send(group);
    }
    Ok(())
}

/// Commits groups and hands their changes to the builders.
struct Loader<'l> {
    catalog: &'l Catalog,
    sender: SyncSender<OpenChunk<'l>>,
    progress: &'l mut dyn FnMut(u64),
    summary: ImportSummary,
    chunk: Option<Chunk>,
}

impl Loader<'_> {
    fn commit_group(&mut self, group: Vec<CatalogEvent>) -> Result<()> {
        // Taken: after an error the chunk is abandoned already, and `drop` must not find it.
        let (chunk, outcomes) = self.catalog.commit_group(self.chunk.take(), group)?;
        self.summary.count(&outcomes);
        let is_full = chunk.is_full();
        self.chunk = Some(chunk);
        (self.progress)(self.summary.records());
        if is_full {
            self.send();
        }
        Ok(())
    }

    fn send(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            // Builders take chunks until the channel closes, even after an error: they are gone
            // only if they panicked, and `finish` passes the panic on.
            let chunk = Arc::new(chunk);
            let _ = self.sender.send(OpenChunk::new(self.catalog, chunk));
        }
    }
}

impl Drop for Loader<'_> {
    fn drop(&mut self) {
        if let Some(chunk) = self.chunk.take() {
            self.catalog.abandon(&chunk);
        }
    }
}

/// Builds chunks until the channel closes. Several threads share the work: chunks of one import
/// have no record in common, so it does not matter which is shown first.
fn build_all(chunks: &Mutex<Receiver<OpenChunk<'_>>>) -> Result<()> {
    let mut outcome = Ok(());
    loop {
        let received = chunks.lock().recv();
        let Ok(open) = received else {
            return outcome;
        };
        // After a fault the rest is committed and stays in the journal; it is shown by the next
        // recovery.
        if outcome.is_ok() {
            outcome = open.show();
        }
    }
}
