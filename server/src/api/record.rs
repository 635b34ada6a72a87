//! `GET /api/subtitles/{subtitle_id}`.

use http::{HeaderMap, Response};
use subcat_engine::{FlagSet, RecordId, Snapshot};

use super::accounting::RequestContext;
use super::worker::{ApiWorker, failed};
use crate::cache::KnownRecord;
use crate::respond::{ApiError, BodySum, RecordItem, RecordStyle, TaggedBody, write_record};
use crate::runtime::Body;

/// The current version of one record; 404 for an unknown or inactive one, and for an id that is not
/// a UUID (API.md, record).
pub(super) fn answer(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
    id: Option<RecordId>,
) -> Response<Body> {
    let snapshot = worker.service.engine.catalog().snapshot();
    let answer = match id.map(|id| write(worker, &snapshot, id)).transpose() {
        Ok(answer) => answer.flatten(),
        Err(error) => return worker.fail(context, recycled, failed(&error)),
    };
    let Some(answer) = answer else {
        return worker.fail(context, recycled, ApiError::SubtitleNotFound);
    };
    let (response, record) = context.respond(recycled, answer);
    worker.record(&record, response)
}

/// The record as JSON, none when there is no active one.
fn write(
    worker: &ApiWorker,
    snapshot: &Snapshot,
    id: RecordId,
) -> subcat_engine::Result<Option<TaggedBody>> {
    let mut state = worker.state.lock();
    let known = state.locations.get(snapshot.id(), id);
    let location = match known {
        Some(known) => Some(known.location),
        None => snapshot.locate(id)?,
    };
    let Some(location) = location else {
        return Ok(None);
    };
    let ours = worker.service.engine.usage().downloads(id);
    let item = RecordItem {
        fragment: snapshot.fragment(&location),
        downloads: u64::from(location.upstream_downloads) + ours,
        catalog_id: None,
        flags: FlagSet::default(),
    };
    let style = RecordStyle {
        has_imdb_id: false,
        has_flags: false,
        has_empty_strings: worker.service.compat.empty_null_strings,
    };
    // A request that panicked may have left something.
    state.buffer.clear();
    let tag = match known {
        Some(known) => {
            write_record(&mut state.buffer, &item, style, None);
            known.tag
        }
        None => {
            let mut sum = BodySum::default();
            write_record(&mut state.buffer, &item, style, Some(&mut sum));
            sum.tag()
        }
    };
    let body = state.buffer.split().freeze();
    snapshot.ensure_not_truncated()?;
    if known.is_none() {
        state
            .locations
            .put(snapshot.id(), KnownRecord { location, tag });
    }
    Ok(Some(TaggedBody {
        body,
        tag,
        is_partial: false,
    }))
}
