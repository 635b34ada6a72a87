//! `GET /api/subtitles/{subtitle_id}/download`.
//!
//! A download passes these caches and tables, in this order; a repeated one ends at the second:
//!
//! 1. `PreparedFileCache` (worker): record, or record and query string of a text, to file and
//!    finished headers. Cleared by a new snapshot, and when any file is forgotten or replaced.
//! 2. `OpenFiles` (worker): content and variant to bytes or an open blob. When it is full, the
//!    older half is dropped; a blob that was found truncated is opened anew.
//! 3. Table of cached files (engine, memory): release to content. `forget_content` removes an entry
//!    with a lost or damaged blob.
//! 4. `SingleFlight` of `Upstream` (process): release to fetch in flight, until the fetch ends.
//! 5. `RecentFailures` of `Upstream` (process): release to failed fetch, for
//!    `upstream.failure_ttl_seconds`.
//! 6. `SingleFlight` of `FileVariants` (process): content and variant to opening in flight.
//! 7. Open blobs of the `BlobStore` (engine): content and variant to mapped file. The least
//!    recently used are closed; a truncated one is opened anew.
//!
//! A prepared file may outlive the entry of its release in the table: if its blob is lost, opening
//! fails, the entry is forgotten, and the second attempt fetches the file again.

use std::sync::Arc;

use http::header::RANGE;
use http::{HeaderMap, Response, StatusCode};
use subcat_engine::{ApiKeyId, FileName, RecordId, ReleaseId, Snapshot, Variant};

use super::accounting::RequestContext;
use super::request_report::RequestReport;
use super::text_files::{TextError, TextSource};
use super::variants::VariantError;
use super::worker::{ApiWorker, failed};
use crate::cache::{FilesVersion, OpenFile, PreparedFile};
use crate::files::served_name;
use crate::request::{
    ByteRange, HeaderHints, ParameterRejection, TextDownload, accepted_variants, byte_range,
    is_match, is_none_match, is_range_current, text_download,
};
use crate::respond::{
    ApiError, FileHead, InvalidParameter, invalid_parameters, part_of_file, unchanged_file,
    whole_file,
};
use crate::runtime::{Body, HandlerOutcome, Moment};
use crate::service::Service;
use crate::upstream::FetchError;

/// A request for the file of a record.
pub(super) struct DownloadRequest {
    pub(super) hints: HeaderHints,
    pub(super) is_head: bool,
    pub(super) headers: HeaderMap,
    /// None for the stored file itself.
    pub(super) text: Option<TextQuery>,
}

/// A request for one text.
#[derive(Clone)]
pub(super) struct TextQuery {
    /// The query string.
    query: Arc<str>,
    wanted: Arc<TextDownload>,
}

impl DownloadRequest {
    /// A request for the stored file itself.
    pub(super) fn new(hints: HeaderHints, is_head: bool, mut headers: HeaderMap) -> Self {
        if is_head && hints.has_condition {
            // A range is defined for GET only (RFC 9110, 14.2).
            headers.remove(RANGE);
        }
        Self {
            hints,
            is_head,
            headers,
            text: None,
        }
    }
}

impl TextQuery {
    /// The text that a query string asks for; `None` for the stored file itself.
    pub(super) fn parse(query: Option<&str>) -> Result<Option<Self>, Vec<ParameterRejection>> {
        let Some(query) = query else {
            return Ok(None);
        };
        let wanted = text_download(query)?;
        Ok(wanted.map(|wanted| Self {
            query: query.into(),
            wanted: Arc::new(wanted),
        }))
    }
}

/// Fields of a record that locate its file.
pub(super) struct DownloadSource {
    /// State of the catalog in which they were read.
    version: FilesVersion,
    pub(super) id: RecordId,
    release: ReleaseId,
    record_name: Option<FileName>,
}

/// A file in the variant that the client gets, ready to be sent.
pub(super) struct ReadyFile {
    prepared: Arc<PreparedFile>,
    variant: Variant,
    open: OpenFile,
}

