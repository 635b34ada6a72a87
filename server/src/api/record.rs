//! `GET /api/subtitles/{subtitle_id}`.

use bytes::Bytes;
use http::{HeaderMap, Response};
use subcat_engine::{RecordId, Snapshot};

use super::accounting::RequestContext;
use super::worker::ApiWorker;
use crate::respond::{ApiError, RecordItem, RecordStyle, json, write_record};
use crate::runtime::Body;

/// One record, as it is at this moment; 404 for an unknown or inactive one, and for what is no
/// UUID (API.md, record).
pub(super) fn answer(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
    id: Option<RecordId>,
) -> Response<Body> {
    let snapshot = worker.service.engine.catalog().snapshot();
    let body = match id.map(|id| write(worker, &snapshot, id)).transpose() {
        Ok(body) => body.flatten(),
        Err(error) => {
            tracing::error!(%error, "a record cannot be read");
            return worker.fail(context, recycled, ApiError::Internal);
        }
    };
    let Some(body) = body else {
        return worker.fail(context, recycled, ApiError::SubtitleNotFound);
    };
    let (common, record) = context.common(recycled);
    worker.record(&record, json(common, body))
}

/// The record as JSON, none when there is no active one.
fn write(
    worker: &ApiWorker,
    snapshot: &Snapshot,
    id: RecordId,
) -> subcat_engine::Result<Option<Bytes>> {
    let mut state = worker.state.lock();
    let known = state.locations.get(snapshot.id(), id);
    let Some(location) =
        known.map_or_else(|| snapshot.locate(id), |location| Ok(Some(location)))?
    else {
        return Ok(None);
    };
    if known.is_none() {
        state.locations.put(snapshot.id(), location);
    }
    let ours = worker.service.engine.usage().downloads(id);
    let item = RecordItem {
        fragment: snapshot.fragment(&location),
        downloads: u64::from(location.upstream_downloads) + ours,
        catalog_id: None,
    };
    let style = RecordStyle {
        has_imdb_id: false,
        has_empty_strings: worker.service.compat.empty_null_strings,
    };
    // A request that panicked may have left something.
    state.buffer.clear();
    write_record(&mut state.buffer, &item, style);
    let body = state.buffer.split().freeze();
    snapshot.ensure_not_truncated()?;
    Ok(Some(body))
}
