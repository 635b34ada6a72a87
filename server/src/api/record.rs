//! `GET /api/subtitles/{subtitle_id}`.

use http::{HeaderMap, Response};
use subcat_engine::model::RecordId;

use super::desk::{ApiWorker, Visit};
use crate::respond::{Failure, RecordItem, RecordStyle, json, write_record};
use crate::runtime::Body;

/// One record, as it is at this moment; 404 for an unknown or inactive one, and for what is no
/// UUID (API.md, record).
pub(super) fn answer(
    worker: &ApiWorker,
    visit: Visit,
    recycled: HeaderMap,
    id: Option<RecordId>,
) -> Response<Body> {
    let snapshot = worker.service.engine.snapshot();
    let doc = match id.map(|id| snapshot.doc(id)).transpose() {
        Ok(doc) => doc.flatten(),
        Err(error) => {
            tracing::error!(%error, "a record cannot be read");
            return worker.fail(visit, recycled, Failure::Internal);
        }
    };
    let Some(doc) = doc else {
        return worker.fail(visit, recycled, Failure::SubtitleNotFound);
    };
    let ours = worker.service.engine.downloads(doc.id());
    let item = RecordItem {
        fragment: doc.fragment(),
        downloads: u64::from(doc.upstream_downloads()) + ours,
        catalog_id: None,
    };
    let style = RecordStyle {
        has_imdb_id: false,
        has_empty_strings: worker.service.config.compat.empty_null_strings,
    };
    let body = {
        let mut desk = worker.desk.lock();
        // A request that panicked may have left something.
        desk.buffer.clear();
        write_record(&mut desk.buffer, &item, style);
        desk.buffer.split().freeze()
    };
    if let Err(error) = snapshot.check_whole() {
        tracing::error!(%error, "a record cannot be read");
        return worker.fail(visit, recycled, Failure::Internal);
    }
    let (envelope, tally) = visit.envelope(recycled);
    worker.settle(&tally, json(envelope, body))
}
