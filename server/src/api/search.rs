//! `GET /api/subtitles/search`.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Response, Uri};
use subcat_engine::{LocatedHits, Snapshot};

use super::accounting::RequestContext;
use super::worker::{ApiWorker, WorkerState};
use crate::cache::{CachedSearch, Finished};
use crate::request::{SearchRejection, SearchRequest, search_request};
use crate::respond::{
    ApiError, ITEM_FRAME_BYTES, InvalidParameter, LIST_FRAME_BYTES, RecordItem, RecordStyle,
    invalid_parameters, json, write_list,
};
use crate::runtime::Body;

/// Reason why there is no list.
enum SearchError {
    Rejected(SearchRejection),
    Engine(subcat_engine::Error),
}

/// Answers with the records that match (API.md, search).
pub(super) fn answer(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
    uri: &Uri,
) -> Response<Body> {
    let query_string = uri.query().unwrap_or_default();
    match list(worker, query_string) {
        Ok(body) => {
            let (common, record) = context.common(recycled);
            worker.record_search(&record, query_string, json(common, body))
        }
        Err(SearchError::Rejected(rejection)) => rejected(worker, context, recycled, rejection),
        Err(SearchError::Engine(error)) => {
            tracing::error!(%error, "a search failed");
            worker.fail(context, recycled, ApiError::Internal)
        }
    }
}

fn rejected(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
    rejection: SearchRejection,
) -> Response<Body> {
    let rejections = match rejection {
        SearchRejection::NoCriterion => {
            return worker.fail(context, recycled, ApiError::NoCriterion);
        }
        SearchRejection::SeasonWithoutEpisodes => {
            return worker.fail(context, recycled, ApiError::SeasonWithoutEpisodes);
        }
        SearchRejection::Parameters(rejections) => rejections,
    };
    let (common, record) = context.common(recycled);
    let invalid = rejections.iter().map(|rejection| InvalidParameter {
        name: rejection.parameter,
        message: rejection.message,
        kind: rejection.kind,
    });
    worker.record(&record, invalid_parameters(common, invalid))
}

/// The finished answer.
fn list(worker: &ApiWorker, query_string: &str) -> Result<Bytes, SearchError> {
    let snapshot = worker.service.engine.catalog().snapshot();
    let mut state = worker.state.lock();
    let again = |search: &mut CachedSearch| answer_again(worker, &snapshot, search);
    if let Some(body) = state
        .searches
        .answer_again(snapshot.id(), query_string, again)
    {
        worker.metrics().search_cache_hits.add(1);
        return body.map_err(SearchError::Engine);
    }
    let search = look_up(worker, &mut state, &snapshot, query_string)?;
    note_free_text(worker, &search);
    // A request that panicked may have left a part of its answer.
    state.buffer.clear();
    let downloads = downloads(worker, &search.hits);
    write(worker, &mut state.buffer, &snapshot, &search, downloads).map_err(SearchError::Engine)?;
    state.searches.put_query_string(query_string, search);
    Ok(state.buffer.split().freeze())
}

fn note_free_text(worker: &ApiWorker, search: &CachedSearch) {
    if search.uses_free_text {
        worker.service.engine.catalog().request_reindex();
    }
}

/// The last answer, if its download counts are still current; else a new one. The new one is kept
/// in memory of its own: a slice of the worker's buffer would keep the whole buffer alive.
fn answer_again(
    worker: &ApiWorker,
    snapshot: &Snapshot,
    search: &mut CachedSearch,
) -> subcat_engine::Result<Bytes> {
    note_free_text(worker, search);
    let downloads = downloads(worker, &search.hits);
    if let Some(finished) = &search.finished
        && finished.downloads.iter().copied().eq(downloads.clone())
    {
        return Ok(finished.body.clone());
    }
    let downloads: Box<[u64]> = downloads.collect();
    let locations = search.hits.locations().iter();
    let items_bytes =
        locations.map(|location| snapshot.fragment(location).len() + ITEM_FRAME_BYTES);
    let mut buffer = BytesMut::with_capacity(LIST_FRAME_BYTES + items_bytes.sum::<usize>());
    write(
        worker,
        &mut buffer,
        snapshot,
        search,
        downloads.iter().copied(),
    )?;
    let body = buffer.freeze();
    search.finished = Some(Finished {
        body: body.clone(),
        downloads,
    });
    Ok(body)
}

/// Current download counts of the hits, in their order.
fn downloads<'a>(
    worker: &'a ApiWorker,
    hits: &'a LocatedHits,
) -> impl ExactSizeIterator<Item = u64> + Clone + use<'a> {
    let engine = &worker.service.engine;
    let locations = hits.locations().iter();
    locations.map(|location| {
        u64::from(location.upstream_downloads) + engine.usage().downloads(location.id)
    })
}

/// Parses the query string, and takes the hits of an equal request or searches.
fn look_up(
    worker: &ApiWorker,
    state: &mut WorkerState,
    snapshot: &Snapshot,
    query_string: &str,
) -> Result<CachedSearch, SearchError> {
    let has_imdb_id = worker.service.compat.imdb_id_alias;
    let request = search_request(query_string, has_imdb_id).map_err(SearchError::Rejected)?;
    let hits = locate_hits(worker, state, snapshot, &request).map_err(SearchError::Engine)?;
    if hits.total() == 0 {
        let now = worker.service.clock.now().timestamp();
        worker.service.empty_searches.note(now, query_string);
    }
    Ok(CachedSearch {
        hits,
        echoes_imdb_id: request.echoes_imdb_id,
        uses_free_text: request.query.uses_free_text(),
        finished: None,
    })
}

fn locate_hits(
    worker: &ApiWorker,
    state: &mut WorkerState,
    snapshot: &Snapshot,
    request: &SearchRequest,
) -> subcat_engine::Result<Arc<LocatedHits>> {
    let known = state
        .searches
        .get(snapshot.id(), |out| request.query.write_canonical(out));
    if let Some(located) = known {
        worker.metrics().search_cache_hits.add(1);
        return Ok(located);
    }
    worker.metrics().search_cache_misses.add(1);
    let hits = snapshot.search(&request.query)?;
    let located = Arc::new(snapshot.locate_hits(&hits)?);
    state.searches.put(&located);
    Ok(located)
}

/// Writes the answer with these download counts into the buffer.
fn write(
    worker: &ApiWorker,
    buffer: &mut BytesMut,
    snapshot: &Snapshot,
    search: &CachedSearch,
    downloads: impl ExactSizeIterator<Item = u64>,
) -> subcat_engine::Result<()> {
    let style = RecordStyle {
        has_imdb_id: search.echoes_imdb_id,
        has_empty_strings: worker.service.compat.empty_null_strings,
    };
    let locations = search.hits.locations();
    let items = locations
        .iter()
        .zip(downloads)
        .map(|(location, downloads)| {
            let catalog_id = if search.echoes_imdb_id {
                snapshot.catalog_id(location)?
            } else {
                None
            };
            Ok(RecordItem {
                fragment: snapshot.fragment(location),
                downloads,
                catalog_id,
            })
        });
    write_list(buffer, items, search.hits.total(), style)?;
    snapshot.ensure_not_truncated()
}
