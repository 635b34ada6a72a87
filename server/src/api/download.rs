//! `GET /api/subtitles/{subtitle_id}/download`.

use std::sync::Arc;

use http::header::RANGE;
use http::{HeaderMap, Response};
use subcat_engine::model::{CachedFile, FileName, RecordId, ReleaseId, Variant};

use super::desk::{ApiWorker, Visit};
use crate::cache::OpenFile;
use crate::request::{ByteRange, accepted_variants, byte_range, is_none_match, is_range_current};
use crate::respond::{
    Failure, FileAnswer, entity_tag, part_of_file, served_name, unchanged_file, whole_file,
};
use crate::runtime::{Answer, Body};
use crate::upstream::FetchFailure;

/// A request for the file of a record that has one.
struct Order {
    visit: Visit,
    headers: HeaderMap,
    id: RecordId,
    release: ReleaseId,
    record_name: Option<FileName>,
}

/// A file that is ready, in the variant that the client gets.
struct Ready {
    file: CachedFile,
    variant: Variant,
    open: OpenFile,
}

/// The file of a record (API.md, download): at once when it is open, else after it was opened,
/// compressed, or fetched from the upstream source.
pub(super) fn answer(
    worker: &Arc<ApiWorker>,
    visit: Visit,
    mut headers: HeaderMap,
    id: Option<RecordId>,
) -> Answer {
    if visit.is_head {
        // A range is defined for GET only (RFC 9110, 14.2).
        headers.remove(RANGE);
    }
    let (release, record_name) = match find(worker, id) {
        Ok(found) => found,
        Err(refusal) => return Answer::Now(worker.fail(visit, headers, refusal)),
    };
    let order = Order {
        visit,
        headers,
        id: id.expect("a record that was found has an id"),
        release,
        record_name,
    };
    let file = worker.service.engine.cached_file(&order.release);
    if let Some(ready) = file.and_then(|file| at_hand(worker, &order, file)) {
        return Answer::Now(serve(worker, order, ready));
    }
    let worker = Arc::clone(worker);
    Answer::Later(Box::pin(async move {
        match make_ready(&worker, &order).await {
            Ok(ready) => serve(&worker, order, ready),
            Err(refusal) => worker.fail(order.visit, order.headers, refusal),
        }
    }))
}

/// The release of a record's file, and the record's name for it.
fn find(
    worker: &ApiWorker,
    id: Option<RecordId>,
) -> Result<(ReleaseId, Option<FileName>), Failure> {
    let id = id.ok_or(Failure::SubtitleNotFound)?;
    let snapshot = worker.service.engine.snapshot();
    let doc = snapshot.doc(id).map_err(|error| {
        tracing::error!(%error, "a record cannot be read");
        Failure::Internal
    })?;
    let doc = doc.ok_or(Failure::SubtitleNotFound)?;
    let release = doc.source_release_id().and_then(ReleaseId::parse);
    let release = release.ok_or(Failure::NoReleaseId)?;
    Ok((release, doc.file_name().and_then(FileName::parse)))
}

/// The variants that the client would take of a file, best first. A range is of the plain bytes.
fn welcome(headers: &HeaderMap, file: &CachedFile) -> impl Iterator<Item = Variant> + use<> {
    let is_compressible = file.kind.is_text() && !headers.contains_key(RANGE);
    let compressed = is_compressible.then(|| accepted_variants(headers));
    let identity = std::iter::once(Variant::Identity);
    compressed.into_iter().flatten().chain(identity)
}

/// The file, when this worker has it open in the variant that the client gets.
fn at_hand(worker: &ApiWorker, order: &Order, file: CachedFile) -> Option<Ready> {
    let mut desk = worker.desk.lock();
    for variant in welcome(&order.headers, &file) {
        match desk.files.get(file.content, variant)? {
            OpenFile::Useless => {}
            open => {
                return Some(Ready {
                    file,
                    variant,
                    open,
                });
            }
        }
    }
    None
}

/// Fetches the file when it was never fetched, and opens it in the variant that the client gets.
async fn make_ready(worker: &ApiWorker, order: &Order) -> Result<Ready, Failure> {
    let file = match worker.service.engine.cached_file(&order.release) {
        Some(file) => file,
        None => {
            let name = order.record_name.as_ref();
            let fetched = worker.service.upstream.fetch(&order.release, name).await;
            fetched.map_err(|reason| match reason {
                FetchFailure::Unavailable => Failure::UpstreamFailed,
                FetchFailure::Unusable => Failure::DownloadFailed,
                FetchFailure::NotStored => Failure::Internal,
            })?
        }
    };
    for variant in welcome(&order.headers, &file) {
        let open = worker.library.ready(&file, variant).await;
        let open = open.map_err(|_| Failure::Internal)?;
        let kept = open.clone().unwrap_or(OpenFile::Useless);
        worker.desk.lock().files.put(file.content, variant, kept);
        if let Some(open) = open {
            return Ok(Ready {
                file,
                variant,
                open,
            });
        }
    }
    Err(Failure::Internal)
}

/// Answers with the file, a part of it, or that the client has it; and counts that.
fn serve(worker: &ApiWorker, order: Order, ready: Ready) -> Response<Body> {
    let Order {
        visit,
        headers,
        id,
        record_name,
        ..
    } = order;
    let size_bytes = ready.open.size_bytes();
    let etag = entity_tag(&ready.file.content, ready.variant);
    let range = if is_range_current(&headers, &etag) {
        byte_range(&headers, size_bytes)
    } else {
        ByteRange::Whole
    };
    let is_unchanged = is_none_match(&headers, &etag);
    if range == ByteRange::Unsatisfiable && !is_unchanged {
        let refusal = Failure::RangeNotSatisfiable(size_bytes);
        return worker.fail(visit, headers, refusal);
    }
    let is_counted = !visit.is_head && (is_unchanged || range.begins_at_0());
    if is_counted {
        count(worker, &visit, id);
    }
    let upstream_name = ready.file.upstream_name.as_ref().map(FileName::as_str);
    let record_name = record_name.as_ref().map(FileName::as_str);
    let name = served_name(record_name, upstream_name, id, ready.file.kind);
    let file = FileAnswer {
        etag: &etag,
        variant: ready.variant,
        name: &name,
    };
    let (envelope, tally) = visit.envelope(headers);
    let response = match range {
        _ if is_unchanged => unchanged_file(envelope, &file),
        ByteRange::Part(start, end) => {
            let body = ready.open.body(start, end);
            part_of_file(envelope, &file, (start, end), size_bytes, body)
        }
        ByteRange::Whole | ByteRange::Unsatisfiable => {
            whole_file(envelope, &file, ready.open.body(0, size_bytes))
        }
    };
    let sent_bytes = response.body().len_bytes();
    worker.metrics().file_bytes.add(sent_bytes);
    worker.settle(&tally, response)
}

/// Counts a download that is being answered. A counter that cannot be written keeps no one from
/// a file that can be read.
fn count(worker: &ApiWorker, visit: &Visit, id: RecordId) {
    let day = visit.tally.started.timestamp().day();
    let counted = worker.desk.lock().lane.count(id, visit.tally.api_key, day);
    match counted {
        Ok(()) => worker.metrics().downloads.add(1),
        Err(error) => tracing::error!(%error, %id, "a download could not be counted"),
    }
}