/// Answers with the file of a record (API.md, download), or with one text of it (API.md 17): at
/// once if it is open on this worker, else after it has been made, opened, compressed, or fetched
/// from upstream.
pub(super) fn answer(
    worker: &Arc<ApiWorker>,
    context: RequestContext,
    headers: HeaderMap,
    id: Option<RecordId>,
    query: Option<&str>,
) -> HandlerOutcome {
    let mut request = DownloadRequest::new(context.hints, context.is_head, headers);
    let snapshot = worker.service.engine.catalog().snapshot();
    let version = version(&worker.service, &snapshot);
    let prepared = id.and_then(|id| known(worker, version, id, query));
    let now = context.record.started.timestamp();
    let prepared = prepared.filter(|prepared| !prepared.file.is_due(now));
    if let (Some(id), Some(prepared)) = (id, &prepared)
        && let Some(ready) = ready_now(worker, &request, prepared)
    {
        return HandlerOutcome::Now(serve(worker, context, request, id, &ready));
    }
    request.text = match TextQuery::parse(query) {
        // The query string has no effect: the file may be known without it.
        Ok(None) if query.is_some() => return answer(worker, context, request.headers, id, None),
        Ok(text) => text,
        Err(rejections) => {
            let rejected = reject(worker, context, request.headers, &rejections);
            return HandlerOutcome::Now(rejected);
        }
    };
    let source = match find(&snapshot, version, id) {
        Ok(source) => source,
        Err(error) => return HandlerOutcome::Now(worker.fail(context, request.headers, error)),
    };
    let worker = Arc::clone(worker);
    HandlerOutcome::Later(Box::pin(async move {
        let report = context.record.report.as_deref();
        match make_ready(&worker, &source, &request, report).await {
            Ok(ready) => serve(&worker, context, request, source.id, &ready),
            Err(error) => worker.fail(context, request.headers, error),
        }
    }))
}

/// The state of the catalog and of all files.
fn version(service: &Service, snapshot: &Snapshot) -> FilesVersion {
    FilesVersion {
        snapshot_id: snapshot.id(),
        // Read before the look-up of the file: a file that is forgotten afterwards must not be
        // prepared under the next generation.
        generation: service.engine.files().generation(),
    }
}

/// The file of a record, or its text by a query string, if this worker has prepared it.
fn known(
    worker: &ApiWorker,
    version: FilesVersion,
    id: RecordId,
    query: Option<&str>,
) -> Option<Arc<PreparedFile>> {
    let mut state = worker.state.lock();
    match query {
        None => state.prepared_files.get(version, &id),
        Some(query) => state.prepared_texts.get(version, id, query),
    }
}

fn reject(
    worker: &ApiWorker,
    context: RequestContext,
    recycled: HeaderMap,
    rejections: &[ParameterRejection],
) -> Response<Body> {
    let (common, record) = context.common(recycled);
    let invalid = rejections.iter().map(|rejection| InvalidParameter {
        name: rejection.parameter,
        message: rejection.message,
        kind: rejection.kind,
    });
    // Its own status, although an address may answer with another one.
    worker.count(&record, StatusCode::UNPROCESSABLE_ENTITY.as_u16());
    invalid_parameters(common, invalid)
}

/// The facts of a record of now.
pub(super) fn source_of(
    service: &Service,
    id: Option<RecordId>,
) -> Result<DownloadSource, ApiError> {
    let snapshot = service.engine.catalog().snapshot();
    find(&snapshot, version(service, &snapshot), id)
}

/// Reads from the snapshot which release a record has.
fn find(
    snapshot: &Snapshot,
    version: FilesVersion,
    id: Option<RecordId>,
) -> Result<DownloadSource, ApiError> {
    let id = id.ok_or(ApiError::SubtitleNotFound)?;
    let doc = snapshot.doc(id).map_err(|error| failed(&error))?;
    let doc = doc.ok_or(ApiError::SubtitleNotFound)?;
    let release = doc.source_release_id().and_then(ReleaseId::parse);
    let record_name = doc.file_name().and_then(FileName::parse);
    // Zeros of a truncated segment must not be taken for a record without a release.
    let checked = snapshot.ensure_not_truncated();
    checked.map_err(|error| failed(&error))?;
    Ok(DownloadSource {
        version,
        id,
        release: release.ok_or(ApiError::NoReleaseId)?,
        record_name,
    })
}

