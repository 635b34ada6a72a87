//! `GET /api/subtitles/search`.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, Uri};
use subcat_engine::search::{Places, Snapshot};

use super::desk::{ApiWorker, Desk, Visit};
use crate::cache::CachedSearch;
use crate::request::{SearchRefusal, SearchRequest, search_request};
use crate::respond::{Failure, RecordItem, RecordStyle, invalid_parameters, json, write_list};
use crate::runtime::Body;

/// Why there is no list.
enum NoList {
    Refused(SearchRefusal),
    Engine(subcat_engine::Error),
}

/// The records that match (API.md, search).
pub(super) fn answer(
    worker: &ApiWorker,
    visit: Visit,
    recycled: HeaderMap,
    uri: &Uri,
) -> Response<Body> {
    let query_string = uri.query().unwrap_or_default();
    match list(worker, query_string) {
        Ok(body) => {
            let (envelope, tally) = visit.envelope(recycled);
            worker.settle_search(&tally, query_string, json(envelope, body))
        }
        Err(NoList::Refused(refusal)) => refused(worker, visit, recycled, refusal),
        Err(NoList::Engine(error)) => {
            tracing::error!(%error, "a search failed");
            worker.fail(visit, recycled, Failure::Internal)
        }
    }
}

fn refused(
    worker: &ApiWorker,
    visit: Visit,
    recycled: HeaderMap,
    refusal: SearchRefusal,
) -> Response<Body> {
    let faults = match refusal {
        SearchRefusal::NoCriterion => {
            return worker.fail(visit, recycled, Failure::NoCriterion);
        }
        SearchRefusal::SeasonWithoutEpisodes => {
            return worker.fail(visit, recycled, Failure::SeasonWithoutEpisodes);
        }
        SearchRefusal::Faults(faults) => faults,
    };
    let (envelope, tally) = visit.envelope(recycled);
    let faults = faults
        .iter()
        .map(|fault| (fault.parameter, fault.message, fault.kind));
    worker.settle(&tally, invalid_parameters(envelope, faults))
}

/// The finished answer.
fn list(worker: &ApiWorker, query_string: &str) -> Result<Bytes, NoList> {
    let snapshot = worker.service.engine.snapshot();
    let mut desk = worker.desk.lock();
    let known = desk
        .searches
        .get_by_query_string(snapshot.id(), query_string);
    let search = match known {
        Some(search) => {
            worker.metrics().search_cache_hits.add(1);
            search
        }
        None => look_up(worker, &mut desk, &snapshot, query_string)?,
    };
    if search.uses_free_text {
        worker.service.engine.request_reindex();
    }
    write(worker, &mut desk, &snapshot, &search).map_err(NoList::Engine)
}

/// Reads the query string; takes the hits of an equal request, or searches.
fn look_up(
    worker: &ApiWorker,
    desk: &mut Desk,
    snapshot: &Snapshot,
    query_string: &str,
) -> Result<CachedSearch, NoList> {
    let has_imdb_id = worker.service.config.compat.imdb_id_alias;
    let request = search_request(query_string, has_imdb_id).map_err(NoList::Refused)?;
    let search = CachedSearch {
        places: places_of(worker, desk, snapshot, &request).map_err(NoList::Engine)?,
        echoes_imdb_id: request.echoes_imdb_id,
        uses_free_text: request.query.uses_free_text(),
    };
    desk.searches.put_query_string(query_string, search.clone());
    Ok(search)
}

fn places_of(
    worker: &ApiWorker,
    desk: &mut Desk,
    snapshot: &Snapshot,
    request: &SearchRequest,
) -> subcat_engine::Result<Arc<Places>> {
    let known = desk
        .searches
        .get(snapshot.id(), |out| request.query.write_canonical(out));
    if let Some(places) = known {
        worker.metrics().search_cache_hits.add(1);
        return Ok(places);
    }
    worker.metrics().search_cache_misses.add(1);
    let hits = snapshot.search(&request.query)?;
    let places = Arc::new(snapshot.places(&hits)?);
    desk.searches.put(&places);
    Ok(places)
}

fn write(
    worker: &ApiWorker,
    desk: &mut Desk,
    snapshot: &Snapshot,
    search: &CachedSearch,
) -> subcat_engine::Result<Bytes> {
    let style = RecordStyle {
        has_imdb_id: search.echoes_imdb_id,
        has_empty_strings: worker.service.config.compat.empty_null_strings,
    };
    let engine = &worker.service.engine;
    let items = search.places.places().iter().map(|place| {
        let catalog_id = search.echoes_imdb_id.then(|| snapshot.catalog_id(place));
        Ok(RecordItem {
            fragment: snapshot.fragment(place),
            downloads: u64::from(place.upstream_downloads) + engine.downloads(place.id),
            catalog_id: catalog_id.transpose()?.flatten(),
        })
    });
    // A request that panicked may have left something.
    desk.buffer.clear();
    let outcome = write_list(&mut desk.buffer, items, search.places.total(), style);
    let body = desk.buffer.split().freeze();
    outcome.and_then(|()| snapshot.check_whole())?;
    Ok(body)
}
