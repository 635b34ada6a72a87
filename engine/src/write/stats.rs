//! Sizes and counts.

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use hashbrown::HashMap;

use super::database::Database;
use crate::catalog::Catalog;
use crate::catalog::{ACTIVE, META, RECORDS, record_id_of};
use crate::codec::{decode_number, decode_record};
use crate::error::Result;
use crate::model::{CachedFile, ContentHash, Record, RecordId};
use crate::store::{Rows, Span};

/// Records that an export reads in one transaction.
const EXPORT_BATCH_RECORDS: usize = 1_000;

/// Sizes and counts, for `stats` and metrics.
#[derive(Debug, Clone, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EngineStats {
    pub records: u64,
    pub active_records: u64,
    pub file_segments: u64,
    pub delta_records: u64,
    pub tombstones: u64,
    pub index_bytes: u64,
    pub document_bytes: u64,
    pub catalog_store_bytes: u64,
    pub state_store_bytes: u64,
    pub cached_files: u64,
    pub blob_bytes: u64,
    pub accounts: u64,
    pub api_keys: u64,
    pub reindex_jobs_done: u64,
    pub merges_done: u64,
}

/// Contents that files refer to.
pub(super) type Contents = HashMap<ContentHash, CachedFile, foldhash::fast::RandomState>;

impl Database {
    /// Sizes and counts of this moment. Cost: a walk over the cached files in memory.
    pub(crate) fn stats(&self) -> Result<EngineStats> {
        let (accounts, api_keys, cached_files) = self.state.counts();
        let (records, active_records) = self.catalog.counts()?;
        let mut stats = EngineStats {
            records,
            active_records,
            catalog_store_bytes: self.catalog.store.size_bytes()?,
            state_store_bytes: self.state.store().size_bytes()?,
            cached_files,
            blob_bytes: self.contents().values().map(|file| file.size_bytes).sum(),
            accounts,
            api_keys,
            reindex_jobs_done: self.catalog.reindex_jobs_done.load(Ordering::Relaxed),
            merges_done: self.catalog.merges_done.load(Ordering::Relaxed),
            ..EngineStats::default()
        };
        for (segment, tombstones) in self.catalog.snapshot().parts() {
            let (segment_bytes, document_bytes) = segment.size_bytes();
            stats.index_bytes += segment_bytes - document_bytes;
            stats.document_bytes += document_bytes;
            stats.tombstones += tombstones.len();
            match segment.name().starts_with("index/") {
                true => stats.file_segments += 1,
                false => stats.delta_records += u64::from(segment.len()),
            }
        }
        Ok(stats)
    }

    /// Every content that a cached file refers to, once.
    pub(super) fn contents(&self) -> Contents {
        let mut contents = Contents::default();
        self.state.each_cached_file(&mut |_, file| {
            contents.entry(file.content).or_insert_with(|| file.clone());
        });
        contents
    }
}

impl Catalog {
    /// How many records there are, and how many of them are active.
    fn counts(&self) -> Result<(u64, u64)> {
        self.store.read(|rows| {
            let active = match rows.get(META, ACTIVE)? {
                Some(stored) => decode_number(&stored)?,
                None => 0,
            };
            Ok((rows.rows_count(RECORDS)?, active))
        })
    }

    /// The record's stored value.
    pub(crate) fn stored_row(&self, id: RecordId) -> Result<Option<Vec<u8>>> {
        self.store.read(|rows| rows.get(RECORDS, id.as_bytes()))
    }

    /// The record as stored.
    pub(crate) fn stored_record(&self, id: RecordId) -> Result<Option<Record>> {
        let stored = self.stored_row(id)?;
        stored.map(|stored| decode_record(id, &stored)).transpose()
    }

    /// Every record, by id, in short reads: no transaction is open while `each` works, so that one
    /// that is slow is in nobody's way. Of what is committed meanwhile some may be seen.
    pub(crate) fn each_record(&self, each: &mut dyn FnMut(&Record) -> Result<()>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let batch = self.store.read(|rows| records_from(rows, &from))?;
            for record in &batch {
                each(record)?;
            }
            let Some(last) = batch.last() else {
                return Ok(());
            };
            from = last.id.as_bytes().to_vec();
            from.push(0);
        }
    }
}

/// Some records from a row key on; none at the end.
fn records_from(rows: &Rows<'_>, from: &[u8]) -> Result<Vec<Record>> {
    let mut batch = Vec::with_capacity(EXPORT_BATCH_RECORDS);
    let span = Span { from, ..Span::ALL };
    rows.range(RECORDS, span, &mut |row_key, stored| {
        batch.push(decode_record(record_id_of(row_key)?, stored)?);
        Ok(match batch.len() < EXPORT_BATCH_RECORDS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        })
    })?;
    Ok(batch)
}