/// Variants that the client accepts of a file, best first. A range is one of the plain bytes, so
/// a request for a range accepts only those.
fn acceptable(
    request: &DownloadRequest,
    prepared: &PreparedFile,
) -> impl Iterator<Item = Variant> + use<> {
    let (hints, headers) = (request.hints, &request.headers);
    let has_range = || hints.has_condition && headers.contains_key(RANGE);
    let is_compressible = hints.has_coding && prepared.file.kind.is_text() && !has_range();
    let compressed = is_compressible.then(|| accepted_variants(headers));
    let identity = std::iter::once(Variant::Identity);
    compressed.into_iter().flatten().chain(identity)
}

/// The file, if this worker has it open in the variant that the client gets.
fn ready_now(
    worker: &ApiWorker,
    request: &DownloadRequest,
    prepared: &Arc<PreparedFile>,
) -> Option<ReadyFile> {
    let mut state = worker.state.lock();
    for variant in acceptable(request, prepared) {
        // A better variant that is not open yet must not be skipped for a worse one: then answers
        // would depend on the open files of a worker.
        match state.open_files.get(prepared.file.content, variant)? {
            OpenFile::Useless => {}
            open => {
                return Some(ReadyFile {
                    prepared: Arc::clone(prepared),
                    variant,
                    open,
                });
            }
        }
    }
    None
}

/// A file could not be made ready.
#[derive(Debug, thiserror::Error)]
pub(super) enum DownloadError {
    /// The client gets this error.
    #[error("the download is answered with {0:?}")]
    Answered(ApiError),
    /// The stored file could not be opened. If it is lost or damaged, it has been forgotten.
    #[error("the stored file could not be opened")]
    NotOpened,
    /// The stored file is in object storage, which is not available now.
    #[error("object storage does not give the file")]
    Away,
}

impl From<VariantError> for DownloadError {
    fn from(error: VariantError) -> Self {
        match error {
            VariantError::Unusable => Self::NotOpened,
            VariantError::Away => Self::Away,
        }
    }
}

impl From<DownloadError> for ApiError {
    fn from(error: DownloadError) -> Self {
        match error {
            DownloadError::Answered(error) => error,
            DownloadError::NotOpened => Self::Internal,
            DownloadError::Away => Self::UpstreamFailed,
        }
    }
}

/// Fetches the file if it was never fetched, and opens it in the variant that the client gets.
///
/// Tries once more if a stored file cannot be opened. If it was lost or damaged, the first attempt
/// (or another request that shared its opening) has forgotten it, and the second one fetches it
/// again. A third attempt could only repeat the second.
pub(super) async fn make_ready(
    worker: &ApiWorker,
    source: &DownloadSource,
    request: &DownloadRequest,
    report: Option<&RequestReport>,
) -> Result<ReadyFile, ApiError> {
    match fetch_and_open(worker, source, request, report).await {
        Ok(ready) => Ok(ready),
        Err(error) => {
            recover(&worker.service, source, error).await?;
            Ok(fetch_and_open(worker, source, request, report).await?)
        }
    }
}

/// Prepares the second attempt after a failed one. Returns the error if there is no second one.
pub(super) async fn recover(
    service: &Service,
    source: &DownloadSource,
    error: DownloadError,
) -> Result<(), ApiError> {
    match error {
        DownloadError::Answered(error) => Err(error),
        DownloadError::NotOpened => Ok(()),
        DownloadError::Away => {
            // Upstream has it, too, as a rule.
            let record_name = source.record_name.as_ref();
            let fetched = service.upstream.fetch_anew(&source.release, record_name);
            fetched.await.map_err(error_of)?;
            Ok(())
        }
    }
}

