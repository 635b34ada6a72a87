//! The past of a data directory: counted downloads, cached files, deleted records.

use std::path::Path;
use std::sync::Arc;

use subcat_engine::{
    CachedFile, ContentHash, DownloadAggregate, Engine, FileKind, NodeId, Options, Real, RecordId,
    ReleaseId, RememberedFile, StateEvent, StoreKind,
};

use crate::error::{BenchError, Result};
use crate::search::Deletion;

/// Events of one transaction.
const BATCH: usize = 20_000;
/// Bytes of each cached file.
const FILE_BYTES: u64 = 40 * 1024;

/// Opens an engine on a data directory.
pub fn open(data: &Path) -> Result<Engine> {
    let options = Options {
        disk: Arc::new(Real),
        store: StoreKind::Redb,
        counter_lanes: 1,
        node: NodeId(1),
    };
    Engine::open(data, options).map_err(BenchError::on(format!("open {}", data.display())))
}

/// Counts a download of every record, and remembers a cached file of `files` releases. Their
/// contents are not there: starting and searching do not read them.
pub fn add(engine: &Engine, files: usize) -> Result<()> {
    let mut ids = Vec::new();
    let mut releases = Vec::new();
    let exported = engine.catalog().export(&mut |record| {
        ids.push(record.id);
        let release = record.source_release_id.clone();
        releases.extend(release.filter(|_| releases.len() < files));
        Ok(())
    });
    exported.map_err(BenchError::on("read the records"))?;
    for batch in ids.chunks(BATCH) {
        apply(engine, vec![StateEvent::AggregateDownloads(once(batch))])?;
    }
    for batch in releases.chunks(BATCH) {
        apply(engine, batch.iter().map(remembered).collect())?;
    }
    Ok(())
}

/// Deletes some of the records, those of all ages alike; how many were.
pub fn delete(engine: &Engine, deletion: Deletion) -> Result<usize> {
    let mut ids = Vec::new();
    let exported = engine.catalog().export(&mut |record| {
        ids.push(record.id);
        Ok(())
    });
    exported.map_err(BenchError::on("read the records"))?;
    let chosen = deletion.tombstones(ids.len() as u32);
    let chosen: Vec<RecordId> = chosen.iter().map(|idx| ids[idx as usize]).collect();
    for batch in chosen.chunks(BATCH) {
        let deleted = engine.catalog().delete_records(batch);
        deleted.map_err(BenchError::on("delete records"))?;
    }
    Ok(chosen.len())
}

fn apply(engine: &Engine, events: Vec<StateEvent>) -> Result<()> {
    let applied = engine.apply(events);
    applied
        .map(|_| ())
        .map_err(BenchError::on("write the state"))
}

fn once(ids: &[RecordId]) -> DownloadAggregate {
    DownloadAggregate {
        records: ids.iter().map(|id| (*id, 1)).collect(),
        ..DownloadAggregate::default()
    }
}

fn remembered(release: &ReleaseId) -> StateEvent {
    let id = RecordId::of_release(release);
    let mut content = [0; 32];
    content[..16].copy_from_slice(id.as_bytes());
    let file = CachedFile {
        content: ContentHash(content),
        size_bytes: FILE_BYTES,
        checksum: 0,
        kind: FileKind::Srt,
        upstream_name: None,
        refetch_at: None,
        is_brought: false,
    };
    StateEvent::RememberFile(RememberedFile {
        release: release.clone(),
        file,
        replaces: None,
    })
}
