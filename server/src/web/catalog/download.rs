//! The file of a record, downloaded from a page. Counted for the record and the day, but not in
//! the rate-limit window of an API key.

use std::sync::Arc;

use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderValue, Method, Response};
use subcat_engine::{
    Blob, CachedFile, Error, FileName, RecordId, ReleaseId, Usage, Variant, error_chain,
};

use crate::api::stored_file;
use crate::files::{content_disposition, served_name};
use crate::runtime::WorkKind;
use crate::service::ContentSet;
use crate::web::PageBody;
use crate::web::frame::answer::PageResult;
use crate::web::frame::error::PageError;
use crate::web::frame::web_request::WebRequest;

/// Record of a file, and its names before it is fetched.
struct FileSource {
    id: RecordId,
    release: ReleaseId,
    file_name: Option<FileName>,
}

/// A stored file that is open.
pub(crate) struct OpenedFile {
    source: FileSource,
    pub(crate) file: CachedFile,
    pub(crate) blob: Arc<Blob>,
}

impl OpenedFile {
    /// Its record.
    pub(crate) fn id(&self) -> RecordId {
        self.source.id
    }
}

/// `GET /catalog/{id}/download`. `HEAD` is not counted as a download.
pub(crate) async fn download(request: &Arc<WebRequest>, id: &str) -> PageResult {
    request.reader()?;
    let opened = open(request, id).await?;
    request
        .blocking(move |request| {
            // Counted only now: the file is open, so the download will be answered.
            if request.method != Method::HEAD {
                count(request, opened.source.id);
            }
            let mut served = ContentSet::from_iter([opened.file.content]);
            request.site.service.served_files.put(&mut served);
            answer(&opened.source, &opened.file, opened.blob)
        })
        .await
}

/// Opens the file of a record, and fetches it first if it is not stored.
pub(crate) async fn open(request: &Arc<WebRequest>, id: &str) -> Result<OpenedFile, PageError> {
    let source = source(request, id)?;
    let is_forgotten = || {
        let engine = &request.site.service.engine;
        engine.files().cached_file(&source.release).is_none()
    };
    // Opening a lost or damaged file makes the engine forget it: then fetch it again, once.
    let (file, blob) = match fetch_and_open(request, &source).await {
        Err(error) if error.is_internal() && is_forgotten() => {
            let cause = error_chain(&error);
            tracing::error!(cause, "fetching a lost file again");
            fetch_and_open(request, &source).await?
        }
        opened => opened?,
    };
    Ok(OpenedFile { source, file, blob })
}

/// Counts a download. If the counter cannot be written, the file is served all the same.
fn count(request: &WebRequest, id: RecordId) {
    let counted = request
        .site
        .counter_lane
        .lock()
        .count(id, None, request.now.day());
    if request.site.service.note_counted(&counted) {
        let usage = Usage {
            downloads: 1,
            ..Usage::default()
        };
        request
            .site
            .service
            .usage
            .hours
            .note(None, request.now, &usage);
    }
}

async fn fetch_and_open(
    request: &Arc<WebRequest>,
    source: &FileSource,
) -> Result<(CachedFile, Arc<Blob>), PageError> {
    let service = &request.site.service;
    let upstream = &service.upstream;
    let (release, name) = (&source.release, source.file_name.as_ref());
    let file = upstream.file(release, name).await;
    let opened = open_stored(request, file.map_err(PageError::Upstream)?).await;
    match opened {
        Err(PageError::Engine(error)) if matches!(*error, Error::Source { .. }) => {
            // Upstream has it, too, as a rule.
            let file = upstream.fetch_anew(release, name).await;
            open_stored(request, file.map_err(PageError::Upstream)?).await
        }
        opened => opened,
    }
}

async fn open_stored(
    request: &Arc<WebRequest>,
    file: CachedFile,
) -> Result<(CachedFile, Arc<Blob>), PageError> {
    request
        .blocking_as(WorkKind::Opening, move |request| {
            let blob = stored_file(&request.site.service.engine, &file, Variant::Identity)?;
            let blob = blob.ok_or(PageError::FileMissing(file.content))?;
            Ok((file, blob))
        })
        .await
}

fn source(request: &WebRequest, id: &str) -> Result<FileSource, PageError> {
    let id = RecordId::parse(id).ok_or(PageError::NotFound)?;
    let snapshot = request.site.service.engine.catalog().snapshot();
    let doc = snapshot.doc(id)?.ok_or(PageError::NotFound)?;
    let release = doc.source_release_id().and_then(ReleaseId::parse);
    let file_name = doc.file_name().and_then(FileName::parse);
    snapshot.ensure_not_truncated()?;
    Ok(FileSource {
        id,
        release: release.ok_or(PageError::NoFile)?,
        file_name,
    })
}

fn answer(source: &FileSource, file: &CachedFile, blob: Arc<Blob>) -> PageResult {
    let own_name = source.file_name.as_ref().map(FileName::as_str);
    let upstream_name = file.upstream_name.as_ref().map(FileName::as_str);
    let name = served_name(own_name, upstream_name, source.id, file.kind);
    let disposition = HeaderValue::try_from(content_disposition(&name))?;
    let size_bytes = blob.size_bytes();
    let mut response = Response::new(PageBody::Blob(blob));
    let headers = response.headers_mut();
    let binary = HeaderValue::from_static("application/octet-stream");
    headers.insert(CONTENT_TYPE, binary);
    headers.insert(CONTENT_LENGTH, size_bytes.into());
    headers.insert(CONTENT_DISPOSITION, disposition);
    Ok(response)
}