async fn fetch_and_open(
    worker: &ApiWorker,
    source: &DownloadSource,
    request: &DownloadRequest,
    report: Option<&RequestReport>,
) -> Result<ReadyFile, DownloadError> {
    let text = request.text.as_ref();
    let prepared = worker.traced(report, "prepare file", prepare(worker, source, text));
    let prepared = Arc::new(prepared.await?);
    keep(worker, source, text, &prepared);
    // Another record may have the same content, and this worker has it open for that one.
    if let Some(ready) = ready_now(worker, request, &prepared) {
        return Ok(ready);
    }
    for variant in acceptable(request, &prepared) {
        let open = worker.variants.open(&prepared.file, variant);
        let open = worker.traced(report, "open file", open).await;
        let open = open?;
        let kept = open.clone().unwrap_or(OpenFile::Useless);
        let content = prepared.file.content;
        worker.state.lock().open_files.put(content, variant, kept);
        if let Some(open) = open {
            return Ok(ReadyFile {
                prepared,
                variant,
                open,
            });
        }
    }
    Err(DownloadError::Answered(ApiError::Internal))
}

fn error_of(error: FetchError) -> ApiError {
    match error {
        FetchError::Unavailable | FetchError::Busy | FetchError::Suspended => {
            ApiError::UpstreamFailed
        }
        FetchError::Unusable => ApiError::DownloadFailed,
        FetchError::NotStored => ApiError::Internal,
    }
}

/// Media type of a file that is sent without conversion.
const BINARY: &str = "application/octet-stream";

/// The file, or the text of it, and its headers; fetched if it never was.
async fn prepare(
    worker: &ApiWorker,
    source: &DownloadSource,
    text: Option<&TextQuery>,
) -> Result<PreparedFile, DownloadError> {
    let stored = fetch(&worker.service, source).await?;
    let Some(text) = text else {
        return Ok(PreparedFile::new(stored.file, &stored.name, BINARY));
    };
    let (query, wanted) = (Arc::clone(&text.query), Arc::clone(&text.wanted));
    let made = worker.texts.open(stored, query, wanted).await;
    let made = made.map_err(text_error)?;
    Ok(PreparedFile::new(made.file, &made.name, made.content_type))
}

/// The stored file of a record, and its name for the client. Fetched first if it is not stored.
pub(super) async fn fetch(
    service: &Service,
    source: &DownloadSource,
) -> Result<TextSource, DownloadError> {
    let record_name = source.record_name.as_ref();
    let upstream = &service.upstream;
    let file = upstream.file(&source.release, record_name).await;
    let file = file.map_err(|error| DownloadError::Answered(error_of(error)))?;
    let name = served_name(
        record_name.map(FileName::as_str),
        file.upstream_name.as_ref().map(FileName::as_str),
        source.id,
        file.kind,
    );
    Ok(TextSource {
        id: source.id,
        file,
        name,
    })
}

/// Remembers a prepared file on this worker.
fn keep(
    worker: &ApiWorker,
    source: &DownloadSource,
    text: Option<&TextQuery>,
    prepared: &Arc<PreparedFile>,
) {
    let mut state = worker.state.lock();
    match text {
        None => state
            .prepared_files
            .put(source.version, source.id, prepared),
        Some(text) => {
            let (version, id) = (source.version, source.id);
            state.prepared_texts.put(version, id, &text.query, prepared);
        }
    }
}

/// The error of a download without a text (API.md 17.5).
pub(super) fn text_error(error: TextError) -> DownloadError {
    DownloadError::Answered(match error {
        TextError::Stored(error) => return error.into(),
        TextError::RecordNotFound => ApiError::SubtitleNotFound,
        TextError::NotInArchive => ApiError::FileNotInArchive,
        TextError::Extraction => ApiError::ExtractionFailed,
        TextError::Conversion => ApiError::ConversionFailed,
        TextError::Internal => ApiError::Internal,
    })
}

