//! `GET /api/subtitles/search`.

use std::sync::Arc;

use bytes::BytesMut;
use http::{HeaderMap, Response, Uri};
use subcat_engine::{FlagSet, LocatedHits, Query, RecordLocation, Snapshot};

use super::accounting::RequestContext;
use super::worker::{ApiWorker, WorkerState, failed};
use crate::cache::{CachedSearch, Finished, FoundHits};
use crate::request::{SearchRejection, search_request};
use crate::respond::{
    ApiError, BodySum, ITEM_FRAME_BYTES, InvalidParameter, LIST_FRAME_BYTES, RecordItem,
    RecordStyle, TaggedBody, invalid_parameters, write_list,
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
        Ok(answer) => {
            let (response, record) = context.respond(recycled, answer);
            worker.record_search(&record, query_string, response)
        }
        Err(SearchError::Rejected(rejection)) => rejected(worker, context, recycled, rejection),
        Err(SearchError::Engine(error)) => worker.fail(context, recycled, failed(&error)),
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
fn list(worker: &ApiWorker, query_string: &str) -> Result<TaggedBody, SearchError> {
    let snapshot = worker.service.engine.catalog().snapshot();
    let mut state = worker.state.lock();
    let again = |search: &mut CachedSearch| answer_again(worker, &snapshot, search);
    if let Some(answer) = state
        .searches
        .answer_again(snapshot.id(), query_string, again)
    {
        worker.metrics().search_cache_hits.add(1);
        return answer.map_err(SearchError::Engine);
    }
    let found = look_up(worker, &mut state, &snapshot, query_string)?;
    note_free_text(worker, &found);
    // A request that panicked may have left a part of its answer.
    state.buffer.clear();
    let downloads = downloads_of(worker, found.hits.locations());
    let mut sum = BodySum::default();
    let list = ListWriter::new(worker, &snapshot, &found);
    list.write(&mut state.buffer, downloads, Some(&mut sum))
        .map_err(SearchError::Engine)?;
    let tag = sum.tag();
    let search = CachedSearch {
        found,
        tag,
        finished: None,
    };
    state.searches.put_query_string(query_string, search);
    let body = state.buffer.split().freeze();
    Ok(TaggedBody {
        body,
        tag,
        is_partial: snapshot.is_partial(),
    })
}

fn note_free_text(worker: &ApiWorker, found: &FoundHits) {
    if found.uses_free_text {
        worker.service.engine.catalog().request_reindex();
    }
}

/// The last answer, if its download counts are still current; else a new one. The new one is kept
/// in memory of its own: a slice of the worker's buffer would keep the whole buffer alive.
fn answer_again(
    worker: &ApiWorker,
    snapshot: &Snapshot,
    search: &mut CachedSearch,
) -> subcat_engine::Result<TaggedBody> {
    let tag = search.tag;
    note_free_text(worker, &search.found);
    let downloads = downloads_of(worker, search.found.hits.locations());
    if let Some(finished) = &search.finished
        // As many: one for each hit.
        && finished.downloads.iter().zip(downloads.clone()).all(|(then, now)| *then == now)
    {
        let body = finished.body.clone();
        return Ok(TaggedBody {
            body,
            tag,
            is_partial: snapshot.is_partial(),
        });
    }
    let downloads: Box<[u64]> = downloads.collect();
    let locations = search.found.hits.locations().iter();
    let items_bytes =
        locations.map(|location| snapshot.fragment(location).len() + ITEM_FRAME_BYTES);
    let mut buffer = BytesMut::with_capacity(LIST_FRAME_BYTES + items_bytes.sum::<usize>());
    let list = ListWriter::new(worker, snapshot, &search.found);
    list.write(&mut buffer, downloads.iter().copied(), None)?;
    let body = buffer.freeze();
    search.finished = Some(Finished {
        body: body.clone(),
        downloads,
    });
    Ok(TaggedBody {
        body,
        tag,
        is_partial: snapshot.is_partial(),
    })
}

/// Current download counts of records, in their order.
pub(super) fn downloads_of<'a>(
    worker: &'a ApiWorker,
    locations: &'a [RecordLocation],
) -> impl ExactSizeIterator<Item = u64> + Clone + use<'a> {
    let engine = &worker.service.engine;
    locations.iter().map(|location| {
        u64::from(location.upstream_downloads) + engine.usage().downloads(location.id)
    })
}

/// Parses the query string, and takes the hits of an equal request or searches.
fn look_up(
    worker: &ApiWorker,
    state: &mut WorkerState,
    snapshot: &Snapshot,
    query_string: &str,
) -> Result<FoundHits, SearchError> {
    let has_imdb_id = worker.service.compat.imdb_id_alias;
    let request = search_request(query_string, has_imdb_id).map_err(SearchError::Rejected)?;
    let hits = locate_hits(worker, state, snapshot, &request.query).map_err(SearchError::Engine)?;
    if hits.total() == 0 {
        let now = worker.service.clock.now().timestamp();
        worker.service.empty_searches.note(now, query_string);
    }
    Ok(FoundHits {
        hits,
        echoes_imdb_id: request.echoes_imdb_id,
        shows_flags: request.shows_flags,
        uses_free_text: request.query.uses_free_text(),
    })
}

/// Hits of an equal query before, or else searched for.
pub(super) fn locate_hits(
    worker: &ApiWorker,
    state: &mut WorkerState,
    snapshot: &Snapshot,
    query: &Query,
) -> subcat_engine::Result<Arc<LocatedHits>> {
    let known = state
        .searches
        .get(snapshot.id(), |out| query.write_canonical(out));
    if let Some(located) = known {
        worker.metrics().search_cache_hits.add(1);
        return Ok(located);
    }
    worker.metrics().search_cache_misses.add(1);
    // Marked as partial if it is.
    let hits = snapshot.search_rest(query)?;
    let located = Arc::new(snapshot.locate_hits(&hits)?);
    state.searches.put(&located);
    Ok(located)
}

/// Writes the answer of a search.
struct ListWriter<'a> {
    snapshot: &'a Snapshot,
    found: &'a FoundHits,
    style: RecordStyle,
}

impl<'a> ListWriter<'a> {
    fn new(worker: &ApiWorker, snapshot: &'a Snapshot, found: &'a FoundHits) -> Self {
        let style = RecordStyle {
            has_imdb_id: found.echoes_imdb_id,
            has_flags: found.shows_flags,
            has_empty_strings: worker.service.compat.empty_null_strings,
        };
        Self {
            snapshot,
            found,
            style,
        }
    }

    /// Writes it with these download counts into the buffer, and adds it to the sum.
    fn write(
        &self,
        buffer: &mut BytesMut,
        downloads: impl ExactSizeIterator<Item = u64>,
        sum: Option<&mut BodySum>,
    ) -> subcat_engine::Result<()> {
        let (snapshot, style) = (self.snapshot, self.style);
        let locations = self.found.hits.locations().iter();
        let items = locations.zip(downloads).map(|(location, downloads)| {
            let catalog_id = if style.has_imdb_id {
                snapshot.catalog_id(location)?
            } else {
                None
            };
            let flags = if style.has_flags {
                snapshot.flags(location)?
            } else {
                FlagSet::default()
            };
            Ok(RecordItem {
                fragment: snapshot.fragment(location),
                downloads,
                catalog_id,
                flags,
            })
        });
        write_list(buffer, items, self.found.hits.total(), style, sum)?;
        snapshot.ensure_not_truncated()
    }
}
