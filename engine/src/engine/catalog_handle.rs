//! The records of an engine: searching, importing, changing.

use std::ops::Deref;
use std::sync::Arc;

use crate::catalog::{CatalogEvent, CatalogOutcome};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::model::{Record, RecordId};
use crate::replication::Importer;
use crate::search::Snapshot;

/// The records of an engine, from [`Engine::catalog`](crate::Engine::catalog).
#[derive(Clone, Copy)]
pub struct CatalogHandle<'e> {
    pub(super) database: &'e Database,
}

impl CatalogHandle<'_> {
    /// The current snapshot, to be dropped soon; clone the `Arc` to keep it.
    ///
    /// Cost: two atomics that no other core writes. A reference count would be written by every
    /// core with every request.
    #[inline]
    pub fn snapshot(self) -> impl Deref<Target = Arc<Snapshot>> + use<> {
        self.database.catalog.snapshot()
    }

    /// The record as stored, active or not. Reads the store: not for the serving path.
    pub fn stored_record(self, id: RecordId) -> Result<Option<Record>> {
        self.database.catalog.stored_record(id)
    }

    /// Returns true if a record with this id is stored, even if it is damaged. Reads the store.
    pub fn has_record(self, id: RecordId) -> Result<bool> {
        self.database.catalog.has_record(id)
    }

    /// Calls `each` with every stored record, ordered by id. `each` may be slow: nothing waits for
    /// it. Commits made during the export may be seen or not. Unreadable records are left out:
    /// returns the error of each, which names it.
    pub fn export(self, each: &mut dyn FnMut(&Record) -> Result<()>) -> Result<Vec<Error>> {
        self.database.catalog.each_record(each)
    }

    /// Begins an import.
    pub fn importer(self) -> Importer {
        self.database.importer()
    }

    /// Sets `is_active`. Returns false if there is no such record.
    pub fn set_active(self, id: RecordId, is_active: bool) -> Result<bool> {
        let event = CatalogEvent::SetActive(id, is_active);
        let outcomes = self.database.change_catalog(vec![event])?;
        Ok(outcomes != [CatalogOutcome::Unknown])
    }

    /// The same as a task, which waits for the log of a cluster without a thread.
    pub async fn submit_active(self, id: RecordId, is_active: bool) -> Result<bool> {
        let event = CatalogEvent::SetActive(id, is_active);
        let outcomes = self.database.submit_catalog(vec![event]).await?;
        Ok(outcomes != [CatalogOutcome::Unknown])
    }

    /// Deletes records in one transaction; returns the unknown ids, ascending. A repeated id counts
    /// once.
    pub fn delete_records(self, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let ids = distinct(ids);
        let outcomes = self.database.change_catalog(deletion(&ids))?;
        Ok(unknown(ids, &outcomes))
    }

    /// The same as a task, which waits for the log of a cluster without a thread.
    pub async fn submit_deletion(self, ids: &[RecordId]) -> Result<Vec<RecordId>> {
        let ids = distinct(ids);
        let outcomes = self.database.submit_catalog(deletion(&ids)).await?;
        Ok(unknown(ids, &outcomes))
    }

    /// Requests a reindex job if the delta is not empty. Requests are coalesced; never waits.
    ///
    /// Cost: one or two loads of atomics.
    #[inline]
    pub fn request_reindex(self) {
        self.database.catalog.request_reindex();
    }

    /// Count of segment files that no merge has memory for, though there are many of their size:
    /// each search asks them all. Cost: an atomic load.
    pub fn unmergeable_segments(self) -> u64 {
        self.database.catalog.unmergeable_count()
    }

    /// Ends the running merge, if any, and lets none begin: called before
    /// [`Engine::close`](crate::Engine::close). Never waits.
    pub fn stop_merging(self) {
        self.database.catalog.stop_merging();
    }
}

/// The ids, ascending, each once.
fn distinct(ids: &[RecordId]) -> Vec<RecordId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}

fn deletion(ids: &[RecordId]) -> Vec<CatalogEvent> {
    ids.iter()
        .map(|id| CatalogEvent::DeleteRecord(*id))
        .collect()
}

/// Those of deleted records that there were not.
fn unknown(ids: Vec<RecordId>, outcomes: &[CatalogOutcome]) -> Vec<RecordId> {
    let ids = ids.into_iter().zip(outcomes);
    let unknown = ids.filter(|(_, outcome)| **outcome == CatalogOutcome::Unknown);
    unknown.map(|(id, _)| id).collect()
}