/// Answers with the file, with a part of it, or with 304; counts the download.
fn serve(
    worker: &ApiWorker,
    mut context: RequestContext,
    request: DownloadRequest,
    id: RecordId,
    ready: &ReadyFile,
) -> Response<Body> {
    let part = match requested_part(&request, ready) {
        Ok(part) => part,
        Err(error) => return worker.fail(context, request.headers, error),
    };
    if part.is_counted(request.is_head) {
        let (now, api_key) = (context.record.started, context.record.api_key);
        context.record.is_download = count(worker, id, api_key, now);
    }
    let (common, record) = context.common(request.headers);
    let response = file_answer(worker, FileHead::Api(common), ready, part);
    worker.record(&record, response)
}

/// The part of a file that is sent.
#[derive(Clone, Copy)]
pub(super) enum FilePart {
    /// None of it: the client has the file.
    Unchanged,
    /// From the first to before the second byte.
    Range(u64, u64),
    Whole,
}

impl FilePart {
    /// True if it counts as a download. A client that fetches a file in parts requests the first
    /// one once: it counts for the file.
    pub(super) const fn is_counted(self, is_head: bool) -> bool {
        match self {
            Self::Unchanged | Self::Whole => !is_head,
            Self::Range(start, _) => !is_head && start == 0,
        }
    }
}

/// The part that the conditions of a request select (API.md 7.9 to 7.11).
pub(super) fn requested_part(
    request: &DownloadRequest,
    ready: &ReadyFile,
) -> Result<FilePart, ApiError> {
    let headers = &request.headers;
    let etag = ready.prepared.fields(ready.variant).etag();
    if !request.hints.has_condition {
        return Ok(FilePart::Whole);
    }
    // First of all conditions (RFC 9110, 13.2.2): a part of another file must not be joined to the
    // client's copy.
    if !is_match(headers, etag) {
        return Err(ApiError::PreconditionFailed);
    }
    // If-None-Match is decided before Range (RFC 9110, 13.2.2).
    if is_none_match(headers, etag) {
        return Ok(FilePart::Unchanged);
    }
    if !is_range_current(headers, etag) {
        return Ok(FilePart::Whole);
    }
    let size_bytes = ready.open.size_bytes();
    match byte_range(headers, size_bytes) {
        ByteRange::Whole => Ok(FilePart::Whole),
        ByteRange::Part(start, end) => Ok(FilePart::Range(start, end)),
        ByteRange::Unsatisfiable => Err(ApiError::RangeNotSatisfiable(size_bytes)),
    }
}

/// The answer with a part of a file.
pub(super) fn file_answer(
    worker: &ApiWorker,
    head: FileHead,
    ready: &ReadyFile,
    part: FilePart,
) -> Response<Body> {
    if worker.service.served_files.is_wanted() {
        let content = ready.prepared.file.content;
        worker.state.lock().served.insert(content);
    }
    let size_bytes = ready.open.size_bytes();
    let file = ready.prepared.fields(ready.variant);
    let response = match part {
        FilePart::Unchanged => unchanged_file(head, file),
        FilePart::Range(start, end) => {
            let content = ready.open.content(start, end);
            part_of_file(head, file, start..end, size_bytes, content)
        }
        FilePart::Whole => whole_file(head, file, ready.open.content(0, size_bytes)),
    };
    let sent_bytes = response.body().content.len_bytes();
    worker.metrics().file_bytes.add(sent_bytes);
    response
}

/// Counts a download that is being answered. If the counter cannot be written, this is logged, the
/// file is served nevertheless, and false is returned.
pub(super) fn count(
    worker: &ApiWorker,
    id: RecordId,
    api_key: Option<ApiKeyId>,
    now: Moment,
) -> bool {
    let day = now.timestamp().day();
    let counted = worker.state.lock().lane.count(id, api_key, day);
    let is_counted = worker.service.note_counted(&counted);
    if is_counted {
        worker.metrics().downloads.add(1);
    }
    is_counted
}
