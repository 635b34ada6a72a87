//! `GET /api/subtitles/{subtitle_id}/download`.

use std::sync::Arc;

use http::header::RANGE;
use http::{HeaderMap, Response};
use subcat_engine::model::{FileName, RecordId, ReleaseId, Variant};
use subcat_engine::search::Snapshot;

use super::desk::{ApiWorker, Visit};
use crate::cache::{OpenFile, PreparedFile};
use crate::files::served_name;
use crate::request::{
    ByteRange, HeaderHints, accepted_variants, byte_range, is_none_match, is_range_current,
};
use crate::respond::{ApiError, part_of_file, unchanged_file, whole_file};
use crate::runtime::{Body, HandlerOutcome};
use crate::upstream::FetchError;

/// A request for the file of a record that has one.
struct Order {
    visit: Visit,
    headers: HeaderMap,
    id: RecordId,
}

/// Where the file of a record is to be had.
struct Source {
    snapshot_id: u64,
    id: RecordId,
    release: ReleaseId,
    record_name: Option<FileName>,
}

/// A file that is ready, in the variant that the client gets.
struct Ready {
    prepared: Arc<PreparedFile>,
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
) -> HandlerOutcome {
    if visit.is_head && visit.hints.has_condition {
        // A range is defined for GET only (RFC 9110, 14.2).
        headers.remove(RANGE);
    }
    let snapshot = worker.service.engine.catalog().snapshot();
    let prepared = id.and_then(|id| worker.desk.lock().prepared_files.get(snapshot.id(), id));
    if let (Some(id), Some(prepared)) = (id, &prepared)
        && let Some(ready) = at_hand(worker, visit.hints, &headers, prepared)
    {
        let order = Order { visit, headers, id };
        return HandlerOutcome::Now(serve(worker, order, &ready));
    }
    let source = match find(&snapshot, id) {
        Ok(source) => source,
        Err(refusal) => return HandlerOutcome::Now(worker.fail(visit, headers, refusal)),
    };
    let order = Order {
        visit,
        headers,
        id: source.id,
    };
    let worker = Arc::clone(worker);
    HandlerOutcome::Later(Box::pin(async move {
        match make_ready(&worker, &source, &order).await {
            Ok(ready) => serve(&worker, order, &ready),
            Err(refusal) => worker.fail(order.visit, order.headers, refusal),
        }
    }))
}

/// Reads where the file of a record is to be had.
fn find(snapshot: &Snapshot, id: Option<RecordId>) -> Result<Source, ApiError> {
    let id = id.ok_or(ApiError::SubtitleNotFound)?;
    let unreadable = |error| {
        tracing::error!(%error, "a record cannot be read");
        ApiError::Internal
    };
    let doc = snapshot.doc(id).map_err(unreadable)?;
    let doc = doc.ok_or(ApiError::SubtitleNotFound)?;
    let release = doc.source_release_id().and_then(ReleaseId::parse);
    let record_name = doc.file_name().and_then(FileName::parse);
    snapshot.ensure_not_truncated().map_err(unreadable)?;
    Ok(Source {
        snapshot_id: snapshot.id(),
        id,
        release: release.ok_or(ApiError::NoReleaseId)?,
        record_name,
    })
}

/// The variants that the client would take of a file, best first. A range is of the plain bytes.
fn welcome(
    hints: HeaderHints,
    headers: &HeaderMap,
    prepared: &PreparedFile,
) -> impl Iterator<Item = Variant> + use<> {
    let has_range = || hints.has_condition && headers.contains_key(RANGE);
    let is_compressible = hints.has_coding && prepared.file.kind.is_text() && !has_range();
    let compressed = is_compressible.then(|| accepted_variants(headers));
    let identity = std::iter::once(Variant::Identity);
    compressed.into_iter().flatten().chain(identity)
}

/// The file, when this worker has it open in the variant that the client gets.
fn at_hand(
    worker: &ApiWorker,
    hints: HeaderHints,
    headers: &HeaderMap,
    prepared: &Arc<PreparedFile>,
) -> Option<Ready> {
    let mut desk = worker.desk.lock();
    for variant in welcome(hints, headers, prepared) {
        match desk.files.get(prepared.file.content, variant)? {
            OpenFile::Useless => {}
            open => {
                return Some(Ready {
                    prepared: Arc::clone(prepared),
                    variant,
                    open,
                });
            }
        }
    }
    None
}

/// Why a file is not ready.
enum Unready {
    /// The client is status_and_body.
    Refused(ApiError),
    /// It is stored, but could not be opened; if it is lost or damaged, it is forgotten.
    NotOpened,
}

impl From<Unready> for ApiError {
    fn from(unready: Unready) -> Self {
        match unready {
            Unready::Refused(failure) => failure,
            Unready::NotOpened => Self::Internal,
        }
    }
}

/// Fetches the file when it was never fetched, and opens it in the variant that the client gets. A
/// stored file that cannot be opened is looked for once more, and then fetched again when it was
/// lost or damaged: also when another request, which shared that opening, has done so already.
async fn make_ready(worker: &ApiWorker, source: &Source, order: &Order) -> Result<Ready, ApiError> {
    let ready = match fetch_and_open(worker, source, order).await {
        Err(Unready::NotOpened) => fetch_and_open(worker, source, order).await,
        ready => ready,
    };
    Ok(ready?)
}

async fn fetch_and_open(
    worker: &ApiWorker,
    source: &Source,
    order: &Order,
) -> Result<Ready, Unready> {
    let (hints, headers) = (order.visit.hints, &order.headers);
    let prepared = prepared_file(worker, source).await;
    let prepared = Arc::new(prepared.map_err(Unready::Refused)?);
    worker
        .desk
        .lock()
        .prepared_files
        .put(source.snapshot_id, source.id, &prepared);
    if let Some(ready) = at_hand(worker, hints, headers, &prepared) {
        return Ok(ready);
    }
    for variant in welcome(hints, headers, &prepared) {
        let open = worker.library.ready(&prepared.file, variant).await;
        let open = open.map_err(|_| Unready::NotOpened)?;
        let kept = open.clone().unwrap_or(OpenFile::Useless);
        let content = prepared.file.content;
        worker.desk.lock().files.put(content, variant, kept);
        if let Some(open) = open {
            return Ok(Ready {
                prepared,
                variant,
                open,
            });
        }
    }
    Err(Unready::Refused(ApiError::Internal))
}

/// The file and its fields; fetched when it never was.
async fn prepared_file(worker: &ApiWorker, source: &Source) -> Result<PreparedFile, ApiError> {
    let record_name = source.record_name.as_ref();
    let file = match worker.service.engine.files().cached_file(&source.release) {
        Some(file) => file,
        None => {
            let upstream = &worker.service.upstream;
            let fetched = upstream.fetch(&source.release, record_name).await;
            fetched.map_err(|reason| match reason {
                FetchError::Unavailable => ApiError::UpstreamFailed,
                FetchError::Unusable => ApiError::DownloadFailed,
                FetchError::NotStored => ApiError::Internal,
            })?
        }
    };
    let name = served_name(
        record_name.map(FileName::as_str),
        file.upstream_name.as_ref().map(FileName::as_str),
        source.id,
        file.kind,
    );
    Ok(PreparedFile::new(file, &name))
}

/// Answers with the file, a part of it, or that the client has it; and counts that.
fn serve(worker: &ApiWorker, order: Order, ready: &Ready) -> Response<Body> {
    let Order { visit, headers, id } = order;
    let size_bytes = ready.open.size_bytes();
    let file = ready.prepared.fields(ready.variant);
    let is_conditional = visit.hints.has_condition;
    let range = if is_conditional && is_range_current(&headers, file.etag()) {
        byte_range(&headers, size_bytes)
    } else {
        ByteRange::Whole
    };
    let is_unchanged = is_conditional && is_none_match(&headers, file.etag());
    if range == ByteRange::Unsatisfiable && !is_unchanged {
        let refusal = ApiError::RangeNotSatisfiable(size_bytes);
        return worker.fail(visit, headers, refusal);
    }
    let is_counted = !visit.is_head && (is_unchanged || range.begins_at_0());
    if is_counted {
        count(worker, &visit, id);
    }
    let (common, tally) = visit.common(headers);
    let response = match range {
        _ if is_unchanged => unchanged_file(common, file),
        ByteRange::Part(start, end) => {
            let content = ready.open.content(start, end);
            part_of_file(common, file, (start, end), size_bytes, content)
        }
        ByteRange::Whole | ByteRange::Unsatisfiable => {
            whole_file(common, file, ready.open.content(0, size_bytes))
        }
    };
    let sent_bytes = response.body().content.len_bytes();
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
